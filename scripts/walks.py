"""Writes the walks of docs/architecture.md: the files that a sentence and an optimizer step pass through.

    python scripts/walks.py           # print both walks
    python scripts/walks.py --docs    # write the tables of docs/architecture.md
    python scripts/walks.py --check   # compare the files of these tables with the code

It trains a tiny model with the settings of the demo's Transformer, follows its training from the end of one
optimizer step to the end of the next, and then the translation of a sentence with its alignment. The files of
the package come in the order of their first call, with the first functions that are called there.
"""

import argparse
import re
import sys
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import translate

PACKAGE = Path(translate.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
SENTENCE = "I love you ."
LISTED = 5  # functions of a file
KERNELS = "attention/kernels/"  # which of them run depends on the processor
# The demo's Transformer, but small and briefly trained.
SETTINGS = (
    "experiment=demo_transformer",
    "data.num_train=300",
    "data.num_validation=5",
    "data.num_test=3",
    "model.width=32",
    "model.feedforward_size=32",
    "training.max_steps=3",
    "training.validate_every=3",
    "schedule.warmup=1",
    "alignment.calibration_pairs=3",
    "search.max_length_extra=3",
    "runtime.device=cpu",
    "runtime.threads=1",
    "runtime.cache=null",
)


class Walk:
    """Notes calls inside the package, as a function for `sys.setprofile`.

    Attributes:
        functions: the names of the functions that were called, by file, in the order of their first call.
        hand_overs: calls of a function, for the first time, from a function of another file.
    """

    def __init__(self) -> None:
        self.functions: dict[str, list[str]] = {}
        self.hand_overs = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        file, name = _file_of(frame), frame.f_code.co_qualname
        if event != "call" or file is None or frame.f_code.co_name.startswith(("__", "<")):
            return
        functions = self.functions.setdefault(file, [])
        if name in functions:
            return
        functions.append(name)
        caller = frame.f_back
        while caller is not None and _file_of(caller) is None:
            caller = caller.f_back
        self.hand_overs += caller is not None and _file_of(caller) != file

    def table(self) -> str:
        """The walk in Markdown."""
        lines = ["| file | functions |", "| --- | --- |"]
        for file, names in self.functions.items():
            outer = [name for name in names if "<locals>" not in name]
            public = [name for name in outer if not re.search(r"(^|\.)_", name)]
            shown = ", ".join(f"`{name}`" for name in (public or outer or names)[:LISTED])
            lines.append(f"| `{file}` | {shown}{', ...' if len(public) > LISTED else ''} |")
        return "\n".join(lines)


def _file_of(frame: FrameType) -> str | None:
    """The path of a frame's file below the package, or ``None`` outside of it."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


def training_walk(directory: Path) -> Walk:
    """Train a tiny model into ``directory``; returns the walk from its second step to its third."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    from translate.config.composer import compose
    from translate.config.settings import check_config
    from translate.runs.life import train

    walk, stepped = Walk(), list[object]()

    def after_step(optimizer: object, arguments: object, options: object) -> None:
        stepped.append(optimizer)
        if optimizer is stepped[0]:  # Muon leaves a part of the parameters to another optimizer
            sys.setprofile(walk if stepped.count(optimizer) == 2 else None)

    hook = register_optimizer_step_post_hook(after_step)
    try:
        with redirect_stdout(StringIO()):
            train(compose([*SETTINGS, f"run.directory={directory}"], check=check_config))
    finally:
        hook.remove()
        sys.setprofile(None)
    return walk


def translation_walk(directory: Path) -> Walk:
    """The walk of one sentence through the translator of a run; the sentence was translated before."""
    translator = translate.load(directory, device="cpu")
    translator.translate([SENTENCE], alignments=True)
    walk = Walk()
    sys.setprofile(walk)
    try:
        alignment = translator.translate([SENTENCE], alignments=True)[0].alignment
        assert alignment is not None
        alignment.pharaoh()
    finally:
        sys.setprofile(None)
    return walk


def walks() -> dict[str, Walk]:
    """Both walks, by the names of their marks in the page."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        return {"training": training_walk(run), "translation": translation_walk(run)}


def stale(page: str, name: str, walk: Walk) -> str | None:
    """The difference between the files of a table in the page and of a walk, or ``None``."""
    table = page.split(f"<!-- walk: {name} -->")[1]
    listed = [
        file for file in re.findall(r"^\| `([\w/]+\.py)` \|", table, re.MULTILINE) if KERNELS not in file
    ]
    found = [file for file in walk.functions if KERNELS not in file]
    if listed == found:
        return None
    new, gone = (
        ", ".join(sorted(files)) or "none" for files in (set(found) - set(listed), set(listed) - set(found))
    )
    return (
        f"{PAGE.name}: the {name} walk has other files: new {new}; gone {gone}; run scripts/walks.py --docs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--docs", action="store_true", help="write the tables of docs/architecture.md")
    parser.add_argument("--check", action="store_true", help="end with an error if the tables are stale")
    arguments = parser.parse_args()
    page, wrong = PAGE.read_text(encoding="utf-8"), []
    for name, walk in walks().items():
        print(f"{name}: {len(walk.functions)} files, {walk.hand_overs} hand-overs\n{walk.table()}\n")
        wrong.append(stale(page, name, walk))
        mark = f"<!-- walk: {name} -->"
        before, _, after = page.split(mark)
        page = mark.join([before, f"\n{walk.table()}\n", after])
    if arguments.docs:
        PAGE.write_text(page, encoding="utf-8")
    elif arguments.check and any(wrong):
        sys.exit("\n".join(filter(None, wrong)))


if __name__ == "__main__":
    main()
