"""Transfers markup to a translation through its word alignment, and source words in place of unknown ones.

An element encloses the run of target words that look most at its source words. A single item goes to the
border that best separates the words before it from those after it. Elements stay inside their parents and
never overlap, so that tags stay balanced and nested. More than ``MAX_PLACED`` items are not aligned: they
keep their order, and the share of the sentence that is before each.

Shapes: S source words, T target words.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from translate.alignment.alignment import Alignment
from translate.text.markup import CLOSING, Item, Marked, find_markup
from translate.text.tokenizer import UNKNOWN

OPENING = frozenset("([{«“‘¿¡$")  # no space goes after them
MAX_PLACED = 256  # items: placing them takes quadratic time, and a frame of the stack for every level
NEAR = 0.5  # factor by which the influence of a source word falls with each word of distance
MAX_COPIED = 256  # characters of a word; a longer one, copied a thousand times, would make a line too long


@dataclass
class _Node:
    """A single item, or an element: a pair of tags with its content."""

    index: int  # of the item, in the order of the source
    start: int  # border between source words
    end: int
    children: list["_Node"] = field(default_factory=list)
    low: int = 0  # borders between target words
    high: int = 0


def place_markup(marked: Marked, translation: str, alignment: Alignment) -> str:
    """The translation with the markup of its source; otherwise only white space may change.

    Args:
        marked: the source and its markup.
        translation: of ``marked.text``, without markup.
        alignment: of both; its words must occur in the texts in order.
    """
    if not marked.items:
        return translation
    source = word_spans(marked.text, alignment.source_words)
    weights = _anchored(alignment)
    target = word_spans(translation, alignment.target_words)
    if len(marked.items) > MAX_PLACED:
        return _write(_in_proportion(marked.items, source, len(target)), marked.items, translation, target)
    root = _tree(marked.items, source)
    root.high = len(target)
    _place_children(root, weights)
    return _write(_in_order(root, marked.items), marked.items, translation, target)


def _in_proportion(
    items: Sequence[Item], source: Sequence[tuple[int, int]], num_targets: int
) -> list[tuple[int, int]]:
    """(border, index) of items in the order of the source."""
    ends, size = [end for _, end in source], max(1, len(source))
    return [
        (round(bisect_right(ends, item.position) / size * num_targets), index)
        for index, item in enumerate(items)
    ]


def word_spans(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """(start, end) of each word in ``text``; a word that does not occur has an empty span."""
    spans, end = [], 0
    for word in words:
        begin = text.find(word, end)
        if begin < 0:
            spans.append((end, end))
            continue
        end = begin + len(word)
        spans.append((begin, end))
    return spans


def marked_spans(text: str, words: Sequence[str], *, placeholders: bool) -> list[tuple[int, int]]:
    """:func:`word_spans` in a text with markup, which may interrupt a word; tags among the words are none.

    Args:
        text: with markup.
        words: of the text without it.
        placeholders: whether they are markup, or their parts are words.
    """
    known, kept, end = {*words}, list[int](), 0
    for match in find_markup(text):
        if match[0] not in known and (placeholders or match["tag"]):
            kept += range(end, match.start())
            end = match.end()
    kept += range(end, len(text))
    spans = word_spans("".join([text[place] for place in kept]), words)
    kept.append(len(text))
    return [(kept[start], kept[stop - 1] + 1 if start < stop else kept[start]) for start, stop in spans]


def _anchored(alignment: Alignment) -> np.ndarray:
    """The weights (T, S), with equal numbers of a punctuation mark on both sides aligned one to one."""
    weights = np.array(alignment.weights, dtype=np.float64)
    sides = alignment.source_words, alignment.target_words
    for mark in {word for word in sides[0] if not any(map(str.isalnum, word))}:
        sources, targets = ([i for i, word in enumerate(side) if word == mark] for side in sides)
        if len(sources) == len(targets):
            weights[targets] = 0.0
            weights[targets, sources] = 1.0
    return weights


def _tree(items: Sequence[Item], spans: Sequence[tuple[int, int]]) -> _Node:
    root = _Node(-1, 0, len(spans))
    path = [root]
    for index, item in enumerate(items):
        if item.kind == "end":
            path.pop()
            continue
        begin = sum(end <= item.position for _, end in spans)
        node = _Node(index, begin, begin)
        path[-1].children.append(node)
        if item.kind == "start":
            assert item.partner is not None
            node.end = max(begin, sum(start < items[item.partner].position for start, _ in spans))
            path.append(node)
    return root


def _place_children(parent: _Node, weights: np.ndarray) -> None:
    """Find borders for the children of ``parent``: for elements, the surest ones first, then for others."""
    elements = [node for node in parent.children if node.end > node.start]
    sure = {node.index: weights[:, node.start : node.end].sum(1) for node in elements}
    taken: list[tuple[int, int]] = []
    held: list[_Node] = []
    for node in sorted(elements, key=lambda node: -float(sure[node.index].max(initial=0.0))):
        others = [inside for index, inside in sure.items() if index != node.index]
        rivals = np.max(others, axis=0) if others else np.zeros(len(weights))
        # A word that looks mostly at another element is left to it, even between two words of this one.
        span = _best_run(np.where(rivals > 0.5, -np.inf, sure[node.index]), _free(parent, taken))
        span = span or _give_up_word(held, sure[node.index])
        if span is None:
            node.low = node.high = _best_border(node.start, weights, _borders(parent, taken), parent)
        else:
            node.low, node.high = span
            held.append(node)
            taken = [(other.low, other.high) for other in held]
    for node in parent.children:
        if node.index not in sure:
            node.low = node.high = _best_border(node.start, weights, _borders(parent, taken), parent)
        _place_children(node, weights)


def _free(parent: _Node, taken: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The runs of target words in the parent that no other element holds."""
    runs, low = [], parent.low
    for begin, end in sorted(taken):
        runs.append((low, begin))
        low = end
    return [(begin, end) for begin, end in [*runs, (low, parent.high)] if end > begin]


def _borders(parent: _Node, taken: Sequence[tuple[int, int]]) -> list[int]:
    """The borders in the parent that are not inside another element."""
    inside = {border for begin, end in taken for border in range(begin + 1, end)}
    return [border for border in range(parent.low, parent.high + 1) if border not in inside]


def _best_run(inside: np.ndarray, free: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The run with the largest sum of (weight on the element - weight elsewhere).

    If no word looks mostly at the element, the word that looks at it most; ``None`` if there is no weight.
    """
    best, best_total = None, 0.0
    for low, high in free:
        begin, total = low, 0.0
        for word in range(low, high):
            total += 2.0 * inside[word] - 1.0
            if total > best_total:
                best, best_total = (begin, word + 1), total
            if total <= 0.0:
                begin, total = word + 1, 0.0
    if best is None:
        words = [word for low, high in free for word in range(low, high)]
        word = max(words, key=lambda index: float(inside[index]), default=-1)
        best = (word, word + 1) if word >= 0 and inside[word] > 0.0 else None
    return best


def _give_up_word(held: Sequence[_Node], inside: np.ndarray) -> tuple[int, int] | None:
    """Take the word that looks most at an element without words from the edge of a run of several."""
    edges = [(node, word) for node in held if node.high - node.low > 1 for word in (node.low, node.high - 1)]
    giver, word = max(edges, key=lambda edge: float(inside[edge[1]]), default=(None, -1))
    if giver is None or inside[word] <= 0.0:
        return None
    giver.low, giver.high = (word + 1, giver.high) if word == giver.low else (giver.low, word)
    return word, word + 1


def _best_border(border: int, weights: np.ndarray, allowed: Sequence[int], parent: _Node) -> int:
    """The border with most weight of earlier source words before it, and of later ones after it."""
    if border <= parent.start:
        return allowed[0]
    if border >= parent.end:
        return allowed[-1]
    near = NEAR ** np.arange(max(weights.shape[1], 1))
    before = weights[:, :border] @ near[:border][::-1]
    after = weights[:, border:] @ near[: weights.shape[1] - border]
    gain = np.concatenate([[0.0], np.cumsum(before - after)])
    expected = border / max(1, weights.shape[1]) * len(weights)
    return max(allowed, key=lambda target: (round(float(gain[target]), 9), -abs(target - expected)))


def _in_order(node: _Node, items: Sequence[Item]) -> list[tuple[int, int]]:
    """(border, index) of the items in the order of the translation."""
    found: list[tuple[int, int]] = []
    for child in sorted(node.children, key=lambda child: (child.low, child.high, child.index)):
        found.append((child.low, child.index))
        found.extend(_in_order(child, items))
        partner = items[child.index].partner
        if partner is not None:
            found.append((child.high, partner))
    return found


def _write(
    order: Sequence[tuple[int, int]],
    items: Sequence[Item],
    translation: str,
    spans: Sequence[tuple[int, int]],
) -> str:
    """The translation with the items at their borders; tags touch words, other items keep their spaces."""
    borders = {index: border for border, index in order}
    at: defaultdict[int, list[Item]] = defaultdict(list)
    for border, index in order:
        at[border].append(items[index])
    written = _Written()
    end = 0
    for border in sorted(at):
        left = spans[border - 1][1] if border else 0
        right = spans[border][0] if border < len(spans) else len(translation)
        written.text(translation[end:left])
        here = at[border]
        partners = [border if item.partner is None else borders[item.partner] for item in here]
        closing = [i for i, partner in enumerate(partners) if partner < border]
        opening = [i for i, partner in enumerate(partners) if partner > border]
        first = closing[-1] + 1 if closing else 0
        last = opening[0] if opening else len(here)
        around = translation[:left].rstrip()[-1:], translation[right:].lstrip()[:1]
        written.items(here[:first], around)
        written.gap(translation[left:right], here[first:last], around)
        written.items(here[last:], around)
        end = right
    written.text(translation[end:])
    return "".join(written.parts)


@dataclass
class _Written:
    """A growing text; a space between items is written once, and never before a closing tag."""

    parts: list[str] = field(default_factory=list)
    ends_in_space: bool = True  # of the text without tags; True while it is empty
    wants_space: bool = False  # before the next text or item

    def text(self, more: str) -> None:
        if not more:
            return
        if self.wants_space and not more[0].isspace():
            self.parts.append(" ")
        self.parts.append(more)
        self.wants_space, self.ends_in_space = False, more[-1].isspace()

    def gap(self, text: str, items: Sequence[Item], around: tuple[str, str]) -> None:
        """Add the text between two words, and the items there."""
        if not items or text.strip() or not any(any(_spaces(item, around)) for item in items):
            self.text(text)
        self.items(items, around)
        if items and text.isspace() and around[1] in CLOSING and around[0] not in OPENING:
            self.wants_space = True  # a tokenised translation: "word ."

    def items(self, items: Sequence[Item], around: tuple[str, str]) -> None:
        """Add items between the characters ``around`` them."""
        for number, item in enumerate(items):
            before, after = _spaces(item, around)
            if item.kind == "start" and (number == 0 or items[number - 1].kind != "start"):
                # The space that a placeholder needs goes before the tags around it.
                rest = range(number, len(items))
                inner = next((items[place] for place in rest if items[place].kind != "start"), item)
                before = not inner.spaces[0] and _spaces(inner, around)[0]
            if (before or (self.wants_space and item.kind != "end")) and not self.ends_in_space:
                self.parts.append(" ")
                self.wants_space, self.ends_in_space = False, True
            self.parts.append(item.text)
            if item.kind == "alone":
                self.wants_space, self.ends_in_space = after, False


def _spaces(item: Item, around: tuple[str, str]) -> tuple[bool, bool]:
    """Whether a space goes before and after an item; tags of elements need none."""
    if item.kind != "alone":
        return False, False
    left, right = around
    before = item.spaces[0] or (item.is_word and left.isalnum())
    after = item.spaces[1] or (item.is_word and right.isalnum())
    return before and left != "" and left not in OPENING, after and right != "" and right not in CLOSING


def replace_unknown(text: str, alignment: Alignment) -> tuple[str, Alignment]:
    """Replace each word that has an unknown piece by the source word that it looks at most.

    Luong et al. 2015 (ACL), 3; there an unknown word points to a source position, here attention points.
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
    written, words, rows, offsets, end = "", [], [], [], 0
    for group in _groups(text, spans):
        begin, last = spans[group[0]][0], spans[group[-1]][1]
        row = alignment.weights[group].mean(0)
        word = alignment.source_words[int(row.argmax())] if row.any() else ""
        if UNKNOWN in text[begin:last] and 0 < len(word) <= MAX_COPIED:
            written += text[end:begin] + word
            words.append(word)
            rows.append(row)
            offsets.append((len(written) - len(word), len(written)))
        else:
            moved = len(written) - end
            written += text[end:last]
            words += [alignment.target_words[index] for index in group]
            rows += list(alignment.weights[group])
            offsets += [(spans[index][0] + moved, spans[index][1] + moved) for index in group]
        end = last
    weights = np.array(rows, dtype=np.float32).reshape(len(rows), len(alignment.source_words))
    changed = replace(alignment, target_words=words, weights=weights, target_offsets=offsets)
    return written + text[end:], changed


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
