"""A trained run, read from its folder."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translate.alignment.alignment import AlignmentChoice
from translate.attention.kernels.linear import Bfloat16Linear, Int8Linear
from translate.config.files import leaves
from translate.config.names import shorten
from translate.config.settings import Settings, check_config
from translate.config.targets import import_plugin, instantiate
from translate.config.training import TrainingConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.models.sizes import SizeLimit
from translate.runs.checkpoint import check_fits, load_weights, map_weight, stored_weights
from translate.runs.run_directory import CONFIG, RunDirectory, check_is_run
from translate.runs.runtime import PRECISIONS, find_device
from translate.search.ctranslate2.choosing import choose
from translate.text.bounded import read_json, read_yaml
from translate.text.documents import ContextSize
from translate.text.tokenizer import TokenizerPair
from translate.training.weights import is_finite, model_tensors
from translate.translator import Translator
from translate.version import __version__


def load(
    run: str | Path,
    *,
    device: str = "auto",
    checkpoint: str = "best",
    plugins: Sequence[str] = (),
    int8: bool = False,
    precision: str = "float32",
    engine: str = "torch",
) -> Translator:
    """The translator of a run.

    No code of the run is executed, and nothing outside the translator changes: environment, threads,
    floating-point modes, random numbers.

    Args:
        run: a run directory.
        device: auto, cpu, cuda, cuda:1 ...
        checkpoint: a name below ``checkpoints``; without ``best``, ``last`` is loaded instead.
        plugins: modules that the run may import, beside this package and torch.
        int8: linear layers in 8 bits, for the CPU.
        precision: float32, bfloat16 or float16, of weights and states; on a CPU bfloat16 is that of products
            alone. Scores are summed in float32.
        engine: what searches for translations: torch, ctranslate2, or auto; see docs/translating.md.

    Raises:
        UserError: if there is no run, if a file of it is missing or damaged, or for a precision or an engine
            that is unknown or cannot be combined with the rest.
    """
    if not isinstance(int8, bool):
        raise UserError(f"int8: expected True or False, got {int8!r}")
    if isinstance(plugins, str) or not isinstance(checkpoint, str):
        raise UserError("load: expected a list of names as plugins, and a name as checkpoint")
    if precision not in PRECISIONS:
        raise UserError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    if int8 and precision != "float32":
        raise UserError(f"int8: its other parts compute in float32; leave out int8, or {precision}")
    if not isinstance(run, str | PathLike):
        raise UserError(f"load: expected the folder of a run, such as 'runs/mine', got {run!r}")
    directory = RunDirectory(Path(run))
    settings = read_settings(directory, plugins)
    chosen_device = find_device(device)
    tokenizers = TokenizerPair.load(directory.tokenizer)
    if settings.data.read != "text":
        from translate.corpora.images.image_tokenizer import with_images  # and all that draws scenes

        tokenizers = with_images(tokenizers, settings.data)
    folder = directory.best() if checkpoint == "best" else directory.checkpoints / checkpoint
    limit = SizeLimit([tensor.shape for tensor in stored_weights(folder).values()], str(folder))
    # The initial weights, which are replaced, may draw random numbers.
    with torch.random.fork_rng(devices=[]), limit:
        model = build_model(settings.model, vocabulary_sizes(tokenizers), settings.run.plugins)
    load_into(model, folder)
    model.read_documents(settings.data.context_sentences)
    model.eval()
    choice, kind = read_choice(directory, model, settings.training), "int8" if int8 else precision
    chosen = choose(engine, model, tokenizers, settings.search, choice, chosen_device, kind)
    products = kind == "bfloat16" and chosen_device.type == "cpu"
    model.to(chosen_device, torch.float32 if products else PRECISIONS.get(kind, torch.float32))
    if kind == "int8" or products:
        _round_products(model, folder, Int8Linear if kind == "int8" else Bfloat16Linear)
    languages = settings.data.source_language or "", settings.data.target_language or ""
    context, corpora = ContextSize.of(settings.data), settings.data.corpora.values()
    tagged = bool(corpora) and all(corpus.get("tag") for corpus in corpora)
    return Translator(
        model, tokenizers, settings.search, choice, languages, engine=chosen, context=context, tagged=tagged
    )


def build_model(model: dict[str, Any], sizes: tuple[int, int], plugins: Sequence[str]) -> Seq2Seq:
    """The model that the section ``model`` describes, with random weights.

    Args:
        model: the checked section.
        sizes: of the source and the target vocabulary.
        plugins: modules that the section may name.
    """
    source, target = sizes
    built = instantiate(model, "model", plugins, source_vocabulary=source, target_vocabulary=target)
    if not isinstance(built, Seq2Seq):
        raise UserError(f"model._target_: expected a translate.models.Seq2Seq, got {type(built).__name__}")
    return built


def vocabulary_sizes(tokenizers: TokenizerPair) -> tuple[int, int]:
    """The sizes of the source and the target vocabulary."""
    return len(tokenizers.source), len(tokenizers.target)


def read_settings(directory: RunDirectory, plugins: Sequence[str] = ()) -> Settings:
    """The checked configuration of a run, which may import only the modules of ``plugins``."""
    config = stored_config(directory, plugins)
    try:
        return check_config(config)
    except UserError as error:
        raise UserError(f"{directory.config}: {shorten(error, 300)}") from error


def stored_config(directory: RunDirectory, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """The configuration of a run of this version's series, as it is stored, its values unchecked.

    A run may come from a stranger: the file is read in bounds, nothing in it is interpolated, and it may name
    only the modules of ``plugins``.
    """
    check_is_run(directory.path)
    config = read_yaml(directory.config, root=directory.path)
    if not isinstance(config, dict):
        raise UserError(f"{directory.config}: expected the sections of a run, got {shorten(config)}")
    written, series = config.pop("version", None), __version__.split(".")[:2]
    if str(written).split(".")[:2] != series:
        wrote = f"version {shorten(written)}" if written else f"an unknown version (its {CONFIG} names none)"
        raise UserError(
            f"{directory.path}: {wrote} of seq2seq-translate wrote this run, and this is version "
            f"{__version__}, which reads runs of {'.'.join(series)} alone; train again, or use that version"
        )
    for path, text in leaves(config):
        if isinstance(text, str) and "${" in text:
            raise UserError(
                f"{directory.config}: {shorten('.'.join(path))}: expected a plain value, got the "
                f"interpolation {shorten(text)!r}"
            )
    run = config.get("run")
    named = run.get("plugins") if isinstance(run, dict) else None
    for name in named if isinstance(named, list) else ():
        if isinstance(name, str) and name not in plugins:
            raise UserError(
                f"{directory.path}: the run needs code of the module {shorten(name)!r}; if you trust it, "
                f"name it: --plugin {shorten(name)}, in Python plugins=[{shorten(name)!r}]"
            )
    for name in plugins:
        import_plugin(name)
    return config


def read_choice(directory: RunDirectory, model: Seq2Seq, training: TrainingConfig) -> AlignmentChoice:
    """The stored choice of layer, heads and shift; until a run has ended, all heads of the middle layer."""
    guided = training.guided_of(model.num_attention_layers)
    try:
        found = read_json(directory.alignment, root=directory.path)
        stored, taught = found["choice"], found.get("guided")
    except FileNotFoundError:
        heads = tuple(range(model.num_attention_heads))
        return AlignmentChoice((model.num_attention_layers - 1) // 2, heads, 0, guided=guided)
    except (KeyError, TypeError) as error:
        raise UserError(f"{directory.alignment}: damaged ({shorten(error)})") from error
    try:
        guided = taught if guided is None and type(taught) is int else guided
        choice = replace(AlignmentChoice.from_dict(stored), guided=guided)
        choice.check(model)
    except UserError as error:
        raise UserError(f"{directory.alignment}: {shorten(error, 300)}") from error
    return choice


def load_into(model: Seq2Seq, folder: Path) -> None:
    """Load the weights of a checkpoint into a model of the same shape.

    Raises:
        UserError: if they are missing, damaged or another model's, or hold NaN or infinite numbers.
    """
    own = model_tensors(model)
    check_fits(folder, own)
    weights = load_weights(folder)
    parameters = dict(model.named_parameters())
    for name, tensor in own.items():
        stored = weights[name]
        if name in parameters and (stored.dtype, stored.device) == (tensor.dtype, tensor.device):
            parameters[name].data = stored  # mapped from the file, not copied
        else:
            tensor.copy_(stored)
    # Mapped one by one: a model of fewer bits needs no more memory than its largest tensor beside its own.
    harmed = next((name for name in own if not is_finite(map_weight(folder, name))), None)
    if harmed is not None:
        raise UserError(
            f"{folder}: {harmed} holds NaN or infinite numbers, with which nothing can be translated; load "
            "another checkpoint of the run, or train it again"
        )


def _round_products(
    model: Seq2Seq, folder: Path, new: Callable[[Tensor, Tensor | None], torch.nn.Module]
) -> None:
    """Put layers of fewer bits in place of the linear ones, whose stored weights leave memory one by one."""
    names: dict[Tensor, str] = {parameter: name for name, parameter in model.named_parameters()}

    def rounded(weight: Tensor, bias: Tensor | None) -> torch.nn.Module:
        given = map_weight(folder, names[weight]).to(weight)
        return new(given, None if bias is None else map_weight(folder, names[bias]).to(bias))

    model.replace_products(rounded)
