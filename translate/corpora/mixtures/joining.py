"""Splits of several corpora as one, with the tag of each corpus before its sources."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest

from translate.config.data import LANGUAGES_DIFFER, Member
from translate.config.names import shorten
from translate.corpora.columns.column import Column, joined
from translate.corpora.columns.fingerprint import fingerprint
from translate.corpora.filters import overlap_of
from translate.corpora.split import Split
from translate.errors import UserError
from translate.text.words import split_words

_LINK = re.compile(r"(\d+)([-p]\d+)")


def joined_train(splits: Mapping[str, Split], tags: Mapping[str, str | None]) -> Split:
    """The training pairs of all corpora, one corpus after another; they stay where they are."""
    sources = [_tagged_column(Column.of(split.source), tags[name]) for name, split in splits.items()]
    targets = [Column.of(split.target) for split in splits.values()]
    names = [split.fingerprint for split in splits.values()]
    return Split(
        joined(sources),
        joined(targets),
        name=fingerprint(part for name, tag in zip(names, tags.values()) for part in (name, tag or "")),
        links=_joined_links(splits, tags),
    )


def joined_others(splits: Mapping[str, Split], tags: Mapping[str, str | None]) -> Split | None:
    """The pairs of all corpora that have this split, in turn, so that the first ones are of all corpora."""
    rows = [
        (name, index)
        for turn in zip_longest(*(_rows(name, split) for name, split in splits.items()))
        for name, index in filter(None, turn)
    ]
    if not rows:
        return None
    gold = None
    if all(split.gold is not None for split in splits.values()):
        gold = [_shifted(splits[name].gold, index, moved=tags[name] is not None) for name, index in rows]
    return Split(
        Column.of([_tagged(splits[name].source[index], tags[name]) for name, index in rows]),
        Column.of([splits[name].target[index] for name, index in rows]),
        gold,
        corpora=[name for name, _ in rows],
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
            f"or a tag for each, such as data.corpora.{untagged[0]}.tag='<2{pairs[untagged[0]][1]}>'"
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
        rows, told = overlap_of(train, {f"{other} {split}": others[split][other] for split, other in splits})
        notes += [f"{line} of {name}" for line in told]
        if drop and rows:
            result[name] = train.without(rows)
            dropped += len(rows)
    return result, dropped, notes


def check_no_context(members: Mapping[str, Member]) -> None:
    """Raise ``UserError`` for a corpus of a mixture that is to be read with previous sentences."""
    for name, member in members.items():
        if member.data.context_sentences:
            raise UserError(
                f"data.corpora.{shorten(name)}.context_sentences: a mixture is read without previous "
                f"sentences; expected 0, got {member.data.context_sentences}"
            )


def check_tokenised(members: Mapping[str, Member], *, tokenised: bool) -> None:
    """Raise ``UserError`` for a corpus that does not fit ``data.tokenised`` of its mixture."""
    for name, member in members.items():
        where, wanted = f"data.corpora.{shorten(name)}", str(tokenised).lower()
        if member.data.tokenised != tokenised:
            raise UserError(
                f"{where}: data.tokenised={wanted}, but tokenised={str(member.data.tokenised).lower()} for "
                f"this corpus; expected the same for the mixture and for each corpus"
            )
        if tokenised and member.tag is not None:
            raise UserError(
                f"{where}.tag: expected none with data.tokenised=true, which splits words further"
            )


def _rows(name: str, split: Split) -> Sequence[tuple[str, int]]:
    return [(name, index) for index in range(len(split))]


def _tagged(sentence: str, tag: str | None) -> str:
    return sentence if tag is None else f"{tag} {sentence}"


def _tagged_column(column: Column[str], tag: str | None) -> Column[str]:
    return column if tag is None else column.changed(f"{tag} ".__add__)


def _joined_links(splits: Mapping[str, Split], tags: Mapping[str, str | None]) -> Column[str | None] | None:
    """The links that corpora bring along; ``None`` for each pair of a corpus that has none."""
    if all(split.links is None for split in splits.values()):
        return None
    import pyarrow  # takes a moment

    columns: list[Column[str | None]] = []
    for name, split in splits.items():
        if split.links is None:
            arrays = Column.of(split.source).arrays
            columns.append(Column(pyarrow.nulls(len(array)) for array in arrays))
            continue
        tag, links = tags[name], Column.of(split.links)
        columns.append(links if tag is None else links.changed(partial(_moved, by=len(split_words(tag)))))
    return joined(columns)


def _shifted(gold: Sequence[str] | None, index: int, *, moved: bool) -> str:
    """Gold links of a source that has a tag as its first word, or none."""
    assert gold is not None
    line = gold[index]
    return _moved(line, by=1) or "" if moved else line


def _moved(line: str | None, *, by: int) -> str | None:
    """Links of a source that has ``by`` more words before its first."""
    return line and _LINK.sub(lambda link: f"{int(link[1]) + by}{link[2]}", line)
