"""The work of one call: what a search is to find, and what becomes of what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from translate.alignment.alignment import Alignment
from translate.alignment.extract import align
from translate.alignment.pairs import EncodedPair
from translate.alignment.transfer.markup import place_markup
from translate.alignment.transfer.tags import Marked, read_markup
from translate.alignment.transfer.unknown import replace_unknown as with_source_words
from translate.text.tokenizer import Pieces, one_line
from translate.translation import BatchTranslator, TranslateOptions, Translation


@dataclass(frozen=True)
class Work:
    """The sentences of one call as a search reads them, and how their translations are completed.

    Attributes:
        batch: the sentences, which it knows by their index, and how they are searched.
        marked: the sentences without their markup, and the markup.
        options: of the call.
        keep: whether translations keep their alignments.
    """

    batch: BatchTranslator
    marked: Sequence[Marked]
    options: TranslateOptions
    keep: bool

    def blank(self) -> list[Translation]:
        """An empty translation for each sentence, which stays where the sentence is blank."""
        aligned, engine = self.batch.aligned, self.batch.engine
        writer = "torch" if engine is None else engine.name
        return [
            Translation("", 0.0, _nothing(each) if aligned else None, engine=writer)
            for each in self.batch.sources.pieces
        ]

    def finish(self, results: Sequence[Translation]) -> list[Translation]:
        """What the call returns, from the translations of all its sentences without markup."""
        return [self.finish_one(index, result) for index, result in enumerate(results)]

    def finish_one(self, index: int, result: Translation) -> Translation:
        """The translation of one sentence with the source's markup, and source words for unknown ones."""
        if not (self.options.markup or self.options.replace_unknown):
            return result
        assert result.alignment is not None
        text, alignment = self._carry(index, result.text, result.alignment)
        listed = result.n_best
        if listed:
            texts = [each.text for each in listed[1:]]
            others = zip(listed[1:], texts, self.align(index, texts), strict=True)
            listed = (
                replace(listed[0], text=text),
                *(replace(each, text=self._carry(index, other, found)[0]) for each, other, found in others),
            )
        return replace(result, text=text, n_best=listed, alignment=alignment if self.keep else None)

    def align(self, index: int, targets: Sequence[str]) -> list[Alignment]:
        """The alignments of a source, as it was read, with targets that are as long as the model allows."""
        model, tokenizer = self.batch.models[0], self.batch.target
        limit = model.max_target_length
        found = [tokenizer.encode_words(each) for each in targets]
        source = self.batch.sources.pieces[index]
        pairs = [EncodedPair.of(source, each if limit is None else each.cut(limit - 1)) for each in found]
        return align(model, pairs, self.batch.choice, device=model.output_weight.device)

    def _carry(self, index: int, text: str, alignment: Alignment) -> tuple[str, Alignment]:
        source = self.marked[index]
        if self.options.replace_unknown:
            text, alignment = with_source_words(text, alignment)
        if not source.items:
            return text, alignment
        clean = read_markup(text)
        if clean.items:  # made up by the model: only the source's own may stand in the translation
            text = clean.text
            (alignment,) = self.align(index, [text])
        return one_line(place_markup(source, text, alignment)), alignment


def _nothing(source: Pieces) -> Alignment:
    """The alignment of a source whose translation has no words."""
    words = [word.text for word in source.words]
    return Alignment(words, [], np.zeros((0, len(words))), [(word.start, word.end) for word in source.words])
