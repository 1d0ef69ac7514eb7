"""Chooses the engine that translates: the one that was asked for, or torch, with the reason."""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING

import torch

from translate.alignment.alignment import AlignmentChoice
from translate.config.search import SearchConfig
from translate.errors import UserError, install
from translate.models import Seq2Seq, Transformer
from translate.text.file_writing import explain_write_errors
from translate.text.tokenizer import TokenizerPair

if TYPE_CHECKING:
    from translate.search.ctranslate2.ctranslate2_search import CTranslate2Search

ENGINES = ("torch", "ctranslate2", "auto")


@dataclass(frozen=True)
class EngineChoice:
    """The engine of a run.

    Attributes:
        asked: one of ``ENGINES``.
        engine: CTranslate2 with the run's model, or ``None`` for torch.
        refusal: why torch translates, if something else was asked for.
        difference: of the engine from our own search, for the note.
        search: with which the model was converted.
    """

    asked: str = "torch"
    engine: "CTranslate2Search | None" = None
    refusal: str | None = None
    difference: str = ""
    search: SearchConfig = field(default_factory=SearchConfig)

    def without(self, refusal: str | None) -> "EngineChoice":
        """The choice for one call, in which ``refusal`` may speak against CTranslate2.

        Raises:
            UserError: if it does, and CTranslate2 was demanded.
        """
        if self.engine is None or refusal is None:
            return self
        return _torch(self.asked, refusal)

    @property
    def name(self) -> str:
        """The name of the engine that translates."""
        return "torch" if self.engine is None else self.engine.name

    @property
    def note(self) -> str | None:
        """A line that names the engine and the reason, for the user who did not ask for torch."""
        if self.asked == "torch":
            return None
        if self.engine is None:
            return f"torch translates, since {self.refusal}"
        return f"{self.engine} translates{self.difference}"


def _torch(asked: str, refusal: str) -> EngineChoice:
    """Torch, with the reason; raises :class:`UserError` if CTranslate2 was demanded."""
    if asked == "ctranslate2":
        raise UserError(f"engine: {refusal}; leave out ctranslate2, or take auto, with which torch does it")
    return EngineChoice(asked, None, refusal)


def beyond(config: SearchConfig, given: Iterable[str], vocabulary: int) -> str | None:
    """The reason for torch, if CTranslate2 lacks some of the options of a call.

    Args:
        config: of the search.
        given: names of options beside the search which it does not have, such as ``constraints``.
        vocabulary: number of target pieces.
    """
    from translate.search.ctranslate2.conversion import unsupported

    lacking = [*unsupported(config), *given]
    if 2 * config.beam_size > vocabulary:
        lacking.append("beam as wide as half of the vocabulary")
    return f"CTranslate2 cannot do this: {', '.join(lacking)}" if lacking else None


def choose(
    asked: str,
    model: Seq2Seq,
    tokenizers: TokenizerPair,
    search: SearchConfig,
    choice: AlignmentChoice,
    device: torch.device,
    compute_type: str,
) -> EngineChoice:
    """The engine for a run, whose model is converted in a temporary folder.

    Args:
        asked: one of ``ENGINES``.
        model: as trained, on the CPU, in evaluation mode and float32.
        tokenizers: of the run.
        search: its own defaults; their limits are those of the tables of positions.
        choice: the attention that is shown.
        device: where torch would translate.
        compute_type: float32, bfloat16, float16 or int8.

    Raises:
        UserError: for another engine, or if ``ctranslate2`` is demanded and cannot translate.
    """
    if asked not in ENGINES:
        raise UserError(f"engine: expected one of {', '.join(ENGINES)}, got {asked!r}")
    if asked == "torch":
        return EngineChoice()
    refusal, difference = _refusal(model, device, compute_type), ""
    if search.stop != "full":
        difference = f", without search.stop={search.stop} of the run: its beams end when they are full"
    if difference and asked == "auto":
        refusal = refusal or f"CTranslate2 has no search.stop={search.stop} (ctranslate2 goes without it)"
    if refusal is not None:
        return _torch(asked, refusal)
    # Only who asks for it waits for what it takes.
    from translate.search.ctranslate2.conversion import Convertible, convert
    from translate.search.ctranslate2.ctranslate2_search import MAX_WORKERS, CTranslate2Search

    assert isinstance(model, Transformer)
    longest_source = search.max_source_pieces + 1
    longest_target = model.within_positions(search.longest(longest_source))
    run = Convertible(model, tokenizers, choice, longest_source, longest_target)
    library = importlib.import_module("ctranslate2")
    threads = torch.get_num_threads()
    workers = min(threads, MAX_WORKERS)

    try:
        with explain_write_errors(gettempdir()), TemporaryDirectory(prefix="translate-") as folder:
            convert(library, run, Path(folder), "float32")
            translator = library.Translator(
                folder,
                device="cpu",
                compute_type=compute_type,
                inter_threads=workers,
                intra_threads=threads // workers,
            )
    finally:
        torch.set_num_threads(threads)  # CTranslate2 sets the number of its workers
    found = CTranslate2Search(library, translator, run)
    return EngineChoice(asked, found, difference=difference, search=search)


def _refusal(model: Seq2Seq, device: torch.device, compute_type: str) -> str | None:
    """The reason for which CTranslate2 cannot translate with a model at all."""
    from translate.search.ctranslate2.conversion import refuse_attentions

    if not isinstance(model, Transformer):
        return f"CTranslate2 has only Transformers, and the model is of the class {type(model).__name__}"
    if model.reads_pictures:
        return "CTranslate2 reads no pictures"
    if refused := refuse_attentions(model, "CTranslate2").found:
        return f"CTranslate2 cannot represent {', '.join(refused)}"
    if device.type != "cpu":
        return f"CTranslate2 is used on the CPU, and the device is {device} (--device cpu takes the CPU)"
    if find_spec("ctranslate2") is None:
        return f"the package ctranslate2 is not installed ({install('export')} installs it)"
    supported = importlib.import_module("ctranslate2").get_supported_compute_types("cpu")
    if compute_type not in supported:
        return f"CTranslate2 does not compute in {compute_type} on this processor"
    return None
