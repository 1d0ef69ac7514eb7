import html
import re
import shutil
from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
from translate.alignment.alignment import Alignment
from translate.translator import Translator

PAIR = ("I love you .", "je t' aime .")


@pytest.fixture(scope="module")
def run(tiny_runs: dict[str, Path]) -> Path:
    return tiny_runs["rnn_luong"]


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return translate.load(run, device="cpu")


@pytest.fixture(scope="module")
def alignment(translator: Translator) -> Alignment:
    return translator.align([PAIR[0]], [PAIR[1]])[0]


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_links_go_to_standard_output(run: Path, alignment: Alignment, translate_command: Command) -> None:
    result = translate_command("align", run, *PAIR)
    assert result == (0, alignment.pharaoh() + "\n", "")
    largest = translate_command("align", run, *PAIR, "--threshold", 0)  # not the threshold that gold chose
    assert largest == (0, alignment.pharaoh(0) + "\n", "")
    assert len(largest.out.split()) == 4


def test_runs_side_by_side(
    run: Path, tiny_runs: dict[str, Path], tmp_path: Path, translate_command: Command
) -> None:
    """Each as it is alone, of the words that the first run made; sharing their order."""
    others, out = [tiny_runs["transformer"], tiny_runs["rnn_bahdanau"]], tmp_path / "a.svg"
    options = ["--with", others[0], "--with", others[1], "--out", out, "--values"]
    result = translate_command("align", run, PAIR[0], *options)
    target = translate.load(run, device="cpu").translate([PAIR[0]])[0].text
    assert result == (0, f"{target}\nheatmaps of 3 runs written to {out}\n", "")
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", out.read_text())
    for each in (run, *others):
        alone = translate.load(each, device="cpu").align([PAIR[0]], [target])[0]
        assert texts.count(each.name) == 1
        assert html.escape(alone.method) in texts
        for weight in alone.weights.ravel():
            assert f"{weight:.2f}" in texts
    assert texts.count("love") == 3
    copy = tmp_path / run.name  # of the same name: the folders tell them apart
    shutil.copytree(run, copy, symlinks=True)
    assert translate_command("align", run, *PAIR, "--with", copy, "--out", out).code == 0
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", out.read_text())
    assert {str(run), str(copy)} <= {html.unescape(text) for text in texts} or any("…" in t for t in texts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PAIR], "--with is for a picture of one pair; give --out FILE.png"),
        ([*PAIR, "--out", "a.html"], "--with is for a picture; a page shows one run"),
        ([*PAIR, "--heads", "--out", "a.png"], "without room for --with"),
        (["--source", "a", "--target", "b"], "--with is for the picture of one pair"),
        (["--report"], "--with has no effect with --report"),
    ],
)
def test_runs_side_by_side_are_a_picture_of_a_pair(
    run: Path, arguments: list[str], message: str, translate_command: Command
) -> None:
    code, _, errors = translate_command("align", run, "--with", "runs/other", *arguments)
    assert code == 2
    assert message in errors


def test_runs_that_do_not_go_side_by_side(run: Path, tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "a.png"
    twice = translate_command("align", run, *PAIR, "--with", run, "--out", out)
    assert (twice.code, twice.err) == (2, f"error: align: a run is given twice: {run}, {run}\n")
    back = tmp_path / "back"
    shutil.copytree(run, back, symlinks=True)
    text = (back / "config.yaml").read_text()
    swapped = text.replace("source_language: en", "source_language: fr").replace(
        "target_language: fr", "target_language: en", 1
    )
    (back / "config.yaml").write_text(swapped)
    other = translate_command("align", run, *PAIR, "--with", back, "--out", out)
    assert other.code == 2
    assert f"needs the same languages; {run.name} translates en to fr, back translates fr to en" in other.err
    assert not out.exists()


def test_a_target_that_is_absent_is_translated(
    run: Path, translator: Translator, translate_command: Command
) -> None:
    found = translator.translate([PAIR[0]], alignments=True)[0]
    assert found.alignment is not None
    assert translate_command("align", run, PAIR[0]).out == f"{found.text}\n{found.alignment.pharaoh()}\n"
    forced = translator.align([PAIR[0]], [found.text], whitespace=True)[0]
    result = translate_command("align", run, PAIR[0], "--whitespace")
    assert result.out == f"{found.text}\n{forced.pharaoh()}\n"


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml"), ("A.PNG", b"\x89PNG")],
)
def test_heatmaps(run: Path, tmp_path: Path, name: str, begins: bytes, translate_command: Command) -> None:
    out = tmp_path / name
    result = translate_command("align", run, *PAIR, "--out", out, "--values")
    assert result == (0, f"heatmap written to {out}\n", "")
    content = out.read_bytes()
    assert content.startswith(begins)
    if name.endswith("svg"):
        assert all(word.encode() in content for word in ("love", "aime"))


def test_a_page(run: Path, tmp_path: Path, translator: Translator, translate_command: Command) -> None:
    out = tmp_path / "a.html"
    result = translate_command("align", run, *PAIR, "--out", out, "--links", "0-0 2p1")
    assert result == (0, f"page written to {out}\n", "")
    given = out.read_text(encoding="utf-8")
    assert f"rnn_luong: layer {translator.choice.layer}" in given
    assert '"gold":{"sure":[[0,0]],"possible":[[0,0],[2,1]]}' in given
    result = translate_command("align", run, PAIR[0], "--out", out)
    best = translator.translate([PAIR[0]], n_best=min(3, translator.search.beam_size))[0]
    assert result == (0, f"{best.text}\npage written to {out}\n", "")
    scores = ",".join(f'"score":{each.score}' for each in best.n_best if each.text)
    found = re.findall(r'"score":[-0-9.e]+', out.read_text(encoding="utf-8"))
    assert ",".join(found) == scores


def test_every_layer_and_head(tiny_runs: dict[str, Path], tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "a.svg"
    options = ("--heads", "--colours", "viridis", "--out", out)
    result = translate_command("align", tiny_runs["transformer"], *PAIR, *options)
    assert result == (0, f"heads written to {out}\n", "")
    content = out.read_text(encoding="utf-8")
    assert "layer 1" in content
    assert "head 1" in content


def test_a_corpus_in_one_picture(run: Path, tmp_path: Path, translate_command: Command) -> None:
    source = write(tmp_path / "text.en", *[PAIR[0]] * 5, "")
    target = write(tmp_path / "text.fr", *[PAIR[1]] * 5, "")
    out = tmp_path / "corpus.svg"
    result = translate_command("align", run, "--source", source, "--target", target, "--out", out)
    assert result == (0, f"picture of 5 pairs written to {out}\n", "")
    assert "5 pairs, 20 aligned target words" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["a.txt", "a.LINKS", "a.pharaoh"])
def test_links_to_a_file(
    run: Path, tmp_path: Path, name: str, alignment: Alignment, translate_command: Command
) -> None:
    out = tmp_path / name
    assert translate_command("align", run, *PAIR, "--out", out).out == f"links written to {out}\n"
    assert out.read_text() == alignment.pharaoh() + "\n"


def test_a_corpus_with_blank_lines(
    run: Path, tmp_path: Path, translator: Translator, alignment: Alignment, translate_command: Command
) -> None:
    source = write(tmp_path / "text.en", PAIR[0], "", "I love", "you", PAIR[0])
    target = write(tmp_path / "text.fr", PAIR[1], "", "", "toi", PAIR[1])
    result = translate_command("align", run, "--source", source, "--target", target, "--batch-size", 2)
    you = translator.align(["you"], ["toi"])[0].pharaoh()
    assert result.out.split("\n") == [alignment.pharaoh(), "", "", you, alignment.pharaoh(), ""]
    out = tmp_path / "out.txt"
    translate_command("align", run, "--source", source, "--target", target, "--out", out)
    assert out.read_text() == result.out


def test_white_space_makes_words(run: Path, translator: Translator, translate_command: Command) -> None:
    pair = ("l'homme I-love", "cherchez-le .")
    result = translate_command("align", run, *pair, "--whitespace")
    found = translator.align([pair[0]], [pair[1]], whitespace=True)[0]
    assert (found.source_words, found.target_words) == (pair[0].split(), pair[1].split())
    assert result.out == found.pharaoh() + "\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PAIR, "--out", "a.jpg"], "a.jpg: expected one of .png, .pdf, .svg, .html, .txt"),
        (
            [*PAIR, "--out", "heatmap"],
            "heatmap: expected one of .png, .pdf, .svg, .html, .txt, .pharaoh, .links, .tsv, "
            ".json, .jsonl, .npz, got no extension",
        ),
        ([*PAIR, "--out", "none/a.png"], "none/a.png: there is no folder none"),
        ([*PAIR, "--out", "folder.png"], "folder.png: expected a file; there is a folder of that name"),
        ([*PAIR, "--values"], "--values is for a picture of one pair; give --out FILE.png"),
        ([*PAIR, "--heads"], "--heads is for a picture of one pair; give --out FILE.png"),
        ([*PAIR, "--links", "0-0", "--out", "a.txt"], "--links is for a picture of one pair"),
        ([*PAIR, "--values", "--out", "a.html"], "--values is for a picture; a page shows values"),
        ([*PAIR, "--colours", "gray", "--out", "a.html"], "--colours is for a picture; a page shows"),
        (
            [*PAIR, "--colours", "virids", "--out", "a.png"],
            "map 'virids'; did you mean 'viridis'",
        ),
        ([*PAIR, "--heads", "--values", "--out", "a.png"], "without room for --values"),
        ([*PAIR, "--heads", "--links", "", "--out", "a.png"], "without room for --links"),
        ([*PAIR, "--links", "0-9", "--out", "a.png"], "--links: link '0-9' points to target word 9"),
        ([*PAIR, "--heads", "--method", "norm", "--out", "a.png"], "--heads shows the attention; leave"),
        ([*PAIR, "--reverse", "other", "--out", "a.html"], "a.html: expected one of .txt"),
        ([*PAIR, "--links", "a", "--out", "a.html"], "--links: 'a' is not a link"),
        (["", "x", "--out", "a.html"], "nothing to show: 0 source and 1 target words"),
        (["x", "", "--heads", "--out", "a.svg"], "nothing to draw: 1 source and 0 target words"),
        ([], "give either a sentence, or --source FILE and --target FILE"),
        ([*PAIR, "--source", "a"], "give either a sentence, or --source FILE and --target FILE"),
        ([*PAIR, "--target", "a"], "--target FILE needs --source FILE"),
        (["--source", "a"], "--source FILE needs --target FILE"),
        (["--source", "short.en", "--target", "long.fr"], "short.en has 1 line"),
        (["--source", "none.en", "--target", "long.fr"], "none.en: no such file"),
        (["--source", "latin.fr", "--target", "long.fr"], "latin.fr, line 2: not UTF-8"),
        (
            ["--source", "long.fr", "--target", "long.fr", "--out", "a.html"],
            "a.html: expected one of .png, .pdf, .svg, .txt, .pharaoh",
        ),
        (
            ["--source", "long.fr", "--target", "long.fr", "--values"],
            "--values is for the picture of one pair; a corpus is aligned as links",
        ),
    ],
)
def test_wrong_use(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "short.en", "a")
    write(tmp_path / "long.fr", "a", "b")
    (tmp_path / "latin.fr").write_bytes(b"a\n\xe9\n")
    (tmp_path / "folder.png").mkdir()
    before = sorted(tmp_path.iterdir())
    result = translate_command("align", run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_without_a_checkpoint(run: Path, tmp_path: Path, translate_command: Command) -> None:
    shutil.copytree(run, tmp_path / "run", symlinks=True)
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    result = translate_command("align", tmp_path / "run", *PAIR)
    assert (result.code, result.out) == (2, "")
    assert "no such checkpoint; has the run been trained?" in result.err
