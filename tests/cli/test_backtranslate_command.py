import json
import re
import shutil
from contextlib import chdir
from pathlib import Path
from unittest.mock import Mock

import pytest

import translate
from tests.cli.commands import Command
from translate.corpora.tables import read_table

LINES = ["I love you .", "", "she does not like the green apples .", "I love you .", "the cat sleeps ."]


@pytest.fixture
def mono(tmp_path: Path) -> Path:
    path = tmp_path / "mono.en"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def pairs(path: Path) -> list[tuple[str, str]]:
    table = read_table(path)
    return list(zip(*table.columns("fr", "en"), strict=True))


def test_pairs_are_the_translations_of_the_run(
    tiny_runs: dict[str, Path], mono: Path, tmp_path: Path, translate_command: Command
) -> None:
    run, out = tiny_runs["transformer"], tmp_path / "out.tsv"
    result = translate_command("backtranslate", run, "--source", mono, "--out", out, "--beam-size", 1)
    assert (result.code, result.err) == (0, f"note: {run.name} translates from en to fr\n")
    unique = [LINES[0], LINES[2], LINES[4]]
    texts = [result.text for result in translate.load(run).translate(unique, beam_size=1)]
    kept = [(f"<synthetic> {text}", line) for text, line in zip(texts, unique, strict=True) if text]
    assert pairs(out) == kept
    assert result.out.splitlines()[0] == "5 lines: 1 blank, 1 repeated, 3 translated"
    assert result.out.splitlines()[-1] == f"written to {out}"


def test_several_runs_and_samples_forward(
    tiny_runs: dict[str, Path], mono: Path, tmp_path: Path, translate_command: Command
) -> None:
    runs, out = [tiny_runs["transformer"], tiny_runs["rnn_luong"]], tmp_path / "out.tsv"
    options = ("--sample", "--seed", 3, "--n-best", 2, "--forward", "--tag", "", "--json")
    result = translate_command("backtranslate", *runs, "--source", mono, "--out", out, *options)
    assert (result.code, result.err) == (0, f"note: {runs[0].name} translates from en to fr\n")
    counts = json.loads(result.out)
    assert (counts["lines"], counts["translations"]) == (5, 12)
    written = [(english, french) for french, english in pairs(out)]
    assert counts["pairs"] == len(written)
    expected = []
    for line in (LINES[0], LINES[2], LINES[4]):
        texts = []
        for run in runs:
            translator = translate.load(run)
            search = translator.search.__class__(**{**vars(translator.search), "sample": True, "seed": 3})
            (found,) = translator.translate([line], n_best=2, search=search)
            texts += [result.text for result in found.n_best]
        expected += [(line, text) for text in dict.fromkeys(texts) if text.strip() not in ("", line)]
    assert written == expected


def test_a_run_whose_search_changed_does_not_go_on(
    run: Path, mono: Path, tmp_path: Path, translate_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    command = ("backtranslate", copy, "--source", mono, "--out", tmp_path / "out.tsv")
    with monkeypatch.context() as patch:
        patch.setattr(translate.runs.runtime, "translate_all", Mock(side_effect=KeyboardInterrupt))
        assert translate_command(*command).code == 130
    config = (copy / "config.yaml").read_text()
    (copy / "config.yaml").write_text(re.sub(r"  length_penalty: .*", "  length_penalty: 0.1", config))
    assert "begun with another options" in translate_command(*command).err
    (copy / "config.yaml").write_text(config)
    assert translate_command(*command).code == 0


@pytest.mark.parametrize("languages", [("null", "null"), ("source", "target")])
def test_without_languages_the_columns_are_the_sides_of_the_pairs(
    run: Path, mono: Path, tmp_path: Path, translate_command: Command, languages: tuple[str, str]
) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    config = (copy / "config.yaml").read_text()
    for side, language in zip(("source", "target"), languages, strict=True):
        config = re.sub(rf"  {side}_language: .*", f"  {side}_language: {language}", config)
    (copy / "config.yaml").write_text(config)
    out = tmp_path / "out.tsv"
    assert translate_command("backtranslate", copy, "--source", mono, "--out", out).code == 0
    head, row, *_ = (line.split("\t") for line in out.read_text().splitlines())
    assert (head, row[1]) == (["source", "target"], LINES[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "out.txt"], "expected a table of pairs"),
        (["--out", "mono.tsv"], "mono.tsv: exists already"),
        (["--out", "none/out.tsv"], "there is no folder none"),
        (["--out", "out.tsv", "--tag", "two words"], "expected one word, or '' for none"),
        (["--out", "out.tsv", "--top-k", "3"], "--top-k is for samples"),
        (["--out", "out.tsv", "--n-best", "9"], "beam"),
        (["--out", "out.tsv", "--source", "none.en"], "none.en: no such file"),
        (["--out", "out.tsv", "--source", "news.fr"], "news.fr: by its name a text in fr, where one in en"),
    ],
)
def test_wrong_use(
    options: list[str], message: str, run: Path, mono: Path, tmp_path: Path, translate_command: Command
) -> None:
    (tmp_path / "mono.tsv").touch()
    source = [] if "--source" in options else ["--source", mono]
    with chdir(tmp_path):
        result = translate_command("backtranslate", run, *source, *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert not (tmp_path / "out.tsv.unfinished").exists()
