"""Draws the pictures of README.md and docs/ from finished runs; the page is photographed in Chromium.

python scripts/pictures.py [--runs runs/demo] [--out docs/pictures]
python scripts/pictures.py --captions runs/captions --grounded runs/grounded [--out docs/pictures]

The second form draws where words looked in a picture, from runs of experiment=scenes_captions and
experiment=scenes_grounded, and nothing else.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

import translate
from translate.alignment.views import page_of
from translate.cli.main import run as run_command
from translate.corpora.images.line import join_line
from translate.links.links import parse_gold
from translate.runs.runtime import find_device, use_runtime

BACKENDS = ("rnn_bahdanau", "rnn_luong", "transformer")
PAIR = ("she does not like the green apples .", "elle n' aime pas les pommes vertes .")
GOLD = "0-0 1-1 2-1 2-3 3-2 4-4 5-6 6-5 7-7"  # of PAIR: does not - n' ... pas, green apples - pommes vertes
SCENE = "scene:snow/star.blue.big.0.0.0.1/star.blue.big.0.2.1.0/moon.red.small.2.0.-1.0"
RIDDLE = ("scene:sand/moon.green.big.1.0.0.0.light/circle.red.big.1.2.0.0", "the left one is light .")
GALLERY = {  # the pictures of docs/gallery.md, by the subcommands and options that draw them
    "pair": ["pair"],
    "values": ["pair", "--values", "--colours", "viridis"],
    "gold": ["pair", "--whitespace", "--links", GOLD],
    "erasure": ["pair", "--method", "erasure"],
    "heads": ["heads"],
}
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
LARGEST = 256 * 1024  # bytes


def photograph(page: Path, state: str, out: Path, height: int, *, dark: bool = False) -> None:
    """Write a picture of a page as Chromium shows it; the fragment `state` sets the view."""
    chromium = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if chromium is None:
        raise SystemExit("the picture of the page needs Chromium; on Debian: apt install chromium")
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", f"--window-size=1100,{height}", f"--screenshot={out}"]
        command += ["--blink-settings=preferredColorScheme=0"] if dark else []
        subprocess.run(
            [*command, f"{page.resolve().as_uri()}#{state}"], check=True, capture_output=True, timeout=120
        )


def draw(out: Path, subcommand: str, *arguments: object) -> Path:
    """Draw alignments with the command that a user would type."""
    if code := run_command(["align", subcommand, *map(str, arguments), "--out", str(out)]):
        raise SystemExit(code)
    return out


def draw_runs(runs: Path, out: Path) -> Path:
    """Draw the demo's runs side by side."""
    first, *others = (runs / name for name in ("transformer", "rnn_bahdanau", "rnn_luong"))
    beside = [part for other in others for part in ("--with", other)]
    return draw(out, "compare", first, *beside, *PAIR, "--whitespace")


def draw_gallery(run: Path, out: Path) -> list[Path]:
    """Draw the pictures of one run in the gallery."""
    drawn = []
    for name, (subcommand, *options) in GALLERY.items():
        path = draw(out / f"{name}.png", subcommand, run, *PAIR, *options)
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)
        drawn.append(path)
    return drawn


def check_sizes(pictures: Sequence[Path]) -> None:
    """Print the sizes of pictures; ends the script if one is too large for a repository."""
    for picture in pictures:
        size = picture.stat().st_size
        print(f"{picture}: {size // 1024} KiB")
        if size > LARGEST:
            raise SystemExit(f"{picture}: larger than {LARGEST // 1024} KiB")


def main(arguments: list[str]) -> None:
    """Draw all pictures, and check that none is too large for a repository."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=Path, default=Path("runs/demo"), help="folder with the demo's three runs"
    )
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--captions", type=Path, help="run of experiment=scenes_captions")
    parser.add_argument("--grounded", type=Path, help="run of experiment=scenes_grounded")
    given = parser.parse_args(arguments)
    pictured = [(given.captions, SCENE, "scene.png"), (given.grounded, join_line(*RIDDLE), "grounded.png")]
    if given.captions or given.grounded:
        check_sizes([draw(given.out / name, "pair", run, source) for run, source, name in pictured if run])
        return
    use_runtime(find_device("cpu"))  # as the command does
    translators = {name: translate.load(given.runs / name, device="cpu") for name in BACKENDS}
    transformer = translators["transformer"]
    pictures = [
        *draw_gallery(given.runs / "transformer", given.out),
        draw_runs(given.runs, given.out / "runs.png"),
    ]
    gold = parse_gold(GOLD, where="GOLD", lengths=(len(PAIR[0].split()), len(PAIR[1].split())))
    (translation,) = transformer.translate([PAIR[0]], n_best=3)
    others = [candidate.text for candidate in translation.n_best if candidate.text != PAIR[1]]
    targets = [PAIR[1], *others]
    pairs = transformer.encode_pairs([PAIR[0]] * len(targets), targets, whitespace=True)
    page = page_of(transformer.model, pairs, transformer.choice, gold=gold, note="Transformer")
    with tempfile.TemporaryDirectory() as folder:
        path = page.write(Path(folder) / "page.html")
        choice = transformer.choice
        state = f"view=attention&layer={choice.layer}&head={choice.heads[0]}&target=3"
        for name, dark in (("page.png", False), ("page-dark.png", True)):
            photograph(path, state, given.out / name, 1490, dark=dark)
            pictures.append(given.out / name)
    check_sizes(pictures)


if __name__ == "__main__":
    main(sys.argv[1:])
