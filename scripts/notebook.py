"""Makes a notebook from a script in the percent format (`# %%`, `# %% [markdown]`).

python scripts/notebook.py notebooks/attention_by_hand.py [--execute]
"""

import argparse
import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def cells(script: str) -> list[nbformat.NotebookNode]:
    """The cells of a script; markdown comes as comments."""
    found = []
    parts = re.split(r"^# %%(.*)\n", script, flags=re.MULTILINE)[1:]
    for number, (kind, body) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        if "[markdown]" in kind:
            cell = new_markdown_cell(re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip())
        else:
            cell = new_code_cell(body.strip())
        cell["id"] = f"cell-{number}"  # the notebook is a function of the script
        found.append(cell)
    return found


def notebook(script: Path) -> nbformat.NotebookNode:
    """The notebook of a script, not executed."""
    return new_notebook(cells=cells(script.read_text(encoding="utf-8")), metadata={"kernelspec": KERNEL})


def keep_outputs(made: nbformat.NotebookNode, written: nbformat.NotebookNode) -> None:
    """Give the cells of a notebook what the same cells of an earlier one have shown."""
    shown = {cell.source: cell for cell in written.cells if cell.cell_type == "code"}
    for cell in made.cells:
        if cell.cell_type == "code" and cell.source in shown:
            same = shown[cell.source]
            cell.outputs, cell.execution_count = same.outputs, same.execution_count
    made.metadata = written.metadata


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a notebook from a script.")
    parser.add_argument("script", type=Path)
    parser.add_argument(
        "--execute", action="store_true", help="run it; else unchanged cells keep what they have shown"
    )
    arguments = parser.parse_args()
    made, path = notebook(arguments.script), arguments.script.with_suffix(".ipynb")
    if arguments.execute:
        from nbclient import NotebookClient

        NotebookClient(
            made,
            timeout=300,
            record_timing=False,
            resources={"metadata": {"path": str(arguments.script.parent)}},
        ).execute()
    elif path.exists():
        keep_outputs(made, nbformat.read(path, as_version=4))
    nbformat.write(made, path)
    print(path)


if __name__ == "__main__":
    main()
