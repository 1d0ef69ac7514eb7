"""What is computed for translations and pairs that are given: alignments, and probabilities of words."""

from collections.abc import Sequence

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair, check_lengths
from translate.errors import UserError
from translate.serve.apis.shapes import Weighing
from translate.serve.catalogue import Served
from translate.serve.probabilities import Scored, piece_probabilities, word_probabilities
from translate.serve.service import Service
from translate.serve.web.refusals import RefusalError
from translate.translator import Translator

SLOW = ("gradient", "erasure")  # methods that take a pass for each word


async def weigh(
    service: Service, served: Served, body: Weighing, pairs: Sequence[EncodedPair]
) -> list[Alignment]:
    """The alignments of pairs, by teacher forcing."""
    model, choice = served.translator.model, served.translator.choice
    try:
        if body.layer is not None or body.heads is not None:
            layer = choice.layer if body.layer is None else body.layer
            heads = tuple(body.heads if body.heads is not None else range(model.num_attention_heads))
            choice = AlignmentChoice(layer, heads, choice.shift)
        choice.check(model)
        check_lengths(model, pairs)
    except UserError as error:
        raise RefusalError(400, str(error)) from error
    cost = sum(len(each.source_ids) * (len(each.target_ids) if body.method in SLOW else 1) for each in pairs)
    return await service.calculate(served, cost, _align, pairs, choice, body.method)


async def confidences(
    service: Service, served: Served, pairs: Sequence[EncodedPair], sources: Sequence[Sequence[Sequence[int]]]
) -> list[list[float]]:
    """The probability of each target word, of one model or the mean of an ensemble."""
    targets = [each.target_ids for each in pairs]
    cost = sum(map(len, targets)) + len(targets)
    scored = await service.calculate(served, cost, probabilities_of, sources, targets)
    return [word_probabilities(pair, each.pieces) for pair, each in zip(pairs, scored, strict=True)]


def probabilities_of(
    translator: Translator, sources: Sequence[Sequence[Sequence[int]]], targets: Sequence[Sequence[int]]
) -> list[Scored]:
    """See :func:`piece_probabilities`; by as many members of the ensemble as there are ``sources``."""
    members = [translator, *translator.partners][: len(sources)]
    return piece_probabilities([each.model for each in members], sources, targets)


def _align(
    translator: Translator, pairs: Sequence[EncodedPair], choice: AlignmentChoice, method: str
) -> list[Alignment]:
    return align(translator.model, pairs, choice, method=method, device=translator.device)
