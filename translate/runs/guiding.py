"""The links that guide one head's attention in training, and the loss that draws it to them."""

from pathlib import Path

from translate.aligner.links import Links, parse_gold
from translate.aligner.statistical import KnownLinks, estimate_links
from translate.config.settings import Settings
from translate.corpora.corpus import Corpus
from translate.corpora.piece_links import words_of
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.runs.calibration import gold_links
from translate.text.lines import read_lines
from translate.text.tokenizer import Pieces, TokenizerPair
from translate.training.losses import Guided


def guidance(settings: Settings, model: Seq2Seq) -> Guided | None:
    """The guided-alignment loss, if it has a weight."""
    config = settings.training
    if not config.guided_alignment:
        return None
    layer = config.guided_layer if config.guided_layer is not None else (model.num_attention_layers - 1) // 2
    try:
        model.check_layers([layer])
    except ValueError as error:
        raise UserError(f"training.guided_layer: {error}") from error
    return Guided(config.guided_alignment, layer, config.guided_shift)


def guiding_links(
    settings: Settings,
    corpus: Corpus,
    sources: list[Pieces],
    targets: list[Pieces],
    tokenizers: TokenizerPair,
) -> list[Links]:
    """Word links of the training pairs: of ``training.guided_links``, or counted in the text.

    Gold of the training pairs is not read unless that file is it.
    """
    path = settings.training.guided_links
    if path is not None:
        return read_links(Path(path).expanduser(), corpus, sources, targets)
    known = known_pairs(settings, corpus, tokenizers)
    print(
        f"links that guide: counted in {len(sources):,} training pairs"
        + (f" and {len(known.links):,} validation pairs with gold links" if known else ""),
        flush=True,
    )
    return estimate_links(words_of(sources), words_of(targets), known=known)


def known_pairs(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> KnownLinks | None:
    """The validation pairs, if their gold links are known and may be counted."""
    split = corpus.validation
    if not settings.training.guided_gold or split is None or split.gold is None:
        return None
    source, target = (
        words_of([tokenizer.encode_words(line, whitespace=True) for line in lines])
        for tokenizer, lines in ((tokenizers.source, split.source), (tokenizers.target, split.target))
    )
    return KnownLinks(source, target, [gold.to_teach(0, 1) for gold in gold_links(split)])


def read_links(path: Path, corpus: Corpus, sources: list[Pieces], targets: list[Pieces]) -> list[Links]:
    """Links of the training pairs, from a file with a line for each.

    The lines are those of the training split as it is, or as it was before pairs were filtered out. Of gold,
    a target word is guided by its sure links, by its possible ones if it has no sure one.

    Raises:
        UserError: if the file has another number of lines, or a link points outside its sentence.
    """
    lines, split = read_lines(path), corpus.train
    numbers: list[int] | range = range(len(split))
    if len(lines) != len(split):
        if len(lines) != corpus.num_read or split.numbers is None:
            before = f" ({corpus.num_read:,} before filtering)" if corpus.num_read != len(split) else ""
            raise UserError(
                f"training.guided_links={path}: {len(lines):,} lines of links, but the training split has "
                f"{len(split):,} pairs{before}; expected a line a pair"
            )
        numbers = split.numbers
    found = []
    for number, source, target in zip(numbers, sources, targets, strict=True):
        gold = parse_gold(
            lines[number],
            where=f"{path}, line {number + 1}",
            source_length=len(source.words),
            target_length=len(target.words),
        )
        found.append(gold.to_teach(1))
    return found
