"""Word links of training pairs, block after block: those of the corpus, of a file, or estimated ones."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from translate.config.data import DataConfig
from translate.config.names import counted
from translate.corpora.columns import ROWS, Column, stored_lines
from translate.corpora.corpus import Corpus
from translate.corpora.split import Split
from translate.errors import UserError
from translate.links.correspondence import parts_apart
from translate.links.fixed_aligner import Words, first_pairs, learn_aligner
from translate.links.links import Links, parse_gold
from translate.links.statistical import KnownLinks, estimate_links
from translate.text.words import split_tagged

# Possible links (words of one side times the other's) from which links are estimated.
MOST_LINKS = 12_000_000
MEASURED = 10_000  # pairs that tell how many possible links a corpus has, and which words written links count
SUSPICIOUS = 20  # pairs among them with words behind, none of which is linked
FEWEST, JUDGED_LINKS = 1_000, 400_000  # pairs, and possible links of some, that tell whether lines correspond
LONGEST = 60  # words of a side of a pair of the sample; longer pairs say little for their many links

# Gives the links of a block of pairs from the index of its first training pair and the words of both sides;
# raises ``UserError`` for written links that do not fit.
Linker = Callable[[int, Words, Words], list[Links]]


@dataclass(frozen=True)
class WrittenLinks:
    """A linker of written lines, of which a target word takes its sure links, or else its possible ones.

    Attributes:
        lines: in Pharaoh format; ``None`` for a pair that ``others`` has to link.
        where: begins the name of a pair in messages; its number follows.
        numbers: the line of each pair; ``None`` for as many lines as pairs.
        others: of pairs without a line.
    """

    lines: Column[str | None] | Column[str]
    where: str
    numbers: Sequence[int] | None = None
    others: Linker | None = None

    def __call__(self, begin: int, sources: Words, targets: Words) -> list[Links]:
        rows = range(begin, begin + len(sources))
        numbers = rows if self.numbers is None else self.numbers[begin : rows.stop]
        lines: Sequence[str | None] = self.lines.gather(np.array(numbers, np.int64))
        found: list[Links] = [frozenset()] * len(lines)
        if self.others is not None and None in lines:
            found = list(self.others(begin, sources, targets))
        for index, (number, line) in enumerate(zip(numbers, lines, strict=True)):
            if line is not None:
                lengths = len(sources[index]), len(targets[index])
                gold = parse_gold(line, where=f"{self.where}{number + 1}", lengths=lengths)
                found[index] = gold.to_teach(1)
        return found


def links_of_file(path: Path, corpus: Corpus) -> WrittenLinks:
    """The links of a file with one line a pair, of the training split as it is or before it was filtered.

    Raises:
        UserError: if the file cannot be read, or the number of its lines is another.
    """
    lines, split = stored_lines(path), corpus.train
    numbers = None
    if len(lines) != len(split):
        if len(lines) != corpus.num_read or split.numbers is None:
            before = f" ({corpus.num_read:,} before filtering)" if corpus.num_read != len(split) else ""
            raise UserError(
                f"training.guided_links={path}: {counted(len(lines), 'line')} of links, but the training "
                f"split has {counted(len(split), 'pair')}{before}; expected one line a pair"
            )
        numbers = split.numbers
    return WrittenLinks(lines, f"{path}, line ", numbers)


def check_links(path: Path, corpus: Corpus, *, whitespace: bool) -> None:
    """Read the links of the first pairs of a file; warn if they seem to count words between white space.

    Raises:
        UserError: as :func:`links_of_file` and its result.
    """
    linker, rows = links_of_file(path, corpus), np.arange(min(MEASURED, len(corpus.train)))
    sides = [Column.of(side).gather(rows) for side in (corpus.train.source, corpus.train.target)]
    words = [[_words(line, corpus.tags, whitespace=whitespace) for line in side] for side in sides]
    behind = linked = 0  # words behind as many as stand between white space
    for links, source, target, *lines in zip(linker(0, *words), *words, *sides, strict=True):
        S, T = (len(line.split()) for line in lines)
        behind += len(source) > S or len(target) > T
        linked += any(s >= S or t >= T for s, t in links)
    if behind >= SUSPICIOUS and not linked:
        print(
            f"warning: training.guided_links={path}: no link reaches the last words of a pair; if the file "
            "counts words between white space, as other aligners do, add training.guided_whitespace=true"
        )


def has_gaps(split: Split) -> bool:
    """Whether some pairs of a split bring no links along."""
    return split.links is None or Column.of(split.links).values.null_count > 0


class LinkSample(NamedTuple):
    """The pairs from which links are estimated, in words; ``whole`` if these are all pairs."""

    sources: Words
    targets: Words
    whole: bool


def sample_of(
    split: Split, most_links: int = MOST_LINKS, *, tags: Collection[str] = (), whitespace: bool
) -> LinkSample:
    """All pairs, if they have at most ``most_links`` possible links, or else pairs at equal distances.

    A pair of 20 and 30 words has 600 possible links, which take some 40 bytes each while they are estimated.
    One of ``tags`` before a sentence is one word, as it is where the sentence is encoded.
    """

    def pairs(count: int) -> Iterator[tuple[list[str], list[str]]]:
        for begin in range(0, count, ROWS):
            rows = np.arange(begin, min(begin + ROWS, count)) * len(split) // count
            sides = (Column.of(side).gather(rows) for side in (split.source, split.target))
            for pair in zip(*sides, strict=True):
                source, target = (_words(line, tags, whitespace=whitespace) for line in pair)
                yield source, target

    measured = [(len(source), len(target)) for source, target in pairs(min(MEASURED, len(split)))]
    possible = sum(there * here for there, here in measured)
    if possible * len(split) <= most_links * len(measured):
        sides = list(pairs(len(split)))
        return LinkSample([source for source, _ in sides], [target for _, target in sides], whole=True)
    short = [there * here for there, here in measured if max(there, here) <= LONGEST]
    count = min(len(split), most_links * len(measured) // max(1, sum(short)))
    chosen = (pair for pair in pairs(count) if max(map(len, pair)) <= LONGEST)
    source, target = first_pairs(chosen, most_links)
    return LinkSample(_folded(source), _folded(target), whole=False)


def correspondence_notes(split: Split, data: DataConfig) -> list[str]:
    """A warning for each part of a corpus of files where one side seems to have slipped by a line."""
    if len(split) < FEWEST or data.read != "text" or data.kind == "grammar":  # few do not tell
        return []
    sample = sample_of(split, JUDGED_LINKS, whitespace=False)
    parts = parts_apart(_folded(sample.sources), _folded(sample.targets))
    shares = [[round(100 * pair / len(sample.sources)) for pair in part] for part in parts]
    return [
        f"warning: between {begin} and {end} % of the corpus pairs fit the translations of their neighbours "
        "as well as their own: has a side slipped by a line there, or a little before?"
        for begin, end in shares
    ]


def estimated(sample: LinkSample, known: KnownLinks | None) -> Linker:
    """Links from the words of a sample, for all pairs of its corpus.

    Args:
        sample: of the training pairs.
        known: pairs with known links, which join the estimate.

    Raises:
        UserError: if the sample is empty.
    """
    if sample.whole:
        links = estimate_links(sample.sources, sample.targets, known=known)
        return lambda begin, sources, _: list(links[begin : begin + len(sources)])
    if known is not None:
        known = KnownLinks(_folded(known.sources), _folded(known.targets), known.links)
    try:
        aligner = learn_aligner(sample.sources, sample.targets, known=known)
    except ValueError:
        raise UserError(
            f"links cannot be estimated: no training pair of the sample has 1 to {LONGEST} words on each "
            f"side; give a file of links (training.guided_links)"
        ) from None
    return lambda _, sources, targets: aligner.links(_folded(sources), _folded(targets))


def _words(line: str, tags: Collection[str], *, whitespace: bool) -> list[str]:
    return line.split() if whitespace else [word.text for word in split_tagged(line, tags)]


def _folded(lines: Words) -> list[list[str]]:
    return [[word.casefold() for word in line] for line in lines]
