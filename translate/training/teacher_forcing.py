"""Scheduled sampling: how often a recurrent decoder reads the known token, over the steps of a run."""

import math

from translate.config.training import TeacherForcingConfig


def known_probability(config: TeacherForcingConfig, step: int) -> float:
    """The probability that the known token is read at optimizer step ``step``: Bengio et al. 2015, 2.4.

    linear: max(minimum, 1 - (1 - minimum) step / steps); exponential: k^step; inverse sigmoid:
    k / (k + exp(step / k)), which begins at k / (k + 1). The last two have no minimum in the paper.
    """
    if config.decay == "linear":
        assert config.steps is not None
        return max(config.minimum, 1.0 - (1.0 - config.minimum) * step / config.steps)
    assert config.k is not None
    if config.decay == "exponential":
        return max(config.minimum, config.k**step)
    past = min(step / config.k, 700.0)  # exp overflows beyond
    return max(config.minimum, config.k / (config.k + math.exp(past)))
