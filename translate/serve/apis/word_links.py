"""Words and the links between them for JSON, the probabilities of words, and what else a word could be."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair, check_lengths
from translate.search.sources import Request
from translate.serve.catalogue import Served
from translate.serve.limits import needed_bytes
from translate.serve.service import Service, refusing
from translate.serve.web.requests import RefusalError
from translate.serve.word_confidence import next_pieces, word_probabilities
from translate.translation import TranslateOptions, Translation
from translate.translation_call import TranslationCall

DIGITS = 4  # of weights and probabilities
SLOW = ("gradient", "erasure")  # methods that take a pass for every word
MOST = 8  # pieces that are tried in place of a word's first one

Part = tuple[Alignment, int, int, Sequence[float] | None]


def weights(alignment: Alignment) -> list[list[float]]:
    """Target words x source words."""
    return [[round(weight, DIGITS) for weight in row] for row in alignment.weights.tolist()]


def aligned(parts: Sequence[Part]) -> dict[str, Any]:
    """The fields of an alignment, put together from those of sentences.

    Args:
        parts: for every sentence its alignment, where it begins in source and target, and the probability of
            its target words.
    """
    found: dict[str, Any] = {"source_words": [], "target_words": [], "links": []}
    for alignment, source_start, target_start, scores in parts:
        first_source, first_target = len(found["source_words"]), len(found["target_words"])
        for link in sorted(alignment.links()):
            weight = round(float(alignment.weights[link[1], link[0]]), DIGITS)
            places = {"source": link[0] + first_source, "target": link[1] + first_target}
            found["links"].append({**places, "weight": weight})
        found["source_words"] += _words(alignment.source_words, alignment.source_offsets, source_start)
        words = _words(alignment.target_words, alignment.target_offsets, target_start)
        if scores is not None and len(scores) == len(words):
            for word, score in zip(words, scores, strict=True):
                word["confidence"] = round(score, DIGITS)
        found["target_words"] += words
    if len(parts) == 1:
        found["weights"] = weights(parts[0][0])
    found["method"] = parts[0][0].method if parts else ""
    return found


def _words(words: Sequence[str], offsets: Sequence[tuple[int, int]], begin: int) -> list[dict[str, Any]]:
    """Words with their places in the whole text, in which their own begins at ``begin``."""
    return [
        {"text": word, "start": start + begin, "end": end + begin}
        for word, (start, end) in zip(words, offsets, strict=True)
    ]


async def weigh(
    service: Service,
    served: Served,
    pairs: Sequence[EncodedPair],
    method: str,
    layer: int | None,
    heads: Sequence[int] | None,
) -> list[Alignment]:
    """The alignments of pairs, by teacher forcing."""
    model, choice = served.translator.model, served.translator.choice
    with refusing():
        if layer is not None or heads is not None:
            layer = choice.layer if layer is None else layer
            heads = range(model.num_attention_heads) if heads is None else heads
            choice = AlignmentChoice(layer, tuple(heads), choice.shift)
        choice.check(model)
        check_lengths(model, pairs)
    sizes = [(len(pair.source_ids), len(pair.target_ids) + 1) for pair in pairs]
    service.check_memory(needed_bytes(sizes, heads=len(choice.heads)))
    passes = [len(pair.target_ids) if method in SLOW else 1 for pair in pairs]
    cost = sum(len(pair.source_ids) * count for pair, count in zip(pairs, passes, strict=True))
    # An empty queue takes any cost, and torch is held until the last pass.
    if method in SLOW and cost > service.limits.queue:
        raise RefusalError(
            413,
            f"method {method} would read {cost:,} pieces; expected at most {service.limits.queue:,}, the "
            "limit of the queue: use method attention, or a shorter text",
        )
    return await service.calculate(cost, lambda: align(model, pairs, choice, method=method))


async def confidences(
    service: Service, served: Served, pairs: Sequence[EncodedPair], sources: Sequence[Sequence[Sequence[int]]]
) -> list[list[float]]:
    """The probability of each target word, by as many members of an ensemble as there are ``sources``."""
    models = [member.model for member in (served.translator, *served.translator.partners)[: len(sources)]]
    cost = sum(len(pair.target_ids) + 1 for pair in pairs)
    return await service.calculate(cost, lambda: word_probabilities(models, sources, pairs))


async def alternatives(
    service: Service, served: Served, call: TranslationCall, results: Sequence[Translation], index: int
) -> list[dict[str, Any]]:
    """Words that could stand at ``index`` after the words before it, the most probable first.

    Each of the most probable pieces is continued greedily to the end of its word. The word that stands there
    is always among them, whatever its first piece. The probability of a word is the product over its pieces,
    given the source and the words before.
    """
    target = call.target
    ids = target.ids(results[0].tokens) if results else []
    _, pieces = target.decode_words(ids)
    if index >= len(pieces.words):
        raise RefusalError(400, f"alternatives_at: there are {len(pieces.words)} words, got {index}")
    prefix = ids[: min(_pieces_of(index, pieces.piece_words, pieces.further), default=len(ids))]
    (present,) = call.present
    read = present.ids
    firsts = await service.calculate(len(ids) + 1, lambda: next_pieces(call.models, read, prefix, MOST))
    before = call.options.context
    options = TranslateOptions(beam_size=1, context=None if before is None else [before[0]] * len(firsts))
    tried = await service.begin(served, [present.marked.text] * len(firsts), options)
    attempts = [
        [replace(attempt, request=Request([*prefix, piece]))]
        for attempt, piece in zip(tried.present, firsts, strict=True)
    ]
    # With a prefix, torch searches.
    continued = await service.search(served, replace(tried, attempts=attempts, engine=None))
    found = [target.ids(result.tokens) for result in continued] + [ids]
    pairs = [call.pair(0, own) for own in found]
    shares = await confidences(service, served, pairs, [[side] * len(found) for side in read])
    best: dict[str, float] = {}
    for pair, probabilities in zip(pairs, shares, strict=True):
        # A piece that goes on with the word before it changes that word, not this one.
        if len(prefix) in _pieces_of(index, pair.target_piece_words, pair.target_further):
            word = pair.target_words[index]
            best[word] = max(probabilities[index], best.get(word, 0.0))
    ranked = sorted(best.items(), key=lambda item: -item[1])
    return [{"text": word, "probability": round(probability, DIGITS)} for word, probability in ranked]


def _pieces_of(word: int, owners: Sequence[int], further: Sequence[tuple[int, int]]) -> set[int]:
    """The pieces that a word lies in; a piece may hold several words."""
    own = {piece for piece, owner in enumerate(owners) if owner == word}
    return own | {piece for piece, other in further if other == word}
