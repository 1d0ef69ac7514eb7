import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.text import tokenizer as tokenizer_module
from translate.text.tokenizer import (
    BOS,
    EOS,
    PAD,
    UNK,
    WORDS_A_PIECE,
    Pieces,
    Tokenizer,
    TokenizerConfig,
    TokenizerPair,
    train_tokenizer,
)
from translate.text.words import Word

FRENCH = [
    "Les chats dorment sur le lit .",
    "je t' aime beaucoup .",
    "cherchez -le vite !",
    "aujourd'hui il pleut encore .",
    "l' homme qui rit , et le chien .",
    "un T-shirt à 3.14 euros",
    "l'été, les élèves s'amusent.",
] * 7
ENGLISH = [
    "The cats sleep on the bed .",
    "I love you very much .",
    "look for it quickly !",
    "it rains again",
] * 7
# Each word's text where the text is not tokenised, with what may be odd about it.
ODD = {
    "apostrophes": ("l'homme aujourd'hui t’aime", ["l'", "homme", "aujourd'hui", "t’", "aime"]),
    "hyphens": ("cherchez-le, T-shirt", ["cherchez", "-le", ",", "T-shirt"]),
    "emoji": ("chat 👍🏽 ❤\ufe0f lit", ["chat", "👍🏽", "❤\ufe0f", "lit"]),
    "combining": ("e\u0301te\u0301 le", ["e\u0301te\u0301", "le"]),
    "unknown": ("日本語 chat ₯", ["日", "本", "語", "chat", "₯"]),
    "ligature": ("ﬁn ½ lit", ["ﬁn", "½", "lit"]),
    "spaces": ("  le   chien \u2028 rit ", ["le", "chien", "rit"]),
    "control": ("le\x00chien\r rit", ["le", "\x00", "chien", "rit"]),
}


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(FRENCH, TokenizerConfig(model_type=request.param, vocabulary_size=53))


@pytest.fixture(scope="module")
def tokenised() -> Tokenizer:
    return train_tokenizer(FRENCH, TokenizerConfig(vocabulary_size=53), tokenised=True)


def test_round_trip(tokenizer: Tokenizer) -> None:
    for line in FRENCH:
        ids = tokenizer.encode(line)
        assert tokenizer.decode(ids) == line
        assert not {PAD, UNK, BOS, EOS} & set(ids)
        assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == line
    assert tokenizer.pieces([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
    assert tokenizer.decode(tokenizer.encode("le 日 chien")) == "le ⁇ chien"
    assert tokenizer.encode_corpus(FRENCH[:5]) == [tokenizer.encode(line) for line in FRENCH[:5]]


@pytest.mark.parametrize("text", ["", "   ", "\u2028\t"])
def test_an_empty_line_has_no_pieces(tokenizer: Tokenizer, tokenised: Tokenizer, text: str) -> None:
    for either in (tokenizer, tokenised):
        assert either.encode(text) == []
        assert either.encode_words(text) == ([], [], [], (), None)
        assert either.decode([]) == ""
        assert either.decode_words([]) == ("", ([], [], [], (), None))


@pytest.mark.parametrize("name", ODD)
def test_each_piece_belongs_to_the_word_it_is_part_of(
    tokenizer: Tokenizer, tokenised: Tokenizer, name: str
) -> None:
    text, words = ODD[name]
    for either in (tokenizer, tokenised):
        found = either.encode_words(text)
        assert [word.text for word in found.words] == words
        assert all(text[word.start : word.end] == word.text for word in found.words)
        assert found.ids == either.encode(text)
        assert found.piece_words == sorted(found.piece_words)
        # In the tokenised text no piece may reach over a space, so each word alone gives its pieces.
        if either is tokenised:
            counts = [len(either.encode_corpus([word])[0]) for word in words]
            assert found.piece_words == [i for i, count in enumerate(counts) for _ in range(count)]
        else:
            visible = {i for i, word in enumerate(words) if word.isprintable()}
            covered = {*found.piece_words, *(word for _, word in found.further)}
            assert visible <= covered <= set(range(len(words)))


def test_pieces_of_several_characters_belong_to_each_of_them() -> None:
    lines = ["私は日本語が好きです", "日本語は面白い", "日本は面白い", "私は本が好きです"]
    tokenizer = train_tokenizer(lines * 9, TokenizerConfig(vocabulary_size=30))
    text = "日本語は好き"
    found = tokenizer.encode_words(text)
    assert [word.text for word in found.words] == list(text)
    assert len(found.ids) < len(text)
    owners = [
        sorted([word, *(w for p, w in found.further if p == piece)])
        for piece, word in enumerate(found.piece_words)
    ]
    assert [word for words in owners for word in words] == list(range(len(text)))
    spelt = ["".join(text[word] for word in words) for words in owners]
    assert spelt == [piece.replace("▁", "") for piece in tokenizer.pieces(found.ids)]
    assert found.cut(1).further == tuple(pair for pair in found.further if pair[0] == 0)
    assert [word.text for word in found.cut(1).words] == [text[word] for word in owners[0]]


def test_a_cut_keeps_the_words_of_its_pieces(tokenizer: Tokenizer) -> None:
    found = tokenizer.encode_words("il pleut encore , et le chat dort")
    assert found.cut(len(found.ids)) is found
    for length in range(len(found.ids)):
        cut = found.cut(length)
        assert cut.ids == found.ids[:length]
        assert len(cut.words) == max(found.piece_words[:length], default=-1) + 1
    # An unknown piece may cover any number of words, of which only some are kept.
    unknown = Pieces([UNK, 5], [30, 31], [Word("x", n, n + 1) for n in range(32)], ((0, 1), (0, 29)))
    cut = unknown.cut(2)
    assert (cut.ids, cut.piece_words, cut.further) == ([UNK, 5], [-1, -1], ((0, 1),))
    assert len(cut.words) == 2 * WORDS_A_PIECE


def test_tokenised_text_is_split_first_unless_asked_not_to(tokenised: Tokenizer) -> None:
    assert tokenised.encode("je t'aime.") == tokenised.encode("je t' aime .")
    assert tokenised.encode_words("je t'aime.").ids == tokenised.encode("je t' aime .")
    found = tokenised.encode_words("je t'aime .", whitespace=True)
    assert [word.text for word in found.words] == ["je", "t'aime", "."]
    assert found.ids == tokenised.encode_corpus(["je t'aime ."])[0]
    assert set(found.piece_words) == {0, 1, 2}


def test_words_of_other_toolkits_stay_whole_where_they_are_pieces() -> None:
    lines = ["I do n't know .", "it &apos;s well @-@ known .", "the U.S. did n't ."] * 20
    found = train_tokenizer(lines, TokenizerConfig(model_type="word", vocabulary_size=60), tokenised=True)
    assert found.encode_all(lines) == found.encode_corpus(lines)
    for line in lines:
        ids = found.encode(line)
        text, decoded = found.decode_words(ids)
        assert (text, decoded.words) == (line, found.encode_words(text).words)
        assert [word.text for word in decoded.words] == line.split()
    typed = found.encode_words(" I do  n't, know.")
    assert [word.text for word in typed.words] == ["I", "do", "n't", ",", "know", "."]
    assert found.encode("you do n't know .") == found.encode("you do n't know.")


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_words_of_other_toolkits_are_read_as_in_training(kind: Any) -> None:
    lines = [
        "do n't go , they 're off .",
        "I &apos;ll see , it 's well @-@ known &quot; .",
        "c&apos; est &#91; .",
    ] * 9
    found = train_tokenizer(lines, TokenizerConfig(model_type=kind, vocabulary_size=60), tokenised=True)
    assert found.encode_all(lines) == found.encode_corpus(lines)
    assert [found.encode(line) for line in lines] == found.encode_corpus(lines)
    assert [word.text for word in found.encode_words(lines[1]).words] == lines[1].split()
    assert found.encode("they're 'so' off.") == found.encode("they're ' so' off .")


def test_decoded_pieces_know_their_words(tokenizer: Tokenizer, tokenised: Tokenizer) -> None:
    for line in FRENCH[:7]:
        text, found = tokenizer.decode_words(tokenizer.encode(line))
        assert text == line
        assert found == tokenizer.encode_words(line)
    line = "un T-shirt à 3.14 euros , cherchez -le"
    text, found = tokenised.decode_words(tokenised.encode(line))
    assert (text, [word.text for word in found.words]) == (line, line.split())
    assert found == tokenised.encode_words(line)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_a_vocabulary_too_large_is_shrunk_with_a_message(kind: Any) -> None:
    config = TokenizerConfig(model_type=kind, vocabulary_size=4000, shared=False)
    pair, messages = TokenizerPair.train(FRENCH, FRENCH, config)
    size = len(pair.target)
    assert 20 < size < 400
    assert messages == [f"vocabulary: {size:,} pieces; the corpus has no more of the 4,000"] * 2
    config = TokenizerConfig(model_type=kind, vocabulary_size=size, shared=False)
    assert TokenizerPair.train(FRENCH, FRENCH, config)[1] == []


@pytest.mark.parametrize(
    ("sentences", "config", "message"),
    [
        ([], TokenizerConfig(), "no sentence"),
        (["", "  "], TokenizerConfig(), "no sentence"),
        (FRENCH, TokenizerConfig(vocabulary_size=9), "9 pieces are fewer than the"),
    ],
)
def test_impossible_vocabularies_are_user_errors(
    sentences: list[str], config: TokenizerConfig, message: str
) -> None:
    with pytest.raises(UserError, match=f"tokenizer.*: .*{message}"):
        train_tokenizer(sentences, config)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("tokenised_text", [True, False])
def test_save_and_load(tmp_path: Path, shared: bool, tokenised_text: bool) -> None:
    config = TokenizerConfig(vocabulary_size=50, shared=shared)
    pair, messages = TokenizerPair.train(ENGLISH, FRENCH, config, tokenised=tokenised_text)
    assert pair.shared is shared
    assert len(messages) == (not shared)  # the English side is small
    pair.save(tmp_path / "tokenizer")
    files = {"shared.model"} if shared else {"source.model", "target.model"}
    assert {path.name for path in (tmp_path / "tokenizer").iterdir()} == {"tokenizer.json", *files}
    loaded = TokenizerPair.load(tmp_path / "tokenizer")
    assert loaded.shared is shared
    for before, after in ((pair.source, loaded.source), (pair.target, loaded.target)):
        assert after.model == before.model
        assert after.tokenised is tokenised_text
        assert after.encode("it rains, l'été.") == before.encode("it rains, l'été.")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("shared.model", None),
        ("shared.model", b"rubbish"),
        ("shared.model", b""),
        ("tokenizer.json", None),
        ("tokenizer.json", b"{shared"),
        ("tokenizer.json", b'{"shared": true}'),
    ],
)
def test_a_damaged_folder_is_an_error_of_the_user(tmp_path: Path, name: str, content: bytes | None) -> None:
    TokenizerPair.train(ENGLISH, FRENCH, TokenizerConfig(vocabulary_size=50))[0].save(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(UserError, match=r"not a tokenizer directory|no such file of a run"):
            TokenizerPair.load(folder)


@given(st.lists(st.sampled_from([" ", "\t", "\n", "\u00a0", "a", "bc", "é"]), max_size=13))
def test_a_decoded_text_is_one_line_and_offsets_follow_it(parts: list[str]) -> None:
    text = "".join(parts)
    spans = [(match.start(), match.end()) for match in re.finditer(r"\S+", text)]
    line, moved = tokenizer_module._collapsed(text, spans)
    assert line == " ".join(text.split())
    assert [line[begin:end] for begin, end in moved] == [text[begin:end] for begin, end in spans]
    everything = [(index, index + 1) for index in range(len(text))]
    assert all(0 <= a <= b <= len(line) for a, b in tokenizer_module._collapsed(text, everything)[1])


@pytest.mark.parametrize("tokenised", [False, True])
@pytest.mark.parametrize("fallback", [False, True])
def test_tags_before_a_sentence_stay_whole(tokenised: bool, fallback: bool) -> None:
    """As the training read them, whatever splits words."""
    config = TokenizerConfig(vocabulary_size=320 if fallback else 60, byte_fallback=fallback)
    found = train_tokenizer(FRENCH, config, tokenised=tokenised, symbols=("<own>", "<2fr>"))
    assert found.tags == ("<own>", "<2fr>")
    line = "<2fr> <own> l' homme rit ."
    assert found.encode(line) == found.encode_all([line] * 9)[8] == found.encode_corpus([line])[0]
    assert [piece for piece in found.pieces(found.encode(line)) if piece in found.tags] == ["<2fr>", "<own>"]
    pieces = found.encode_words(line)
    assert pieces.ids == found.encode(line)
    assert [word.text for word in pieces.words] == ["<2fr>", "<own>", "l'", "homme", "rit", "."]
    assert all(line[word.start : word.end] == word.text for word in pieces.words)
    inside = found.encode_words("l' homme <own> rit .").words  # no tag there
    assert [word.text for word in inside] == ["l'", "homme", "<", "own", ">", "rit", "."]


@pytest.mark.parametrize("values", [{"model_type": "wordpiece"}, {"normalization": "nfq"}])
def test_what_sentencepiece_does_not_know_is_refused(values: dict[str, Any]) -> None:
    ((name, value),) = values.items()
    with pytest.raises(UserError, match=f"{name}: expected one of .*, got '{value}'"):
        TokenizerConfig(**values)
