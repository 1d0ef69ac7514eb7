"""Hard links between words: Pharaoh format, gold with sure and possible links, symmetrisation.

A link is a pair (source word index, target word index), counted from 0.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple, TypeVar

from translate.errors import UserError

Link = tuple[int, int]
Links = frozenset[Link]

SYMMETRISATIONS = ("intersection", "union", "grow-diag", "grow-diag-final-and")

Parsed = TypeVar("Parsed", Links, "Gold")

_TOKEN = re.compile(r"([0-9]+)([-p])([0-9]+)", re.ASCII)
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


class Gold(NamedTuple):
    """What annotators say about one sentence pair."""

    sure: Links
    possible: Links  # contains every sure link


def parse_pharaoh(
    line: str,
    *,
    where: str,
    source_length: int | None = None,
    target_length: int | None = None,
    one_based: bool = False,
) -> Links:
    """Read one line of links such as `0-0 1-2`.

    Args:
        where: file and line, named in error messages.
        source_length, target_length: number of words; an index outside them is an error.
        one_based: whether the file counts words from 1.
    Raises:
        UserError: for a malformed token, an index outside the sentence, or a possible link (`ipj`).
    """
    links = set()
    for token in line.split():
        link, kind = _parse_token(token, where, source_length, target_length, one_based=one_based)
        if kind == "p":
            raise UserError(
                f"{where}: possible link '{token}' among hard links; write 'i-j', or read it as gold"
            )
        links.add(link)
    return frozenset(links)


def parse_gold(
    line: str,
    *,
    where: str,
    source_length: int | None = None,
    target_length: int | None = None,
    one_based: bool = False,
) -> Gold:
    """Read one line of gold links, `i-j` sure and `ipj` possible; arguments as in `parse_pharaoh`.

    Raises:
        UserError: for a malformed token or an index outside the sentence.
    """
    sure, possible = set(), set()
    for token in line.split():
        link, kind = _parse_token(token, where, source_length, target_length, one_based=one_based)
        possible.add(link)
        if kind == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def format_pharaoh(links: Iterable[Link], *, one_based: bool = False) -> str:
    """Write links as `0-0 1-2`, sorted by source index, then target index."""
    base = int(one_based)
    return " ".join(f"{source + base}-{target + base}" for source, target in sorted(links))


def format_gold(gold: Gold, *, one_based: bool = False) -> str:
    """Write gold links as `0-0 1p2`, sorted as in `format_pharaoh`."""
    base = int(one_based)
    return " ".join(
        f"{source + base}{'-' if (source, target) in gold.sure else 'p'}{target + base}"
        for source, target in sorted(gold.sure | gold.possible)
    )


def read_pharaoh(
    path: str | Path,
    *,
    source_lengths: Sequence[int] | None = None,
    target_lengths: Sequence[int] | None = None,
    one_based: bool = False,
) -> list[Links]:
    """Read a file of hard links, one sentence pair a line; lengths as in `read_gold`."""
    return _read_lines(path, parse_pharaoh, source_lengths, target_lengths, one_based)


def read_gold(
    path: str | Path,
    *,
    source_lengths: Sequence[int] | None = None,
    target_lengths: Sequence[int] | None = None,
    one_based: bool = False,
) -> list[Gold]:
    """Read a file of gold links, one sentence pair a line (`0-0 1p2`).

    Args:
        source_lengths, target_lengths: number of words of each sentence; checks lines and indexes.
    Raises:
        UserError: if the file cannot be read or a line is wrong; names the file and the line.
    """
    return _read_lines(path, parse_gold, source_lengths, target_lengths, one_based)


def symmetrise(forward: AbstractSet[Link], backward: AbstractSet[Link], method: str) -> Links:
    """Combine the links of two directions, both given as (source, target).

    grow-diag starts from the intersection and adds links of the union that neighbour a chosen link, also
    diagonally, while one of their words is still unlinked; final-and then adds links whose words are both
    unlinked, those of `forward` first (Koehn, Statistical Machine Translation, 2010, section 4.5.3).

    Raises:
        UserError: if the method is not one of `SYMMETRISATIONS`.
    """
    if method not in SYMMETRISATIONS:
        raise UserError(f"symmetrisation '{method}' is not known; choose one of {', '.join(SYMMETRISATIONS)}")
    if method == "union":
        return frozenset(forward | backward)
    chosen = set(forward & backward)
    if method == "intersection":
        return frozenset(chosen)
    _grow_diagonally(chosen, forward | backward)
    if method == "grow-diag-final-and":
        sources, targets = {source for source, _ in chosen}, {target for _, target in chosen}
        for links in (forward, backward):
            for source, target in sorted(links, key=_by_target):
                if source not in sources and target not in targets:
                    chosen.add((source, target))
                    sources.add(source)
                    targets.add(target)
    return frozenset(chosen)


def _grow_diagonally(chosen: set[Link], union: AbstractSet[Link]) -> None:
    sources, targets = {source for source, _ in chosen}, {target for _, target in chosen}
    # Chosen links lie in the union, so this visits them as the textbook's scan of the whole grid does.
    scan = sorted(union, key=_by_target)
    grown = True
    while grown:
        grown = False
        for source, target in scan:
            if (source, target) not in chosen:
                continue
            for source_step, target_step in _NEIGHBOURS:
                new = (source + source_step, target + target_step)
                if new in union and new not in chosen and (new[0] not in sources or new[1] not in targets):
                    chosen.add(new)
                    sources.add(new[0])
                    targets.add(new[1])
                    grown = True


def _by_target(link: Link) -> Link:
    return link[1], link[0]


def _parse_token(
    token: str, where: str, source_length: int | None, target_length: int | None, *, one_based: bool
) -> tuple[Link, str]:
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise UserError(f"{where}: '{token}' is not a link; expected 'i-j' (sure) or 'ipj' (possible)")
    base = int(one_based)
    source, target = int(match[1]) - base, int(match[3]) - base
    for side, index, length in (("source", source, source_length), ("target", target, target_length)):
        if index < 0:
            raise UserError(
                f"{where}: link '{token}' has {side} index 0, but this file is read as counted from 1"
            )
        if length is not None and index >= length:
            hint = "" if one_based or index > length else " (does the file count from 1?)"
            raise UserError(
                f"{where}: link '{token}' points to {side} word {index + base}, "
                f"but the {side} has {length} words, counted from {base}{hint}"
            )
    return (source, target), match[2]


def _read_lines(
    path: str | Path,
    parse: Callable[..., Parsed],
    source_lengths: Sequence[int] | None,
    target_lengths: Sequence[int] | None,
    one_based: bool,
) -> list[Parsed]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as links: {error}") from error
    lines = text.removesuffix("\n").split("\n") if text else []
    for side, lengths in (("source", source_lengths), ("target", target_lengths)):
        if lengths is not None and len(lengths) != len(lines):
            raise UserError(
                f"{path}: {len(lines)} lines of links for {len(lengths)} {side} sentences; expected as many"
            )
    return [
        parse(
            line,
            where=f"{path}, line {index + 1}",
            source_length=None if source_lengths is None else source_lengths[index],
            target_length=None if target_lengths is None else target_lengths[index],
            one_based=one_based,
        )
        for index, line in enumerate(lines)
    ]
