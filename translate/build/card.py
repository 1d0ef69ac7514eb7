"""The model card: what was trained on what, how well it does, and how to use it."""

from typing import Any

import sacrebleu
import sentencepiece
import torch

from translate.build.schema import Settings
from translate.text.corpus import Corpus
from translate.training.run_directory import RunDirectory
from translate.version import __version__


def write_card(
    settings: Settings, corpus: Corpus, alignment: dict[str, Any], scores: dict[str, Any], directory: RunDirectory
) -> None:
    """Write ``README.md`` into the run."""
    choice = alignment["choice"]
    heads = ", ".join(str(head) for head in choice["heads"])
    aer = alignment["validation_aer"]
    chosen_by = alignment["criterion"] + (f", validation AER {100 * aer:.2f} %" if aer is not None else "")
    test = scores.get("test")
    lines = [
        f"# {settings.run.name}",
        "",
        f"Translates {corpus.source_language} to {corpus.target_language}.",
        "",
        "| | |",
        "| --- | --- |",
        f"| model | {settings.model.get('name', settings.model['_target_'])}, "
        f"{scores['parameters']:,} parameters |",
        f"| training | {scores['steps']:,} steps, {scores['tokens']:,} target tokens, {scores['seconds']:,} s, "
        f"best at step {scores['best_step']:,} by {settings.training.best_metric} |",
        f"| tokenizer | SentencePiece {settings.tokenizer.model_type}, "
        f"{'shared' if settings.tokenizer.shared else 'separate'} |",
        f"| alignment | layer {choice['layer']}, heads {heads}, shift {choice['shift']} ({chosen_by}) |",
        f"| versions | seq2seq-translate {__version__}, torch {torch.__version__}, "
        f"sentencepiece {sentencepiece.__version__}, sacrebleu {sacrebleu.__version__} |",
        "",
        "## Data",
        "",
        *(f"- {line}" for line in corpus.summary_lines()),
        "",
        "## Test scores",
        "",
    ]
    if test is None:
        lines.append("The corpus has no test split.")
    else:
        names = [name for name in ("bleu", "chrf", "ter", "aer") if name in test]
        values = [f"{100 * test[name]:.2f} %" if name == "aer" else f"{test[name]:.2f}" for name in names]
        lines += [
            "| " + " | ".join(name.upper() if name != "chrf" else "chrF" for name in names) + " |",
            "| " + " | ".join("---:" for _ in names) + " |",
            "| " + " | ".join(values) + " |",
            "",
            f"Beam {test['beam_size']}, length penalty {test['length_penalty']} (exponent of the length, end of "
            f"sentence counted); BLEU signature `{test['signature']}`.",
        ]
    run = directory.path
    lines += [
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
    directory.card.write_text("\n".join(lines), encoding="utf-8")
