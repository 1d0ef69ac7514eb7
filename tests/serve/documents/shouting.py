"""A translator for tests of documents: capitals for letters, tags where they were."""

import re
from collections.abc import Iterable


def shout(sentences: Iterable[str]) -> list[str]:
    return [re.sub(r"(<[^<>]*>)|[^<>]+", lambda match: match[1] or match[0].upper(), s) for s in sentences]
