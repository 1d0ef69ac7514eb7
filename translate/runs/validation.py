"""Scoring a model during training."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from translate.alignment.alignment import Alignment
from translate.alignment.calibrate import calibrate
from translate.config.settings import Settings
from translate.corpora.batching import collate, sequential_batches
from translate.corpora.corpus import Split
from translate.corpora.document_rows import split_context, with_context
from translate.evaluation import bleu_score, corpus_scores
from translate.models.seq2seq import evaluation_mode
from translate.runs.encoding import encode, gold_links
from translate.runs.load import parallel_search
from translate.runs.reports.samples import SHOWN, Sample, sample_to_draw
from translate.training.distributed import World
from translate.training.losses import batch_loss
from translate.translator import Translator


def rows_by_corpus(corpora: Sequence[str]) -> dict[str, list[int]]:
    """The rows of each corpus."""
    found: dict[str, list[int]] = {}
    for row, name in enumerate(corpora):
        found.setdefault(name, []).append(row)
    return found


@dataclass
class Validation:
    """Scores a model on the validation split: nll, BLEU of greedy search, AER if there are gold links.

    chrF or TER is computed if it chooses the best checkpoint. Several processes share the work, and all
    receive the scores.

    Attributes:
        world: the processes.
        samples: some translations of the last call, in the main process.
        alignment: of one of them.
    """

    settings: Settings
    translator: Translator
    split: Split | None
    world: World = field(default_factory=World)
    samples: list[Sample] = field(default_factory=list)
    alignment: Alignment | None = None

    def __post_init__(self) -> None:
        if self.split is None:
            return
        limit = self.settings.training.validation_pairs
        self.source, self.target = self.split.source[:limit], self.split.target[:limit]
        self.corpus = with_context(
            encode(self.split, self.translator.tokenizers), self.split, self.translator.context
        )
        self.context = split_context(self.split, self.translator.context.sentences, len(self.source))
        self.gold = None
        if self.split.gold is not None:
            self.gold = gold_links(self.split, self.settings.alignment.calibration_pairs)

    def __call__(self) -> dict[str, float]:
        split = self.split
        if split is None:
            return {}
        nll, texts = self._nll(), self._texts()
        return self.world.from_main(lambda: self._scores(split, nll, texts))

    def _scores(self, split: Split, nll: float, texts: list[str]) -> dict[str, float]:
        """All scores; also sets the samples and the alignment."""
        scores = {"nll": nll}
        language = self.settings.data.target_language or ""
        scores["bleu"] = bleu_score(texts, self.target, target_language=language)
        if split.corpora is not None:
            for name, rows in rows_by_corpus(split.corpora[: len(self.source)]).items():
                sides = [texts[row] for row in rows], [self.target[row] for row in rows]
                scores[f"bleu_{name}"] = bleu_score(*sides, target_language=language)
        metric = self.settings.training.best_metric
        if metric in ("chrf", "ter"):
            found_all = corpus_scores(texts, self.target, target_language=language)
            scores[metric] = getattr(found_all, metric)
        choice = self.translator.choice
        if self.gold:
            count = len(self.gold)
            pairs = self.translator.encode_pairs(
                split.source[:count],
                split.target[:count],
                whitespace=True,
                context=split_context(split, self.translator.context.sentences, count),
            )
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
            choice = found.choice
        sentences = zip(self.source[:SHOWN], self.target, texts)  # texts and target may be longer
        self.samples = [Sample(*sides) for sides in sentences]
        drawn = sample_to_draw(self.samples)
        shown = replace(self.translator, choice=choice)
        if drawn is None:
            self.alignment = None
        else:
            context = None if self.context is None else [self.context[self.samples.index(drawn)]]
            self.alignment = shown.align([drawn.source], [drawn.translation], context=context)[0]
        return scores

    def _texts(self) -> list[str]:
        """The translations of all processes, in the order of the sentences."""
        rank, size = self.world.rank, self.world.size
        context = None if self.context is None else self.context[rank::size]
        sources = self.source[rank::size]
        with parallel_search(self.translator, len(sources)):
            results = self.translator.translate(sources, beam_size=1, context=context)
        mine = [result.text for result in results]
        texts = [""] * len(self.source)
        for rank, share in enumerate(self.world.gather(mine)):
            texts[rank::size] = share
        return texts

    def _nll(self) -> float:
        """Negative log-likelihood of the references, nats a token."""
        model, device = self.translator.model, self.translator.device
        total, tokens = 0.0, 0
        with evaluation_mode(model):
            batches = list(sequential_batches(*self.corpus.lengths(), self.settings.training.batch_tokens))
            for indices in batches[self.world.rank :: self.world.size]:
                batch = collate(self.corpus, indices.tolist()).to(device)
                total += batch_loss(model, batch).likelihood.item()
                tokens += batch.num_tokens
        total, tokens = self.world.add(torch.tensor([total, tokens], dtype=torch.float64)).tolist()
        return total / tokens
