"""Tables and clones of a stranger: one short sentence a trick."""

import gzip
import json
import os
from pathlib import Path

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

from translate.config.data import data_config
from translate.corpora import tables
from translate.corpora.corpus import load_corpus, write_corpus
from translate.corpora.tables import read_table
from translate.errors import UserError
from translate.text import lines as reading

FIRST = '{"en": "a", "fr": "b"}\n'


def read_english(path: Path) -> None:
    table = read_table(path)
    list(table.read([tables.pick(table, ["en"], "choose another")]))


def refusal(path: Path, content: bytes | str | None = None) -> str:
    """The message for a table; sentences are read from the field "en"."""
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as caught:
        read_english(path)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 600
    return text


def column(path: Path, name: str) -> list[str]:
    return read_table(path).columns(name)[0]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", FIRST + "[" * 200_000, "a.jsonl, line 2: nested too deeply"),
        ("a.jsonl", FIRST + '{"en":' * 100_000, "line 2: nested too deeply"),
        ("a.jsonl", '{"en": ' + "9" * 5000 + "}", "line 1: a number has too many digits"),
        ("a.jsonl", FIRST + '{"en": "a", "en": "b"}', "line 2: the key 'en' stands twice"),
        ("a.jsonl", '{"en.a": "x", "en": {"a": "y"}}', "line 1: 2 fields are called 'en.a'"),
        ("a.jsonl", f'{{"{"n" * 5000}": "x"}}', "no field 'en'; it has nnn"),
        ("a.json", '[{"en": "a"}]', "line 1: expected a JSON object, got list; of a list, jq -c '.[]' makes"),
        (
            "a.json",
            '[\n{"en": "a"}]',
            "line 1: expected a JSON object, got list; of a list, jq -c '.[]' makes",
        ),
        ("a.jsonl", '{"en": {"x": 1, "x": 2}}', "line 1: the key 'x' stands twice"),
        ("a.jsonl", '{"en": "a"} x', "line 1: not valid JSON (Extra data at column 13)"),
        ("a.jsonl", '{"en": "a', "line 1: not valid JSON (Unterminated string"),
        (
            "a.tsv",
            "en\tfr\ten\na\tb\tc\n",
            "a.tsv, line 1: 2 fields are called 'en'; expected every name once",
        ),
        ("a.tsv", "en\tfr\r" + "a\tb\r" * 9000, "its lines end in carriage returns"),
        (
            "a.tsv",
            "\t".join(f"column {n}" for n in range(50_000)) + "\n",
            "no field 'en'; its first line names column 0",
        ),
        (
            "a.tsv",
            "a b\tc d\n",
            "names a b, c d; choose another; if that line is a pair, both by number, such as 1 and 2",
        ),
        ("a.csv", "en fr\n", "a.csv, line 1: no comma in 'en fr'; expected commas between the columns"),
        ("a.csv", 'en,fr\n"a\nb",c\nd\n', "line 4: 1 comma-separated fields where the first line has 2"),
        ("a.csv", 'en;fr\n"a";"b\n', "a.csv, line 2: not valid CSV (unexpected end of data)"),
        (
            "a.csv",
            "hello,bonjour\na,b\n",
            "its first line names hello, bonjour; choose another; if that line is a pair, both by number",
        ),
        ("a.tsv", "n" * 5000 + "\tfr\na\tb\n", "no field 'en'; its first line names nnn"),
    ],
)
def test_text_tables(tmp_path: Path, name: str, content: str, expected: str) -> None:
    assert expected in refusal(tmp_path / name, content)
    assert expected.replace(name, f"{name}.gz") in refusal(
        tmp_path / f"{name}.gz", gzip.compress(content.encode())
    )


def test_a_long_field_is_refused(tmp_path: Path) -> None:
    text = refusal(tmp_path / "a.jsonl", json.dumps({"en": "é" * (reading.MAX_LINE // 4 + 1)}))
    assert "line 1: longer than" in text


def parquet(path: Path, columns: list[pyarrow.Array], names: list[str]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, names), path, compression="zstd")
    return path


@pytest.mark.slow
def test_parquet_and_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    text = pyarrow.array(["a", "b"])
    invalid = pyarrow.array([b"a", b"\xff\xfe"]).view(pyarrow.string())
    assert "not a readable parquet file (" in refusal(parquet(path, [invalid], ["en"]))
    assert "2 fields are called 'en'" in refusal(parquet(path, [text, text], ["en", "en"]))
    assert "it has nnn" in refusal(parquet(path, [text], ["n" * 5000]))
    stream = tmp_path / "a.arrow"
    table = pyarrow.Table.from_arrays([invalid], ["en"])
    with pyarrow.ipc.new_stream(stream, table.schema) as file:
        file.write_table(table)
    assert "not a readable arrow file (" in refusal(stream)
    monkeypatch.setattr(reading, "FREE_BYTES", 1 << 20)
    long = pyarrow.array(["x" * 10_000] * 20_000)
    assert "expands to more than 100 times its size" in refusal(parquet(path, [long], ["en"]))


def test_an_endless_parquet_file_and_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "not a readable parquet file" in refusal(path)
    for name in ("b.parquet", "b.jsonl", "b.tsv", "b.json"):
        os.mkfifo(tmp_path / name)
        assert "expected a file, got a pipe or a device" in refusal(tmp_path / name)


@pytest.mark.parametrize("language", ["../x", "a/b", "x" * 300, "", "a b"])
def test_a_language_that_is_no_part_of_a_file_name(tmp_path: Path, language: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("en\tfr\n" + "a\tb\n" * 9)
    values = {"name": "x", "kind": "files", "train": {"source": str(path)}}
    fields = {"source_field": "en", "target_field": "fr"}
    languages = {"source_language": language or "fr", "target_language": "fr"}
    corpus = load_corpus(data_config({**values, **fields, **languages}))
    with pytest.raises(UserError, match="give data"):
        write_corpus(corpus, tmp_path / "out")
    assert not (tmp_path / "out").exists()
