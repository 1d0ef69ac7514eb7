import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from translate.alignment.alignment import Alignment
from translate.errors import UserError
from translate.figures.matrix import Style, is_right_to_left, label
from translate.figures.page import Alternative, Page
from translate.links.links import Gold, parse_gold

SOURCE, TARGET = ["I", "love", "you"], ["je", "t'"]
WEIGHTS = np.array([[0.94, 0.04, 0.02], [0.12, 0.0, 0.88]])
STACK = np.random.default_rng(5).dirichlet(np.ones(3), size=(5, 7, 2))  # (layers, heads, T, S)
HOSTILE = [
    *("<script>boom()</script>", "</script><img src=x onerror=boom()>", "<!--<script>", "\"'`", "a\nb"),
    *("{{data}}", "&lt;", "\u2028", "\ud800", "\u0301", "${boom()}", "\u202eevil", "", "w" * 99),
]


def data_of(text: str) -> dict:
    """The data as a browser gives it to the script: the content of the element up to the first end tag."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script', text, re.DOTALL)
    return json.loads(found[1])


def weights_of(view: dict, shape: tuple[int, ...]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(view["data"]), "<u2").reshape(shape) / 65535


def page(**changes) -> Page:
    given = {"views": {"attention": STACK, "erasure": WEIGHTS}, **changes}
    return Page(SOURCE, [Alternative(TARGET, **given)])


def test_words_weights_and_gold_are_in_the_page():
    gold = parse_gold("0-0 2p1", where="x")
    one = page(gold=gold, score=-0.5, doubtful={1: "views disagree"})
    data = data_of(Page(SOURCE, one.alternatives, chosen=(4, (0, 6)), languages=("en", "fr")).html())
    assert [word["label"] for word in data["source"]] == SOURCE
    assert data["languages"] == {"source": "en", "target": "fr"}
    assert data["chosen"] == {"layer": 4, "heads": [0, 6]}
    (alternative,) = data["alternatives"]
    assert [word["label"] for word in alternative["target"]] == TARGET
    assert alternative["gold"] == {"sure": [[0, 0]], "possible": [[0, 0], [2, 1]]}
    assert (alternative["score"], alternative["doubtful"]) == (-0.5, {"1": "views disagree"})
    attention, erasure = alternative["views"]
    assert (attention["name"], attention["layers"], attention["heads"]) == ("attention", 5, 7)
    np.testing.assert_allclose(weights_of(attention, (5, 7, 2, 3)), STACK, atol=1e-5)
    np.testing.assert_allclose(weights_of(erasure, (2, 3)), WEIGHTS, atol=1e-5)


def test_no_word_leaves_its_place():
    T = len(HOSTILE)
    hostile = Page(HOSTILE, [Alternative(HOSTILE, {"<b>": np.eye(T)})], title="</title><b>", note="<i>'\"")
    text = hostile.html()
    elements: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attributes):
            elements.append(tag)
            assert not any(
                name.startswith("on") or name in ("src", "href", "style") for name, _ in attributes
            )

    Reader().feed(text)
    for tag in ("img", "b", "i"):  # the legend has elements of these names
        assert elements.count(tag) == len(re.findall(rf"<{tag}[ >]", page().html()))
    assert elements.count("script") == 2
    words = [word["label"] for word in data_of(text)["source"]]
    assert words[:2] == [HOSTILE[0], label(HOSTILE[1])]
    assert words[4:] == [
        "a\\nb", "{{data}}", "&lt;", "\\u2028", "\\ud800", "\u25cc\u0301", "${boom()}", "\\u202eevil", "␣",
        "w" * 16 + "…" + "w" * 15,
    ]  # fmt: skip
    assert html.escape("</title><b>") in text


def test_nothing_comes_from_elsewhere_and_only_its_own_script_may_run():
    text = page().html()
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|src=|href=", text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy[1].startswith("default-src 'none'; ")
    for kind, tag in (("script-src", "script"), ("style-src", "style")):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(content) == 1
        digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy[1]


def test_an_alignment_becomes_a_page(tmp_path):
    path = Alignment(SOURCE, TARGET, WEIGHTS).heatmap(tmp_path / "a.HTML", title="Greeting & love")
    text = path.read_text(encoding="utf-8")
    assert "<h1>Greeting &amp; love</h1>" in text
    (view,) = data_of(text)["alternatives"][0]["views"]
    np.testing.assert_allclose(weights_of(view, (2, 3)), WEIGHTS, atol=1e-5)
    for refused in ({"values": True}, {"style": Style("viridis")}):
        with pytest.raises(UserError, match="neither values nor a style"):
            Alignment(SOURCE, TARGET, WEIGHTS).heatmap(tmp_path / "a.html", **refused)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        Alignment(SOURCE, TARGET, WEIGHTS).heatmap(tmp_path / "file" / "a.html")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"views": {"a": WEIGHTS.T}}, r"a: weights have shape \(3, 2\), expected \(2, 3\) or"),
        ({"views": {"a": np.zeros((5, 0, 2, 3))}}, "weights have shape"),
        ({"views": {"a": WEIGHTS * 2}}, "between 0 and 1"),
        ({"views": {"a": WEIGHTS * np.nan}}, "between 0 and 1"),
        ({"views": {}}, "at least one view|with one view"),
        ({"gold": Gold(frozenset({(3, 0)}), frozenset({(3, 0)}))}, "gold link lies outside"),
        ({"doubtful": {2: "why"}}, "doubtful word lies outside"),
    ],
)
def test_wrong_content(changes, message):
    with pytest.raises(ValueError, match=message):
        page(**changes)


def test_wrong_pages():
    one = Alternative(TARGET, {"a": WEIGHTS})
    with pytest.raises(ValueError, match="alternative 1 has the views"):
        Page(SOURCE, [one, Alternative(TARGET, {"b": WEIGHTS})])
    with pytest.raises(ValueError, match="chosen is"):
        Page(SOURCE, [Alternative(TARGET, {"a": STACK})], chosen=(5, (0,)))
    with pytest.raises(UserError, match="0 source and 2 target words"):
        Page([], [Alternative(TARGET, {"a": np.zeros((2, 0))})])
    with pytest.raises(ValueError, match="at least one alternative"):
        Page(SOURCE, [])


def test_direction_of_a_sentence():
    assert is_right_to_left(["שלום", ",", "abc"])
    assert is_right_to_left(["السلام"])
    assert not is_right_to_left(["hello", "שלום"])
    assert not is_right_to_left(["你好", "123"])
    assert not is_right_to_left([])
