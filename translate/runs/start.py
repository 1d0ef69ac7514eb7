"""A fresh start: tokenizers and model, new or from another run, and the run's folder."""

from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from translate.config.declare import plain
from translate.config.settings import Settings
from translate.corpora.augmentation import Augmenter
from translate.corpora.corpus import Corpus
from translate.corpora.images.line import sentences_of
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.runs.assembly import Assembly, Job, assemble
from translate.runs.load import build_model, read_settings, vocabulary_sizes
from translate.runs.resume import identity_of
from translate.runs.storage.checkpoint import load_weights
from translate.runs.storage.run_directory import RunDirectory
from translate.text.aside import aside
from translate.text.tokenizer import MAX_TRAINING_CHARACTERS, TokenizerPair
from translate.training.generators import seed_generators, seed_process
from translate.training.weights import model_tensors


def start(job: Job, corpus: Corpus, config: DictConfig) -> Assembly:
    """Build everything that trains; only then replace what the run's folder held."""
    settings, directory, world = job.settings, job.directory, job.world
    seed_generators(settings.training.seed)
    other_run = settings.training.start_from
    if other_run is None:
        tokenizers = world.from_main(lambda: train_tokenizers(settings, corpus))
    else:
        tokenizers = take_tokenizers(settings)
    model = build_model(settings.model, vocabulary_sizes(tokenizers), settings.run.plugins).to(job.device)
    if other_run is not None:
        print(*take_weights(model, other_run), sep="\n", flush=True)
    assembly = assemble(job, corpus, tokenizers, model)
    assembly.training.identity = identity_of(corpus, tokenizers)
    if world.is_main:
        directory.clear()
        directory.write_config(OmegaConf.to_yaml(resolved(config, settings)))
        with aside(directory.tokenizer) as new:
            tokenizers.save(new)
    else:
        seed_process(settings.training.seed, world.rank, 0)
    return assembly


def resolved(config: DictConfig, settings: Settings) -> DictConfig:
    """The configuration that the run's folder stores: without interpolations, with the corpus's languages."""
    found = OmegaConf.create(plain(config))
    found.data.source_language = settings.data.source_language
    found.data.target_language = settings.data.target_language
    return found


def train_tokenizers(settings: Settings, corpus: Corpus) -> TokenizerPair:
    """Train tokenizers on both sides of the training split; prints if a vocabulary had to be shrunk."""
    augmenter = Augmenter(settings.training.augment, settings.data.tokenised)
    sources: Sequence[str] = corpus.train.source
    if settings.data.read != "text":
        sources = sentences_of(sources)
        sources = sources if any(sources) else corpus.train.target  # captions have no source text
    source, target = (
        augmenter.tokenizer_lines(side, MAX_TRAINING_CHARACTERS // 2)
        for side in (sources, corpus.train.target)
    )
    tokenizers, messages = TokenizerPair.train(
        source, target, settings.tokenizer, tokenised=settings.data.tokenised, symbols=corpus.tags
    )
    for message in messages:
        print(message, flush=True)
    return tokenizers


def take_tokenizers(settings: Settings) -> TokenizerPair:
    """The tokenizers of the run ``training.start_from``, to which its embeddings belong.

    Raises:
        UserError: if that is no run, or its tokenizers were made with other settings.
    """
    run = str(settings.training.start_from)
    directory = RunDirectory(Path(run))
    there = read_settings(directory, settings.run.plugins)
    now, then = vars(settings.tokenizer) | _split(settings), vars(there.tokenizer) | _split(there)
    differing = [
        f"{_key(name)} is {then[name]!r} there, {now[name]!r} here" for name in now if now[name] != then[name]
    ]
    if differing:
        raise UserError(
            f"training.start_from={run}: its vocabularies differ from what is asked for: "
            f"{'; '.join(differing)}"
        )
    return TokenizerPair.load(directory.tokenizer)


def _split(settings: Settings) -> dict[str, object]:
    return {"tokenised": settings.data.tokenised}


def _key(name: str) -> str:
    return f"data.{name}" if name == "tokenised" else f"tokenizer.{name}"


def _fits(there: Tensor, here: Tensor) -> bool:
    return there.shape == here.shape and there.is_floating_point() == here.is_floating_point()


def take_weights(model: Seq2Seq, run: str) -> list[str]:
    """Copy every parameter that the best checkpoint of ``run`` has in the same shape; returns a report.

    Raises:
        UserError: if there is no checkpoint, or no parameter fits.
    """
    checkpoints = RunDirectory(Path(run)).checkpoints
    folder = checkpoints / "best" if (checkpoints / "best").exists() else checkpoints / "last"
    weights, own = load_weights(folder), model_tensors(model)
    taken = [name for name in own if name in weights and _fits(weights[name], own[name])]
    if not taken:
        raise UserError(f"training.start_from={run}: no parameter of {folder} fits into this model")
    for name in taken:
        own[name].copy_(weights[name])
    count, size = (sum(own[name].numel() for name in names) for names in (taken, own))
    lines = [
        f"started from {folder}: {len(taken)} of {len(own)} parameters taken, {100 * count / size:.1f} % of "
        "the weights"
    ]
    new = [name for name in own if name not in weights]
    other = [
        f"{name} ({tuple(weights[name].shape)} there, {tuple(own[name].shape)} here)"
        for name in own
        if name in weights and name not in taken
    ]
    unused = [name for name in weights if name not in own]
    for kind, names in (("new here", new), ("of another shape", other), ("not used", unused)):
        if names:
            lines.append(f"  {kind}: {', '.join(names)}")
    return lines
