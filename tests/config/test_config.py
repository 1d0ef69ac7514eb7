"""The configuration: every file of conf/ composes, and every mistake is named with its path."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from omegaconf import OmegaConf

from translate.attention import MultiHead
from translate.config import (
    Composer,
    check_sections,
    check_target,
    compose,
    config_directory,
    instantiate,
    nearest,
    resolve_target,
    suggest,
    to_schema,
)
from translate.config.settings import SCHEMAS, check_config
from translate.errors import UserError
from translate.models import Transformer

CHOICES = sorted(
    file.relative_to(config_directory()).with_suffix("").as_posix()
    for file in config_directory().rglob("*.yaml")
    if file.parent != config_directory() and not file.name.startswith("_")
)
GIVEN = ("source_vocabulary", "target_vocabulary")
NEEDS = {"model/encoder": ("model=rnn_bahdanau",)}  # groups that not every model has


COMPOSER = Composer(schemas=SCHEMAS)


def checked(*overrides: str, config_dirs: tuple[Path, ...] = ()) -> Any:
    composer = Composer(config_dirs, schemas=SCHEMAS) if config_dirs else COMPOSER
    return composer.compose(overrides, check_config)


def refusal(*overrides: str, config_dirs: tuple[Path, ...] = ()) -> str:
    with pytest.raises(UserError) as caught:
        checked(*overrides, config_dirs=config_dirs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@dataclass
class Inner:
    ratio: float = 1.0
    names: list[str] = field(default_factory=list)


@dataclass
class Outer:
    steps: int
    name: str = "x"
    limit: float | None = None
    score: Literal["bleu", "loss"] = "bleu"
    on: bool = False
    inner: Inner = field(default_factory=Inner)
    sizes: dict[str, int] = field(default_factory=dict)
    width: int = field(default=3, metadata={"minimum": 2, "maximum": 7})
    rate: float = field(default=0.5, metadata={"above": 0})

    def __post_init__(self) -> None:
        if self.steps == 13:
            raise ValueError("steps: thirteen is refused")


class TestChoices:
    @pytest.mark.slow
    @pytest.mark.parametrize("path", CHOICES)
    def test_every_file_of_conf_composes_and_names_valid_targets(self, path):
        group, _, choice = path.rpartition("/")
        config = checked(*NEEDS.get(group, ()), f"{group}={choice}")
        assert config.run.directory == f"runs/{config.run.name}"

    def test_the_files_of_conf_are_what_is_offered(self):
        offered = {f"{group}/{name}" for group, names in Composer().choices().items() for name in names}
        assert offered == set(CHOICES)
        assert {"model/transformer", "model/attention/additive", "data/grammar"} <= offered

    def test_hydra_itself_leaves_no_trace_in_the_configuration(self):
        assert set(compose()) == {*SCHEMAS, "model", "optimizer", "schedule"}

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
            ("trainig.max_steps=3", "trainig.max_steps: unknown key; did you mean training.max_steps?"),
            ("training.max_stepz=3", "training.max_stepz: unknown key; did you mean training.max_steps?"),
            ("training.lr=1", "training.lr: unknown key; did you mean optimizer.lr?"),
            ("modl=transformer", "modl: unknown key; did you mean model?"),
            ("model/atention=dot", "model/atention: unknown key; did you mean model/attention?"),
            (
                "model.attention=dot",
                "model.attention: this is a section; a choice is written model/attention=dot",
            ),
            ("optimizer.amsgrd=true", "optimizer.amsgrd: unknown key; did you mean optimizer.amsgrad?"),
            ("+foo=3", "foo: unknown section"),
            ("+model.foo=3", "model.foo: unknown option of translate.models.Transformer"),
            ("~model.dropuot", "model.dropuot: unknown key; did you mean model.dropout?"),
            (
                "transformer",
                "'transformer': an override is written name=value; did you mean model=transformer?",
            ),
            ("training.max_steps=many", "training.max_steps: expected an integer or null, got 'many'"),
            ("training.resume=1", "training.resume: expected true or false, got 1"),
            ("model.width=wide", "model.width: expected an integer, got 'wide'"),
            ("optimizer.lr=fast", "optimizer.lr: expected a number, got 'fast'"),
            ("optimizer.betas=[0.9]", "optimizer.betas: expected 2 values, got 1: [0.9]"),
            ("run.plugins=mine", "run.plugins: expected a list, got 'mine'; write [mine]"),
            ("run=5", "run: expected a section of keys and values, got 5"),
        ],
    )
    def test_a_mistake_is_named_with_the_nearest_valid_name(self, override, message):
        assert refusal(override) == message

    def test_an_unknown_choice_lists_what_there_is(self):
        message = refusal("model=transfomer")
        assert message.startswith("model=transfomer: no such choice; did you mean model=transformer?")
        assert "rnn_bahdanau, rnn_luong" in message

    def test_malformed_override_quotes_it(self):
        assert refusal("training.max_steps=[1").startswith("'training.max_steps=[1': not a valid override")

    def test_several_values_need_a_sweep(self):
        assert "--multirun" in refusal("training.seed=1,2")

    def test_an_option_that_no_file_mentions_may_be_given(self):
        assert "amsgrad" not in checked().optimizer
        assert compose(["optimizer.amsgrad=true"]).optimizer.amsgrad is True
        assert checked("optimizer.amsgrad=true").optimizer.amsgrad is True

    def test_an_option_that_no_file_mentions_is_completed_for_hydra(self):
        assert COMPOSER.complete(["optimizer.amsgrad=true", "optimizer.lr=1"]) == [
            "++optimizer.amsgrad=true",
            "optimizer.lr=1",
        ]

    def test_a_sweep_is_every_combination(self):
        jobs = COMPOSER.jobs(
            ["model=rnn_luong,transformer", "training.max_steps=5", "training.seed=range(1,4)"]
        )
        assert len(jobs) == 6
        assert jobs[1] == ["model=rnn_luong", "training.max_steps=5", "training.seed=2"]

    def test_one_wrong_choice_of_a_sweep_is_found(self):
        with pytest.raises(UserError, match="model=transfomer: no such choice"):
            COMPOSER.complete(["model=rnn_luong,transfomer"], multirun=True)

    def test_a_key_that_one_job_of_a_sweep_lacks_is_found(self):
        with pytest.raises(UserError, match=r"model\.feedforward: unknown key"):
            COMPOSER.complete(["model=transformer,rnn_luong", "model.feedforward=gelu"], multirun=True)

    def test_folder_and_primary_file_must_exist(self, tmp_path):
        with pytest.raises(UserError, match="no such folder"):
            Composer([tmp_path / "none"])
        with pytest.raises(UserError, match="none: no such file"):
            Composer(config_name="none")


class TestFiles:
    @pytest.mark.parametrize(
        ("text", "message", "line"),
        [
            (
                "training:\n  max_stepz: 3",
                "training.max_stepz: unknown key; did you mean training.max_steps?",
                3,
            ),
            (
                "training:\n  seed: 1\n  max_steps: no",
                "training.max_steps: expected an integer or null, got false",
                4,
            ),
            ("traning:\n  seed: 1", "traning: unknown section; did you mean training?", 2),
            (
                "model:\n  wdth: 3",
                "model.wdth: unknown option of translate.models.Transformer; did you mean",
                3,
            ),
            ("run:\n  name: ${trainig.seed}", "run.name: interpolation key 'trainig.seed' not found", 3),
            (
                "defaults:\n  - override /model: transfomer",
                "model=transfomer: no such choice; did you mean model=",
                3,
            ),
            ("defaults:\n  - override /modl: transformer", "modl: no such group; did you mean model?", 3),
            ("training:\n  seed: [1", "not valid YAML", 4),
        ],
    )
    def test_a_mistake_in_a_file_is_named_with_file_and_line(
        self, tmp_path, monkeypatch, text, message, line
    ):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "own" / "experiment").mkdir(parents=True)
        (tmp_path / "own" / "experiment" / "odd.yaml").write_text(f"# @package _global_\n{text}\n")
        found = refusal("experiment=odd", config_dirs=(Path("own"),))
        assert message in found
        assert f"own/experiment/odd.yaml, line {line}" in found

    def test_a_mistake_on_the_command_line_blames_no_file(self, tmp_path):
        (tmp_path / "experiment").mkdir()
        (tmp_path / "experiment" / "fine.yaml").write_text("# @package _global_\ntraining:\n  max_steps: 3\n")
        message = refusal("experiment=fine", "training.max_steps=x", config_dirs=(tmp_path,))
        assert message == "training.max_steps: expected an integer or null, got 'x'"

    def test_an_experiment_without_its_first_line_is_explained(self, tmp_path):
        (tmp_path / "experiment").mkdir()
        (tmp_path / "experiment" / "bare.yaml").write_text("training:\n  max_steps: 3\n")
        assert "# @package _global_" in refusal("experiment=bare", config_dirs=(tmp_path,))


class TestSchema:
    def test_values_become_the_dataclass(self):
        built = to_schema(
            {"steps": 1e3, "limit": 3, "inner": {"names": ["a"]}, "sizes": {"a": 5}, "name": 2016},
            Outer,
            "outer",
        )
        assert built == Outer(1000, "2016", 3.0, inner=Inner(names=["a"]), sizes={"a": 5})
        assert (type(built.steps), type(built.limit)) == (int, float)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({}, "outer.steps: a value is required"),
            ({"stepz": 1}, "outer.stepz: unknown key; did you mean outer.steps?"),
            ({"steps": True}, "outer.steps: expected an integer, got true"),
            ({"steps": 1.5}, "outer.steps: expected an integer, got 1.5"),
            ({"steps": None}, "outer.steps: expected an integer, got null"),
            ({"steps": 1, "limit": "1e3x"}, "outer.limit: expected a number or null, got '1e3x'"),
            ({"steps": 1, "limit": float("nan")}, "outer.limit: expected a number or null, got nan"),
            (
                {"steps": 1, "score": "blue"},
                "outer.score: expected one of bleu, loss, got 'blue'; did you mean bleu?",
            ),
            ({"steps": 1, "on": "yes"}, "outer.on: expected true or false, got 'yes'"),
            ({"steps": 1, "inner": 5}, "outer.inner: expected a section of keys and values, got 5"),
            (
                {"steps": 1, "inner": {"ratoi": 5}},
                "outer.inner.ratoi: unknown key; did you mean outer.inner.ratio?",
            ),
            ({"steps": 1, "inner": {"names": [[]]}}, "outer.inner.names[0]: expected text, got []"),
            ({"steps": 1, "sizes": {"a": "b"}}, "outer.sizes.a: expected an integer, got 'b'"),
            ({"steps": 1, "width": 1}, "outer.width: expected at least 2, got 1"),
            ({"steps": 1, "width": 8}, "outer.width: expected at most 7, got 8"),
            ({"steps": 1, "rate": 0}, "outer.rate: expected more than 0, got 0.0"),
            ({"steps": 13}, "outer.steps: thirteen is refused"),
        ],
    )
    def test_a_wrong_value_is_named_with_its_path(self, values, message):
        with pytest.raises(UserError) as caught:
            to_schema(values, Outer, "outer")
        assert str(caught.value) == message

    def test_a_value_still_to_be_given_is_named(self):
        with pytest.raises(UserError, match=r"data\.name: a value is required"):
            to_schema(OmegaConf.create({"data": {"name": "???"}}).data, Inner, "data")

    def test_sections_are_closed(self):
        check_sections({"run": {}}, ("run",))
        with pytest.raises(UserError, match=r"rnu: unknown section; did you mean run\?"):
            check_sections({"rnu": {}}, ("run",))


NODE = {"_target_": "translate.models.Transformer", "width": 14, "num_heads": 7, "feedforward_size": 11}
ATTENTION = {"_target_": "translate.attention.MultiHead", "_partial_": True, "num_heads": 2}


class TestTargets:
    def test_only_the_package_torch_and_plugins_may_be_named(self):
        assert resolve_target("translate.models.Transformer") is Transformer
        assert resolve_target("torch.optim.Adam") is torch.optim.Adam
        assert resolve_target("torch.optim.lr_scheduler.StepLR") is torch.optim.lr_scheduler.StepLR

    @pytest.mark.parametrize(
        "name",
        [
            "os.system",
            "builtins.eval",
            "torch.load",
            "torch.hub.load",
            "translate",
            "translate.config.targets.importlib.import_module",
            "translate.config.targets.Path",
            "translate.config.names.nearest",
            "torch.nn.functional.relu",
            "torch.optim.lr_scheduler.partial",
            "translatex.models.Transformer",
            None,
            3,
        ],
    )
    def test_nothing_else_can_be_reached(self, name):
        with pytest.raises(UserError):
            resolve_target(name)

    def test_a_misspelt_class_gives_the_nearest(self):
        with pytest.raises(UserError, match=r"did you mean translate\.models\.Transformer\?"):
            resolve_target("translate.models.Transfomer")

    def test_a_plugin_of_the_working_directory_is_used_if_it_is_listed(self, tmp_path, monkeypatch):
        (tmp_path / "my_schedule.py").write_text(
            "class Mine:\n    def __init__(self, slope: float): self.slope = slope\n"
        )
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.path", [*__import__("sys").path])
        node = {"_target_": "my_schedule.Mine", "slope": 2}
        with pytest.raises(UserError, match=r"run\.plugins"):
            check_target(node, "schedule")
        assert instantiate(node, "schedule", ["my_schedule"]).slope == 2.0
        with pytest.raises(UserError, match=r"schedule\.slope: expected a number, got 'x'"):
            check_target(node | {"slope": "x"}, "schedule", ["my_schedule"])

    def test_a_plugin_that_is_not_there_is_named(self):
        with pytest.raises(UserError, match=r"run\.plugins: cannot import 'no_such_plugin'"):
            resolve_target("no_such_plugin.Mine", ["no_such_plugin"])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                {"wdth": 3},
                r"model\.wdth: unknown option of translate\.models\.Transformer; did you mean model\.width\?",
            ),
            ({"width": "3"}, r"model\.width: expected an integer, got '3'"),
            ({"source_vocabulary": 3}, r"model\.source_vocabulary: this is given by the program"),
            ({"_target_": "torch.nn.ReLU"}, r"unknown option of torch\.nn\.ReLU"),
            ({"_recursive_": False}, r"model\._recursive_: unknown option"),
            ({"attention": ATTENTION | {"num_head": 2}}, r"model\.attention\.num_head: unknown option"),
        ],
    )
    def test_options_are_checked_against_the_signature(self, change, message):
        with pytest.raises(UserError, match=message):
            check_target({**NODE, "attention": ATTENTION, **change}, "model", provided=GIVEN)

    def test_a_missing_option_is_named(self):
        with pytest.raises(UserError, match=r"schedule\.total: a value is required"):
            check_target({"_target_": "translate.training.optimizer.Linear"}, "schedule")

    def test_a_target_that_cannot_take_what_it_is_given_is_refused(self):
        with pytest.raises(UserError, match=r"model\._target_: torch\.nn\.ReLU takes no source_vocabulary"):
            check_target({"_target_": "torch.nn.ReLU"}, "model", provided=GIVEN)

    def test_name_is_a_label_of_the_model_alone(self):
        check_target({"_target_": "torch.nn.ReLU", "name": "x"}, "model")
        with pytest.raises(UserError, match=r"schedule\.name: unknown option"):
            check_target({"_target_": "translate.training.optimizer.Constant", "name": "x"}, "schedule")

    def test_nested_and_partial_nodes_are_built(self):
        model = instantiate(NODE | {"attention": ATTENTION}, "model", [], 17, target_vocabulary=17)
        assert isinstance(model, Transformer)
        heads = [module.num_heads for module in model.modules() if isinstance(module, MultiHead)]
        assert sorted(set(heads)) == [2, 7]

    def test_what_a_partial_constructor_refuses_has_the_path(self):
        node = NODE | {"attention": ATTENTION | {"num_heads": 3}}
        with pytest.raises(UserError, match=r"^model\.attention\b.*3"):
            instantiate(node, "model", [], 17, 17)

    def test_what_the_constructor_refuses_has_the_path(self):
        node = {"_target_": "translate.training.optimizer.Linear", "total": 3, "warmup": 5}
        with pytest.raises(UserError, match=r"^schedule\.total: expected more steps"):
            instantiate(node, "schedule", [])
        parameter = torch.nn.Parameter(torch.zeros(3))
        with pytest.raises(UserError, match=r"^optimizer: Invalid learning rate"):
            instantiate({"_target_": "torch.optim.Adam", "lr": -1}, "optimizer", [], [parameter])

    def test_floats_are_given_as_floats(self):
        parameter = torch.nn.Parameter(torch.zeros(3))
        built = instantiate({"_target_": "torch.optim.SGD", "lr": 1}, "optimizer", [], [parameter])
        assert type(built.param_groups[0]["lr"]) is float


class TestNames:
    def test_nearest(self):
        assert nearest("transfomer", ["rnn", "transformer"]) == "transformer"
        assert nearest("xyz", ["rnn", "transformer"]) is None

    @pytest.mark.parametrize(
        ("path", "meant"),
        [
            ("trainig.max_stepz", "training.max_steps"),
            ("training.lr", "optimizer.lr"),
            ("max_step", "training.max_steps"),
            ("training.xyz", None),
            ("trainin", "training"),
        ],
    )
    def test_suggest(self, path, meant):
        assert suggest(path, ["training", "training.max_steps", "optimizer", "optimizer.lr"]) == meant
