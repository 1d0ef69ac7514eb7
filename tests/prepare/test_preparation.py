"""From files to shards: what is kept, what is dropped and why, and what an interruption leaves."""

import gzip
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb", reason="DuckDB is not installed")

from tests.disks import largest_file
from tests.prepare.corpora import grammar_pairs, pairs_of, prepare, recipe, rows, write_pairs
from translate.errors import UserError
from translate.prepare import executors, preparation
from translate.prepare.shard_files import ShardOrder

PAIRS = grammar_pairs(400)
NEAR = {"near_duplicates": False}  # the sentences of the grammar resemble each other


def test_clean_pairs_are_kept_once_in_a_new_order(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", [*PAIRS, *PAIRS[:50], ("", "Rien ."), ("Nothing .", " ")])
    report = prepare(recipe({"a": files}, **NEAR), tmp_path / "out")
    found = pairs_of(tmp_path / "out")
    assert Counter(found) == Counter(PAIRS)
    assert found != PAIRS
    assert report["dropped"] == {"a": {"empty": 2, "duplicate": 50}}
    assert report["read"]["a"]["train"] == 452 == 52 + report["kept"]["a"]
    assert report["splits"] == {"train": 400, "validation": 0, "test": 0}
    assert {row["corpus"] for row in rows(tmp_path / "out")} == {"a"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json",
        "report.html",
        "report.json",
        "train-00000-of-00001.arrow",
    ]


def test_reasons_are_told_if_no_pair_is_left(tmp_path: Path) -> None:
    same = [(source, source) for source, _ in PAIRS[:30]]
    files = write_pairs(tmp_path, "a", [*same, ("", "Rien .")])
    with pytest.raises(UserError, match="is left: 30 with source equal to target, 1 with an empty side"):
        prepare(recipe({"a": files}, **NEAR), tmp_path / "out")


def test_the_manifest_names_every_shard_with_its_hash(tmp_path: Path) -> None:
    prepare(recipe({"a": write_pairs(tmp_path, "a", PAIRS)}, shard_pairs=90, **NEAR), tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    shards = manifest["splits"]["train"]
    assert (manifest["format"], manifest["columns"]) == (1, ["source", "target", "corpus"])
    assert [40 < shard["pairs"] < 140 for shard in shards] == [True] * 5
    for shard in shards:
        content = (tmp_path / "out" / shard["file"]).read_bytes()
        assert shard["sha256"] == hashlib.sha256(content).hexdigest()


def test_order_and_bytes_depend_on_the_seed_alone(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS)
    hashes = [
        prepare(recipe({"a": files}, seed=seed, **NEAR), tmp_path / f"out{number}", workers=workers)["hash"]
        for number, (seed, workers) in enumerate([(1, 1), (1, 2), (2, 1)])
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_tables_and_patterns_give_the_same_pairs(tmp_path: Path) -> None:
    pairs = PAIRS[:60]
    (tmp_path / "a.tsv").write_text("en\tfr\n" + "".join(f"{s}\t{t}\n" for s, t in pairs))
    (tmp_path / "b.tsv").write_text("Src\tother\ttarget\n" + "".join(f"{s}\tx\t{t}\n" for s, t in pairs))
    for number, name in enumerate(("a.tsv", "a.t*", "b.tsv")):
        prepare(recipe({"a": {"source": str(tmp_path / name)}}, **NEAR), tmp_path / f"out{number}")
        assert Counter(pairs_of(tmp_path / f"out{number}")) == Counter(pairs)


def test_documents_keep_their_lines(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS[:30])
    (tmp_path / "a.doc").write_text("".join(f"part{number // 10}\n" for number in range(30)))
    given = recipe({"a": {**files, "document": str(tmp_path / "a.doc")}}, **NEAR)
    prepare(given, tmp_path / "out")
    found = sorted(rows(tmp_path / "out"), key=lambda row: row["line"])
    assert [(row["source"], row["target"]) for row in found] == PAIRS[:30]
    assert [len({row["document"] for row in found[at : at + 10]}) for at in (0, 10, 20)] == [1, 1, 1]
    assert len({row["document"] for row in found}) == 3


def test_pairs_are_held_out_where_no_files_are_given(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS)
    report = prepare(recipe({"a": files}, validation_pairs=30, test_pairs=1000, **NEAR), tmp_path / "out")
    assert (report["read"]["a"], report["held_out"], report["kept"]) == (
        {"train": 400},
        {"a": 70},
        {"a": 330},
    )
    sizes = [len(pairs_of(tmp_path / "out", split)) for split in ("train", "validation", "test")]
    assert sizes == [330, 30, 40]  # a tenth at most
    together = [
        pair for split in ("train", "validation", "test") for pair in pairs_of(tmp_path / "out", split)
    ]
    assert Counter(together) == Counter(PAIRS)


def test_the_last_pair_is_not_held_out_and_kept_as_well(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS[:2])
    prepare(recipe({"a": files}, validation_pairs=1, test_pairs=1, **NEAR), tmp_path / "out")
    found = [pairs_of(tmp_path / "out", split) for split in ("train", "validation")]
    assert [len(pairs) for pairs in found] == [1, 1]
    assert Counter(found[0] + found[1]) == Counter(PAIRS[:2])


@pytest.mark.parametrize(("overlap", "left"), [("keep", 100), ("pair", 95), ("side", 93)])
def test_overlaps_with_tests_are_told_and_dropped_on_request(tmp_path: Path, overlap: str, left: int) -> None:
    test = [*PAIRS[:5], (PAIRS[5][0], "Autre chose ."), ("Something else .", PAIRS[6][1]), ("Oh !", "Ah !")]
    files = {**write_pairs(tmp_path, "a", PAIRS[:100]), "test": write_pairs(tmp_path, "t", test)}
    report = prepare(recipe({"a": files}, overlap=overlap, **NEAR), tmp_path / "out")
    assert report["overlap"] == {"same_pair": 5, "same_side": 7}
    assert len(pairs_of(tmp_path / "out")) == left
    assert pairs_of(tmp_path / "out", "test") == test  # whole, in its order
    if overlap != "keep":
        assert report["dropped"]["a"]["overlap"] == 100 - left


def test_near_duplicates_and_sentences_with_many_translations(tmp_path: Path) -> None:
    long = [("a dog sees 3 cats", "un chien voit 3 chats"), ("Summer is here", "L'été est là")]
    changed = ("a dog sees 12 cats", "un chien voit 12 chats")
    cased = (long[1][0].upper() + " !", "l'ete est la")
    similar = (long[1][0], "Voilà l'été")
    greetings = [("hello", f"translation number {'x' * number}") for number in range(1, 7)]
    files = write_pairs(tmp_path, "a", [*long, changed, cased, similar, *greetings])
    given = recipe({"a": files}, max_partners=5, filters={"language": None})
    report = prepare(given, tmp_path / "out")
    assert sorted(pairs_of(tmp_path / "out")) == sorted([*long, similar])
    assert report["dropped"]["a"] == {"near_duplicate": 2, "partners": 6}
    shown = report["examples"]["near_duplicate"]
    assert [(pair["line"], pair["kept"]["line"]) for pair in shown] == [(3, 1), (4, 2)]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert f"<dd dir=auto>{changed[0]}</dd><dd dir=auto>{changed[1]}</dd>" in page
    assert page.index("<dt>a, pair 3</dt>") < page.index("<dt>kept instead: a, pair 1</dt>")


def test_pairs_whose_words_do_not_link_are_dropped(tmp_path: Path) -> None:
    pairs = grammar_pairs(3000)
    wrong = [(pairs[number][0], pairs[number + 700][1]) for number in range(60)]
    wrong = [pair for pair in wrong if pair not in pairs]
    files = write_pairs(tmp_path, "a", [*pairs, *wrong])
    given = recipe({"a": files}, links={"min_probability": 0.3, "write": True}, **NEAR)
    report = prepare(given, tmp_path / "out")
    left = Counter(pairs_of(tmp_path / "out"))
    missed, lost = sum(left[pair] for pair in wrong), sum(not left[pair] for pair in pairs)
    assert missed < 0.5 * len(wrong)  # the grammar has few words, which meet by chance
    assert lost < 0.1 * len(pairs)
    assert sum(report["translation_probability"]["a"].values()) == len(pairs) + len(wrong)
    linked = [row for row in rows(tmp_path / "out") if row["links"]]
    assert len(linked) > 0.9 * len(pairs)
    for row in linked:
        for link in row["links"].split():
            source, target = map(int, link.split("-"))
            assert source < len(row["source"].split()) + 3
            assert target < len(row["target"].split()) + 3


def test_an_interrupted_preparation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = recipe({"a": write_pairs(tmp_path, "a", PAIRS)}, shard_pairs=90, **NEAR)
    expected = prepare(given, tmp_path / "whole")["hash"]
    out, original = tmp_path / "out", ShardOrder.write

    def killed(order: ShardOrder, number: int, batches: Any) -> object:
        if number == 2:
            raise KeyboardInterrupt
        return original(order, number, batches)

    monkeypatch.setattr(ShardOrder, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        prepare(given, out)
    assert not (out / "manifest.json").exists()
    assert len(list(out.glob("train-*"))) == 2
    monkeypatch.setattr(ShardOrder, "write", original)
    monkeypatch.setattr(preparation, "write_chunks", None)  # nothing is read again
    monkeypatch.setattr(executors, "map_file", None)  # and no pair is judged again
    assert prepare(given, out)["hash"] == expected


def test_another_recipe_does_not_go_on_with_a_folder(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS[:50])
    prepare(recipe({"a": files}, **NEAR), tmp_path / "out")
    again = prepare(recipe({"a": files}, **NEAR), tmp_path / "out")
    assert again["splits"]["train"] == 50
    with pytest.raises(UserError, match="another recipe"):
        prepare(recipe({"a": files}, seed=9, **NEAR), tmp_path / "out")
    write_pairs(tmp_path, "a", PAIRS[:51])
    with pytest.raises(UserError, match="other files"):
        prepare(recipe({"a": files}, **NEAR), tmp_path / "out")


def test_a_wrong_file_is_no_obstacle_to_the_right_one(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS[:50])
    Path(files["target"]).write_text("one line\n")
    with pytest.raises(UserError, match="corpus a: "):
        prepare(recipe({"a": files}, **NEAR), tmp_path / "out")
    write_pairs(tmp_path, "a", PAIRS[:50])
    assert prepare(recipe({"a": files}, **NEAR), tmp_path / "out")["splits"]["train"] == 50


@pytest.mark.parametrize(("text", "expected"), [("[]", "another recipe"), ("{", "damaged")])
@pytest.mark.parametrize("file", ["manifest.json", "plan.json"])
def test_a_stranger_s_file_in_the_folder(tmp_path: Path, file: str, text: str, expected: str) -> None:
    given = recipe({"a": write_pairs(tmp_path, "a", PAIRS[:5])})
    path = tmp_path / "out" / (preparation.WORK if file == "plan.json" else "") / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(UserError, match=expected):
        prepare(given, tmp_path / "out")


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    files = write_pairs(tmp_path, "a", PAIRS[:5])
    with pytest.raises(UserError, match=r"a\.fr: expected a folder for the shards, got a file"):
        prepare(recipe({"a": files}), tmp_path / "a.fr")
    assert (tmp_path / "a.fr").read_text().count("\n") == 5


def test_a_source_that_changes_meanwhile_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_pairs(tmp_path, "a", PAIRS[:50])
    original = preparation.write_splits

    def change(*arguments: object) -> object:
        found = original(*arguments)  # type: ignore[arg-type]
        Path(files["source"]).write_text("other\n" * 50)
        return found

    monkeypatch.setattr(preparation, "write_splits", change)
    with pytest.raises(UserError, match=r"a\.en: changed while"):
        prepare(recipe({"a": files}, **NEAR), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    good, bad = write_pairs(tmp_path, "a", PAIRS[:50]), write_pairs(tmp_path, "b", PAIRS[50:90])
    packed = gzip.compress(Path(bad["source"]).read_bytes())
    Path(bad["source"] + ".gz").write_bytes(packed[: len(packed) // 2])
    corpora = {"a": good, "b": {**bad, "source": bad["source"] + ".gz"}, "c": {"source": "no.tsv"}}
    with pytest.raises(UserError, match=r"no\.tsv: no such file"):
        prepare(recipe(corpora, **NEAR), tmp_path / "out")
    del corpora["c"]
    with pytest.raises(UserError, match=r"corpus b: .*b\.en\.gz: the gzip file is damaged"):
        prepare(recipe(corpora, **NEAR), tmp_path / "out")


def test_a_full_disk_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    given = recipe({"a": write_pairs(tmp_path, "a", PAIRS)}, **NEAR)
    with largest_file(20_000), pytest.raises(UserError, match=r"cannot be written|disk is full"):
        prepare(given, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.arrow"))
    assert prepare(given, tmp_path / "out")["splits"]["train"] == 400


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"a\nb\n", b"c\n", "has 2 lines but .* has 1"),
        (b"a\n\xff\n", b"c\nd\n", "line 2: not UTF-8"),
        (b"x" * (1 << 20) + b"y\n", b"c\n", "line 1: longer than 1,048,576 bytes"),
        (b"", b"", "are empty"),
        (b"a\rb\r", b"c\rd\r", "carriage returns"),
    ],
)
def test_hostile_lines_are_named(tmp_path: Path, source: bytes, target: bytes, message: str) -> None:
    (tmp_path / "a.en").write_bytes(source)
    (tmp_path / "a.fr").write_bytes(target)
    files = {"source": str(tmp_path / "a.en"), "target": str(tmp_path / "a.fr")}
    with pytest.raises(UserError, match=message):
        prepare(recipe({"a": files}), tmp_path / "out")
