"""A run without what only training needs: it is read like a run, by everything that takes one.

Weights, tokenizer, configuration and the choice of the attention that is shown; the model card is written by
whoever exports.
"""

import shutil
from pathlib import Path

from safetensors.torch import save_file

from translate.errors import UserError
from translate.export.contents import Contents
from translate.storage.checkpoint import WEIGHTS
from translate.storage.run_directory import RunDirectory
from translate.training.weights import model_tensors


def export(contents: Contents, directory: Path) -> RunDirectory:
    """Write the bundle; returns it as the run directory that it is.

    Args:
        contents: of any backend.
        directory: to be made.

    Raises:
        UserError: if a file of the run cannot be read.
    """
    bundle = RunDirectory(directory)
    folder = bundle.checkpoints / "best"
    folder.mkdir(parents=True)
    weights = {name: tensor.contiguous() for name, tensor in model_tensors(contents.model).items()}
    save_file(weights, folder / WEIGHTS)
    contents.tokenizers.save(bundle.tokenizer)
    try:
        shutil.copyfile(contents.directory.config, bundle.config)
        for found, wanted in (
            (contents.directory.alignment, bundle.alignment),
            (contents.directory.scores, bundle.scores),
        ):
            if found.exists():
                shutil.copyfile(found, wanted)
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be copied ({error.strerror})") from error
    return bundle
