"""Synthetic pairs from monolingual text: back-translation (Sennrich et al. 2016), or its other direction.

The text is translated in blocks, and each block becomes a file of an unfinished folder beside the result. A
process that was killed loses one block; the next one goes on, and ends with the same file.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from translate.config.names import counted, listed, shown_path
from translate.corpora.caches import fingerprint
from translate.corpora.columns import Column
from translate.corpora.filters import repeated_texts
from translate.errors import UserError
from translate.text.bounded import read_json
from translate.text.file_writing import aside, write_text
from translate.text.folder_lock import locked

BLOCK = 1024  # lines that are translated together
PLAN = "plan.json"
LINES = {"blank": "blank", "repeated": "repeated", "too_long": "too long for a run"}
DROPPED = {"empty": "empty", "copied": "equal to their line", "repeated": "repeated"}
_SPACES = re.compile(r"\s+")


@dataclass
class Counts:
    """Counts of lines and of their translations, by what happened to them.

    Attributes:
        lines: of the text.
        skipped: key of ``LINES`` -> lines that were not translated.
        translations: of all runs.
        dropped: key of ``DROPPED`` -> translations that gave no pair.
        pairs: written.
    """

    lines: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    translations: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    pairs: int = 0

    def record(self) -> dict[str, Any]:
        """The counts for JSON."""
        return {**vars(self), "skipped": dict(self.skipped), "dropped": dict(self.dropped)}

    def summary_lines(self) -> list[str]:
        """Two lines for the user."""
        translated = self.lines - self.skipped.total()
        return [
            f"{counted(self.lines, 'line')}: {_listed(self.skipped, LINES)}{translated:,} translated",
            f"{counted(self.translations, 'translation')}: {_listed(self.dropped, DROPPED)}"
            f"{counted(self.pairs, 'pair')}",
        ]


def _listed(counts: Counter[str], names: Mapping[str, str]) -> str:
    return "".join(f"{counts[key]:,} {name}, " for key, name in names.items() if counts[key])


@dataclass(frozen=True)
class PairForm:
    """The form of the pairs.

    Attributes:
        languages: of the source and the target of the pairs, which name their columns.
        forward: the text is the source of the pairs; otherwise it is their target.
        tag: first word of every source; empty for none.
    """

    languages: tuple[str, str]
    forward: bool
    tag: str

    def pair(self, line: str, translation: str) -> tuple[str, str]:
        """The source, with the tag, and the target of a pair."""
        source, target = (line, translation) if self.forward else (translation, line)
        return f"{self.tag} {source}" if self.tag else source, target


def check_free(out: Path) -> None:
    """Raise :class:`UserError` unless ``out`` can become a table of pairs."""
    if out.suffix.lower() != ".tsv":
        raise UserError(f"{shown_path(out)}: expected a table of pairs, FILE.tsv")
    if out.exists():
        raise UserError(f"{shown_path(out)}: exists already; remove it, or choose another name")


def synthesise(
    lines: Sequence[str],
    out: Path,
    form: PairForm,
    translate: Callable[[list[str]], list[list[str]]],
    *,
    readable: Callable[[str], bool],
    plan: Mapping[str, Any],
    progress: Callable[[int], None] = lambda count: None,
) -> Counts:
    """Write the pairs of all lines to ``out``; continues where an earlier call with the same plan was ended.

    Args:
        lines: monolingual text, a column if it is large. Lines that are blank, repeated or not readable are
            skipped and counted.
        out: a table, ``.tsv``.
        form: how pairs are written.
        translate: the translations of each line of a block, of which equal ones give one pair. It must give
            the same ones for the same block.
        readable: whether a line can be translated whole.
        plan: everything that decides about the translations beside the lines.
        progress: called with the number of lines that are done.

    Raises:
        UserError: if no line is to be translated, if the unfinished folder has another plan, if another
            process works in it, or if something cannot be written.
    """
    lines = Column.of(lines)
    if next(_blocks(lines, counts := Counts(lines=len(lines)), readable), None) is None:
        raise UserError(f"no line of the text is to be translated: {counts.summary_lines()[0]}")
    plan = {
        "form": [*form.languages, form.forward, form.tag],
        "block": BLOCK,
        **plan,
        "text": fingerprint(lines),
    }
    with _unfinished(out, plan) as folder:
        counts = Counts(lines=len(lines))
        files = []
        for number, block in enumerate(_blocks(lines, counts, readable)):
            files.append(folder / f"block-{number:08d}.jsonl")
            if not files[-1].exists():
                rows = zip(block, translate(block), strict=True)
                content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                write_text(files[-1], content)
            progress(len(block))
        with aside(out) as new, new.open("w", encoding="utf-8", newline="\n") as file:
            for row in chain([form.languages], _pairs(files, form, counts)):
                print(*row, sep="\t", file=file)
    shutil.rmtree(folder, ignore_errors=True)
    return counts


def _blocks(lines: Column[str], counts: Counts, readable: Callable[[str], bool]) -> Iterator[list[str]]:
    """Blocks of the lines to translate; the others are counted."""
    block: list[str] = []
    for line, again in zip(lines, repeated_texts(lines), strict=True):
        reason = None if line.strip() else "blank"
        if reason is None and again:
            reason = "repeated"
        if reason is None and not readable(line):
            reason = "too_long"
        if reason is not None:
            counts.skipped[reason] += 1
            continue
        block.append(line)
        if len(block) == BLOCK:
            yield block
            block = []
    if block:
        yield block


def _pairs(files: Iterable[Path], form: PairForm, counts: Counts) -> Iterator[tuple[str, str]]:
    """The pairs of all blocks in order, white space folded; translations that give none are counted."""
    for path in files:
        # Only a line feed ends a row: text may hold other separators.
        for row in path.read_text(encoding="utf-8").removesuffix("\n").split("\n"):
            line, translations = json.loads(row)
            line, *translations = (_SPACES.sub(" ", text).strip() for text in (line, *translations))
            found: set[str] = set()
            for translation in translations:
                counts.translations += 1
                if reason := _reason(line, translation, found):
                    counts.dropped[reason] += 1
                    continue
                found.add(translation)
                counts.pairs += 1
                yield form.pair(line, translation)


def _reason(line: str, translation: str, found: set[str]) -> str | None:
    """Why a translation gives no pair."""
    if not translation:
        return "empty"
    if translation == line:
        return "copied"
    return "repeated" if translation in found else None


@contextmanager
def _unfinished(out: Path, plan: Mapping[str, Any]) -> Iterator[Path]:
    """The folder of the blocks, which this process alone uses; raises :class:`UserError` for another plan."""
    folder = out.with_name(f"{out.name}.unfinished")
    with locked(folder, "{} is writing it; wait, or choose another --out"):
        plan = json.loads(json.dumps(plan))
        try:
            earlier = read_json(folder / PLAN, root=folder)
        except FileNotFoundError:
            write_text(folder / PLAN, json.dumps(plan, indent=2) + "\n")
        else:
            _check_same(folder, earlier, plan)
        yield folder


def _check_same(folder: Path, earlier: Any, plan: Mapping[str, Any]) -> None:
    before = earlier if isinstance(earlier, dict) else {}
    changed = [key for key in plan if before.get(key) != plan[key]]
    if changed:
        raise UserError(
            f"{shown_path(folder)} was begun with another {listed(changed)}; give the same command to go on, "
            f"or remove the folder to begin anew"
        )
