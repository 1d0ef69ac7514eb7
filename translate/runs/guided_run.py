"""Guided alignment without other tools: both directions give links, which one attention head learns."""

import copy
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from translate.alignment.alignment import Alignment
from translate.config.data import SPLITS
from translate.config.declare import plain
from translate.config.settings import Settings, check_config
from translate.corpora.corpus import Split, load_corpus
from translate.corpora.linkers import Linker
from translate.errors import UserError
from translate.links.links import Links, format_pharaoh, swapped
from translate.links.symmetrise import majority
from translate.runs.checks import check_buildable
from translate.runs.encoding import estimated_linker
from translate.runs.life import train
from translate.runs.load import load
from translate.runs.run_directory import RunDirectory
from translate.runs.runtime import find_device, use_runtime
from translate.text.file_writing import aside
from translate.translator import Translator

GARG_WEIGHT = 0.05  # of the loss on the attention: Garg et al. 2019, 5.3
CHUNK = 2048  # pairs that are aligned at a time


def guide(config: DictConfig, out: str | Path, free: Collection[str] = ()) -> int:
    """Train both directions, align the training text with both, and train a run with guided alignment.

    Garg et al. 2019, 4.2. Finished parts are kept and an interrupted one is resumed, so the same call goes on
    where the last one ended.

    Args:
        config: of all three runs.
        out: folder of the runs ``forward``, ``backward`` and ``guided``, and of the links, ``links.txt``.
        free: the settings that are chosen for the corpus and the time.

    Returns:
        The exit code of the training that ended early, or 0.
    """
    out = Path(out)
    check_config(OmegaConf.create(swap_sides(plain(config))))
    check_buildable(check_config(OmegaConf.create(_guided_by(plain(config), out / "links.txt"))))
    unguided = {name for name in free if not name.startswith("training.guided")}
    code = _train(config, unguided, out / "forward", _voting)
    code = code or _train(config, unguided, out / "backward", lambda vs: swap_sides(_voting(vs)))
    if code:
        return code
    links = out / "links.txt"
    scores = [RunDirectory(out / name).scores for name in ("forward", "backward")]
    if links.exists() and links.stat().st_mtime > max(path.stat().st_mtime for path in scores):
        print(f"{links}: exists already")
    else:
        write_links(out / "forward", out / "backward", links, check_config(config))
    return _train(config, free, out / "guided", lambda values: _guided_by(values, links))


def swap_sides(values: dict[str, Any]) -> dict[str, Any]:
    """The configuration of the other direction, without gold files, whose links are source-target.

    Raises:
        UserError: for a corpus that does not say which side is which.
    """
    values = copy.deepcopy(values)
    if isinstance(path := values["tokenizer"]["path"], list):
        values["tokenizer"]["path"] = path[::-1]
    data = values["data"]
    if data["corpora"] and None in (data["source_language"], data["target_language"]):
        raise UserError(
            "data.source_language and data.target_language must be set for both directions of a mixture"
        )
    for section in (data, *data["corpora"].values()):
        _swap_section(section)
    return values


def _voting(values: dict[str, Any]) -> dict[str, Any]:
    """The configuration for sentences alone, whose links depend on no others, and which nobody guides."""
    training = values["training"] | {"guided_alignment": 0.0}
    return values | {"data": values["data"] | {"context_sentences": 0}, "training": training}


def _swap_section(data: dict[str, Any]) -> None:
    """Exchange the sides of a corpus; a corpus of a mixture may lack any setting."""
    if "prepared" in (data.get("kind"), data.get("choice")):
        raise UserError("data=prepared: its shards have one direction; give the text itself, by data=files")
    given = [data.get(split) or {} for split in SPLITS]
    table = any(files.get("source") and not files.get("target") for files in given)
    if table and None in (data.get("source_field"), data.get("target_field")):
        raise UserError(
            "data.source_field, data.target_field: name the columns, for one model reads the other"
        )
    for first, second in (("source_language", "target_language"), ("source_field", "target_field")):
        if first in data or second in data:
            data[first], data[second] = data.get(second), data.get(first)
    for files in (data[split] for split in SPLITS if split in data):
        files["gold"] = None
        if files.get("target") is not None:  # else one table holds both sides
            files["source"], files["target"] = files["target"], files["source"]


def write_links(forward: Path, backward: Path, path: Path, settings: Settings) -> None:
    """Align the training text with both runs, by the attention that each chose, and write the agreed links.

    The text is that of ``settings``, the user's, not what the runs name.
    """
    use_runtime(find_device("auto"))
    there, back = (load(run, plugins=settings.run.plugins) for run in (forward, backward))
    corpus = load_corpus(settings.data)
    print(f"aligning {len(corpus.train):,} training pairs in both directions")
    whitespace = settings.data.tokenised
    linker = estimated_linker(settings, corpus, there.tokenizers, "the third opinion", whitespace=whitespace)
    links = _majority(_aligned(there, back, corpus.train, whitespace=whitespace), linker)
    with aside(path) as new, new.open("w", encoding="utf-8") as file:
        for found in links:
            print(format_pharaoh(found), file=file)
    print(f"links written to {path}")


def _aligned(
    there: Translator, back: Translator, split: Split, *, whitespace: bool
) -> Iterator[tuple[list[Alignment], list[Alignment]]]:
    """Alignments of both directions, chunk by chunk."""
    for begin in range(0, len(split), CHUNK):
        source, target = (side[begin : begin + CHUNK] for side in (split.source, split.target))
        forward = there.align(source, target, whitespace=whitespace)
        yield forward, back.align(target, source, whitespace=whitespace)


def _majority(aligned: Iterable[tuple[list[Alignment], list[Alignment]]], linker: Linker) -> Iterator[Links]:
    """Links that two of three give: the two models, and word alignment of the same words."""
    begin = 0
    for there, back in aligned:
        sources = [alignment.source_words for alignment in there]
        targets = [alignment.target_words for alignment in there]
        votes = zip(there, back, linker(begin, sources, targets), strict=True)
        yield from (majority(a.links(), swapped(b.links()), estimated) for a, b, estimated in votes)
        begin += len(there)


def _guided_by(values: dict[str, Any], links: Path) -> dict[str, Any]:
    values = copy.deepcopy(values)
    training = values["training"]
    training["guided_links"] = str(links)
    training["guided_alignment"] = training["guided_alignment"] or GARG_WEIGHT
    return values


def _train(
    config: DictConfig, free: Collection[str], run: Path, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> int:
    """Train one of the runs; a finished one is left as it is, and refused if it had other settings."""
    print(f"--- {run}")
    values = change(plain(config))
    values["run"] |= {"name": run.name, "directory": str(run)}
    values["training"]["resume"] = True
    return train(OmegaConf.create(values), free, "the same command")
