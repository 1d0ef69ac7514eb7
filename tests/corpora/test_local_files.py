"""Local files: lines, tables, languages, and one clear sentence for every mistake."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tests.corpora import written
from tests.corpora.written import config, write
from translate.config.data import data_config
from translate.corpora.corpus import Corpus, load_corpus
from translate.corpora.filters import filter_pairs
from translate.corpora.split import Split, SplitReader, beside
from translate.errors import UserError, UserNotice

SOURCE = [f"a dog number {i}" for i in range(7)]
TARGET = [f"un chien numéro {i}" for i in range(7)]


def load(**values: Any) -> Corpus:
    return load_corpus(data_config({"name": "files", "kind": "files", **values}))


def message(**values: Any) -> str:
    return written.message({"name": "files", "kind": "files", **values})


def pair(tmp_path: Path, source: list[str], target: list[str], stem: str = "train") -> dict[str, str]:
    return {
        "source": write(tmp_path / f"{stem}.en", source),
        "target": write(tmp_path / f"{stem}.fr", target),
    }


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_side_by_side_languages_from_suffixes(tmp_path: Path, ending: str) -> None:
    source = write(tmp_path / f"train.en{ending}", SOURCE)
    target = write(tmp_path / f"train.fr{ending}", TARGET)
    corpus = load(train={"source": source, "target": target})
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert (corpus.train.source, corpus.train.target) == (SOURCE, TARGET)
    assert corpus.validation is None
    assert corpus.dropped == {"train": {}}


def test_explicit_languages_win_and_plain_names_do(tmp_path: Path) -> None:
    files = {"source": write(tmp_path / "a.txt", SOURCE), "target": write(tmp_path / "b.txt", TARGET)}
    assert load(train=files).source_language == "source"
    corpus = load(train=files, source_language="en", target_language="fr")
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")


def test_languages_that_nothing_names_are_told_by_the_lines(tmp_path: Path) -> None:
    english = ["The children play in the garden.", "I do not know him.", "It was raining all day."] * 40
    japanese = ["子供たちは庭で遊びます。", "私は彼を知りません。", "一日中雨が降っていました。"] * 40
    rows = [f"{one}\t{other}" for one, other in zip(english, japanese, strict=True)]
    train = {"source": write(tmp_path / "a.tsv", ["source\ttarget", *rows])}
    found, chosen = load(train=train), load(train=train, source_language="en", target_language="jp")
    assert (found.source_language, found.target_language) == ("en", "ja")
    told = "data.source_language=en data.target_language=ja, by what most lines look like"
    assert told in "\n".join(found.summary_lines())
    assert chosen.target_language == "jp"
    assert "warning: data.target_language=jp: the code of Japanese is ja" in chosen.summary_lines()
    wrong = load(train=train, source_language="ar", target_language="ja").summary_lines()
    says = "warning: most sources of train look like English, but that language is Arabic: are the "
    assert any(line.startswith(says) for line in wrong)
    few = {"source": write(tmp_path / "few.tsv", ["ar\tja", *rows[:60]])}
    says = "warning: most sources have no letter of the script of Arabic"
    assert any(line.startswith(says) for line in load(train=few).summary_lines())
    test = {"source": write(tmp_path / "test.tsv", ["target\tsource", *rows])}
    exchanged = load(train=train, test=test).summary_lines()
    says = "warning: most sources of test look like Japanese, but that language is English: are the "
    assert any(line.startswith(says) for line in exchanged)
    assert not any("of test look" in line for line in load(train=train, test=train).summary_lines())
    files = {"source": write(tmp_path / "a.src", english), "target": write(tmp_path / "a.tgt", japanese)}
    assert load(train=files).target_language == "ja"


def test_one_column_is_no_pair(tmp_path: Path) -> None:
    table = write(tmp_path / "a.csv", ["English,Français", "hello,bonjour"])
    with pytest.raises(UserError, match="the column English is both source and target"):
        load(train={"source": table}, source_field="English", target_field="English")


STRANGE = ["a\u2028b", "a\u0085b", "a\x0bb\x0cc", "a\u2029b", "a\x00b", "a\rb", "a\x1cb", "a 👩‍👩‍👧 b", ""]


def test_strange_lines_stay_parallel_and_test_is_kept_whole(tmp_path: Path) -> None:
    target = [f"t {i}" for i in range(len(STRANGE))]
    corpus = load(train=pair(tmp_path, STRANGE, target), test=pair(tmp_path, STRANGE, target, "test"))
    assert (corpus.test.source, corpus.test.target) == (STRANGE, target)
    assert corpus.train.source == ["a b"] * 2 + ["a b c"] + ["a b"] * 4 + ["a 👩‍👩‍👧 b"]
    assert corpus.train.target == target[:-1]
    assert corpus.dropped == {"train": {"empty": 1}}
    assert "training lines with control characters replaced by spaces: 7" in corpus.notes
    assert not any("lost letters" in note for note in corpus.notes)


def test_windows_text_that_was_converted_as_latin_1_is_told(tmp_path: Path) -> None:
    source = "Ma sœur l\N{RIGHT SINGLE QUOTATION MARK}a dit.".encode("cp1252").decode("latin-1")
    corpus = load(train=pair(tmp_path, [source, "plain"], ["a", "b"]))
    assert any(note.startswith("warning: 1 line of them lost letters or quotation") for note in corpus.notes)


ROWS = [{"en": s, "fr": t, "id": str(i)} for i, (s, t) in enumerate(zip(SOURCE, TARGET))]


def table(tmp_path: Path, form: str) -> str:
    path = tmp_path / f"train.{form}"
    if form.startswith("tsv"):
        return write(path, ["id\ten\tfr"] + [f"{r['id']}\t{r['en']}\t{r['fr']}" for r in ROWS])
    if form.startswith("jsonl"):
        return write(path, [json.dumps(row) for row in ROWS])
    if form == "parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    else:
        rows = pyarrow.Table.from_pylist(ROWS)
        with pyarrow.ipc.new_stream(path, rows.schema) as stream:
            stream.write_table(rows)
    return str(path)


@pytest.mark.parametrize("form", ["tsv", "tsv.gz", "jsonl", "jsonl.gz", "parquet", "arrow"])
def test_tables(tmp_path: Path, form: str) -> None:
    source = table(tmp_path, form)
    corpus = load(train={"source": source}, source_language="en", target_language="fr")
    assert (corpus.train.source, corpus.train.target) == (SOURCE, TARGET)
    corpus = load(train={"source": source}, source_field="fr", target_field="en")
    assert (corpus.train.source, corpus.train.target) == (TARGET, SOURCE)
    assert (corpus.source_language, corpus.target_language) == ("fr", "en")
    wrong = message(train={"source": source}, source_field="fra", target_field="en")
    assert "no field 'fra'; did you mean fr?" in wrong
    tabs = tmp_path / "tabs.csv"
    tabs.write_text("yes, a\tb\n")
    assert message(train={"source": str(tabs)}).endswith("its columns are apart by tabs, so name it .tsv")
    told = message(train={"source": source})
    assert "cannot tell which columns are source and target" in told
    assert ", or name them source and target, or by language codes such as en" in told


@pytest.mark.parametrize(
    "names", [("source", "target"), ("Src", "trg"), ("en", "pt-BR"), ("English", "french")]
)
def test_columns_whose_names_tell_the_sides(tmp_path: Path, names: tuple[str, str]) -> None:
    source = write(tmp_path / "t.tsv", ["\t".join(row) for row in (names, *zip(SOURCE, TARGET))])
    corpus = load(train={"source": source})
    assert (corpus.train.source, corpus.train.target) == (SOURCE, TARGET)
    assert corpus.source_language == ("en" if names[0] in ("en", "English") else "source")


def test_columns_that_are_called_by_the_names_of_languages(tmp_path: Path) -> None:
    rows = ("Id", "English", "French"), *(("7", *pair) for pair in zip(SOURCE, TARGET))
    source = write(tmp_path / "t.tsv", ["\t".join(row) for row in rows])
    for given in (
        {"source_language": "en", "target_language": "fr"},
        {"source_field": "English", "target_field": "French"},
    ):
        corpus = load(train={"source": source}, **given)
        assert (corpus.source_language, corpus.target_language) == ("en", "fr")
        assert (corpus.train.source, corpus.train.target) == (SOURCE, TARGET)


def test_a_test_table_may_have_other_names(tmp_path: Path) -> None:
    rows = ["\t".join(pair) for pair in zip(SOURCE, TARGET)]
    train = write(tmp_path / "train.tsv", ["English\tFran\u00e7ais", *rows])
    fields = {"source_field": "English", "target_field": "Fran\u00e7ais"}
    test = write(tmp_path / "test.tsv", ["fr\ten", *("\t".join(pair) for pair in zip(TARGET, SOURCE))])
    assert load(train={"source": train}, test={"source": test}, **fields).test.source == SOURCE
    write(tmp_path / "test.tsv", ["a\tb", *rows])
    with pytest.raises(UserError, match=r"no field 'en'; .* a, b; name it as in the table of training pairs"):
        load(train={"source": train}, test={"source": test}, **fields)


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_columns_by_number(tmp_path: Path, ending: str) -> None:
    """The first line is a pair then."""
    mark = {"tsv": "\t", "csv": ","}[ending]
    source = write(tmp_path / f"t.{ending}", [mark.join(("CC BY", *row)) for row in zip(SOURCE, TARGET)])
    numbers = {"source_field": "2", "target_field": "3"}
    corpus = load(train={"source": source}, **numbers)
    assert (corpus.train.source, corpus.train.target) == (SOURCE, TARGET)
    assert (corpus.source_language, corpus.target_language) == ("source", "target")
    assert load(train={"source": source}, target_language="fr", **numbers).target_language == "fr"
    heads = ("id", "English", "French")
    named = write(
        tmp_path / f"named.{ending}", [mark.join(row) for row in (heads, *zip("01", SOURCE, TARGET))]
    )
    with pytest.warns(
        UserNotice, match="named.*: its first line, id, English, French, seems to name the col"
    ):
        load(train={"source": named}, **numbers)
    wrong = message(train={"source": source}, source_field="2", target_field="4")
    assert f"t.{ending}: no field '4'; it has 1, 2, 3; choose one with data.target_field" in wrong
    assert "; if its first line is a pair, write data.source_field=1 data.target_field=2" in message(
        train={"source": source}
    )


def test_patterns_name_several_files(tmp_path: Path) -> None:
    """Side by side in the order of their names; tables, too."""
    for part, begin in (("b", 2), ("a", 0)):
        write(tmp_path / f"{part}.en", SOURCE[begin : begin + 2])
        write(tmp_path / f"{part}.fr", TARGET[begin : begin + 2])
        pairs = zip(SOURCE[begin : begin + 2], TARGET[begin : begin + 2])
        write(tmp_path / f"{part}.tsv", ["\t".join(row) for row in (("en", "fr"), *pairs)])
    for train in (
        {"source": str(tmp_path / "*.en"), "target": str(tmp_path / "?.fr")},
        {"source": str(tmp_path / "[ab].tsv")},
    ):
        corpus = load(train=train)
        assert (corpus.train.source, corpus.train.target) == (SOURCE[:4], TARGET[:4])
        assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    one = {"source": str(tmp_path / "*.en"), "target": str(tmp_path / "a.fr")}
    assert "data.train: 2 files of sources but 1 of targets" in message(train=one)
    assert "data.train.source: no file matches" in message(
        train={"source": str(tmp_path / "*.de"), "target": "x"}
    )


@pytest.mark.parametrize("mark", [",", ";"])
def test_csv(tmp_path: Path, mark: str) -> None:
    """As spreadsheets write it: a byte order mark, and quoted values with marks and line ends."""
    pairs = [('a, b; "c"', "two\nlines"), ("d", "é")] * 3000
    path = tmp_path / "t.csv"
    marked = {"source": write(tmp_path / "u.csv", ['"a; b; c","d"', "e,f"])}
    assert load(train=marked, source_field="1", target_field="2").train.target == ["d", "f"]
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=mark).writerows([("en", "fr"), *pairs])
    corpus = load(train={"source": str(path)}, drop_duplicates=False)
    assert corpus.train.source == [source for source, _ in pairs]
    assert corpus.train.target == [target.replace("\n", " ") for _, target in pairs]


def test_streaming_reads_until_there_are_as_many_pairs_without_duplicates() -> None:
    lines = [f"line {number}" for number in range(100)]
    blocks = [([line] * 3, [line.upper()] * 3) for line in lines]
    sizes = {"streaming": True, "max_train_pairs": 20, "validation_pairs": 5, "test_pairs": 0}
    data = data_config(config("opus100") | {"drop_duplicates": True} | sizes)
    found = filter_pairs(SplitReader(lambda: iter(blocks)), data)
    assert len(found.split) == 25
    assert found.dropped == {"duplicate": 50}


def test_nested_fields(tmp_path: Path) -> None:
    rows = [json.dumps({"translation": {"en": s, "fr": t}}) for s, t in zip(SOURCE, TARGET)]
    train = {"source": write(tmp_path / "train.jsonl", rows)}
    assert load(train=train, source_language="en", target_language="fr").train.target == TARGET
    assert (
        load(train=train, source_field="translation.fr", target_field="translation.en").train.source == TARGET
    )


def test_table_sentences_are_single_lines_of_valid_text(tmp_path: Path) -> None:
    rows = ['{"en": "two\\nlines", "fr": "half \\ud83d"}', '{"en": null, "fr": "x"}']
    path = write(tmp_path / "t.jsonl", rows)
    corpus = load(train={"source": path}, test={"source": path}, source_language="en", target_language="fr")
    assert corpus.test.source == ["two lines", ""]
    assert corpus.test.target == ["half \ufffd", "x"]


def test_lengths_differ(tmp_path: Path) -> None:
    text = message(train=pair(tmp_path, SOURCE, TARGET[:-2]))
    assert "train.en has 7 lines" in text
    assert "train.fr has 5" in text
    table = write(tmp_path / "train.csv", ["source,target", "a,b"])
    told = message(train={"source": table, "target": write(tmp_path / "a.fr", TARGET)})
    assert "a table has both sides, so leave the other file out" in told


def test_patterns_pair_names_without_their_languages(tmp_path: Path) -> None:
    """europarl comes after the language en and before fr."""
    for stem in ("train", "train.europarl"):
        for language in ("en", "fr"):
            write(tmp_path / f"{stem}.{language}", [f"{stem} {number}" for number in range(5)])
    files = {"source": f"{tmp_path}/*.en", "target": f"{tmp_path}/*.fr"}
    train = load(train=files, validation_pairs=0, test_pairs=0, drop_identical=False).train
    assert len(train) == 10
    assert list(train.source) == list(train.target)


@pytest.mark.parametrize("side", [0, 1])
def test_a_table_beside_a_file_of_translations_is_refused(tmp_path: Path, side: int) -> None:
    """Else the model would read the translation in the source, and score well."""
    sides = [SOURCE, TARGET]
    sides[side] = [f"{one}\t{other}" for one, other in zip(SOURCE, TARGET, strict=True)]
    told = message(train=pair(tmp_path, sides[0], sides[1]))
    assert f"train.{('en', 'fr')[side]}: every line has a tab, so this is a table: data.train.source " in told
    sides[side][3] = sides[side][3].replace("\t", " ")
    assert len(load(train=pair(tmp_path, sides[0], sides[1])).train) > 0


def test_one_file_on_both_sides_and_swapped_sides(tmp_path: Path) -> None:
    files = pair(tmp_path, SOURCE, TARGET)
    twice = message(train={"source": files["source"], "target": files["source"]})
    assert twice.endswith("train.en is both source and target")
    swapped = {"source": files["target"], "target": files["source"]}
    assert "by its name a text in fr, where one in en is expected" in message(train=files, validation=swapped)


def test_not_utf8_names_file_and_line(tmp_path: Path) -> None:
    files = pair(tmp_path, SOURCE, TARGET)
    Path(files["target"]).write_bytes("un\ndeux\nété\n".encode("latin-1"))
    assert f"{files['target']}, line 3: not UTF-8" in message(train=files)
    Path(files["target"]).write_bytes("un".encode("utf-16"))
    assert "UTF-16" in message(train=files)


def test_damaged_gzip_and_parquet(tmp_path: Path) -> None:
    files = {
        "source": write(tmp_path / "train.en.gz", SOURCE),
        "target": write(tmp_path / "train.fr.gz", TARGET),
    }
    Path(files["target"]).write_bytes(Path(files["target"]).read_bytes()[:-11])
    assert "damaged or cut short" in message(train=files)
    broken = tmp_path / "train.parquet"
    languages = {"source_language": "en", "target_language": "fr"}
    broken.write_bytes(b"PAR1 no")
    assert "not a readable parquet" in message(train={"source": str(broken)}, **languages)
    broken.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert "git lfs pull" in message(train={"source": str(broken)}, **languages)


def test_malformed_rows_name_the_line(tmp_path: Path) -> None:
    languages = {"source_language": "en", "target_language": "fr"}
    rows = {
        "a.tsv": (["en\tfr", "one\tun", "two"], "line 3: 1 tab-separated"),
        "b.jsonl": (['{"en": "a", "fr": "b"}', '{"en": "a",'], "line 2: not valid JSON"),
        "c.jsonl": (['{"en": "a", "fr": "b"}', '{"en": 3, "fr": "b"}'], "line 2: field 'en': expected text"),
        "d.jsonl": (['{"en": "a", "fr": "b"}', "[1]"], "line 2: expected a JSON object"),
        "e.tsv": ([], "empty"),
        "f.tsv": (["en\tfr"], "no rows; expected sentence pairs"),
    }
    for name, (lines, expected) in rows.items():
        assert expected in message(train={"source": write(tmp_path / name, lines)}, **languages), name


def test_empty_and_incomplete(tmp_path: Path) -> None:
    assert "are empty" in message(train=pair(tmp_path, [], []))
    assert "no training pair left; dropped: 2 with an empty side" in message(
        train=pair(tmp_path, ["", "a"], ["b", " "])
    )
    too_long = message(train=pair(tmp_path, ["a b"], ["c d"]), max_length=1)
    assert too_long.endswith(
        "dropped: 1 with more words than data.max_length; data.max_length is 1: raise it"
    )
    assert "data.train.source is not set" in message()
    files = pair(tmp_path, SOURCE, TARGET)
    assert "data.train.target is not set" in message(train={"source": files["source"]})
    assert "is set without data.test.source" in message(train=files, test={"target": files["target"]})


def test_gold_links(tmp_path: Path) -> None:
    source, target = ["a b", "", "c d"], ["x y z", "u", "v w"]
    links = ["0-0 1p2", "", "1-0"]
    files = pair(tmp_path, source, target)
    gold = write(tmp_path / "gold", links)
    corpus = load(train={**files, "gold": gold}, test={**files, "gold": gold})
    assert corpus.test.gold == links
    assert corpus.train.gold == ["0-0 1p2", "1-0"]
    for wrong, expected in (
        (links[:2], "2 lines of gold links for 3 sentence pairs"),
        (["0-0", "", "0-0 1:1"], "line 3: '1:1' is not a link"),
        (["0-0", "", "0-0 2-1"], "line 3: link '2-1' points to source word 2, but the source has 2 words"),
        (["0-3", "", ""], "line 1: link '0-3' points to target word 3, but the target has 3 words"),
    ):
        path = write(tmp_path / "wrong", wrong)
        text = message(train=files, test={**files, "gold": path})
        assert text.startswith(path)
        assert expected in text
    assert "has no test split" in message(train=files, test={"gold": gold})


def test_gold_links_of_pictures_count_patches_before_words(tmp_path: Path) -> None:
    lines = ["![](a.png) two words", "![](b.png)"]
    gold = ["143-0 145p3", "0-0 63-3"]

    def read(lines: list[str], gold: list[str]) -> Split:
        path = Path(write(tmp_path / "gold", gold))
        return beside(SplitReader.of(Split(lines, TARGET[: len(lines)])), "gold", path, "gold").whole()

    assert read(lines, gold).gold == gold
    with pytest.raises(UserError, match="gold, line 2: link '0-4' points to target word 4"):
        read(lines, ["0-0", "0-4"])
    with pytest.raises(UserError, match="but the source has 2 words"):
        read(["two words"], ["2-0"])


@pytest.mark.parametrize(
    ("setting", "needed"),
    [
        ("source_field", "a table"),
        ("target_field", "a table"),
        ("picture_field", "a table"),
        ("test_name", "the folder data.path"),
    ],
)
def test_settings_without_an_effect_on_two_files(tmp_path: Path, setting: str, needed: str) -> None:
    text = message(train=pair(tmp_path, SOURCE, TARGET), **{setting: "x"})
    assert text.startswith(f"data.{setting}=x: it has no effect without {needed}")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"picture_size": 64}, "picture_size: it has no effect without data.read=picture or both"),
        ({"patch_size": 16}, "patch_size: it has no effect without data.read=picture or both"),
        ({"context_pieces": 100}, "context_pieces: it has no effect without data.context_sentences"),
        (
            {"hub": {"repository": "a/b", "config": "x", "directory": "y"}},
            "directory: hub.config names a part already; set one of both to null",
        ),
    ],
)
def test_settings_without_an_effect(values: dict[str, Any], text: str) -> None:
    kind = "hub" if "hub" in values else "files"
    with pytest.raises(UserError) as error:
        data_config({"name": "x", "kind": kind, **values})
    assert str(error.value).endswith(text)
