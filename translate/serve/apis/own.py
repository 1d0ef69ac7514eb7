"""Our own API: ``/v1/translate``, ``/v1/align`` and ``/v1/models``."""

import math
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from translate.alignment.alignment import Alignment
from translate.alignment.pairs import EncodedPair
from translate.serve.apis.word_links import DIGITS, aligned, alternatives, confidences, weigh, weights
from translate.serve.catalogue import Code, Served
from translate.serve.service import Service, context_of
from translate.serve.texts import Segmented, in_sentences, whole
from translate.serve.web.endpoint import Api, Asked, Operation, json_response, json_text
from translate.serve.web.requests import RefusalError, checked, read_object
from translate.translation import TranslateOptions, Translation, TranslationCall

Text = Annotated[str, Field(max_length=1 << 20)]
Model = Annotated[str, Field(min_length=1, max_length=60, description="name of a model; see /v1/models")]
Method = Literal["attention", "gradient", "erasure", "norm"]
Linked = tuple[Alignment, Sequence[float] | None]  # and the probability of each target word


class Weighing(BaseModel):
    """The choice of the weights that link the words."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Model | None = None
    method: Annotated[Method, Field(description="how weights are computed")] = "attention"
    layer: Annotated[
        int | None, Field(ge=0, description="of the attention; the calibrated one by default")
    ] = None
    heads: Annotated[
        list[int] | None, Field(min_length=1, max_length=1024, description="heads to average")
    ] = None
    confidence: Annotated[bool, Field(description="the probability of each target word")] = True


class TranslateRequest(Weighing):
    """The body of ``POST /v1/translate``."""

    text: Annotated[Text | list[Text], Field(description="one text, or several")]
    alignments: Annotated[bool, Field(description="words, links and weights in the answer")] = True
    source: Code | None = None
    target: Code | None = None
    beam_size: Annotated[int | None, Field(ge=1, description="hypotheses; 1 is greedy")] = None
    n_best: Annotated[int, Field(ge=1, description="texts to list, at most the beam")] = 1
    prefix: Annotated[Text | None, Field(min_length=1, description="the beginning of the translation")] = None
    constraints: Annotated[list[Text], Field(max_length=20, description="phrases it must contain")] = []
    markup: Annotated[bool, Field(description="carry tags and placeholders over to the linked words")] = False
    split_sentences: Annotated[bool, Field(description="translate the sentences of a text one by one")] = (
        False
    )
    alternatives_at: Annotated[
        int | None, Field(ge=0, description="index of a target word: what else it could be")
    ] = None
    stream: Annotated[bool, Field(description="server-sent events")] = False

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        """Some options are for one text, and others for one sentence."""
        if (self.stream or self.alternatives_at is not None) and not isinstance(self.text, str):
            raise ValueError("stream and alternatives_at: expected one text, got an array")
        of_sentence: dict[str, Any] = {
            "n_best": 1,
            "prefix": None,
            "constraints": [],
            "alternatives_at": None,
        }
        for name, default in of_sentence.items() if self.split_sentences else ():
            if getattr(self, name) != default:
                raise ValueError(f"{name}: it is for one sentence; leave out it or split_sentences")
        return self


class AlignRequest(Weighing):
    """The body of ``POST /v1/align``."""

    source: Annotated[Text | list[Text], Field(description="one text, or several")]
    target: Annotated[Text | list[Text], Field(description="their translations")]
    source_language: Code | None = None
    target_language: Code | None = None


class EventStream(Response):
    """Server-sent events, each a name and data for JSON; an error after the first is an event, too.

    Args:
        events: to send.
    """

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[tuple[str, Any], None]) -> None:
        # A proxy would hold events back.
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["Content-Length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def tell(name: str, data: Any) -> None:
            event = f"event: {name}\ndata: {json_text(data)}\n\n".encode()  # JSON holds no line feed
            await send({"type": "http.response.body", "body": event, "more_body": True})

        async with aclosing(self._events) as events:  # a client that goes away ends them at once
            first = await anext(events)  # its refusal is an answer with its status
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            try:
                await tell(*first)
                async for event in events:
                    await tell(*event)
            except RefusalError as refusal:
                await tell("error", {"code": refusal.code, "message": refusal.message})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _models(asked: Asked) -> Response:
    """Lists the models of the server: names, languages, methods."""
    return json_response({"models": [served.described() for served in asked.service.catalogue.models]})


async def _translate(asked: Asked) -> Response:
    """Translates a text or several, with links between the words, at once or as server-sent events."""
    body, service = checked(TranslateRequest, read_object(asked.body)), asked.service
    texts = service.check_texts(_list(body.text))
    served = service.catalogue.find(body.source, body.target, body.model)
    parts = [in_sentences(text, served.source) if body.split_sentences else whole(text) for text in texts]
    asked.note(texts, model=served.name)
    request = _Request(service, served, body, parts)
    return EventStream(request.events()) if body.stream else json_response(await request.answer())


async def _align(asked: Asked) -> Response:
    """Links the words of a text and a given translation."""
    body, service = checked(AlignRequest, read_object(asked.body)), asked.service
    sources, targets = _list(body.source), _list(body.target)
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
        {"text": target, **aligned(source, target, [(alignment, 0, 0, score)])}
        for source, target, alignment, score in zip(sources, targets, alignments, scores, strict=True)
    ]
    return json_response({"translations": rows, "model": served.name})


def _list(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts


@dataclass
class _Request:
    """A request to translate, as it is answered."""

    service: Service
    served: Served
    body: TranslateRequest
    segmented: list[Segmented]

    async def _begin(self) -> TranslationCall:
        body = self.body
        sentences = [sentence for text in self.segmented for sentence in text.sentences]
        options = TranslateOptions(
            beam_size=body.beam_size,
            n_best=body.n_best,
            alignments=body.alignments,  # their words are read even where other weights link them
            prefix=None if body.prefix is None else [body.prefix] * len(sentences),
            constraints=[body.constraints] * len(sentences) if body.constraints else None,
            markup=body.markup,
            context=context_of(self.served, (text.sentences for text in self.segmented)),
        )
        return await self.service.begin(self.served, sentences, options)

    async def answer(self) -> dict[str, Any]:
        """The whole answer, once all sentences are translated."""
        call = await self._begin()
        async with self.service.search(self.served, call) as pending:
            results = await pending.all()
        linked = await self._link(call, range(len(results)), results)
        rows, first = [], 0
        for text in self.segmented:
            last = first + len(text.spans)
            rows.append(self._row(text, results[first:last], linked[first:last]))
            first = last
        if self.body.alternatives_at is not None:
            rows[0]["alternatives"] = await alternatives(
                self.service, self.served, call, results[:1], self.body.alternatives_at
            )
        return {"translations": rows, "model": self.served.name, "warnings": _listed(call.warnings)}

    async def events(self) -> AsyncGenerator[tuple[str, Any], None]:
        """Sentences as soon as those before are done, and at last the whole."""
        (segmented,) = self.segmented
        call = await self._begin()
        results: list[Translation] = []
        linked: list[Linked | None] = []
        async with self.service.search(self.served, call) as pending:
            async for result in pending.one_by_one():
                index = len(results)
                results.append(result)
                linked += await self._link(call, [index], [result])
                start, end = segmented.spans[index]
                row = self._row(whole(segmented.text[start:end]), results[-1:], linked[-1:])
                yield "sentence", {"sentence": index, "start": start, "end": end, **row}
        done = {"translations": [self._row(segmented, results, linked)], "model": self.served.name}
        yield "done", {**done, "warnings": _listed(call.warnings)}

    async def _link(
        self, call: TranslationCall, indexes: Sequence[int], results: Sequence[Translation]
    ) -> Sequence[Linked | None]:
        """The alignment of each translation, with the probability of each of its words."""
        body = self.body
        if not body.alignments or not results:
            return [None] * len(results)
        ids = [call.target.ids(result.tokens) for result in results]
        sources = [call.pieces[index] for index in indexes]
        pairs = [
            EncodedPair.of(source, call.target.decode_words(target)[1])
            for source, target in zip(sources, ids, strict=True)
        ]
        alignments = [result.alignment for result in results]
        if not (body.method == "attention" and body.layer is None and body.heads is None):
            alignments = [*await weigh(self.service, self.served, pairs, body.method, body.layer, body.heads)]
        scores: Sequence[list[float] | None] = [None] * len(results)
        if body.confidence:
            others = [[other[index] for index in indexes] for other in call.others]
            own = [source.ids for source in sources]
            scores = await confidences(self.service, self.served, pairs, [own, *others])
        return [
            None if alignment is None else (alignment, score)
            for alignment, score in zip(alignments, scores, strict=True)
        ]

    def _row(
        self, segmented: Segmented, results: Sequence[Translation], linked: Sequence[Linked | None]
    ) -> dict[str, Any]:
        """The answer for one text."""
        text, starts = segmented.join([result.text for result in results])
        row: dict[str, Any] = {"text": text, "score": _score([result.score for result in results])}
        places = list(zip(segmented.spans, starts, results, linked, strict=True))
        if self.body.split_sentences:
            row["sentences"] = [
                {
                    "source": list(span),
                    "target": [start, start + len(result.text)],
                    "score": _score([result.score]),
                    **({} if link is None else {"weights": weights(link[0])}),
                }
                for span, start, result, link in places
            ]
        if self.body.alignments:
            parts = [
                (link[0], span[0], start, link[1]) for span, start, _, link in places if link is not None
            ]
            row |= aligned(segmented.text, text, parts)
        if self.body.n_best > 1 and results:
            row["n_best"] = [{"text": best.text, "score": _score([best.score])} for best in results[0].n_best]
        if results and self.served.translator.engine.asked != "torch":
            row["engine"] = " and ".join(sorted({result.engine for result in results}))
        if results:
            row["tokens"] = [token for result in results for token in result.tokens]
        return row


def _score(scores: Sequence[float]) -> float | None:
    """The mean of scores; JSON has no infinity."""
    if not scores or not all(map(math.isfinite, scores)):
        return None
    return round(sum(scores) / len(scores), DIGITS + 2)


def _listed(warnings: Counter[str]) -> list[dict[str, Any]]:
    """The warnings, such as constraints that could not be met, with their numbers."""
    return [{"message": kind, "sentences": count} for kind, count in warnings.items()]


def refuse(refusal: RefusalError) -> Response:
    """The answer to a request that is refused: a code and a sentence."""
    status = 401 if refusal.code == "wrong_key" else refusal.status
    error = {"error": {"code": refusal.code, "message": refusal.message}}
    return json_response(error, status, refusal.all_headers())


OWN = Api(
    "Our own API",
    (
        Operation("GET", "/v1/models", _models),
        Operation("POST", "/v1/translate", _translate, TranslateRequest),
        Operation("POST", "/v1/align", _align, AlignRequest),
    ),
    refuse,
)
