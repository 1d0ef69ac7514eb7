"""The models that a server has: which name, and which languages, lead to which."""

from collections.abc import Sequence
from dataclasses import dataclass

from translate.alignment.methods import METHODS
from translate.config.names import listed, shorten
from translate.errors import UserError
from translate.serve.web.refusals import RefusalError
from translate.serve.word_confidence import Confidence
from translate.translator import Translator


@dataclass(frozen=True)
class Served:
    """A run, or an ensemble, under its name."""

    name: str
    source: str  # code of its language, such as en
    target: str
    translator: Translator
    confidence: Confidence | None = None  # how often its words are right, if that was counted

    def described(self) -> dict[str, object]:
        """What a client may know of it."""
        model = self.translator.model
        return {
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "methods": list(METHODS),
            "layers": model.num_attention_layers,
            "heads": model.num_attention_heads,
            "beam_size": self.translator.search.beam_size,
            "confidence": None if self.confidence is None else self.confidence.described(),
        }


class Catalogue:
    """All models; of several for the same languages, the first one translates unless another is named.

    Args:
        models: in the order of the command line.

    Raises:
        UserError: for two models of the same name.
    """

    def __init__(self, models: Sequence[Served]) -> None:
        self.models = tuple(models)
        names = [each.name for each in models]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"two models are called {shorten(name)}; give each a name: NAME=RUN")

    def sources(self) -> list[str]:
        """The codes of all source languages."""
        return list(dict.fromkeys(each.source for each in self.models))

    def targets(self, source: str | None = None) -> list[str]:
        """The codes of the target languages, of one source language if it is given."""
        return list(dict.fromkeys(m.target for m in self.models if source in (None, m.source)))

    def languages(self) -> list[str]:
        """The codes of all languages, sources first."""
        return list(dict.fromkeys([*self.sources(), *self.targets()]))

    def find(
        self, source: str | None, target: str | None, name: str | None = None, suffix: str = ""
    ) -> Served:
        """The model for two languages, or of a name.

        Args:
            source, target: codes.
            name: of a model.
            suffix: of the names of the fields ``source`` and ``target``, for messages.

        Raises:
            RefusalError: if there is none, or if what is given fits several pairs of languages.
        """
        for code, known, side in ((source, self.sources(), "source"), (target, self.targets(), "target")):
            if code is not None and code not in known:
                raise RefusalError(
                    400, f"{side}{suffix}: {shorten(code, 20)} is not supported; expected {listed(known)}"
                )
        fitting = [each for each in self.models if source in (None, each.source)]
        fitting = [each for each in fitting if target in (None, each.target)]
        if name is not None:
            named = [each for each in self.models if each.name == name]
            if not named:
                names = listed(each.name for each in self.models)
                raise RefusalError(400, f"model: there is no {shorten(name, 40)}; expected {names}")
            fitting = [each for each in named if each in fitting]
        if not fitting:
            raise RefusalError(400, f"no model translates from {source or name} to {target or name}")
        if len({(each.source, each.target) for each in fitting}) > 1:
            pairs = listed(f"{each.source}-{each.target}" for each in fitting)
            raise RefusalError(400, f"source{suffix} and target{suffix}: say which of {pairs} is wanted")
        return fitting[0]


def language_code(text: object) -> str:
    """The code as the catalogue writes it: ``EN-US`` and ``en_US`` are ``en``; other types are refused."""
    if not isinstance(text, str):
        raise RefusalError(400, "a language is a code such as en")
    return text.strip().replace("_", "-").split("-")[0].lower()
