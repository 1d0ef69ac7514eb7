import numpy as np
import pytest
import torch

from translate.corpora.batching import EncodedCorpus, Ragged, collate
from translate.training import losses
from translate.training.losses import divergence, twice

N, D, V = 37, 5, 23


def inputs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    sizes = (N, D), (N, D), (V, D), (V,)
    return [torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_() for size in sizes]


def oracle(first: np.ndarray, second: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> float:
    total = 0.0
    for one, two in zip(first, second):
        p, q = (np.exp(weight @ each + bias) for each in (one, two))
        p, q = p / p.sum(), q / q.sum()
        total += 0.5 * sum(p * np.log(p / q)) + 0.5 * sum(q * np.log(q / p))
    return total


def test_the_divergence_is_the_mean_of_both_directions() -> None:
    given = inputs()
    found = divergence(*given)
    np.testing.assert_allclose(found.item(), oracle(*(each.detach().numpy() for each in given)), rtol=1e-10)
    assert divergence(given[0], given[0], given[2], None).item() == 0.0


@pytest.mark.slow
def test_chunks_change_neither_value_nor_gradient(monkeypatch) -> None:
    whole, cut = inputs(), inputs()
    divergence(*whole).backward()
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", 1)  # 16 rows a chunk
    divergence(*cut).backward()
    for mine, other in zip(whole, cut):
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-10, atol=1e-12)
    torch.autograd.gradcheck(divergence, inputs())


def test_twice_is_each_pair_two_times_and_counts_once() -> None:
    corpus = EncodedCorpus(Ragged.of([[4, 5], [6]]), Ragged.of([[7], [8, 9, 10]]))
    batch = collate(corpus, [0, 1])
    doubled = twice(batch)
    for name in ("source", "source_mask", "target_in", "target_out", "target_mask"):
        one, two = getattr(doubled, name).chunk(2)
        assert torch.equal(one, getattr(batch, name))
        assert torch.equal(two, getattr(batch, name))
    assert (doubled.num_tokens, doubled.guide) == (batch.num_tokens, None)
