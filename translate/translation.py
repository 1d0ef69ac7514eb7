"""A translation, and the options of a call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from translate.alignment.alignment import NO_ALIGNMENT, Alignment
from translate.config.names import shorten
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.text.glossary import Terms

MOST_SAMPLES = 1_000  # of a sentence; minimum Bayes risk compares each two of them
OF_SAMPLES = ("temperature", "top_k", "top_p", "seed")  # settings of the search


@dataclass(frozen=True)
class TranslateOptions:
    """The options of :meth:`Translator.translate`.

    Attributes:
        beam_size: the run's own by default; 1 is greedy search.
        n_best: number of texts that each translation lists, at most the beam; any number of samples.
        alignments: whether each translation carries its alignment, between words without markup.
        batch_size: most sentences at a time; the run's own by default, fewer if each has many hypotheses.
        prefix: beginning of every translation, or of each sentence's.
        constraints: phrases that every translation must contain, or a list of phrases for every sentence.
        glossary: phrases by the terms that they stand for; words of a phrase may inflect.
        mbr: draw this many samples and take the one that agrees best with all: minimum Bayes risk with chrF.
        search: all other settings: ``replace(translator.search, sample=True, seed=3)``; the run's by default.
        markup: carry tags and placeholders over to the words aligned to theirs.
        replace_unknown: replace an unknown word by the source word it is aligned to.
        context: the sentences before each one in its document, the nearest last, for a run that reads them.
    """

    beam_size: int | None = None
    n_best: int = 1
    alignments: bool = False
    batch_size: int | None = None
    prefix: str | Sequence[str] | None = None
    constraints: Sequence[str] | Sequence[Sequence[str]] | None = None
    glossary: Mapping[str, str] | Terms | None = None
    mbr: int | None = None
    search: SearchConfig | None = None
    markup: bool = False
    replace_unknown: bool = False
    context: Sequence[Sequence[str]] | None = None

    def search_config(self, default: SearchConfig) -> SearchConfig:
        """The settings of one call, ``default`` the run's; raises :class:`UserError` for impossible ones."""
        kinds: dict[str, tuple[Any, str]] = dict.fromkeys(("n_best", "mbr"), (int, "an integer"))
        kinds |= {"search": (SearchConfig, "a SearchConfig"), "prefix": (Sequence, "text")}
        kinds["glossary"] = (Mapping | Terms, "phrases by their terms")
        kinds |= dict.fromkeys(("alignments", "markup", "replace_unknown"), (bool, "True or False"))
        for name, (kind, words) in kinds.items():
            value = getattr(self, name)
            is_kind = isinstance(value, kind if name == "n_best" else kind | None)
            if not is_kind or (kind is int and isinstance(value, bool)):
                raise UserError(f"{name}: expected {words}, got {shorten(repr(value))}")
        search = self.search or default
        idle = [name for name in OF_SAMPLES if getattr(search, name) != getattr(default, name)]
        if idle and not (search.sample or self.mbr):
            raise UserError(f"search: {idle[0]} is for samples; add sample=True beside it")
        asked: dict[str, Any] = {"beam_size": self.beam_size, "batch_size": self.batch_size}
        if self.beam_size is not None and (self.mbr is not None or (self.search and self.search.sample)):
            raise UserError("beam_size: it is for beam search, but sampling was asked for: leave one out")
        asked["sample"] = True if self.mbr else None if self.beam_size is None else False
        given = {name: value for name, value in asked.items() if value is not None}
        search = replace(search, **given) if given else search  # checks all settings again
        if self.mbr is not None and not 2 <= self.mbr <= MOST_SAMPLES:
            raise UserError(f"mbr: expected 2 to {MOST_SAMPLES:,} samples, got {self.mbr}")
        most = self.mbr or (MOST_SAMPLES if search.sample else search.beam_size)
        if not 1 <= self.n_best <= most:
            name = "mbr=" if self.mbr else "" if search.sample else "beam_size="
            hint = "" if search.sample else "; a wider beam has more"
            raise UserError(f"n_best: expected 1 to {name}{most}, got {self.n_best}{hint}")
        return search if self.batch_size else search.within_memory(self.hypotheses(search))

    def hypotheses(self, config: SearchConfig) -> int:
        """The number of hypotheses that a search keeps of each sentence."""
        return (self.mbr or self.n_best) if config.sample else config.beam_size

    @property
    def aligned(self) -> bool:
        """Whether alignments are computed, if only to transfer something by them."""
        return self.alignments or self.markup or self.replace_unknown

    @property
    def beside_search(self) -> list[str]:
        """The names of the given options that are no settings of the search, but change what it finds."""
        given = {"prefix": self.prefix is not None, "mbr": self.mbr}
        given |= {name: bool(getattr(self, name)) for name in ("constraints", "glossary")}
        return [name for name, value in given.items() if value] + ["context"] * any(self.context or ())


@dataclass(frozen=True)
class ScoredText:
    """One of the n best translations of a sentence."""

    text: str
    score: float  # as the translation's
    tokens: tuple[str, ...] = ()  # pieces


@dataclass(frozen=True)
class Translation:
    """A sentence's best translation, with ``n_best`` on request.

    ``alignment`` is false unless ``translate`` was called with ``alignments=True``.

    The score is the log-probability (natural logarithm), normalised by the length as the run's search says,
    or with minimum Bayes risk the mean chrF against the samples, 0 to 100.
    """

    text: str
    score: float
    alignment: Alignment = NO_ALIGNMENT
    n_best: tuple[ScoredText, ...] = ()
    tokens: tuple[str, ...] = ()  # pieces
    engine: str = "torch"  # or ctranslate2: the engine that found it
