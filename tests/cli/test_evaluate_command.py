import json
import shutil
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER

import translate
from tests.cli.commands import Command
from translate.corpora.corpus import load_corpus
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory


class Files(NamedTuple):
    source: Path
    reference: Path
    gold: Path

    def lines(self, name: str) -> list[str]:
        path: Path = getattr(self, name)
        return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def files(grammar_test_set: Path) -> Files:
    return Files(grammar_test_set / "test.en", grammar_test_set / "test.fr", grammar_test_set / "test.gold")


def test_scores_agree_with_sacrebleu(run: Path, files: Files, translate_command: Command) -> None:
    arguments = ("--source", files.source, "--reference", files.reference, "--json")
    result = translate_command("evaluate", run, *arguments)
    assert (result.code, result.err) == (0, "")
    row = json.loads(result.out)
    texts = [result.text for result in translate.load(run).translate(files.lines("source"))]
    references = [files.lines("reference")]
    metrics: dict[str, Any] = {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}
    expected = {name: metric.corpus_score(texts, references).score for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    assert row == {
        **{name: pytest.approx(score) for name, score in expected.items()},
        "signature": signatures["bleu"],
        "signatures": signatures,
        "beam_size": 2,
        "length_penalty": 1.0,
        "sentences": 17,
        "seen_in_training": 0,
    }


def test_a_table_has_both_sides(run: Path, files: Files, tmp_path: Path, translate_command: Command) -> None:
    pairs = zip(files.lines("source"), files.lines("reference"), strict=True)
    table = tmp_path / "test.jsonl"
    table.write_text("".join(json.dumps({"translation": {"fr": b, "en": a}}) + "\n" for a, b in pairs))
    wanted = ("--source", files.source, "--reference", files.reference)
    expected = translate_command("evaluate", run, *wanted).out
    assert translate_command("evaluate", run, "--source", table).out == expected
    assert translate_command("evaluate", run, "--source", table, "--reference", table).out == expected
    compared = translate_command(
        "compare", run, f"a={files.reference}", "--source", table, "--samples", 50, "--trials", 50
    )
    assert "100.00" in compared.out
    beside = translate_command("evaluate", run, "--source", table, "--reference", files.reference)
    assert "test.jsonl: a table has both sides; give it as --source alone" in beside.err
    (tmp_path / "test.csv").write_text("de,fr\na,b\n")
    wrong = translate_command("evaluate", run, "--source", tmp_path / "test.csv").err
    assert "no field 'en'; its first line names de, fr; name the columns by the codes" in wrong


def test_gold_links_add_the_alignment_error_rate(run: Path, files: Files, translate_command: Command) -> None:
    arguments = ("--source", files.source, "--reference", files.reference, "--gold", files.gold)
    row = json.loads(translate_command("evaluate", run, *arguments, "--json").out)
    bleu, chrf, ter, aer = translate_command("evaluate", run, *arguments).out.splitlines()
    assert bleu == f"BLEU {row['bleu']:.2f}   {row['signature']}"
    assert chrf.startswith(f"chrF {row['chrf']:.2f}   nrefs:1")
    assert ter.startswith(f"TER  {row['ter']:.2f}   nrefs:1")
    assert aer.startswith(f"AER  {100 * row['aer']:.2f} %   precision {row['precision']:.4f}")
    # The definition (Och and Ney 2003), from the links that `translate align` writes.
    pairs = ("--source", files.source, "--target", files.reference, "--whitespace")
    aligned = translate_command("align", run, *pairs)
    found = sure = both = possible = 0
    for line, gold in zip(aligned.out.splitlines(), files.lines("gold"), strict=True):
        links, marks = set(line.split()), gold.split()
        certain = {mark for mark in marks if "-" in mark}
        allowed = {mark.replace("p", "-") for mark in marks}
        found, sure = found + len(links), sure + len(certain)
        both, possible = both + len(links & certain), possible + len(links & allowed)
    assert row["aer"] == pytest.approx(1 - (both + possible) / (found + sure))
    assert row["precision"] == pytest.approx(possible / found)
    assert row["recall"] == pytest.approx(both / sure)


def test_a_score_of_chance_says_what_to_look_at(run: Path, files: Files, translate_command: Command) -> None:
    says = "note: BLEU below 1 is chance: the run has learned too little, or the files are in other languages"
    for reference, expected in ((files.reference, False), (files.gold, True)):
        found = translate_command("evaluate", run, "--source", files.source, "--reference", reference)
        assert (says in found.out) == expected


def test_an_ensemble_is_scored(
    tiny_runs: dict[str, Path], run: Path, files: Files, tmp_path: Path, translate_command: Command
) -> None:
    other, out = tiny_runs["rnn_luong"], tmp_path / "out.fr"
    arguments = ("--source", files.source, "--reference", files.reference, "--ensemble", other, "--json")
    row = json.loads(translate_command("evaluate", run, *arguments, "--out", out).out)
    both = translate.load(run).join([translate.load(other)])
    texts = [result.text for result in both.translate(files.lines("source"))]
    assert out.read_text(encoding="utf-8").splitlines() == texts
    assert row["bleu"] == pytest.approx(sacrebleu.corpus_bleu(texts, [files.lines("reference")]).score)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("two.en one.fr", "two.en has 2 lines"),
        ("empty.en empty.en", "empty"),
        ("two.en two.fr one.gold", "one.gold: 1 line of links for 2 source sentences"),
        ("two.en two.fr far.gold", "far.gold, line 2"),
        ("latin.fr two.fr", "latin.fr, line 1: not UTF-8"),
    ],
)
def test_wrong_files(run: Path, tmp_path: Path, names: str, message: str, translate_command: Command) -> None:
    texts = {
        "two.en": "a b\nc\n",
        "two.fr": "d\ne f\n",
        "one.fr": "d\n",
        "empty.en": "",
        "one.gold": "0-0\n",
        "far.gold": "1-0\n0-2\n",  # the second sentence has two target words
        "latin.fr": "\xe9\nb\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="latin-1")
    given = zip(("--source", "--reference", "--gold"), (tmp_path / name for name in names.split()))
    assert message in translate_command("evaluate", run, *chain.from_iterable(given)).refusal()


def test_sets_and_references(run: Path, files: Files, tmp_path: Path, translate_command: Command) -> None:
    """Each set has its own row, the references are dealt out in order, and the translations are written."""
    few = {name: tmp_path / name for name in ("few.en", "few.fr", "other.fr")}
    for name, path in few.items():
        lines = files.lines("source" if name.endswith("en") else "reference")[:5]
        path.write_text("".join(f"{line.replace('.', '!')}\n" for line in lines))
    out = [tmp_path / "first.out", tmp_path / "second.out"]
    sets = ("--source", files.source, "--reference", files.reference, "--reference", files.reference)
    more = ("--source", few["few.en"], "--reference", few["few.fr"], "--reference", few["other.fr"])
    written = ("--out", out[0], "--out", out[1])
    result = translate_command("evaluate", run, *sets, *more, *written, "--lowercase", "--json")
    assert (result.code, result.err) == (0, "")
    first, second = json.loads(result.out)["test_sets"]
    assert [first["name"], second["name"]] == [str(files.source), str(few["few.en"])]
    assert (first["sentences"], second["sentences"]) == (17, 5)
    translator = translate.load(run)
    sources = files.lines("source"), few["few.en"].read_text().splitlines()
    sets_in_turn = zip((first, second), out, sources, (files.reference, few["few.fr"]), strict=True)
    for row, path, source, reference in sets_in_turn:
        texts = path.read_text(encoding="utf-8").splitlines()
        assert texts == [result.text for result in translator.translate(source)]
        references = reference.read_text(encoding="utf-8").splitlines()
        assert row["bleu"] == pytest.approx(sacrebleu.corpus_bleu(texts, [references, references]).score)
        assert "nrefs:2" in row["signature"]
        low = [line.lower() for line in texts], [line.lower() for line in references]
        lowered = sacrebleu.corpus_bleu(low[0], [low[1]]).score
        assert row["bleu_lowercased"] == pytest.approx(lowered)
        assert "case:lc" in row["signatures"]["bleu_lowercased"]
    shown = translate_command("evaluate", run, *sets, *more, "--lowercase").out.splitlines()
    assert shown[0].endswith("test.en: 17 sentences, 2 references")
    assert shown[5].endswith("few.en: 5 sentences, 2 references")
    assert shown[2] == f"BLEU {first['bleu_lowercased']:.2f}   {first['signatures']['bleu_lowercased']}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--source", "{0}"], "2 files of --source but 1 of --reference"),
        (["--source", "{0}", "--reference", "{1}", "--gold", "{0}"], "--gold is for one test set"),
        (["--source", "{0}", "--reference", "{0}", "--out", "{0}"], "1 file of --out for 2 test sets"),
        (["--source", "{0}", "--reference", "{0}"], " is both source and target"),
        (["--out", "{1}"], ": it is a file that is read; expected another name"),
        (
            ["--source", "{0}", "--reference", "{1}", "--out", "new", "--out", "{0}"],
            ": it is a file that is read",
        ),
        (
            ["--source", "{0}", "--reference", "{1}", "--out", "new", "--out", "new"],
            "--out names a file twice",
        ),
        (["--out", "none/file"], "there is no folder none"),
        (["--documents", "{0}", "--documents", "{0}"], "2 files of --documents for 1 test sets"),
    ],
)
def test_options_that_do_not_fit(
    run: Path, files: Files, options: list[str], message: str, translate_command: Command
) -> None:
    given = [option.format(files.source, files.reference) for option in options]
    arguments = ("--source", files.source, "--reference", files.reference, *given)
    assert message in translate_command("evaluate", run, *arguments).refusal()


def test_pairs_of_the_training_text_are_counted_and_left_out(
    run: Path, files: Files, tmp_path: Path, translate_command: Command
) -> None:
    train = load_corpus(read_settings(RunDirectory(run)).data).train
    trained = list(zip(train.source, train.target, strict=True))
    tested = zip(files.lines("source"), files.lines("reference"), strict=True)
    new = [pair for pair in tested if pair not in trained]
    for name, pairs in (("mixed", [*trained[:5], *new]), ("seen", trained[:5])):
        (tmp_path / f"{name}.en").write_text("".join(f"{source}\n" for source, _ in pairs))
        (tmp_path / f"{name}.fr").write_text("".join(f"{target.upper()}\n" for _, target in pairs))
    arguments = ("--source", tmp_path / "mixed.en", "--reference", tmp_path / "mixed.fr")
    row = json.loads(translate_command("evaluate", run, *arguments, "--json").out)
    assert row["seen_in_training"] == 5
    hypotheses = [result.text for result in translate.load(run).translate([source for source, _ in new])]
    references = [[target.upper() for _, target in new]]
    unknown = shutil.copytree(run, tmp_path / "unknown", symlinks=True)
    (unknown / "training_pairs.bin").unlink()
    clean = ("--source", files.source, "--reference", files.reference, "--json", "--ensemble", unknown)
    assert "seen_in_training" not in json.loads(translate_command("evaluate", run, *clean).out)
    assert row["unseen"]["bleu"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, references).score)
    assert row["unseen"]["chrf"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, references).score)
    told = f"5 of {len(new) + 5} pairs stand in"
    shown = translate_command("evaluate", run, *arguments).out
    assert f"\n{told} the run's training text; the other {len(new)}: BLEU " in shown
    compared = translate_command("compare", run, f"again={run}", *arguments, "--samples", 10, "--trials", 10)
    assert f"\n{told} transformer's training text; the other {len(new)}: BLEU " in compared.out
    assert f"\n{told} again's training text; " in compared.out
    seen = ("--source", tmp_path / "seen.en", "--reference", tmp_path / "seen.fr")
    told = "5 of 5 pairs stand in the run's training text: the scores say nothing about other text"
    assert told in translate_command("evaluate", run, *seen).out
