"""Recipes: the documented settings, mistakes, and the command line."""

from pathlib import Path

import pytest

from tests.cli.commands import Command, command
from tests.prepare.corpora import grammar_pairs, pairs_of, write_pairs
from translate.config.files import section_of
from translate.config.listing import comments_in
from translate.config.messages import show

translate_command = pytest.fixture(command)
PAGE = Path(__file__).parents[2] / "docs" / "preparing.md"


def table(file: str) -> str:
    """The settings of a file as rows of Markdown."""
    rows = ["| setting | default | meaning |", "| --- | --- | --- |"]
    for key, meaning in comments_in(file).items():
        value: object = section_of(file)
        for part in filter(None, key.split(".")):
            assert isinstance(value, dict)
            value = value[part]
        if key and not (isinstance(value, dict) and value):
            shown = "required" if value == "???" else "none" if value == {} else show(value).strip("'")
            rows.append(f"| `{key}` | {shown} | {meaning} |")
    return "\n".join(rows)


@pytest.mark.parametrize("name", ["prepare", "prepare_corpus"])
def test_the_page_has_every_setting(name: str) -> None:
    _, shown, _ = PAGE.read_text(encoding="utf-8").split(f"<!-- settings: {name} -->\n")
    assert shown.strip() == table(f"{name}.yaml")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a=a.tsv"], "source_language is not set; give --source-language CODE"),
        (["a=a.en"], "corpora.a.target is not set and a.en is not a table"),
        (["a=a.en,a.fr"], "a.en: no such file"),  # the names tell the languages
        (
            ["a=a.en,a.fr", "--source-language", "fr", "--target-language", "en"],
            "a.en: by its name a text in en, where one in fr is expected; exchange the files of the corpus a",
        ),
        (
            ["a", "--source-language", "en", "--target-language", "fr"],
            "a: expected NAME=SOURCE_FILE,TARGET_FILE",
        ),
        (["a=a.en", "a.fr"], "a.fr: expected NAME=SOURCE_FILE,TARGET_FILE, without a space, or NAME=TABLE"),
        (["a=a.tsv", "corpora.a.source_field=x"], "corpora.a.source_field=x: a setting follows a --set"),
        (["--source-language", "en", "--target-language", "fr"], "no corpus is given"),
        (["--recipe", "no.yaml"], "no.yaml: no such file; expected a recipe in YAML"),
        (["--recipe", "r.yaml"], "unknown key; did you mean filters.max_words?"),
        (
            ["a=a.tsv", "--source-language", "en", "--target-language", "fr", "--set", "filters=3"],
            "filters: expected a section of keys and values, got 3",
        ),
        (["a=a.en,a.fr", "a=b.en,b.fr"], "a: there is a corpus of this name already"),
        (["a=a.en,a.fr", "--recipe", "a.yaml"], "a: there is a corpus of this name already"),
        (["a=a.en,a.fr", "--set", "seed"], "--set seed: expected NAME=VALUE"),
        (
            ["a=a.xlsx", "--source-language", "en", "--target-language", "fr"],
            "; save its pairs as .csv, or as",
        ),
        (["a=a.tsv", "--source-language", "en", "--target-language", "en"], "are both en"),
        (["a=a.tsv", "--source-language", "English", "--target-language", "EN"], "are both en"),
        (["a=no.tsv", "--source-language", "en", "--target-language", "fr"], "no.tsv: no such file"),
        (
            ["a=a.tsv", "--source-language", "en", "--target-language", "fr", "--memory", "3"],
            "--memory 3: expected at least 256M",
        ),
        (["a=a.tsv", "--set", "corpora=[law]"], "corpora: expected settings for each name"),
        (["law=a.tsv", "--set", "corpora={law: law.en}"], "corpora: expected settings for each name"),
        (
            [
                "a=a.tsv",
                "--source-language",
                "en",
                "--target-language",
                "fr",
                "--spark",
                "spark://host:7077",
                "--workers",
                "3",
            ],
            "--workers: it has no effect with --spark",
        ),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    translate_command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text("source_language: en\ntarget_language: fr\nfilters: {max_wordz: 3}\n")
    Path("a.yaml").write_text("corpora: {a: {source: a.en, target: a.fr}}\n")
    result = translate_command("prepare", *arguments, "--out", "out")
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not Path("out", "manifest.json").exists()


def test_a_folder_with_other_files_is_refused(tmp_path: Path, translate_command: Command) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    files = write_pairs(tmp_path, "a", grammar_pairs(9))
    own = tmp_path / "out" / "report.html"
    own.parent.mkdir()
    own.write_text("mine")
    languages = ("--source-language", "en", "--target-language", "fr")
    told = translate_command(
        "prepare", f"a={files['source']},{files['target']}", *languages, "--out", own.parent
    )
    assert "out: the folder is not empty and holds no shards; choose another" in told.refusal()
    assert [path.name for path in own.parent.iterdir()] == [own.name]
    assert own.read_text() == "mine"


def test_columns_on_the_command_line(tmp_path: Path, translate_command: Command) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    table = tmp_path / "pairs.csv"
    table.write_text("".join(f'x,"{s}","{t}"\n' for s, t in grammar_pairs(50)))
    fields = [f"corpora.pairs.{side}_field={number}" for side, number in (("source", 2), ("target", 3))]
    result = translate_command(
        *("prepare", f"pairs={table}", "--source-language", "klingon", "--target-language", "FR"),
        *("--set", fields[0], "--set", fields[1], "--set", "links.min_probability=null"),
        *("--set", "validation_pairs=0", "--set", "near_duplicates=false", "--out", tmp_path / "out"),
        *("--workers", 1),
    )
    assert result.code == 0, result.err
    assert result.err.count("no code of a known language") == 1
    assert len(pairs_of(tmp_path / "out")) == 50


def test_a_recipe_and_the_command_line_together(tmp_path: Path, translate_command: Command) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pairs = grammar_pairs(200)
    first, second = write_pairs(tmp_path, "a", pairs[:120]), write_pairs(tmp_path, "b", pairs[120:])
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        f"source_language: en\ntarget_language: fr\nvalidation_pairs: 7\nnear_duplicates: false\n"
        f"corpora:\n  a:\n    source: {first['source']}\n    target: {first['target']}\n"
    )
    result = translate_command(
        *("prepare", f"b={second['source']},{second['target']}", "--recipe", recipe),
        *("--out", tmp_path / "out", "--set", "links.min_probability=null", "--workers", 1),
    )
    assert result.code == 0, result.err
    assert "written: train 193, validation 7, test 0" in result.out
    out = tmp_path / "out"
    told = f"dropped: {out / 'report.html'}\ntrain on it: translate train data=prepared data.path={out}\n"
    assert result.out.endswith(told)
    assert len(pairs_of(tmp_path / "out")) == 193
    again = translate_command(
        *("prepare", f"b={second['source']},{second['target']}", "--recipe", recipe),
        *("--out", tmp_path / "out", "--set", "links.min_probability=null", "--workers", 1),
    )
    assert "is already prepared" in again.err
    assert again.out == result.out
