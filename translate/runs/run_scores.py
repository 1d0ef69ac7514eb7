"""Scoring a model: on the validation split while it trains, on the test split when it has been trained."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import torch

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.regions import alignment_scores
from translate.config.names import counted
from translate.config.settings import Settings
from translate.corpora.batching import collate, plan_batches
from translate.corpora.corpus import Corpus, Split
from translate.corpora.document_rows import split_context, with_context
from translate.corpora.images.line import sentences_of
from translate.evaluation.scores import ambiguous_scores, bleu_score, corpus_scores, score_lines
from translate.models.seq2seq import evaluation_mode
from translate.runs.calibration import better_choice, choose_alignment, pairs_of_corpus, pairs_of_split, store
from translate.runs.encoding import encode, gold_links
from translate.runs.load import load_into
from translate.runs.reports import SHOWN, Sample, sample_to_draw, write_card
from translate.runs.run_directory import RunDirectory
from translate.runs.runtime import translate_all
from translate.runs.terminal_lines import closing_lines, machine_text, score_text
from translate.runs.training_pairs import seen_pairs
from translate.search.sources import warning_lines
from translate.text.file_writing import write_text
from translate.training.loop import Progress, Training
from translate.training.losses import batch_loss
from translate.training.parallel import World
from translate.translator import Translator
from translate.version import __version__

FEW = 100  # validation pairs, whose scores chance changes much
MOST_TRIED, LONGEST_TRIED = 100, 60  # sentences, of which the first of so few characters ends the output


def by_corpus(
    split: Split, texts: Sequence[str], references: Sequence[str], language: str
) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """The translations and references of each corpus, with its name and target language.

    ``language`` is that of all corpora, unless the split names one for each.
    """
    rows: dict[str, list[int]] = {}
    for row, name in enumerate((split.corpora or ())[: len(texts)]):
        rows.setdefault(name, []).append(row)
    for name, own in rows.items():
        of_corpus = split.languages.get(name, language)
        yield name, of_corpus, [texts[row] for row in own], [references[row] for row in own]


@dataclass
class Validation:
    """Scores a model on the validation split: nll, BLEU of greedy search, AER if there are gold links.

    chrF or TER is computed if it chooses the best checkpoint. Several processes share the work, and all
    receive the scores.

    Attributes:
        world: the processes.
        samples: some translations of the last call, in the main process.
        alignment: of one of them.
        is_told: whether the user knows which sentences the vocabulary does not fit.
    """

    settings: Settings
    translator: Translator
    split: Split | None
    world: World = field(default_factory=World)
    samples: list[Sample] = field(default_factory=list)
    alignment: Alignment | None = None
    is_told: bool = False

    def __post_init__(self) -> None:
        if self.split is None:
            return
        limit = self.settings.training.validation_pairs
        self.source, self.target = self.split.source[:limit], self.split.target[:limit]
        self.corpus = with_context(
            encode(self.split, self.translator.tokenizers), self.split, self.translator.context
        )
        self.context = split_context(self.split, self.translator.context.sentences, len(self.source))
        count, context = self.settings.alignment.calibration_pairs, self.translator.context.sentences
        self.judged = pairs_of_split(self.split, "validation", count, context)

    def __call__(self) -> dict[str, float]:
        split = self.split
        if split is None:
            return {}
        nll, texts = self._nll(), self._texts()
        warnings = sum(self.world.gather(self.translator.warnings), Counter[str]())
        if self.world.is_main and not self.is_told:  # every validation reads the same sentences
            _print_warnings("validation", warnings, self.translator)
        self.is_told = True
        self.translator.warnings.clear()
        self.translator.unknown.clear()
        return self.world.from_main(lambda: self._scores(split, nll, texts))

    def _scores(self, split: Split, nll: float, texts: list[str]) -> dict[str, float]:
        """All scores; also sets the samples and the alignment."""
        scores = {"nll": nll}
        language = self.settings.data.target_language or ""
        scores["bleu"] = bleu_score(texts, self.target, target_language=language)
        for name, own, *sides in by_corpus(split, texts, self.target, language):
            scores[f"bleu_{name}"] = bleu_score(*sides, target_language=own)
        metric = self.settings.training.best_metric
        if metric in ("chrf", "ter"):
            scores[metric] = getattr(corpus_scores(texts, self.target, target_language=language), metric)
        choice = self.translator.choice
        if self.judged.golds:
            wanted = replace(self.settings.alignment, threshold=None)
            found = choose_alignment(self.translator, self.judged, wanted)
            scores["aer"] = found["validation_aer"]
            choice = replace(AlignmentChoice.from_dict(found["choice"]), guided=choice.guided)
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
        results = translate_all(self.translator, sources, beam_size=1, context=context)
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
            batches = plan_batches(*self.corpus.lengths(), self.settings.training.batch_tokens)
            for indices in batches[self.world.rank :: self.world.size]:
                batch = collate(self.corpus, indices.tolist()).to(device)
                total += batch_loss(model, batch).likelihood.item()
                tokens += batch.num_tokens
        total, tokens = self.world.add(torch.tensor([total, tokens], dtype=torch.float64)).tolist()
        return total / tokens


def _print_warnings(split: str, warnings: Counter[str], translator: Translator) -> None:
    for line in warning_lines(warnings, translator.unknown):
        print(f"warning: {split}, {line}")


def finish(
    settings: Settings, training: Training, translator: Translator, corpus: Corpus, directory: RunDirectory
) -> None:
    """Load the best weights, choose the alignment, score the test split, and describe the run in its folder.

    Args:
        settings: of the run.
        training: has ended.
        translator: gets the best weights.
        corpus: the alignment is chosen on its validation split, the scores are of its test split.
        directory: of the run.
    """
    load_into(translator.model, directory.best())
    progress = training.progress
    pairs = pairs_of_corpus(corpus, settings.alignment.calibration_pairs, translator.context.sentences)
    if (chosen := better_choice(directory, pairs)) is None:
        chosen = choose_alignment(translator, pairs, settings.alignment)
    else:
        print(f"note: {directory.alignment} stays as gold links chose it; see translate align calibrate")
    store(directory, chosen, translator)
    scores: dict[str, Any] = {
        "version": __version__,
        "torch": torch.__version__,
        "machine": machine_text(training.update),
        "parameters": translator.model.num_parameters(),
        "steps": progress.step,
        "best_step": progress.best_step,
        "seconds": round(progress.seconds, 1),  # of training and validation
        "tokens": progress.tokens,
        "tokens_per_second": round(progress.tokens / max(1e-9, progress.training_seconds), 1),
    }
    if corpus.test is not None:
        print(f"translating {counted(len(corpus.test.source), 'test sentence')} for scores")
        scores["test"] = score_split(
            translator,
            corpus.test,
            ambiguous=settings.data.kind == "scenes" and settings.data.read != "picture",
        )
    directory.plots.mkdir(exist_ok=True)
    from translate.figures.plots import draw_curves  # matplotlib is slow to import

    draw_curves(directory.rows(), directory.plots / "curves.png")
    write_card(settings, corpus, translator.tokenizers, scores, directory)
    # Last: a run that has its scores has everything.
    write_text(directory.scores, json.dumps(scores, indent=2) + "\n")
    print(*final_lines(scores.get("test")), sep="\n")
    _print_warnings("test", translator.warnings, translator)
    print(f"model card {directory.card}")
    changes = changes_since_start(progress, directory, corpus.validation)
    sources = islice((corpus.test or corpus.validation or corpus.train).source, MOST_TRIED)
    short = [line for line in sources if len(line) <= LONGEST_TRIED and line.isprintable() and line.strip()]
    safe = [line for line in short if line[0] != "-" and "'" not in line] or ["A sentence."]

    def like_a_sentence(line: str) -> int:
        letters = sum(map(str.isalpha, line)) + line.count(" ")
        return 2 * (letters >= 0.85 * len(line)) + (not line[-1].isalpha())  # a full stop, whatever it is

    sentence = max(safe, key=like_a_sentence)  # the first of the best
    print(*closing_lines(settings, progress, scores, changes, directory, sentence), sep="\n")


def changes_since_start(progress: Progress, directory: RunDirectory, validation: Split | None) -> str:
    """The validation scores of ``training.start_from`` and of the result, such as ``bleu 12.3 -> 25.1``.

    Those of each corpus of a mixture are among them, so they tell what the model has forgotten of an old one.
    """
    rows = {row["step"]: row for row in directory.rows() if row["kind"] == "validation"}
    before, after = rows.get(0, {}), rows.get(progress.best_step, {})
    if before and progress.best_step == 0:
        known = validation and sum(seen_pairs(directory.path, validation.source, [validation.target]) or ())
        reason = "; pairs of the same kind are better trained on together with the old ones (data=mixture)"
        reason = (
            f"; {known:,} of the validation pairs were trained on before: give others" if known else reason
        )
        return f"nothing gained: no step was better, and the result has the weights of the start{reason}"
    both = [key for key in before if key in after and key not in ("kind", "step", "seconds")]
    changes = ", ".join(
        f"{score_text(key, before[key])} -> {score_text(key, after[key]).removeprefix(key).strip()}"
        for key in both
    )
    if changes and validation is not None and len(validation) < FEW:
        changes += f"; of {counted(len(validation), 'pair')}, so it may be chance"
    return changes


def score_split(translator: Translator, split: Split, *, ambiguous: bool = False) -> dict[str, Any]:
    """BLEU, chrF and TER of beam search; AER of the teacher-forced references if there are gold links.

    Gold links of patches give pointing and IoU; ``ambiguous`` adds the scores of sentences with several
    references.
    """
    context = split_context(split, translator.context.sentences)
    texts = [result.text for result in translate_all(translator, split.source, context=context)]
    language = translator.languages[1]
    found = corpus_scores(texts, split.target, target_language=language)
    scores: dict[str, Any] = {
        **{name: getattr(found, name) for name in ("bleu", "chrf", "ter", "signature", "signatures")},
        "beam_size": translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
    }
    for name, of_corpus, own, references in by_corpus(split, texts, split.target, language):
        found = corpus_scores(own, references, target_language=of_corpus)
        values = {metric: getattr(found, metric) for metric in ("bleu", "chrf", "ter")}
        scores.setdefault("corpora", {})[name] = {"pairs": len(own), **values}
    if ambiguous and (riddles := ambiguous_scores(sentences_of(split.source), texts, split.target)):
        scores["ambiguous"] = riddles._asdict()
    if split.gold is not None:
        aligned: list[Alignment] = translator.align(
            split.source, split.target, whitespace=True, context=context
        )
        scores |= alignment_scores(aligned, gold_links(split))
    return scores


def final_lines(scores: dict[str, Any] | None) -> list[str]:
    """Test scores for the terminal."""
    if scores is None:
        told = "no test split (data.test_pairs=500 holds one out), so no final scores"
        return [f"{told}; translate evaluate scores any pairs"]
    lines = [f"test: {line}" for line in score_lines(scores)]
    for name, own in scores.get("corpora", {}).items():
        values = f"BLEU {own['bleu']:.2f}  chrF {own['chrf']:.2f}  TER {own['ter']:.2f}"
        lines.append(f"test of {name}: {values}  ({counted(own['pairs'], 'pair')})")
    return lines
