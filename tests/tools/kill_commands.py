"""Kills guide, export, corpus, align and evaluate with SIGKILL at random moments.

    python -m tests.tools.kill_commands --kills 10 --seed 1    # kills of every command

Their output must be whole or absent, the run that they read must not change, and ``guide``, started again,
must end as if it had never been killed. The runs are those of ``kill_resume.py``.
"""

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.tools.forks import load_libraries
from tests.tools.kill_resume import PAIRS, differing, kill_in, left_alone, result, settings, whole


def files(path: Path) -> dict[str, bytes] | None:
    """The content of a file, or of every file below a folder; ``None`` if nothing is there."""
    if not path.exists():
        return None
    found = [path] if path.is_file() else [inner for inner in path.rglob("*") if inner.is_file()]
    return {str(inner.relative_to(path)): inner.read_bytes() for inner in found}


def commands(run: Path, folder: Path) -> Iterator[tuple[str, list[str], str | None]]:
    """Commands that write beside runs: name, arguments, and the name of the output."""
    (folder / "a.en").write_text("I love you .\n" * 300)
    (folder / "a.fr").write_text("je t' aime .\n" * 300)
    pairs = ["--source", str(folder / "a.en"), "--target", str(folder / "a.fr")]
    yield "corpus", ["corpus", "--data", "grammar", "data.num_train=20000", "--out"], "corpus"
    yield "export", ["export", str(run), "--format", "bundle", "--out"], "bundle"
    for name in ("links.txt", "weights.jsonl", "corpus.png"):
        yield "align", ["align", "corpus", str(run), *pairs, "--out"], name
    yield "evaluate", ["evaluate", str(run), *pairs[:2], "--reference", str(folder / "a.fr")], None


def kill_commands(
    run: Path, folder: Path, chance: random.Random, kills: int, counts: Counter[str]
) -> list[str]:
    """Kill other commands at random moments; a file with its final name must be whole."""
    wrong: list[str] = []
    log = folder / "commands.log"
    for command, arguments, name in commands(run, folder):
        target = folder / (name or "nothing")
        last = [] if name is None else [str(target)]
        seconds = left_alone([*arguments, *last], log)["whole"]
        expected = files(target)
        for _ in range(kills):
            shutil.rmtree(target, ignore_errors=True) if target.is_dir() else target.unlink(missing_ok=True)
            before = files(run)
            if kill_in("start", [*arguments, *last], log, chance, seconds) is not None:
                counts[command] += 1
            found = files(target)
            if found is not None and not same(found, expected or {}):
                wrong.append(f"{command}: {target} is half-written")
            if files(run) != before:
                wrong.append(f"{command}: the run has changed")
    return wrong


def same(found: dict[str, bytes], expected: dict[str, bytes]) -> bool:
    """Whether every file is whole; some files of a corpus may be missing."""
    finished = {name: content for name, content in found.items() if ".translate-writing-" not in name}
    return all(expected.get(name) == content for name, content in finished.items())


def kill_guide(folder: Path, chance: random.Random, kills: int, counts: Counter[str]) -> list[str]:
    """Kill ``guide``, start it again until it ends, and compare its links and runs."""
    own = ("run.directory=", "training.resume=", "training.max_steps=")  # guide has its own
    given = [value for value in settings(folder, "transformer", PAIRS) if not value.startswith(own)]
    given.append("training.max_steps=15")
    wrong: list[str] = []
    log, expected, target = folder / "guide.log", folder / "guide", folder / "guide-killed"
    seconds = left_alone(["guide", "--out", str(expected), *given], log)["whole"]
    for _ in range(kills):
        killed = kill_in("start", ["guide", "--out", str(target), *given], log, chance, seconds / 2)
        counts["guide"] += killed is not None
        for name in ("forward", "backward", "guided"):
            wrong += whole(target / name) if (target / name).exists() else []
        if (target / "links.txt").exists() and files(target / "links.txt") != files(expected / "links.txt"):
            wrong.append(f"guide: {target / 'links.txt'} is half-written")
        if killed is None:
            shutil.rmtree(target)
    left_alone(["guide", "--out", str(target), *given], log)
    for name in ("forward", "backward", "guided"):
        one, other = result(target / name), result(expected / name)
        wrong += [f"guide: {target / name}: {part} differs" for part in differing(one, other)]
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=10, help="kills of every command")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    load_libraries()
    chance, counts = random.Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="kill-commands-") as name:
        folder = Path(name)
        run = folder / "transformer"
        left_alone(["train", *settings(run, "transformer", PAIRS)], folder / "train.log")
        wrong = kill_commands(run, folder, chance, options.kills, counts)
        wrong += kill_guide(folder, chance, options.kills, counts)
    print("killed:", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(*wrong, f"{len(wrong)} findings", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
