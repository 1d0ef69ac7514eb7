"""Imports a pretrained model as a run, which every command takes."""

import re
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig

from translate.config.composer import compose
from translate.config.names import shorten
from translate.config.settings import Settings, check_config
from translate.errors import UserError
from translate.export.huggingface import named_weights
from translate.export.marian import NEVER
from translate.export.pretrained import EMBEDDINGS, POSITIONS, TIED, Pretrained, read_pretrained
from translate.export.pretrained_tokenizer import PretrainedTokenizers, read_tokenizers
from translate.models import Transformer
from translate.models.sizes import SizeLimit
from translate.runs.checkpoint import WEIGHTS, save_weights
from translate.runs.load import build_model, vocabulary_sizes
from translate.runs.run_directory import RunDirectory
from translate.runs.start import stored_text
from translate.text.bounded import checksum
from translate.text.escape import for_code, for_markdown
from translate.text.file_writing import aside, explain_write_errors
from translate.training.weights import is_finite, model_tensors
from translate.version import __version__

BIAS = "final_logits_bias"
LANGUAGE = re.compile(r"[\w-]{1,35}")


def import_run(name: str, out: str | Path) -> None:
    """Write a pretrained model as a run.

    Args:
        name: a folder in the layout of the Hugging Face hub or of Marian, or a name on the hub.
        out: folder to be created.

    Raises:
        UserError: for a model that cannot be represented or read, a folder that exists, or a package that is
            not installed.
    """
    out = Path(out)
    if out.exists():
        raise UserError(f"{out}: exists already; choose another folder")
    pretrained = read_pretrained(name)
    options = pretrained.options()
    tokenizers = read_tokenizers(pretrained)
    bias = pretrained.tensors.get(BIAS)
    biased = bool(tokenizers.target.never) or (bias is not None and bool(bias.any()))
    config = _config(pretrained, tokenizers, options | {"output_bias": biased}, out)
    settings = check_config(config)
    model = _model(pretrained, tokenizers, settings)
    with explain_write_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)  # runs/, as a training does
    with aside(out) as new:
        run = RunDirectory(new)
        save_weights(model_tensors(model), run.checkpoints / "best" / WEIGHTS)
        tokenizers.pair.save(run.tokenizer)
        run.write_config(stored_text(config, settings))
        run.card.write_text(_card(pretrained, tokenizers, settings, model, out), encoding="utf-8")
    source = settings.data.source_language or "an unnamed language"
    target = settings.data.target_language or "another"
    print(f"{shorten(name)}: {source} to {target}, {model.num_parameters():,} parameters")
    print(f"run written to {out}; its alignments show all heads of the middle layer until they are chosen:")
    print(f"  translate align calibrate {out} --source FILE --target FILE")


def _config(
    pretrained: Pretrained, tokenizers: PretrainedTokenizers, model: dict[str, Any], out: Path
) -> DictConfig:
    """The configuration of the run: the program's defaults, and what the model says otherwise."""
    there, config = pretrained.config, compose(["model=transformer", "data=files"])
    positions = pretrained.number("max_position_embeddings", 512)
    longest, length = (
        max(2, int(min(pretrained.number(name, positions), positions)))
        for name in ("model_max_length", "max_length")
    )
    config.model.update(model)
    config.model.attention.num_heads = model["num_heads"]
    for name in ("source", "target"):
        language = there.get(f"{name}_lang")
        if isinstance(language, str) and LANGUAGE.fullmatch(language):
            config.data[f"{name}_language"] = language
    pair = tokenizers.pair
    config.data.tokenised = pair.source.tokenised
    config.tokenizer.update(
        model_type=pair.source.model_type, vocabulary_size=len(pair.target), shared=pair.shared
    )
    config.search.update(
        beam_size=pretrained.number("num_beams", 1),
        length_penalty=pretrained.number("length_penalty", 1.0),
        stop="full" if there.get("early_stopping") is True else "beaten",
        max_source_pieces=longest - 1,  # and the end of the sentence
        max_length=length - 1,  # after the begin of the sentence
    )
    config.run.update(name=out.name, directory=str(out))
    return config


def _model(pretrained: Pretrained, tokenizers: PretrainedTokenizers, settings: Settings) -> Transformer:
    """The model with the pretrained weights; raises ``UserError`` if they do not fit the configuration."""
    shapes = [tuple(tensor.shape) for tensor in pretrained.tensors.values()]
    with torch.random.fork_rng(devices=[]), SizeLimit(shapes, str(pretrained.file)):
        model = build_model(settings.model, vocabulary_sizes(tokenizers.pair), ())
    assert isinstance(model, Transformer)
    tensors = {BIAS: torch.zeros(1, tokenizers.target.num_rows), **pretrained.tensors}
    pretrained.tensors.clear()  # so that each can go once the model has it
    unread = tensors.keys() - {BIAS, *POSITIONS}
    for name, own in named_weights(model):
        names = pretrained.aliases(name)
        unread -= set(names)
        found = next((tensors[alias] for alias in names if alias in tensors), None)
        vocabulary, side, expected = None, 1 if name == BIAS else 0, list(own.shape)
        if name in (*TIED, *EMBEDDINGS, BIAS):
            vocabulary = tokenizers.source if name == EMBEDDINGS[0] else tokenizers.target
            expected[side] = vocabulary.num_rows
        if found is None or list(found.shape) != expected:
            got = "is missing" if found is None else f"has shape {tuple(found.shape)}"
            raise UserError(f"{pretrained.file}: {name} {got}, its configuration says {tuple(expected)}")
        if vocabulary is None:  # others may be read twice
            del tensors[name]
        own.copy_(found if vocabulary is None else found.index_select(side, torch.tensor(vocabulary.rows)))
    if unread:
        raise UserError(
            f"{pretrained.file}: holds {shorten(min(unread))}, which no model of its configuration has"
        )
    if model.output_bias is not None:
        model.output_bias.detach()[tokenizers.target.never] = NEVER
    tensors = model_tensors(model)
    harmed = next((name for name, tensor in tensors.items() if not is_finite(tensor)), None)
    if harmed is not None:
        raise UserError(f"{pretrained.file}: {harmed} holds NaN or infinite numbers")
    return model.eval()


def _card(
    pretrained: Pretrained,
    tokenizers: PretrainedTokenizers,
    settings: Settings,
    model: Transformer,
    out: Path,
) -> str:
    source, target = (
        for_markdown(language or "?", 35)
        for language in (settings.data.source_language, settings.data.target_language)
    )
    pair = tokenizers.pair
    rows = {
        "source": pretrained.origin,
        "licence": pretrained.licence,
        "weights": f"{pretrained.file.name}, SHA-256 {checksum(pretrained.file)}",
        "model": f"{pretrained.config['model_type']}, {model.num_parameters():,} parameters",
        "tokenizer": f"SentencePiece {pair.source.model_type}, {len(pair.target):,} target pieces",
        "versions": f"imported by seq2seq-translate {__version__}",
    }
    table = "\n".join(f"| {name} | {for_markdown(value)} |" for name, value in rows.items())
    return (
        f"# {for_markdown(out.name)}\n\nTranslates {source} to {target}. Imported, not trained here.\n\n"
        f"| | |\n| --- | --- |\n{table}\n\n## Use\n\n```bash\n"
        f'translate text {for_code(out, "RUN")} "..."\n```\n'
    )
