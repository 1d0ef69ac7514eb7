"""Looks at the lines of a corpus for its languages."""

from collections.abc import Mapping, Sequence
from itertools import product

from translate.config.data import DataConfig
from translate.config.names import is_code
from translate.corpora.split import Split
from translate.corpora.tables import SIDES
from translate.text.languages import (
    SOME,
    base,
    code_of,
    is_foreign,
    language_name,
    likely_languages,
    other_than,
)


def named_by_lines(
    data: DataConfig, languages: tuple[str, str], train: Split, others: Mapping[str, Split]
) -> tuple[tuple[str, str], list[str]]:
    """The codes of the languages, by the lines where nothing names them, and what to tell.

    Args:
        languages: of source and target by settings, files and columns.
        others: the further splits, by their names.
    """
    codes, found, told = list[str](), list[str](), list[str]()
    given = data.source_language, data.target_language
    splits = {"train": train, **others}
    likely = likely_languages(*(side for split in splits.values() for side in (split.source, split.target)))
    looks = likely[:2]
    for side, language, own, seen in zip(SIDES, languages, given, looks):
        code, setting = code_of(language), f"data.{side}_language"
        if own is not None and code != language:
            told.append(f"warning: {setting}={own}: the code of {language_name(code)} is {code}")
            code = language
        if own is None and (language in SIDES[side] or not is_code(code)):
            code = seen or language
            found += [f"{setting}={code}"] * (code != language)
        codes.append(code)
    if found:
        told.append(f"languages: {' '.join(found)}, by what most lines look like; what you give is kept")
    for number, ((name, split), side) in enumerate(product(splits.items(), SIDES)):
        code, seen, is_train = codes[number % 2], likely[number], name == "train"
        expected, looking = language_name(base(code)), language_name(str(seen))
        lines: Sequence[str] = getattr(split, side)
        some = lines[:: len(lines) // SOME or 1]
        if other_than(code, seen) and (is_train or seen != looks[number % 2]):
            told.append(
                f"warning: most {side}s of {name} look like {looking}, but that language is {expected}: "
                f"are the sides exchanged, or is data.{side}_language wrong?"
            )
        elif is_train and sum(is_foreign(line, code) for line in some) > len(some) / 2:
            told.append(
                f"warning: most {side}s have no letter of the script of {expected}: are they in another "
                "language, or were they converted from a wrong encoding?"
            )
    return (codes[0], codes[1]), told
