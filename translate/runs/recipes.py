"""Recipes: a run without an experiment chooses what suits its corpus and its time; whatever is given stays.

The numbers come from trials on four corpora of 5,000 to 400,000 pairs: docs/experiments/2026-11-recipes.md.
"""

import copy
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from omegaconf import DictConfig, OmegaConf

from translate.config.files import choice_of
from translate.config.names import counted
from translate.errors import UserError
from translate.runs.run_directory import RunDirectory

if TYPE_CHECKING:  # the command line asks what is free without waiting for torch
    from translate.config.training import TrainingConfig
    from translate.corpora.corpus import Corpus

MINUTES = 10  # the length of a run of which nothing is said
SAMPLE = 2000  # sentences whose length is counted
PIECES = 1.35  # pieces of a word, about
CORES = 2  # of the machine of the trials
GPU = 20.0  # times as fast as that, about: docs/experiments/2026-11-gpu.md
SPEED = 6_000  # target tokens a second there
SHORT, LONG = 240, 900  # seconds: in fewer, a small model learns more than a larger one
MUCH, VERY_LONG = 5_000_000, 6_000  # target tokens and seconds that a GPU has for a model of the usual size
STEP = 0.2  # seconds of a step there
VALIDATED = 8_000  # target tokens of a validation: of long sentences fewer tell one model from another
FEW_TOKENS = 200_000  # of an epoch
READINGS = 10  # of the pairs on which a run goes on from another one, if they are few
OTHERS_RATE = 5e-4  # of Adam, for a model that is none of the backends below, such as an imported one
LINKS = 1_000_000  # possible links (words of one side times the other's), estimated in a second, about
MOST_LINKING = 0.4  # of the time: a fifth repays itself twice, three fifths barely
LAST_WORD = (
    "note: attention also sees the last word (model.word_in_query=true), which the paper's does not; models "
    "of minutes have about one BLEU more"
)
LINKING = (
    "note: no training.guided_alignment, since to link the words of all pairs would take about {}; the model "
    "then finds word links by itself, usually less exactly"
)

LENGTH = ("training.max_steps", "training.max_epochs", "training.max_time")
SECTIONS = ("optimizer", "schedule")  # that are chosen as wholes
WHERE_GUIDED = ("training.guided_layer", "training.guided_shift")


class Task(NamedTuple):
    """A corpus, and how long a model learns from it.

    Attributes:
        pairs: of the training split.
        tokens: target tokens of an epoch, about.
        seconds: of training, as on the machine of the trials.
        on_gpu: whether a step of many tokens takes hardly longer than one of few.
        in_bfloat16: whether a processor multiplies bfloat16, at which large products are the faster ones.
        batch: its target tokens, if they are given.
        accumulate: batches of a step.
        tuning: whether the run starts from the weights of another one.
    """

    pairs: int
    tokens: float
    seconds: float
    on_gpu: bool = False
    in_bfloat16: bool = False
    batch: int | None = None
    accumulate: int = 1
    tuning: bool = False


def transformer(task: Task) -> dict[str, Any]:
    """In minutes a small model, then a larger one; by Muon, which learns in half of Adam's steps or fewer.

    Muon bears the large steps that bfloat16 is fast at; small ones teach more by as many tokens. A head is
    guided where a piece is read: it need not foretell the next one.
    """
    width, layers = (128, 2) if task.seconds < LONG else (256, 3)
    if task.on_gpu and task.tokens > MUCH and task.seconds > VERY_LONG:
        width, layers = 512, 6
    feedforward = 256 if task.seconds < SHORT else 4 * width
    return {
        "model.width": width,
        "model.feedforward_size": feedforward,
        "model.encoder_layers": layers,
        "model.decoder_layers": layers,
        "model.positions": "rotary",
        "model.dropout": dropout(task),
        "training.guided_shift": 1,
        "optimizer": "muon",
        "optimizer.lr": 8e-3 if task.in_bfloat16 else 6e-3,
        "optimizer.ns_steps": 3,
    }


def rnn_luong(task: Task) -> dict[str, Any]:
    """The sizes of the files."""
    return {"model.dropout": dropout(task), "optimizer": "adam", "optimizer.lr": 4e-3}


def rnn_bahdanau(task: Task) -> dict[str, Any]:
    """The sizes of the files, and an attention that sees the last word."""
    return {"model.word_in_query": True} | rnn_luong(task)


def dropout(task: Task) -> float:
    """The more often every pair is seen, the more dropout."""
    epochs = task.seconds * SPEED / task.tokens
    return 0.1 if epochs < 6 else 0.2 if epochs < 12 else 0.3


def common(task: Task, model: str) -> dict[str, Any]:
    """The settings of any backend; only the batch of a Transformer in bfloat16 is larger."""
    short, few = task.seconds < SHORT, task.tokens < FEW_TOKENS
    if model == "transformer" and task.in_bfloat16:
        batch = 1024 if few else 2048 if short else 3072
    else:
        batch = 2048 if task.seconds >= LONG else 512 if few else 1024
    if task.on_gpu:  # 50 steps an epoch or more
        batch = 2 ** int(math.log2(min(16_384, max(batch, task.tokens / 50))))
    step = task.accumulate * (task.batch or batch)
    intervals = 2.5 if short else 4.5 if task.seconds < LONG else 6.5  # one more validation is at the end
    return {
        "tokenizer.vocabulary_size": 8000 if not short and task.pairs > 20_000 else 4000,
        "training.batch_tokens": batch,
        "training.ema": 0.99 if short else 0.999,
        "training.guided_alignment": 1.0 if short else 0.5,
        "training.validation_pairs": min(500, max(100, round(VALIDATED * task.pairs / task.tokens))),
        "training.validate_every": max(1, round(max(50 * batch, task.seconds * SPEED / intervals) / step)),
        "schedule": "linear",
        "schedule.warmup": 100 if short else 300,
    }


def expanded(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a recipe, with all members of the sections that it chooses as wholes."""
    found: dict[str, Any] = {}
    for name, value in recipe.items():
        members = choice_of(name, value) if name in SECTIONS else {}
        found |= {f"{name}.{member}": inner for member, inner in members.items()} or {name: value}
    return found


BACKENDS = {"transformer": transformer, "rnn_bahdanau": rnn_bahdanau, "rnn_luong": rnn_luong}


def recipe_of(model: str, task: Task) -> dict[str, Any]:
    """The settings that suit a task; a model of the user's own keeps its sizes."""
    recipe = (BACKENDS[model](task) if model in BACKENDS else {}) | common(task, model)
    return tuning(recipe, task) if task.tuning else recipe


def tuning(recipe: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """The recipe of a run that starts from the weights of another one, whose model and tokenizer it has.

    Large steps forget what few pairs cannot teach again. These are soon learnt by heart, so a run of them is
    validated often.
    """
    taken = ("model.", "tokenizer.")
    kept = {name: value for name, value in recipe.items() if not name.startswith(taken)}
    batch = min(kept["training.batch_tokens"], max(512, 2 ** int(math.log2(max(1.0, task.tokens / 20)))))
    tokens = min(task.seconds * SPEED, READINGS * task.tokens)
    steps = tokens / (task.accumulate * (task.batch or batch))
    hasty = task.seconds < SHORT and tokens < READINGS * task.tokens  # no time for validations
    rate = kept.get("optimizer.lr", 2 * OTHERS_RATE) / 2
    found = {"optimizer": "adam", "training.guided_layer": None} | kept
    return found | {
        "optimizer.lr": rate / 4 if "optimizer" in kept and tokens < 2 * FEW_TOKENS else rate,
        "schedule.warmup": min(100, round(steps / 7)),
        "training.batch_tokens": batch,
        "training.ema": 0.99,
        "training.guided_shift": 0,
        "training.validate_every": max(1, round(steps / (2.5 if hasty else 6.5))),
    }


def free_settings(given: Iterable[str], groups: Mapping[str, str | None]) -> frozenset[str]:
    """The settings that a recipe may choose: those that are not given; none beside an experiment.

    Args:
        given: keys of overrides, such as ``training.max_steps`` or ``schedule``.
        groups: the choice of each group, for example ``model: transformer``.
    """
    if groups.get("experiment") is not None:
        return frozenset()
    given = set(given)
    task = Task(1, 1.0, 1.0, tuning="training.start_from" in given)
    recipe = recipe_of(str(groups.get("model")), task)
    names = {*LENGTH, *expanded(recipe)}
    for section in recipe.keys() & SECTIONS:
        members = {name for name in names if name.startswith(f"{section}.")}
        if {key for key in given if key.split(".")[0] == section} <= members - {f"{section}._target_"}:
            names |= {f"{section}.{member}" for member in choice_of(section, str(groups[section]))}
        else:
            names -= members
    if "tokenizer.path" in given:
        names.discard("tokenizer.vocabulary_size")
    return frozenset(name for name in names if not any(f"{key}.".startswith(f"{name}.") for key in given))


def as_before(config: DictConfig, free: Collection[str]) -> DictConfig:
    """The configuration; of a run to be resumed, its free settings are those that were chosen."""
    from translate.runs.load import stored_config

    directory = RunDirectory(Path(config.run.directory))
    if not (free and config.training.resume and directory.has_checkpoint()):
        return config
    stored = OmegaConf.create(stored_config(directory, config.run.plugins))
    parts = (name.split(".") for name in free)
    return with_settings(config, {f"{a}.{b}": stored[a][b] for a, b in parts if b in stored[a]}, free)


def with_settings(config: DictConfig, values: Mapping[str, Any], free: Collection[str] = ()) -> DictConfig:
    """The configuration with other values at dotted names; a section as a whole loses what is free."""
    config = copy.deepcopy(config)
    for section in SECTIONS:
        whole: Any = OmegaConf.to_container(config[section])  # ${training.max_steps} may change yet
        kept = {name: value for name, value in whole.items() if f"{section}.{name}" not in free}
        OmegaConf.update(config, section, kept, merge=False)
    for name, value in values.items():
        OmegaConf.update(config, name, value, merge=False, force_add=True)
    return config


def fit_recipe(config: DictConfig, free: Collection[str], corpus: "Corpus") -> tuple[DictConfig, list[str]]:
    """The configuration with its free settings chosen for the corpus, and the lines that say so."""
    from translate.corpora.filters import count_words

    pairs = len(corpus.train)
    sample = [[*islice(side, SAMPLE)] for side in (corpus.train.source, corpus.train.target)]
    tokens = max(1.0, pairs * PIECES * sum(map(count_words, sample[1])) / len(sample[1]))
    limits = {name: OmegaConf.select(config, name) for name in LENGTH}
    start = config.training.start_from
    if "training.max_steps" in free:
        limits["training.max_steps"] = None
        if limits["training.max_epochs"] is None and "training.max_time" in free:
            few = start is not None and READINGS * tokens < 60 * MINUTES * SPEED
            limits |= {"training.max_epochs": READINGS} if few else {"training.max_time": 60.0 * MINUTES}
    task = task_of(config, pairs, tokens, limits, is_free="training.batch_tokens" in free)
    recipe = recipe_of(str(config.model.get("name")), task)
    if start is not None:
        from translate.runs.load import read_settings

        _guide_as_before(recipe, read_settings(RunDirectory(Path(start)), config.run.plugins).training)
    if (steps := limits["training.max_steps"]) is not None:
        recipe["schedule.warmup"] = min(recipe["schedule.warmup"], steps // 3)
    if (validation := corpus.validation) is None:
        del recipe["training.validation_pairs"]
    else:
        recipe |= {"training.validation_pairs": min(recipe["training.validation_pairs"], len(validation))}
    chosen = {name: value for name, value in expanded(recipe).items() if name in free}
    notes = [LAST_WORD] if "model.word_in_query" in chosen else []
    seconds = limits["training.max_time"] or max(task.seconds, 60.0)
    linked = [[count_words(line, by_character=True) for line in side] for side in sample]
    notes += _without_links(chosen, config, corpus, [*zip(*linked, strict=True)], seconds)
    whole = {section for section in SECTIONS if f"{section}._target_" in chosen}
    shown = {name: value for name, value in recipe.items() if name in whole or name in chosen}
    return with_settings(config, limits | chosen, free), [*described(task, limits, shown), *notes]


def _without_links(
    chosen: dict[str, Any],
    config: DictConfig,
    corpus: "Corpus",
    lengths: Sequence[tuple[int, int]],
    seconds: float,
) -> list[str]:
    """Leave out what guides attention where no word links do, or where they take too long; notes on that.

    Args:
        chosen: the settings.
        config: of the run.
        corpus: of the run.
        lengths: words of both sides of some of the pairs, as links count them.
        seconds: of the training.
    """
    from translate.config.targets import resolve_target
    from translate.corpora.linkers import LONGEST, MOST_LINKS

    notes = []
    links = len(corpus.train) * sum(source * target for source, target in lengths) / len(lengths)
    known = corpus.train.links is not None or config.training.guided_links is not None
    linking = 0.0 if known else (links + min(links, MOST_LINKS)) / LINKS
    short = 2 * sum(max(both) <= LONGEST for both in lengths) >= len(lengths)
    attention = OmegaConf.select(config, "model.attention._target_")
    aligns = attention is None or getattr(resolve_target(attention, config.run.plugins), "aligns", True)
    forcing = config.training.teacher_forcing.decay is None and config.model.get("teacher_forcing", 1) == 1
    if not (aligns and short and forcing) or config.data.read != "text" or config.data.context_sentences:
        chosen.pop("training.guided_alignment", None)  # for the links of words in single sentences
    elif linking > MOST_LINKING * seconds and chosen.pop("training.guided_alignment", None):
        in_words = f"{linking / 60:.0f} minutes" if linking > 90 else f"{max(2, linking):.0f} seconds"
        notes.append(LINKING.format(in_words))
    if not chosen.get("training.guided_alignment", config.training.guided_alignment):
        for name in WHERE_GUIDED:
            chosen.pop(name, None)
    return notes


def _guide_as_before(recipe: dict[str, Any], before: "TrainingConfig") -> None:
    """Let the head that learnt links go on with it; where none did, none begins to."""
    if before.guided_alignment:
        recipe |= {name: getattr(before, name.partition(".")[2]) for name in WHERE_GUIDED}
    else:
        for name in ("training.guided_alignment", *WHERE_GUIDED):
            recipe.pop(name, None)


def task_of(
    config: DictConfig, pairs: int, tokens: float, limits: Mapping[str, Any], *, is_free: bool
) -> Task:
    """The task of a run, which takes as long as on the machine of the trials; its batch may be free."""
    import torch

    from translate.runs.runtime import ENOUGH_WORK, find_device, forward_precision

    device = find_device(config.runtime.device, where="runtime.device")
    on_gpu, accumulate = device.type == "cuda", config.training.accumulate
    in_bfloat16 = not on_gpu and forward_precision(config.runtime, device, ENOUGH_WORK) == torch.bfloat16
    speed = GPU if on_gpu else torch.get_num_threads() / CORES
    batch = None if is_free else config.training.batch_tokens
    step = accumulate * (STEP if batch is None else batch / SPEED)
    units = {"training.max_steps": step, "training.max_epochs": tokens / SPEED, "training.max_time": speed}
    if not (found := [units[name] * limit for name, limit in limits.items() if limit is not None]):
        raise UserError("a training needs an end: give training.max_time, max_steps or max_epochs")
    tuning = config.training.start_from is not None
    return Task(pairs, tokens, min(found), on_gpu, in_bfloat16, batch, accumulate, tuning)


def described(task: Task, limits: Mapping[str, Any], chosen: Mapping[str, Any]) -> list[str]:
    """The lines that tell what was chosen, as it is given on the command line."""
    ends = ", ".join(f"{name}={value:g}" for name, value in limits.items() if value is not None)
    lines = [f"chosen for {counted(task.pairs, 'training pair')} and {ends} (what you give is kept):"]
    for sections in (("model",), ("tokenizer", "training"), SECTIONS):
        found = [name for name in chosen if name.split(".")[0] in sections and chosen[name] is not None]
        values = [f"{name}={chosen[name]}" for name in found]
        lines += ["  " + " ".join(values)] if values else []
    return lines
