"""Two directions made one: by hand, and against the textbook's pseudo-code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.errors import UserError
from translate.links.links import format_pharaoh
from translate.links.symmetrise import SYMMETRISATIONS, symmetrise

LINKS = st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 4)))

FORWARD = {(0, 0), (1, 1), (2, 1), (4, 1), (4, 4)}
BACKWARD = {(0, 0), (1, 2), (2, 2), (3, 5), (4, 6)}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", "0-0"),
        ("union", "0-0 1-1 1-2 2-1 2-2 3-5 4-1 4-4 4-6"),
        # 1-1 neighbours 0-0; 2-1 and 1-2 neighbour 1-1; then both words of 2-2 are linked.
        ("grow-diag", "0-0 1-1 1-2 2-1"),
        # Words 4 and 4 are both unlinked, then 3 and 5; target 1 was linked, and so is source 4 by then.
        ("grow-diag-final-and", "0-0 1-1 1-2 2-1 3-5 4-4"),
        # One unlinked word is enough: 4 of 4-1; then target 4 of 4-4; then source 3 of 3-5, target 6 of 4-6.
        ("grow-diag-final", "0-0 1-1 1-2 2-1 3-5 4-1 4-4 4-6"),
    ],
)
def test_symmetrise_by_hand(method, expected):
    assert format_pharaoh(symmetrise(FORWARD, BACKWARD, method)) == expected


def test_unknown_symmetrisation_lists_the_known():
    with pytest.raises(UserError, match="grow-diag-final-and"):
        symmetrise(FORWARD, BACKWARD, "grow")


def _textbook(forward, backward, *, final=None):
    """Koehn's pseudo-code letter by letter, over the whole grid; e is the target, f the source."""
    size_e, size_f = 5, 7
    union, alignment = forward | backward, forward & backward
    added = True
    while added:
        added = False
        for e in range(size_e):
            for f in range(size_f):
                if (f, e) not in alignment:
                    continue
                for df, de in [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]:
                    f_new, e_new = f + df, e + de
                    f_free = all(link[0] != f_new for link in alignment)
                    e_free = all(link[1] != e_new for link in alignment)
                    if (f_free or e_free) and (f_new, e_new) in union:
                        alignment = alignment | {(f_new, e_new)}
                        added = True
    for links in (forward, backward) if final else ():
        for e in range(size_e):
            for f in range(size_f):
                f_free = all(link[0] != f for link in alignment)
                e_free = all(link[1] != e for link in alignment)
                free = f_free and e_free if final == "and" else f_free or e_free
                if free and (f, e) in links:
                    alignment = alignment | {(f, e)}
    return alignment


@given(LINKS, LINKS)
def test_symmetrise_equals_the_textbook(forward, backward):
    intersection, union, grown, final, final_and = (
        symmetrise(forward, backward, method) for method in SYMMETRISATIONS
    )
    assert intersection == forward & backward
    assert union == forward | backward
    assert grown == _textbook(forward, backward)
    assert final == _textbook(forward, backward, final="or")
    assert final_and == _textbook(forward, backward, final="and")
