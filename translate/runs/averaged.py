"""The mean of the last checkpoints, tried when a run ends."""

from collections.abc import Sequence
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor

from translate.config.settings import Settings
from translate.corpora.corpus import Corpus
from translate.reports.progress_line import score_line
from translate.runs.hooks import goodness
from translate.runs.load import load_into
from translate.runs.validation import Validation
from translate.storage.checkpoint import WEIGHTS, load_weights, point, step_folders
from translate.storage.run_directory import RunDirectory
from translate.training.loop import Progress
from translate.translator import Translator

AVERAGED = "averaged"


def try_average(
    settings: Settings, progress: Progress, translator: Translator, corpus: Corpus, directory: RunDirectory
) -> None:
    """Validate the mean of the last checkpoints, and let ``best`` be it if it is better.

    Without a validation split the mean is taken. The weights of the translator's model are lost.
    """
    wanted = settings.training.average_last
    if wanted is None:
        return
    folders = step_folders(directory.checkpoints)[-wanted:]
    if len(folders) < 2:
        print(f"training.average_last={wanted}: there is one checkpoint only, and no mean", flush=True)
        return
    folder = directory.checkpoints / AVERAGED
    folder.mkdir(exist_ok=True)
    aside = folder / f".{WEIGHTS}"
    save_file(mean_weights(folders), aside)
    aside.replace(folder / WEIGHTS)
    load_into(translator.model, folder)
    scores = Validation(settings, translator, corpus.validation)()
    better = True
    if scores:
        directory.log({"kind": AVERAGED, "step": progress.step, "checkpoints": len(folders), **scores})
        better = progress.beats_best(*goodness(scores, settings.training.best_metric))
    named = ", ".join(each.name for each in folders)
    verdict = "it is kept as the best" if better else "the best single one is better"
    line = score_line(progress.step, scores).partition(": ")[2]
    print(f"mean of {named}: {line}{'; ' if line else ''}{verdict}", flush=True)
    if better:
        point(directory.checkpoints, "best", AVERAGED)


def mean_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights of checkpoints (Vaswani et al. 2017, 6.1), summed in float64."""
    sums: dict[str, Tensor] = {}
    for folder in folders:
        for name, tensor in load_weights(folder).items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    kinds = {name: tensor.dtype for name, tensor in load_weights(folders[-1]).items()}
    return {name: (total / len(folders)).to(kinds[name]) for name, total in sums.items()}
