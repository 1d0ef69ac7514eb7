"""Hostile values, texts and bytes for `fuzz.py`, and random changes to what is well-formed."""

import os
import random
from pathlib import Path

# fmt: off
NASTY_VALUES = [
    "null", "true", "-1", "0", "1e9", "1e308", "-1e308", ".inf", ".nan", "99999999999999999999", "1" * 5000,
    "''", "x", "[]", "[x]", "[[[]]]", "{}", "{a: {b: c}}", "'${oc.env:HOME}'", "'${hydra:runtime.cwd}'",
    "'${model.width}'", "'${'", "???", "/etc/passwd", "../../x", "'<script>alert(1)</script>'",
    "'| x | `y` |'", '"\\0"', "os.system", "torch.nn.Linear", "torch.load", "translate.models.Transformer",
    "translate.runs.life.train", "builtins.eval", "*a", "!!python/object/apply:os.system [ls]", "é" * 300,
    "&a [*a]",
]
NASTY_TEXTS = [
    "", " ", "\t", "\x00", "\x1b[31m", "\u2028", "\u0085", "\ufeff", "\u202e", "\ud800", "\U0010ffff", "⁇",
    "▁", "<s>", "</s>", "<unk>", "%" + "0" * 2000, "<!--" * 500, "{a:" * 500, "<b>" * 200, "</b>" * 200,
    "<a <b>>", "a" * 20_000, "字" * 5_000, "a " * 5_000, "e\u0301" * 500, "👩‍👩‍👧‍👦" * 50, "שלום", "مرحبا",
    "ไทย" * 30, "I love you .", "<b>I</b> love {0} %s .", "&lt;b&gt;", "${oc.env:HOME}", "'; drop table",
    "=cmd()", "../..", "-", "--help", "0-0", "1p2", "99999999999-0", "0-0 0-0", "NaN",
]
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
    "range(0,10)", "shuffle(range(0,10))", "range(0,10,0)", "glob(*)",
    "glob([*,**],exclude=*)", "choice(1,2,3)", "interval(0,1)", ",".join(["1234567"] * 100), "1,2,3",
    "[" * 30, "{a:" * 30, "str(" * 30, "sort(range(0,10,0.1))", "range(0,1,0.0)", "${a}" * 100,
    "choice(choice(1))", "extend_list(1,2)", "'" + "${run.name}" * 50 + "'", "~", "x" * 200,
]
FILES = [
    "a: " + "[" * 2_000, "a: " + "{b: " * 2_000, "training: {seed: 3}\n", "a: &a [*a]",
    "run.name: x\n",
    "run: {name: '${oc.env:HOME}'}\n", "defaults:\n  - mine\n", "defaults:\n  - override /model: mine\n",
    "training:\n  seed: " + "9" * 5000, "x: " + "1:" * 500 + "1\n", "x: [" + "1," * 500 + "1]",
    "run: {name: '${run.name}${run.name}'}\n", "defaults: 3\n", "defaults: [{a: {b: c}}]\n", "? [a]\n: b\n",
]
NASTY_BYTES = [
    b"\xff", b"\xfe\xff", b"\x00" * 50, b"[" * 50_000, b"{" * 50_000, b"\x80abc", b"\r", b"\n\n\n",
    b"9" * 6_000, *(text.encode("utf-8", "surrogatepass") for text in NASTY_TEXTS),
]
# fmt: on


def mutate_bytes(chance: random.Random, content: bytes) -> bytes:
    """``content`` with a few random changes: cut, overwritten, doubled, or with hostile bytes put in."""
    for _ in range(chance.randint(1, 3)):
        place = chance.randint(0, len(content))
        before, after = content[:place], content[place:]
        piece = after[: chance.randint(1, 200)]
        content = chance.choice(
            [
                before,
                after,
                before + chance.randbytes(chance.randint(1, 9)) + after[3:],
                before + chance.choice(NASTY_BYTES) + after,
                before + piece * chance.randint(2, 50) + after[len(piece) :],
            ]
        )
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
