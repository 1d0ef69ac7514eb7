"""Runs that read the previous sentences of documents."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import Command, command
from tests.tiny_runs import SIZES, train_tiny
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.errors import UserError
from translate.runs.checks import check_buildable
from translate.runs.load import load

WORDS = [("dog", "chien"), ("cat", "chat"), ("horse", "cheval"), ("bird", "oiseau"), ("cow", "vache")]


def corpus(folder: Path) -> list[str]:
    """Documents of three sentences below ``folder``; the overrides that read them."""
    folder.mkdir()
    lines: dict[str, list[str]] = {"en": [], "fr": [], "doc": []}
    for number in range(60):
        (noun, nom), (other, autre) = WORDS[number % 5], WORDS[(number * 7 + 1) % 5]
        sentences = [(f"the {noun} sees the {other} .", f"le {nom} voit le {autre} .")]
        sentences += [("it sleeps .", f"le {nom} dort ."), (f"number {number} .", f"numéro {number} .")]
        for en, fr in sentences:
            lines["en"].append(en)
            lines["fr"].append(fr)
            lines["doc"].append(f"document {number}")
    for suffix, column in lines.items():
        (folder / f"train.{suffix}").write_text("".join(f"{line}\n" for line in column))
    return [
        *("data=files", f"data.path={folder}", "data.source_language=en", "data.target_language=fr"),
        *("data.document_field=doc", "data.validation_pairs=12", "data.test_pairs=9"),
        *("tokenizer.vocabulary_size=90", "training.max_steps=4", "training.batch_tokens=100"),
        *("schedule.warmup=1", "alignment.calibration_pairs=5", "search.beam_size=2", "runtime.device=cpu"),
        *("runtime.threads=1", "training.validate_every=2"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hierarchical", "two_sources"])
def test_an_attention_without_what_it_is_for_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert (
        train_tiny(tmp_path / "run", "rnn_bahdanau", f"model/attention={name}", "training.max_steps=1") == 0
    )
    assert f"note: {name} reads " in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_of_documents_from_training_to_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [*corpus(tmp_path / "corpus"), "data.context_sentences=2", "model/attention=hierarchical"]
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_bahdanau", *given, "training.guided_alignment=0.05") == 0
    printed = capsys.readouterr().out
    assert "validation pairs held out of train with data.seed=1: 12, whole documents" in printed
    assert "without the previous sentences" not in printed
    assert "note: hierarchical" not in printed
    scores = json.loads((run / "scores.json").read_text())["test"]
    translator = load(run)
    assert translator.context == (2, 256)

    translate: Command = command(capsys, monkeypatch)
    lines = tmp_path / "lines.en"
    lines.write_text("the dog sees the cat .\nit sleeps .\nit sleeps .\n")
    (tmp_path / "lines.fr").write_text("le chien voit le chat .\nle chien dort .\nle chien dort .\n")
    (tmp_path / "lines.doc").write_text("a\na\nb\n")
    sets = ("--source", str(lines), "--reference", str(tmp_path / "lines.fr"), "--json")
    rows = {}
    for name, options in {"with": ("--documents", str(tmp_path / "lines.doc")), "without": ()}.items():
        result = translate("evaluate", str(run), *sets, *options)
        assert result.code == 0
        rows[name] = json.loads(result.out)["bleu"]
        assert ("read without the previous sentences" in result.err) == (name == "without")
    result = translate("text", str(run), "the dog sees the cat .", "it sleeps .", "--format", "jsonl")
    found = [json.loads(line) for line in result.out.splitlines()]
    expected = translator.translate(
        ["the dog sees the cat .", "it sleeps ."], context=[[], ["the dog sees the cat ."]]
    )
    assert [row["score"] for row in found] == pytest.approx([each.score for each in expected], abs=1e-5)
    assert found[1]["alignment"]["source_words"] == ["it", "sleeps", "."]
    picture = tmp_path / "document.png"
    result = translate(
        *("align", "pair", str(run), "it sleeps .", "le chien dort ."),
        *("--context", "the dog sees the cat .", "--out", str(picture)),
    )
    assert "heatmap of 2 sentences written" in result.out
    assert picture.stat().st_size > 1000
    result = translate("align", "pair", str(run), "it sleeps .", "--context", "a dog", "--out", "a.html")
    assert "--context is for heatmaps" in result.err
    assert scores["bleu"] >= 0


@pytest.mark.parametrize(
    ("backend", "changes", "told"),
    [
        ("rnn_luong", ["model/attention=local_m"], "LocalM counts positions from the start of a source"),
        ("rnn_luong", ["model/attention=location"], "Location counts positions"),
        ("transformer", ["model/attention=alibi"], "ALiBi counts positions"),
        ("transformer", ["model.positions=learned", "model.max_length=300"], "expected at most 150"),
        ("transformer", ["training.subword_sampling=0.1"], "training.subword_sampling: expected none"),
        ("transformer", ["training.augment.uppercase=0.1"], "training.augment: expected none"),
    ],
)
def test_what_cannot_read_documents_is_told_before_training(
    tmp_path: Path, backend: str, changes: list[str], told: str
) -> None:
    sizes = [each for each in SIZES[backend] if "attention" not in each or "attention" not in str(changes)]
    given = [f"model={backend}", *sizes, "data=files", "data.context_sentences=1", *changes]
    with pytest.raises(UserError, match=told):
        check_buildable(check_config(compose(given)))
