"""``translate prepare``: from corpora to clean, deduplicated, shuffled shards with a report."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from translate.cli.console import going_on, print_note, unbuffer_lines
from translate.cli.options import option
from translate.errors import UserError, optional

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
LEAST_MEMORY = 2**28


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?) ?([KMGT]?)(?:i?B)?", text, re.IGNORECASE)
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size < LEAST_MEMORY:
        raise UserError(f"--memory {text[:100]}: expected at least 256M, such as 2G")
    return size


def prepare(
    corpora: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME=SOURCE,TARGET",
            help="A corpus: its name, and two files of lines or one table (NAME=pairs.tsv).",
        ),
    ] = None,
    *,
    out: Annotated[Path, option("DIR", "Folder of the shards and the report.")],
    recipe: Annotated[Path | None, option("FILE", "YAML with corpora, filters and other settings.")] = None,
    source_language: Annotated[str | None, option("CODE", "Such as en.")] = None,
    target_language: Annotated[str | None, option("CODE", "Such as fr.")] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "A setting of the recipe, such as filters.max_words=100; may be given several times.",
            "--set",
        ),
    ] = None,
    spark: Annotated[
        str | None,
        option(
            "URL",
            "A Spark cluster that does the work, such as spark://host:7077: the same result. "
            "Default: DuckDB on this machine.",
        ),
    ] = None,
    memory: Annotated[
        str, option("SIZE", "Memory for a process; what does not fit goes to the disk.")
    ] = "2G",
    workers: Annotated[int | None, option("N", "Processes. Default: as many as processors.", min=1)] = None,
) -> None:
    """Clean, deduplicate and shuffle corpora of any size, and report what was dropped and why.

    Pairs are judged by length, characters, script, language, numbers, placeholders and the links between
    their words; repeated and nearly repeated ones are dropped. The shards are Arrow files in a random order
    that only the seed decides. An interrupted command goes on when you start it again.

    Examples:
      translate prepare law=law.en,law.fr talks=talks.tsv \\
          --source-language en --target-language fr --out prepared
      translate prepare --recipe corpora.yaml --out prepared --set links.write=true
      translate train data=prepared data.path=prepared
    """
    from translate.prepare.executors import Cluster, OneMachine
    from translate.prepare.findings import PAGE, summary
    from translate.prepare.preparation import Preparation

    unbuffer_lines()
    chosen = _recipe(corpora or [], recipe, source_language, target_language, settings or [])
    bound = _bytes(memory)
    if spark is not None and workers is not None:
        raise UserError("--workers: it has no effect with --spark, whose cluster has workers of its own")
    if spark is None:
        optional("duckdb", "translate prepare", "prepare")  # before a corpus is read
        make_executor: Any = partial(OneMachine, memory=bound, workers=workers)
    else:
        make_executor = partial(Cluster, master=spark, memory=bound)
    with going_on():
        report = Preparation(chosen, out, make_executor, print_note).run()
    ends = f"report, with examples of what was dropped: {out / PAGE}"
    print(*summary(report), ends, f"train on it: translate train data=prepared data.path={out}", sep="\n")


def _recipe(
    corpora: list[str], file: Path | None, source: str | None, target: str | None, settings: list[str]
) -> Any:
    """The recipe of a file with what the command line adds to it."""
    from translate.corpora.local_files import language_of
    from translate.corpora.tables import check_table
    from translate.prepare.recipe import recipe_of
    from translate.text.bounded import parse_yaml, read_yaml
    from translate.text.languages import code_of

    values: Any = {}
    if file is not None:
        values = read_yaml(file, expected="a recipe in YAML") or {}
        if not isinstance(values, dict):
            raise UserError(f"{file}: expected settings such as source_language: en")
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UserError(f"--set {setting[:100]}: expected NAME=VALUE, such as filters.max_words=100")
        _put(values, name, parse_yaml(value, Path("--set")))
    values |= {key: code for key, code in zip(_LANGUAGES, (source, target)) if code is not None}
    for corpus in corpora:
        name, equals, files = corpus.partition("=")
        if equals and name.startswith(("corpora.", "filters.", "links.")):
            raise UserError(f"{corpus[:150]}: a setting follows a --set of its own")
        if not name or not all(files.split(",")) or files.count(",") > 2:
            form = "NAME=SOURCE_FILE,TARGET_FILE, without a space, or NAME=TABLE"
            raise UserError(f"{corpus[:150]}: expected {form}")
    for corpus in corpora:
        name, _, files = corpus.partition("=")
        sides = files.split(",")
        known = values.get("corpora") or {}
        settings_of = known.get(name) or {} if isinstance(known, dict) else None
        if not isinstance(settings_of, dict):
            raise UserError("corpora: expected settings for each name, such as {law: {source: law.tsv}}")
        if "source" in settings_of:
            raise UserError(f"{name[:100]}: there is a corpus of this name already; give each its own")
        if len(sides) == 1 and "target" not in settings_of:
            check_table(f"corpora.{name[:100]}", Path(files))
        found = dict(zip(_LANGUAGES, map(language_of, sides)))  # of two files, by their names
        if len({*found.values()} - {None}) == 2:
            values = found | values
        settled = settings_of | dict(zip(_SIDES, sides))
        _put(values, "corpora", {**known, name: settled})
    for key in _LANGUAGES:
        if key not in values:
            raise UserError(f"{key} is not set; give --{key.replace('_', '-')} CODE, such as en")
        values[key] = code_of(str(values[key]))
    return recipe_of(values)


_SIDES = ("source", "target", "document")
_LANGUAGES = ("source_language", "target_language")


def _put(values: dict[str, Any], name: str, value: Any) -> None:
    *sections, last = name.split(".")
    for section in sections:
        inner = values.setdefault(section, {})
        if not isinstance(inner, dict):
            raise UserError(f"--set {name[:100]}: {section} has no settings of its own")
        values = inner
    values[last] = value
