"""Choosing the attention from which a run reads alignments, and storing the choice with it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.calibrate import calibrate
from translate.alignment.pairs import EncodedPair
from translate.alignment.regions import check_gold_links
from translate.config.names import aligned, shorten
from translate.config.settings import AlignmentConfig
from translate.corpora.corpus import Corpus, Split, load_corpus
from translate.corpora.document_rows import split_context
from translate.corpora.images.line import most_words
from translate.corpora.local_files import pair_of
from translate.errors import UserError
from translate.links.links import Gold, read_gold
from translate.runs.encoding import gold_links
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory
from translate.text.bounded import read_json
from translate.text.file_writing import write_text
from translate.translator import Translator


class CalibrationPairs(NamedTuple):
    """Sentence pairs on which the attention of a run is chosen or judged."""

    name: str
    source: Sequence[str]
    target: Sequence[str]
    golds: Sequence[Gold] | None
    whitespace: bool  # whether only white space separates words, as in gold links
    context: Sequence[Sequence[str]] | None = None  # the sentences before each source, if they are read


def pairs_of_corpus(corpus: Corpus, count: int, context_sentences: int = 0) -> CalibrationPairs:
    """The first pairs of the validation split, or else of the training split, without its gold links.

    The sources have up to ``context_sentences`` previous ones.
    """
    name = "validation" if corpus.validation else "train"
    split = corpus.validation or replace(corpus.train, gold=None)
    return pairs_of_split(split, name, count, context_sentences)


def pairs_of_split(split: Split, name: str, count: int, context_sentences: int) -> CalibrationPairs:
    """The first pairs of a split."""
    golds = None if split.gold is None else gold_links(split, count)
    context = split_context(split, context_sentences, count)
    sides = split.source[:count], split.target[:count]
    return CalibrationPairs(name, *sides, golds, golds is not None, context)


def pairs_of_run(
    directory: RunDirectory, plugins: Sequence[str] = (), *, trusted: bool = False
) -> CalibrationPairs:
    """The pairs that training used for the choice; the corpus must still be where it was.

    Args:
        directory: a run, perhaps a stranger's.
        plugins: modules that it may import.
        trusted: whether the user lets it read files and download data that its configuration names. The
            embedded corpora are neither.
    """
    settings = read_settings(directory, plugins)
    data = settings.data
    if data.kind not in ("grammar", "scenes") and not trusted:
        named = data.path or data.validation.source or data.train.source or data.hub.repository or data.name
        raise UserError(
            f"{directory.path}: the run names data outside of its folder ({shorten(str(named))}), which is "
            "read only if you ask for it: add --data-from-run if it is yours, or give other pairs by "
            "--source FILE and --target FILE, or --reference FILE"
        )
    try:
        corpus = load_corpus(data)
    except UserError as error:
        raise UserError(
            f"{directory.path}: the run's own corpus cannot be read ({shorten(error, 200)}); "
            "give other pairs by --source FILE and --target FILE, or --reference FILE"
        ) from error
    return pairs_of_corpus(corpus, settings.alignment.calibration_pairs, data.context_sentences)


def pairs_of_files(
    source: str | Path,
    target: str | Path,
    gold: str | Path | None,
    *,
    one_based: bool = False,
    whitespace: bool = False,
) -> CalibrationPairs:
    """Pairs in two files, with gold links if given.

    They number the words between white space, after the patches of a picture.
    """
    split = pair_of(source, target)
    golds = None
    if gold is not None:
        pairs = zip(split.source, split.target, strict=True)
        lengths = [(most_words(source_line), len(target_line.split())) for source_line, target_line in pairs]
        golds = read_gold(gold, lengths=lengths, one_based=one_based)
    name = f"{source} and {target}"
    return CalibrationPairs(name, split.source, split.target, golds, whitespace or golds is not None)


def encode_judged(translator: Translator, pairs: CalibrationPairs) -> list[EncodedPair]:
    """The pairs as the run reads them; raises :class:`UserError` for gold links outside of their words."""
    encoded = translator.encode_pairs(
        pairs.source, pairs.target, whitespace=pairs.whitespace, context=pairs.context
    )
    for number, (pair, gold) in enumerate(zip(encoded, pairs.golds or ()), 1):
        check_gold_links(pair, gold, f"pair {number}")
    return encoded


def choose_alignment(
    translator: Translator,
    pairs: CalibrationPairs,
    wanted: AlignmentConfig,
    *,
    batch_size: int | None = None,
) -> dict[str, Any]:
    """Choose layer, heads, shift and threshold; returns the choice, its criterion, and everything tried.

    Args:
        translator: whose attention is chosen.
        pairs: the criterion is computed on them.
        wanted: values given in the configuration are not searched.
        batch_size: pairs in a batch; by default as many as a budget of tokens holds.
    """
    encoded = encode_judged(translator, pairs)
    found = calibrate(translator.model, encoded, pairs.golds, wanted=wanted, batch_size=batch_size)
    return found.to_dict() | {"split": pairs.name}


def better_choice(directory: RunDirectory, pairs: CalibrationPairs) -> dict[str, Any] | None:
    """The stored choice, if it was made with gold links and one by ``pairs`` would not be."""
    try:
        stored: dict[str, Any] = read_json(directory.alignment, root=directory.path)
        return stored if stored.get("criterion") == "aer" and pairs.golds is None else None
    except (OSError, ValueError, AttributeError):  # none, or a damaged one, which loading reports
        return None


def store(directory: RunDirectory, chosen: dict[str, Any], translator: Translator) -> None:
    """Store a choice with its run, and let the translator use it."""
    guided = translator.choice.guided
    taught = {} if guided is None else {"guided": guided}
    write_text(directory.alignment, json.dumps(chosen | taught, indent=2) + "\n")
    translator.choice = replace(AlignmentChoice.from_dict(chosen["choice"]), guided=guided)


def choice_lines(chosen: dict[str, Any]) -> list[str]:
    """The table of all candidates, with a star at the choice, and the choice in words; for the terminal."""
    choice, table = AlignmentChoice.from_dict(chosen["choice"]), chosen["table"]
    if not table:
        few = f"the statistical aligner finds too few links in {chosen['split']} to choose by"
        return [f"{choice}: the default, since {few}"]
    measures = ("aer", "precision", "recall", "f1", "agreement")
    names = [name for name in measures if any(name in row for row in table)]
    rows = [["layer", "heads", "shift", "links from", *names, ""]]
    judged = any(row["threshold"] for row in table)  # else the threshold was given, or there is none
    for row in table:
        candidate = AlignmentChoice.from_dict({name: row[name] for name in choice.to_dict()})
        values = (f"{row[name]:.4f}" if name in row else "" for name in names)
        mark = "*" if candidate == (choice if judged else replace(choice, threshold=0.0)) else ""
        index = str(candidate.layer), ",".join(map(str, candidate.heads)), str(candidate.shift)
        rows.append([*index, candidate.links_from, *values, mark])
    return [*aligned(rows), f"{choice}: chosen by {chosen['criterion']} on {chosen['split']}"]
