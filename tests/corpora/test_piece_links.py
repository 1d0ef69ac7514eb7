"""Word links become rows of attention over pieces."""

import numpy as np
import pytest
import torch

from translate.corpora.batching import EncodedCorpus, Ragged, collate, piece_links
from translate.text.tokenizer import NO_WORD, Pieces
from translate.text.words import Word
from translate.training.losses import guided_alignment_loss


def _pieces(piece_words: list[int], num_words: int) -> Pieces:
    return Pieces(list(range(10, 10 + len(piece_words))), piece_words, [Word("x", 0, 1)] * num_words)


def test_rows_are_uniform_over_the_pieces_of_linked_words() -> None:
    source = _pieces([0, 0, 1, 2, NO_WORD], 3)  # the first word has two pieces
    target = _pieces([0, 1, 1], 2)
    packed = piece_links(source, target, frozenset({(0, 1), (2, 1)}))
    corpus = EncodedCorpus(Ragged.of([source.ids]), Ragged.of([target.ids]), Ragged.of([packed]))
    guide = collate(corpus, [0]).guide
    assert guide is not None
    third = 1 / 3
    expected: list[list[float]] = [
        [0, 0, 0, 0, 0, 0],  # not linked: nothing is known
        [third, third, 0, third, 0, 0],
        [third, third, 0, third, 0, 0],
        [0, 0, 0, 0, 0, 0],  # the end of sentence
    ]
    np.testing.assert_allclose(guide[0].numpy(), expected, rtol=1e-6)


def test_guide_follows_its_pair_into_a_padded_batch() -> None:
    corpus = EncodedCorpus(
        Ragged.of([[5, 6, 7], [5]]), Ragged.of([[8], [8, 9, 4]]), Ragged.of([[2], [(2 << 16) | 0]])
    )
    guide = collate(corpus, [1, 0]).guide
    assert guide is not None
    assert guide.shape == (2, 4, 4)
    assert guide.nonzero().tolist() == [[0, 2, 0], [1, 0, 2]]


def test_loss_equals_plain_loops_and_has_its_gradient() -> None:
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


def test_loss_of_shifted_rows_is_that_of_the_rows_that_read_a_piece() -> None:
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(1, 3, 4, generator=generator, dtype=torch.float64).softmax(-1)
    guide = torch.zeros(1, 3, 4, dtype=torch.float64)
    guide[0, 0, 2] = guide[0, 1, 3] = 1.0  # of y1 and y2; the third row is that of end-of-sentence
    expected = -weights[0, 1, 2].log() - weights[0, 2, 3].log()
    assert guided_alignment_loss(weights[:, 1:], guide).item() == pytest.approx(expected.item(), rel=1e-6)
