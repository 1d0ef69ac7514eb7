"""The models that a server has: opened by their names, and found by names and languages."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from translate.alignment.methods import METHODS
from translate.config.names import listed, shorten, shown_path
from translate.errors import UserError
from translate.serve.web.requests import RefusalError
from translate.serve.word_confidence import Confidence, stored
from translate.text.languages import base
from translate.translation import TranslateOptions
from translate.translator import Translator

MAX_NAME = 60  # characters
SERVED_TOGETHER = 64  # sentences: newcomers wait for a step, and a step of twice as many takes twice as long


@dataclass(frozen=True)
class Served:
    """A run, or an ensemble, under its name."""

    name: str
    source: str  # code of its language, such as en
    target: str
    translator: Translator
    confidence: Confidence | None = None  # how often its words are right, if that was counted

    def described(self) -> dict[str, object]:
        """The description for clients."""
        model, choice = self.translator.model, self.translator.choice
        return {
            "name": self.name,
            "source": self.source,
            "target": self.target,
            "methods": list(METHODS),
            "layers": model.num_attention_layers,
            "heads": model.num_attention_heads,
            "choice": {"layer": choice.layer, "heads": list(choice.heads), "shift": choice.shift},
            "beam_size": self.translator.search.beam_size,
            "confidence": None if self.confidence is None else asdict(self.confidence),
        }


@dataclass(frozen=True)
class Catalogue:
    """All models, in the order of the command line.

    Of several for the same languages, the first one translates unless another is named.
    """

    models: Sequence[Served]

    def sources(self) -> list[str]:
        """The codes of all source languages."""
        return list(dict.fromkeys(served.source for served in self.models))

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
        names = [served.name for served in self.models]
        given = {f"source{suffix}": (source, self.sources()), f"target{suffix}": (target, self.targets())}
        for field, (value, known) in {**given, "model": (name, names)}.items():
            if value not in (None, *known):
                raise RefusalError(
                    400, f"{field}: {shorten(value, 40)} is not supported; expected {listed(known)}"
                )
        fitting = [served for served in self.models if name in (None, served.name)]
        fitting = [served for served in fitting if source in (None, served.source)]
        fitting = [served for served in fitting if target in (None, served.target)]
        if not fitting:
            raise RefusalError(400, f"no model translates from {source or name} to {target or name}")
        if len({(served.source, served.target) for served in fitting}) > 1:
            pairs = listed(dict.fromkeys(f"{served.source}-{served.target}" for served in fitting))
            raise RefusalError(400, f"source{suffix} and target{suffix}: say which of {pairs} is wanted")
        return fitting[0]


Code = Annotated[
    str, Field(min_length=1, max_length=40, description="code of the language"), AfterValidator(base)
]


def named_runs(arguments: Sequence[str]) -> dict[str, list[Path]]:
    """The runs of each name: ``RUN`` is called as its folder, ``NAME=RUN`` as it says.

    A name that is given several times is an ensemble.

    Raises:
        UserError: for a name that is empty or too long, or two folders of the same name.
    """
    found: dict[str, list[Path]] = {}
    for argument in arguments:
        name, sign, run = argument.partition("=")
        if not sign or Path(argument).exists():
            name, run = Path(argument).resolve().name, argument
            if name in found:
                raise UserError(f"two runs are called {shorten(name)}; name them: NAME={shown_path(run)}")
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise UserError(f"{shorten(argument)}: expected a name of 1 to {MAX_NAME} printable characters")
        found.setdefault(name, []).append(Path(run))
    return found


def read_languages(arguments: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The languages that options ``NAME=en-fr`` give to runs.

    Raises:
        UserError: for another form, or a name that no run has.
    """
    found = {}
    for argument in arguments:
        name, _, pair = argument.rpartition("=")
        source, _, target = pair.partition("-")
        if not (name and source.isalpha() and target.isalpha()):
            raise UserError(f"--languages {shorten(argument)}: expected NAME=SOURCE-TARGET, like mine=en-fr")
        if name not in names:
            raise UserError(f"--languages {shorten(argument)}: no run is called {shorten(name)}")
        found[name] = (source, target)
    return found


def open_catalogue(
    runs: Mapping[str, Sequence[Path]],
    languages: Mapping[str, tuple[str, str]],
    load: Callable[[Path], Translator],
    batch_size: int | None,
) -> Catalogue:
    """The models of the runs.

    Args:
        runs: of each name.
        languages: of names, in place of those that the runs tell.
        load: reads a run.
        batch_size: of the running batch; each run's own by default, ``SERVED_TOGETHER`` at most.

    Raises:
        UserError: if a run cannot be loaded, does not tell its languages, or does not fit its ensemble.
    """
    served = []
    for name, paths in runs.items():
        translator, *others = (load(path) for path in paths)
        if others:
            translator = translator.join(others)
        if translator.reads != "text":
            raise UserError(
                f"{shown_path(paths[0])}: the run reads pictures, and a request holds text alone; "
                "use translate text RUN --image FILE"
            )
        translator = replace(translator, engine=translator.engine_for(TranslateOptions()))
        source, target = languages.get(name, translator.languages)
        if not source or not target:
            raise UserError(
                f"{shown_path(paths[0])}: the run does not tell its languages; add --languages {name}=en-fr, "
                "with its own"
            )
        together = batch_size or min(translator.search.batch_size, SERVED_TOGETHER)
        translator = replace(translator, search=replace(translator.search, batch_size=together))
        counted = None if others else stored(paths[0], translator.model)
        served.append(Served(name, base(source), base(target), translator, counted))
    return Catalogue(served)
