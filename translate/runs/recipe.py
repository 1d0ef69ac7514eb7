"""The stream of batches and the optimizer step that a configuration describes."""

from translate.config.settings import Settings
from translate.corpora.batching import EncodedCorpus
from translate.corpora.corpus import Corpus, Split
from translate.models import Seq2Seq
from translate.runs.encoding import sampler
from translate.runs.guiding import guidance
from translate.runs.objects import build_optimizer, build_schedule, forward_precision
from translate.text.tokenizer import TokenizerPair
from translate.training.averaging import Averaged
from translate.training.loop import Training
from translate.training.parallel import Parallel
from translate.training.stream import BatchStream
from translate.training.update import Care, Update

LONGEST = 80  # characters of a sentence in a message


def build_training(
    settings: Settings,
    model: Seq2Seq,
    encoded: EncodedCorpus,
    corpus: Corpus,
    tokenizers: TokenizerPair,
    parallel: Parallel,
) -> Training:
    """The stream of batches and the optimizer step of a run; ``parallel`` is of :func:`parallelise`."""
    config, world = settings.training, parallel.world
    update = Update(
        model,
        build_optimizer(settings, model),
        build_schedule(settings),
        label_smoothing=config.label_smoothing,
        clip_norm=config.clip_norm,
        average=Averaged(model, config.ema) if config.ema else None,
        precision=forward_precision(settings.runtime, next(model.parameters()).device),
        guided=guidance(settings, model),
        r_drop=config.r_drop,
        teacher_forcing=config.teacher_forcing if config.teacher_forcing.decay else None,
        care=Care(
            skip_non_finite=config.non_finite == "skip",
            lower_memory=config.out_of_memory == "lower",
            text_of=lambda index: _pair(corpus.train, index),
        ),
        parallel=parallel,
    )
    stream = BatchStream(
        encoded,
        config.batch_tokens,
        config.accumulate,
        config.seed,
        word_dropout=config.word_dropout,
        sample=sampler(settings, corpus.train, tokenizers),
        rank=world.rank,
        processes=world.size,
    )
    return Training(stream, update)


def _pair(split: Split, index: int) -> str:
    sides = (split.source[index], split.target[index])
    shown = [side if len(side) <= LONGEST else f"{side[: LONGEST - 1]}…" for side in sides]
    return " -> ".join(repr(side) for side in shown)
