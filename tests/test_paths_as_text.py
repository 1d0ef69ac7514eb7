"""A public function that takes a path takes a `str` as well as a `Path`."""

from pathlib import Path

from translate.config.data import TokenizerConfig, data_config
from translate.corpora.corpus import load_corpus, write_corpus
from translate.runs.calibration import pairs_of_files
from translate.text.lines import read_lines
from translate.text.tokenizer import TokenizerPair

GRAMMAR = {"name": "grammar", "kind": "grammar", "num_train": 40, "num_validation": 3}


def test_texts_and_corpora(tmp_path: Path) -> None:
    folder = str(tmp_path / "new")
    corpus = load_corpus(data_config(GRAMMAR))
    paths = [str(path) for path in write_corpus(corpus, folder)]
    source, target, gold = paths[:3]
    assert read_lines(source) == corpus.train.source
    pairs = pairs_of_files(source, target, gold)
    assert pairs.target == corpus.train.target


def test_tokenizers(tmp_path: Path) -> None:
    corpus = load_corpus(data_config(GRAMMAR))
    tokenizers, _ = TokenizerPair.train(
        corpus.train.source, corpus.train.target, TokenizerConfig(vocabulary_size=90)
    )
    tokenizers.save(str(tmp_path))
    assert TokenizerPair.load(str(tmp_path)).source.model == tokenizers.source.model
