"""Choosing the attention that a run shows, and storing the choice with it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from translate.aligner.links import Gold, parse_gold, read_gold
from translate.alignment.calibrate import calibrate
from translate.alignment.choice import AlignmentChoice
from translate.alignment.directions import Direction, calibrate_directions
from translate.config.settings import AlignmentConfig
from translate.corpora.corpus import Corpus, Split, load_corpus
from translate.corpora.local_files import pair_of
from translate.errors import UserError
from translate.runs.load import read_settings
from translate.storage.run_directory import RunDirectory
from translate.translator import Translator


class Development(NamedTuple):
    """The pairs that an alignment is chosen or judged on."""

    name: str
    source: Sequence[str]
    target: Sequence[str]
    golds: Sequence[Gold] | None
    whitespace: bool  # whether white space alone parts words, as gold links count them


def development_of(corpus: Corpus, count: int) -> Development:
    """The first pairs of the validation split; of the training split, without its gold, if there is none."""
    name = "validation" if corpus.validation else "train"
    split = corpus.validation or Split(corpus.train.source, corpus.train.target)
    golds = None if split.gold is None else gold_links(split, count)
    return Development(name, split.source[:count], split.target[:count], golds, golds is not None)


def development_of_run(directory: RunDirectory, plugins: Sequence[str] = ()) -> Development:
    """The pairs that the run's own training chose by; its corpus must still be where it was."""
    settings = read_settings(directory, plugins)
    try:
        corpus = load_corpus(settings.data)
    except UserError as error:
        raise UserError(
            f"{directory.path}: the run's own corpus cannot be read ({error}); "
            f"give --source FILE and --target FILE"
        ) from error
    return development_of(corpus, settings.alignment.calibration_pairs)


def development_of_files(
    source: Path, target: Path, gold: Path | None, *, one_based: bool = False, whitespace: bool = False
) -> Development:
    """Pairs in two files, with gold links if there are some, which count words between white space."""
    split = pair_of(source, target)
    golds = None
    if gold is not None:
        lengths = [[len(line.split()) for line in side] for side in (split.source, split.target)]
        golds = read_gold(gold, source_lengths=lengths[0], target_lengths=lengths[1], one_based=one_based)
    name = f"{source} and {target}"
    return Development(name, split.source, split.target, golds, whitespace or golds is not None)


def gold_links(split: Split, count: int | None = None) -> list[Gold]:
    """The parsed gold links of a split that has them."""
    assert split.gold is not None
    return [parse_gold(text, where=f"gold line {i}") for i, text in enumerate(split.gold[:count], 1)]


def choose_alignment(
    translator: Translator,
    pairs: Development,
    wanted: AlignmentConfig,
    reverse: Translator | None = None,
) -> dict[str, Any]:
    """Which weights show the alignment, what they were chosen by, and all that was tried.

    Args:
        translator: whose attention is chosen.
        pairs: to choose by.
        wanted: what is given in its configuration is not searched.
        reverse: of the other direction, whose agreement decides where there is no gold.
    """
    encoded = translator.encode_pairs(pairs.source, pairs.target, whitespace=pairs.whitespace)
    if reverse is not None and pairs.golds is None:
        swapped = reverse.encode_pairs(pairs.target, pairs.source, whitespace=pairs.whitespace)
        forward = Direction(
            translator.model, encoded, wanted.layer, wanted.heads, wanted.shift, wanted.threshold
        )
        backward = Direction(reverse.model, swapped)
        found, _ = calibrate_directions(forward, backward, device=translator.device)
    else:
        found = calibrate(
            translator.model,
            encoded,
            pairs.golds,
            layer=wanted.layer,
            heads=wanted.heads,
            shift=wanted.shift,
            threshold=wanted.threshold,
            device=translator.device,
        )
    return found.to_dict() | {"split": pairs.name}


def store(directory: RunDirectory, chosen: dict[str, Any], translator: Translator) -> None:
    """Keep a choice with its run, and have the translator use it."""
    aside = directory.alignment.with_name(directory.alignment.name + ".new")
    aside.write_text(json.dumps(chosen, indent=2) + "\n", encoding="utf-8")
    aside.replace(directory.alignment)
    translator.choice = AlignmentChoice.from_dict(chosen["choice"])


def choice_lines(chosen: dict[str, Any]) -> list[str]:
    """What was chosen, and the table of all that was tried, for the terminal."""
    choice, table = AlignmentChoice.from_dict(chosen["choice"]), chosen["table"]
    names = ("aer", "precision", "recall", "f1", "agreement", "silver", "consistency")
    measures = [name for name in names if any(name in row for row in table)]
    lines = ["layer  heads        shift   links from  " + "  ".join(f"{name:>11}" for name in measures)]
    judged = any(row["threshold"] for row in table)  # else the threshold was given, or there is none
    for row in table:
        tried = AlignmentChoice.from_dict({name: row[name] for name in choice.to_dict()})
        values = [f"{row[name]:>11.4f}" if name in row else f"{'':>11}" for name in measures]
        mark = " *" if tried == (choice if judged else replace(choice, threshold=0.0)) else ""
        heads = ",".join(map(str, tried.heads))
        place = f"{tried.layer:>5}  {heads:<11}  {tried.shift:>5}  {tried.links_from:>11}"
        lines.append(f"{place}  {'  '.join(values)}{mark}")
    return [*lines, f"{choice}: chosen by {chosen['criterion']} on {chosen['split']}"]
