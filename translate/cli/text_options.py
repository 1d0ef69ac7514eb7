"""The options of ``translate text``, in the groups that its help shows."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from translate.cli.console import as_unicode
from translate.cli.options import BeamSize, Ensemble, flag, option
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.config.search import SearchConfig
    from translate.text.glossary import Terms


@dataclass(frozen=True)
class OutputOptions:
    """The lines that are printed."""

    PANEL: ClassVar = "Output"

    n_best: Annotated[int, option("N", "Translations of each sentence: beam size at most, or samples.")] = 1
    format: Annotated[
        Literal["text", "jsonl"],
        typer.Option(help="text: one line for every sentence; jsonl: one JSON object."),
    ] = "text"


@dataclass(frozen=True)
class AlignmentOptions:
    """Additions to a translation by its alignment."""

    PANEL: ClassVar = "Alignment"

    align: Annotated[
        bool, flag("--align", "Add word links in Pharaoh format (source-target) after a tab.")
    ] = False
    markup: Annotated[
        bool,
        flag("--markup", "Carry tags (<b>, <br/>) and placeholders ({0}, %s) over to the aligned words."),
    ] = False
    replace_unknown: Annotated[
        bool,
        flag(
            "--replace-unknown",
            "Replace an unknown piece (⁇), where the model writes one, with the source word it looks at.",
        ),
    ] = False


@dataclass(frozen=True)
class SearchOptions:
    """Settings of the search in place of the run's own."""

    PANEL: ClassVar = "Search"

    beam_size: BeamSize = None
    length_penalty: Annotated[float | None, option("A", "Rank hypotheses by log-probability / length^A.")] = (
        None
    )
    length_normalisation: Annotated[
        Literal["average", "gnmt"] | None,
        option("NAME", "average: divide by length^A; gnmt: divide by ((5 + length) / 6)^A."),
    ] = None
    coverage_penalty: Annotated[
        float | None,
        option(
            "B",
            "Add B times the logarithm of the attention that each source piece received, where "
            "that is below 1.",
        ),
    ] = None
    no_repeat_ngram: Annotated[int | None, option("N", "Never write the same N pieces in a row twice.")] = (
        None
    )
    prefix: Annotated[
        str | None, option("WORDS", "Begin every translation with these words.", callback=as_unicode)
    ] = None
    constraint: Annotated[
        list[str] | None,
        option(
            "PHRASE",
            "Put this phrase into every translation; may be given several times.",
            callback=as_unicode,
        ),
    ] = None
    glossary: Annotated[
        Path | None,
        option(
            "FILE",
            "Put its phrases, or inflected forms of them, where their terms stand: a term, a tab and its "
            "translation a line.",
        ),
    ] = None
    ensemble: Ensemble = None

    def terms(self) -> "Terms | None":
        """Those of the glossary; raises ``UserError`` if it cannot be read."""
        from translate.text.glossary import Terms, read_glossary

        return None if self.glossary is None else Terms(read_glossary(self.glossary))


@dataclass(frozen=True)
class LengthOptions:
    """Limits on the length of a translation, where the run's configuration is not to decide."""

    PANEL: ClassVar = "Length of a translation (pieces, with the end of sentence)"

    min_length: Annotated[int | None, option("N", "Fewest pieces.")] = None
    max_length: Annotated[int | None, option("N", "Most pieces.")] = None
    min_length_ratio: Annotated[float | None, option("R", "Fewest pieces: R times those of the source.")] = (
        None
    )
    max_length_ratio: Annotated[
        float | None,
        option(
            "R",
            "Most pieces: R times those of the source, plus search.max_length_extra. If the limits "
            "contradict each other, this one counts.",
        ),
    ] = None


@dataclass(frozen=True)
class SampleOptions:
    """Samples instead of a search."""

    PANEL: ClassVar = "Samples"

    sample: Annotated[bool, flag("--sample", "Draw translations at random instead of searching.")] = False
    temperature: Annotated[float | None, option("T", "Below 1, likely pieces are drawn more often.")] = None
    top_k: Annotated[int | None, option("K", "Draw only from the K likeliest pieces; 0: from all.")] = None
    top_p: Annotated[
        float | None, option("P", "Draw only from the likeliest pieces that share probability P.")
    ] = None
    seed: Annotated[int | None, option("N", "The same seed draws the same samples.")] = None
    mbr: Annotated[
        int | None,
        option(
            "N",
            "Draw N samples and take the one that agrees best with all (chrF); the score is that "
            "agreement, 0 to 100.",
        ),
    ] = None


def check_sampling(search: SearchOptions, samples: SampleOptions) -> None:
    """Raise :class:`UserError` for options of samples without samples, or of the beam with samples."""
    given, by_risk = {**vars(search), **vars(samples)}, samples.mbr is not None
    draws = samples.sample or by_risk
    of_beams = "is for beam search, but --sample and --mbr draw samples: leave it out"
    idle = {
        "temperature top_k top_p seed": (not draws, "is for samples: add --sample or --mbr N"),
        "beam_size coverage_penalty": (draws, of_beams),
        "length_penalty length_normalisation": (by_risk, "changes nothing that --mbr finds: leave it out"),
    }
    for names, (without_effect, why) in idle.items():
        for name in names.split():
            if without_effect and given[name] is not None:
                raise UserError(f"--{name.replace('_', '-')} {why}")


def search_config(
    default: "SearchConfig", search: SearchOptions, lengths: LengthOptions, samples: SampleOptions
) -> "SearchConfig":
    """The run's search with the given options in place of its own.

    Raises:
        UserError: for a value that is impossible.
    """
    options: dict[str, Any] = {**asdict(search), **asdict(lengths), **asdict(samples)}
    options["sample"] = samples.sample or (None if search.beam_size is None else False)
    known = vars(default)  # the others are arguments of the call
    given = {name: value for name, value in options.items() if name in known and value is not None}
    return replace(default, **given)
