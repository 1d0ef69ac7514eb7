"""Our own API: ``/v1/translate``, ``/v1/align`` and ``/v1/models``."""

import asyncio
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response

from translate.alignment.alignment import Alignment
from translate.serve.apis.word_links import DIGITS, aligned, alternatives, confidences, weigh, weights
from translate.serve.catalogue import Code, Served
from translate.serve.service import Service, context_of
from translate.serve.texts import Segmented, in_sentences, whole
from translate.serve.web.endpoint import Api, Asked, Operation, json_response
from translate.serve.web.requests import RefusalError, Texts, checked, read_object
from translate.text.languages import base, is_exchanged, language_name
from translate.translation import TranslateOptions, Translation
from translate.translation_call import TranslationCall

Model = Annotated[str, Field(min_length=1, max_length=60, description="name of a model; see /v1/models")]
Method = Literal["attention", "gradient", "erasure", "norm"]
Linked = tuple[Alignment, Sequence[float] | None]  # and the probability of each target word


class Weighing(BaseModel):
    """The choice of the weights that link the words."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Model | None = None
    method: Annotated[Method, Field(description="how weights are computed")] = "attention"
    layer: Annotated[int | None, Field(ge=0, description="instead of the calibrated one")] = None
    heads: Annotated[list[int] | None, Field(min_length=1, max_length=1024, description="to average")] = None
    confidence: Annotated[bool, Field(description="the probability of each aligned word")] = True


class TranslateRequest(Weighing):
    """The body of ``POST /v1/translate``."""

    text: Texts
    alignments: Annotated[bool, Field(description="words, links and weights in the answer")] = True
    source: Code | None = None
    target: Code | None = None
    beam_size: Annotated[int | None, Field(ge=1, description="hypotheses; 1 is greedy")] = None
    n_best: Annotated[int, Field(ge=1, description="texts to list, at most the beam")] = 1
    prefix: Annotated[str | None, Field(min_length=1, description="the beginning of the translation")] = None
    constraints: Annotated[list[str], Field(max_length=20, description="phrases it must contain")] = []
    markup: Annotated[bool, Field(description="carry tags and placeholders over to the linked words")] = False
    split_sentences: Annotated[bool, Field(description="translate sentences one by one")] = False
    alternatives_at: Annotated[int | None, Field(ge=0, description="what else this word could be")] = None

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        """Some options are for one text, and others for one sentence."""
        if self.alternatives_at is not None and len(self.text) != 1:
            raise ValueError("alternatives_at: expected one text, got several")
        of_sentence = ("n_best", "prefix", "constraints", "alternatives_at")
        for name in of_sentence if self.split_sentences else ():
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name}: it is for one sentence; leave out it or split_sentences")
        return self


class AlignRequest(Weighing):
    """The body of ``POST /v1/align``."""

    source: Texts
    target: Texts
    source_language: Code | None = None
    target_language: Code | None = None


async def _models(asked: Asked) -> Response:
    """Lists the models of the server: names, languages, methods."""
    return json_response({"models": [served.described() for served in asked.service.catalogue.models]})


async def _translate(asked: Asked) -> Response:
    """Translates a text or several, with links between the words."""
    body, service = checked(TranslateRequest, read_object(asked.body)), asked.service
    texts = service.check_texts(body.text, [body.prefix or "", *body.constraints])
    served = service.catalogue.find(body.source, body.target, body.model)
    parts = [in_sentences(text, served.source) if body.split_sentences else whole(text) for text in texts]
    asked.noted |= {"texts": len(texts), "model": served.name}
    return json_response(await _answer(service, served, body, parts))


async def _align(asked: Asked) -> Response:
    """Links the words of a text and a given translation."""
    body, service = checked(AlignRequest, read_object(asked.body)), asked.service
    sources, targets = body.source, body.target
    if len(sources) != len(targets):
        raise RefusalError(400, f"{len(sources)} sources but {len(targets)} targets; expected pairs")
    service.check_texts([*sources, *targets])
    served = service.catalogue.find(body.source_language, body.target_language, body.model, "_language")
    asked.noted |= {"model": served.name, "texts": len(sources)}
    pairs = served.translator.encode_pairs(sources, targets)
    for number, pair in enumerate(pairs, 1):
        if not pair.source_words or not pair.target_words:
            raise RefusalError(400, f"pair {number}: there are no words on one side")
    alignments = await weigh(service, served, pairs, body.method, body.layer, body.heads)
    scores: Sequence[list[float] | None] = [None] * len(pairs)
    if body.confidence:
        scores = await confidences(service, served, pairs, [[pair.source_ids[:-1] for pair in pairs]])
    rows = [
        {"text": target, **aligned([(alignment, 0, 0, score)])}
        for target, alignment, score in zip(targets, alignments, scores, strict=True)
    ]
    return json_response({"translations": rows, "model": served.name})


async def _answer(
    service: Service, served: Served, body: TranslateRequest, texts: Sequence[Segmented]
) -> dict[str, Any]:
    sentences = [sentence for text in texts for sentence in text.sentences]
    options = TranslateOptions(
        beam_size=body.beam_size,
        n_best=body.n_best,
        alignments=body.alignments,  # their words are read even where other weights link them
        prefix=None if body.prefix is None else [body.prefix] * len(sentences),
        constraints=[body.constraints] * len(sentences) if body.constraints else None,
        markup=body.markup,
        context=context_of(served, (text.sentences for text in texts)),
    )
    call = await service.begin(served, sentences, options)
    results = await service.search(served, call)
    linked = await _link(service, served, body, call, results) if body.alignments and results else []
    rows, first = [], 0
    for text in texts:
        last = first + len(text.spans)
        rows.append(_row(body, text, results[first:last], linked[first:last]))
        if last > first and served.translator.engine.asked != "torch":
            rows[-1]["engine"] = " and ".join(sorted({result.engine for result in results[first:last]}))
        first = last
    if body.alternatives_at is not None:
        rows[0]["alternatives"] = await alternatives(service, served, call, results[:1], body.alternatives_at)
    exchanged = await asyncio.to_thread(
        lambda: sum(is_exchanged(sentence, served.source, served.target) for sentence in sentences)
    )
    if exchanged:
        reads, writes = (language_name(base(code)) for code in (served.source, served.target))
        call.warnings[f"{writes}, it seems, and the model reads {reads}"] = exchanged
    warnings = [{"message": kind, "sentences": count} for kind, count in call.warnings.items()]
    return {"translations": rows, "model": served.name, "warnings": warnings}


async def _link(
    service: Service,
    served: Served,
    body: TranslateRequest,
    call: TranslationCall,
    results: Sequence[Translation],
) -> Sequence[Linked]:
    """The alignment of each translation, with the probability of each of its words."""
    pairs = [call.pair(index, call.target.ids(result.tokens)) for index, result in enumerate(results)]
    alignments = [result.alignment for result in results]
    if not (body.method == "attention" and body.layer is None and body.heads is None):
        found = await weigh(service, served, pairs, body.method, body.layer, body.heads)
        alignments = [call.located(i, result.text, found[i]) for i, result in enumerate(results)]
    scores: Sequence[list[float] | None] = [None] * len(results)
    if body.confidence:
        scores = await confidences(service, served, pairs, call.sources)
    return list(zip(alignments, scores, strict=True))


def _row(
    body: TranslateRequest,
    segmented: Segmented,
    results: Sequence[Translation],
    linked: Sequence[Linked],
) -> dict[str, Any]:
    """The answer for one text."""
    text, starts = segmented.join([result.text for result in results])
    row: dict[str, Any] = {"text": text, "score": _score([result.score for result in results])}
    places = list(zip(segmented.spans, starts, strict=True))
    if body.split_sentences:
        row["sentences"] = [
            {
                "source": list(span),
                "target": [start, start + len(result.text)],
                "score": _score([result.score]),
            }
            for (span, start), result in zip(places, results, strict=True)
        ]
        for sentence, (alignment, _) in zip(row["sentences"], linked):
            sentence["weights"] = weights(alignment)
    if body.alignments:
        both = zip(places, linked, strict=True)
        row |= aligned([(alignment, span[0], start, score) for (span, start), (alignment, score) in both])
    if body.n_best > 1 and results:
        row["n_best"] = [{"text": best.text, "score": _score([best.score])} for best in results[0].n_best]
    if results:
        row["tokens"] = [token for result in results for token in result.tokens]
    return row


def _score(scores: Sequence[float]) -> float | None:
    """The mean of scores; JSON has no infinity."""
    if not scores or not all(map(math.isfinite, scores)):
        return None
    return round(sum(scores) / len(scores), DIGITS + 2)


def refuse(refusal: RefusalError) -> Response:
    """The answer to a request that is refused: a code and a sentence."""
    status = 401 if refusal.status == 403 else refusal.status
    error = {"error": {"code": refusal.code, "message": refusal.message}}
    return json_response(error, status, refusal.headers)


OWN = Api(
    "Our own API",
    (
        Operation("GET", "/v1/models", _models),
        Operation("POST", "/v1/translate", _translate, TranslateRequest),
        Operation("POST", "/v1/align", _align, AlignRequest),
    ),
    refuse,
)
