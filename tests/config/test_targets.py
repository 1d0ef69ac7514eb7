"""`_target_` nodes: which classes may be named, and how their options are checked."""

import pytest
import torch

from translate.attention import MultiHead
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.config.targets import check_target, instantiate, resolve_target
from translate.errors import UserError
from translate.models import Transformer

GIVEN = ("source_vocabulary", "target_vocabulary")
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
            "torch.load",
            "translate",
            "translate.config.targets.importlib.import_module",
            "translate.config.names.nearest",
            "torch.nn.functional.relu",
            "torch.optim.lr_scheduler.partial",
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
        with pytest.raises(UserError, match="plugin no_such_plugin: there is no such module"):
            resolve_target("no_such_plugin.Mine", ["no_such_plugin"])
        with pytest.raises(UserError, match=r"plugin my_attention\.py: .* expected its name, without \.py"):
            check_config(compose(["run.plugins=[my_attention.py]"]))

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
            check_target({"_target_": "translate.training.schedules.Linear"}, "schedule")

    def test_a_target_that_cannot_take_what_it_is_given_is_refused(self):
        with pytest.raises(UserError, match=r"model\._target_: torch\.nn\.ReLU takes no source_vocabulary"):
            check_target({"_target_": "torch.nn.ReLU"}, "model", provided=GIVEN)

    def test_name_is_a_label_of_the_model_alone(self):
        check_target({"_target_": "torch.nn.ReLU", "name": "x"}, "model")
        with pytest.raises(UserError, match=r"schedule\.name: unknown option"):
            check_target({"_target_": "translate.training.schedules.Constant", "name": "x"}, "schedule")

    def test_nested_and_partial_nodes_are_built(self):
        model = instantiate(
            NODE | {"attention": ATTENTION}, "model", [], source_vocabulary=17, target_vocabulary=17
        )
        assert isinstance(model, Transformer)
        heads = [module.num_heads for module in model.modules() if isinstance(module, MultiHead)]
        assert sorted(set(heads)) == [2, 7]

    def test_what_a_partial_constructor_refuses_has_the_path(self):
        node = NODE | {"attention": ATTENTION | {"num_heads": 3}}
        with pytest.raises(UserError, match=r"^model\.attention\b.*3"):
            instantiate(node, "model", [], source_vocabulary=17, target_vocabulary=17)

    def test_what_the_constructor_refuses_has_the_path(self):
        node = {"_target_": "translate.training.schedules.Linear", "total": 3, "warmup": 5}
        with pytest.raises(UserError, match=r"^schedule\.warmup: expected fewer steps"):
            instantiate(node, "schedule", [])
        parameter = torch.nn.Parameter(torch.zeros(3))
        with pytest.raises(UserError, match=r"^optimizer: Invalid learning rate"):
            instantiate({"_target_": "torch.optim.Adam", "lr": -1}, "optimizer", [], params=[parameter])
