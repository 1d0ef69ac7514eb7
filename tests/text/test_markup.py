from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from translate.text.markup import MARKUP, MAX_PASSES, Marked, keeps_markup, read_markup, without_made_up

PIECES = ["a", "Bc", " ", "  ", ".", "<", ">", "/", "b>", "<b>", "</b>", "<i x='1>'>", "</i>", "<br/>", "{0}"]
PIECES += [
    "http://a",
    "@a",
    ".b",
    "%s",
    "$",
    "#",
    "#b#",
    "[X1X]",
    "[X",
    "%1",
    "{",
    "0}",
    "%",
    "s",
    "&amp;",
    "<!-- c -->",
    "\n",
    "é",
]


@pytest.mark.parametrize(
    ("sentence", "text", "items"),
    [
        ("nothing here", "nothing here", []),
        ("a <b>c d</b> e", "a c d e", ["<b>", "</b>"]),
        ("un<b>believ</b>able", "unbelievable", ["<b>", "</b>"]),
        ("a <b> c </b> e", "a c e", ["<b>", "</b>"]),
        ("one<br/>two", "one two", ["<br/>"]),
        ("one <br> two", "one two", ["<br>"]),
        ("see {0}.", "see.", ["{0}"]),
        ("you have %d new", "you have new", ["%d"]),
        ("%(n)s and %1$s, {n!r:>3} ${x} {{ y }}", "and,", ["%(n)s", "%1$s", "{n!r:>3}", "${x}", "{{ y }}"]),
        ("fetching %ss: %s, %d%% of %dst", "fetching s:, of %dst", ["%s", "%s", "%d%%"]),
        ("{0,number} {d, date} a $USER $a", "a $a", ["{0,number}", "{d, date}", "$USER"]),
        ("The :attribute is at 10:30 a:b ::c ://", "The is at 10:30 a:b ::c ://", [":attribute"]),
        ("{n, plural, one {# file} other {# files}} a", "a", ["{n, plural, one {# file} other {# files}}"]),
        ("{n,select, one {# {b} file}} a", "a", ["{n,select, one {# {b} file}}"]),
        ("Page %1 of %L2. %n", "Page of.", ["%1", "%L2", "%n"]),
        ("a %PRODUCT_NAME b $file$ c #x# d", "a b c d", ["%PRODUCT_NAME", "$file$", "#x#"]),
        ("a %{n} b #{n} c $(ARG1)", "a b c", ["%{n}", "#{n}", "$(ARG1)"]),
        ("50%OFF $5 and $6, # 1 #2, 100%, C# and F#", "50%OFF $5 and $6, # 1 #2, 100%, C# and F#", []),
        ("%1%2 or %FILE%: %3%", "or:", ["%1", "%2", "%FILE%", "%3%"]),
        ("<a href=\"x>y\" b>z</a>", "z", ["<a href=\"x>y\" b>", "</a>"]),
        ("a < b > c, 50% discount, 9 % sure", "a < b > c, 50% discount, 9 % sure", []),
        ("&lt;b&gt; &amp;", "&lt;b&gt; &amp;", []),
        ("<john@example.org> <3", "<3", ["<john@example.org>"]),
        ("See https://a.b/c?d=e#f. (or ftp://g)", "See. (or)", ["https://a.b/c?d=e#f", "ftp://g"]),
        ("mail a.b+c@d-e.org, not @you or a@b", "mail, not @you or a@b", ["a.b+c@d-e.org"]),
        ("{% include a.md %} x", "x", ["{% include a.md %}"]),
        ("<<b>b>", "< b>", ["<b>"]),
        ("選択%sを、%1の", "選択 を、の", ["%s", "%1"]),
        ("詳細はhttps://a.b/c、x@a.bまで", "詳細は、まで", ["https://a.b/c", "x@a.b"]),
        ("%s를 %(a)sup it%(b)s. [X2X]", "를 up it.", ["%s", "%(a)s", "%(b)s", "[X2X]"]),
    ],
)  # fmt: skip
def test_removed_markup(sentence: str, text: str, items: list[str]) -> None:
    found = read_markup(sentence)
    assert found.text == text
    assert [each.text for each in found.items] == items


@pytest.mark.parametrize(
    ("translation", "source", "text"),
    [
        ('(com: "{)', '(comment: "")', '(com: ")'),
        ('a: "%(d).', 'b: ""', 'a: ".'),
        ("x %s <b>y</b>%", "z", "x y"),
        ("50% {", "fifty percent", "50% "),
        ("50 % de remise, %50", "50% off", "50 % de remise, %50"),
        ("{a} 5%b", "a { and %", "5%b"),  # what the source has too may stand
        ("{a", "a {", "{a"),
    ],
)
def test_what_a_model_makes_up(translation: str, source: str, text: str) -> None:
    assert without_made_up(translation, source) == text


def test_partners_are_those_of_a_stack() -> None:
    found = read_markup("<a><b>x</b><B>y</b></a>")
    assert [each.partner for each in found.items] == [5, 2, 1, 4, 3, 0]
    assert found.unbalanced == 0


@pytest.mark.parametrize(
    ("sentence", "unbalanced"),
    [("<b>x", 1), ("x</b>", 1), ("<b>x<i>y</b>z</i>", 2), ("</b>x<b>", 2), ("<br>x<hr>", 0)],
)
def test_tags_without_a_partner_are_counted(sentence: str, unbalanced: int) -> None:
    found = read_markup(sentence)
    assert found.unbalanced == unbalanced
    assert all((each.kind == "alone") == (each.partner is None) for each in found.items)


@pytest.mark.parametrize(
    ("sentence", "text", "items"),
    [
        ("<own> a <b>x</b>", "<own> a x", [("<b>", 8), ("</b>", 9)]),
        ("<2fr> <own> <b>x</b>", "<2fr> <own> x", [("<b>", 12), ("</b>", 13)]),
        ("<own>  a b", "<own>  a b", []),
        ("<own> <br/>", "<own> ", [("<br/>", 6)]),
        ("<own><b>x</b>", "x", [("<own>", 0), ("<b>", 0), ("</b>", 1)]),  # no word of its own
        ("<b>x</b> <own> y", "x y", [("<b>", 0), ("</b>", 1), ("<own>", 2)]),  # not before the sentence
    ],
)
def test_tags_of_a_mixture_before_a_sentence_are_no_markup(
    sentence: str, text: str, items: list[tuple[str, int]]
) -> None:
    found = read_markup(sentence, tags=("<own>", "<2fr>"))
    assert found.text == text
    assert [(each.text, each.position) for each in found.items] == items
    assert all(each.partner is not None for each in found.items if each.text in ("<b>", "</b>"))


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@example("<a<b>>")
@example("x<a<b<i>>>y")
def test_nothing_is_lost_and_no_markup_is_left(sentence: str) -> None:
    found = read_markup(sentence)
    assert MARKUP.search(found.text) is None
    assert all(0 <= each.position <= len(found.text) for each in found.items)
    kept = Counter("".join((found.text, *(each.text for each in found.items))))
    written = Counter(sentence)
    assert {c: n for c, n in kept.items() if not c.isspace()} == {
        c: n for c, n in written.items() if not c.isspace()
    } or not found.items


def test_a_comment_that_nothing_closes_is_text() -> None:
    found = read_markup("a <!-- b --> <i>c</i> <!-- d {0}")
    assert [each.text for each in found.items] == ["<!-- b -->", "<i>", "</i>", "{0}"]
    assert found.text == "a c <!-- d"
    assert read_markup('<a x="<!--">b').items[0].text == '<a x="<!--">'


def test_tags_in_tags_in_tags_leave_no_markup() -> None:
    depth = 3 * MAX_PASSES
    found = read_markup("x " + "<a" * depth + ">" * depth)
    assert MARKUP.search(found.text) is None
    assert sum(each.text.count("<") for each in found.items) == depth


@pytest.mark.parametrize(
    ("translation", "kept"),
    [
        ("Le {0} de <b>Tom</b>", True),
        ("<b>Tom</b> : {0}", True),
        ("Le de <b>Tom</b>", False),
        ("Le {0} {0} de <b>Tom</b>", False),
        ("Le {0} de <i>Tom</i>", False),
        ("Le {1} de <b>Tom</b>", False),
        ("Le {0} de <b>Tom</b> {", False),
        ("Le {0} de <b>Tom</b> 50%", True),
    ],
)
def test_a_translation_keeps_the_markup_of_its_source(translation: str, kept: bool) -> None:
    assert keeps_markup(translation, "The {0} of <b>Tom</b>") is kept


def test_tags_alone_are_removed_on_request() -> None:
    marked = read_markup("<own> See <b>{0}</b> at https://a.b", ["<own>"], placeholders=False)
    assert marked.text == "<own> See {0} at https://a.b"
    assert [item.text for item in marked.items] == ["<b>", "</b>"]
    assert read_markup("{0} %s", placeholders=False) == Marked("{0} %s")
