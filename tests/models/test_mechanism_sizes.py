"""A mechanism whose sizes do not fit names both, and their settings, before anything is read or written."""

from pathlib import Path

import pytest
import torch

from tests.tiny_models import attention, random_sources
from tests.tiny_runs import overrides_of, train_tiny
from translate.attention import Attention, Memory
from translate.attention.functional import dot_scores
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.errors import UserError
from translate.models import BahdanauRNN
from translate.runs.checks import check_buildable


def check(*overrides: str, backend: str) -> None:
    """Check the settings as a run does first."""
    chosen = overrides_of(Path("none"), backend, *overrides)
    check_buildable(check_config(compose(chosen)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "overrides", "message"),
    [
        (
            "rnn_luong",
            (),
            "queries of 26 (model.decoder_size) with source states of 28 (2 x model.encoder_size); "
            "set model.decoder_size=28, or use model/attention=general",
        ),
        (
            "rnn_bahdanau",
            ("model.word_in_query=true",),
            "queries of 50 (model.embedding_size + model.decoder_size) with source states of 28 "
            "(2 x model.encoder_size); set model.word_in_query=false model.decoder_size=28, or use "
            "model/attention=general",
        ),
    ],
)
def test_dot_needs_queries_as_wide_as_the_source_states(
    tmp_path: Path, backend: str, overrides: tuple[str, ...], message: str
) -> None:
    with pytest.raises(UserError) as raised:
        train_tiny(tmp_path / "run", backend, "model/attention=dot", *overrides)
    assert str(raised.value) == f"model.attention: dot compares {message}"
    assert not (tmp_path / "run").exists()
    fitting = message.partition("set ")[2].partition(",")[0]
    check("model/attention=dot", *fitting.split(), backend=backend)


def test_dot_fits_the_sizes_of_the_luong_backend() -> None:
    check_buildable(check_config(compose(["model=rnn_luong", "model/attention=dot"])))


def test_dot_with_the_last_word_in_its_query() -> None:
    sizes = {"embedding_size": 4, "encoder_size": 7, "decoder_size": 10, "tie": "target"}
    model = BahdanauRNN(19, 23, attention("dot"), **sizes, word_in_query=True).eval()
    source = torch.tensor(random_sources([5]))
    assert model(source, None, torch.tensor([[2, 7, 9]])).shape == (1, 3, 4)
    assert model.attention.query_size == 14


class Unchecked(Attention):
    """A mechanism of a plugin that does not look at its sizes."""

    def scores(self, query: torch.Tensor, memory: Memory, state: object = None) -> torch.Tensor:
        return dot_scores(query.unsqueeze(1), memory.keys)


class Widened(Unchecked):
    """A mechanism of a plugin whose context is not as wide as it says."""

    def merge(self, context: torch.Tensor) -> torch.Tensor:
        return torch.cat([context, context], -1).flatten(1, 2)


PLUGGED = (f"run.plugins=[{__name__}]", "~model.attention.kernel")


@pytest.mark.slow
def test_a_mechanism_of_a_plugin_that_fails_on_its_sizes(tmp_path: Path) -> None:
    chosen = (*PLUGGED, f"model.attention._target_={__name__}.Unchecked")
    with pytest.raises(UserError) as raised:
        train_tiny(tmp_path / "run", "rnn_luong", *chosen)
    message = str(raised.value)
    assert message.startswith(
        "model.attention: Unchecked compares queries of 26 (model.decoder_size) with source "
    )
    assert message.endswith("; set model.decoder_size=28, or use model/attention=general")
    assert "\n" not in message
    assert not (tmp_path / "run").exists()
    check(*chosen, "model.decoder_size=28", backend="rnn_luong")
    widened = f"model.attention._target_={__name__}.Widened"
    with pytest.raises(UserError, match=r"gives contexts of 56, but its context_size is 28"):
        check(*PLUGGED, widened, "model.decoder_size=28", backend="rnn_luong")
