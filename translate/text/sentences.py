"""Splits a text into sentences: the rules of `sentencex`, with further abbreviations."""

import re

WINDOW = 4096  # characters that are looked at together; the time grows with the square of this
# Abbreviations: their full stop ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|e\.g|i\.e|cf|no|vol|fig|approx|dept|et al|gen|gov|sen|rep|hon|capt|col"
    r"|lt|sgt|mme|mlle|mm|pp?|art|bd|env|p\. ex|z\. ?b|d\. ?h|u\. ?a|o\. ?ä|bzw|ca|nr|str|hr|fr|abs|bspw"
    r"|inkl|evtl|ggf|vgl|sog|geb|[^\W\d_]|\d{1,2})",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"(?:^|[\s\"'“‘«(\[])((?:et |p\. |[zdou]\. )?\S+)\.$")
_LONGEST_ABBREVIATION = 16  # characters, generously


def split(text: str, language: str = "") -> list[tuple[int, int]]:
    """(start, end) of each sentence, without the white space around it; none for a blank text.

    A sentence of more than ``WINDOW`` characters is cut at white space, so that the time is linear.

    Args:
        text: a paragraph, or several with blank lines between them.
        language: a code such as ``fr``; rules for many languages by default.
    """
    found, start = [], 0
    while start < len(text):
        window = text[start : start + WINDOW]
        ends = _ends(window, language.partition("-")[0] or "en")
        if start + len(window) < len(text):
            space = max(window.rfind(" "), window.rfind("\n"))
            ends = ends[:-1] or [space + 1 or len(window)]  # the last one may go on behind the window
        begin = start
        for end in ends:
            if part := text[begin : start + end].strip():
                first = text.index(part, begin)
                found.append((first, first + len(part)))
            begin = start + end
        start = begin
    return found


def _ends(text: str, language: str) -> list[int]:
    from sentencex import get_sentence_boundaries  # only texts of several sentences need it

    ends = [boundary["end_index"] for boundary in get_sentence_boundaries(language, text)]
    return [end for end in ends[:-1] if _is_end(text[:end])] + [len(text)]


def _is_end(text: str) -> bool:
    """Whether a sentence may end where ``text`` does."""
    before = text.rstrip()
    if before == text and text[-1] in ".!?…":  # nothing separates it from the next word
        return False
    last = _LAST_WORD.search(before[-_LONGEST_ABBREVIATION:])
    return last is None or _ABBREVIATION.fullmatch(last[1]) is None
