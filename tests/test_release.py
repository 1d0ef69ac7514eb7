"""Wheel and sdist: built, installed outside of the clone, and used there as a newcomer uses them."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import translate
from tests.docs.examples import ROOT

TINY = (
    "data.num_train=120", "data.num_validation=7", "data.num_test=5", "tokenizer.vocabulary_size=320",
    "training.max_steps=2", "training.batch_tokens=100", "schedule.warmup=1", "runtime.threads=1",
)  # fmt: skip


def run(folder: Path, *command: str | Path) -> str:
    """Run a command in a folder, without the clone on Python's path; returns what it prints."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"TRANSLATE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    code = "import sys; from hatchling.build import build_sdist, build_wheel; {}(sys.argv[1])"
    run(ROOT, sys.executable, "-c", code.format("build_sdist"), folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    source = next(path for path in folder.iterdir() if path.is_dir())
    run(source, sys.executable, "-c", code.format("build_wheel"), folder)
    return folder


@pytest.mark.slow
def test_the_wheel_has_the_package_with_its_settings_and_nothing_else(built: Path) -> None:
    wheel = next(built.glob("*.whl"))
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = {path for path in (ROOT / "translate").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    expected = {path.relative_to(ROOT).as_posix() for path in package}
    expected |= {f"translate/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "conf").rglob("*.yaml")}
    assert {name for name in inside if ".dist-info/" not in name} == expected
    assert wheel.stat().st_size < 2**20


@pytest.mark.slow
def test_the_installed_wheel_trains_translates_aligns_and_serves(built: Path, tmp_path: Path) -> None:
    run(tmp_path, sys.executable, "-m", "venv", "--without-pip", "own")
    python = tmp_path / "own" / "bin" / "python"
    wheel = next(built.glob("*.whl"))
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(tmp_path, *pip, "install", "-q", "--no-deps", "--no-index", wheel)
    # Torch and the others are those of this environment, behind the installed package.
    (site,) = (tmp_path / "own").glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(others), encoding="utf-8")

    command = python.with_name("translate")
    where = run(tmp_path, python, "-c", "import translate; print(translate.__file__, translate.__version__)")
    assert where.split() == [str(site / "translate" / "__init__.py"), translate.__version__]
    run(tmp_path, command, "train", "experiment=demo_transformer", "run.name=tiny", *TINY)
    assert run(tmp_path, command, "text", "runs/tiny", "I love you .").count("\n") == 1
    run(tmp_path, command, "align", "runs/tiny", "I love you .", "--out", "alignment.png")
    assert (tmp_path / "alignment.png").read_bytes().startswith(b"\x89PNG")
    assert "--key-file" in run(tmp_path, command, "serve", "--help")
