"""Mixtures: what a user may write, what an epoch draws, and what the splits hold."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.corpora.written import config, message, write
from translate.config.data import data_config
from translate.corpora import orders
from translate.corpora.corpus import Corpus, load_corpus
from translate.corpora.orders import WeightedRows
from translate.errors import UserError


def files(tmp_path: Path, name: str, count: int, *, languages: tuple[str, str] = ("en", "fr")) -> str:
    """A folder of a corpus with ``count`` training pairs, three of validation and two of test."""
    for split, size in (("train", count), ("valid", 3), ("test", 2)):
        for language in languages:
            write(
                tmp_path / name / f"{split}.{language}",
                [f"{name} {split} {language} {n}" for n in range(size)],
            )
    return str(tmp_path / name)


def mixture(corpora: dict[str, dict[str, Any]], **values: Any) -> dict[str, Any]:
    languages = {"source_language": "en", "target_language": "fr"}
    given = {name: {"choice": "files", **values} for name, values in corpora.items()}
    return {**config("mixture"), **languages, "corpora": given, **values}


@pytest.fixture
def two(tmp_path: Path) -> dict[str, dict[str, Any]]:
    return {"law": {"path": files(tmp_path, "law", 30)}, "news": {"path": files(tmp_path, "news", 10)}}


def drawn(corpus: Corpus, stage: int = 0) -> tuple[int, ...]:
    order = corpus.mixture.orders(1).orders[stage]
    assert isinstance(order, WeightedRows)
    return order.drawn


def test_the_splits_of_all(two: dict[str, dict[str, Any]]) -> None:
    two["law"]["tag"] = "<law>"
    corpus = load_corpus(data_config(mixture(two)))
    assert (corpus.source_language, corpus.target_language, corpus.tags) == ("en", "fr", ("<law>",))
    assert corpus.train.source[:2] == ["<law> law train en 0", "<law> law train en 1"]
    assert corpus.train.source[-1] == "news train en 9"
    assert corpus.train.target[29:31] == ["law train fr 29", "news train fr 0"]
    assert corpus.validation.source == [
        f"{tag}{name} valid en {n}" for n in range(3) for tag, name in (("<law> ", "law"), ("", "news"))
    ]
    assert corpus.validation.corpora == ["law", "news"] * 3
    assert corpus.validation.languages == {"law": "fr", "news": "fr"}
    assert corpus.test is not None
    assert len(corpus.test) == 4


def test_shares(two: dict[str, dict[str, Any]]) -> None:
    def shares(first: float | None, second: float | None, **values: Any) -> tuple[int, ...]:
        weighted = {
            name: {**two[name], "weight": weight} for name, weight in (("law", first), ("news", second))
        }
        return drawn(load_corpus(data_config(mixture(weighted, **values))))

    assert shares(None, None) == (30, 10)
    assert shares(1, 1) == (30, 30)
    assert shares(1, 4) == (30, 120)
    assert shares(1, 4, max_repetitions=2) == (30, 20)
    assert shares(1, 0) == (30, 0)
    assert shares(None, None, temperature=1e9) == (30, 30)
    assert shares(None, None, temperature=2) == (30, round(30 / 3**0.5))


def test_stages_and_what_is_told(two: dict[str, dict[str, Any]]) -> None:
    stages = [{"until": 5, "weights": {"law": 1}}, {"weights": {"law": 1, "news": 1}}]
    corpus = load_corpus(data_config(mixture(two, stages=stages)))
    staged = corpus.mixture.orders(1)
    assert (staged.ends, [staged.stage(step) for step in (0, 4, 5, 9)]) == ((5,), [0, 0, 1, 1])
    assert (drawn(corpus), drawn(corpus, 1)) == ((30, 0), (30, 30))
    told = "\n".join(corpus.summary_lines())
    assert "an epoch from step 1 to 5 draws 30 pairs: law 100.0 % (1 times), news 0.0 % (0 times)" in told
    assert "an epoch from step 6 on draws 60 pairs: law 50.0 % (1 times), news 50.0 % (3 times)" in told
    assert "an epoch ends when the last corpus has been seen whole" in told


@pytest.mark.parametrize("block", [1 << 20, 7])
def test_every_row_of_a_corpus_is_drawn_equally_often(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(orders, "BLOCK", block)
    order = WeightedRows((30, 10, 7), (13, 25, 0), 5)
    count: Counter[int] = Counter()
    for epoch in range(30):
        rows = np.concatenate([order.rows(epoch, b) for b in range(order.num_blocks(epoch))]).tolist()
        assert sum(row < 30 for row in rows) == 13
        assert sum(30 <= row < 40 for row in rows) == 25
        count.update(rows)
    assert {count[row] for row in range(30)} == {13}
    assert {count[row] for row in range(30, 40)} == {75}
    assert max(count) < 40
    assert order.rows(3, 0).tolist() == order.rows(3, 0).tolist() != order.rows(4, 0).tolist()


def test_test_pairs_in_the_training_of_another(tmp_path: Path, two: dict[str, dict[str, Any]]) -> None:
    for language in ("en", "fr"):
        with (tmp_path / "news" / f"train.{language}").open("a") as file:
            file.write(f"law test {language} 1\n")
    corpus = load_corpus(data_config(mixture(two)))
    assert "law test pairs that are also in train: 1 of news" in corpus.notes
    assert len(corpus.train) == 41
    corpus = load_corpus(data_config(mixture(two, drop_overlap=True)))
    assert (len(corpus.train), corpus.dropped) == (40, {"train": {"overlap": 1}})
    assert "law test en 1" not in list(corpus.train.source)
    assert not [note for note in corpus.notes if "also in train" in note]
    for language in ("en", "fr"):
        (tmp_path / "news" / f"train.{language}").write_text(f"law test {language} 1\n")
    with pytest.raises(UserError, match=r"data\.corpora\.news has no training pair left"):
        load_corpus(data_config(mixture(two, drop_overlap=True)))


def test_languages(tmp_path: Path, two: dict[str, dict[str, Any]]) -> None:
    german = {"path": files(tmp_path, "de", 4, languages=("en", "de")), "target_language": "de"}
    text = message(mixture({**two, "german": german}))
    assert "law is en-fr" in text
    assert "german is en-de" in text
    assert "data.corpora.law.tag='<2fr>'" in text
    tagged = {name: {**values, "tag": "<2fr>"} for name, values in two.items()}
    corpus = load_corpus(data_config(mixture({**tagged, "german": {**german, "tag": "<2de>"}})))
    assert (corpus.source_language, corpus.target_language) == ("en", "mul")
    assert corpus.tags == ("<2fr>", "<2de>")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"law": {"choice": "fils"}}, "corpora.law.choice: expected one of files, "),
        ({"law": {"choice": "mixture"}}, "corpora.law.choice: expected one of"),
        ({"law": {"paht": "x"}}, "corpora.law.paht: unknown key; did you mean data.corpora.law.path?"),
        ({"law": {"qqq": 1}}, "corpora.law.qqq: unknown key"),
        ({"law": {"tag": "two words"}}, "corpora.law.tag: expected a word like <law>"),
        ({"law": {"tag": "<unk>"}}, "corpora.law.tag: expected a word like <law>"),
        ({"law": {"weight": -1}}, "corpora.law.weight: expected"),
        ({"law": {"weight": 1}}, "corpora.news.weight: give all corpora a weight, or none"),
        ({"law": {"weight": 0}, "news": {"weight": 0}}, "corpora: the weights sum to nothing"),
        ({"stages": [{"weights": {"law": 0}}]}, "stages.0.weights: the weights sum to nothing"),
        ({"stages": [{"weights": {"lwa": 1}}]}, "stages.0.weights.lwa: no such corpus; did you mean law?"),
        ({"stages": [{"until": 3, "weights": {"law": 1}}]}, "stages.0.until: expected a later step"),
        ({"stages": [{"untill": 3}]}, "stages.0: expected until and weights, got untill"),
        ({"max_length": 5}, "max_length: it has no effect on the corpus 'mixture'"),
        ({"law": {"temperature": 2}}, "corpora.law.temperature: it has no effect"),
    ],
)
def test_what_is_refused(two: dict[str, dict[str, Any]], change: dict[str, Any], expected: str) -> None:
    given = {name: {**two[name], **change.pop(name, {})} for name in two}
    with pytest.raises(UserError) as caught:
        data_config({**mixture(given), **change})
    assert f"data.{expected}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_empty_mixture() -> None:
    assert message(config("mixture")).startswith("data.corpora: expected the corpora of the mixture")


def test_a_missing_folder_is_told_with_its_setting(two: dict[str, dict[str, Any]]) -> None:
    two["news"]["path"] += "x"
    assert message(mixture(two)).startswith("data.corpora.news.path=")


def test_an_error_names_the_corpus_that_has_it(tmp_path: Path, two: dict[str, dict[str, Any]]) -> None:
    source = write(tmp_path / "alone.en", ["one side"])
    text = message(mixture({"law": two["law"], "news": {"train": {"source": str(source)}}}))
    assert text.startswith("data.corpora.news.train.target is not set")
    text = message(mixture({"law": two["law"], "news": {}}))
    assert text.startswith("data.corpora.news.train.source is not set; give data.corpora.news.train.source=")


def test_pictures_are_refused(tmp_path: Path, two: dict[str, dict[str, Any]]) -> None:
    pictures = {"path": two["news"]["path"], "read": "both", "images": str(tmp_path)}
    text = message(mixture({"law": two["law"], "news": pictures}))
    assert text == "data.corpora.news.read: a mixture is of text alone; expected text, got both"
