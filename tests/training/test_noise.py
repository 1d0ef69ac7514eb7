import numpy as np
import torch

from translate.corpora.batching import EncodedCorpus, Ragged, collate
from translate.text.tokenizer import BOS, EOS, PAD, UNK
from translate.training.noise import drop_words


def test_so_many_pieces_are_unknown_and_none_of_the_special_ones() -> None:
    generator = np.random.default_rng(3)
    sides = [[generator.integers(4, 90, n).tolist() for n in generator.integers(20, 60, 97)] for _ in "st"]
    batch = collate(EncodedCorpus(*map(Ragged.of, sides)), range(97))
    noisy = drop_words(batch, 0.2, np.random.default_rng(5))
    for name in ("source", "target_in"):
        before, after = getattr(batch, name), getattr(noisy, name)
        changed = before != after
        assert (after[changed] == UNK).all()
        special = (before == PAD) | (before == BOS) | (before == EOS)
        assert not changed[special].any()
        share = changed.sum() / (~special).sum()
        assert abs(share - 0.2) < 0.02  # of about 4,000
    assert torch.equal(noisy.target_out, batch.target_out)  # what is to be said stays
    again = drop_words(batch, 0.2, np.random.default_rng(5))
    assert torch.equal(again.source, noisy.source)
