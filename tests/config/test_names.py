"""The nearest valid name for a wrong one."""

from translate.config.names import nearest


def test_nearest() -> None:
    assert nearest("transfomer", ["rnn", "transformer"]) == "transformer"
    assert nearest("xyz", ["rnn", "transformer"]) is None
