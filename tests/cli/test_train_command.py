"""`translate train` as a user meets it, with training itself replaced."""

import json
import logging
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import translate.runs.life
from tests.tiny_runs import overrides_of
from translate.cli import console, main
from translate.cli.sweep_table import SweepRun, write_table
from translate.cli.train import file_suffix
from translate.config.composer import Composer
from translate.config.names import shorten
from translate.errors import UserError
from translate.runs.hooks import Keeper
from translate.runs.run_directory import RunDirectory

TABLES = [
    "data=files",
    *(f"data.{split}.source={Path(__file__).parents[2]}/README.md" for split in ("train", "validation")),
]


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Configurations that reached training; the working directory is empty."""
    configs: list[Any] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(translate.runs.life, "train", lambda config, *_: configs.append(config))
    yield configs
    for name in (None, "hydra"):  # Hydra logs to the streams of this test
        logging.getLogger(name).handlers.clear()


def run(*arguments: str) -> int:
    try:
        return main.run(["train", *arguments])
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else 1


def test_overrides_reach_training_and_hydra_leaves_nothing(trained, tmp_path):
    assert run("model=rnn_luong", "training.max_steps=7") == 0
    (config,) = trained
    assert (config.model.name, config.training.max_steps) == ("rnn_luong", 7)
    assert (config.run.name, config.run.directory) == ("grammar-rnn_luong", "runs/grammar-rnn_luong")
    assert "hydra" not in config
    assert list(tmp_path.iterdir()) == []
    assert Path.cwd() == tmp_path


@pytest.mark.slow
def test_one_job_is_composed_as_hydra_would(trained):
    overrides = [
        "experiment=demo_rnn_luong",
        "model/attention=concat",
        "optimizer.amsgrad=true",
        "~run.plugins",
    ]
    assert run(*overrides, "hydra.job.name=train") == 0  # through Hydra's own application
    assert run(*overrides) == 0
    assert trained[0] == trained[1]


@pytest.mark.slow
def test_a_missing_corpus_is_no_obstacle_to_resuming_a_finished_run(trained):
    files = ["data=files", "data.train.source=none.en", "data.train.target=none.fr"]
    assert run(*files) == 2
    assert run(*files, "training.resume=true") == 0
    assert len(trained) == 1


@pytest.mark.slow
def test_a_sweep_over_choices_takes_keys_of_the_choice(trained):
    choices = ["model=rnn_luong,rnn_bahdanau", "model/attention=additive"]
    assert run(choices[0], "-m", choices[1], "model.decoder_size=64", "run.name=own") == 0
    assert [config.run.name for config in trained] == ["own-model=rnn_luong", "own-model=rnn_bahdanau"]
    assert {config.model.decoder_size for config in trained} == {64}


def test_no_job_of_a_sweep_starts_if_one_is_wrong(trained, capsys):
    assert run("-m", "training.best_metric=bleu,blue") == 2
    assert capsys.readouterr().err.startswith("error: training.best_metric: expected one of")
    assert trained == []


@pytest.mark.parametrize(
    ("overrides", "suffix"),
    [
        ("training.seed=2", "training.seed=2"),
        ("++data.seed=3,++model.width=2", "data.seed=3,model.width=2"),
        ("data.path='a b/c',model/attention=dot", "data.path=-a-b-c-,model-attention=dot"),
        ("", ""),
    ],
)
def test_the_suffix_of_a_job_is_fit_for_a_file_name(overrides, suffix):
    assert file_suffix(overrides) == suffix


def test_a_sweep_is_checked_with_the_model_that_it_starts_from(trained, tiny_runs):
    """The patterns name parameters of that model, and no other has them."""
    start = tiny_runs["rnn_luong"]
    overrides = ("data=grammar", f"training.start_from={start}", "training.seed=1,2")
    assert run("--multirun", *overrides, "training.freeze=[bridge.*]") == 0
    assert len(trained) == 2


def test_long_suffixes_stay_short_and_apart():
    first, second = (file_suffix(f"data.path={'x' * 300},training.seed={seed}") for seed in (1, 2))
    assert first != second
    assert len(first) < 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["training.max_stepz=3"], "training.max_stepz: unknown key; did you mean training.max_steps?"),
        (
            ["--multirun", "model=transformer", "model.attention.kernel=auto,fast"],
            "model.attention.kernel: expected one of auto, ",
        ),
        (["--multrun"], "--multrun: no such option of translate train; did you mean --multirun?"),
        (["--cfg", "jobs"], "translate train: argument --cfg/-c: invalid choice"),
        (["--multirun", "run.directory=x", "training.seed=1,2"], "run.directory: the runs of a sweep"),
        (["--cfg", "job", "--multirun"], "--multirun and --cfg exclude each other"),
        (
            ["--config", "my.yaml"],
            "my.yaml: settings are given as NAME=VALUE, or in a file DIR/experiment/my.yaml with ",
        ),
        (
            ["--max-time", "60"],
            "--max-time: no such option of translate train; did you mean training.max_time?",
        ),
        (["--lr", "0.1"], "--lr: no such option of translate train; did you mean optimizer.lr?"),
        (["--xyz"], "--xyz: no such option of translate train; settings are given as NAME=VALUE"),
        (
            ["training.max_time", "60"],
            "'training.max_time': an override is written name=value (for example tr",
        ),
        *(
            (given, "'training.max_time = 60': an override has no spaces around =: training.max_time=60\n")
            for given in (["training.max_time", "=", "60", "run.name=x"], ["training.max_time = 60"])
        ),
        (["run.name=x", "training.max_time=", "60"], "'training.max_time= 60': an override has no spaces ar"),
        (
            ["optimizer.betas =[0.9,0.99]"],
            "'optimizer.betas =': an override has no spaces around =: optimizer",
        ),
        (
            ["--multirun", "optimizer.lr=0.1,", "0.2"],
            "'0.2': commas alone separate the values of a sweep: optimizer.lr=0.1,0.2\n",
        ),
        (["run.name='a = b"], '"run.name=\'a = b": not a valid override'),
        (["attention=additive"], "attention: no such group; did you mean model/attention?\n"),
        (
            ["model/attention=Bahdanu"],
            "model/attention=Bahdanu: no such choice; did you mean model/attention=add",
        ),
        (
            ["training.max_time=10m"],
            "training.max_time: expected a number or null, got '10m'; a time is a number of seconds: 600",
        ),
        (
            ["training.max_time=1:30"],
            "training.max_time: expected a number or null, got '1:30'; a time is a number of seconds: 90\n",
        ),
        (
            ["training.max_time=1h5m"],
            "training.max_time: expected a number or null, got '1h5m'; a time is a number of seconds: 3900\n",
        ),
        (
            ["training.max_steps=20k"],
            "training.max_steps: expected an integer or null, got '20k'; write 20000\n",
        ),
        (
            ["optimizer.lr=0,001"],
            "optimizer.lr=0,001: several values are a sweep and need --multirun; a list is written "
            "optimizer.lr=[a,b]; a decimal mark is a point\n",
        ),
        (["training.dropout=0.2"], "training.dropout: unknown key; did you mean model.dropout?\n"),
        (
            ["model=[transformer,rnn_luong]"],
            "model=[transformer,rnn_luong]: expected one choice; a sweep is model=",
        ),
        (["run_name=foo"], "run_name: unknown section; did you mean run.name?\n"),
        ([__file__], f"{shorten(__file__)}: sentences are given as data=files data.train.source="),
        (["data=missing.tsv"], "data=missing.tsv: no such file"),
        (
            [f"data={__file__}"],
            f"{shorten(f'data={__file__}')}: sentences are given as data=files data.train",
        ),
        (["--experimental-rerun", "x.pkl"], "--experimental-rerun: no such option of translate train"),
        (["--config-dir", "nowhere"], "nowhere: no such folder of configuration files"),
        (["tokenizer.path=a.model", "tokenizer.vocabulary_size=99"], "tokenizer.vocabulary_size: it has no "),
        (["tokenizer.path=a.model", "tokenizer=bpe"], "tokenizer: it has no effect beside tokenizer.path"),
        (
            ["training.guided_shift=1", "training.guided_alignment=0"],
            "training.guided_shift: it has no effect without training.guided_alignment",
        ),
        (
            ["experiment=demo", "training.guided_layer=0", "training.guided_alignment=0"],
            "training.guided_layer: it has no effect without training.guided_alignment",
        ),
        (
            [*TABLES, "data.validation_pairs=9"],
            "data.validation_pairs: it has no effect beside data.validation.source",
        ),
        (
            [*TABLES, f"data.train.gold={__file__}"],
            "data.train.gold: it has no effect on training; the links that guide",
        ),
        (["hydra.run.dir=x"], "hydra.run.dir: it has no effect on the folder of the run, which is run.dir"),
        (["--seed", "1"], "--seed: no such option of translate train; did you mean training.seed?"),
        (
            ["model=rnn_luong", "model/self_attention=alibi"],
            "model/self_attention: no such group; this model has none",
        ),
        (["data=files", "data.train.source="], "data.train.source: the name is empty"),
        (
            [f"data={Path(__file__).parent}"],
            f"data={shorten(Path(__file__).parent)}: a folder is given as data=",
        ),
        (["schedule=noam"], "schedule=noam: no such choice; did you mean schedule=inverse_square_root? (th"),
        (["data.train_source=x"], "data.train_source: unknown key; did you mean data.train.source?"),
        (["seed=1"], "seed: unknown section; did you mean training.seed?"),
        (["output_dir=x"], "output_dir: unknown section; did you mean run.directory?"),
        (["data=files", "data.train.source=~/none.en"], f"data.train.source: {Path.home()}/none.en: no such"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(trained, capsys, arguments, message):
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {message}")
    assert captured.err.count("\n") == 1
    assert (captured.out, trained) == ("", [])


def test_a_user_error_of_training_is_one_line(trained, monkeypatch, capsys):
    def refuse(*_: object) -> None:
        raise UserError("data: there is no such corpus")

    monkeypatch.setattr(translate.runs.life, "train", refuse)
    assert run() == 2
    assert capsys.readouterr().err == "error: data: there is no such corpus\n"


@pytest.mark.slow
def test_the_exit_code_of_training_is_passed_on_and_ends_a_sweep(trained, monkeypatch):
    monkeypatch.setattr(translate.runs.life, "train", lambda *given: trained.append(given[-1]) or 130)
    assert run("-m", "training.seed=1,2") == 130
    assert trained == ["the same command with training.resume=true"]


@pytest.mark.slow
def test_ctrl_c_between_the_runs_of_a_sweep_says_how_it_goes_on(trained, monkeypatch, capsys):
    monkeypatch.setattr(translate.runs.life, "train", lambda *_: signal.raise_signal(signal.SIGINT))
    assert run("-m", "training.seed=1,2") == 130
    note = "note: the same command with training.resume=true goes on where it was interrupted"
    assert capsys.readouterr().err.splitlines() == [note, "error: interrupted"]


def test_cfg_shows_the_configuration_and_trains_nothing(trained, capsys):
    assert run("--cfg", "job", "model=rnn_bahdanau", "--package", "model", "--resolve") == 0
    shown = capsys.readouterr().out
    assert "_target_: translate.models.BahdanauRNN" in shown
    assert "# chosen for the corpus and the time when the training starts: model.dropout, " in shown
    assert run("--cfg", "job", "training.start_from=other", "--package", "model") == 0
    assert "# taken when the training starts: tokenizer and model of other" in capsys.readouterr().out
    assert trained == []


def test_a_printed_configuration_trains_as_it_stands(trained, capsys, tmp_path):
    assert run("--cfg", "job", "training.max_steps=7") == 0
    (tmp_path / "mine.yaml").write_text(capsys.readouterr().out)
    assert run("--config-dir", str(tmp_path), "--config-name", "mine") == 0
    assert trained[0].training.max_steps == 7


def test_help_lists_every_choice(capsys):
    assert run("--help") == 0
    shown = capsys.readouterr().out
    for group, names in Composer().choices().items():
        assert group in shown
        assert all(name in shown for name in names)
    assert "transformer*" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_config_dir_adds_files_of_the_user(trained, tmp_path):
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    (tmp_path / "own" / "experiment" / "mine.yaml").write_text(
        "# @package _global_\ntraining:\n  max_steps: 11\n"
    )
    assert run("--config-dir", "own", "experiment=mine") == 0
    assert trained[0].training.max_steps == 11


@pytest.mark.slow
def test_config_name_replaces_the_primary_file(trained, tmp_path):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.yaml").write_text("defaults:\n  - config\n  - _self_\n")
    assert run("--config-dir", "own", "--config-name", "mine", "training.max_steps=3") == 0
    assert trained[0].training.max_steps == 3


@pytest.mark.slow
def test_a_sweep_may_be_kept_where_the_user_wants_it(trained, tmp_path):
    assert run("-m", "training.seed=1,2", "hydra.sweep.dir=sweeps") == 0
    assert (tmp_path / "sweeps" / "multirun.yaml").exists()
    assert len(trained) == 2


@pytest.mark.slow
def test_a_sweep_ends_with_a_table(tmp_path, capsys):
    settings = overrides_of(tmp_path, "rnn_luong", "training.max_steps=2", "training.validate_every=2")
    settings = [setting for setting in settings if not setting.startswith("run.")]
    assert run("-m", *settings, "training.seed=1,2", f"run.directory={tmp_path}/${{run.name}}") == 0
    path = tmp_path / "grammar-rnn_luong-training.seed=1,2.tsv"
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    assert header == ["run", "training.seed", "best step", "nll", "bleu", "aer, %", "time"]
    assert [row[:3] for row in rows] == [[f"grammar-rnn_luong-training.seed={n}", n, "2"] for n in "12"]
    scores = json.loads((tmp_path / rows[0][0] / "metrics.jsonl").read_text().splitlines()[-1])
    assert rows[0][3] == f"{scores['nll']:.3f}"
    shown = capsys.readouterr().out.partition("\n---\n")[2].splitlines()
    assert [line.split() for line in shown[1:3]] == rows
    assert shown[3] == f"written to {path}"


@pytest.mark.parametrize("longer", [1000, 1200])
def test_a_sweep_says_if_its_runs_have_read_more_or_less(tmp_path, longer):
    runs = []
    for name, tokens in (("a", 1000), ("b", longer)):
        (tmp_path / name).mkdir()
        scores = {"seconds": 1.0, "best_step": 2, "steps": tokens // 7, "tokens": tokens}
        RunDirectory(tmp_path / name).scores.write_text(json.dumps(scores))
        runs.append(SweepRun(tmp_path / name, "run", {"model": name}))
    *_, last = write_table(runs, tmp_path / "table.tsv")
    note = "note: the runs read 1,000 to 1,200 target tokens; training.max_epochs gives each as many"
    assert last == (note if longer > 1000 else f"written to {tmp_path / 'table.tsv'}")


@pytest.mark.slow
def test_an_interrupted_sweep_goes_on(tmp_path, capsys, monkeypatch):
    own = Keeper.__call__

    def call(keeper, training, report):
        if "2" in keeper.writer.directory.parts and training.progress.step == 1:
            signal.raise_signal(signal.SIGINT)
        return own(keeper, training, report)

    monkeypatch.setattr(Keeper, "__call__", call)
    settings = overrides_of(tmp_path, "rnn_luong", "training.max_steps=2", "training.validate_every=2")
    settings = [setting for setting in settings if not setting.startswith("run.")]
    settings += ["training.seed=1,2,3", f"run.directory={tmp_path}/${{training.seed}}"]
    assert run("-m", *settings) == 130
    assert "at step 1: saved; go on with: the same command with training.res" in capsys.readouterr().out
    assert run("-m", *settings, "training.resume=true") == 0
    jobs = capsys.readouterr().out.split("---")[1:]
    said = ["nothing to do", "resumed at step 1", "learning the vocabulary", "written to"]
    for words in said:
        assert [words in job for job in jobs] == [words == other for other in said]
    assert len(jobs[-1].strip().splitlines()) == 5


def test_version(capsys):
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"translate {main.__version__}\n"


@pytest.mark.slow
def test_a_reader_that_leaves_gets_no_traceback(tmp_path):
    code = "from translate.cli.main import main; main()"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", code, "train", "--help"], stdout=writing, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (console.READER_GONE, "")
