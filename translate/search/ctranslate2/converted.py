"""The converted models of runs, in the user's cache.

They are not kept in the run: a run may come from a stranger, and files of another engine, which are not text
and hold other weights than the checkpoint, could not be checked. A folder is named by what it was made from,
so a new checkpoint or another choice of heads never finds an old one.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from translate.corpora.caches import cache_directory, fingerprint
from translate.errors import UserError
from translate.models import Transformer
from translate.search.ctranslate2.conversion import Convertible, convert, norm_of, num_heads_of, pre_norm_of
from translate.text.file_writing import scratch

VERSION = "1"  # changes with the way a model is converted
MODELS = "ctranslate2"  # the folder in the cache
KEPT = 8  # models, those that were used last
QUANTIZATION = "float32"  # of the files; CTranslate2 rounds when it loads them


def cached(library: Any, run: Convertible, load: Callable[[Path], Any]) -> Any:
    """The result of ``load`` with the converted model, which is converted unless it is in the cache.

    A cache that cannot be written is no error: the model is converted in a temporary folder then.

    Args:
        library: ctranslate2, with its converters imported.
        run: what is converted.
        load: reads the folder of the files, which may not be there any longer after the call.
    """
    root = cache_directory("auto")
    assert root is not None
    folder = root / MODELS / identity(run, library.__version__)
    if folder.is_dir():
        with suppress(RuntimeError, OSError):  # damaged, or another process may just have removed it
            found = load(folder)
            with suppress(OSError):
                os.utime(folder)  # used last
            return found
    with _place(folder.parent) as place:
        new = place / folder.name
        convert(library, run, new, QUANTIZATION)
        found = load(new)
        if place.parent == folder.parent:
            with suppress(OSError):  # a full disk, or another process was faster
                _keep(new, folder, place)
        return found


def identity(run: Convertible, version: str) -> str:
    """A name for a converted model: another one for other weights, pieces, heads, lengths or versions."""
    model = run.model
    parts: list[str | bytes] = [VERSION, version, run.tokenizers.source.model, run.tokenizers.target.model]
    parts += [str(run.choice.layer), str(run.choice.heads), str(run.longest_source), str(run.longest_target)]
    parts.append(repr(_options(model)))
    for name, tensor in model.state_dict().items():
        parts += [name, str(tuple(tensor.shape)), tensor.contiguous().numpy().tobytes()]
    return fingerprint(parts)


def _options(model: Transformer) -> list[Any]:
    """The options of the model that are converted beside its weights."""
    layers = [*model.encoder, *model.decoder]
    norm = model.decoder[0].self_norm
    return [
        len(model.encoder),
        [(num_heads_of(layer), layer.feedforward.kind) for layer in layers],
        (pre_norm_of(model), norm_of(model), getattr(norm, "eps", None)),
        (model.source_positions.kind, model.target_positions.kind),
    ]


@contextmanager
def _place(cache: Path) -> Iterator[Path]:
    """An empty folder to write into: in the cache if that can be written."""
    with ExitStack() as stack:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(scratch(cache))
        except OSError:
            try:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="translate-")))
            except OSError as error:
                raise UserError(
                    f"{cache}: the converted model cannot be written, nor into a temporary folder "
                    f"({error.strerror}); free some space, or name another folder by TRANSLATE_CACHE"
                ) from error
        yield folder


def _keep(new: Path, folder: Path, place: Path) -> None:
    """Give a model that was written aside its name; a damaged one of that name makes room."""
    if folder.exists():
        folder.rename(place / "damaged")
    new.rename(folder)
    models = [path for path in folder.parent.iterdir() if path.is_dir() and len(path.name) == 64]
    for path in sorted(models, key=lambda path: path.stat().st_mtime)[:-KEPT]:
        path.rename(place / path.name)  # removed with it
