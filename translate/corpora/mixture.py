"""Mixtures of corpora: their splits as one, with a tag before the sources, and how much of each is drawn."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

import pyarrow

from translate.config.data import LANGUAGES_DIFFER, DataConfig, Member, Stage, stages_of
from translate.config.names import shorten
from translate.corpora.caches import fingerprint
from translate.corpora.columns import LINES, Column, joined, spilled
from translate.corpora.filters import overlap_of
from translate.corpora.orders import Staged, WeightedRows
from translate.corpora.split import Split
from translate.errors import UserError
from translate.links.links import moved_line


def joined_train(splits: Mapping[str, Split], tags: Mapping[str, str | None]) -> Split:
    """The training pairs of all corpora, one corpus after another.

    Raises:
        UserError: if the disk is full, to which large sources with tags are written.
    """
    sources = [_tagged(Column.of(split.source), tags[name]) for name, split in splits.items()]
    targets = [Column.of(split.target) for split in splits.values()]
    names = [split.fingerprint for split in splits.values()]
    return Split(
        joined(sources),
        joined(targets),
        name=fingerprint(part for name, tag in zip(names, tags.values()) for part in (name, tag or "")),
        links=_joined_links(splits, tags),
    )


def joined_others(
    splits: Mapping[str, Split], tags: Mapping[str, str | None], languages: Mapping[str, str]
) -> Split | None:
    """The pairs of all corpora that have this split, in turn, so that the first ones are of all corpora."""
    turns = zip_longest(*([(name, row) for row in range(len(split))] for name, split in splits.items()))
    rows = [(name, row) for turn in turns for name, row in filter(None, turn)]
    if not rows:
        return None
    tagged = {name: "" if tag is None else f"{tag} " for name, tag in tags.items()}
    golds = {name: split.gold for name, split in splits.items() if split.gold is not None}
    gold = None
    if len(golds) == len(splits):
        gold = [moved_line(golds[name][row], 0 if tags[name] is None else 1) for name, row in rows]
    return Split(
        Column.of([tagged[name] + splits[name].source[row] for name, row in rows]),
        Column.of([splits[name].target[row] for name, row in rows]),
        gold,
        corpora=[name for name, _ in rows],
        languages=languages,
    )


def joined_languages(pairs: Mapping[str, tuple[str, str]], tags: Mapping[str, str | None]) -> tuple[str, str]:
    """The languages of a mixture; ``mul`` for a side with several.

    Raises:
        UserError: if corpora of different languages have no tags to tell a model what is wanted.
    """
    untagged = [name for name in pairs if tags[name] is None]
    if len(set(pairs.values())) > 1 and untagged:
        found = ", ".join(f"{shorten(name)} is {'-'.join(pair)}" for name, pair in pairs.items())
        raise UserError(
            f"data.corpora: the corpora have different languages ({shorten(found, 200)}); expected one pair, "
            f"or a tag for all, such as data.corpora.{untagged[0]}.tag='<2{pairs[untagged[0]][1]}>'"
        )
    sides = zip(*pairs.values(), strict=True)
    source, target = (side[0] if len(set(side)) == 1 else LANGUAGES_DIFFER for side in sides)
    return source, target


def without_overlap(
    trains: Mapping[str, Split], others: Mapping[str, Mapping[str, Split]], *, drop: bool
) -> tuple[dict[str, Split], int, list[str]]:
    """Training pairs without those that another corpus validates or tests with, if they are to be dropped.

    Args:
        trains: by the name of the corpus.
        others: name of a split -> name of a corpus -> pairs.
        drop: whether to drop them.
    Returns:
        The training pairs, how many were dropped, and what to tell the user.
    """
    result, dropped, notes = dict(trains), 0, []
    for name, train in trains.items():
        splits = ((split, other) for split in others for other in others[split] if other != name)
        elsewhere = {f"{other} {split}": others[split][other] for split, other in splits}
        rows, told = overlap_of(train, elsewhere, drop=drop)
        notes += [f"{line} of {name}" for line in told]
        if drop and len(rows) == len(train):
            raise UserError(
                f"data.drop_overlap: data.corpora.{shorten(name)} has no training pair left, for all are in "
                "validation or test of another corpus; leave it out"
            )
        if drop and rows:
            result[name] = train.without(rows)
            dropped += len(rows)
    return result, dropped, notes


def check_members(members: Mapping[str, Member], *, tokenised: bool) -> None:
    """Raise ``UserError`` for a corpus of pictures or documents, or with another ``data.tokenised``."""
    for name, member in members.items():
        where, data = f"data.corpora.{shorten(name)}", member.data
        if data.context_sentences:
            raise UserError(
                f"{where}.context_sentences: a mixture is read without previous sentences; expected 0, got "
                f"{data.context_sentences}"
            )
        if data.read != "text":
            raise UserError(f"{where}.read: a mixture is of text alone; expected text, got {data.read}")
        if data.tokenised != tokenised:
            raise UserError(
                f"{where}: expected tokenised={str(tokenised).lower()}, as data.tokenised of the mixture, "
                f"got {str(data.tokenised).lower()}"
            )
        if tokenised and member.tag is not None:
            raise UserError(f"{where}.tag: expected none with data.tokenised=true, which splits words")


def _tagged(column: Column[str], tag: str | None) -> Column[str]:
    """Sources after a tag, in a temporary file if they are many."""
    if tag is None:
        return column
    return spilled(LINES, ([[f"{tag} {line}" for line in block]] for block in column.blocks())).column("line")


def _joined_links(splits: Mapping[str, Split], tags: Mapping[str, str | None]) -> Column[str | None] | None:
    """The links that corpora bring along; ``None`` for every pair of a corpus that has none."""
    if all(split.links is None for split in splits.values()):
        return None

    def blocks() -> Iterator[list[list[str | None]]]:
        for name, split in splits.items():
            by = tags[name] is not None  # a tag is one word
            none = pyarrow.chunked_array([pyarrow.nulls(len(split), pyarrow.string())])
            links: Column[str | None] = Column(none) if split.links is None else Column.of(split.links)
            for block in links.blocks():
                yield [[line and moved_line(line, by) for line in block]]

    return spilled(LINES, blocks()).column("line")


@dataclass(frozen=True)
class Mixture:
    """The corpora of a mixture, whose training pairs follow one another.

    Attributes:
        data: the settings.
        sizes: name of each corpus -> its number of training pairs.
        tags: words that stand before the sources.
    """

    data: DataConfig
    sizes: dict[str, int]
    tags: tuple[str, ...] = ()

    def orders(self, seed: int) -> Staged:
        """The order of the pairs in training."""
        stages, counts = stages_of(self.data), tuple(self.sizes.values())
        ends = tuple(stage.until for stage in stages if stage.until is not None)
        drawn = (tuple(self.drawn(stage).values()) for stage in stages)
        return Staged(tuple(WeightedRows(counts, own, seed) for own in drawn), ends)

    def drawn(self, stage: Stage) -> dict[str, int]:
        """Name of each corpus -> how many of its pairs an epoch draws."""
        shares = self._shares(stage)
        total = max(size / shares[name] for name, size in self.sizes.items() if shares[name])
        limit = self.data.max_repetitions
        found = {}
        for name, size in self.sizes.items():
            wanted = round(total * shares[name])
            most = wanted if limit is None else int(limit * size)
            found[name] = min(most, max(1, wanted)) if shares[name] else 0
        return found

    def lines(self) -> list[str]:
        """Sentences for the user about the share of every corpus."""
        stages, begin, found = stages_of(self.data), 0, []
        for stage in stages:
            drawn = self.drawn(stage)
            total = sum(drawn.values())
            parts = [
                f"{name} {100 * count / total:.1f} % ({count / self.sizes[name]:.3g} times)"
                for name, count in drawn.items()
            ]
            end = "on" if stage.until is None else f"to {stage.until:,}"
            steps = f" from step {begin + 1:,} {end}" if len(stages) > 1 else ""
            found.append(f"an epoch{steps} draws {total:,} pairs: {', '.join(parts)}")
            begin = stage.until or 0
        return [*found, "an epoch ends when the last corpus has been seen whole"]

    def _shares(self, stage: Stage) -> dict[str, float]:
        """The wanted share of each corpus; they sum to 1."""
        power = 1 / self.data.temperature
        weights = {
            name: stage.weights.get(name, 0.0) if stage.weights else size**power
            for name, size in self.sizes.items()
        }
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}
