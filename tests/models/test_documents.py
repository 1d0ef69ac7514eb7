"""Sources of several sentences, as each backend reads them."""

import pytest
import torch

from tests.tiny_models import SOURCE_VOCABULARY, tiny_model
from translate.models.seq2seq import sentence_numbers
from translate.text.tokenizer import BOS, EOS

SENTENCES = [[7, 8, 9], [11, 12], [13, 14, 15]]
SOURCE = [*SENTENCES[0], BOS, *SENTENCES[1], BOS, *SENTENCES[2], EOS]
OTHER = [6, 5, BOS, 13, 14, 15, EOS]
TARGET_IN = [[BOS, 5, 9, 6]]


def test_a_position_has_the_number_of_sentences_that_begin_after_it() -> None:
    source = torch.tensor([SOURCE, OTHER + [0] * (len(SOURCE) - len(OTHER)), [9] * len(SOURCE)])
    found = sentence_numbers(source)
    for row, ids in zip(found.tolist(), source.tolist(), strict=True):
        assert row == [ids[place + 1 :].count(BOS) for place in range(len(ids))]


@pytest.mark.parametrize("kind", ["bahdanau", "transformer"])
def test_hierarchical_weighs_sentences_and_then_their_words(kind: str) -> None:
    model = tiny_model(f"{kind}-hierarchical")
    assert model.parts_of(torch.tensor([SOURCE])).sentences is None  # one sentence
    model.read_documents(2)
    assert max(SOURCE) < SOURCE_VOCABULARY
    source, target = torch.tensor([SOURCE]), torch.tensor(TARGET_IN)
    with torch.no_grad():
        (weights,) = model.forced_weights(source, None, target, [0])
        hidden = model(source, None, target)
        shares = torch.stack(
            [weights[..., :3].sum(-1), weights[..., 3:6].sum(-1), weights[..., 6:].sum(-1)], -1
        )
        assert torch.allclose(weights.sum(-1), torch.ones(1), atol=1e-6)
        assert (shares > 0.01).all()
        # Words compete within their sentence: without the last separator, the last two become one.
        joined = torch.tensor([[*SOURCE[:6], 10, *SOURCE[7:]]])
        assert sentence_numbers(joined).max() == 1
        # Padding and a shorter neighbour change nothing.
        both = torch.tensor([SOURCE, OTHER + [0] * (len(SOURCE) - len(OTHER))])
        mask = torch.tensor([[True] * len(SOURCE), [place < len(OTHER) for place in range(len(SOURCE))]])
        together = model(both, mask, target.expand(2, -1))
        assert torch.allclose(together[:1], hidden, atol=1e-5)
        assert torch.allclose(together[1:], model(both[1:, : len(OTHER)], None, target), atol=1e-5)
        encoded = model.encode(source, None)
        state, found = model.start(encoded), []
        for ids in target[0]:
            step, state = model.step(ids.reshape(1), state, encoded)
            found.append(step)
        assert torch.allclose(torch.stack(found, 1), hidden, atol=1e-5)


def test_another_mechanism_reads_the_words_of_all_sentences_alike() -> None:
    model = tiny_model("transformer")
    model.read_documents(2)
    assert not model.reads_sentences
    assert model.parts_of(torch.tensor([SOURCE])).sentences is None
