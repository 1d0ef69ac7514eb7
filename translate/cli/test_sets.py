"""The test sets of ``translate evaluate`` and ``translate compare``: files, or a name of sacrebleu."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from translate.cli.options import languages_of
from translate.config.names import did_you_mean, listed, nearest, shorten, shown_path
from translate.errors import UserError


@dataclass(frozen=True)
class EvaluationSet:
    """Source sentences with their translations.

    Attributes:
        name: the file of the sources, or sacrebleu's name.
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
        typer.Option(
            metavar="FILE", help="Source sentences, one a line; give it again for another test set."
        ),
    ] = None
    reference: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Their translations; give it again for another reference, or for the references of the "
            "next --source.",
        ),
    ] = None
    testset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A test set by the name that sacrebleu gives it, such as wmt14, from sacrebleu's folder; "
            "may be given several times.",
        ),
    ] = None
    language_pair: Annotated[
        str | None,
        typer.Option(
            metavar="PAIR", help="Languages of --testset, such as en-de. Default: those of the run."
        ),
    ] = None

    def __post_init__(self) -> None:
        sources, references = self.source or [], self.reference or []
        if self.language_pair is not None and not self.testset:
            raise UserError("--language-pair chooses among the languages of --testset NAME, which is missing")
        if references and not sources:
            raise UserError("--reference FILE translates the lines of --source FILE, which is missing")
        if sources and not references:
            raise UserError("--source FILE needs its translations: add --reference FILE")
        if not sources and not self.testset:
            raise UserError("there is no test set: give --source FILE --reference FILE, or --testset NAME")
        if sources and len(references) % len(sources):
            raise UserError(
                f"{len(sources)} files of --source but {len(references)} of --reference; every "
                f"source needs the same number of references"
            )

    @property
    def number(self) -> int:
        """How many test sets there are."""
        return len(self.source or []) + len(self.testset or [])

    def read(self, runs: list[Path]) -> list[EvaluationSet]:
        """The test sets; raises :class:`UserError` if their files do not fit together.

        Args:
            runs: the languages of the first of them choose the files of a name, unless they are given.
        """
        from translate.corpora.local_files import language_of

        sources, references = self.source or [], self.reference or []
        count, found = len(references) // max(len(sources), 1), []
        for index, source in enumerate(sources):
            own = references[index * count : (index + 1) * count]
            found.append(_read_set(str(source), source, own, language_of(str(own[0])) or ""))
        return found + [self._named(name, runs) for name in self.testset or []]

    def _named(self, name: str, runs: list[Path]) -> EvaluationSet:
        languages = languages_of(runs[0]) if runs and self.language_pair is None else ("", "")
        pair = self.language_pair or "-".join(filter(None, languages))
        if "-" not in pair:
            raise UserError(
                f"--testset {name}: add --language-pair, such as en-de; no run tells the languages"
            )
        return _read_set(name, *find_test_set(name, pair), pair.rpartition("-")[2])


def _read_set(name: str, source: Path, references: Sequence[Path], language: str) -> EvaluationSet:
    from translate.corpora.local_files import pair_of

    pairs = [pair_of(source, path) for path in references]
    return EvaluationSet(name, list(pairs[0].source), [list(pair.target) for pair in pairs], language)


def find_test_set(name: str, pair: str) -> tuple[Path, list[Path]]:
    """The source and the references of a test set in sacrebleu's folder: ``$SACREBLEU``, or ``~/.sacrebleu``.

    Args:
        name: such as ``wmt14``.
        pair: the codes of both languages, such as ``en-de``.

    Raises:
        UserError: for a name or a pair that sacrebleu does not know, or if the files are not there; the
            message says which command downloads them.
    """
    from sacrebleu import DATASETS, get_available_testsets, get_langpairs_for_testset

    names = get_available_testsets()
    if name not in names:
        hint = did_you_mean(nearest(name, names))
        raise UserError(
            f"--testset {shorten(name)}: sacrebleu knows no such test set{hint} (sacrebleu --list)"
        )
    pairs = get_langpairs_for_testset(name)
    if pair not in pairs:
        raise UserError(f"--testset {name}: it has no {shorten(pair)}; it has {listed(pairs)}")
    root = Path(os.environ.get("SACREBLEU") or Path.home() / ".sacrebleu")
    folder, stem = root / name, f"{name.replace('/', '_')}.{pair}"
    found = sorted(folder.glob(f"{stem}.ref*")) if folder.is_dir() else []
    wanted = _chosen_references(DATASETS[name], pair)
    source = folder / f"{stem}.src"
    references = [path for path in found if not wanted or path.name.removeprefix(f"{stem}.") in wanted]
    if not source.exists() or not references:
        lacking = source.name if not source.exists() else f"{stem}.ref"
        raise UserError(
            f"--testset {name}: there is no {lacking} in {shown_path(folder)}; with a network, "
            f"sacrebleu -t {name} -l {pair} --echo all > /dev/null downloads it to there (SACREBLEU names "
            f"another folder)"
        )
    return source, references


def _chosen_references(dataset: Any, pair: str) -> list[str]:
    """The endings of the references that sacrebleu scores with, where it leaves some out; empty for all."""
    details = dataset.langpairs[pair]
    usual = dataset.kwargs.get("refs", [])
    translators = details.get("refs", usual) if isinstance(details, dict) else usual
    return [f"ref-{translator}" if translator else "ref" for translator in translators]
