"""What a run leaves in its folder, and that it says the truth."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import sacrebleu
import torch
from omegaconf import DictConfig, OmegaConf
from safetensors.torch import load_file

import translate
from tests.tiny_runs import BACKENDS, files, rows, train_tiny
from translate.corpora.corpus import Corpus, load_corpus
from translate.errors import UserError
from translate.grammar.generator import generate
from translate.links.links import parse_gold, score
from translate.runs.assembly import Job
from translate.runs.checkpoint import load_state
from translate.runs.life import translator_of
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory
from translate.runs.run_scores import Validation
from translate.runs.start import start
from translate.training.loop import Limits
from translate.training.parallel import World


def corpus_of(run: Path) -> Corpus:
    return load_corpus(read_settings(RunDirectory(run)).data)


def read_json(path: Path) -> dict:
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("backend", BACKENDS)
def test_everything_is_there(tiny_runs: dict[str, Path], backend: str) -> None:
    run = tiny_runs[backend]
    assert sorted(path.name for path in run.iterdir()) == [
        "README.md",
        "alignment.json",
        "checkpoints",
        "config.yaml",
        "metrics.jsonl",
        "plots",
        "scores.json",
        "tensorboard",
        "tokenizer",
        "training_pairs.bin",
    ]
    assert os.readlink(run / "checkpoints" / "last") == "step-00000160"
    assert (run / "checkpoints" / "best" / "model.safetensors").is_file()
    assert (run / "plots" / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_scores_are_those_of_the_model(tiny_runs: dict[str, Path], backend: str) -> None:
    run = tiny_runs[backend]
    scores, test = read_json(run / "scores.json"), corpus_of(run).test
    assert test is not None
    assert test.gold is not None
    translator = translate.load(run, device="cpu")
    texts = [each.text for each in translator.translate(test.source)]
    metric = sacrebleu.metrics.BLEU()
    assert scores["test"]["bleu"] == metric.corpus_score(texts, [test.target]).score
    assert scores["test"]["signature"] == str(metric.get_signature())
    assert scores["test"]["chrf"] == sacrebleu.corpus_chrf(texts, [test.target]).score
    assert scores["test"]["ter"] == sacrebleu.corpus_ter(texts, [test.target]).score
    aligned = translator.align(test.source, test.target, whitespace=True)
    golds = [parse_gold(line, where="") for line in test.gold]
    assert scores["test"]["aer"] == score([each.links() for each in aligned], golds).aer
    assert scores["parameters"] == sum(p.numel() for p in translator.model.parameters())
    assert (scores["test"]["beam_size"], scores["steps"]) == (2, 160)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_metrics_are_those_of_the_best_checkpoint(tiny_runs: dict[str, Path], backend: str) -> None:
    run = tiny_runs[backend]
    validated = {row["step"]: row for row in rows(run, "validation")}
    assert list(validated) == [80, 160]
    scores, progress = read_json(run / "scores.json"), load_state(run / "checkpoints" / "last")["progress"]
    best = max(validated.values(), key=lambda row: (row["bleu"], -row["nll"]))  # of equals the first
    assert scores["best_step"] == progress["best_step"] == best["step"]
    assert os.readlink(run / "checkpoints" / "best") == f"step-{best['step']:08d}"
    alignment = read_json(run / "alignment.json")
    assert alignment["validation_aer"] == pytest.approx(best["aer"])
    assert alignment["split"] == "validation"
    assert alignment["criterion"] == "aer"
    losses = [row["nll"] for row in rows(run)]
    assert losses[-1] < losses[0]
    assert [row["step"] for row in rows(run)] == [40, 80, 120, 160]


@pytest.mark.parametrize("backend", BACKENDS)
def test_time_and_speed_are_of_training(tiny_runs: dict[str, Path], backend: str) -> None:
    run = tiny_runs[backend]
    scores, progress = read_json(run / "scores.json"), load_state(run / "checkpoints" / "last")["progress"]
    assert 0 < progress["validation_seconds"] < progress["seconds"]
    assert scores["seconds"] == round(progress["seconds"], 1)
    spent = progress["seconds"] - progress["validation_seconds"]
    assert scores["tokens_per_second"] == pytest.approx(scores["tokens"] / spent, rel=0.001)
    logged = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["seconds"] for row in logged] == sorted(row["seconds"] for row in logged)
    assert logged[-1]["kind"] == "validation"
    assert logged[-1]["seconds"] == round(progress["seconds"], 3)  # with the last validation


@pytest.mark.slow
def test_the_tokens_are_those_of_the_corpus(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "transformer", "training.max_steps=null", "training.max_epochs=2") == 0
    tokenizers = translate.load(run).tokenizers
    epoch = sum(len(tokenizers.target.encode(line)) + 1 for line in corpus_of(run).train.target)
    assert read_json(run / "scores.json")["tokens"] == 2 * epoch


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_card_tells_what_was_measured(tiny_runs: dict[str, Path], backend: str) -> None:
    run = tiny_runs[backend]
    card, scores = (run / "README.md").read_text(), read_json(run / "scores.json")
    for fact in (
        f"{backend}, {scores['parameters']:,} parameters",
        f"160 steps, {scores['tokens']:,} target tokens, {scores['seconds']} s",
        f"best at step {scores['best_step']} by bleu",
        "320 pieces, shared",
        "layer and heads are in alignment.json",
        f"| {scores['test']['bleu']:.2f} | {scores['test']['chrf']:.2f} | {scores['test']['ter']:.2f} "
        f"| {100 * scores['test']['aer']:.2f} % |",
        scores["test"]["signature"],
        "train 1,000 with gold links, validation 11 with gold links, test 13 with gold links",
        f'translate text {run} "..."',
    ):
        assert fact in card


def test_tensorboard_holds_the_metrics(tiny_runs: dict[str, Path]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = tiny_runs["transformer"]
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    losses = [(event.step, event.value) for event in events.Scalars("train/loss")]
    assert losses == [(row["step"], pytest.approx(row["loss"], rel=1e-6)) for row in rows(run)]
    assert [event.step for event in events.Scalars("validation/aer")] == [80, 160]
    # The same quantity by the same name: a curve of each side is at hand.
    for kind in ("train", "validation"):
        found = [(event.step, event.value) for event in events.Scalars(f"{kind}/nll")]
        assert found == [(row["step"], pytest.approx(row["nll"], rel=1e-6)) for row in rows(run, kind)]


@pytest.mark.slow
def test_training_never_sees_gold_links(tmp_path: Path) -> None:
    """Without them, the same weights come out."""
    for split, text, other in (
        ("train", "a b\nc d\ne f g\n" * 20, "x y\nz w\nu v t\n" * 20),
        ("val", "a d\n", "x w\n"),
    ):
        (tmp_path / f"{split}.en").write_text(text)
        (tmp_path / f"{split}.fr").write_text(other)
    (tmp_path / "gold").write_text("0-1 1-0\n" * 60)
    given = [
        "data=files",
        "data.source_language=en",
        "data.target_language=fr",
        "tokenizer.vocabulary_size=30",
    ]
    given += [
        f"data.{split}.{side}={tmp_path}/{file}.{language}"
        for split, file in (("train", "train"), ("validation", "val"))
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    weights = []
    for name, more in (("with", [f"data.train.gold={tmp_path}/gold"]), ("without", [])):
        assert train_tiny(tmp_path / name, "rnn_luong", *given, *more) == 0
        weights.append(load_file(tmp_path / name / "checkpoints" / "last" / "model.safetensors"))
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.slow
@pytest.mark.parametrize("slipped", [0, 1])
def test_lines_that_have_slipped_are_told_before_the_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], slipped: int
) -> None:
    pairs = generate(1300, 0, 0, 1, target="fr")["train"]
    sides = [pair.source for pair in pairs][slipped:], [pair.target for pair in pairs][: 1300 - slipped]
    for language, lines in zip(("en", "fr"), sides, strict=True):
        (tmp_path / f"train.{language}").write_text("\n".join(lines))
    files = [
        f"data.train.{side}={tmp_path}/train.{end}" for side, end in (("source", "en"), ("target", "fr"))
    ]
    assert train_tiny(tmp_path / "run", "rnn_luong", "data=files", *files, "training.max_steps=1") == 0
    assert ("has a side slipped by a line there" in capsys.readouterr().out.partition("step 1")[0]) == bool(
        slipped
    )


@pytest.mark.slow
def test_validation_touches_no_random_number_and_no_mode(
    tiny_runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tiny_runs["transformer"]
    directory = RunDirectory(run)
    settings, corpus = read_settings(directory), corpus_of(run)
    copy = RunDirectory(tmp_path / "copy")
    config = OmegaConf.load(directory.config)
    limits = Limits(settings.training, began=0.0)
    job = Job(settings, copy, limits, torch.device("cpu"), World())
    assert isinstance(config, DictConfig)
    translator = translator_of(job, start(job, corpus, config))
    translator.model.train()
    assert corpus.validation is not None
    *sources, last = corpus.validation.source
    unknown = f"{last.rpartition(' ')[0]} \N{SNOWMAN}"
    split = replace(corpus.validation, source=[*sources, unknown])
    validation = Validation(settings, translator, split)
    capsys.readouterr()
    before = torch.get_rng_state()
    first = validation()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(module.training for module in translator.model.modules())
    assert all(parameter.grad is None for parameter in translator.model.parameters())
    assert set(first) == {"nll", "bleu", "aer"}
    assert validation() == first  # without dropout
    told = "warning: validation, 1 sentence: some characters that the vocabulary does not have\n"
    assert (
        capsys.readouterr().out
        == f"{told}warning: validation, such characters are, for example, \N{SNOWMAN}\n"
    )


@pytest.mark.slow
def test_a_corpus_without_validation_and_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert (
        train_tiny(run, "rnn_luong", "data.num_validation=0", "data.num_test=0", "training.save_every=4") == 0
    )
    output = capsys.readouterr().out
    assert "validation none, test none" in output
    assert "holds one out), so no final scores" in output
    assert rows(run, "validation") == []
    assert os.readlink(run / "checkpoints" / "best") == os.readlink(run / "checkpoints" / "last")
    scores, alignment, card = (run / "scores.json", run / "alignment.json", run / "README.md")
    assert "test" not in read_json(scores)
    assert read_json(alignment)["split"] == "train"
    assert read_json(alignment)["validation_aer"] is None
    assert read_json(alignment)["criterion"] != "aer"  # the gold links of train are not looked at
    assert "the last step kept: the corpus has no validation split" in card.read_text()
    assert "The corpus has no test split." in card.read_text()


@pytest.mark.slow
def test_time_ends_a_run_with_its_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "transformer", "training.max_steps=null", "training.max_time=0.001") == 0
    assert "training ended: max_time" in capsys.readouterr().out
    steps = read_json(run / "scores.json")["steps"]  # none, if the corpus took all the time
    assert [row["step"] for row in rows(run, "validation")] == [steps]
    assert load_state(run / "checkpoints" / "last")["progress"]["finished"] == "max_time"
    assert train_tiny(tmp_path / "steps", "transformer", "training.max_time=0.001") == 0
    assert "note: its steps or epochs are not over; go on with: translate resume " in capsys.readouterr().out


def test_a_restart_by_torchrun_goes_on_from_the_last_checkpoint(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, more = tmp_path / "run", ("training.max_steps=4", "training.save_every=1")
    assert train_tiny(run, "transformer", *more) == 0
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    capsys.readouterr()
    again = ("training.resume=true", "training.resume_from=step-00000002")
    assert train_tiny(run, "transformer", *more, *again) == 0
    assert "the run is finished after 4 steps" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"run\.overwrite: after a restart"):
        train_tiny(run, "transformer", *more, "run.overwrite=true")


@pytest.mark.slow
def test_bfloat16_on_the_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "transformer", "runtime.precision=bfloat16") == 0
    output = capsys.readouterr().out
    assert "cpu, 1 thread, bfloat16" in output
    words = output.index(
        "\nnll: the negative log-likelihood of a target piece (a word or a part of one), aer: the"
    )
    assert words < output.index("\nstep 1  nll ")
    losses = [row["nll"] for row in rows(run)]
    assert losses[-1] < losses[0]
    weights = load_file(run / "checkpoints" / "best" / "model.safetensors")
    assert all(tensor.dtype == torch.float32 for tensor in weights.values())


@pytest.mark.slow
def test_the_languages_found_in_the_corpus_are_the_run_s(tmp_path: Path) -> None:
    for side, language in (("source", "en"), ("target", "zh")):
        (tmp_path / f"train.{language}").write_text(f"{side} a\n{side} b\n{side} c\n" * 20)
    paths = [
        f"data.train.{side}={tmp_path}/train.{name}" for side, name in (("source", "en"), ("target", "zh"))
    ]
    run = tmp_path / "run"
    settings = ["data=files", *paths, "tokenizer.vocabulary_size=30", "training.max_steps=2"]
    assert train_tiny(run, "rnn_luong", *settings) == 0
    assert translate.load(run).languages == ("en", "zh")
    assert OmegaConf.load(run / "config.yaml").data.target_language == "zh"
    assert len(files(run)) > 0
