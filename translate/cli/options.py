"""The options and runs that commands share, and how a command takes a group of options as one value."""

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_args, get_type_hints

import typer

from translate.cli.console import print_note, print_warning
from translate.config.names import counted, is_code, listed, shorten, shown_path
from translate.errors import UserError
from translate.text.languages import base, is_exchanged, language_name, likely_languages, other_than

if TYPE_CHECKING:
    from translate.search.ctranslate2.choosing import EngineChoice
    from translate.translator import Translator


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option with a value; its name is that of the parameter unless ``names`` are given."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


def flag(name: str, help: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=help)


Run = Annotated[Path, typer.Argument(metavar="RUN", help="Run directory.")]
Threads = Annotated[int | None, option("N", "CPU threads. Default: torch chooses.", min=1, max=1024)]
Plugins = Annotated[
    list[str] | None,
    option("MODULE", "A Python module that the run needs; may be given several times.", "--plugin"),
]
AsJson = Annotated[bool, flag("--json", "Print one JSON object.")]
BeamSize = Annotated[
    int | None,
    option("N", "Hypotheses of the beam; 1: greedy. Default: search.beam_size of the run.", min=1, max=1000),
]
Ensemble = Annotated[
    list[Path] | None,
    option(
        "RUN",
        "Average the probabilities with those of this run, which must have the same target "
        "vocabulary; may be given several times.",
    ),
]
Tag = Annotated[
    str | None, option("TAG", "For a run of a mixture with tags: the one before its sentences, as <law>.")
]
Engine = Annotated[
    Literal["torch", "ctranslate2", "auto"],
    option(
        "NAME",
        "What searches for translations: torch; ctranslate2, faster, for Transformers on the CPU; auto: "
        "ctranslate2 if it has every option that is given, otherwise torch.",
    ),
]


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: a parameter whose type is a dataclass stands for its fields.

    A field is declared as typer declares a parameter. ``PANEL`` of the dataclass is the heading of its
    options in the help.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint) and isinstance(hint, type)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _parameters(groups[parameter.name])
        else:
            parameters.append(_parameter(parameter.name, hints[parameter.name], parameter.default))

    def grouped(**given: Any) -> None:
        collected = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**given, **collected)

    grouped.__name__, grouped.__doc__ = command.__name__, command.__doc__
    grouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return grouped


def _parameters(group: type) -> list[inspect.Parameter]:
    hints, found = get_type_hints(group, include_extras=True), []
    for field in fields(group):
        type_, option = get_args(hints[field.name])
        option = copy(option)
        option.rich_help_panel = getattr(group, "PANEL", None)
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        found.append(_parameter(field.name, Annotated[type_, option], default))
    return found


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


@dataclass(frozen=True)
class MachineOptions:
    """The device that computes a run, and modules that the run needs."""

    PANEL: ClassVar = "Machine"
    SHOWS_ALIGNMENTS: ClassVar = True

    device: Annotated[str, option("NAME", "cpu, cuda, cuda:1 ...; auto: a GPU if there is one.")] = "auto"
    threads: Threads = None
    plugin: Plugins = None

    def load(self, run: Path) -> "Translator":
        """The translator of a run."""
        from translate.runs.run_directory import RunDirectory, check_is_run
        from translate.text.folder_lock import holder_of

        check_is_run(run)
        # Imported here, so that a wrong option does not wait for torch.
        from translate.attention.kernels.linear import bfloat16_instructions
        from translate.runs.load import load
        from translate.runs.runtime import find_device, use_processor, use_runtime

        chosen = find_device(self.device)
        use_runtime(chosen, self.threads)
        wanted = {
            name: getattr(self, name) for name in ("precision", "engine", "int8") if hasattr(self, name)
        }
        no_bfloat16 = chosen.type == "cpu" and bfloat16_instructions() is None
        if wanted.get("precision") == "bfloat16" and no_bfloat16:
            print_note("--precision bfloat16: this processor has no instructions for it; float32 is faster")
        translator = load(run, device=self.device, plugins=self.plugin or (), **wanted)
        use_processor(translator.model, chosen)
        if holder := holder_of(run):
            answers = RunDirectory(run).best().resolve().name
            print_note(f"{run}: {holder} still trains it; its best so far, {answers}, is used")
        if self.SHOWS_ALIGNMENTS:
            note_unfinished(run)
            mechanism = translator.model.source_attention(translator.choice.layer)
            if not mechanism.aligns:
                print_note(f"{run}: its {type(mechanism).__name__} looks at no single word: no links")
        return translator


@dataclass(frozen=True)
class BatchMachine(MachineOptions):
    """The device that computes a run, and the size of a batch."""

    batch_size: Annotated[
        int | None,
        option("N", "Sentences in a batch. Default: search.batch_size of the run, or memory.", min=1),
    ] = None


@dataclass(frozen=True)
class TranslationMachine(BatchMachine):
    """The device that translates, the size of a batch, the precision and the engine."""

    SHOWS_ALIGNMENTS: ClassVar = False

    precision: Annotated[
        str,
        option(
            "NAME",
            "float32, bfloat16 or float16. On a CPU bfloat16 is for processors with instructions for it "
            "(see translate doctor), and float16 is slow.",
        ),
    ] = "float32"
    engine: Engine = "torch"
    int8: Annotated[bool, flag("--int8", "Linear layers in 8 bits on the CPU: smaller, not exact.")] = False

    def load_ensemble(self, run: Path, others: Sequence[Path] | None) -> "Translator":
        """The translator of a run, or of an ensemble of it and others."""
        runs = [run, *(others or ())]
        run_names(runs, "--ensemble")  # each stands once
        translator, *joined = map(self.load, runs)
        return translator.join(joined) if joined else translator


def note_unfinished(run: Path) -> None:
    """Say that a run has not ended: its alignments are not calibrated yet."""
    from translate.runs.run_directory import RunDirectory

    if not RunDirectory(run).alignment.exists():
        print_note(
            f"{run}: its alignments are not calibrated yet, and may be worse than they can be; training ends "
            f"with it, and so does: translate align calibrate {run} --source FILE --target FILE"
        )


def tagged(translator: "Translator", tag: str | None, sentences: Sequence[str]) -> Sequence[str]:
    """The sentences behind a tag, if one is given; raises ``UserError`` if the run does not know it."""
    if tag is None:
        return sentences
    if tag not in (tags := translator.tokenizers.source.tags):
        known = f"it knows {listed(tags)}" if tags else "it knows none"
        raise UserError(f"--tag {shorten(tag)}: the run was not trained with it; {known}")
    return [f"{tag} {sentence}" for sentence in sentences]


def print_engine(choice: "EngineChoice") -> None:
    """Say on standard error which engine translates, if the user did not ask for torch."""
    if choice.note is not None:
        print_note(choice.note)


def check_place(out: Path, *read: str | Path | None) -> None:
    """Raise :class:`UserError` if ``out`` cannot be written, or is a file that is ``read``."""
    if os.path.isdir(out):  # that of pathlib raises OSError for a name that is too long
        raise UserError(f"{shown_path(out)}: expected a file; there is a folder of that name")
    if not os.path.isdir(out.parent):
        raise UserError(f"{shown_path(out)}: there is no folder {shown_path(out.parent)}")
    exists = os.path.exists(out)
    if exists and any(path and os.path.exists(path) and os.path.samefile(path, out) for path in read):
        raise UserError(f"--out {shown_path(out)}: it is a file that is read; expected another name")


def run_names(runs: Sequence[Path], command: str) -> list[str]:
    """The names of the runs' folders; the paths as given where two names are equal.

    Raises:
        UserError: if a run is given twice.
    """
    names = [run.resolve().name for run in runs]
    if len({run.resolve() for run in runs}) < len(runs):
        raise UserError(f"{command}: a run is given twice: {listed(runs)}")
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def check_languages(languages: Mapping[str, tuple[str, str]], command: str) -> None:
    """Raise :class:`UserError` if runs do not translate between the same languages, by name."""
    first, *others = languages.items()
    for other in others:
        known = all(map(is_code, (*first[1], *other[1])))  # "source" and "English" tell no language
        if known and first[1] != other[1]:
            facts = [f"{name} translates {' to '.join(pair)}" for name, pair in (first, other)]
            raise UserError(f"{command} needs the same languages; {', '.join(facts)}")


def languages_of(run: Path) -> tuple[str, str]:
    """The languages of a run by its settings, without loading it; empty where they are not known."""
    from translate.runs.run_directory import CONFIG, check_is_run
    from translate.text.bounded import read_yaml

    check_is_run(run)
    settings = read_yaml(run / CONFIG, root=run)
    data = settings.get("data") if isinstance(settings, dict) else None
    named = data if isinstance(data, dict) else {}
    source, target = named.get("source_language"), named.get("target_language")
    return source if isinstance(source, str) else "", target if isinstance(target, str) else ""


def warn_of_languages(languages: Sequence[str], *sides: Sequence[str]) -> None:
    """Warn if many lines look like another language than a run reads or writes: it takes any letters.

    Args:
        languages: of the run.
        sides: its sources, and perhaps their translations.
    """
    names = ("lines", "reads"), ("translations", "writes")
    for (lines, does), language, found in zip(names, languages, likely_languages(*sides)):
        if other_than(language, found):
            seen, expected = language_name(str(found)), language_name(base(language))
            print_warning(f"most {lines} look like {seen}, and the run {does} {expected}")


def warn_of_exchange(languages: tuple[str, str], sentences: Sequence[str]) -> None:
    """Warn of sentences that are surely in the language that a run writes."""
    if count := sum(is_exchanged(sentence, *languages) for sentence in sentences):
        source, target = map(language_name, map(base, languages))
        print_warning(f"{counted(count, 'sentence')}: {target}, it seems, and the run reads {source}")


def check_direction(run: Path, source: str | Path, other: str, *targets: Path) -> None:
    """Raise :class:`UserError` for files that are, by their names, in the language of the other side."""
    from translate.corpora.local_files import check_language

    languages = languages_of(run)
    if all(languages):
        advice = f"--source and {other} may be swapped, or {shown_path(run)} is another run than was meant"
        check_language(source, *languages, advice)
        for target in targets:
            check_language(target, languages[1], languages[0], advice)
