"""Links between words, in Pharaoh format; gold links are sure or possible, and score hard links.

A link is a pair (source word index, target word index), both from 0.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from translate.config.names import counted, shorten, shown_path
from translate.errors import UserError
from translate.text.lines import read_lines

Link = tuple[int, int]
Links = frozenset[Link]

MAX_DIGITS = 6  # of the number of a word or a pair
_SHOWN = 100  # characters of a wrong token in a message
_NUMBER = f"[0-9]{{1,{MAX_DIGITS}}}"
_TOKEN = re.compile(f"({_NUMBER})([-p])({_NUMBER})")
_NAACL = re.compile(rf"({_NUMBER})\s+({_NUMBER})\s+({_NUMBER})(?:\s+([SP]))?(?:\s+[0-9.]+)?", re.ASCII)


def moved_line(line: str, by: int) -> str:
    """A line of links when ``by`` words or patches are put before the source."""
    return _TOKEN.sub(lambda link: f"{int(link[1]) + by}{link[2]}{link[3]}", line) if by else line


def swapped_line(line: str) -> str:
    """A line of links with source and target exchanged."""
    return _TOKEN.sub(r"\3\2\1", line)


def swapped(links: Iterable[Link]) -> Links:
    """The same links with source and target exchanged."""
    return frozenset((target, source) for source, target in links)


class Gold(NamedTuple):
    """The annotators' links of one sentence pair."""

    sure: Links
    possible: Links  # contains every sure link

    def to_teach(self, *sides: int) -> Links:
        """The sure links, and the possible links of words without a sure one.

        Args:
            sides: 0 for such source words, 1 for such target words.
        """
        linked = [{link[side] for link in self.sure} for side in (0, 1)]
        alone = (link for link in self.possible if any(link[side] not in linked[side] for side in sides))
        return self.sure | frozenset(alone)


def parse_gold(
    line: str, *, where: str, lengths: tuple[int, int] | None = None, one_based: bool = False
) -> Gold:
    """Read one line of gold links, `i-j` sure and `ipj` possible.

    Args:
        where: file and line, for error messages.
        lengths: number of source and target words; an index outside them is an error.
        one_based: whether the file counts words from 1.
    Raises:
        UserError: for a malformed token or an index outside the sentence.
    """
    sure, possible = set(), set()
    for token in line.split():
        link, kind = _parse_token(token, where, lengths, one_based=one_based)
        possible.add(link)
        if kind == "-":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def format_pharaoh(links: Iterable[Link]) -> str:
    """Write links as `0-0 1-2`, sorted by source index, then target index."""
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_gold(
    path: str | Path, *, lengths: Sequence[tuple[int, int]] | None = None, one_based: bool = False
) -> list[Gold]:
    """Read a file of gold links; the first line shows which format it has.

    TALP: one line a sentence pair (`0-0 1p2`). NAACL (the shared task of 2003): one line a
    link, with the numbers of the pair, the source word and the target word, all from 1, then S (the default)
    or P, then an optional confidence. Word 0 is NULL; a line with it gives no link.

    Args:
        lengths: number of source and target words of each pair, to check lines and indexes.
        one_based: whether a TALP file counts words from 1.
    Raises:
        UserError: if the file cannot be read or a line is wrong; names the file and the line.
    """
    lines = read_lines(Path(path))
    first = next((line for line in lines if line.strip()), "")
    if _NAACL.fullmatch(first.strip()):
        return _read_naacl(path, lines, lengths)
    name = shown_path(path)
    if lengths is not None and len(lengths) != len(lines):
        raise UserError(
            f"{name}: {counted(len(lines), 'line')} of links for "
            f"{counted(len(lengths), 'source sentence')}; expected one line a pair"
        )
    return [
        parse_gold(line, where=f"{name}, line {number}", lengths=own, one_based=one_based)
        for number, (line, own) in enumerate(zip(lines, lengths or repeat(None)), start=1)
    ]


def _read_naacl(
    path: str | Path, lines: Sequence[str], lengths: Sequence[tuple[int, int]] | None
) -> list[Gold]:
    golds: dict[int, tuple[set[Link], set[Link]]] = {}
    for number, line in enumerate(lines, start=1):
        where = f"{shown_path(path)}, line {number}"
        match = _NAACL.fullmatch(line.strip())
        if not line.strip():
            continue
        if match is None:
            raise UserError(
                f"{where}: '{shorten(line.strip(), _SHOWN)}' is not a link; expected 'pair source target "
                f"[S|P]', with numbers of at most {MAX_DIGITS} digits"
            )
        pair = int(match[1])
        if pair < 1 or (lengths is not None and pair > len(lengths)):
            limit = "pairs count from 1" if lengths is None else f"there are {len(lengths)} pairs"
            raise UserError(f"{where}: link of pair {pair}, but {limit}")
        sure, possible = golds.setdefault(pair, (set(), set()))
        if "0" in (match[2].lstrip("0") or "0", match[3].lstrip("0") or "0"):
            continue
        own = None if lengths is None else lengths[pair - 1]
        link, _ = _parse_token(f"{match[2]}-{match[3]}", where, own, one_based=True)
        possible.add(link)
        if match[4] != "P":
            sure.add(link)
    count = max(golds, default=0) if lengths is None else len(lengths)
    empty: tuple[set[Link], set[Link]] = (set(), set())
    return [Gold(*map(frozenset, golds.get(pair, empty))) for pair in range(1, count + 1)]


def _parse_token(
    token: str, where: str, lengths: tuple[int, int] | None, *, one_based: bool
) -> tuple[Link, str]:
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise UserError(
            f"{where}: '{shorten(token, _SHOWN)}' is not a link; expected 'i-j' (sure) or 'ipj' (possible), "
            f"with numbers of at most {MAX_DIGITS} digits"
        )
    base = int(one_based)
    source, target = int(match[1]) - base, int(match[3]) - base
    for side, index, length in zip(("source", "target"), (source, target), lengths or (None, None)):
        if index < 0:
            raise UserError(f"{where}: link '{token}' has {side} index 0, but this file counts words from 1")
        if length is not None and index >= length:
            raise UserError(
                f"{where}: link '{token}' points to {side} word {index + base}, but the {side} has {length} "
                f"words and indexes start at {base} (are links of other pairs, do they count from 1, or are "
                "words split otherwise, as --whitespace and training.guided_whitespace=true say?)"
            )
    return (source, target), match[2]


class AlignmentScore(NamedTuple):
    """Scores of a corpus, fractions from 0 to 1."""

    aer: float
    precision: float
    recall: float
    f1: float


def score(hypotheses: Iterable[AbstractSet[Link]], golds: Iterable[Gold]) -> AlignmentScore:
    """Score hard links A against sure links S and possible links P, of all sentences: Och and Ney 2003.

    AER = 1 - (|A and P| + |A and S|) / (|A| + |S|), precision = |A and P| / |A|, recall = |A and S| / |S|.
    Precision is 1 if there is no link, recall is 1 if there is no sure link.

    Raises:
        ValueError: if the numbers of hypotheses and golds differ.
    """
    num_links = num_sure = num_links_possible = num_links_sure = 0
    for links, gold in zip(hypotheses, golds, strict=True):
        num_links += len(links)
        num_sure += len(gold.sure)
        num_links_possible += len(links & (gold.possible | gold.sure))
        num_links_sure += len(links & gold.sure)
    precision = num_links_possible / num_links if num_links else 1.0
    recall = num_links_sure / num_sure if num_sure else 1.0
    total = num_links + num_sure
    aer = 1.0 - (num_links_possible + num_links_sure) / total if total else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return AlignmentScore(aer, precision, recall, f1)
