"""Guided alignment without another tool: two directions, their links made one, taught to one head."""

import copy
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from translate.aligner.counting import Known, count_links
from translate.aligner.links import Links, format_pharaoh, swapped
from translate.aligner.symmetrise import majority
from translate.alignment.alignment import Alignment
from translate.alignment.directions import symmetrised
from translate.config.data import SPLITS
from translate.config.values import plain
from translate.corpora.corpus import Split, load_corpus
from translate.runs.calibration import choose_alignment, development_of, store
from translate.runs.guiding import known_pairs
from translate.runs.life import train
from translate.runs.load import load, read_settings
from translate.storage.run_directory import RunDirectory
from translate.translator import Translator

GARG_WEIGHT = 0.05  # of the loss on the attention: Garg et al. 2019, 5.3
CHUNK = 2048  # pairs that are aligned at a time
MAJORITY = "majority"  # of both directions and of links that are counted in the text


def guide(config: DictConfig, out: Path, *, symmetrisation: str = MAJORITY) -> int:
    """Train both directions, align the training text by both, and train once more, guided by the links.

    Garg et al. 2019, 4.2. Each part that is there already is left as it is, one that was interrupted is
    continued, so that the same call goes on where the last one ended.

    Args:
        config: of the guided run; both directions are trained by it too, and guided where it says so.
        out: folder of the runs `forward`, `backward` and `guided`, and of the links, `links.txt`.
        symmetrisation: how the links of both directions become one: by :func:`symmetrise`, or `majority`.
    Returns:
        The exit code of the training that ended early, or 0.
    """
    parts: dict[str, Callable[[Any], Any]] = {"forward": lambda values: values, "backward": swap_sides}
    for name, change in parts.items():
        code = _train(config, out / name, change)
        if code:
            return code
    links = out / "links.txt"
    if links.exists():
        print(f"{links}: there already", flush=True)
    else:
        write_links(out / "forward", out / "backward", links, symmetrisation, list(config.run.plugins))
    return _train(config, out / "guided", lambda values: _guided_by(values, links))


def swap_sides(values: dict[str, Any]) -> dict[str, Any]:
    """A configuration of the other direction; gold files stay out, since they count the words of this one."""
    values = copy.deepcopy(values)
    data = values["data"]
    for first, second in (("source_language", "target_language"), ("source_field", "target_field")):
        data[first], data[second] = data[second], data[first]
    for split in SPLITS:
        files = data[split]
        files["gold"] = None
        if files["target"] is not None:  # else one table holds both sides
            files["source"], files["target"] = files["target"], files["source"]
    return values


def write_links(forward: Path, backward: Path, path: Path, symmetrisation: str, plugins: list[str]) -> None:
    """Choose the attention of both runs, align their training text by it, and write symmetrised links.

    By gold links each run has chosen already, as its training ended; where there are none, the agreement of
    the two chooses now.
    """
    there, back = (load(run, plugins=plugins) for run in (forward, backward))
    settings = read_settings(RunDirectory(forward), plugins)
    corpus = load_corpus(settings.data)
    pairs = development_of(corpus, settings.alignment.calibration_pairs)
    if pairs.golds is None:
        turned = pairs._replace(source=pairs.target, target=pairs.source)
        chosen = [
            choose_alignment(there, pairs, settings.alignment, back),
            choose_alignment(back, turned, settings.alignment, there),
        ]
        for run, translator, choice in zip((forward, backward), (there, back), chosen, strict=True):
            store(RunDirectory(run), choice, translator)
        print(f"the two directions agree on {100 * chosen[0]['agreement']:.1f} % of their links (F1)")
    print(f"aligning {len(corpus.train):,} training pairs in both directions", flush=True)
    aligned = _aligned(there, back, corpus.train, whitespace=settings.data.tokenised)
    if symmetrisation == MAJORITY:
        links = _majority(aligned, known_pairs(settings, corpus, there.tokenizers))
    else:
        links = (each for both in aligned for each in symmetrised(*both, symmetrisation))
    aside = path.with_name(path.name + ".new")
    with aside.open("w", encoding="utf-8") as file:
        for each in links:
            print(format_pharaoh(each), file=file)
    aside.replace(path)
    print(f"links written to {path}", flush=True)


def _aligned(
    there: Translator, back: Translator, split: Split, *, whitespace: bool
) -> Iterator[tuple[list[Alignment], list[Alignment]]]:
    """Alignments of both directions, of some pairs at a time."""
    for begin in range(0, len(split), CHUNK):
        source, target = (side[begin : begin + CHUNK] for side in (split.source, split.target))
        forward = there.align(source, target, whitespace=whitespace)
        yield forward, back.align(target, source, whitespace=whitespace)


def _majority(
    aligned: Iterable[tuple[list[Alignment], list[Alignment]]], known: Known | None
) -> Iterator[Links]:
    """What two of three say: the two models, and the links counted in the same words."""
    sources, targets, forward, backward = [], [], [], []
    for there, back in aligned:
        sources += [each.source_words for each in there]
        targets += [each.target_words for each in there]
        forward += [each.links() for each in there]
        backward += [swapped(each.links()) for each in back]
    also = f" and in {len(known.links):,} validation pairs with gold links" if known else ""
    print(f"counting links in their text{also}", flush=True)
    return map(majority, forward, backward, count_links(sources, targets, known=known))


def _guided_by(values: dict[str, Any], links: Path) -> dict[str, Any]:
    values = copy.deepcopy(values)
    training = values["training"]
    training["guided_links"] = str(links)
    training["guided_alignment"] = training["guided_alignment"] or GARG_WEIGHT
    return values


def _train(config: DictConfig, run: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Train one of the runs, unless it has its scores already."""
    print(f"--- {run}", flush=True)
    if RunDirectory(run).scores.exists():
        print(f"{run}: the run is finished; nothing to do", flush=True)
        return 0
    values = change(plain(config))
    values["run"] |= {"name": run.name, "directory": str(run)}
    values["training"]["resume"] = True
    return train(OmegaConf.create(values))
