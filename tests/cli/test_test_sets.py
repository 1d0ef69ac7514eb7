"""Test sets in sacrebleu's own layout, in a folder that the test writes. Nothing is downloaded."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from translate.cli.test_sets import find_test_set
from translate.errors import UserError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    return tmp_path


def write(root: Path, name: str, pair: str, endings: list[str]) -> None:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    for ending in endings:
        (folder / f"{name.replace('/', '_')}.{pair}.{ending}").write_text(f"a line of {ending}\n")


def test_files_are_those_that_sacrebleu_reads(root: Path) -> None:
    """Where all files are there, sacrebleu itself downloads nothing and names the same ones."""
    write(root, "wmt14", "en-de", ["src", "ref", "docid", "genre", "origlang"])
    write(root, "wmt17/tworefs", "en-fi", ["src", "ref-0", "ref-1", "docid", "genre", "origlang"])
    program = (
        "import json, sacrebleu, sys; "
        "print(json.dumps([[sacrebleu.get_source_file(*names), sacrebleu.get_reference_files(*names)] "
        "for names in json.loads(sys.argv[1])]))"
    )
    sets = [("wmt14", "en-de"), ("wmt17/tworefs", "en-fi")]
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(sets)],
        env={**os.environ, "SACREBLEU": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    for names, expected in zip(sets, json.loads(done.stdout), strict=True):
        source, references = find_test_set(*names)
        assert [str(source), list(map(str, references))] == expected
    assert len(find_test_set("wmt17/tworefs", "en-fi")[1]) == 2


@pytest.mark.parametrize(("pair", "chosen"), [("en-de", "A"), ("en-cs", "B")])
def test_references_that_sacrebleu_leaves_out(pair: str, chosen: str, root: Path) -> None:
    """Of several translators, sacrebleu 2.6 scores wmt22 with the recommended one alone."""
    write(root, "wmt22", pair, ["src", "ref-A", "ref-B"])
    assert [path.name for path in find_test_set("wmt22", pair)[1]] == [f"wmt22.{pair}.ref-{chosen}"]


@pytest.mark.parametrize(
    ("name", "pair", "message"),
    [
        ("wmt41", "en-de", "sacrebleu knows no such test set; did you mean wmt"),
        ("wmt14", "en-xx", "wmt14: it has no en-xx; it has cs-en, "),
        ("wmt14", "en-de", "there is no wmt14.en-de.src in "),
        ("wmt15", "en-de", "there is no wmt15.en-de.ref in "),
    ],
)
def test_sets_that_are_not_at_hand(root: Path, name: str, pair: str, message: str) -> None:
    write(root, "wmt15", "en-de", ["src"])
    with pytest.raises(UserError) as raised:
        find_test_set(name, pair)
    assert message in str(raised.value)
    if "there is no" in message:
        assert f"sacrebleu -t {name} -l {pair} --echo all > /dev/null downloads it" in str(raised.value)
        assert str(root / name) in str(raised.value)
