from pathlib import Path

import pytest

import translate
from tests.cli.align.pairs import PAIR, write
from tests.cli.commands import Command
from translate.alignment.alignment import Alignment
from translate.alignment.formats import read_alignments
from translate.corpora.split import Split
from translate.translator import Translator


def test_blank_lines(
    run: Path, tmp_path: Path, translator: Translator, alignment: Alignment, translate_command: Command
) -> None:
    source = write(tmp_path / "text.en", PAIR[0], "", "I love", "you", PAIR[0])
    target = write(tmp_path / "text.fr", PAIR[1], "", "", "toi", PAIR[1])
    line = ("align", "corpus", run, "--source", source, "--target", target)
    result = translate_command(*line, "--batch-size", 2)
    you = translator.align(["you"], ["toi"])[0].pharaoh()
    assert result.out.split("\n") == [alignment.pharaoh(), "", "", you, alignment.pharaoh(), ""]
    out = tmp_path / "out.txt"
    translate_command(*line, "--out", out)
    assert out.read_text() == result.out


def test_threshold(own_run: Path, files: list[object], test_split: Split, translate_command: Command) -> None:
    found = translate.load(own_run, device="cpu").align(test_split.source, test_split.target)
    result = translate_command("align", "corpus", own_run, *files, "--threshold", 0.2)
    assert result.out.splitlines() == [alignment.pharaoh(0.2) for alignment in found]


def test_one_picture(run: Path, tmp_path: Path, translate_command: Command) -> None:
    source = write(tmp_path / "text.en", *[PAIR[0]] * 5, "")
    target = write(tmp_path / "text.fr", *[PAIR[1]] * 5, "")
    out = tmp_path / "corpus.svg"
    result = translate_command("align", "corpus", run, "--source", source, "--target", target, "--out", out)
    assert result == (0, f"picture of 5 pairs written to {out}\n", "")
    assert "5 pairs, 20 aligned target words" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.npz", "a.tsv"])
def test_weights(
    own_run: Path,
    tmp_path: Path,
    files: list[object],
    test_split: Split,
    name: str,
    translate_command: Command,
) -> None:
    line = ("align", "corpus", own_run, *files, "--out", tmp_path / name, "--whitespace")
    assert translate_command(*line) == (0, f"weights written to {tmp_path / name}\n", "")
    if name != "a.tsv":
        found = read_alignments(tmp_path / name)
        assert [" ".join(alignment.target_words) for alignment in found] == test_split.target


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "missing option --source: source sentences, one a line"),
        (["--target", "a"], "missing option --source"),
        (["--source", "a"], "missing option --target: their translations"),
        ([PAIR[0], "--source", "a", "--target", "b"], "got unexpected extra argument"),
        (["--source", "short.en", "--target", "long.fr"], "short.en has 1 line"),
        (["--source", "none.en", "--target", "long.fr"], "none.en: no such file"),
        (["--source", "latin.fr", "--target", "long.fr"], "latin.fr, line 2: not UTF-8"),
        (
            ["--source", "long.fr", "--target", "long.fr", "--out", "a.html"],
            "a.html: expected one of .png, .pdf, .svg, .txt, .pharaoh",
        ),
        (
            ["--source", "long.fr", "--target", "long.fr", "--out", "a.png", "--weights"],
            "--weights has no effect on a.png",
        ),
        (
            ["--source", "long.fr", "--target", "long.fr", "--values"],
            "--values of translate align corpus; it belongs to translate align pair and compare",
        ),
    ],
)
def test_wrong_use(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "short.en", "a")
    write(tmp_path / "long.fr", "a", "b")
    (tmp_path / "latin.fr").write_bytes(b"a\n\xe9\n")
    before = sorted(tmp_path.iterdir())
    result = translate_command("align", "corpus", run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before
