"""Replaces unknown target words by the source words that they look at: Luong et al. 2015 (ACL), 3.

In the paper an unknown word points to a source position; here attention points.
"""

from collections.abc import Sequence

import numpy as np

from translate.alignment.alignment import Alignment
from translate.alignment.transfer.markup import word_spans
from translate.text.tokenizer import UNKNOWN

MAX_COPIED = 256  # characters of a word; a longer one, copied a thousand times, would make a line too long


def replace_unknown(text: str, alignment: Alignment) -> tuple[str, Alignment]:
    """Replace each word that has an unknown piece by the source word that it looks at most.

    Letters and digits next to an unknown piece, without white space between, belong to its word. A word that
    looks at nothing, or at a word of more than ``MAX_COPIED`` characters, stays.

    Args:
        text: a translation.
        alignment: of it.

    Returns:
        The new text, and the alignment of its words.
    """
    if UNKNOWN not in text:
        return text, alignment
    spans = word_spans(text, alignment.target_words)
    written, words, rows, end = "", [], [], 0
    for group in _groups(text, spans):
        begin, last = spans[group[0]][0], spans[group[-1]][1]
        row = alignment.weights[group].mean(0)
        word = alignment.source_words[int(row.argmax())] if row.any() else ""
        if UNKNOWN in text[begin:last] and 0 < len(word) <= MAX_COPIED:
            written += text[end:begin] + word
            words.append(word)
            rows.append(row)
        else:
            written += text[end:last]
            words += [alignment.target_words[index] for index in group]
            rows += list(alignment.weights[group])
        end = last
    weights = np.array(rows, dtype=np.float32).reshape(len(rows), len(alignment.source_words))
    return written + text[end:], Alignment(
        alignment.source_words, words, weights, method=alignment.method, threshold=alignment.threshold
    )


def _groups(text: str, spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Indexes of words, in one group if they are one word around an unknown piece."""

    groups: list[list[int]] = []
    for index, (begin, end) in enumerate(spans):
        touches = bool(groups) and spans[groups[-1][-1]][1] == begin
        if touches:
            last = spans[groups[-1][-1]]
            parts = text[last[0] : last[1]], text[begin:end]
            touches = any(UNKNOWN in part for part in parts) and all(
                UNKNOWN in part or part[:1].isalnum() for part in parts
            )
        if touches:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
