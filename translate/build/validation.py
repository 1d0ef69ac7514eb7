"""How a model that is being trained is scored."""

from dataclasses import dataclass, field

import torch

from translate.alignment.calibrate import calibrate
from translate.alignment.extract import evaluation_mode
from translate.alignment.guide import piece_links, words_of
from translate.alignment.links import parse_gold
from translate.alignment.statistical import align_corpus
from translate.build.schema import Settings
from translate.evaluation import bleu_score
from translate.text.batching import EncodedCorpus, Ragged, collate, sequential_batches
from translate.text.corpus import Split
from translate.text.tokenizer import TokenizerPair
from translate.training.distributed import World
from translate.training.update import batch_loss
from translate.translator import Translator


def encode(split: Split, tokenizers: TokenizerPair) -> EncodedCorpus:
    """A split as ids."""
    return EncodedCorpus(
        Ragged.of(tokenizers.source.encode_corpus(split.source)),
        Ragged.of(tokenizers.target.encode_corpus(split.target)),
    )


def encode_training(settings: Settings, split: Split, tokenizers: TokenizerPair) -> EncodedCorpus:
    """The training split as ids, with links to guide the attention if it is guided; gold is never read."""
    if not settings.training.guided_alignment:
        return encode(split, tokenizers)
    whitespace = settings.data.tokenised
    sources = [tokenizers.source.encode_words(line, whitespace=whitespace) for line in split.source]
    targets = [tokenizers.target.encode_words(line, whitespace=whitespace) for line in split.target]
    links = align_corpus(words_of(sources), words_of(targets), method="intersection")
    packed = [piece_links(*each) for each in zip(sources, targets, links, strict=True)]
    return EncodedCorpus(
        Ragged.of([each.ids for each in sources]),
        Ragged.of([each.ids for each in targets]),
        Ragged.of(packed),
    )


@dataclass
class Validation:
    """Scores a model on the validation split: loss, BLEU of greedy search, AER where gold is known.

    Several processes share the work, and all get the scores.
    """

    settings: Settings
    translator: Translator
    split: Split | None
    world: World = field(default_factory=World)

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
        texts = self._texts()
        language = self.settings.data.target_language or ""
        scores["bleu"] = bleu_score(texts, self.target, target_language=language)
        if self.gold:
            count = len(self.gold)
            pairs = [
                self.translator.encode_pair(source, target, whitespace=True)
                for source, target in zip(self.split.source[:count], self.split.target[:count], strict=True)
            ]
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
        return self.world.from_main(lambda: scores)

    def _texts(self) -> list[str]:
        """The translations of all processes, in the order of the sentences."""
        rank, size = self.world.rank, self.world.size
        mine = [each.text for each in self.translator.translate(self.source[rank::size], beam_size=1)]
        texts = [""] * len(self.source)
        for rank, share in enumerate(self.world.gather(mine)):
            texts[rank::size] = share
        return texts

    def _loss(self) -> float:
        """Negative log-likelihood of the references, nats a token."""
        model, device = self.translator.model, self.translator.device
        total, tokens = 0.0, 0
        lengths = self.corpus.source.lengths, self.corpus.target.lengths
        with evaluation_mode(model):
            batches = list(sequential_batches(*lengths, self.settings.training.batch_tokens))
            for indices in batches[self.world.rank :: self.world.size]:
                batch = collate(self.corpus, indices.tolist()).to(device)
                total += batch_loss(model, batch, 0.0, torch.float32).likelihood.item()
                tokens += batch.num_tokens
        total, tokens = self.world.add(torch.tensor([total, tokens], dtype=torch.float64)).tolist()
        return total / tokens
