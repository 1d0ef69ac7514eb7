"""Text of strangers inside Markdown: names of languages, runs, corpora; sentences."""

import re
import unicodedata

from translate.config.names import cut

LONGEST = 1000  # characters
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}
_MEANING = re.compile(r"[\\`*\[\]{}#~$!]|(?<![^\W_])_|_(?![^\W_])")
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp", "Cn")  # controls, marks that reorder words, halves of characters
_JOINERS = "\u200c\u200d"  # of letters and of emoji
_RULE = re.compile(r"\s*([-=*_]\s*)+")


def for_markdown(text: object, longest: int = LONGEST) -> str:
    """``text`` on one line, as Markdown that shows just it: in a paragraph, a heading, a list or a table.

    It is no text for a code span, in which Markdown knows no escapes; see :func:`for_code`.
    """
    line = cut(" ".join(_visible(str(text)[: 4 * longest]).split()), longest)
    line = "".join(_ENTITIES.get(character, character) for character in line)
    line = _MEANING.sub(lambda match: "\\" + match[0], line).replace("://", "&#58;//")
    if line[:1] in tuple("-+=:"):  # a list, a rule or the alignment of a column
        line = f"&#{ord(line[0])};{line[1:]}"
    return line


def for_code(text: object, instead: str) -> str:
    """``text`` for code in Markdown if it means nothing there or in a shell, or else ``instead``."""
    plain = re.fullmatch(r"[\w./,@%][\w./,@%+=:-]*", str(text))
    return str(text) if plain and len(str(text)) <= LONGEST else instead


def tame_markdown(text: str) -> str:
    """A page of Markdown by a stranger without HTML, pictures, links, rules and front matter."""
    lines = [_visible(line) for line in text.splitlines()]
    kept = [line for line in lines if not line.lstrip().startswith("![") and not _RULE.fullmatch(line)]
    tamed = "\n".join(kept).replace("<", "&lt;").replace("](", "]\\(").replace("![", "!\\[")
    return re.sub(r"^(\s*\[[^\]]*\]):", r"\1\\:", tamed, flags=re.MULTILINE)  # what a link refers to


def _visible(line: str) -> str:
    """``line`` with a space for every character that hides, breaks or reorders text."""
    return "".join(
        " " if unicodedata.category(character) in _HIDDEN and character not in _JOINERS else character
        for character in line
    )
