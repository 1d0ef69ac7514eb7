"""The cases of `fuzz.py`: a function for every kind makes a folder and a command from random numbers."""

import gzip
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import pyarrow.parquet

from tests.tiny_runs import BACKENDS
from tests.tools.fuzz_material import (
    FILES,
    LONG_TEXTS,
    NASTY_TEXTS,
    NASTY_VALUES,
    SWEEPS,
    mutate_bytes,
    mutate_yaml,
    replace_by_special,
)

SENTENCE = "I love you ."


@dataclass
class Case:
    """One command with what it reads.

    Attributes:
        arguments: what follows `translate`.
        folder: holds everything of the case, and is the working directory of the command.
        stdin: bytes of the standard input.
        lines: number of output lines if the command succeeds; any number if ``None``.
        outputs: names in the folder that the command may write.
        as_json: each line of the output must be JSON.
    """

    arguments: list[str]
    folder: Path
    stdin: bytes = b""
    lines: int | None = None
    outputs: set[str] = field(default_factory=set)
    as_json: bool = False


Maker = Callable[[random.Random, Path, Path], Case]


def harm_weights(chance: random.Random, run: Path) -> None:
    """Weights of other kinds, shapes, names or numbers; most without the sums that would tell."""
    import torch
    from safetensors.torch import load_file, save_file

    path = run / "checkpoints" / "best" / "model.safetensors"
    weights = load_file(path)
    for name in chance.sample(sorted(weights), chance.randint(1, 3)):
        tensor = weights.pop(name)
        match chance.randrange(6):
            case 0:
                tensor = tensor.to(chance.choice([torch.int8, torch.bool, torch.int64, torch.float16]))
            case 1:
                tensor = tensor.flatten() if chance.random() < 0.5 else tensor[:1].repeat(1000, 1, 1)
            case 2:
                tensor = tensor.clone()
                tensor.view(-1)[0] = chance.choice([float("nan"), float("inf"), 3e38, -3e38])
            case 3:
                tensor = torch.full_like(tensor, chance.choice([3e38, -1e30, 0.0, 1e-45]))
            case 4:
                name = chance.choice(NASTY_TEXTS).encode("utf-8", "replace").decode() + name
        weights[name] = tensor.contiguous()
    save_file(weights, path)
    sums = path.with_name("SHA256SUMS")
    if chance.random() < 0.8:
        sums.unlink()
    else:
        sums.write_bytes(mutate_bytes(chance, sums.read_bytes()))


def harm_choice(chance: random.Random, run: Path) -> None:
    """A stored choice of attention, or the description of a tokenizer, with other values."""
    path = chance.choice([run / "alignment.json", run / "tokenizer" / "tokenizer.json"])
    values = json.loads(path.read_text())
    part = values.get("choice", values)
    nasty = [None, -1, 10**9, 1e308, "x" * 9999, [], [0] * 9999, {"a": 1}, True, [[0]], "<b>", "\x00"]
    for key in chance.sample(sorted(part), chance.randint(1, len(part))):
        part[key] = chance.choice(nasty)
    path.write_text(json.dumps(values))


def harm_links(chance: random.Random, run: Path) -> None:
    """Links in circles, to folders and to files outside; a file in the place of a folder."""
    path = run / chance.choice(["checkpoints/best", "checkpoints/last", "tokenizer", "checkpoints"])
    aside = path.rename(path.with_name("aside"))
    if to := chance.choice([path.name, "..", "/etc", aside.name, None]):
        path.symlink_to(to)
    else:
        path.write_text("x")


def make_run(chance: random.Random, folder: Path, runs: Path) -> Case:
    """A run directory of a stranger."""
    run = folder / "run"
    shutil.copytree(runs / chance.choice(BACKENDS), run, symlinks=True)
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [path for path in files if "tensorboard" not in path.parts and "plots" not in path.parts]
    path = run / "config.yaml" if chance.random() < 0.6 else chance.choice(files)
    if chance.random() < 0.3:
        chance.choice([harm_weights, harm_choice, harm_links])(chance, run)
    elif chance.random() < 0.15:
        replace_by_special(chance, path)
    elif path.suffix == ".yaml" and chance.random() < 0.8:
        path.write_text(mutate_yaml(chance, path.read_text()))
    else:
        path.write_bytes(mutate_bytes(chance, path.read_bytes()))
    command = chance.choice(
        [
            ["text", "run", SENTENCE],
            ["text", "run", "--format", "jsonl", SENTENCE],
            ["align", "run", SENTENCE],
            ["align", "run", SENTENCE, "--out", "out.html"],
            ["export", "run", "--format", "bundle", "--out", "out"],
            ["evaluate", "run", "--source", "a.en", "--reference", "a.fr"],
            ["align", "report", "run", "--source", "a.en", "--target", "a.fr"],
        ]
    )
    (folder / "a.en").write_text(SENTENCE + "\n")
    (folder / "a.fr").write_text("je t' aime .\n")
    lines = 1 if command[0] == "text" else None
    return Case(command, folder, lines=lines, outputs={"out", "out.html"}, as_json="jsonl" in command)


def make_line(chance: random.Random, folder: Path, runs: Path) -> Case:
    """Hostile lines with every output option."""
    lines = []
    for _ in range(chance.randint(1, 6)):
        parts = [chance.choice(NASTY_TEXTS) for _ in range(chance.randint(0, 4))]
        if chance.random() < 0.06:
            parts.append(chance.choice(LONG_TEXTS))
        line = chance.choice(["", " "]).join(parts).encode("utf-8", "surrogatepass")
        lines.append(
            line.replace(b"\n", b" ") if chance.random() < 0.8 else chance.randbytes(40).replace(b"\n", b"")
        )
    backend = chance.choice(BACKENDS)
    options = line_options(chance)
    if "--sample" not in options and "--mbr" not in options and chance.random() < 0.05:
        options += ["--ensemble", str(runs / backend)]
    arguments = ["text", str(runs / backend), *options]
    stdin = b"\n".join(lines) + b"\n" * (chance.random() < 0.9 or not lines[-1])
    return Case(arguments, folder, stdin, len(lines), as_json="jsonl" in options)


def line_options(chance: random.Random) -> list[str]:
    """Options of `translate text` that go together."""
    options = ["--format", chance.choice(["text", "jsonl"])]
    for option in ("--align", "--markup", "--replace-unknown"):
        options += [option] * (chance.random() < 0.4)
    most = chance.choice([1, 2, 3, 5])
    if chance.random() < 0.2:
        options += chance.choice([["--sample"], ["--mbr", str(most)]])
        given = ["--temperature=0.01", "--temperature=9", "--top-k=3", "--top-p=0.1", "--seed=7"]
    else:
        options += ["--beam-size", str(most), *["--constraint=chat"] * (chance.random() < 0.1)]
        given = ["--length-penalty=3", "--length-normalisation=gnmt", "--coverage-penalty=0.5"]
        given += ["--no-repeat-ngram=2"]
    options += chance.choice([[], [chance.choice(given)]])
    if chance.random() < 0.3:
        options += ["--n-best", str(chance.randint(1, most))]
    odd = ["--prefix=je", "--max-length=1", "--min-length=30", "--max-length-ratio=0", "--min-length-ratio=2"]
    return options + [chance.choice(odd)] * (chance.random() < 0.3)


def make_corpus(chance: random.Random, folder: Path, runs: Path) -> Case:
    """Corpora in files of every format."""
    pairs = [(f"I see {n} dogs .", f"je vois {n} chiens .") for n in range(chance.randint(1, 30))]
    kind = chance.choice(["text", "tsv", "jsonl", "json", "gz", "parquet"])
    if kind in ("text", "gz"):
        contents = ["".join(f"{pair[side]}\n" for pair in pairs).encode() for side in (0, 1)]
        harmed = chance.randrange(2)
        contents[harmed] = mutate_bytes(chance, contents[harmed])
        if kind == "gz":
            source, target = map(gzip.compress, contents)
            bomb = gzip.compress(chance.choice([b"\0", b"\n", b"[[", b"a b\n"]) * (1 << 26), 1)
            contents = [chance.choice([source, mutate_bytes(chance, source), bomb]), target]
        files = {f"train.{language}": content for language, content in zip(("en", "fr"), contents)}
        given = ["data.train.source=train.en", "data.train.target=train.fr"]
    else:
        files = {f"pairs.{kind}": mutate_bytes(chance, make_table(chance, kind, pairs))}
        given = [f"data.train.source=pairs.{kind}"]
    for name, content in files.items():
        (folder / name).write_bytes(content)
    if chance.random() < 0.05:
        replace_by_special(chance, folder / chance.choice(list(files)))
    languages = ["data.source_language=en", "data.target_language=fr"]
    return Case(["corpus", "--data", "files", "--out", "out", *given, *languages], folder, outputs={"out"})


def make_table(chance: random.Random, kind: str, pairs: list[tuple[str, str]]) -> bytes:
    """Pairs as a table with columns of odd names, now and then with an odd row."""
    names = chance.choice([["en", "fr"], ["en", "fr"], ["en", "en", "fr"], ["n" * 5000, "en", "fr"]])
    rows = [(*[source] * (len(names) - 1), target) for source, target in pairs]
    if kind == "tsv":
        ending = chance.choice(["\n"] * 9 + ["\r"])
        return "".join("\t".join(row) + ending for row in [names, *rows]).encode()
    if kind == "parquet":
        columns = [pyarrow.array(column) for column in zip(*rows)]
        if chance.random() < 0.2:
            bad = [chance.choice([b"\xff\xfe", b"a" * 1_000_000])] * chance.choice([9, 300])
            columns = [pyarrow.array(bad).view(pyarrow.string())] * len(names)
        with BytesIO() as file:
            pyarrow.parquet.write_table(pyarrow.table(columns, names), file, compression="zstd")
            return file.getvalue()
    objects = [
        "{" + ", ".join(f'"{name}": {json.dumps(value)}' for name, value in zip(names, row)) + "}"
        for row in rows
    ]
    if chance.random() < 0.2:
        objects[-1] = chance.choice(['{"en": ' + "9" * 5000 + "}", '{"en":' * 20_000, '{"en": {}}'])
    return (f"[{', '.join(objects)}]" if kind == "json" else "".join(f"{row}\n" for row in objects)).encode()


def make_config(chance: random.Random, folder: Path, runs: Path) -> Case:
    """Settings on the command line and in files of the user."""
    keys = re.findall(r"^( *)([a-z_]+):", (runs / "transformer" / "config.yaml").read_text(), re.MULTILINE)
    path: list[str] = []
    paths = []
    for indent, key in keys:
        path = [*path[: len(indent) // 2], key]
        paths.append(".".join(path))
    overrides: list[str] = []
    sweeps = chance.random() < 0.3
    for _ in range(chance.randint(1, 4)):
        key = chance.choice(
            [*paths, "model", "data", "model/attention", "optimizer", "schedule", "experiment"]
        )
        if chance.random() < 0.2:
            key = mutate_bytes(chance, key.encode()).decode("utf-8", "replace").replace("\0", "")[:500]
        value = chance.choice(
            [*NASTY_VALUES, "transformer", "rnn_luong", "grammar", "dot", "local_p", "3", "0.5"]
            + SWEEPS * (sweeps or chance.random() < 0.1)
        )
        overrides.append(chance.choice(["", "", "", "+", "++", "~"]) + f"{key}={value}"[:20_000])
    arguments = ["train", *[override.replace("\0", "") for override in overrides]]
    if chance.random() < 0.3:
        own = folder / "conf" / chance.choice(["experiment", "model", "optimizer", ""]) / "mine.yaml"
        own.parent.mkdir(parents=True)
        content = chance.choice(["# @package _global_\n", ""]) + chance.choice(FILES)
        own.write_bytes(mutate_bytes(chance, content.encode()) if chance.random() < 0.4 else content.encode())
        if chance.random() < 0.1:
            replace_by_special(chance, own)
        group = own.parent.name
        arguments += ["--config-name", "mine"] if group == "conf" else [f"{group}=mine"]
        arguments += ["--config-dir", "conf"]
    # nothing is trained: the options end the command, or the last override is wrong
    return Case([*arguments, *(["training.seed=x", "--multirun"] if sweeps else ["--cfg", "job"])], folder)


def make_gold(chance: random.Random, folder: Path, runs: Path) -> Case:
    """Gold and link files."""
    count = chance.randint(1, 4)
    (folder / "a.en").write_text(f"{SENTENCE}\n" * count)
    (folder / "a.fr").write_text("je t' aime .\n" * count)
    links = "".join(
        chance.choice(["0-0 1-2", "0-0 1p1 2-2", "", "3-3:0.5", "1 0 0 S\n"]) + "\n" for _ in range(count)
    )
    name = chance.choice(["gold", "gold.talp", "gold.jsonl"])
    links += chance.choice(["", "", "0-0 " * 20_000, "9" * 5000 + "-0", "1 " * 50_000, "999999999 1 1\n"])
    (folder / name).write_bytes(mutate_bytes(chance, links.encode()))
    if chance.random() < 0.1:
        replace_by_special(chance, folder / chance.choice([name, "a.en", "a.fr"]))
    run = str(runs / chance.choice(BACKENDS))
    if chance.random() < 0.5:
        arguments = ["evaluate", run, "--source", "a.en", "--reference", "a.fr", "--gold", name]
    else:
        arguments = ["align", run, SENTENCE, "je t' aime .", "--links", name, "--out", "out.png"]
    return Case(arguments, folder, outputs={"out.png"})


def make_command(chance: random.Random, folder: Path, runs: Path) -> Case:
    """Command lines of random words."""
    run = str(runs / chance.choice(BACKENDS))
    # fmt: off
    words = [
        "text", "align", "evaluate", "export", "corpus", "doctor", "guide", run, run, SENTENCE, "--out",
        "out.png", "out", "--align", "--n-best", "3", "--beam-size", "1e9", "-1", "0", "--format", "jsonl",
        "bundle", "ctranslate2", "--help", "--version", "--source", "a.en", "--reference", "--gold",
        "--mbr", "2", "--sample", "--top-p", "nan", "--temperature", "inf", "--max-length", "99999999",
        "--prefix", "--constraint", "--seed", "--threads", "--device", "cuda", "--plugin", "os",
        "--ensemble", "--heads", "--calibrate", "--report", "--reverse", "--method", "erasure",
        "--threshold", "2", *chance.sample(NASTY_TEXTS, 5),
    ]
    # fmt: on
    (folder / "a.en").write_text(SENTENCE + "\n")
    chosen = [chance.choice(words) for _ in range(chance.randint(0, 8))]
    if chance.random() < 0.6:
        chosen = [chance.choice(["text", "align", "evaluate", "export"]), run, *chosen]
    chosen = [word.replace("\0", "")[:30_000] for word in chosen if word != "guide"]
    stored = {"out.png", "out", *(word for word in chosen if "/" not in word and len(word) < 100)}
    return Case(chosen, folder, stdin=b"a\n", outputs=stored)


MAKERS: dict[str, Maker] = {
    "run": make_run,
    "line": make_line,
    "corpus": make_corpus,
    "config": make_config,
    "gold": make_gold,
    "command": make_command,
}
