import html
import re
import shutil
from pathlib import Path

import translate
from tests.cli.align.pairs import PAIR
from tests.cli.commands import Command


def test_runs_side_by_side(
    run: Path, tiny_runs: dict[str, Path], tmp_path: Path, translate_command: Command
) -> None:
    """Each heatmap equals that of the run alone, for the words of the first run."""
    others, out = [tiny_runs["transformer"], tiny_runs["rnn_bahdanau"]], tmp_path / "a.svg"
    options = ["--with", others[0], "--with", others[1], "--out", out, "--values"]
    result = translate_command("align", "compare", run, PAIR[0], *options)
    target = translate.load(run, device="cpu").translate([PAIR[0]])[0].text
    of = f"for the translation of {run.name}"
    assert result == (0, f"{target}\nheatmaps of 3 runs {of} written to {out}\n", "")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", out.read_text())
    assert f"{run.name}: its translation" in texts
    for folder in (run, *others):
        alone = translate.load(folder, device="cpu").align([PAIR[0]], [target])[0]
        assert texts.count(folder.name) == (folder != run)
        assert html.escape(alone.method) in texts
        for weight in alone.weights.ravel():
            assert f"{weight:.2f}" in texts
    assert texts.count("love") == 3
    copy = tmp_path / run.name  # of the same name: the folders tell them apart
    shutil.copytree(run, copy, symlinks=True)
    assert translate_command("align", "compare", run, *PAIR, "--with", copy, "--out", out).code == 0
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", out.read_text())
    assert {str(run), str(copy)} <= {html.unescape(text) for text in texts} or any("…" in t for t in texts)


def test_runs_that_cannot_be_compared(run: Path, tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "a.png"
    second = translate_command("align", "heads", run, run, "I sleep .", "--out", out)
    assert "is a run, too: translate align compare RUN SOURCE --with RUN" in second.err
    page = translate_command("align", "compare", run, *PAIR, "--with", run, "--out", tmp_path / "a.html")
    assert page.err.endswith("got .html; translate align RUN SOURCE writes a page\n")
    twice = translate_command("align", "compare", run, *PAIR, "--with", run, "--out", out)
    assert (twice.code, twice.err) == (2, f"error: align: a run is given twice: {run}, {run}\n")
    back = tmp_path / "back"
    shutil.copytree(run, back, symlinks=True)
    text = (back / "config.yaml").read_text()
    swapped = text.replace("source_language: en", "source_language: fr").replace(
        "target_language: fr", "target_language: en", 1
    )
    (back / "config.yaml").write_text(swapped)
    other = translate_command("align", "compare", run, *PAIR, "--with", back, "--out", out)
    assert other.code == 2
    assert f"needs the same languages; {run.name} translates en to fr, back translates fr to en" in other.err
    assert not out.exists()


def test_every_layer_and_head(tiny_runs: dict[str, Path], tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "a.svg"
    options = ("--colours", "viridis", "--out", out)
    result = translate_command("align", "heads", tiny_runs["transformer"], *PAIR, *options)
    assert result == (0, f"heads written to {out}\n", "")
    content = out.read_text(encoding="utf-8")
    assert "layer 1" in content
    assert "head 1" in content
    for shift, said in ((0, False), (1, True)):
        translate_command("align", "heads", tiny_runs["transformer"], *PAIR, *options, "--shift", shift)
        assert ("by layer and head, all with shift 1" in out.read_text(encoding="utf-8")) is said
