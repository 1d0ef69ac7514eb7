"""Combines the links of two directions, or of several aligners, into one set."""

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import Literal, get_args

from translate.errors import UserError
from translate.links.links import Link, Links

Symmetrisation = Literal["intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
SYMMETRISATIONS: tuple[str, ...] = get_args(Symmetrisation)

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(forward: AbstractSet[Link], backward: AbstractSet[Link], method: str) -> Links:
    """Combine the links of two directions, both given as (source, target).

    grow-diag starts from the intersection. While it can, it adds a link of the union that neighbours a chosen
    link, also diagonally, if one of its two words is still unlinked. After that, final adds links with at
    least one unlinked word, and final-and links with two, first those of `forward` (Koehn, Statistical
    Machine Translation, 2010, section 4.5.3).

    Raises:
        UserError: if the method is not one of `SYMMETRISATIONS`.
    """
    if method not in SYMMETRISATIONS:
        raise UserError(f"unknown symmetrisation '{method}'; choose one of {', '.join(SYMMETRISATIONS)}")
    if method == "union":
        return frozenset(forward | backward)
    chosen = set(forward & backward)
    if method == "intersection":
        return frozenset(chosen)
    _grow_diagonally(chosen, forward | backward)
    if method != "grow-diag":
        enough = all if method == "grow-diag-final-and" else any
        sources, targets = {source for source, _ in chosen}, {target for _, target in chosen}
        for links in (forward, backward):
            for source, target in sorted(links, key=_by_target):
                if enough((source not in sources, target not in targets)):
                    chosen.add((source, target))
                    sources.add(source)
                    targets.add(target)
    return frozenset(chosen)


def majority(*votes: AbstractSet[Link]) -> Links:
    """The links on which more than half of the aligners agree."""
    counts = Counter(link for links in votes for link in links)
    return frozenset(link for link, count in counts.items() if 2 * count > len(votes))


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
