"""Starting from another run: its tokenizer, its model and its weights."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from translate.config.data import members_of
from translate.config.settings import Settings
from translate.corpora.corpus import Corpus
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.runs.load import load_into, read_choice, read_settings, stored_config
from translate.runs.recipes import with_settings
from translate.runs.run_directory import RunDirectory, check_is_run
from translate.runs.training_pairs import seen_pairs
from translate.text.languages import base
from translate.text.tokenizer import TokenizerPair

START = "training.start_from="
TAKEN = ("tokenizer", "model")  # sections
# Settings that no weight depends on
MAY_DIFFER = ("dropout", "feedforward_dropout", "teacher_forcing", "kernel")


def with_model_of_start(config: DictConfig, given: Iterable[str]) -> DictConfig:
    """The configuration with the tokenizer and the model of the run ``training.start_from``, if there is one.

    A run that is resumed has them itself.

    Args:
        config: the configuration.
        given: keys of overrides, such as ``model.dropout`` or ``model``.

    Raises:
        UserError: if that is no run, or if an override contradicts it.
    """
    if config.training.start_from is None:
        return config
    own = RunDirectory(Path(config.run.directory))
    resumed = config.training.resume and own.has_checkpoint()
    run = own.path if resumed else Path(config.training.start_from)
    if not resumed:
        check_is_run(run, START)
    stored = OmegaConf.create(stored_config(RunDirectory(run), config.run.plugins))
    kept = {}
    for key in given:
        path = key.replace("/", ".")
        if path.partition(".")[0] not in TAKEN or (here := _value(config, path)) == _value(stored, path):
            continue
        if path.rpartition(".")[2] not in MAY_DIFFER:
            there = _value(stored, path)
            raise UserError(f"{key}={here}: the run starts from {run}, where it is {there}; leave it out")
        kept[path] = here
    config = with_settings(config, {section: stored[section] for section in TAKEN})
    return with_settings(config, kept)


def _value(config: DictConfig, path: str) -> Any:
    """The value of a setting; of a section its name, or its class."""
    value = OmegaConf.select(config, path)
    if isinstance(value, DictConfig):
        return next((value[key] for key in ("name", "_target_", "model_type") if key in value), None)
    return value


def take_tokenizers(settings: Settings) -> TokenizerPair:
    """The tokenizers of the run ``training.start_from``, to which its embeddings belong.

    Raises:
        UserError: if that is no run, if it read text of another kind, or if a corpus has a tag that it lacks.
    """
    run = Path(str(settings.training.start_from))
    check_is_run(run, START)
    if run.resolve() == Path(settings.run.directory).resolve():
        raise UserError(f"{START}{run}: the folder of this run itself; choose another run.name")
    tokenizers = TokenizerPair.load(RunDirectory(run).tokenizer)
    if tokenizers.source.tokenised != settings.data.tokenised:
        if settings.data.kind == "grammar" and settings.data.tokenised:  # read where nothing is given
            raise UserError(
                "no corpus is given for the run to go on with: add data=files data.train.source=FILE "
                "data.train.target=FILE"
            )
        data = stored_config(RunDirectory(run), settings.run.plugins)["data"]
        languages = " to ".join(data[f"{side}_language"] or "?" for side in ("source", "target"))
        kind = "has spaces around punctuation" if tokenizers.source.tokenised else "is not tokenised"
        raise UserError(
            f"data.tokenised={settings.data.tokenised}: the run starts from {run}, whose text ({languages}) "
            f"{kind}; make yours so and give data.tokenised={str(tokenizers.source.tokenised).lower()}, or "
            "start from a run on text like yours"
        )
    for name, member in members_of(settings.data).items() if settings.data.corpora else ():
        if member.tag is not None and member.tag not in tokenizers.source.tags:
            raise UserError(
                f"data.corpora.{name}.tag={member.tag}: the run starts from {run}, whose vocabulary lacks "
                "it; no word is added to one, since the weights have no embedding for it; leave it out"
            )
    return tokenizers


def take_weights(model: Seq2Seq, run: str) -> str:
    """Copy the weights of the best checkpoint of ``run``, whose model it is; returns a line that says so.

    Raises:
        UserError: if there is no checkpoint, or it is another model's.
    """
    folder = RunDirectory(Path(run)).best()
    load_into(model, folder)
    return f"started from {folder}: its tokenizer, its model and all {model.num_parameters():,} parameters"


def tell_other_languages(settings: Settings, corpus: Corpus) -> None:
    """Print a warning if the run ``training.start_from`` translates other languages than the corpus has.

    Codes of two letters are compared, and the beginnings of names such as "English"; others may be of files.
    """
    run = RunDirectory(Path(str(settings.training.start_from)))
    data = stored_config(run, settings.run.plugins)["data"]
    theirs = base(data["source_language"] or ""), base(data["target_language"] or "")
    ours = base(corpus.source_language), base(corpus.target_language)
    swapped = tuple(name[:2].lower() for name in ours) == theirs[::-1]
    if swapped or (theirs != ours and all(len(code) == 2 for code in (*theirs, *ours))):
        print(
            f"warning: {run.path} translates {theirs[0]} to {theirs[1]}, and these pairs are {ours[0]} to "
            f"{ours[1]}: little of it helps{'; exchange the sides, or start from another run' * swapped}"
        )


def tell_seen(run: Path, corpus: Corpus) -> None:
    """Print how many pairs by which a run is judged were trained on by the one that it starts from."""
    for name, split in (("validation", corpus.validation), ("test", corpus.test)):
        if split is not None and (seen := sum(seen_pairs(run, split.source, [split.target]) or ())):
            print(
                f"warning: {run} was trained on {seen:,} of the {len(split):,} {name} pairs, so their scores "
                f"are too good; give others by data.{name}.source and data.{name}.target"
            )


def guided_by_start(settings: Settings, model: Seq2Seq) -> int | None:
    """The layer whose first head word links taught in the run that this one starts from, if they did."""
    if settings.training.start_from is None:
        return None
    start = RunDirectory(Path(settings.training.start_from))
    try:
        return read_choice(start, model, read_settings(start, settings.run.plugins).training).guided
    except UserError:
        print(f"note: {start.path} has gone; whether a head of its attention was guided is not known")
        return None
