"""A bundle: a run directory without the files that only training needs.

It holds weights, tokenizer, configuration, scores and the choice of the attention that is shown.
"""

from pathlib import Path

from translate.errors import UserError
from translate.export.contents import Contents
from translate.runs.checkpoint import WEIGHTS, save_weights
from translate.runs.run_directory import RunDirectory
from translate.text.bounded import read_bounded
from translate.training.weights import model_tensors


def export(contents: Contents, directory: Path) -> RunDirectory:
    """Write the bundle and return it as a run directory.

    Args:
        contents: of any backend.
        directory: to be created.

    Raises:
        UserError: if a file of the run cannot be read.
    """
    bundle = RunDirectory(directory)
    folder = bundle.checkpoints / "best"
    folder.mkdir(parents=True)
    weights = {name: tensor.contiguous() for name, tensor in model_tensors(contents.model).items()}
    save_weights(weights, folder / WEIGHTS)
    contents.tokenizers.save(bundle.tokenizer)
    try:
        for source, target in (
            (contents.directory.config, bundle.config),
            (contents.directory.alignment, bundle.alignment),
            (contents.directory.scores, bundle.scores),
        ):
            if source.exists():
                target.write_bytes(read_bounded(source, root=contents.directory.path))
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be copied ({error.strerror})") from error
    return bundle
