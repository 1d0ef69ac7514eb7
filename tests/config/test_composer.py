"""Every file of conf/ composes, and every mistake is named with its path."""

from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

import hydra
import pytest
from hydra.core.global_hydra import GlobalHydra

from translate.config.composer import Composer, compose
from translate.config.names import config_directory
from translate.config.settings import SECTIONS, check_config
from translate.errors import UserError

CHOICES = sorted(
    file.relative_to(config_directory()).with_suffix("").as_posix()
    for file in config_directory().rglob("*.yaml")
    if file.parent != config_directory() and not file.name.startswith("_")
)

COMPOSER = Composer()


def checked(*overrides: str, config_dirs: tuple[Path, ...] = ()) -> Any:
    composer = Composer(config_dirs) if config_dirs else COMPOSER
    return composer.compose(overrides, check_config)


def refusal(*overrides: str, config_dirs: tuple[Path, ...] = ()) -> str:
    with pytest.raises(UserError) as caught:
        checked(*overrides, config_dirs=config_dirs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def together() -> list[list[str]]:
    """Every choice of every group but experiments and models; several groups share a composition."""
    groups = defaultdict(list)
    for path in CHOICES:
        group, _, choice = path.rpartition("/")
        groups[group].append(choice)
    del groups["experiment"], groups["model"]
    encoders = groups.pop("model/encoder")  # not every model has one
    return [
        *([f"model/encoder={encoder}", "model=rnn_bahdanau"] for encoder in encoders),
        *(
            [f"{group}={choice}" for group, choice in zip(groups, row) if choice]
            for row in zip_longest(*groups.values())
        ),
    ]


class TestChoices:
    @pytest.mark.parametrize("overrides", together(), ids=" ".join)
    def test_every_file_of_conf_composes_and_names_valid_targets(self, overrides):
        config = checked(*overrides)
        assert config.run.directory == f"runs/{config.run.name}"

    def test_experiments_and_plain_runs_have_names_of_their_own(self):
        choices = Composer().choices()
        chosen = [f"{group}={name}" for group in ("experiment", "model") for name in choices[group]]
        runs = [checked(choice).run for choice in chosen]
        assert len({run.name for run in runs}) == len(chosen), runs
        assert all(run.directory == f"runs/{run.name}" for run in runs)

    @pytest.mark.parametrize("experiment", ["demo_transformer", "multi30k_rnn_luong", "scenes_captions"])
    def test_a_recipe_carries_over_to_files_of_the_user(self, experiment):
        files = ["data=files", "data.train.source=a.en", "data.train.target=a.fr"]
        files += ["data.images=photos"] if "scenes" in experiment else []
        assert checked(f"experiment={experiment}", *files).data.kind == "files"

    def test_the_files_of_conf_are_what_is_offered(self):
        offered = {f"{group}/{name}" for group, names in Composer().choices().items() for name in names}
        assert offered == set(CHOICES)
        assert {"model/transformer", "model/attention/additive", "data/grammar"} <= offered

    def test_hydra_itself_leaves_no_trace_in_the_configuration(self):
        assert set(compose()) == {*SECTIONS, "model", "optimizer", "schedule"}

    def test_an_experiment_outranks_the_primary_file(self, tmp_path):
        experiment = tmp_path / "experiment" / "mine.yaml"
        experiment.parent.mkdir()
        experiment.write_text(
            "# @package _global_\ndefaults:\n  - override /model: rnn_luong\n"
            "run:\n  name: seed-${training.seed}\ntraining:\n  seed: 17\n"
        )
        config = checked("experiment=mine", config_dirs=(tmp_path,))
        assert (config.run.name, config.model.name) == ("seed-17", "rnn_luong")


class TestOverrides:
    @pytest.mark.parametrize(
        ("override", "message"),
        [
            ("trainig.max_steps=3", "trainig: unknown section; did you mean training?"),
            ("training.max_stepz=3", "training.max_stepz: unknown key; did you mean training.max_steps?"),
            ("model/atention=dot", "model/atention: no such group; did you mean model/attention?"),
            (
                "model.attention=dot",
                "model.attention: this is a section; a choice is written model/attention=dot",
            ),
            (
                "optimizer.amsgrd=true",
                "optimizer.amsgrd: unknown option of torch.optim.Adam; did you mean optimizer.amsgrad?",
            ),
            (
                "optimizer.momentum=0.9",
                "optimizer.momentum: unknown option of torch.optim.Adam; "
                "optimizer=muon, optimizer=sgd have it",
            ),
            (
                "schedule.patience=3",
                "schedule.patience: unknown option of translate.training.schedules.InverseSquareRoot; "
                "schedule=plateau has it",
            ),
            (
                "~model.dropuot",
                "configuration: Could not delete from config. 'model.dropuot' does not exist.",
            ),
            (
                "my.yaml",
                "my.yaml: settings are given as NAME=VALUE, or in a file DIR/experiment/my.yaml with "
                "--config-dir DIR experiment=my",
            ),
            (
                "transformer",
                "'transformer': an override is written name=value; did you mean model=transformer?",
            ),
            ("=", "'=': an override is written name=value, without spaces"),
            ("training.max_steps=many", "training.max_steps: expected an integer or null, got 'many'"),
            ("optimizer.betas=[0.9]", "optimizer.betas: expected 2 values, got 1: [0.9]"),
            ("run.plugins=mine", "run.plugins: expected a list, got 'mine'; write [mine]"),
            ("training.fp16=true", "training.fp16: unknown key; did you mean runtime.precision?"),
            ("data.source=a.tsv", "data.source: unknown key; did you mean data.train.source?"),
            ("training.warmup_steps=9", "training.warmup_steps: unknown key; did you mean schedule.warmup?"),
            ("training.save_steps=9", "training.save_steps: unknown key; did you mean training.save_every?"),
            ("training.optimizer=x", "training.optimizer: unknown key; did you mean optimizer=NAME?"),
            ("learning_rate=1", "learning_rate: unknown section; did you mean optimizer.lr?"),
            (
                "model.encoder.num_layers=3",
                "model.encoder: expected a section with _target_, got {'num_layers': 3}; did you mean "
                "model.encoder_layers?",
            ),
            ("run=5", "run: expected a section of keys and values, got 5"),
        ],
    )
    def test_a_mistake_is_named_with_the_nearest_valid_name(self, override, message):
        assert refusal(override) == message

    def test_an_unknown_choice_lists_what_there_is(self):
        message = refusal("model=transfomer")
        assert message.startswith("model=transfomer: no such choice; did you mean model=transformer?")
        assert "rnn_bahdanau, rnn_luong" in message
        assert "; did you mean model/attention=additive? " in refusal("model/attention=bahdanau")

    def test_an_option_of_an_experiment_for_another_model_names_the_experiment(self):
        message = refusal("experiment=scenes_captions", "model=rnn_luong")
        assert message == (
            "model.word_in_query: unknown option of translate.models.LuongRNN; "
            "experiment sets it for another choice: leave out one of the two"
        )
        own = refusal("experiment=scenes_captions", "model=rnn_luong", "model.word_in_query=true")
        assert "experiment" not in own

    def test_a_name_like_no_other_lists_those_of_its_section(self):
        message = refusal("model.zz=64")
        assert message.startswith("model.zz: unknown option of translate.models.Transformer; model has ")
        assert "embedding_size" in message or "width" in message

    def test_a_name_may_look_like_a_number(self):
        for name in ("nan", "inf", "2016"):
            assert check_config(COMPOSER.compose([f"run.name={name}"])).run.name == name

    def test_several_values_need_a_sweep(self):
        assert "--multirun" in refusal("training.seed=1,2")

    def test_an_option_that_no_file_mentions_may_be_given(self):
        assert "amsgrad" not in checked().optimizer
        assert compose(["optimizer.amsgrad=true"]).optimizer.amsgrad is True
        assert checked("optimizer.amsgrad=true").optimizer.amsgrad is True

    def test_a_sweep_is_every_combination(self):
        jobs = COMPOSER.jobs(
            ["model=rnn_luong,transformer", "training.max_steps=5", "training.seed=range(1,4)"]
        )
        assert len(jobs) == 6
        assert jobs[1] == ["model=rnn_luong", "training.max_steps=5", "training.seed=2"]

    def test_folder_and_primary_file_must_exist(self, tmp_path):
        with pytest.raises(UserError, match="no such folder"):
            Composer([tmp_path / "none"])
        with pytest.raises(UserError, match="none: no such file"):
            Composer(config_name="none")


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                "training:\n  seed: 1\n  max_steps: no",
                "training.max_steps: expected an integer or null, got false",
            ),
            ("run:\n  name: ${trainig.seed}", "run.name: interpolation key 'trainig.seed' not found"),
            (
                "defaults:\n  - override /model: transfomer",
                "model=transfomer: no such choice; did you mean model=transformer? "
                "(there are rnn_bahdanau, rnn_luong, transformer; files of your own need --config-dir DIR)",
            ),
            (
                "training:\n  seed: [1",
                "own/experiment/odd.yaml, line 4: not valid YAML "
                "(expected ',' or ']', but got '<stream end>')",
            ),
        ],
    )
    def test_a_mistake_in_a_file_is_one_sentence(self, tmp_path, monkeypatch, text, message):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "own" / "experiment").mkdir(parents=True)
        (tmp_path / "own" / "experiment" / "odd.yaml").write_text(f"# @package _global_\n{text}\n")
        assert refusal("experiment=odd", config_dirs=(Path("own"),)) == message

    def test_an_experiment_without_its_first_line_is_explained(self, tmp_path):
        (tmp_path / "experiment").mkdir()
        (tmp_path / "experiment" / "bare.yaml").write_text("training:\n  max_steps: 3\n")
        assert "# @package _global_" in refusal("experiment=bare", config_dirs=(tmp_path,))

    def test_the_callers_hydra_is_left_alone(self, tmp_path):
        (tmp_path / "config.yaml").write_text("own: 3\n")
        with hydra.initialize_config_dir(str(tmp_path), version_base="1.3"):
            assert compose(["training.seed=5"]).training.seed == 5
            assert hydra.compose("config") == {"own": 3}
        assert not GlobalHydra.instance().is_initialized()
