"""The notebooks are their scripts', and run on models with the settings of the experiments that they name."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import torch

from scripts.notebook import notebook
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.runs.life import train

FOLDER = Path(__file__).parents[2] / "notebooks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# Only the length of the training and the size of the corpus differ from the experiment.
SHORT = [
    *("data.num_train=300", "data.num_validation=7", "data.num_test=5", "training.max_steps=2"),
    *("training.validate_every=2", "schedule.warmup=1", "alignment.calibration_pairs=5"),
    *("runtime.device=cpu", "runtime.threads=1"),
]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_notebook_is_up_to_date(script: Path) -> None:
    written = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    made = notebook(script)
    assert [cell.source for cell in written.cells] == [cell.source for cell in made.cells]


@pytest.fixture
def gradients() -> Iterator[None]:
    """A notebook turns gradients off in its whole process."""
    yield
    torch.set_grad_enabled(True)


@pytest.mark.slow
@pytest.mark.usefixtures("gradients")
@pytest.mark.parametrize(
    ("name", "experiment", "picture"),
    [
        ("attention_by_hand", "demo_rnn_bahdanau", "by-hand.png"),
        ("how_far_to_trust", "demo_transformer", "erased.png"),
        ("many_heads", "demo_transformer", "missed.png"),
        ("fixed_vector", None, "length.png"),
        ("dot_products", None, "scale.png"),
        ("five_variants", None, "tasks.png"),
        ("cost", None, "cache.png"),
        ("fast_weights", None, "capacity.png"),
        ("order_and_positions", None, "positions.png"),
        ("pictures_by_hand", "scenes_captions", "regions.png"),
    ],
)
def test_notebook_runs(
    name: str, experiment: str | None, picture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    if experiment is not None:
        settings = [f"experiment={experiment}", *SHORT, f"run.directory={run}"]
        assert train(compose(settings, check=check_config)) == 0
    monkeypatch.setenv("TRANSLATE_RUN", str(run))
    monkeypatch.setenv("TRANSLATE_OUT", str(tmp_path))
    monkeypatch.chdir(FOLDER)  # as in Jupyter
    runpy.run_path(str(FOLDER / f"{name}.py"))
    assert (tmp_path / picture).stat().st_size > 1000
