"""What our own API takes: requests, checked before they are used."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from translate.config.names import shorten
from translate.serve.web.refusals import RefusalError

Text = Annotated[str, Field(max_length=1 << 20)]
Code = Annotated[str, Field(min_length=1, max_length=40)]
Method = Literal["attention", "gradient", "erasure", "norm"]


class Weighing(BaseModel):
    """Which weights link the words."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Annotated[Code | None, Field(description="name of a model; see /v1/models")] = None
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
    source: Annotated[
        Code | None, Field(description="code of the language; not needed where one model fits")
    ] = None
    target: Annotated[Code | None, Field(description="code of the language")] = None
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


class AlignRequest(Weighing):
    """The body of ``POST /v1/align``."""

    source: Annotated[Text | list[Text], Field(description="one text, or several")]
    target: Annotated[Text | list[Text], Field(description="their translations")]
    source_language: Annotated[
        Code | None, Field(description="code of the language; not needed where one model fits")
    ] = None
    target_language: Annotated[Code | None, Field(description="code of the language")] = None


def checked(shape: type[Any], value: dict[str, Any]) -> Any:
    """The request as an object of ``shape``.

    Raises:
        RefusalError: naming the first field that is wrong.
    """
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = ".".join(str(part) for part in first["loc"][:1]) or "body"
        message = "there is no such field" if first["type"] == "extra_forbidden" else first["msg"]
        raise RefusalError(400, f"{shorten(name, 40)}: {shorten(message)}") from error
