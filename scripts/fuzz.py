"""Mutates what a stranger could hand in, and looks for crashes, hangs, lost lines and changed inputs.

    python scripts/fuzz.py --seconds 60 --seed 1                 # for a minute, over all kinds
    python scripts/fuzz.py --cases 2000 --kind run --kind line   # so many cases of two kinds
    python scripts/fuzz.py --repeat line:17                      # one case once more, with what it printed

A case is made of its kind and number alone, so a finding can be repeated. Each runs in a process of its own,
forked from one that has torch loaded, with 2 GiB of memory and 20 s of a processor. A command must end by
itself with one of its exit codes, print no traceback, change no input, write nothing but its output, and
answer each line with one line.
"""

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SECONDS, MEMORY = 20.0, 2 << 30  # of a case: seconds of the processor, bytes
WALL = 6 * SECONDS  # seconds by the clock; a machine with other work is slow
EXIT_CODES = {0, 1, 2, 75, 130}
BACKENDS = ("transformer", "rnn_bahdanau", "rnn_luong")
SENTENCE = "I love you ."

SMALL = [
    "data.num_train=400",
    "data.num_validation=7",
    "data.num_test=7",
    "tokenizer.vocabulary_size=320",
    "training.batch_tokens=300",
    "training.max_steps=30",
    "training.validate_every=30",
    "schedule=constant",
    "schedule.warmup=5",
    "alignment.calibration_pairs=5",
    "runtime.threads=1",
    "runtime.cache=null",
]
SIZES = {
    "transformer": [
        "model.width=16",
        "model.feedforward_size=24",
        "model.num_heads=2",
        "model.encoder_layers=1",
        "model.decoder_layers=2",
    ],
    "rnn_bahdanau": ["model.embedding_size=16", "model.encoder_size=12", "model.decoder_size=20"],
    "rnn_luong": ["model.embedding_size=16", "model.encoder_size=12", "model.decoder_size=20"],
}

# fmt: off
NASTY_VALUES = [
    "null", "true", "-1", "0", "1e9", "1e308", "-1e308", ".inf", ".nan", "99999999999999999999", "1" * 5000,
    "''", "x", "[]", "[x]", "[[[]]]", "{}", "{a: {b: c}}", "'${oc.env:HOME}'", "'${hydra:runtime.cwd}'",
    "'${model.width}'", "'${'", "???", "/etc/passwd", "../../x", "'<script>alert(1)</script>'",
    "'| x | `y` |'", '"\\0"', "os.system", "torch.nn.Linear", "torch.load", "translate.models.Transformer",
    "translate.runs.life.train", "builtins.eval", "*a", "!!python/object/apply:os.system [ls]", "é" * 300,
    "&a [*a]",
]
# fmt: on
# fmt: off
NASTY_TEXTS = [
    "", " ", "\t", "\x00", "\x1b[31m", "\u2028", "\u0085", "\ufeff", "\u202e", "\ud800", "\U0010ffff", "⁇",
    "▁", "<s>", "</s>", "<unk>", "%" + "0" * 2000, "<!--" * 500, "{a:" * 500, "<b>" * 200, "</b>" * 200,
    "<a <b>>", "a" * 20_000, "字" * 5_000, "a " * 5_000, "e\u0301" * 500, "👩‍👩‍👧‍👦" * 50, "שלום", "مرحبا",
    "ไทย" * 30, "I love you .", "<b>I</b> love {0} %s .", "&lt;b&gt;", "${oc.env:HOME}", "'; drop table",
    "=cmd()", "../..", "-", "--help", "0-0", "1p2", "99999999999-0", "0-0 0-0", "NaN",
]
# fmt: on
# fmt: off
LONG_TEXTS = [  # whole lines
    "%" + "0" * 20_000, "<!--" * 20_000, "{a:" * 20_000, "字" * 100_000, "a " * 30_000, "x" * 200_000,
    "<b>" * 1_000 + "I love you ." + "</b>" * 1_000, "<b>I </b>" * 900, "I<br/>" * 250, "<a<b" * 9_000,
    "<a " + "'" * 9_999, "{" * 9_000 + "0" + "}" * 9_000, "!" * 20_000 + "x", "A. " * 20_000,
    "\"" * 20_000 + ".", "e\u0301" * 20_000, "я" * 30_000, "👩\u200d" * 9_000, "<b>字</b>" * 200,
    " " * 90_000 + "a", "I love you . " * 700, "日本。" * 3_000, "<a x=\"" * 5_000, "1." * 9_000,
    "ไทย" * 9_000, "\r" * 999, "⁇ " * 400,
    "".join(f"<a{n}>" for n in range(3_000)) + "".join(f"</a{n}>" for n in range(3_000)),
]
SWEEPS = [
    "range(0,1000000000)", "range(0,1,1e-9)", "shuffle(range(0,1000000000))", "range(0,10,0)", "glob(*)",
    "glob([*,**],exclude=*)", "choice(1,2,3)", "interval(0,1)", ",".join(["1234567"] * 100), "1,2,3",
    "[" * 3000, "{a:" * 300, "str(" * 300, "sort(range(0,1000000000,0.1))", "range(0,1,0.0)", "${a}" * 100,
    "choice(choice(1))", "extend_list(1,2)", "'" + "${run.name}" * 50 + "'", "~", "x" * 20_000,
]
FILES = [
    "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40)),
    "a: " + "[" * 100_000, "a: " + "{b: " * 50_000, "training: {seed: 3}\n", "a: &a [*a]",
    "run.name: x\n",
    "run: {name: '${oc.env:HOME}'}\n", "defaults:\n  - mine\n", "defaults:\n  - override /model: mine\n",
    "training:\n  seed: " + "9" * 5000, "x: " + "1:" * 50_000 + "1\n", "x: [" + "1," * 200_000 + "1]",
    "run: {name: '${run.name}${run.name}'}\n", "defaults: 3\n", "defaults: [{a: {b: c}}]\n", "? [a]\n: b\n",
]
# fmt: on
NASTY_BYTES = [
    b"\xff",
    b"\xfe\xff",
    b"\x00" * 50,
    b"[" * 50_000,
    b"{" * 50_000,
    b"\x80abc",
    b"\r",
    b"\n\n\n",
    b"9" * 6_000,
]


@dataclass
class Case:
    """One command with what it reads.

    Attributes:
        arguments: of `translate`.
        folder: where everything of the case lies; the working directory of the command.
        stdin: bytes, or nothing.
        lines: how many lines the standard output must have if the command succeeds; any if ``None``.
        outputs: names in the folder that the command may write.
        as_json: whether each line of the output must be JSON.
    """

    arguments: list[str]
    folder: Path
    stdin: bytes = b""
    lines: int | None = None
    outputs: set[str] = field(default_factory=set)
    as_json: bool = False


Maker = Callable[[random.Random, Path, Path], Case]


def mutate_bytes(chance: random.Random, content: bytes) -> bytes:
    """``content`` with a few random changes: cut, flipped, doubled, or with hostile bytes put in."""
    for _ in range(chance.randint(1, 3)):
        place = chance.randint(0, len(content))
        match chance.randrange(6):
            case 0:
                content = content[:place]
            case 1:
                content = content[:place] + chance.randbytes(chance.randint(1, 9)) + content[place + 3 :]
            case 2:
                content = content[:place] + chance.choice(NASTY_BYTES) + content[place:]
            case 3:
                content = (
                    content[:place]
                    + chance.choice(NASTY_TEXTS).encode("utf-8", "surrogatepass")
                    + content[place:]
                )
            case 4:
                end = min(len(content), place + chance.randint(1, 200))
                content = content[:end] + content[place:end] * chance.randint(1, 50) + content[end:]
            case 5:
                content = content[chance.randint(0, len(content)) :]
    return content


def mutate_yaml(chance: random.Random, text: str) -> str:
    """YAML with a few values, keys or lines changed."""
    lines = text.split("\n")
    for _ in range(chance.randint(1, 3)):
        number = chance.randrange(len(lines))
        key, colon, _ = lines[number].partition(":")
        match chance.randrange(5):
            case 0 | 1 | 2 if colon:
                lines[number] = f"{key}: {chance.choice(NASTY_VALUES)}"
            case 3:
                del lines[number]
            case _:
                lines.insert(number, f"{key}x{colon} {chance.choice(NASTY_VALUES)}")
        lines = lines or [""]
    return "\n".join(lines)


def replace_by_special(chance: random.Random, path: Path) -> None:
    """Put something in the place of a file that is no such file."""
    path.unlink(missing_ok=True)
    match chance.randrange(5):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            path.mkdir()
        case 3:
            path.symlink_to("/etc/passwd")
        case 4:
            with path.open("wb") as file:
                file.truncate(1 << 40)


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
    """Links in circles, to folders and to files outside; folders in the place of files."""
    path = chance.choice(
        [run / "checkpoints" / "best", run / "checkpoints" / "last", run / "tokenizer", run / "checkpoints"]
    )
    aside = path.with_name("aside")
    path.rename(aside)
    match chance.randrange(5):
        case 0:
            path.symlink_to(path.name)
        case 1:
            path.symlink_to("..")
        case 2:
            path.symlink_to("/etc")
        case 3:
            path.symlink_to(aside.name)
        case 4:
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
    if chance.random() < 0.15:
        options += ["--split-sentences"]
    else:
        for option in ("--align", "--markup", "--replace-unknown"):
            options += [option] * (chance.random() < 0.4)
    if chance.random() < 0.2:
        drawn = chance.choice(["2", "4"])
        options += chance.choice([["--sample"], ["--mbr", drawn]])
        given = [["--temperature", "0.01"], ["--temperature", "9"], ["--top-k", "3"], ["--top-p", "0.1"]]
        options += chance.choice([*given, ["--seed", "7"], []])
        most = int(drawn)
    else:
        most = chance.choice([1, 2, 3, 5])
        options += ["--beam-size", str(most)]
        given = [
            ["--length-penalty", "-3"],
            ["--length-normalisation", "gnmt"],
            ["--coverage-penalty", "0.5"],
        ]
        options += chance.choice([*given, ["--no-repeat-ngram", "2"], [], [], []])
        options += ["--constraint", chance.choice(["chat", "je t'", "."])] * (chance.random() < 0.15)
    if "--split-sentences" not in options and chance.random() < 0.3:
        options += ["--n-best", str(chance.randint(1, most))]
    options += ["--prefix", chance.choice(["je", "il y a"])] * (chance.random() < 0.1)
    lengths = [
        ["--max-length", "1"],
        ["--min-length", "30"],
        ["--max-length-ratio", "0"],
        ["--min-length-ratio", "2"],
    ]
    return options + chance.choice([*lengths, *[[]] * 12])


def make_corpus(chance: random.Random, folder: Path, runs: Path) -> Case:
    """Corpora in files of every format."""
    pairs = [(f"I see {n} dogs .", f"je vois {n} chiens .") for n in range(chance.randint(1, 30))]
    kind = chance.choice(["text", "tsv", "jsonl", "json", "gz", "parquet"])
    sides = [["\n".join(pair[side] for pair in pairs) + "\n"] for side in (0, 1)]
    source, target = folder / "train.en", folder / "train.fr"
    if kind in ("text", "gz"):
        contents = [sides[0][0].encode(), sides[1][0].encode()]
        contents[chance.randrange(2)] = mutate_bytes(chance, contents[chance.randrange(2)])
        if chance.random() < 0.1:
            contents[0] = contents[0].replace(b"\n", b"\r")
        if kind == "gz":
            contents = [gzip.compress(each) for each in contents]
            if chance.random() < 0.3:
                contents[0] = gzip.compress(chance.choice([b"\0", b"\n", b"[[", b"a b\n"]) * (1 << 26), 1)
            elif chance.random() < 0.5:
                contents[0] = mutate_bytes(chance, contents[0])
        source.write_bytes(contents[0])
        target.write_bytes(contents[1])
        given = [f"data.train.source={source.name}", f"data.train.target={target.name}"]
    else:
        table = folder / f"pairs.{kind}"
        names = chance.choice([["en", "fr"], ["en", "fr"], ["en", "en", "fr"], ["n" * 5000, "en", "fr"]])
        rows = [(*[s] * (len(names) - 1), t) for s, t in pairs]
        objects = [
            "{" + ", ".join(f'"{name}": {json.dumps(value)}' for name, value in zip(names, row)) + "}"
            for row in rows
        ]
        if chance.random() < 0.2:
            objects[-1] = chance.choice(['{"en": ' + "9" * 5000 + "}", '{"en":' * 20_000, '{"en": {}}'])
        if kind == "tsv":
            content = "".join("\t".join(row) + "\n" for row in [names, *rows]).encode()
            content = content.replace(b"\n", b"\r") if chance.random() < 0.1 else content
        elif kind == "jsonl":
            content = "".join(f"{each}\n" for each in objects).encode()
        elif kind == "json":
            content = f"[{', '.join(objects)}]".encode()
        else:
            import pyarrow
            import pyarrow.parquet

            columns = [pyarrow.array(column) for column in zip(*rows)]
            if chance.random() < 0.2:
                bad = pyarrow.array(
                    [chance.choice([b"\xff\xfe", b"a" * 1_000_000])] * chance.choice([9, 300])
                )
                columns = [bad.view(pyarrow.string())] * len(names)
            pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, names), table, compression="zstd")
            content = table.read_bytes()
        table.write_bytes(mutate_bytes(chance, content))
        given = [f"data.train.source={table.name}"]
    if chance.random() < 0.05:
        replace_by_special(chance, folder / given[0].partition("=")[2])
    languages = ["data.source_language=en", "data.target_language=fr"]
    return Case(["corpus", "--data", "files", "--out", "out", *given, *languages], folder, outputs={"out"})


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
    arguments = ["train", *[each.replace("\0", "") for each in overrides]]
    if chance.random() < 0.3:
        own = folder / "conf" / chance.choice(["experiment", "model", "optimizer", ""]) / "mine.yaml"
        own.parent.mkdir(parents=True)
        content = chance.choice(["# @package _global_\n", ""]) + chance.choice(FILES)
        own.write_bytes(mutate_bytes(chance, content.encode()) if chance.random() < 0.4 else content.encode())
        if chance.random() < 0.1:
            replace_by_special(chance, own)
        group = own.parent.name
        arguments += ["--config-name", "mine"] if group == "conf" else [f"{group}=mine"]
        arguments += [chance.choice(["--config-dir", "--config-dir", "--config-path"]), "conf"]
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
    """Command lines."""
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
    chosen = [each.replace("\0", "")[:30_000] for each in chosen if each != "guide"]
    stored = {"out.png", "out", *(each for each in chosen if "/" not in each and len(each) < 100)}
    return Case(chosen, folder, stdin=b"a\n", outputs=stored)


MAKERS: dict[str, Maker] = {
    "run": make_run,
    "line": make_line,
    "corpus": make_corpus,
    "config": make_config,
    "gold": make_gold,
    "command": make_command,
}


def contents(folder: Path) -> dict[str, str]:
    """Every file below ``folder`` with a checksum; of special ones the kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link {os.readlink(path)}"
        elif path.is_file() and path.stat().st_size < 1 << 28:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = f"mode {path.lstat().st_mode}"
    return found


def run_child(case: Case, out: Path) -> tuple[int, float, int]:
    """Run the command in a forked process: wait status, seconds, and most memory in bytes."""
    (out / "stdin").write_bytes(case.stdin)
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.setsid()
        limit = MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number, (name, flags) in enumerate(
            (
                ("stdin", os.O_RDONLY),
                ("stdout", os.O_WRONLY | os.O_CREAT),
                ("stderr", os.O_WRONLY | os.O_CREAT),
            )
        ):
            os.dup2(os.open(out / name, flags, 0o600), number)
        sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        sys.stdout, sys.stderr = open(1, "w", encoding="utf-8"), open(2, "w", encoding="utf-8")  # noqa: SIM115
        os.chdir(case.folder)
        sys.argv = ["translate", *case.arguments]
        code = 99
        try:
            from translate.cli.main import main

            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    while time.monotonic() - began < WALL and processor_seconds(child) < SECONDS:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, time.monotonic() - began, usage.ru_maxrss * 1024
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return -1, time.monotonic() - began, usage.ru_maxrss * 1024


def processor_seconds(pid: int) -> float:
    """The time that processors have spent on a child that was not waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def judge(case: Case, out: Path, before: dict[str, str], result: tuple[int, float, int]) -> list[str]:
    """What is wrong with a case, if anything."""
    status, seconds, memory = result
    printed = (out / "stdout").read_bytes() if (out / "stdout").exists() else b""
    errors = (out / "stderr").read_bytes() if (out / "stderr").exists() else b""
    found = []
    if status == -1:
        found.append(f"hangs: killed after {seconds:.0f} s")
    elif os.WIFSIGNALED(status):
        found.append(f"dies of signal {os.WTERMSIG(status)}")
    elif os.WEXITSTATUS(status) not in EXIT_CODES:
        found.append(f"ends with exit code {os.WEXITSTATUS(status)}")
    if b"Traceback (most recent call last)" in printed + errors:
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
        found.append(f"prints a traceback: {last[0][:150]}")
    if b"could not be translated" in errors:
        found.append(f"loses a line: {errors.decode('utf-8', 'replace').strip().splitlines()[-1][:150]}")
    if memory > MEMORY + (512 << 20):
        found.append(f"takes {memory / 2**30:.1f} GiB")
    longest = max((len(line) for line in errors.splitlines() if line.startswith(b"error:")), default=0)
    if longest > 1500:
        found.append(f"prints an error of {longest:,} bytes")
    succeeded = status != -1 and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    if succeeded and case.lines is not None:
        rows = printed.decode("utf-8", "replace").split("\n")[:-1]
        if len(rows) != case.lines:
            found.append(f"gives {len(rows)} lines for {case.lines}")
        elif case.as_json:
            try:
                for row in rows:
                    json.loads(row)
            except ValueError as error:
                found.append(f"prints what is no JSON: {error}")
    after = contents(case.folder)
    changed = [
        name
        for name, sum_ in before.items()
        if after.get(name) != sum_ and name.split("/")[0] not in case.outputs
    ]
    beside = [name for name in after.keys() - before.keys() if name.split("/")[0] not in case.outputs]
    if changed:
        found.append(f"changes {changed[0]}")
    if beside:
        found.append(f"writes {beside[0]}")
    return found


def try_case(kind: str, number: int, runs: Path, *, show: bool = False) -> list[str]:
    """Make a case, run it, and say what is wrong."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        place, out = Path(folder) / "case", Path(folder) / "out"
        place.mkdir()
        out.mkdir()
        case = MAKERS[kind](random.Random(f"{kind}:{number}"), place, runs)
        before = contents(place)
        found = judge(case, out, before, run_child(case, out))
        if show:
            print("translate", *(repr(each)[:200] for each in case.arguments))
            for name in ("stdout", "stderr"):
                if (out / name).exists():
                    print(
                        f"--- {name}", (out / name).read_bytes()[-4000:].decode("utf-8", "replace"), sep="\n"
                    )
        return found


def train_runs(folder: Path) -> None:
    """Three tiny runs, unless they are there."""
    for backend in BACKENDS:
        run = folder / backend
        if (run / "scores.json").exists():
            continue
        pid = os.fork()
        if not pid:
            from translate.cli.main import main

            sys.argv = [
                "translate",
                "train",
                f"model={backend}",
                f"run.directory={run}",
                *SMALL,
                *SIZES[backend],
            ]
            with open(os.devnull, "w") as quiet:
                os.dup2(quiet.fileno(), 1)
                main()
            os._exit(0)
        os.waitpid(pid, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--seed", type=int, default=1, help="number of the first case, in thousands")
    parser.add_argument("--kind", action="append", choices=MAKERS, help="only these kinds; all by default")
    parser.add_argument("--repeat", help="KIND:NUMBER of one case")
    parser.add_argument("--runs", type=Path, default=Path(tempfile.gettempdir()) / "translate-fuzz-runs")
    options = parser.parse_args()
    os.environ["TRANSLATE_CACHE"] = str(options.runs / "cache")
    options.runs.mkdir(parents=True, exist_ok=True)
    train_runs(options.runs)
    import datasets  # noqa: F401  loaded once, before the forks
    import hydra  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import torch

    import translate.runs.life
    import translate.translator  # noqa: F401

    torch.set_num_threads(1)
    if options.repeat:
        kind, _, number = options.repeat.partition(":")
        print(*(try_case(kind, int(number), options.runs, show=True) or ["nothing is wrong"]), sep="\n")
        return 0
    if options.seconds is None and options.cases is None:
        options.seconds = 60.0
    kinds = options.kind or list(MAKERS)
    began, done, findings = time.monotonic(), 0, Counter[str]()
    while (options.cases is None or done < options.cases) and (
        options.seconds is None or time.monotonic() - began < options.seconds
    ):
        kind, number = kinds[done % len(kinds)], options.seed * 1000 + done // len(kinds)
        for each in try_case(kind, number, options.runs):
            findings[kind] += 1
            print(f"{kind}:{number}: {each}", flush=True)
        done += 1
    total, seconds = sum(findings.values()), time.monotonic() - began
    print(f"{done:,} cases in {seconds:.0f} s, {total} findings {dict(findings) or ''}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
