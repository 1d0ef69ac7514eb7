"""Sentences of a paragraph, by rules that hold for European languages and for Chinese and Japanese."""

import re

# What ends with a full stop and no sentence: titles, and what stands before a name, a number or more words.
_ABBREVIATION = re.compile(
    r"(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|e\.g|i\.e|cf|no|vol|fig|approx|dept|et al|gen|gov|sen|rep|hon|capt|col"
    r"|lt|sgt|mme|mlle|mm|pp?|art|bd|env|p\. ex|z\. ?b|d\. ?h|u\. ?a|o\. ?ä|bzw|ca|nr|str|hr|fr|abs|bspw"
    r"|inkl|evtl|ggf|vgl|sog|geb|[^\W\d_]|\d{1,2})",
    re.IGNORECASE,
)
# A mark, what closes with it, white space, and then a great letter, or what opens a sentence.
_END = re.compile(
    r"[.!?…]+[\"'”“’»)\]]*(?=\s+(?:[^\s\W\d_a-zà-öø-ÿ]|[\"'“‘«(\[¿¡\d])|\s*$)"
    r"|[。！？]+[」』）”’]*"
)  # fmt: skip
_LAST_WORD = re.compile(r"(?:^|[\s\"'“‘«(\[])((?:et |p\. |[zdou]\. )?\S+)$")


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph, without the white space between them; of a blank one, none."""
    found, start = [], 0
    for match in _END.finditer(text):
        if match.group() == "." and _is_abbreviation(text[start : match.start()]):
            continue
        sentence = text[start : match.end()].strip()
        if sentence:
            found.append(sentence)
        start = match.end()
    rest = text[start:].strip()
    return [*found, rest] if rest else found


def _is_abbreviation(before: str) -> bool:
    last = _LAST_WORD.search(before)
    return last is not None and _ABBREVIATION.fullmatch(last.group(1)) is not None
