"""The site of `make docs`: the Markdown and the notebooks of this repository, and the public Python names.

Pages hold plain relative links, as the repository's host shows them. The chapters of the site are the
headings and links of index.md, so that the place of a page stands in one file.
"""

import re
import shutil
from pathlib import Path

import typer.main
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator
from typer.cli import get_docs_for_click

from translate.cli.main import build_app
from translate.version import __version__

ROOT = Path(__file__).parents[1]
# What axe-core finds wrong with the theme, and the mend: code and tables that scroll are reached by keyboard,
# and the empty corner of a table is no heading.
ACCESSIBLE = {
    'role="heading"': 'role="heading" aria-level="2"',
    '<aside class="sidebar-drawer"': '<aside class="sidebar-drawer" aria-label="Pages"',
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<th class="head"><p></p></th>': "<td></td>",
    '<div id="search-results">': '<h1>Search</h1><div id="search-results">',
}
DRAWN = re.compile(r'alt="[^"]*_images/[0-9a-f]+\.png"')  # of a notebook
MAPS = ("docs/index", "docs/experiments/README")  # the pages whose links are the chapters of the site

project, release = "translate", __version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = MAPS[0]
include_patterns = ["docs/**", "notebooks/*.ipynb", "data/README.md"]
include_patterns += ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
exclude_patterns = [".*", "build", "runs", "tests", "translate", "scripts", "conf"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
nb_execution_mode = "off"  # a notebook holds what its cells gave; the tests run its script
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_use_ivar = True
html_theme = "furo"
html_static_path = html_css_files = ["site.css"]
html_title = f"translate {release}"
html_copy_source = False
html_show_copyright = False
highlight_language = "text"
copybutton_prompt_text = "$ "  # not copied
copybutton_selector = ", ".join(
    f"div.highlight-{name} pre" for name in ("bash", "console", "python", "yaml", "ipython3")
)


def add_chapters(app: Sphinx, page: str, source: list[str]) -> None:
    """Add a table of contents to a map: a chapter for every heading, with the pages that it links to."""
    if page not in MAPS:
        return
    folder, seen = (ROOT / page).parent, set()
    for section in re.split(r"^#+ ", source[0], flags=re.MULTILINE)[1:]:
        pages = []
        for name in re.findall(r"\(([\w./-]+\.(?:md|ipynb))\)", section):
            target = (folder / name).resolve().relative_to(ROOT).with_suffix("").as_posix()
            inside = page == root_doc or target.startswith("docs/experiments/")
            if target not in seen and inside:
                seen.add(target)
                pages.append(f"/{target}")
        if pages:
            entries = "\n".join([f":caption: {section.splitlines()[0]}", ":hidden:", "", *pages])
            source[0] += f"\n```{{toctree}}\n{entries}\n```\n"


def add_commands(app: Sphinx, page: str, source: list[str]) -> None:
    """Add every option of every command to their page, as typer documents them."""
    if page == "docs/commands":
        command = typer.main.get_command(build_app())
        context = typer.Context(command, info_name="translate")
        _, _, text = get_docs_for_click(obj=command, ctx=context, name="translate").partition("**Commands**:")
        escaped = re.sub("(`[^`]*`)|<", lambda found: found[1] or "&lt;", text[text.index("## ") :])
        source[0] += f"\n{escaped}"


def leave_out_of_search(app: Sphinx, page: nodes.document) -> None:
    """Keep the dated pages of the experiments from standing before those that answer a reader's search."""
    name = app.env.docname
    if name.startswith("docs/experiments/"):
        app.env.metadata[name]["nosearch"] = True


def add_formula(writer: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without network."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    writer.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def finish(app: Sphinx, error: Exception | None) -> None:
    """Mend the theme, add the pictures that HTML names, and a first page that leads to the map."""
    if error is None and app.builder.name == "html":
        for page in app.outdir.rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            for found, mended in ACCESSIBLE.items():
                text = text.replace(found, mended)
            text = DRAWN.sub('alt="drawn by the code above"', text)
            page.write_text(text, encoding="utf-8")
        shutil.copytree(ROOT / "docs" / "pictures", app.outdir / "docs" / "pictures", dirs_exist_ok=True)
        first = f'<meta http-equiv="refresh" content="0; url={root_doc}.html"><title>{project}</title>'
        first += f'<a href="{root_doc}.html">{project}</a>'
        (app.outdir / "index.html").write_text(f"<!doctype html>{first}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (add_formula, None), (add_formula, None))
    app.connect("source-read", add_chapters)
    app.connect("source-read", add_commands)
    app.connect("doctree-read", leave_out_of_search)
    app.connect("build-finished", finish)
