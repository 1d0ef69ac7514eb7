"""Names of strangers change nothing in Markdown and HTML."""

import pytest

from translate.text.escape import for_code, for_markdown, tame_markdown

HOSTILE = [
    *("<script>alert(1)</script>", "| x | `y` |", "a\n---\nb", "---", "# title"),
    *("![x](http://example.com/p.png)", "[x](javascript:y)", "*a* _b_ ~c~ $d$", "\x1b[31m\u202eevil"),
    *("```\nrm -rf\n```", "+ x", "<!-- ", "&lt;", "\\`"),
]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_of_a_name_is_one_line_without_meaning(text: str) -> None:
    found = for_markdown(text)
    assert "\n" not in found
    assert not set(found) & set("<>|\x1b\u202e")
    assert found[:1] not in tuple("-+#")
    for mark in "`*[]~$!#":
        plain = found.replace("&#58;", "").replace("&#124;", "").replace("&#45;", "").replace("&#43;", "")
        assert plain.count(mark) == plain.count("\\" + mark)


@pytest.mark.parametrize("text", ["en", "pt_BR", "zh-Hans", "rnn_luong", "I love you .", "je t' aime .", "é"])
def test_an_honest_name_stays_as_it_is(text: str) -> None:
    assert for_markdown(text) == text


def test_a_long_name_is_cut() -> None:
    assert len(for_markdown("x" * 10**6)) == 1000
    assert len(for_markdown("x" * 10**6, 35)) == 35


@pytest.mark.parametrize("text", HOSTILE)
def test_code_takes_only_plain_names(text: str) -> None:
    assert for_code(text, "RUN") == "RUN"
    assert for_code("runs/mine-2_b", "RUN") == "runs/mine-2_b"
    assert for_code("--help", "RUN") == "RUN"


def test_a_page_of_a_stranger_keeps_its_tables_and_loses_its_markup() -> None:
    page = (
        "---\nlicense: x\n---\n# Run\n\n| a | b |\n| --- | --- |\n| <img src=x> | [x](y) |\n![p](q)\nz\n===\n"
    )
    found = tame_markdown(page + "[a]: http://b\n\x1b[0m\u202e")
    assert "| a | b |\n| --- | --- |" in found
    assert "# Run" in found
    assert "<" not in found
    assert "](" not in found
    assert "![" not in found
    assert "\n---\n" not in f"\n{found}\n"
    assert "===" not in found
    assert "[a]:" not in found
    assert "\x1b" not in found
