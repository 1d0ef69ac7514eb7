"""The names of languages, and which of a few languages a text is written in."""

from collections.abc import Iterable

from translate.text.languages import base, identifier_of

MAX_CHARACTERS = 4096  # of a text that are read
_NAMES = (
    "ar Arabic, bg Bulgarian, bn Bengali, ca Catalan, cs Czech, da Danish, de German, el Greek, en "
    "English, eo Esperanto, es Spanish, et Estonian, eu Basque, fa Persian, fi Finnish, fr French, ga "
    "Irish, gl Galician, he Hebrew, hi Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, is "
    "Icelandic, it Italian, ja Japanese, ka Georgian, kk Kazakh, ko Korean, la Latin, lt Lithuanian, lv "
    "Latvian, mk Macedonian, ms Malay, mt Maltese, nb Norwegian Bokmål, ne Nepali, nl Dutch, no "
    "Norwegian, pl Polish, pt Portuguese, ro Romanian, ru Russian, sk Slovak, sl Slovenian, sq "
    "Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, th Thai, tl Tagalog, tr "
    "Turkish, uk Ukrainian, ur Urdu, uz Uzbek, vi Vietnamese, zh Chinese"
)
_NAME_OF = dict(name.split(" ", 1) for name in _NAMES.split(", "))


def language_name(code: str) -> str:
    """The English name of a language; its code where it has none here."""
    return _NAME_OF.get(code, code)


def identify(text: str, among: Iterable[str]) -> tuple[str, float]:
    """The likeliest language of ``text``, and its probability among the given ones.

    A text without a letter gives the first language, with probability 0. A language that the identifier does
    not know is never found.

    Args:
        text: its first ``MAX_CHARACTERS`` characters are read.
        among: codes such as ``en`` or ``pt-BR``; of codes with one language the first is found.
    Raises:
        UserError: if the package ``py3langid`` is missing.
    """
    codes: dict[str, str] = {}  # of the identifier -> as given
    for code in among:
        codes.setdefault(base(code), code)
    start = text[:MAX_CHARACTERS]
    identifier = identifier_of(tuple(sorted(codes)), "language identification", "serve")
    if identifier is None or not any(map(str.isalpha, start)):
        return next(iter(codes.values())), 0.0
    language, probability = identifier.classify(start)
    return codes[language], min(1.0, float(probability))
