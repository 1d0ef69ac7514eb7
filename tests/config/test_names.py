"""The nearest valid name for a wrong one."""

from translate.config.names import did_you_mean, nearest


def test_nearest() -> None:
    assert nearest("transfomer", ["rnn", "transformer"]) == "transformer"
    assert nearest("xyz", ["rnn", "transformer"]) is None


def test_of_names_that_are_taken_for_each_other_both_are_named() -> None:
    assert did_you_mean("model") == "; did you mean model?"
    for name in ("tokenizer", "data.tokenised"):
        assert did_you_mean(name).startswith("; did you mean tokenizer (")
        assert " or data.tokenised (" in did_you_mean(name)
