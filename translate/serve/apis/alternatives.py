"""What else a target word could have been."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from translate.alignment.pairs import EncodedPair
from translate.search import Request
from translate.serve.apis.details import probabilities_of
from translate.serve.catalogue import Served
from translate.serve.probabilities import next_pieces, word_probabilities
from translate.serve.service import Service, Wish
from translate.serve.web.refusals import RefusalError
from translate.translation import Translation, TranslationCall
from translate.translator import Translator

MOST = 8  # pieces that are tried in place of the word's first one


async def alternatives(
    service: Service, served: Served, work: TranslationCall, results: Sequence[Translation], index: int
) -> list[dict[str, Any]]:
    """Words that could stand at ``index`` after the words before it, the most probable first.

    Each of the most probable pieces is continued greedily to the end of its word. The word that stands there
    is always among them, whatever its first piece. The probability of a word is the product over its pieces,
    given the source and the words before.
    """
    target, source = work.target, work
    ids = target.ids(results[0].tokens) if results else []
    _, pieces = target.decode_words(ids)
    if index >= len(pieces.words):
        raise RefusalError(
            400, f"alternatives_at: the translation has {len(pieces.words)} words, got {index}"
        )
    prefix = ids[: min(_pieces_of(index, pieces.piece_words, pieces.further), default=len(ids))]
    read = [source.pieces[0].ids, *(other[0] for other in source.others)]
    firsts = await service.calculate(served, len(ids) + 1, _next_pieces, read, prefix)
    before = work.options.context
    wish = Wish(beam_size=1, context=None if before is None else [before[0]] * len(firsts))
    tried, warnings = await service.begin(served, [work.marked[0].text] * len(firsts), wish)
    requests = [Request([*prefix, piece]) for piece in firsts]
    # With a prefix, torch searches.
    tried = replace(tried, requests=requests, engine=None)
    async with service.call(served, tried, Counter(warnings)) as pending:
        found = [target.ids(each.tokens) for each in await pending.all()] + [ids]
    pairs = [EncodedPair.of(source.pieces[0], target.decode_words(each)[1]) for each in found]
    sides = [[side] * len(found) for side in read]
    scored = await service.calculate(served, sum(map(len, found)), probabilities_of, sides, found)
    best: dict[str, float] = {}
    for pair, probabilities in zip(pairs, scored, strict=True):
        # A piece that goes on with the word before it changes that word, not this one.
        if len(prefix) in _pieces_of(index, pair.target_piece_words, pair.target_further):
            word = pair.target_words[index]
            probability = word_probabilities(pair, probabilities.pieces)[index]
            best[word] = max(probability, best.get(word, 0.0))
    ranked = sorted(best.items(), key=lambda each: -each[1])
    return [{"text": word, "probability": round(probability, 4)} for word, probability in ranked]


def _next_pieces(translator: Translator, source: Sequence[Sequence[int]], prefix: Sequence[int]) -> list[int]:
    models = [each.model for each in (translator, *translator.partners)]
    return next_pieces(models, source, prefix, MOST)


def _pieces_of(word: int, owners: Sequence[int], further: Sequence[tuple[int, int]]) -> set[int]:
    """The pieces that a word lies in; a piece may hold several words."""
    own = {piece for piece, owner in enumerate(owners) if owner == word}
    return own | {piece for piece, other in further if other == word}
