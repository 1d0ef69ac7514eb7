"""The files, headings, options and settings that the pages mention exist; tables are current."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main

from scripts import demo, reproduce
from tests.docs.examples import PAGES, ROOT, blocks
from translate.cli.main import build_app

LINKED = sorted({*PAGES, *ROOT.glob("*.md"), *(ROOT / "docs" / "experiments").glob("*.md")})
ANCHOR = re.compile(r"\[[^]]*\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
# Options of other programs that the pages speak of.
FOREIGN = {
    "torchrun": ("--max-restarts", "--nproc-per-node", "--standalone", "--no-python"),
    "docker, tensorboard": ("--build-arg", "--logdir"),
    "sacrebleu, python3 -m http.server": ("--echo", "--directory"),
}
SECTION = "data|model|tokenizer|optimizer|schedule|training|runtime|search|alignment|run"
FILES = (".py", ".json", ".tsv", ".bin", ".lock", ".safetensors")


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^\s*```.*?^\s*```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The names by which a link reaches the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@cache
def options() -> frozenset[str]:
    """Every option of every command, of `translate train`, of the scripts and of the tests' tools."""
    found = {option for listed in FOREIGN.values() for option in listed}
    queue = [typer.main.get_command(build_app())]
    while queue:
        command = queue.pop()
        queue += getattr(command, "commands", {}).values()
        for parameter in command.params:
            found.update(parameter.opts, parameter.secondary_opts)
    from translate.cli.train import HELP

    found |= set(re.findall(r"--[\w-]+", HELP))
    for script in (*(ROOT / "scripts").glob("*.py"), *(ROOT / "tests" / "tools").glob("*.py")):
        found |= set(re.findall(r'"(--[\w-]+)"', script.read_text(encoding="utf-8")))
    return frozenset(found)


@cache
def settings() -> frozenset[str]:
    """The dotted name of every setting that some configuration holds, and of what holds it."""
    from translate.config.listing import chosen_settings, closed_settings
    from translate.config.settings import SECTIONS

    found = [setting.path for section in SECTIONS for setting in closed_settings(section)]
    for room in ("model", "optimizer", "schedule"):
        for file in (ROOT / "conf" / room).rglob("*.yaml"):
            group = file.relative_to(ROOT / "conf").parent.as_posix()
            found += [setting.path for setting in chosen_settings(group, file.stem)]
    return frozenset({*found, *(path.rpartition(".")[0] for path in found)})


@pytest.mark.parametrize("page", LINKED, ids=named)
def test_every_link_and_picture_exists(page: Path) -> None:
    for groups in ANCHOR.findall(prose(page)):
        target = groups[0] or groups[1]
        if re.match(r"\w+:", target):
            continue
        name, _, heading = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), f"{page.name}: {target}"
        assert not heading or heading in anchors(linked), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_option_exists(page: Path) -> None:
    ours = prose(page)
    if page.name == "coming-from.md":  # the first column has the options of others
        ours = re.sub(r"^\|[^|]*\|", "", ours, flags=re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", ours):
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span):
            assert option in options(), f"{page.name}: {span}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_setting_exists(page: Path) -> None:
    for span in re.findall(r"`([^`]+)`", prose(page)):
        for setting in re.findall(rf"(?<![\w./-])((?:{SECTION})\.[a-z_]+(?:\.[a-z_]+)*)(?![\w(/])", span):
            assert setting in settings() or setting.endswith(FILES), f"{page.name}: {span}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_stand_where_they_are_run(page: Path) -> None:
    for block in blocks(page):
        if block.language in ("", "text"):
            commands = re.findall(r"^(?:translate|python|make|pip) .*", block.text, flags=re.MULTILINE)
            assert not commands, f"{page.name}:{block.line}: {commands[0]!r} is in a block that no test runs"
    indented = re.findall(r"^ {4}(?:translate|python) .*", prose(page), flags=re.MULTILINE)
    assert not indented, f"{page.name}: {indented[0]!r} is not in a block of bash"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_file_of_the_code_exists(page: Path) -> None:
    for name in re.findall(r"`((?:[\w.]+/)*\w+\.py)`", prose(page)):
        assert any((root / name).exists() for root in (ROOT, ROOT / "translate")), f"{page.name}: {name}"


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[<>=~ ]", line)[0] for line in project["dependencies"]}
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w, -]+) \|", page.partition("## Dependencies")[2], flags=re.MULTILINE)
    assert {name for row in rows for name in row.split(", ")} - {"package", "---"} == needed


def test_every_page_of_the_experiments_is_listed() -> None:
    folder = ROOT / "docs" / "experiments"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    for page in folder.glob("2*.md"):
        assert f"({page.name})" in listed


def test_the_index_leads_to_every_page() -> None:
    assert "(docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f"({page.name})" in index or page.name == "index.md", page.name


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "settings.md"], ids=named)
def test_a_page_is_read_in_one_sitting(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 200


def messages(tree: ast.AST) -> Iterator[str]:
    """The strings of a file, those that are joined as one, with ``...`` for what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "..." for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_errors_of_the_guide_are_those_of_the_code() -> None:
    files = (ROOT / "translate").rglob("*.py")
    code = "\n".join(text for file in files for text in messages(ast.parse(file.read_text(encoding="utf-8"))))
    guide = re.findall(
        r"^\| `([^`]+)` \|", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert len(guide) >= 30
    for message in guide:
        parts = map(re.escape, message.split("..."))
        assert re.search(".*?".join(parts), code), message


def test_the_tables_of_the_results_are_those_of_their_files() -> None:
    page, demo_rows = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("results.md", "demo.json")
    )
    assert page.split(demo.MARK)[1].strip() == demo.markdown(json.loads(demo_rows)), "scripts/demo.py --docs"
    assert page.split(reproduce.MARK)[1].strip() == reproduce.markdown(reproduce.read()), (
        "reproduce.py --docs"
    )


@pytest.mark.slow
def test_the_walks_of_the_architecture_are_those_of_the_code() -> None:
    command = [sys.executable, "scripts/walks.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
