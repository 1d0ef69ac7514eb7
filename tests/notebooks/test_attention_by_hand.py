"""The notebook is the script's, and runs on a trained model."""

import importlib.util
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "notebooks" / "attention_by_hand.py"


def notebook_of(script: Path) -> nbformat.NotebookNode:
    """The notebook that a script makes, not executed."""
    spec = importlib.util.spec_from_file_location("notebook", ROOT / "scripts" / "notebook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.notebook(script)


def test_notebook_is_up_to_date() -> None:
    written = nbformat.read(SCRIPT.with_suffix(".ipynb"), as_version=4)
    made = notebook_of(SCRIPT)
    assert [cell.source for cell in written.cells] == [cell.source for cell in made.cells]


@pytest.mark.slow
def test_notebook_runs(tiny_runs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    monkeypatch.setenv("TRANSLATE_RUN", str(tiny_runs["rnn_bahdanau"]))
    monkeypatch.setenv("TRANSLATE_OUT", str(tmp_path))
    client = NotebookClient(
        notebook_of(SCRIPT), timeout=120, resources={"metadata": {"path": str(SCRIPT.parent)}}
    )
    client.execute()
    assert (tmp_path / "by-hand.png").stat().st_size > 1000
