"""The page's tokenizer in Node beside SentencePiece: pieces, words and texts of real and of odd lines."""

import gzip
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.export.in_node import in_node, run_script
from translate.config.data import TokenizerConfig
from translate.errors import UserError
from translate.export.static_page import describe, write_tokenizer
from translate.serve.texts import in_sentences
from translate.text.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, parse_model, train_tokenizer
from translate.text.words import split_words

REPOSITORY = Path(__file__).parents[2]
MULTI30K = REPOSITORY.parent / "shared" / "data" / "multi30k"
FRENCH, ENGLISH = (
    (REPOSITORY / "data" / "sample" / f"sample.{side}").read_text(encoding="utf-8").splitlines()
    for side in ("fr", "en")
)
ODD = [
    "",
    " ",
    "\t\u3000\u00a0 ",
    "  le   chien \u2028 rit ",
    "l'homme aujourd'hui t’aime, AUJOURD'HUI",
    "cherchez-le, T-shirt, donne-t-il Donne-T-Elle, vas-y! peut-être, lave-toi-les",
    "les-İl ſ-noUſ va-ſ, a-ıls",
    "ﬁn ½ ² lit, Ａｂｃ ① ㍿ ™ …",
    "e\u0301te\u0301 e\u0301\u0323 \u0301 a\u200db c\u200cd",
    "日本語 chat ₯ ｱｲｳﾞ が か\u3099 ไทย ພາສາ မြန်မာ",
    "chat 👍🏽 ❤\ufe0f 👩\u200d👩\u200d👧 🇫🇷🇩🇪 🏴\U000e0067\U000e007f lit",
    "1,234.5 12:30 3.14. 1.. ٣٫١٤ ４２",
    "₁₂ Ⅷ x² 𝔘𝔫𝔦 𝟙𝟚 𐍈",
    "!!! ... —– «oui» “non” ?! #hash_tag a_b",
    "le\x00chien\r rit\x1c\x85 fin\ufeff \u200b \xad",
    "▁le ▁▁ chien▁ <s> </s> <unk> <pad> <0x41>",
    "עברית العَرَبِيَّة हिन्दी ḱṷṓn",
    "a" * 40 + " " + "zq" * 30,
    "\ufffd \U0010ffff \ue000 \u0378",
]
SCRIPT = """
import { readFileSync } from "node:fs";
import { Tokenizer } from "./tokenizer.js";
import { splitWords } from "./words.js";

function answer({ lines, ids }) {
  const rules = readFileSync("side.rules");
  const buffer = rules.buffer.slice(rules.byteOffset, rules.byteOffset + rules.length);
  const tokenizer = new Tokenizer(JSON.parse(readFileSync("side.json", "utf-8")), buffer);
  return {
    lines: lines.map((line) => ({ ...tokenizer.encodeWords(line), text: tokenizer.encodeText(line) })),
    ids: ids.map((each) => tokenizer.decodeWords(each)),
  };
}
"""


class Kind(NamedTuple):
    """A tokenizer to train."""

    settings: dict[str, Any]
    tokenised: bool = False


KINDS = {
    "unigram": Kind({"model_type": "unigram", "vocabulary_size": 300}),
    "tokenised": Kind({"model_type": "unigram", "vocabulary_size": 300}, tokenised=True),
    "unigram bytes": Kind({"model_type": "unigram", "vocabulary_size": 520, "byte_fallback": True}),
    "case folded": Kind({"vocabulary_size": 200, "normalization": "nmt_nfkc_cf", "character_coverage": 0.98}),
    "bpe": Kind({"model_type": "bpe", "vocabulary_size": 300}),
    "bpe bytes": Kind({"model_type": "bpe", "vocabulary_size": 520, "byte_fallback": True}),
    "as it is": Kind({"vocabulary_size": 300, "normalization": "identity"}),
    "nfkc": Kind({"model_type": "bpe", "vocabulary_size": 300, "normalization": "nfkc"}),
    "words": Kind({"model_type": "word", "vocabulary_size": 150}),
    "characters": Kind({"model_type": "char", "vocabulary_size": 40}),
}


def scrambled(count: int) -> list[str]:
    """Lines of characters from everywhere, between words that the tokenizers know."""
    draw = random.Random(7)
    blocks = [(0, 0x250), (0x300, 0x370), (0x600, 0x700), (0x900, 0x980), (0x1E00, 0x2000), (0x2000, 0x2C00)]
    blocks += [(0x3000, 0x3400), (0x4E00, 0x4F00), (0xF900, 0x10000), (0x1D400, 0x1D800), (0x1F300, 0x1FA00)]
    lines = []
    for _ in range(count):
        parts = []
        for _ in range(draw.randrange(1, 9)):
            if draw.random() < 0.4:
                parts.append(draw.choice(FRENCH).split()[0])
            else:
                low, high = draw.choice(blocks)
                parts.append("".join(chr(draw.randrange(low, high)) for _ in range(draw.randrange(1, 5))))
            parts.append(draw.choice(["", " ", "  ", "-", "'"]))
        lines.append("".join(parts).replace("\n", " "))
    return lines


def real_lines() -> list[str]:
    """The sample, and what there is of a corpus of captions."""
    found = [*FRENCH, *ENGLISH, "they 'll say : do n't , @-@ c&apos; est &#91; it&quot; @ @ @x@ 'so ' S"]
    for name in ("val.fr", "val.de", "test_2016_flickr.en"):
        if (file := MULTI30K / f"{name}.gz").exists():
            found += gzip.decompress(file.read_bytes()).decode().splitlines()
    return found


def trained(kind: Kind) -> Tokenizer:
    config = TokenizerConfig(**kind.settings)
    return train_tokenizer([*FRENCH, *ENGLISH], config, tokenised=kind.tokenised)


def in_browser(tokenizer: Tokenizer, folder: Path, lines: list[str], ids: list[list[int]]) -> Any:
    write_tokenizer(tokenizer, folder, "side")
    return run_script(folder, SCRIPT, {"lines": lines, "ids": ids})


def words_of(found: dict[str, Any]) -> tuple[Any, ...]:
    """As :class:`Pieces`, which names no picture."""
    words = [(word["text"], word["start"], word["end"]) for word in found["words"]]
    return found["ids"], found["owners"], words, tuple(map(tuple, found["further"])), None


@in_node
@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_lines_have_the_pieces_and_words_of_sentencepiece(name: str, tmp_path: Path) -> None:
    tokenizer = trained(KINDS[name])
    lines = [*ODD, *scrambled(1500), *real_lines()]
    ids = [tokenizer.encode(line) for line in lines]
    draw = random.Random(3)
    pieces = [each for each in range(len(tokenizer)) if each not in (PAD, BOS, EOS)]
    drawn = [draw.choices(pieces, k=draw.randrange(9)) for _ in range(500)]
    found = in_browser(tokenizer, tmp_path, lines, [*ids, *drawn])
    for line, wanted, got in zip(lines, ids, found["lines"], strict=True):
        assert got["text"] == wanted, line
        assert words_of(got) == tokenizer.encode_words(line), line
    for wanted, got in zip([*ids, *drawn], found["ids"], strict=True):
        text, words = tokenizer.decode_words(wanted)
        assert got["text"] == text == tokenizer.decode(wanted)
        assert words_of(got) == words, text
    assert len(set(map(tuple, ids))) > 500  # the lines do not all have the same pieces
    assert any(UNK in each for each in ids) != ("bytes" in name)


@in_node
def test_words_are_those_of_python(tmp_path: Path) -> None:
    script = 'import { splitWords } from "./words.js";\nconst answer = (lines) => lines.map(splitWords);\n'
    lines = [*ODD, *scrambled(2000), *real_lines()]
    for line, found in zip(lines, run_script(tmp_path, script, lines), strict=True):
        spans = [(word["text"], word["start"]) for word in found]
        before = [len(line[: word.start].encode("utf-16-le")) // 2 for word in split_words(line)]
        assert spans == [(word.text, at) for word, at in zip(split_words(line), before, strict=True)], line


@in_node
def test_sentences_end_where_ours_do(tmp_path: Path) -> None:
    texts = [
        "I love you. Dr. Smith sleeps! Is it e.g. cold?\n\n  It rains. ",
        "I love you .",
        "",
        " \n ",
        "He said “Yes.” Then he left.",
        "Mr. J. Smith came. He ate 3.5 apples.",
    ]
    script = (
        'import { sentences } from "./paragraphs.js";\n'
        'const answer = (texts) => texts.map((text) => sentences(text, "en"));\n'
    )
    for text, found in zip(texts, run_script(tmp_path, script, texts), strict=True):
        wanted = in_sentences(text, "en").spans
        assert [tuple(span) for span in found] == list(wanted), text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.pieces[7].type = 4", "a tokenizer with user-defined pieces; use --format onnx"),
        ("model.trainer_spec.treat_whitespace_as_suffix = True", "white space at the end of words"),
        ("model.normalizer_spec.escape_whitespaces = False", "white space as it is"),
        ("model.denormalizer_spec.precompiled_charsmap = b'x'", "rules for the output"),
    ],
)
def test_a_tokenizer_that_the_page_does_not_know_is_refused(change: str, message: str) -> None:
    model = parse_model(trained(KINDS["characters"]).model)
    exec(change, {"model": model})
    with pytest.raises(UserError, match=message):
        describe(model, tokenised=False)
