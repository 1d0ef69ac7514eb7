"""Our own API: ``/v1/translate``, ``/v1/align`` and ``/v1/models``."""

import math
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from translate.alignment.alignment import Alignment
from translate.alignment.pairs import EncodedPair
from translate.serve.apis.alternatives import alternatives
from translate.serve.apis.details import confidences, weigh
from translate.serve.apis.linked import DIGITS, aligned, weights
from translate.serve.apis.shapes import AlignRequest, TranslateRequest, checked
from translate.serve.batch.pending import Growth
from translate.serve.catalogue import Served, language_code
from translate.serve.content.segments import Segmented, whole
from translate.serve.content.segments import sentences as split_text
from translate.serve.service import Service, Wish, context_of
from translate.serve.web.bodies import read_object
from translate.serve.web.endpoint import Answer, Asked
from translate.serve.web.events import Event, EventStream, to_json
from translate.serve.web.refusals import RefusalError
from translate.text.sentences import split
from translate.translation import Translation, TranslationCall


class OwnForm:
    """Keys as bearer tokens; errors with a code and a sentence."""

    async def key(self, asked: Asked) -> str | None:
        """The token of the header ``Authorization``."""
        kind, _, key = asked.header("authorization").partition(" ")
        return key.strip() if kind.lower() == "bearer" else None

    def refuse(self, refusal: RefusalError) -> Response:
        """The answer to a request that is refused."""
        status = 401 if refusal.code == "wrong_key" else refusal.status
        return json(
            {"error": {"code": refusal.code, "message": refusal.message}}, status, refusal.all_headers()
        )


def json(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A response in JSON."""
    return Response(to_json(value), status, headers, "application/json")


async def models(asked: Asked) -> Answer:
    """``GET /v1/models``: what the server has."""
    return json({"models": [each.described() for each in asked.service.catalogue.models]})


async def translate(asked: Asked) -> Answer:
    """``POST /v1/translate``."""
    body: TranslateRequest = checked(TranslateRequest, read_object(asked.body))
    service = asked.service
    single = isinstance(body.text, str)
    texts = service.check_texts([body.text] if isinstance(body.text, str) else body.text)
    if (body.stream or body.alternatives_at is not None) and not single:
        raise RefusalError(400, "stream and alternatives_at: expected one text, got an array")
    served = _find(service, body.source, body.target, body.model)
    _check_split(body)
    if body.split_sentences:
        segmented = [split_text(each, lambda line: split(line, served.source)) for each in texts]
    else:
        segmented = [whole(each) for each in texts]
    asked.noted |= {"model": served.name, "texts": len(texts), **service.log.shown(texts)}
    request = _Request(service, served, body, segmented)
    if body.stream:
        return EventStream(request.events())
    return json(await request.answer())


async def align_pairs(asked: Asked) -> Answer:
    """``POST /v1/align``: the links of given pairs."""
    body: AlignRequest = checked(AlignRequest, read_object(asked.body))
    service = asked.service
    sides = [[side] if isinstance(side, str) else side for side in (body.source, body.target)]
    if len(sides[0]) != len(sides[1]):
        raise RefusalError(400, f"{len(sides[0])} sources but {len(sides[1])} targets; expected pairs")
    service.check_texts([*sides[0], *sides[1]])
    served = _find(service, body.source_language, body.target_language, body.model, "_language")
    asked.noted |= {"model": served.name, "texts": len(sides[0])}
    translator = served.translator
    pairs = translator.encode_pairs(*sides)
    for number, pair in enumerate(pairs, 1):
        if not pair.source_words or not pair.target_words:
            raise RefusalError(400, f"pair {number}: there are no words on one side")
    found = await weigh(service, served, body, pairs)
    scores = None
    if body.confidence:
        scores = await confidences(service, served, pairs, [[each.source_ids[:-1] for each in pairs]])
    rows = [
        {"text": target, **aligned(source, target, [(alignment, 0, 0)], scores and [scores[number]])}
        for number, (source, target, alignment) in enumerate(zip(*sides, found, strict=True))
    ]
    return json({"translations": rows, "model": served.name})


def _find(
    service: Service, source: str | None, target: str | None, model: str | None, suffix: str = ""
) -> Served:
    """The model for two languages, or of a name; ``suffix`` ends the names of the fields with the codes."""
    codes = [None if code is None else language_code(code) for code in (source, target)]
    return service.catalogue.find(codes[0], codes[1], model, suffix)


def _check_split(body: TranslateRequest) -> None:
    if not body.split_sentences:
        return
    given = {
        "n_best": body.n_best > 1,
        "prefix": body.prefix is not None,
        "constraints": bool(body.constraints),
        "alternatives_at": body.alternatives_at is not None,
    }
    for name in (name for name, value in given.items() if value):
        raise RefusalError(400, f"{name}: it is for one sentence; leave out it or split_sentences")


@dataclass
class _Request:
    """A request to translate, as it is answered."""

    service: Service
    served: Served
    body: TranslateRequest
    segmented: list[Segmented]

    @property
    def _recorded(self) -> bool:
        """Whether the search itself gives the alignments."""
        body = self.body
        return body.alignments and body.method == "attention" and body.layer is None and body.heads is None

    async def _begin(self) -> tuple[TranslationCall, Any]:
        body = self.body
        sentences = [sentence for each in self.segmented for sentence in each.sentences]
        wish = Wish(
            beam_size=body.beam_size,
            n_best=body.n_best,
            alignments=body.alignments,  # their words are read even where other weights link them
            prefixes=None if body.prefix is None else [body.prefix] * len(sentences),
            constraints=[body.constraints] * len(sentences) if body.constraints else None,
            markup=body.markup,
            context=context_of(self.served, (each.sentences for each in self.segmented)),
        )
        return await self.service.begin(self.served, sentences, wish)

    async def answer(self) -> dict[str, Any]:
        """The whole answer."""
        work, warnings = await self._begin()
        async with self.service.call(self.served, work, warnings) as pending:
            results = await pending.all()
        details = await self._details(work, range(len(results)), results)
        rows, first = [], 0
        for each in self.segmented:
            last = first + len(each.spans)
            rows.append(self._row(each, results[first:last], details[first:last]))
            first = last
        if self.body.alternatives_at is not None:
            rows[0]["alternatives"] = await alternatives(
                self.service, self.served, work, results[:1], self.body.alternatives_at
            )
        return {"translations": rows, "model": self.served.name, "warnings": _told(warnings)}

    async def events(self) -> AsyncGenerator[Event, None]:
        """Sentences as they are done, how the next one grows, and at last the whole."""
        (segmented,) = self.segmented
        work, warnings = await self._begin()
        tokenizer, results, details = self.served.translator.tokenizers.target, [], []
        async with self.service.call(self.served, work, warnings, growing=True) as pending:
            shown = ""
            async for event in pending.events():
                if isinstance(event, Growth):
                    text = tokenizer.decode(event.ids)
                    if text != shown:
                        shown = text
                        yield Event("partial", {"sentence": event.sentence, "text": text})
                    continue
                (detail,) = await self._details(work, [event.sentence], [event.result])
                results.append(event.result)
                details.append(detail)
                start, end = segmented.spans[event.sentence]
                part = Segmented(segmented.text[start:end], ((0, end - start),))
                row = self._row(part, [event.result], [detail])
                yield Event("sentence", {"sentence": event.sentence, "start": start, "end": end, **row})
        done = {"translations": [self._row(segmented, results, details)], "model": self.served.name}
        yield Event("done", {**done, "warnings": _told(warnings)})

    async def _details(
        self, work: TranslationCall, indexes: Sequence[int], results: Sequence[Translation]
    ) -> list[tuple[Alignment | None, list[float] | None]]:
        """The alignment of each translation, and the probability of each of its words."""
        body, batch = self.body, work
        if not body.alignments or not results:
            return [(None, None)] * len(results)
        ids = [batch.target.ids(each.tokens) for each in results]
        sources = [batch.pieces[index] for index in indexes]
        pairs = [
            EncodedPair.of(source, batch.target.decode_words(target)[1])
            for source, target in zip(sources, ids, strict=True)
        ]
        if self._recorded:
            alignments = [each.alignment for each in results]
        else:
            alignments = [*await weigh(self.service, self.served, body, pairs)]
        scores: Sequence[list[float] | None] = [None] * len(results)
        if body.confidence:
            others = [[other[index] for index in indexes] for other in batch.others]
            scores = await confidences(
                self.service, self.served, pairs, [[each.ids for each in sources], *others]
            )
        return list(zip(alignments, scores, strict=True))

    def _row(
        self,
        segmented: Segmented,
        results: Sequence[Translation],
        details: Sequence[tuple[Alignment | None, list[float] | None]],
    ) -> dict[str, Any]:
        """The answer for one text."""
        text, starts = segmented.join([each.text for each in results])
        row: dict[str, Any] = {"text": text, "score": _score([each.score for each in results])}
        if self.body.split_sentences:
            row["sentences"] = [
                {
                    "source": list(span),
                    "target": [start, start + len(each.text)],
                    "score": _score([each.score]),
                    **({"weights": weights(alignment)} if alignment is not None else {}),
                }
                for span, start, each, (alignment, _) in zip(
                    segmented.spans, starts, results, details, strict=True
                )
            ]
        if self.body.alignments:
            parts = [
                (alignment, span[0], start)
                for (alignment, _), span, start in zip(details, segmented.spans, starts, strict=True)
                if alignment is not None
            ]
            scores = [
                score
                for score, (alignment, _, _) in zip((each for _, each in details), parts, strict=True)
                if score is not None and len(score) == len(alignment.target_words)
            ]
            row |= aligned(segmented.text, text, parts, scores if len(scores) == len(parts) else None)
        if self.body.n_best > 1 and results:
            row["n_best"] = [{"text": each.text, "score": _score([each.score])} for each in results[0].n_best]
        if results and self.served.translator.engine.asked != "torch":
            row["engine"] = " and ".join(sorted({each.engine for each in results}))
        if results:
            row["tokens"] = [token for each in results for token in each.tokens]
        return row


def _score(scores: Sequence[float]) -> float | None:
    """The mean of scores; JSON has no infinity."""
    if not scores or not all(map(math.isfinite, scores)):
        return None
    return round(sum(scores) / len(scores), DIGITS + 2)


def _told(warnings: Any) -> list[dict[str, Any]]:
    """What was cut or could not be met, and how often."""
    return [{"message": kind, "sentences": count} for kind, count in warnings.items()]
