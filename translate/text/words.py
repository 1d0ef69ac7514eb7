"""Splits a sentence into words with their character offsets."""

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

# Scripts written without spaces: Thai, Lao, Myanmar and Khmer; kana and Han. Each character is a word.
_SOUTH_EAST = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HIRAGANA, _KATAKANA = "\u3040-\u309f", "\u30a0-\u30ff"
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
UNSPACED = _SOUTH_EAST + _HIRAGANA + _KATAKANA + _HAN
# Where words are counted, as many characters as one has about: beside English, 1.4 words in Japanese and 1.0
# in Chinese, where each character counted would be 2.8 and 1.7.
UNSPACED_WORD = f"[{_HAN}]{{1,2}}|[{_HIRAGANA}]{{1,3}}|[{_KATAKANA}]{{1,4}}|[{_SOUTH_EAST}]{{1,4}}"
NO_WORD = -1
ENGLISH_ENDINGS = "t|s|d|m|re|ve|ll"  # of contractions, behind the apostrophe
FRENCH_CLITICS = "la|le|les|lui|leur|moi|toi|nous|vous|y|en|je|tu|il|elle|on|ils|elles|ce"


class Word(NamedTuple):
    """A word with its position: ``sentence[start:end] == text``."""

    text: str
    start: int
    end: int


_WHITESPACE_WORD = re.compile(r"\S+")
# Words of Moses and of the Penn treebank that no other text has between spaces: n't, 's, &apos;ll, @-@.
_TOOLKIT_WORD = re.compile(r"[nN]['’][tT]|['’](?:ll|re|ve|LL|RE|VE|[smdtSMDT])|\w*&#?\w+;\w*|@\S@")
FIRST_MARK = "\u0300"  # combining marks and scripts without spaces start here


@cache
def _pattern() -> re.Pattern[str]:
    # Python's \w excludes combining marks, which would split "e" + U+0301 and most Indic words, and the soft
    # hyphen, which is no border either.
    codes = (code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code)) in ("Mn", "Mc"))
    marks = _in_class(codes)
    letter = rf"(?:(?![{UNSPACED}])[\w{marks}\xad\u200c\u200d])"
    character = rf"[{UNSPACED}](?:[{marks}]|\u200d)*"
    # Marks that modify an emoji (skin, style, a join to the next one) are not words.
    emoji_part = rf"[{marks}\u200c\U0001f3fb-\U0001f3ff]|\u200d[^\w\s]?"
    flag = r"[\U0001f1e6-\U0001f1ff]{2}"
    return _alternatives(letter, rf"{character}|{flag}", rf"(?P<mark>[^\w\s])(?:(?P=mark)|{emoji_part})*")


@cache
def _european_pattern() -> re.Pattern[str]:
    """The pattern for text whose characters all come before `FIRST_MARK`; several times as fast."""
    return _alternatives(r"[\w\xad]", None, r"(?P<mark>[^\w\s])(?P=mark)*")


def _alternatives(letter: str, character: str | None, mark: str) -> re.Pattern[str]:
    ending = rf"(?i:(?:{ENGLISH_ENDINGS})(?!{letter}|['’]))"
    clitic = rf"(?i:-(?:t-(?:il|elle|on)|{FRENCH_CLITICS})(?!{letter}|['’]))"
    alternatives = (
        rf"(?P<clitic>{clitic})",
        rf"[Aa]ujourd['’]hui(?!{letter})",
        character,
        r"\d+(?:[.,:]\d+)+",
        rf"{letter}+(?:(?!{clitic})-{letter}+)*(?:['’]{ending}|['’])?",
        mark,
    )
    return re.compile("|".join(part for part in alternatives if part is not None))


def _in_class(codes: Iterable[int]) -> str:
    """Ascending character codes as ranges for the brackets of a pattern, which match faster."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)


def split_words(text: str) -> list[Word]:
    """Split at white space, at punctuation, after apostrophes and before French clitics (*cherchez-le*).

    English contractions (*isn't*) are one word. In scripts without spaces each character is one, together
    with its marks. Splitting the words joined by spaces gives the same words again.
    """
    pattern = _european_pattern() if max(text, default="") < FIRST_MARK else _pattern()
    return _found(pattern, text)


def tags_before(text: str, tags: Collection[str]) -> list[Word]:
    """Those of ``tags`` that stand before the sentence."""
    found: list[Word] = []
    end = 0
    while tags and (first := _WHITESPACE_WORD.search(text, end)) and first[0] in tags:
        end = first.end()
        found.append(Word(first[0], first.start(), end))
    return found


def split_tagged(text: str, tags: Collection[str], whole: Collection[str] = ()) -> list[Word]:
    """Split as :func:`split_words` does, but keep those of ``tags`` whole that stand before the sentence.

    If ``whole`` are the words that a tokenised corpus has as pieces, these stay whole between white space,
    and so do those that mark such a corpus, as *n't* and *&apos;s*.
    """
    found = tags_before(text, tags)
    if not (found or whole):
        return split_words(text)
    end = found[-1].end if found else 0
    rest = text[end:]
    for part in whitespace_words(rest) if whole else [Word(rest, 0, len(rest))]:
        kept = whole and (part.text in whole or _TOOLKIT_WORD.fullmatch(part.text))
        words = [Word(part.text, 0, len(part.text))] if kept else split_words(part.text)
        begin = end + part.start
        found += [Word(word, begin + start, begin + stop) for word, start, stop in words]
    return found


def whitespace_words(text: str) -> list[Word]:
    """Split only at white space, as the gold links of tokenised corpora count words."""
    words = text.split()
    return joined_words(words) if " ".join(words) == text else _found(_WHITESPACE_WORD, text)


def joined_words(words: Iterable[str]) -> list[Word]:
    """The words of the sentence in which single spaces join them."""
    make, end = tuple.__new__, -1
    return [make(Word, (word, start := end + 1, end := start + len(word))) for word in words]


def _found(pattern: re.Pattern[str], text: str) -> list[Word]:
    make = tuple.__new__  # a NamedTuple's own takes twice as long as the search
    return [make(Word, (match[0], *match.span())) for match in pattern.finditer(text)]


def tokenise(text: str) -> str:
    """The words of ``text`` joined by single spaces."""
    return " ".join(word.text for word in split_words(text))


def assign(pieces: list[tuple[int, int]], words: list[Word]) -> tuple[list[int], tuple[tuple[int, int], ...]]:
    """The word that each piece overlaps most, and (piece, word) for other words that it overlaps.

    A piece between two words belongs to the second.
    """
    owners: list[int] = []
    further: list[tuple[int, int]] = []
    first = 0
    for piece, (begin, end) in enumerate(pieces):
        while first < len(words) and words[first].end <= begin:
            first += 1
        if first < len(words) and words[first].start < end <= words[first].end:  # the usual case: one word
            owners.append(first)
            continue
        best, best_overlap = NO_WORD, 0
        overlapped = []
        for index in range(first, len(words)):
            if words[index].start >= end:
                break
            overlapped.append(index)
            overlap = min(end, words[index].end) - max(begin, words[index].start)
            if overlap > best_overlap:
                best, best_overlap = index, overlap
        if best == NO_WORD and words:
            best = min(first, len(words) - 1)
        owners.append(best)
        if len(overlapped) > 1:
            further += [(piece, word) for word in overlapped if word != best]
    return owners, tuple(further)
