"""The notebook of pictures is the script's, and runs on a trained model."""

from pathlib import Path

import nbformat
import pytest

from tests.notebooks.test_attention_by_hand import notebook_of
from tests.runs.test_pictures import RECURRENT, TINY, trained

SCRIPT = Path(__file__).parents[2] / "notebooks" / "pictures_by_hand.py"


def test_notebook_is_up_to_date() -> None:
    written = nbformat.read(SCRIPT.with_suffix(".ipynb"), as_version=4)
    assert [cell.source for cell in written.cells] == [cell.source for cell in notebook_of(SCRIPT).cells]


@pytest.mark.slow
def test_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient

    run = trained(tmp_path, "experiment=scenes_captions", *TINY, *RECURRENT)
    monkeypatch.setenv("TRANSLATE_RUN", str(run))
    monkeypatch.setenv("TRANSLATE_OUT", str(tmp_path))
    client = NotebookClient(
        notebook_of(SCRIPT), timeout=120, resources={"metadata": {"path": str(SCRIPT.parent)}}
    )
    client.execute()
    assert (tmp_path / "regions.png").stat().st_size > 1000
