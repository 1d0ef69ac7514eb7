"""Scripts that load a run set up their process as the commands do."""

from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "scripts").glob("*.py"))
LOADING = [script for script in SCRIPTS if "translate.load(" in script.read_text(encoding="utf-8")]


@pytest.mark.parametrize("script", LOADING, ids=lambda script: script.name)
def test_a_script_that_loads_a_run_sets_the_runtime_first(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert 0 < text.find("use_runtime(") < text.find("translate.load(")


def test_there_are_such_scripts() -> None:
    assert {"demo.py", "agreement.py", "pictures.py", "search_equality.py"} <= {
        script.name for script in LOADING
    }
