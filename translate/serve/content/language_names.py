"""Names of languages in English and in themselves, and their direction of writing."""

from typing import NamedTuple


class LanguageName(NamedTuple):
    """How a language is called."""

    english: str
    own: str


_NAMES = {
    "ar": "Arabic/العربية",
    "bg": "Bulgarian/български",
    "bn": "Bengali/বাংলা",
    "ca": "Catalan/català",
    "cs": "Czech/čeština",
    "da": "Danish/dansk",
    "de": "German/Deutsch",
    "el": "Greek/ελληνικά",
    "en": "English/English",
    "eo": "Esperanto/Esperanto",
    "es": "Spanish/español",
    "et": "Estonian/eesti",
    "eu": "Basque/euskara",
    "fa": "Persian/فارسی",
    "fi": "Finnish/suomi",
    "fr": "French/français",
    "ga": "Irish/Gaeilge",
    "gl": "Galician/galego",
    "he": "Hebrew/עברית",
    "hi": "Hindi/हिन्दी",
    "hr": "Croatian/hrvatski",
    "hu": "Hungarian/magyar",
    "hy": "Armenian/հայերեն",
    "id": "Indonesian/Indonesia",
    "is": "Icelandic/íslenska",
    "it": "Italian/italiano",
    "ja": "Japanese/日本語",
    "ka": "Georgian/ქართული",
    "kk": "Kazakh/қазақ тілі",
    "ko": "Korean/한국어",
    "la": "Latin/Latina",
    "lt": "Lithuanian/lietuvių",
    "lv": "Latvian/latviešu",
    "mk": "Macedonian/македонски",
    "ms": "Malay/Melayu",
    "mt": "Maltese/Malti",
    "nb": "Norwegian Bokmål/norsk bokmål",
    "ne": "Nepali/नेपाली",
    "nl": "Dutch/Nederlands",
    "no": "Norwegian/norsk",
    "pl": "Polish/polski",
    "pt": "Portuguese/português",
    "ro": "Romanian/română",
    "ru": "Russian/русский",
    "sk": "Slovak/slovenčina",
    "sl": "Slovenian/slovenščina",
    "sq": "Albanian/shqip",
    "sr": "Serbian/српски",
    "sv": "Swedish/svenska",
    "sw": "Swahili/Kiswahili",
    "ta": "Tamil/தமிழ்",
    "te": "Telugu/తెలుగు",
    "th": "Thai/ไทย",
    "tl": "Tagalog/Tagalog",
    "tr": "Turkish/Türkçe",
    "uk": "Ukrainian/українська",
    "ur": "Urdu/اردو",
    "uz": "Uzbek/oʻzbek",
    "vi": "Vietnamese/Tiếng Việt",
    "zh": "Chinese/中文",
}
RIGHT_TO_LEFT = frozenset(("ar", "fa", "he", "ur"))


def language_name(code: str) -> LanguageName:
    """The name of a language; its code where it has none here."""
    english, _, own = _NAMES.get(code, f"{code}/{code}").partition("/")
    return LanguageName(english, own)
