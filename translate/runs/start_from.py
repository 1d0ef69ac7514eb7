"""Weights and tokenizer of another run, to start from; parameters that are not trained."""

from fnmatch import fnmatchcase
from pathlib import Path

from translate.config import did_you_mean, nearest
from translate.config.settings import Settings
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.runs.load import read_settings
from translate.storage.checkpoint import load_weights
from translate.storage.run_directory import RunDirectory
from translate.text.tokenizer import TokenizerPair
from translate.training.tensors import model_tensors

SHOWN = 5  # names in a message


def take_tokenizers(settings: Settings) -> TokenizerPair:
    """The tokenizers of the run to start from, whose weights know no other pieces.

    Raises:
        UserError: if it is no run, or this configuration asks for other vocabularies.
    """
    run = str(settings.training.start_from)
    directory = RunDirectory(Path(run))
    there = read_settings(directory, settings.run.plugins)
    now, then = vars(settings.tokenizer) | _split(settings), vars(there.tokenizer) | _split(there)
    odd = [
        f"{_key(name)} is {then[name]!r} there, {now[name]!r} here" for name in now if now[name] != then[name]
    ]
    if odd:
        raise UserError(
            f"training.start_from={run}: its vocabularies differ from what is asked for: {'; '.join(odd)}"
        )
    return TokenizerPair.load(directory.tokenizer)


def _split(settings: Settings) -> dict[str, object]:
    return {"tokenised": settings.data.tokenised}


def _key(name: str) -> str:
    return f"data.{name}" if name == "tokenised" else f"tokenizer.{name}"


def take_weights(model: Seq2Seq, run: str) -> list[str]:
    """Copy every parameter that the best checkpoint of ``run`` has in the same shape; says which.

    Raises:
        UserError: if there is no checkpoint, or not one parameter fits.
    """
    checkpoints = RunDirectory(Path(run)).checkpoints
    folder = checkpoints / "best" if (checkpoints / "best").exists() else checkpoints / "last"
    weights, own = load_weights(folder), model_tensors(model)
    taken = [name for name in own if name in weights and weights[name].shape == own[name].shape]
    if not taken:
        raise UserError(f"training.start_from={run}: no parameter of {folder} fits into this model")
    for name in taken:
        own[name].copy_(weights[name])
    count, size = (sum(own[name].numel() for name in names) for names in (taken, own))
    lines = [
        f"started from {folder}: {len(taken)} of {len(own)} parameters taken, {100 * count / size:.1f} % of "
        "the weights"
    ]
    new = [name for name in own if name not in weights]
    other = [
        f"{name} ({tuple(weights[name].shape)} there, {tuple(own[name].shape)} here)"
        for name in own
        if name in weights and name not in taken
    ]
    unused = [name for name in weights if name not in own]
    for kind, names in (("new here", new), ("of another shape", other), ("not used", unused)):
        if names:
            lines.append(f"  {kind}: {', '.join(names)}")
    return lines


def freeze(model: Seq2Seq, patterns: list[str]) -> list[str]:
    """Take the parameters whose names match a pattern (``*`` for any characters) out of training.

    Returns:
        Their names.
    Raises:
        UserError: for a pattern that matches no name, or if nothing is left to train.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    frozen = []
    for pattern in patterns:
        found = [name for name in parameters if fnmatchcase(name, pattern)]
        if not found:
            near = nearest(pattern.split(".")[0], {name.split(".")[0] for name in parameters})
            near = near and f"{near}.*"
            raise UserError(
                f"training.freeze: {pattern!r} matches no parameter{did_you_mean(near)}; there are "
                f"{', '.join(list(parameters)[:SHOWN])} and others"
            )
        frozen += found
    for name in frozen:
        parameters[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise UserError("training.freeze: no parameter is left to train")
    return list(dict.fromkeys(frozen))
