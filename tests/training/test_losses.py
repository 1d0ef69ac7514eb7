import numpy as np
import pytest
import torch

from translate.corpora.batching import collate
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.training import losses
from translate.training.losses import divergence, guided_alignment_loss, twice

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
    monkeypatch.setattr(losses, "CHUNK_ELEMENTS", 1)  # as many rows a chunk as columns
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


def test_guided_loss_equals_plain_loops_and_has_its_gradient() -> None:
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(2, 3, 5, generator=generator, dtype=torch.float64, requires_grad=True)
    guide = torch.zeros(2, 3, 5, dtype=torch.float64)
    guide[0, 1, 4] = 1.0
    guide[1, 0, 0] = guide[1, 0, 2] = 0.5
    weights = scores.softmax(-1)
    loss = guided_alignment_loss(weights, guide)
    rows = weights.detach()
    expected = -rows[0, 1, 4].log() - 0.5 * rows[1, 0, 0].log() - 0.5 * rows[1, 0, 2].log()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    (gradient,) = torch.autograd.grad(loss, scores)
    known = guide.sum(-1, keepdim=True)
    torch.testing.assert_close(gradient, known * rows - guide, rtol=1e-5, atol=1e-7)
