"""Runs that read pictures, from training to pages, for every backend and encoder."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import translate
from translate.cli.main import run as command
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.corpora.images.line import join_line
from translate.corpora.images.scenes import draw, read_scene
from translate.errors import UserError
from translate.runs.life import train

SCENE = "scene:sand/star.blue.big.0.1.0.0"
TINY = [
    "data.num_train=60",
    "data.num_validation=7",
    "data.num_test=9",
    "tokenizer.vocabulary_size=300",
    "training.max_steps=3",
    "training.validate_every=3",
    "training.batch_tokens=100",
    "schedule.warmup=1",
    "search.beam_size=2",
    "search.max_length_extra=3",
    "alignment.calibration_pairs=5",
    "runtime.threads=1",
    "runtime.device=cpu",
]
RECURRENT = ["model.embedding_size=24", "model.encoder_size=12", "model.decoder_size=26"]
MODELS = {
    "rnn_bahdanau": RECURRENT,
    "rnn_luong": [*RECURRENT, "model.num_layers=1"],
    "transformer": [
        "model.width=24",
        "model.feedforward_size=30",
        "model.num_heads=2",
        "model.decoder_layers=1",
    ],
}


def trained(folder: Path, *overrides: str) -> Path:
    run = folder / "run"
    assert train(compose([*TINY, f"run.directory={run}", *overrides], check=check_config)) == 0
    return run


@pytest.fixture(scope="module")
def captions(tmp_path_factory) -> Path:
    return trained(tmp_path_factory.mktemp("captions"), "experiment=scenes_captions", *TINY, *RECURRENT)


@pytest.fixture(scope="module")
def grounded(tmp_path_factory) -> Path:
    return trained(tmp_path_factory.mktemp("grounded"), "experiment=scenes_grounded", *TINY, *RECURRENT)


@pytest.fixture(scope="module")
def photo(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("photos") / "a star.png"
    Image.fromarray(draw(read_scene(SCENE)).pixels).save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "encoder"),
    [("rnn_bahdanau", "convolutional"), ("rnn_luong", "convolutional"), ("transformer", "patches")],
)
def test_every_backend_trains_translates_and_aligns(tmp_path, model, encoder):
    sizes = [f"model.encoder.{name}" for name in ("num_heads=2", "feedforward_size=20", "gate=combined")]
    run = trained(
        tmp_path, "data=scenes", f"model={model}", f"model/encoder={encoder}", *MODELS[model], *sizes
    )
    translator = translate.load(run)
    assert translator.reads == "both"
    lines = [join_line(SCENE, "it is red ."), "it is red .", join_line(SCENE)]
    found = translator.translate(lines, alignments=True)
    assert [len(each.alignment.source_words) for each in found] == [40, 4, 36]
    assert [each.alignment.picture is None for each in found] == [False, True, False]
    together = translator.align(lines, ["il est rouge ."] * 3)
    alone = [translator.align([line], ["il est rouge ."])[0] for line in lines]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
    scores = json.loads((run / "scores.json").read_text())["test"]
    assert {"bleu", "aer", "pointing", "iou"} <= scores.keys()


@pytest.mark.slow
def test_a_file_gives_what_its_scene_gives(captions, grounded, photo):
    for run, sentence in ((captions, ""), (grounded, "it is red .")):
        translator = translate.load(run)
        scene, file = (
            translator.translate([join_line(name, sentence)], alignments=True)[0]
            for name in (SCENE, str(photo))
        )
        assert file.text == scene.text
        np.testing.assert_allclose(file.alignment.weights, scene.alignment.weights, atol=1e-6)


@pytest.mark.slow
def test_the_command_line_reads_pictures(captions, grounded, photo, tmp_path, capsys):
    text = translate.load(captions).translate([join_line(SCENE)])[0].text
    for arguments in (["--image", str(photo)], [str(photo)], [SCENE]):
        assert command(["text", str(captions), *arguments]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == text
    both = translate.load(grounded).translate([join_line(SCENE, "it is red .")])[0].text
    assert command(["text", str(grounded), "it is red .", "--image", str(photo)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == both
    for name in ("regions.png", "regions.html"):
        out = tmp_path / name
        arguments = ["align", "pair", str(grounded), "it is red .", "il est rouge .", "--image", str(photo)]
        assert command([*arguments, "--out", str(out)]) == 0
        assert out.stat().st_size > 2000
    capsys.readouterr()
    found = []
    for arguments in (["--image", str(photo)], [str(photo)], [SCENE]):
        assert command(["align", "pair", str(captions), *arguments]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
def test_a_picture_is_not_taken_for_words(grounded, photo, capsys):
    assert command(["text", str(grounded), str(photo)]) == 2
    assert f"write: a sentence and --image '{photo}' for a picture" in capsys.readouterr().err


@pytest.mark.slow
def test_a_picture_that_cannot_be_read_costs_its_line_of_a_stream(
    captions, grounded, photo, capsys, monkeypatch
):
    for run, lines in (
        (captions, [str(photo), "gone.png", join_line(SCENE, "a sentence"), "", SCENE]),
        (
            grounded,
            [f"{photo}\tit is red .", "gone.png\tit is red .", "scene:wrong\tit .", "", "it is red ."],
        ),
    ):
        ends = [join_line(*line.split("\t")) if "\t" in line else line for line in (lines[0], lines[-1])]
        good = [each.text for each in translate.load(run).translate(ends)]
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
        assert command(["text", str(run)]) == 1
        shown = capsys.readouterr()
        assert shown.out.split("\n") == [good[0], "", "", "", good[1], ""]
        assert "2 lines could not be translated and came out empty; the first error: gone.png" in shown.err


@pytest.mark.slow
def test_gold_links_of_patches_judge_and_choose(grounded, tmp_path, capsys):
    """With the files of a corpus as with the run's own, which needs no trust: it is drawn anew."""
    folder = tmp_path / "corpus"
    settings = ["data.num_train=1", "data.num_validation=0", "data.num_test=12"]
    assert command(["corpus", "--data", "scenes", "--out", str(folder), *settings]) == 0
    source, target, gold = (folder / f"test.{kind}" for kind in ("en", "fr", "gold"))
    capsys.readouterr()
    evaluated = ["evaluate", str(grounded), f"--source={source}", f"--reference={target}", f"--gold={gold}"]
    assert command([*evaluated, "--json"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert 0 <= row["pointing"] <= 1
    assert 0 < row["pointed_words"] < 200
    assert {"iou", "aer"} <= row.keys()
    assert command(evaluated) == 0
    assert "words that name something in the picture, IoU" in capsys.readouterr().out
    files = [f"--source={source}", f"--target={target}"]
    for subcommand in ("report", "calibrate"):
        for given in ([*files, f"--gold={gold}"], []):
            assert command(["align", subcommand, str(grounded), *given, "--json"]) == 0
            assert json.loads(capsys.readouterr().out.splitlines()[-1])
    gold.write_text("".join(f"{line}\n" for line in ["900-0", *gold.read_text().splitlines()[1:]]))
    assert command(["align", "calibrate", str(grounded), *files, f"--gold={gold}"]) == 2
    assert "pair 1: the gold link 900-0 lies outside its " in capsys.readouterr().err


@pytest.mark.slow
def test_links_of_two_directions_are_those_of_the_words(captions, grounded, tmp_path, capsys, backward):
    reverse = backward
    words = "it is red .\n", "il est rouge .\n"
    (tmp_path / "with").write_text(f"{SCENE}\t{words[0]}")
    (tmp_path / "target").write_text(words[1])
    files = [f"--source={tmp_path / 'with'}", f"--target={tmp_path / 'target'}"]
    assert command(["align", "symmetrise", str(grounded), *files, f"--reverse={reverse}"]) == 0
    links = capsys.readouterr().out.split()
    assert links
    assert all(max(map(int, link.split("-"))) < 4 for link in links)
    for runs in ((captions, reverse), (reverse, captions), (reverse, grounded)):
        assert command(["align", "symmetrise", str(runs[0]), *files, f"--reverse={runs[1]}"]) == 2
        assert "reads pictures, which have no words" in capsys.readouterr().err


WRONG = {
    "no picture at all": (
        ["text", "{captions}", "it is red ."],
        "it is red .: no such image; this run describes images, and reads no sentences",
    ),
    "a sentence beside a picture": (
        ["text", "{captions}", "it is red .", "--image", "{photo}"],
        "this run describes images (data.read=picture) and reads no sentence: leave out 'it is red .'",
    ),
    "a missing picture": (["text", "{captions}", "--image", "gone.png"], "gone.png: no such image"),
    "too many pictures": (
        ["text", "{grounded}", "a", "--image", "{photo}", "--image", "{photo}"],
        "--image: 2 pictures for 1 sentence; expected one, or as many",
    ),
    "lines of standard input": (
        ["text", "{grounded}", "-", "--image", "{photo}"],
        "lines of standard input name their picture before a tab",
    ),
    "a picture over itself": (
        ["align", "pair", "{captions}", "{photo}", "--out", "{photo}"],
        "it is a file that is read; expected another name",
    ),
    "heads": (
        ["align", "heads", "{captions}", "{photo}", "--out", "{out}"],
        "align heads: it draws the words of a sentence, and the patches of a picture are none",
    ),
    "two runs": (
        ["align", "compare", "{captions}", "{photo}", "b", "--with", "{grounded}", "--out", "{out}"],
        "align compare: it draws the words of a sentence",
    ),
    "a server": (["serve", "{captions}"], "the run reads pictures, and a request holds text alone"),
    "another format": (
        ["export", "{captions}", "--format", "ctranslate2", "--out", "{folder}/x"],
        "--format ctranslate2: it reads text, and the run reads pictures; use bundle",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_one_clear_sentence(
    captions, grounded, photo, tmp_path, capsys, arguments, message
):
    names = {
        "captions": captions,
        "grounded": grounded,
        "photo": photo,
        "out": tmp_path / "a.png",
        "folder": tmp_path,
    }
    assert command([each.format(**names) for each in arguments]) != 0
    lines = capsys.readouterr().err.splitlines()
    errors = [line for line in lines if line.startswith("error:")]
    assert len(errors) == 1
    assert message in errors[0]


NO_SIZES = [f"data.num_{split}=0" for split in ("train", "validation", "test")]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data=scenes"], "data.read=both: this encoder reads text alone; use model/encoder=patches"),
        (
            ["data=grammar", "model=transformer", "model/encoder=patches"],
            "PatchEncoder reads pictures, but the corpus",
        ),
        (
            ["data=scenes", "model/encoder=patches", "data.target_language=de"],
            "the corpus of scenes has en and fr",
        ),
        (
            ["data=scenes", "model/encoder=patches", "model.encoder.patch_size=4"],
            "model.encoder.patch_size: got 4, but the pictures are read with data.patch_size=8",
        ),
        (["data=scenes", "data.read=picture"], "without_picture: it needs data.read=both"),
        (["data=grammar", "data.images=photos"], "images: it has no effect on the corpus 'grammar'"),
        (["data=scenes", "data.picture_size=64"], "picture_size: scenes have 48 x 48 pixels, got 64"),
        (["data=multi30k", "data.read=both", *NO_SIZES], "data.images=DIR and data.read=picture or both go"),
        (["data=scenes", "model/encoder=patches", "training.guided_alignment=1"], "patches are no words"),
        (
            ["data=scenes", "model/encoder=patches", "training.augment.typos=0.1"],
            "training.augment: expected none",
        ),
    ],
)
def test_settings_that_do_not_fit(tmp_path, overrides, message):
    with pytest.raises(UserError) as error:
        trained(tmp_path, "model=rnn_bahdanau", *overrides)
    assert message in str(error.value)


@pytest.mark.slow
def test_a_folder_of_photos_in_the_layout_of_multi30k(tmp_path, capsys):
    """Names by line, pictures of several sizes, one damaged and one missing, and a cache for next time."""
    root, images = tmp_path / "data", tmp_path / "images"
    (root / "image_splits").mkdir(parents=True)
    images.mkdir()
    generator = np.random.default_rng(1)
    for split, count in (("train", 30), ("val", 6), ("test_2016_flickr", 5)):
        names = [f"{split}{index}.jpg" for index in range(count)]
        for index, name in enumerate(names):
            size = (40 + 3 * index, 60, 3)
            Image.fromarray(generator.integers(0, 256, size, dtype=np.uint8)).save(images / name)
        (root / "image_splits" / f"{split}.txt").write_text("".join(f"{name}#0\n" for name in names))
        for language, noun in (("en", "dog"), ("de", "Hund")):
            lines = [f"a {noun} number {index % 7} .\n" for index in range(count)]
            (root / f"{split}.{language}").write_text("".join(lines))
    (images / "train3.jpg").write_bytes(b"damaged")
    (images / "train5.jpg").unlink()
    overrides = [
        "data=multi30k", f"data.path={root}", f"data.images={images}", "data.read=both",
        "data.picture_size=32", "model=rnn_bahdanau", "model/encoder=convolutional",
        f"runtime.cache={tmp_path / 'cache'}", *RECURRENT,
    ]  # fmt: skip
    rest = [each for each in TINY if not each.startswith("data.")]
    for attempt in (1, 2):
        run = tmp_path / f"run{attempt}"
        assert train(compose([*overrides, *rest, f"run.directory={run}"], check=check_config)) == 0
        shown = capsys.readouterr().out
        assert "2 whose image cannot be read" in shown
        assert "train3.jpg: not an image" in shown
        assert ("images from " in shown) == (attempt == 2)
    assert translate.load(run).translate([join_line(str(images / "val0.jpg"), "a dog .")])[0].text is not None
