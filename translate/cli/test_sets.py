"""The test sets of ``translate evaluate`` and ``translate compare``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from translate.cli.console import print_warning
from translate.cli.options import check_direction, languages_of, option, warn_of_languages
from translate.config.names import shown_path
from translate.errors import UserError


@dataclass(frozen=True)
class EvaluationSet:
    """Source sentences with their translations.

    Attributes:
        name: the file of the sources.
        references: lists of one correct translation of each sentence; at least one list.
        language: of the references; empty if it is not known.
        context: the previous sentences of each source, for a run that reads them.
    """

    name: str
    source: Sequence[str]
    references: Sequence[Sequence[str]]
    language: str = ""
    context: Sequence[Sequence[str]] | None = None


@dataclass(frozen=True)
class EvaluationFiles:
    """The files of one or several test sets."""

    PANEL: ClassVar = "Test set"

    source: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Source sentences, one a line, or a table of both languages (.csv, .tsv, .jsonl ...), which has "
            "its --reference in it; give it again for another test set.",
        ),
    ] = None
    reference: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "Their translations; give it again for another reference, or for the references of the "
            "next --source.",
        ),
    ] = None

    def __post_init__(self) -> None:
        sources, references = self.source or [], self.reference or []
        if not sources or not (references or all(map(_is_table, sources))):
            raise UserError(
                "a test set is --source FILE with its translations, --reference FILE: give both, or one table"
            )
        if len(references) % len(sources):
            raise UserError(
                f"{len(sources)} files of --source but {len(references)} of --reference; every "
                f"source needs the same number of references"
            )

    @property
    def number(self) -> int:
        """How many test sets there are."""
        return len(self.source or [])

    def read(self, run: Path | None) -> list[EvaluationSet]:
        """The test sets, tables by the languages of a run.

        Raises:
            UserError: if their files do not fit together, or a table has no column of a language.
        """
        from translate.corpora.local_files import language_of, pair_of

        sources, references = self.source or [], self.reference or []
        if not references or (references == sources and all(map(_is_table, sources))):
            languages = ("source", "target") if run is None else languages_of(run)
            return [_of_table(source, languages) for source in sources]
        if tables := [*filter(_is_table, (*sources, *references))]:
            raise UserError(f"{shown_path(tables[0])}: a table has both sides; give it as --source alone")
        count, found = len(references) // len(sources), []
        for index, source in enumerate(sources):
            own = references[index * count : (index + 1) * count]
            pairs = [pair_of(source, path) for path in own]
            targets = [list(pair.target) for pair in pairs]
            language = language_of(str(own[0])) or ""
            found.append(EvaluationSet(str(source), list(pairs[0].source), targets, language))
        return found


def read_pairs(run: Path, source: Path, target: Path | None) -> tuple[Sequence[str], Sequence[str]]:
    """Both sides of pairs for a run: of two files, or of the table ``source``."""
    from translate.corpora.local_files import pair_of

    if target is None and not _is_table(source):
        raise UserError(
            f"missing option --target: the translations of {shown_path(source)}, which is no table"
        )
    if target is None:
        table = _of_table(source, languages_of(run))
        sides = table.source, table.references[0]
    else:
        check_direction(run, source, "--target", target)
        split = pair_of(source, target)
        sides = split.source, split.target
    warn_of_languages(languages_of(run), *sides)
    return sides


def _is_table(path: Path) -> bool:
    from translate.corpora.tables import is_table

    return is_table(path)


def _of_table(path: Path, languages: tuple[str, str]) -> EvaluationSet:
    from translate.corpora.local_files import usual_columns
    from translate.corpora.tables import SIDES, pick, read_table

    table, advice = read_table(path), "name the columns by the codes of the languages, or source and target"
    usual = [usual_columns(table, side, name or side) for side, name in zip(SIDES, languages, strict=True)]
    names = [
        pick(table, columns, advice, of_pair="write a line above it, with the names") for columns in usual
    ]
    source, target = table.columns(*names)
    if not source:
        raise UserError(f"{table.where}: the table has no rows; expected sentence pairs")
    return EvaluationSet(str(path), source, [target], languages[1])


def warn_of_slips(name: str, texts: Sequence[str], references: Sequence[str]) -> None:
    """Warn if the translations of a system or a test set fit the references of other lines."""
    from translate.evaluation.scores import slipped_part

    if (part := slipped_part(texts, references)) is not None:
        print_warning(
            f"{name}: translations {part[0] + 1:,} to {part[1]:,} are more like the references before or "
            "after theirs: has a file slipped there by a line?"
        )


def seen_scores(
    runs: Sequence[Path], test: EvaluationSet, texts: Sequence[str], language: str
) -> dict[str, Any]:
    """How many pairs of a test set runs were trained on, and BLEU and chrF of the others, if there are both.

    Args:
        runs: folders of a run or an ensemble; of those without fingerprints of pairs nothing is known.
        test: the test set.
        texts: translations of its sources.
        language: of the translations, a code.
    """
    from translate.evaluation.scores import metrics_of, score_of
    from translate.runs.training_pairs import seen_pairs

    known = [seen_pairs(run, test.source, test.references) for run in runs]
    seen = [any(pair) for pair in zip(*filter(None, known), strict=True)]
    if not seen or (None in known and not any(seen)):
        return {}
    new = [index for index, is_seen in enumerate(seen) if not is_seen]
    found: dict[str, Any] = {"seen_in_training": len(seen) - len(new)}
    if 0 < len(new) < len(seen):
        hypotheses, *references = ([side[index] for index in new] for side in (texts, *test.references))
        metrics = metrics_of(language, ter=False)  # TER takes as long as all the rest
        found["unseen"] = {name: score_of(metric, hypotheses, references) for name, metric in metrics.items()}
    return found


def seen_line(row: Mapping[str, Any], owner: str, total: int) -> str:
    """The result of :func:`seen_scores` with pairs that were seen, as a line for the terminal."""
    count = row["seen_in_training"]
    told = f"{count:,} of {total:,} pairs stand in {owner} training text"
    if "unseen" not in row:
        return f"{told}: the scores say nothing about other text"
    bleu, chrf = row["unseen"].values()
    return f"{told}; the other {total - count:,}: BLEU {bleu:.2f}, chrF {chrf:.2f}"
