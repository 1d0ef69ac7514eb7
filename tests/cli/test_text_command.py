import json
import os
import random
import shutil
import signal
import sys
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

import translate
from tests.cli.commands import Command
from tests.tiny_runs import BACKENDS
from translate.cli.console import input_lines
from translate.cli.main import run as run_command
from translate.config.data import TokenizerConfig, data_config
from translate.corpora.corpus import load_corpus
from translate.errors import UserError
from translate.text.own_tokenizers import read_own
from translate.text.tokenizer import TokenizerPair, train_tokenizer
from translate.translator import Translator

SENTENCE = "I love you."


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return translate.load(run, device="cpu")


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    data = data_config({"name": "grammar", "kind": "grammar", "num_train": 1, "num_test": 40, "seed": 7})
    test = load_corpus(data).test
    return list(test.source)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_standard_input_and_load_agree(
    tiny_runs: dict[str, Path], backend: str, sentences: list[str], translate_command: Command
) -> None:
    run = tiny_runs[backend]
    wanted = [result.text for result in translate.load(run).translate(sentences)]
    assert len(set(wanted)) > 1
    by_argument = translate_command("text", run, *sentences)
    by_input = translate_command("text", run, stdin="".join(line + "\n" for line in sentences).encode())
    assert by_argument.code == by_input.code == 0
    assert by_argument.out.splitlines() == by_input.out.splitlines() == wanted
    alone = translate_command("text", run, sentences[0])
    assert alone.out == wanted[0] + "\n"


def test_a_thousand_lines_in_order_with_blank_ones(
    run: Path, translator: Translator, sentences: list[str], translate_command: Command
) -> None:
    chance = random.Random(3)
    lines = [chance.choice(["", "   ", "\t", *sentences[:7]]) for _ in range(1100)]  # more than a chunk
    known = {line: translator.translate([line], beam_size=1)[0].text for line in set(lines)}
    assert known[""] == known["   "] == ""
    result = translate_command("text", run, "--beam-size", 1, stdin="\n".join(lines).encode())
    assert result.out.split("\n") == [*(known[line] for line in lines), ""]


@pytest.mark.parametrize("format", ["text", "jsonl"])
def test_odd_characters_keep_the_number_of_lines(run: Path, format: str, translate_command: Command) -> None:
    odd = ["a\0b", "one\rtwo", "I\u2028love\u2029you", "x\x85y\x0bz\x1c", "😀 love 🇫🇷", "\ufeff", "e\u0301"]
    lines = [text for line in odd for text in (line, "")]
    result = translate_command("text", run, "--format", format, stdin="\n".join([*lines, ""]).encode())
    assert result.code == 0
    found = result.out.removesuffix("\n").split("\n")
    assert len(found) == len(lines)
    if format == "jsonl":
        assert [json.loads(line)["source"] for line in found] == lines
        assert len(result.out.splitlines()) == len(lines)  # Python's idea of a line, with U+2028


def test_no_line_gives_no_line(run: Path, translate_command: Command) -> None:
    assert translate_command("text", run, stdin=b"") == (0, "", "")


def test_bad_lines_give_a_line_each_and_a_warning_a_kind(run: Path, translate_command: Command) -> None:
    noise = bytes(byte for byte in random.Random(5).randbytes(300) if byte != 0x0A)
    lines = [b"\xe9t\xe9", noise, "日本語".encode(), b"", "\u0645\u0631\u062d\u0628\u0627 I 日".encode()]
    lines += ["\u05e9\u05dc\u05d5\u05dd".encode(), b"I love you . " * 2500]
    result = translate_command("text", run, "--beam-size", 1, stdin=b"\n".join([*lines, *lines]))
    assert result.code == 0
    assert result.out.count("\n") == 2 * len(lines)
    warnings = result.err.splitlines()
    assert len(warnings) == len(set(warnings)) == 6
    assert "warning: 2 sentences: blank, so the translation is empty\n" in result.err
    assert "warning: 4 sentences: bytes that are not UTF-8, replaced by \ufffd" in result.err
    assert "warning: 4 sentences: only characters that the vocabulary does not have\n" in result.err
    assert "warning: 4 sentences: some characters that the vocabulary does not have\n" in result.err
    (such,) = (line for line in warnings if line.startswith("warning: such characters are, "))
    assert len(such.removeprefix("warning: such characters are, for example, ").split(", ")) == 9
    assert "warning: 2 sentences: source cut at 512 pieces; split it into sentences\n" in result.err


def test_an_argument_that_is_not_utf_8_is_named(run: Path, translate_command: Command) -> None:
    result = translate_command("text", run, SENTENCE, os.fsdecode(b"\xe9t\xe9"))
    message = "error: sentence 2 of the arguments: not UTF-8; convert it to UTF-8\n"
    assert (result.code, result.out, result.err) == (2, "", message)
    result = translate_command("text", run, stdin=SENTENCE.encode("utf-16"))
    message = "error: standard input: not UTF-8; it looks like UTF-16; convert it to UTF-8\n"
    assert (result.code, result.out, result.err) == (2, "", message)


def test_json_lines(run: Path, translator: Translator, translate_command: Command) -> None:
    arguments = ("--format", "jsonl", "--n-best", 2, SENTENCE, "")
    result = translate_command("text", run, *arguments)
    rows = [json.loads(line) for line in result.out.splitlines()]
    found = translator.translate([SENTENCE], n_best=2, alignments=True)[0]
    plain = translate_command("text", run, "--n-best", 2, "--align", SENTENCE)
    texts = [*(candidate.text for candidate in found.n_best), found.alignment.pharaoh()]
    assert plain.out == "\t".join(texts) + "\n"
    assert rows[0]["source"] == SENTENCE
    assert (rows[0]["text"], rows[0]["score"]) == (found.text, pytest.approx(found.score, abs=1e-5))
    assert [candidate["text"] for candidate in rows[0]["n_best"]] == [result.text for result in found.n_best]
    alignment = rows[0]["alignment"]
    assert alignment["links"] == found.alignment.pharaoh()
    assert alignment["source_words"] == ["I", "love", "you", "."]
    assert len(alignment["weights"]) == len(alignment["target_words"])
    assert rows[1]["text"] == ""
    assert rows[1]["alignment"] == {"source_words": [], "target_words": [], "links": "", "weights": []}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--n-best", 3], "n_best: expected 1 to beam_size=2, got 3"),
        (["--beam-size", 0], "--beam-size: expected 1 to 1,000, got 0"),
        (["--threads", 10**6], "--threads: expected 1 to 1,024, got 1000000"),
        (["--temperature", 0.5], "--temperature is for samples: add --sample or --mbr N"),
        (["--sample", "--beam-size", 3], "--beam-size is for beam search, but --sample and --mbr draw"),
        (["--sample", "--top-p", 0], "top_p: expected more than 0 and at most 1, got 0"),
        (["--mbr", 4, "--length-penalty", 5], "--length-penalty changes nothing that --mbr finds"),
        (["--mbr", 4, "--length-normalisation", "gnmt"], "--length-normalisation changes nothing that --mbr"),
        (["--mbr", 1], "mbr: expected 2 to 1,000 samples, got 1"),
        (["--sample", "--n-best", 1001], "n_best: expected 1 to 1000, got 1001"),
        (["--mbr", 4, "--n-best", 5], "n_best: expected 1 to mbr=4, got 5"),
        (["--mbr", 4, "--constraint", "chat"], "constraints: needs beam search"),
        (["--prefix", "\u65e5"], "prefix '\u65e5': '\u65e5' is not in the run's target vocabulary"),
        (["--constraint", " "], "constraint ' ': there is no word in it"),
    ],
)
def test_impossible_options(run: Path, given: list[object], message: str, translate_command: Command) -> None:
    assert message in translate_command("text", run, *given, SENTENCE).refusal()


def test_an_ensemble_of_other_vocabularies_is_refused(
    tiny_runs: dict[str, Path], run: Path, tmp_path: Path, translate_command: Command
) -> None:
    other = tmp_path / "other"
    shutil.copytree(tiny_runs["rnn_luong"], other)
    assert translate_command("text", run, "--ensemble", other, SENTENCE).code == 0
    twice = translate_command("text", run, "--ensemble", run, SENTENCE)
    assert "--ensemble: a run is given twice" in twice.refusal()
    tokenizer = train_tokenizer(["une autre phrase"] * 9, TokenizerConfig(vocabulary_size=20))
    for path in (other / "tokenizer").glob("*.model"):
        path.write_bytes(tokenizer.model)
    translator = translate.load(run)
    with pytest.raises(UserError, match="ensemble: run 2 translates in the other direction"):
        translator.join([replace(translator, languages=translator.languages[::-1])])
    stranger = replace(translator, tokenizers=TokenizerPair.load(other / "tokenizer"))
    with pytest.raises(UserError, match="run 2 has another target vocabulary"):
        translator.join([stranger])
    (model,) = (run / "tokenizer").glob("*.model")
    copied = read_own(TokenizerConfig(path=str(model)), tokenised=False)
    assert copied.target.model != translator.tokenizers.target.model  # the settings of its training differ
    translator.join([replace(translator, tokenizers=copied)])


def test_prefix_constraint_samples_and_risk(run: Path, translate_command: Command) -> None:
    forced = translate_command("text", run, "--prefix=je", "--constraint=chat", SENTENCE, "it rains .", "")
    lines = forced.out.split("\n")
    assert forced.code == 0
    assert all(line.startswith("je") and "chat" in line for line in lines[:2])
    assert lines[2] == ""
    sample = ("text", run, "--sample", "--n-best", 3, SENTENCE)
    drawn = [translate_command(*sample, "--seed", seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]
    assert drawn[0].out.count("\t") == 2
    risk = translate_command("text", run, "--mbr", 8, "--format", "jsonl", SENTENCE)
    row = json.loads(risk.out)
    assert 0 <= row["score"] <= 100
    assert row["text"].split() == "".join(row["tokens"]).replace("\u2581", " ").split()


def test_int8_is_that_of_the_library(run: Path, sentences: list[str], translate_command: Command) -> None:
    """How far rounding may go is tested in tests/models."""
    expected = [result.text for result in translate.load(run, int8=True).translate(sentences)]
    assert translate_command("text", run, "--int8", *sentences).out.splitlines() == expected


def begun(run: Path) -> "Popen[bytes]":
    command = [sys.executable, "-m", "translate.cli.main", "text", str(run), "--threads", "1"]
    # A shell's background job ignores SIGINT, and so would its children.
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, preexec_fn=heeded)


@pytest.mark.slow
def test_a_lone_line_on_an_open_stream_is_answered(run: Path, translator: Translator) -> None:
    with begun(run) as process:
        for text in (SENTENCE, "it rains ."):
            process.stdin.write(text.encode() + b"\n")
            process.stdin.flush()
            expected = translator.translate([text])[0].text
            assert process.stdout.readline().decode() == expected + "\n"
        process.stdin.close()


@pytest.mark.slow
def test_an_interrupt_while_it_waits_for_a_line(run: Path) -> None:
    with begun(run) as process:
        process.stdin.write(SENTENCE.encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130  # not an abort: the input is still open, and a thread waits for it
        assert process.stderr.read() in (b"", b"error: interrupted\n")  # as the version of typer has it


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
def test_lines_are_the_same_however_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int) -> None:
    content = "\ufeffone\r\n\ntwo\u2028three\rfour\n\n".encode() + b"\xffend"
    (tmp_path / "lines").write_bytes(content)
    read = os.read
    monkeypatch.setattr(os, "read", lambda number, most: read(number, min(most, size)))
    with (tmp_path / "lines").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        warnings: Counter[str] = Counter()
        found = list(input_lines(warnings))
    assert found == ["one", "", "two\u2028three\rfour", "", "\ufffdend"]
    assert sum(warnings.values()) == 1


def test_closed_input(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert run_command(["text", str(run)]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_a_dash_is_standard_input(run: Path, translate_command: Command) -> None:
    lines = translate_command("text", run, "-", stdin=SENTENCE.encode())
    assert lines.out == translate_command("text", run, SENTENCE).out
    long = translate_command("text", run, "I love you . " * 400)  # longer than the name of a file can be
    assert (long.code, long.out.count("\n")) == (0, 1)


def test_a_sentence_without_quotes_is_told(run: Path, translate_command: Command) -> None:
    result = translate_command("text", run, "I", "love", "you", ".")
    assert result.err == "note: 4 sentences of one word each; a sentence of several is put in quotes\n"
    assert result.out.count("\n") == 4
    assert "quotes" not in translate_command("text", run, "I love", "you.").err
    two = translate_command("text", run, "I love you. You love Mr. Paul .")
    assert two.err.startswith("note: several sentences in one pair of quotes are translated as one")
    assert translate_command("text", run, "you love Mr. Paul .").err == ""


def test_many_lines_in_another_language_are_told(
    run: Path, tmp_path: Path, translate_command: Command
) -> None:
    german = ["Das ist ein sehr altes Haus .", "Wir haben gestern zu viel gegessen .", "Ich weiß es nicht ."]
    says = "warning: most lines look like German, and the run reads English"
    assert says in translate_command("text", run, stdin="\n".join(german * 100).encode()).err
    english = ["that is a very old house .", "we ate too much yesterday .", "I do not know what you want ."]
    assert "look like" not in translate_command("text", run, stdin="\n".join(english * 100).encode()).err
    assert "look like" not in translate_command("text", run, stdin="\n".join(german).encode()).err
    told = translate_command("text", run, "Je ne sais pas ce que vous voulez .", "il pleut encore .").err
    assert told == "warning: 1 sentence: French, it seems, and the run reads English\n"
    assert translate_command("text", run, "you ?", "look it up .").err == ""
    source, reference = tmp_path / "source", tmp_path / "reference"
    source.write_text("\n".join(german * 40))
    reference.write_text("\n".join(english * 40))
    files = ("--source", source, "--reference", reference)
    assert says in translate_command("evaluate", run, *files, "--beam-size", 1).err
    assert says in translate_command("compare", f"a={reference}", run, *files, "--beam-size", 1).err
    told = translate_command("align", "corpus", run, "--source", source, "--target", reference).err
    assert told == f"{says}\nwarning: most translations look like English, and the run writes French\n"


def test_a_run_is_no_sentence(run: Path, translate_command: Command) -> None:
    for command, hint in (("text", "--ensemble"), ("align", "align compare RUN SOURCE --with RUN")):
        refusal = translate_command(command, run, run, SENTENCE).refusal()
        assert f"{run} is a run" in refusal
        assert hint in refusal


def test_a_setting_among_the_sentences_is_told(run: Path, translate_command: Command) -> None:
    says = "note: search.beam_size=5 is translated; settings here are options (see translate text --help)"
    assert says in translate_command("text", run, "search.beam_size=5", SENTENCE).err
    assert "note: beam_size=5 is translated" in translate_command("text", run, "beam_size=5").err
    assert "options" not in translate_command("text", run, "a = b", "x.y", SENTENCE).err


def test_the_name_of_no_file_is_told(run: Path, translate_command: Command) -> None:
    says = "note: chek.en is translated; there is no file of that name\n"
    assert translate_command("text", run, "chek.en").err == says
    for words in (("It ends.",), ("x.y",), ("chek.en", SENTENCE)):
        assert "note" not in translate_command("text", run, *words).err


def test_lost_placeholders_are_told(run: Path, translate_command: Command) -> None:
    sentences = ("I love {0} .", "<b>you</b> sleep .", "a man")
    told = "2 sentences: tags or placeholders that the translation lacks; --markup carries them over\n"
    assert told in translate_command("text", run, *sentences)[2]
    code, out, errors = translate_command("text", run, "--markup", *sentences)
    assert (code, errors) == (0, "")
    assert "{0}" in out
    assert "<b>" in out


def test_sentences_in_another_script_are_told(run: Path, translate_command: Command) -> None:
    told = "1 sentence: without a letter of the script of English, which the run reads"
    assert told in translate_command("text", run, "اختيار الحدث", "I love you .")[2]
    assert told in translate_command("align", run, "اختيار الحدث", "I love you .")[2]


def test_markup_alone_is_not_blank(run: Path, translate_command: Command) -> None:
    assert translate_command("text", run, "--markup", "<br/>", "{0}") == (0, "<br/>\n{0}\n", "")


def test_a_run_that_is_written_wrong(run: Path, translate_command: Command) -> None:
    says = f"error: {run}x: no such run directory; did you mean {run}?\n"
    assert translate_command("text", f"{run}x", SENTENCE).err == says
