"""Looks at the lines of a corpus for its languages."""

from translate.config.data import DataConfig
from translate.config.names import is_code
from translate.corpora.split import Split
from translate.corpora.tables import SIDES
from translate.text.languages import SOME, base, code_of, is_foreign, language_name, likely_languages


def named_by_lines(
    data: DataConfig, languages: tuple[str, str], train: Split
) -> tuple[tuple[str, str], list[str]]:
    """The codes of the languages, by the lines where nothing names them, and what to tell.

    Args:
        languages: of source and target by settings, files and columns.
    """
    codes, found, told = list[str](), list[str](), list[str]()
    given = data.source_language, data.target_language
    looks = likely_languages(train.source, train.target)
    for side, language, own, likely in zip(SIDES, languages, given, looks):
        code, setting = code_of(language), f"data.{side}_language"
        if own is not None and code != language:
            told.append(f"warning: {setting}={own}: the code of {language_name(code)} is {code}")
            code = language
        if own is None and (language in SIDES[side] or not is_code(code)):
            code = likely or language
            found += [f"{setting}={code}"] * (code != language)
        codes.append(code)
    if found:
        told.append(f"languages: {' '.join(found)}, by what most lines look like; what you give is kept")
    source, target = map(base, codes)
    if looks == [target, source] != [source, target]:
        told.append(
            f"warning: most sources are {language_name(target)}, and most of their translations "
            f"{language_name(source)}: exchange the languages, data.source_language and "
            "data.target_language, or the sides"
        )
    for side, code, lines in zip(SIDES, codes, (train.source, train.target)):
        some = lines[:: len(lines) // SOME or 1]
        if sum(is_foreign(line, code) for line in some) > len(some) / 2:
            told.append(
                f"warning: most {side}s have no letter of the script of {language_name(base(code))}: are "
                "they in another language, or were they converted from a wrong encoding?"
            )
    return (codes[0], codes[1]), told
