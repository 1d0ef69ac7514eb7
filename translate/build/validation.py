"""How a model that is being trained is scored."""

from dataclasses import dataclass

import torch

from translate.alignment.calibrate import calibrate
from translate.alignment.forced import evaluation_mode
from translate.alignment.links import parse_gold
from translate.build.schema import Settings
from translate.evaluation import bleu_score
from translate.text.batching import EncodedCorpus, Ragged, collate, sequential_batches
from translate.text.corpus import Split
from translate.text.tokenizer import TokenizerPair
from translate.training.update import batch_loss
from translate.translator import Translator


def encode(split: Split, tokenizers: TokenizerPair) -> EncodedCorpus:
    """A split as ids."""
    return EncodedCorpus(
        Ragged.of(tokenizers.source.encode_corpus(split.source)),
        Ragged.of(tokenizers.target.encode_corpus(split.target)),
    )


@dataclass
class Validation:
    """Scores a model on the validation split: loss, BLEU of greedy search, AER where gold is known."""

    settings: Settings
    translator: Translator
    split: Split | None

    def __post_init__(self) -> None:
        if self.split is None:
            return
        limit = self.settings.training.validation_pairs
        self.source, self.target = self.split.source[:limit], self.split.target[:limit]
        self.corpus = encode(self.split, self.translator.tokenizers)
        self.gold = None
        if self.split.gold is not None:
            wanted = self.split.gold[: self.settings.alignment.calibration_pairs]
            self.gold = [parse_gold(text, where=f"gold line {i}") for i, text in enumerate(wanted, 1)]

    def __call__(self) -> dict[str, float]:
        if self.split is None:
            return {}
        scores = {"loss": self._loss()}
        texts = [each.text for each in self.translator.translate(self.source, beam_size=1)]
        language = self.settings.data.target_language or ""
        scores["bleu"] = bleu_score(texts, self.target, target_language=language)
        if self.gold:
            count = len(self.gold)
            sides = self.split.source[:count], self.split.target[:count]
            pairs = self.translator.encode_pairs(*sides, whitespace=True)
            wanted = self.settings.alignment
            found = calibrate(
                self.translator.model,
                pairs,
                self.gold,
                layer=wanted.layer,
                heads=wanted.heads,
                shift=wanted.shift,
                device=self.translator.device,
            )
            assert found.aer is not None
            scores["aer"] = found.aer
        return scores

    def _loss(self) -> float:
        """Negative log-likelihood of the references, nats a token."""
        model, device = self.translator.model, self.translator.device
        total, tokens = 0.0, 0
        lengths = self.corpus.source.lengths, self.corpus.target.lengths
        with evaluation_mode(model):
            for indices in sequential_batches(*lengths, self.settings.training.batch_tokens):
                batch = collate(self.corpus, indices.tolist()).to(device)
                total += batch_loss(model, batch, 0.0, torch.float32).likelihood.item()
                tokens += batch.num_tokens
        return total / tokens
