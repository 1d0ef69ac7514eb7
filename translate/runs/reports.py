"""The reports of a run: metrics, TensorBoard, and at the end a model card."""

import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece
import torch

from translate.alignment.alignment import Alignment
from translate.config.settings import Settings
from translate.corpora.corpus import Corpus
from translate.runs.run_directory import RunDirectory
from translate.runs.terminal_lines import ProgressLine, score_line
from translate.text.escape import for_code, for_markdown
from translate.text.file_writing import write_text
from translate.text.tokenizer import TokenizerPair
from translate.training.loop import Limits, Progress, Training, Window
from translate.training.update import StepReport
from translate.version import __version__

SHOWN = 5  # sentences of a validation


class Sample(NamedTuple):
    """A sentence of the validation split, and the model's translation of it."""

    source: str
    reference: str
    translation: str


def sample_to_draw(samples: Iterable[Sample]) -> Sample | None:
    """The first sample with words on both sides."""
    worded = (sample for sample in samples if sample.source.split() and sample.translation.split())
    return next(worded, None)


class TensorBoard:
    """Writes event files; the steps that a resumed run repeats replace the earlier ones.

    A failure of its thread prints no traceback: it is raised by the next write, or when closing.

    Args:
        directory: for the files.
        purge_step: earlier events from this optimizer step on are hidden.
    """

    def __init__(self, directory: Path, *, purge_step: int | None = None) -> None:
        from torch.utils.tensorboard import SummaryWriter  # slow to import

        self._others = set(threading.enumerate())
        self._show_error = threading.excepthook
        threading.excepthook = self._failed
        try:
            self.writer = SummaryWriter(str(directory), purge_step=purge_step)
        except OSError:
            threading.excepthook = self._show_error
            raise

    def _failed(self, failure: threading.ExceptHookArgs) -> None:
        if failure.thread in self._others or not issubclass(failure.exc_type, OSError):
            self._show_error(failure)

    def close(self) -> None:
        try:
            self.writer.close()
        finally:
            threading.excepthook = self._show_error


@dataclass
class Reporter:
    """Reports steps and validations, in the main process.

    Attributes:
        settings: of the run.
        directory: of the run.
        line: on the terminal.
        limits: of the run, whose last step is always logged.
        start: the step at which this process begins.
        writes: whether this is the main process.
    """

    settings: Settings
    directory: RunDirectory
    line: ProgressLine
    limits: Limits
    start: int
    writes: bool = True

    def __post_init__(self) -> None:
        purge_step = self.start + 1 if self.start else None
        self.board = TensorBoard(self.directory.tensorboard, purge_step=purge_step) if self.writes else None

    def log(self, training: Training, report: StepReport) -> None:
        """Log a step if it is due, and its notes; a hook of the loop."""
        progress = training.progress
        for note in report.notes:
            self.line.note(note)
            self._log({"kind": "note", "step": progress.step, "note": note})
        if progress.step % self.settings.training.log_every == 0 or self.limits.reached(progress):
            means = training.window.means(progress.training_seconds)
            self._write("train", progress, means | {"learning_rate": report.learning_rate})
            training.window = Window(progress.training_seconds)

    def report(
        self,
        progress: Progress,
        scores: Mapping[str, float],
        samples: Iterable[Sample],
        alignment: Alignment | None,
    ) -> None:
        """Report the scores of a validation, some translations, and the alignment of one of them."""
        self.line.note(score_line(progress.step, scores))
        self._write("validation", progress, scores)
        rows = [[*map(for_markdown, sample)] for sample in samples]
        if self.board is None or not rows:
            return
        lines = _table([Sample._fields, *rows])
        self.board.writer.add_text("validation/translations", "\n".join(lines), progress.step)
        if alignment is not None and alignment.weights.size:
            from matplotlib.image import imread

            with tempfile.TemporaryDirectory() as folder:
                figure = imread(alignment.heatmap(Path(folder) / "alignment.png"))
            self.board.writer.add_image("validation/alignment", figure, progress.step, dataformats="HWC")

    def _write(self, kind: str, progress: Progress, values: Mapping[str, float]) -> None:
        self._log({"kind": kind, "step": progress.step, "seconds": round(progress.seconds, 3), **values})
        if self.board is not None:
            for name, value in values.items():
                self.board.writer.add_scalar(f"{kind}/{name}", value, progress.step)

    def _log(self, row: Mapping[str, Any]) -> None:
        if self.writes:
            self.directory.log(row)

    def close(self) -> None:
        if self.board is not None:
            self.board.close()


def write_card(
    settings: Settings,
    corpus: Corpus,
    tokenizers: TokenizerPair,
    scores: dict[str, Any],
    directory: RunDirectory,
) -> None:
    """Write ``README.md`` into the run.

    Args:
        settings: of the run.
        corpus: the run was trained on it.
        tokenizers: of the run.
        scores: the content of ``scores.json``.
        directory: of the run.
    """
    run = for_code(directory.path, "RUN")
    lines = [
        f"# {for_markdown(settings.run.name)}\n",
        f"Translates {for_markdown(corpus.source_language)} to {for_markdown(corpus.target_language)}.\n",
        *_facts(settings, tokenizers, scores, validated=corpus.validation is not None),
        "\n## Data\n",
        *(f"- {for_markdown(line)}" for line in corpus.summary_lines()),
        "\n## Test scores\n",
        *_test_scores(scores.get("test")),
        "\n![loss and scores over the run](plots/curves.png)\n",
        "## Use\n",
        "```bash",
        f'translate text {run} "..."',
        f'translate align {run} "..." --out alignment.png',
        "```",
        "",
    ]
    write_text(directory.card, "\n".join(lines))


def _facts(
    settings: Settings, tokenizers: TokenizerPair, scores: dict[str, Any], *, validated: bool
) -> list[str]:
    import sacrebleu

    name = settings.model.get("name", settings.model["_target_"])
    guided = " that was guided by word links" if settings.training.guided_alignment else ""
    metric = settings.training.best_metric
    kept = f"best at step {scores['best_step']:,} by {metric}"
    kept += ", beside which 0.1 of nll counts as 1" * (metric == "bleu")
    if not validated:
        kept = "the last step kept: the corpus has no validation split"
    sizes = [f"{len(tokenizers.source):,} pieces, shared"]
    if not tokenizers.shared:
        sizes = [f"{len(tokenizers.source):,} source pieces", f"{len(tokenizers.target):,} target pieces"]
    sides = [tokenizers.target] if settings.data.read == "picture" else [tokenizers.source, tokenizers.target]
    kinds = dict.fromkeys(side.model_type for side in sides)
    start = settings.training.start_from
    rows = {
        **({} if start is None else {"started from": f"{Path(start).name}, its model and its weights"}),
        "model": f"{name}, {scores['parameters']:,} parameters",
        "training": f"{scores['steps']:,} steps, {scores['tokens']:,} target tokens, "
        f"{scores['seconds']:,} s, {kept}",
        "machine": scores["machine"],
        "tokenizer": f"SentencePiece {' and '.join(kinds)}, {', '.join(sizes)}",
        "alignment": f"by attention{guided}; layer and heads are in alignment.json",
        "versions": f"seq2seq-translate {__version__}, torch {torch.__version__}, "
        f"sentencepiece {sentencepiece.__version__}, sacrebleu {sacrebleu.__version__}",
    }
    return _table([["", ""], *([name, for_markdown(value)] for name, value in rows.items())])


def _test_scores(test: dict[str, Any] | None) -> list[str]:
    if test is None:
        return ["The corpus has no test split."]
    titles = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "aer": "AER"}
    shown = [name for name in titles if name in test]
    values = [f"{100 * test[name]:.2f} %" if name == "aer" else f"{test[name]:.2f}" for name in shown]
    lines = [
        *_table([[titles[name] for name in shown], values]),
        "",
        f"Beam {test['beam_size']}, length penalty {test['length_penalty']} (exponent of the length, end of "
        f"sentence included); BLEU signature `{test['signature']}`.",
    ]
    if corpora := test.get("corpora", {}):
        rows = [
            [for_markdown(name), f"{own['pairs']:,}", *(f"{own[it]:.2f}" for it in ("bleu", "chrf", "ter"))]
            for name, own in corpora.items()
        ]
        lines += ["", *_table([["corpus", "pairs", "BLEU", "chrF", "TER"], *rows])]
    return lines


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table in Markdown, whose first row is its head."""
    head, *rest = (f"| {' | '.join(row)} |" for row in rows)
    return [head, "|" + " --- |" * len(rows[0]), *rest]
