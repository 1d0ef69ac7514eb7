"""What a run leaves when training has ended: the alignment choice, scores, curves and a model card."""

import json
from typing import Any

import torch

from translate.aligner.error_rate import score
from translate.alignment.alignment import Alignment
from translate.config.settings import Settings
from translate.corpora.corpus import Corpus, Split
from translate.evaluation import corpus_scores
from translate.pictures.curves import draw_curves
from translate.reports.run_card import write_card
from translate.reports.summary import closing_lines
from translate.runs.calibration import choose_alignment, development_of, gold_links, store
from translate.storage.run_directory import RunDirectory
from translate.training.loop import Progress
from translate.translator import Translator
from translate.version import __version__


def finish(
    settings: Settings, progress: Progress, translator: Translator, corpus: Corpus, directory: RunDirectory
) -> None:
    """Choose the alignment, score the test set, and write it all down.

    Args:
        settings: of the run.
        progress: where training ended.
        translator: over the best checkpoint.
        corpus: whose validation split calibrates and whose test split is scored.
        directory: of the run.
    """
    wanted = settings.alignment
    pairs = development_of(corpus, wanted.calibration_pairs)
    chosen = choose_alignment(translator, pairs, wanted)
    store(directory, chosen, translator)
    scores: dict[str, Any] = {
        "version": __version__,
        "torch": torch.__version__,
        "parameters": translator.model.num_parameters(),
        "steps": progress.step,
        "best_step": progress.best_step,
        "seconds": round(progress.seconds, 1),  # of training and validation
        "tokens": progress.tokens,
        "tokens_per_second": round(progress.tokens / max(1e-9, progress.training_seconds), 1),
    }
    if corpus.test is not None:
        scores["test"] = score_split(translator, corpus.test)
    directory.plots.mkdir(exist_ok=True)
    draw_curves(directory.rows(), directory.plots / "curves.png")
    write_card(settings, corpus, translator.tokenizers, chosen, scores, directory)
    # Last: a run that has its scores has everything.
    directory.scores.write_text(json.dumps(scores, indent=2) + "\n", encoding="utf-8")
    for line in score_lines(scores.get("test", {})):
        print(line, flush=True)
    for kind, count in translator.warnings.items():
        print(f"warning: {count:,} sentences: {kind}", flush=True)
    print(f"model card {directory.card}", flush=True)
    print(*closing_lines(settings, progress, scores, directory), sep="\n", flush=True)


def score_split(translator: Translator, split: Split) -> dict[str, Any]:
    """BLEU, chrF and TER of beam search; AER by forcing the references where gold is known."""
    texts = [each.text for each in translator.translate(split.source)]
    found = corpus_scores(texts, split.target, target_language=translator.languages[1])
    scores: dict[str, Any] = {
        "bleu": found.bleu,
        "chrf": found.chrf,
        "ter": found.ter,
        "signature": found.signature,
        "beam_size": translator.search.beam_size,
        "length_penalty": translator.search.length_penalty,
    }
    if split.gold is not None:
        aligned: list[Alignment] = translator.align(split.source, split.target, whitespace=True)
        links = score([each.links() for each in aligned], gold_links(split))
        scores |= {"aer": links.aer, "precision": links.precision, "recall": links.recall, "f1": links.f1}
    return scores


def score_lines(scores: dict[str, Any]) -> list[str]:
    """Test scores for the terminal."""
    if not scores:
        return ["no test split: no final scores"]
    lines = [
        f"test: BLEU {scores['bleu']:.2f}  chrF {scores['chrf']:.2f}  TER {scores['ter']:.2f}  "
        f"(beam {scores['beam_size']}, length penalty {scores['length_penalty']})",
        f"BLEU signature {scores['signature']}",
    ]
    if "aer" in scores:
        lines.insert(1, f"test: AER {100 * scores['aer']:.2f} %")
    return lines
