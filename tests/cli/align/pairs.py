"""The sentence pairs that the tests of `translate align` share."""

from pathlib import Path

from translate.config.data import data_config

PAIR = ("I love you .", "je t' aime .")
PAIRS = data_config({"name": "grammar", "kind": "grammar", "num_train": 1, "num_test": 11, "seed": 5})


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path
