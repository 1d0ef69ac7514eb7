"""The model card: the model, its data, its scores, and how to use it."""

from typing import Any

import sentencepiece
import torch

from translate.alignment.alignment import AlignmentChoice
from translate.config.settings import Settings
from translate.corpora.corpus import Corpus
from translate.runs.storage.run_directory import RunDirectory
from translate.text.aside import write_text
from translate.text.escape import for_code, for_markdown
from translate.text.tokenizer import TokenizerPair
from translate.version import __version__


def write_card(
    settings: Settings,
    corpus: Corpus,
    tokenizers: TokenizerPair,
    alignment: dict[str, Any],
    scores: dict[str, Any],
    directory: RunDirectory,
) -> None:
    """Write ``README.md`` into the run.

    Args:
        settings: of the run.
        corpus: the run was trained on it.
        tokenizers: of the run.
        alignment: the content of ``alignment.json``.
        scores: the content of ``scores.json``.
        directory: of the run.
    """
    run = for_code(directory.path, "RUN")
    lines = [
        f"# {for_markdown(settings.run.name)}",
        "",
        f"Translates {for_markdown(corpus.source_language)} to {for_markdown(corpus.target_language)}.",
        "",
        *_facts(settings, tokenizers, alignment, scores, validated=corpus.validation is not None),
        "",
        "## Data",
        "",
        *(f"- {for_markdown(line)}" for line in corpus.summary_lines()),
        "",
        "## Test scores",
        "",
        *_test_scores(scores.get("test")),
        "",
        "![loss and scores over the run](plots/curves.png)",
        "",
        "## Use",
        "",
        "```bash",
        f'translate text {run} "..."',
        f'translate align {run} "..." --out alignment.png',
        "```",
        "",
    ]
    write_text(directory.card, "\n".join(lines))


def _facts(
    settings: Settings,
    tokenizers: TokenizerPair,
    alignment: dict[str, Any],
    scores: dict[str, Any],
    *,
    validated: bool,
) -> list[str]:
    import sacrebleu

    choice, aer = AlignmentChoice.from_dict(alignment["choice"]), alignment["validation_aer"]
    name = settings.model.get("name", settings.model["_target_"])
    measured = f", AER {100 * aer:.2f} %" if aer is not None else ""
    kept = f"best at step {scores['best_step']:,} by {settings.training.best_metric}"
    if not validated:
        kept = "the last step kept: the corpus has no validation split"
    sizes = [f"{len(tokenizers.source):,} pieces, shared"]
    if not tokenizers.shared:
        sizes = [f"{len(tokenizers.source):,} source pieces", f"{len(tokenizers.target):,} target pieces"]
    rows = {
        "model": f"{name}, {scores['parameters']:,} parameters",
        "training": f"{scores['steps']:,} steps, {scores['tokens']:,} target tokens, "
        f"{scores['seconds']:,} s, {kept}",
        "tokenizer": f"SentencePiece {settings.tokenizer.model_type}, {', '.join(sizes)}",
        "alignment": f"{choice} (chosen by {alignment['criterion']} on {alignment['split']}{measured})",
        "versions": f"seq2seq-translate {__version__}, torch {torch.__version__}, "
        f"sentencepiece {sentencepiece.__version__}, sacrebleu {sacrebleu.__version__}",
    }
    return [
        "| | |",
        "| --- | --- |",
        *(f"| {name} | {for_markdown(value)} |" for name, value in rows.items()),
    ]


def _test_scores(test: dict[str, Any] | None) -> list[str]:
    if test is None:
        return ["The corpus has no test split."]
    titles = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "aer": "AER"}
    names = [name for name in titles if name in test]
    values = [f"{100 * test[name]:.2f} %" if name == "aer" else f"{test[name]:.2f}" for name in names]
    return [
        "| " + " | ".join(titles[name] for name in names) + " |",
        "| " + " | ".join("---:" for _ in names) + " |",
        "| " + " | ".join(values) + " |",
        "",
        f"Beam {test['beam_size']}, length penalty {test['length_penalty']} (exponent of the length, end of "
        f"sentence included); BLEU signature `{test['signature']}`.",
        *_scores_by_corpus(test.get("corpora", {})),
    ]


def _scores_by_corpus(corpora: dict[str, dict[str, float]]) -> list[str]:
    if not corpora:
        return []
    rows = []
    for name, own in corpora.items():
        values = " | ".join(f"{own[metric]:.2f}" for metric in ("bleu", "chrf", "ter"))
        rows.append(f"| {for_markdown(name)} | {own['pairs']:,} | {values} |")
    return ["", "| corpus | pairs | BLEU | chrF | TER |", "| --- | ---: | ---: | ---: | ---: |", *rows]
