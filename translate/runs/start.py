"""The start of a run, new, from another run, or resumed with the same settings and data."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from annotated_types import Ge, Le
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter
from yaml import YAMLError  # type: ignore[import-untyped]

from translate.attention import Hierarchical, TwoSources
from translate.config.composer import FILES
from translate.config.declare import plain
from translate.config.files import leaves
from translate.config.names import counted, listed, shorten
from translate.config.settings import Settings, check_config
from translate.config.training import MOST_THREADS, RuntimeConfig
from translate.corpora.augmentation import Augmenter
from translate.corpora.caches import fingerprint
from translate.corpora.corpus import Corpus
from translate.corpora.images.line import sentences_of
from translate.corpora.linkers import check_links
from translate.errors import UserError
from translate.runs.assembly import Assembly, Job, assemble
from translate.runs.checkpoint import STATE, load_state, recover
from translate.runs.fine_tuning import take_tokenizers, take_weights, tell_other_languages, tell_seen
from translate.runs.hooks import PATIENCE
from translate.runs.load import build_model, read_settings, stored_config, vocabulary_sizes
from translate.runs.run_directory import IN_USE, RunDirectory, step_folder
from translate.runs.shards import read_shards
from translate.runs.training_pairs import write_pairs
from translate.text.bounded import checksum
from translate.text.file_writing import aside, explain_write_errors
from translate.text.folder_lock import check_unused
from translate.text.lines import evenly
from translate.text.own_tokenizers import read_own
from translate.text.tokenizer import MAX_TRAINING_CHARACTERS, TokenizerPair
from translate.training.loop import Limits, Progress, Training, seed_generators, seed_process
from translate.version import __version__

MOST_UNKNOWN = 0.001  # of the characters of a corpus, without a warning
FEW = 1_000  # pairs that teach a model little else than themselves
MOST_REPEATED = 0.1  # of the training pairs, without a note
LINKS = "training.guided_links (its text)"
COUNTED = 1 << 17  # of them, about


@dataclass(frozen=True)
class ReadAtOnce:
    """The part of a checkpoint's state that is read before there is a model to restore."""

    progress: Progress
    threads: Annotated[int, Ge(1), Le(MOST_THREADS)]
    group_size: Annotated[int, Ge(1)]
    identity: dict[str, str]


def start(job: Job, corpus: Corpus, config: DictConfig) -> Assembly:
    """Build everything that trains; only then replace what the run's folder held."""
    settings, directory, world = job.settings, job.directory, job.world
    seed_generators(settings.training.seed)
    other_run, given = settings.training.start_from, settings.training
    if given.guided_links is not None:
        links, whitespace = Path(given.guided_links), settings.data.tokenised or given.guided_whitespace
        world.from_main(lambda: check_links(links.expanduser(), corpus, whitespace=whitespace))
    if other_run is None:
        tokenizers = world.from_main(lambda: make_tokenizers(settings, corpus))
    else:
        tokenizers = take_tokenizers(settings)
    if world.is_main:
        tell_unknown(tokenizers, settings, corpus)
        if other_run is not None:
            tell_other_languages(settings, corpus)
            if (tags := tokenizers.source.tags) and not corpus.tags:
                print(f"warning: {other_run} reads tags ({listed(tags)}); data=mixture gives these pairs one")
            tell_seen(Path(other_run), corpus)
    model = build_model(settings.model, vocabulary_sizes(tokenizers), settings.run.plugins).to(job.device)
    if other_run is not None:
        print(take_weights(model, other_run))
    assembly = assemble(job, corpus, tokenizers, model)
    assembly.training.identity = identity_of(corpus, tokenizers, given.guided_links)
    if world.is_main:
        directory.clear()
        directory.write_config(stored_text(config, settings))
        with aside(directory.tokenizer) as new:
            tokenizers.save(new)
        start = None if other_run is None else Path(other_run)
        repeated = len(corpus.train) - write_pairs(directory, corpus.train, start)
        if repeated > MOST_REPEATED * len(corpus.train):
            print(f"note: {counted(repeated, 'repeated training pair')}; translate prepare drops repetitions")
        if len(corpus.train) < FEW:
            print(f"note: fewer than {FEW:,} pairs are soon learnt by heart; other sentences need thousands")
        attention = model.source_attention(0)
        if isinstance(attention, Hierarchical) and not settings.data.context_sentences:
            print("note: hierarchical reads single sentences here; documents need data.context_sentences")
        if isinstance(attention, TwoSources) and settings.data.read == "text":
            print("note: two_sources reads words alone here; pictures need data.read=both")
    else:
        seed_process(settings.training.seed, world.rank, 0)
    return assembly


def stored_text(config: DictConfig, settings: Settings) -> str:
    """The configuration that the run's folder stores: without interpolations, with the corpus's languages."""
    found = OmegaConf.create(plain(config))
    found.data.source_language = settings.data.source_language
    found.data.target_language = settings.data.target_language
    found.training.update(resume=False, resume_from=None)
    return f"version: {__version__}\n{OmegaConf.to_yaml(found)}"


def make_tokenizers(settings: Settings, corpus: Corpus) -> TokenizerPair:
    """The user's own tokenizers, or new ones of both sides of the training split; prints what to know."""
    config, tokenised = settings.tokenizer, settings.data.tokenised
    if config.paths:
        return read_own(config, tokenised=tokenised, symbols=corpus.tags)
    print("learning the vocabulary")
    augmenter = Augmenter(settings.training.augment, tokenised, corpus.tags)
    source, target = (
        augmenter.tokenizer_lines(side, MAX_TRAINING_CHARACTERS // 2) for side in _sides(settings, corpus)
    )
    tokenizers, messages = TokenizerPair.train(
        source, target, config, tokenised=tokenised, symbols=corpus.tags
    )
    for message in messages:
        print(message)
    return tokenizers


def _sides(settings: Settings, corpus: Corpus) -> tuple[Sequence[str], Sequence[str]]:
    """The source and the target text of the training split, without pictures."""
    source, target = corpus.train.source, corpus.train.target
    if settings.data.read != "text":
        source = sentences_of(source)
        source = source if any(source) else target  # captions have no source text
    return source, target


def tell_unknown(tokenizers: TokenizerPair, settings: Settings, corpus: Corpus) -> None:
    """Print how much of the training text a tokenizer cannot read, if that is more than a little."""
    both = (tokenizers.source, tokenizers.target)
    for name, tokenizer, lines in zip(("source", "target"), both, _sides(settings, corpus), strict=True):
        share = tokenizer.unknown_share([*evenly(lines, COUNTED)])
        if share > MOST_UNKNOWN:
            print(
                f"warning: the {name} tokenizer lacks {100 * share:.1f} % of the characters of the training "
                "text, read and written as unknown; a new run with tokenizer.byte_fallback=true knows all"
            )


SECTIONS = ("data", "tokenizer", "model", "optimizer", "schedule", "training")
FOUND_IN_CORPUS = ("data.source_language", "data.target_language")  # filled in when they are null
# Settings that the steps themselves do not depend on
MAY_CHANGE = [
    "schedule.total", "data.path", *FILES,  # it follows training.max_steps; their text is compared
    *("training." + name for name in (
        "max_steps", "max_epochs", "max_time", "validate_every", "validation_pairs", "patience", "save_every",
        "log_every", "keep_last", "keep_best", "non_finite", "out_of_memory", "resume",
        "resume_from",
    )),
]  # fmt: skip


# What `translate resume` refuses whole.
KEPT = ("run.name", "run.directory", "data", "model", "tokenizer", "optimizer", "schedule")


def config_to_resume(run: Path, overrides: Sequence[str]) -> DictConfig:
    """The stored configuration of a run, changed so that it goes on; raises :class:`UserError`.

    A schedule that ends with the run still does when ``training.max_steps`` is changed.

    Args:
        run: a run directory, which may have been moved.
        overrides: ``section.key=value``.
    """
    given = OmegaConf.create()
    for override in overrides:
        name = override.partition("=")[0]
        if "/" in name or name in KEPT:
            raise UserError(f"{shorten(override)}: a run that goes on keeps its folder, model and corpus")
        try:
            given.merge_with(OmegaConf.from_dotlist([override]) if "=" in override[1:] else None)
        except (ValueError, OmegaConfBaseException, YAMLError) as error:
            raise UserError(
                f"{shorten(override)}: expected NAME=VALUE without spaces, such as training.max_steps=4000"
            ) from error
    plugins = given.run.plugins if isinstance(given.get("run"), DictConfig) and "plugins" in given.run else ()
    before = read_settings(RunDirectory(run), plugins)
    config = OmegaConf.create(stored_config(RunDirectory(run), plugins))
    config.training.update(resume=True, resume_from=None)
    config.run.update(directory=str(run), overwrite=False)
    config.merge_with(given)
    now = check_config(config)
    if now.schedule.get("total") == before.training.max_steps is not None:
        config.schedule.total = now.training.max_steps
    return config


def state_to_resume(
    settings: Settings, directory: RunDirectory, *, processes: int = 1
) -> dict[str, Any] | None:
    """The state of the checkpoint to resume, or ``None`` for a fresh start.

    A different number of processes may accumulate a different number of batches, for steps of the same size.

    Raises:
        UserError: if the folder holds something that must not be replaced, a run with other settings, or a
            damaged checkpoint.
    """
    check_unused(directory.path, IN_USE)
    with explain_write_errors(directory.path):
        recover(directory.checkpoints)
    if settings.training.resume and directory.has_checkpoint():
        before = read_settings(directory, settings.run.plugins)
        checkpoint = checkpoint_to_resume(settings, directory)
        state = load_state(checkpoint)
        with _of_this_run(checkpoint):
            Progress(**state["progress"])  # all of its counters are known
            state |= asdict(TypeAdapter(ReadAtOnce).validate_python(state))
        same_steps = settings.training.accumulate * processes == state["group_size"]
        check_same(settings, before, directory, but=("training.accumulate",) if same_steps else ())
        return state
    if settings.training.resume_from:
        raise UserError(f"training.resume_from: there is no checkpoint in {directory.checkpoints}")
    if settings.training.resume and not settings.run.overwrite and directory.best().exists():
        further = f"a bundle or an imported model is trained further by: {directory.fine_tune_command()}"
        raise UserError(f"{directory.path}: there is no checkpoint to go on from; {further}")
    directory.check_free(overwrite=settings.run.overwrite or settings.training.resume)
    return None


def checkpoint_to_resume(settings: Settings, directory: RunDirectory) -> Path:
    """The folder of the checkpoint that a run resumes."""
    return directory.checkpoints / (settings.training.resume_from or "last")


def resume(job: Job, corpus: Corpus, config: DictConfig, state: dict[str, Any]) -> Assembly:
    """Build everything as it was, and restore the ``state`` of a checkpoint; prints where the run stands."""
    settings, directory = job.settings, job.directory
    seed_generators(settings.training.seed)
    tokenizers = TokenizerPair.load(directory.tokenizer)
    identity = identity_of(corpus, tokenizers, settings.training.guided_links)
    if changed := _changes(state["identity"], identity, but=(LINKS,)):
        other = f"for other data: {directory.fine_tune_command()}"
        raise UserError(f"{directory.path}: cannot resume with other data: {changed}; {other}")
    keep_threads(settings.runtime, state)
    if state["identity"].get(LINKS, identity.get(LINKS)) != identity.get(LINKS):
        print("note: the file of training.guided_links has changed since the run began")
    model = build_model(settings.model, vocabulary_sizes(tokenizers), settings.run.plugins).to(job.device)
    assembly = assemble(job, corpus, tokenizers, model)
    assembly.training.identity = identity
    restore(assembly.training, state, directory, checkpoint_to_resume(settings, directory))
    if job.world.is_main:
        directory.write_config(stored_text(config, settings))
    return assembly


def restore(training: Training, state: dict[str, Any], directory: RunDirectory, checkpoint: Path) -> None:
    """Go on from the ``state`` of ``checkpoint``, and cut the folder back to it."""
    world = training.update.parallel.world
    with _of_this_run(checkpoint):
        state = read_shards(checkpoint, state, training.update)
        training.load_state_dict(state)
    progress = training.progress
    if world.is_main:
        directory.go_back_to(progress.step, progress.best_step)
    print(f"resumed at step {progress.step:,}")
    if progress.best and not step_folder(directory.checkpoints, progress.best_step).is_dir():
        print(
            f"note: the best checkpoint, step {progress.best_step:,}, has gone; a later one will be the best"
        )
        progress.best, progress.best_step = [], progress.step
    before = len(state["generators"])
    if before != world.size:
        print(
            f"processes: {before} before, now {world.size}, with random numbers of their own; "
            f"{state['group_size']} batches an optimizer step before, now {training.stream.group_size}"
        )


@contextmanager
def _of_this_run(checkpoint: Path) -> Iterator[None]:
    """Turn the errors of a state that no run, or another one, wrote into a :class:`UserError`."""
    try:
        yield
    except UserError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise UserError(
            f"{checkpoint / STATE}: not the state of this run ({type(error).__name__}: {shorten(error)}); "
            "give another, training.resume_from=step-..., or start again with run.overwrite=true"
        ) from error


def check_same(
    settings: Settings, before: Settings, directory: RunDirectory, *, but: Collection[str] = ()
) -> None:
    """Raise :class:`UserError` listing the settings of a run that differ from those it is resumed with."""
    then, now = (
        {".".join(path): value for path, value in leaves(asdict(of)) if path[0] in SECTIONS}
        for of in (before, settings)
    )
    found_again = [key for key in FOUND_IN_CORPUS if now[key] is None]
    if changed := _changes(then, now, but=(*MAY_CHANGE, *found_again, *but)):
        other = f"leave them out, or train another run from it: {directory.fine_tune_command()}"
        raise UserError(f"{directory.path}: cannot resume with other settings: {changed}; {other}")


def _changes(then: Mapping[str, object], now: Mapping[str, object], but: Collection[str] = ()) -> str:
    """The values that differ, as part of a message; those of the keys in ``but`` may.

    If a section has another class, its class stands for its options.
    """
    keys = [key for key in {**then, **now} if key not in but and then.get(key) != now.get(key)]
    classes = {key.removesuffix("_target_"): key for key in keys if key.endswith("._target_")}
    told = (key for key in keys if all(key == own or not key.startswith(of) for of, own in classes.items()))
    return "; ".join(f"{key} was {then.get(key)!r}, now {now.get(key)!r}" for key in told)


def is_finished(progress: Progress, limits: Limits) -> bool:
    """Whether no step is left and the last one was validated; a run that time only interrupts goes on."""
    patience = limits.config.patience
    waited = progress.finished == PATIENCE and patience is not None and progress.waited >= patience
    return waited or (progress.finished is not None and limits.end(limits.reached(progress)) is not None)


def keep_threads(runtime: RuntimeConfig, state: Mapping[str, Any]) -> None:
    """Use as many CPU threads as before, since rounding depends on them, or warn about another number."""
    before = state["threads"]
    if runtime.threads is None:
        torch.set_num_threads(before)
    elif runtime.threads != before:
        print(
            f"note: the run had {counted(before, 'thread')} so far and has {runtime.threads} now; what "
            f"follows is not bitwise that of an uninterrupted run (runtime.threads={before} would be)"
        )


def identity_of(corpus: Corpus, tokenizers: TokenizerPair, links: str | None) -> dict[str, str]:
    """Fingerprints of texts, tokenizers and a file of links, by the setting that they come from."""
    splits = {"data.train (its text)": corpus.train, "data.validation (its text)": corpus.validation}
    return {
        "tokenizer (its files)": fingerprint([tokenizers.source.model + tokenizers.target.model])[:12],
        **({} if links is None else {LINKS: checksum(Path(links).expanduser())}),
        **{
            key: f"{len(split):,} pairs {split.fingerprint[:12]}" if split is not None else "none"
            for key, split in splits.items()
        },
    }
