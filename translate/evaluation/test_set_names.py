"""Test sets by the names of sacrebleu, read from its folder; nothing is downloaded."""

import os
from pathlib import Path
from typing import Any, NamedTuple

from translate.config.names import did_you_mean, listed, nearest, shorten, shown_path
from translate.errors import UserError


class NamedFiles(NamedTuple):
    """The files of a test set."""

    source: Path
    references: list[Path]


def find_test_set(name: str, pair: str) -> NamedFiles:
    """The files of a test set in sacrebleu's folder: ``$SACREBLEU``, or ``~/.sacrebleu``.

    Args:
        name: such as ``wmt14``.
        pair: the codes of both languages, such as ``en-de``.

    Raises:
        UserError: for a name or a pair that sacrebleu does not know, or if the files are not there; the
            message says which command downloads them.
    """
    from sacrebleu import DATASETS, get_available_testsets, get_langpairs_for_testset

    names = get_available_testsets()
    if name not in names:
        hint = did_you_mean(nearest(name, names))
        raise UserError(
            f"--testset {shorten(name)}: sacrebleu knows no such test set{hint} (sacrebleu --list)"
        )
    pairs = get_langpairs_for_testset(name)
    if pair not in pairs:
        raise UserError(f"--testset {name}: it has no {shorten(pair)}; it has {listed(pairs)}")
    root = Path(os.environ.get("SACREBLEU") or Path.home() / ".sacrebleu")
    folder, stem = root / name, f"{name.replace('/', '_')}.{pair}"
    found = sorted(folder.glob(f"{stem}.ref*")) if folder.is_dir() else []
    wanted = _chosen_references(DATASETS[name], pair)
    source, references = (
        folder / f"{stem}.src",
        [path for path in found if not wanted or path.name.removeprefix(f"{stem}.") in wanted],
    )
    if not source.exists() or not references:
        lacking = source.name if not source.exists() else f"{stem}.ref"
        raise UserError(
            f"--testset {name}: there is no {lacking} in {shown_path(folder)}; with a network, "
            f"sacrebleu -t {name} -l {pair} --echo all > /dev/null downloads it to there (SACREBLEU names "
            f"another folder)"
        )
    return NamedFiles(source, references)


def _chosen_references(dataset: Any, pair: str) -> list[str]:
    """The endings of the references that sacrebleu scores with, where it leaves some out; empty for all."""
    details = dataset.langpairs[pair]
    usual = dataset.kwargs.get("refs", [])
    translators = details.get("refs", usual) if isinstance(details, dict) else usual
    return [f"ref-{translator}" if translator else "ref" for translator in translators]
