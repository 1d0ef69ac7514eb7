"""The nearest valid name for a wrong one."""

import pytest

from translate.config import nearest, suggest


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
