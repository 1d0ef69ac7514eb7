"""Markup through the alignment, with alignments written by hand and at random."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from translate.alignment.alignment import Alignment
from translate.alignment.transfer import place_markup
from translate.text.markup import MARKUP, read_markup
from translate.text.words import split_words

WORDS = ["ein", "Haus", "steht", "da", ".", "L'", "und"]


def hard(source: str, target: str, links: str) -> Alignment:
    """The alignment of hard links, source-target, between the words of two texts."""
    words = [[each.text for each in split_words(text)] for text in (source, target)]
    weights = np.zeros((len(words[1]), len(words[0])), dtype=np.float32)
    for link in links.split():
        i, j = link.split("-")
        weights[int(j), int(i)] = 1.0
    sums = weights.sum(1, keepdims=True)
    return Alignment(words[0], words[1], np.divide(weights, sums, where=sums > 0, out=weights))


def placed(sentence: str, target: str, links: str) -> str:
    marked = read_markup(sentence)
    return place_markup(marked, target, hard(marked.text, target, links))


def balanced(text: str) -> bool:
    names: list[str] = []
    for match in MARKUP.finditer(text):
        tag = match.group()
        if match["placeholder"] or tag.endswith("/>"):
            continue
        if not tag.startswith("</"):
            names.append(tag[1:-1])
        elif not names or names.pop() != tag[2:-1]:
            return False
    return not names


@pytest.mark.parametrize(
    ("sentence", "target", "links", "wanted"),
    [
        ("the <b>red</b> house", "la maison rouge", "0-0 1-2 2-1", "la maison <b>rouge</b>"),
        ("<b>the red house</b>", "la maison rouge", "0-0 1-2 2-1", "<b>la maison rouge</b>"),
        ("the <b>red</b> <i>house</i>", "la maison rouge", "0-0 1-2 2-1", "la <i>maison</i> <b>rouge</b>"),
        ("<p>a <b>red</b> bed.</p>", "un lit rouge.", "0-0 1-2 2-1 3-3", "<p>un lit <b>rouge</b>.</p>"),
        ("I see <b>you</b>!", "je te vois !", "0-0 1-2 2-1 3-3", "je <b>te</b> vois !"),
        ("one<br/>two", "un deux", "0-0 1-1", "un <br/>deux"),
        ("<i>Tom ist</i> nicht da.", "Tom isn't there.", "0-0 1-1 3-2 4-3", "<i>Tom isn't</i> there."),
        ("Tom ist <i>nicht</i> da.", "Tom isn’t there.", "0-0 1-1 2-1 3-2 4-3", "Tom <i>isn’t</i> there."),
        ("der <b>Mann</b> ist da", "l'homme est là", "0-0 1-1 2-2 3-3", "l'<b>homme</b> est là"),
        ("one <br/> two", "un deux", "0-0 1-1", "un <br/> deux"),
        ("drop <b>{0}</b> now", "effacez maintenant", "0-0 1-1", "effacez <b>{0}</b> maintenant"),
        ("drop <b><i>%s</i></b>?", "effacez ?", "0-0 1-1", "effacez <b><i>%s</i></b> ?"),
        ("drop<b> {0} x</b>", "effacez x", "0-0 1-1", "effacez <b>{0} x</b>"),
        ("you have {0} messages", "vous avez messages", "0-0 1-1 2-2", "vous avez {0} messages"),
        ("see {0}.", "voir.", "0-0 1-1", "voir {0}."),
        ("{0} houses", "maisons", "0-0", "{0} maisons"),
        ("houses: {0}", "maisons:", "0-0 1-1", "maisons: {0}"),
        ("<b>see {0}</b>.", "voir.", "0-0 1-1", "<b>voir {0}</b>."),
        ("(%s)", "()", "0-0 1-1", "(%s)"),
        ("a <b></b> c", "x y", "0-0 1-1", "x <b></b>y"),
        ("<b>a", "x", "0-0", "<b>x"),
        ("a</b> c", "x y", "0-0 1-1", "x</b> y"),
        ("<b>{0}</b>", "", "", "<b>{0}</b>"),
        ("no tags &amp; &lt;", "rien &amp; &lt;", "", "rien &amp; &lt;"),
    ],
)  # fmt: skip
def test_where_markup_goes(sentence: str, target: str, links: str, wanted: str) -> None:
    assert placed(sentence, target, links) == wanted


def test_an_element_without_links_keeps_its_tags_together() -> None:
    assert placed("a <b>c</b> d", "x y", "0-0 2-1") in ("x <b></b>y", "x<b></b> y")


def test_a_stray_link_does_not_stretch_an_element() -> None:
    target = "v w x y z"
    marked = read_markup("<b>a c</b> d e f")
    weights = np.eye(5, dtype=np.float32)
    weights[4] = [0.3, 0.2, 0, 0, 0.5]  # half of the last word looks at the element as well
    alignment = Alignment(["a", "c", "d", "e", "f"], target.split(), weights)
    assert place_markup(marked, target, alignment) == "<b>v w</b> x y z"


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        # The first element looks at two words with the second's between them.
        ([[0.9, 0.1], [0.3, 0.7], [0.9, 0.1]], "<b>x</b> <b>y</b> z"),
        # Every word looks mostly at the second.
        ([[0.4, 0.6], [0.1, 0.9]], "<b>x</b> <b>y</b>"),
        ([[0.1, 0.9], [0.4, 0.6]], "<b>x</b> <b>y</b>"),
    ],
)
def test_no_element_takes_all_the_words_of_another(rows: list[list[float]], wanted: str) -> None:
    weights = np.array(rows, dtype=np.float32)
    target = ["x", "y", "z"][: len(rows)]
    found = place_markup(
        read_markup("<b>a</b> <b>c</b>"), " ".join(target), Alignment(["a", "c"], target, weights)
    )
    assert found == wanted


elements = st.recursive(
    st.lists(st.sampled_from([*"abc", "d.", ", ", " ", " ", "&amp;"]), max_size=4).map("".join),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("bip"), inner).map(lambda pair: f"<{pair[0]}>{pair[1]}</{pair[0]}>"),
        st.tuples(inner, st.sampled_from(["<br/>", " {0} ", "%s", " "]), inner).map("".join),
    ),
    max_leaves=6,
)
targets = st.lists(st.sampled_from(WORDS), max_size=6).map(lambda words: " ".join(words).replace(" .", "."))


@settings(max_examples=150)
@given(elements, targets, st.integers(0, 2**16))
def test_tags_survive_balanced_and_the_text_is_that_without_tags(
    sentence: str, target: str, seed: int
) -> None:
    marked = read_markup(sentence)
    assert marked.unbalanced == 0
    words = [[each.text for each in split_words(text)] for text in (marked.text, target)]
    weights = np.random.default_rng(seed).random((len(words[1]), len(words[0])), dtype=np.float32) ** 4
    found = place_markup(
        marked, target, Alignment(words[0], words[1], weights / weights.sum(1, keepdims=True))
    )
    assert balanced(found)
    assert Counter(m.group() for m in MARKUP.finditer(found)) == Counter(each.text for each in marked.items)
    again = read_markup(found).text
    assert "".join(again.split()) == "".join(target.split())
    if all(each.kind != "alone" for each in marked.items):
        assert MARKUP.sub("", found) == target
