"""`scripts/agreement.py` from end to end, with an executable in eflomal's place whose links are known."""

import json
import sys
from pathlib import Path

import pytest

import translate
from scripts import agreement

EFLOMAL = """#!/bin/sh
while [ $# -gt 1 ]; do case $1 in -s) lines=$2;; -f) there=$2;; -r) back=$2;; esac; shift; done
sed 's/.*/0-0 1-1/' "$lines" > "$there"
sed 's/.*/0-0 2-1/' "$lines" > "$back"
"""


def test_links_of_two_runs_and_two_aligners(
    tmp_path: Path,
    tiny_runs: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, target, executable = tmp_path / "a.en", tmp_path / "a.fr", tmp_path / "eflomal-align"
    source.write_text("I love you .\n\nI see the dog .\n" * 20)
    target.write_text("je t' aime .\n\nje vois le chien .\n" * 20)
    executable.write_text(EFLOMAL)
    executable.chmod(0o755)
    runs = [str(tiny_runs[name]) for name in ("transformer", "rnn_luong")]
    files = ["--source", str(source), "--target", str(target), "--symmetrise", "intersection"]
    found = []
    for more in ([], ["--reverse", runs[1], "--eflomal", str(executable)]):
        monkeypatch.setattr(sys, "argv", ["agreement.py", runs[0], *files, *more, "--sample", "3", "--json"])
        agreement.main()
        found.append(json.loads(capsys.readouterr().out))
    assert [(one["pairs"], one["sample"]) for one in found] == [(40, 3)] * 2
    assert list(found[0]["f1"]) == ["neural, statistical"]
    assert len(found[1]["f1"]) == 6  # of four kinds of links

    pairs = (["I love you .", "I see the dog ."], ["je t' aime .", "je vois le chien ."])
    there = [set(one.links()) for one in translate.load(runs[0]).align(*pairs)]
    back = [{(j, i) for i, j in one.links()} for one in translate.load(runs[1]).align(pairs[1], pairs[0])]
    ours = [there[row] & back[row] for row in (0, 1, 0)]
    common = sum((0, 0) in links for links in ours)  # all that both directions of the executable give
    expected = 2 * common / (3 + sum(map(len, ours)))
    assert found[1]["f1"]["neural, eflomal"] == pytest.approx(expected, abs=1e-4)
