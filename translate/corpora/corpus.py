"""Loads a parallel corpus from any source, and filters it; writes one."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from translate.config.data import SPLITS, DataConfig, members_of
from translate.config.names import counted, is_code, shorten, shown_path
from translate.corpora import mixture
from translate.corpora.filters import REASONS, filter_pairs, hold_out, overlap_of, with_sources_of
from translate.corpora.hub import load_clone, load_hub
from translate.corpora.languages import named_by_lines
from translate.corpora.local_files import check_present, languages_in, load_directory, load_files
from translate.corpora.mixture import Mixture
from translate.corpora.prepared import MANIFEST, read_prepared
from translate.corpora.split import RawCorpus, Split, SplitReader, beside
from translate.errors import UserError
from translate.grammar.generator import generate
from translate.text.file_writing import explain_write_errors, scratch
from translate.text.languages import code_of
from translate.text.lines import user_path

LONGEST_SUFFIX = 50  # characters of a language in a file's name
_OF_FILES = re.compile(r"\bdata\.(?=(?:train|validation|test|path)\b)")
_NO_SUFFIX = re.compile(r"[/\\\x00-\x20]")
FILE_NAMES = {"train": "train", "validation": "dev", "test": "test"}  # of a written corpus


@dataclass(frozen=True)
class Corpus:
    """A parallel corpus ready to train on.

    Attributes:
        dropped: split -> reason -> number of pairs that the filters dropped; only train is filtered.
        notes: sentences for the user about choices that reading made.
    """

    name: str
    source_language: str
    target_language: str
    train: Split
    validation: Split | None
    test: Split | None
    dropped: dict[str, dict[str, int]]
    notes: tuple[str, ...] = ()
    num_read: int = 0  # training pairs before any was filtered or held out
    mixture: Mixture | None = None
    images: Any = None  # an ImageStore with the files that source lines name

    @property
    def tags(self) -> tuple[str, ...]:
        """Words that stand before sources, and are pieces of the tokenizer."""
        return () if self.mixture is None else self.mixture.tags

    def summary_lines(self) -> list[str]:
        """Lines for the user: the size of each split, the dropped pairs by reason, and the notes."""
        sizes = []
        for name in SPLITS:
            split: Split | None = getattr(self, name)
            gold = "" if split is None or split.gold is None else " with gold links"
            sizes.append(f"{name} none" if split is None else f"{name} {len(split):,}{gold}")
        lines = [f"{self.name} {self.source_language}-{self.target_language}, pairs: {', '.join(sizes)}"]
        for name, reasons in self.dropped.items():
            lines.append(f"dropped from {name}: {_describe(reasons) or 'none'}")
        if not (is_code(code_of(self.source_language)) and is_code(code_of(self.target_language))):
            lines.append(
                f"note: {shorten(self.source_language)} to {shorten(self.target_language)}: the run and its "
                "server keep these names; codes are given as data.source_language=en data.target_language=fr"
            )
        return [*lines, *self.notes]


def load_corpus(data: DataConfig, *, apart: bool = False) -> Corpus:
    """Read, check and filter the corpus that ``data`` describes; only the training split is filtered.

    Args:
        apart: of the grammar, draw test pairs on which no recipe trains; see :func:`generate`.
    Raises:
        UserError: for wrong settings or files, or a full disk.
    """
    check_present(data)
    if data.kind == "mixture":
        return _load_mixture(data)
    if data.kind != "prepared":
        return _load_one(data, apart=apart)
    languages, splits = read_prepared(data)
    return _completed(data, languages, splits, {}, [], len(splits["train"]))


def _load_one(data: DataConfig, *, apart: bool) -> Corpus:
    """Read a corpus that is not prepared, with pairs held out of it, and filter its training pairs."""
    if data.kind in ("grammar", "scenes") and data.num_train < 1:
        raise UserError(f"data.num_train={data.num_train}: expected at least 1")
    raw = _load_grammar(data, apart=apart) if data.kind == "grammar" else _read(data)
    if data.images is not None:
        from translate.corpora.images.image_names import name_images

        raw = name_images(raw, data)
    readers = _with_files(raw.splits, data)
    splits = {name: reader.whole() for name, reader in readers.items() if name != "train"}
    found = filter_pairs(readers["train"], data)
    if not len(found.split):
        raise UserError(
            f"the corpus {shorten(data.name, 100)!r} has no training pair left; "
            f"dropped: {_describe(found.dropped) or 'none'}"
            f"{f'; data.max_length is {data.max_length}: raise it' * ('too_long' in found.dropped)}"
        )
    notes = [*raw.notes]
    if data.context_sentences:
        most = counted(data.context_sentences, "previous sentence")
        pieces = f"{data.context_pieces:,} pieces at most"
        notes.append(f"sources stand after up to {most} of their documents, {pieces}")
    if found.num_cleaned:
        notes.append(f"training lines with control characters replaced by spaces: {found.num_cleaned:,}")
    if found.num_misread:
        notes.append(
            f"warning: {counted(found.num_misread, 'line')} of them lost letters or quotation marks when the "
            "file was converted to UTF-8: convert it anew (iconv -f windows-1252 -t utf-8)"
        )
    wanted = {"validation": data.validation_pairs, "test": data.test_pairs}
    wanted = {name: count for name, count in wanted.items() if name not in splits}
    train, held = hold_out(found.split, wanted, data.seed)
    documents = "" if train.documents is None else ", whole documents"
    for name, split in held.items():
        few = len(split) < wanted[name] and not documents
        fewer = f", a tenth, since data.{name}_pairs={wanted[name]} are too many" if few else documents
        notes.append(f"{name} pairs held out of train with data.seed={data.seed}: {len(split):,}{fewer}")
    again = with_sources_of(train, held.values()) if held and not documents else []
    if 0 < len(again) <= len(train) // 10:
        found.dropped["held_out"] = len(again)
        train = train.without(again)
    elif again:
        notes.append(f"train pairs with a source that is held out, too: {len(again):,}")
    splits |= held | {"train": train}
    return _completed(data, raw.languages, splits, found.dropped, notes, found.num_read)


def _completed(
    data: DataConfig,
    languages: tuple[str, str],
    splits: dict[str, Split],
    dropped: dict[str, int],
    notes: list[str],
    num_read: int,
) -> Corpus:
    """The corpus without training pairs of other splits, if wanted, or beyond the limit; counts them."""
    train, others = splits["train"], {name: split for name, split in splits.items() if name != "train"}
    overlap, told = overlap_of(train, others, drop=data.drop_overlap)
    if data.drop_overlap and overlap:
        if len(overlap) == len(train):
            raise UserError("data.drop_overlap: no training pair is left, for all are in validation or test")
        dropped["overlap"] = len(overlap)
        train = train.without(overlap)
    elif overlap:
        told[0] += "; data.drop_overlap=true takes them out of train"
    if data.max_train_pairs is not None and len(train) > data.max_train_pairs:
        dropped["beyond_limit"] = len(train) - data.max_train_pairs
        train = train.part(0, data.max_train_pairs)
    validation, test = others.get("validation"), others.get("test")
    told = [*notes, *told]
    if len(train) and all(source == target for source, target in islice(zip(train.source, train.target), 99)):
        told.append("warning: source and target are the same; expected a text and its translation")
    if data.kind not in ("grammar", "scenes") and data.read == "text":
        languages, found = named_by_lines(data, languages, train, others)
        told += found
    return Corpus(data.name, *languages, train, validation, test, {"train": dropped}, tuple(told), num_read)


def _load_mixture(data: DataConfig) -> Corpus:
    members = members_of(data)
    mixture.check_members(members, tokenised=data.tokenised)
    found = dict[str, Corpus]()
    for name, member in members.items():
        try:
            found[name] = load_corpus(member.data)
        except UserError as error:
            own = f"data.corpora.{shorten(name)}"
            text = _OF_FILES.sub(f"{own}.", str(error))
            raise UserError(text if text.startswith(own) else f"{own}: {text}") from error
    tags = {name: member.tag for name, member in members.items()}
    languages = {name: (corpus.source_language, corpus.target_language) for name, corpus in found.items()}
    source_language, target_language = mixture.joined_languages(languages, tags)
    targets = {name: target for name, (_, target) in languages.items()}
    others: dict[str, dict[str, Split]] = {split: {} for split in SPLITS[1:]}
    for name, corpus in found.items():
        for split in others:
            if (there := getattr(corpus, split)) is not None:
                others[split][name] = there
    trains, overlap, told = mixture.without_overlap(
        {name: corpus.train for name, corpus in found.items()}, others, drop=data.drop_overlap
    )
    notes = [f"{name}: {line}" for name, corpus in found.items() for line in corpus.summary_lines()]
    sizes = {name: len(train) for name, train in trains.items()}
    shares = Mixture(data, sizes, tuple(dict.fromkeys(filter(None, tags.values()))))
    return Corpus(
        data.name,
        source_language,
        target_language,
        train=mixture.joined_train(trains, tags),
        **{split: mixture.joined_others(others[split], tags, targets) for split in others},
        dropped={"train": {"overlap": overlap} if overlap else {}},
        notes=(*notes, *told, *shares.lines()),
        num_read=sum(corpus.num_read for corpus in found.values()),
        mixture=shares,
    )


def _describe(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in reasons.items())


def _read(data: DataConfig) -> RawCorpus:
    if data.kind == "scenes":
        from translate.corpora.images.scene_corpus import load_scenes

        return load_scenes(data)
    if data.kind == "files" and data.path is None:
        return load_files(data)
    if data.path is not None and (user_path(data.path) / MANIFEST).is_file():
        raise UserError(f"{shown_path(data.path)}: a folder of translate prepare; read it by data=prepared")
    if data.source_language is None or data.target_language is None:
        known = [] if data.path is None else languages_in(user_path(data.path))
        source, target = known if len(known) == 2 else ("en", "fr")
        raise UserError(
            "data.source_language and data.target_language must both be set, such as "
            f"data.source_language={source} data.target_language={target}, or the reverse"
        )
    languages = data.source_language, data.target_language
    if data.path is None:
        return load_hub(data, languages)
    root = user_path(data.path)
    if languages_in(root):
        return load_directory(root, data, languages)
    return load_clone(root, data, languages)


def _load_grammar(data: DataConfig, *, apart: bool) -> RawCorpus:
    """The splits of `data=grammar` and `data=grammar_sov`; raises :class:`UserError` for other languages."""
    source_language, target_language = data.source_language or "en", data.target_language or "fr"
    backward = target_language == "en"
    other = source_language if backward else target_language
    if "en" not in (source_language, target_language) or other not in ("fr", "sov"):
        raise UserError(
            f"the grammar corpus translates between en and fr or sov, not {shorten(source_language, 100)} to "
            f"{shorten(target_language, 100)}; use data=grammar or data=grammar_sov"
        )
    sizes = data.num_train, data.num_validation, data.num_test
    splits = {
        name: Split([e.source for e in examples], [e.target for e in examples], [e.gold for e in examples])
        for name, examples in generate(*sizes, data.seed, target=other, apart=apart).items()
        if examples
    }
    if backward:
        splits = {name: split.swapped() for name, split in splits.items()}
    return RawCorpus.of((source_language, target_language), splits)


def _with_files(readers: dict[str, SplitReader], data: DataConfig) -> dict[str, SplitReader]:
    """Add the files of gold links and of ids of documents in the settings to their splits.

    Raises:
        UserError: for a file of a split that does not exist, or if context is wanted and the documents of a
            split are not known; while reading, if a file has more or fewer lines than there are pairs.
    """
    found = dict(readers)
    for setting, file in data.files.items():
        name, _, kind = setting.partition(".")
        if kind not in ("gold", "documents"):
            continue
        if name not in readers:
            raise UserError(
                f"data.{setting}={shorten(file, 150)}: the corpus {shorten(data.name, 100)!r} has no "
                f"{name} split"
            )
        where = shorten(file) if kind == "gold" else shown_path(user_path(file))
        found[name] = beside(found[name], kind, user_path(file), where)
    for name, reader in found.items():
        if data.context_sentences and "documents" not in reader.columns:
            raise UserError(
                f"data.context_sentences={data.context_sentences}: the documents of the {name} split are not "
                f"known; give data.{name}.documents=FILE with an id a pair, or data.document_field"
            )
    return found


def write_corpus(corpus: Corpus, directory: str | Path) -> list[Path]:
    """Write ``{train,dev,test}.{source,target,gold}`` and return the paths.

    Raises:
        UserError: if ``directory`` is a file, one of the files exists already, or a language is no part of a
            file's name.
    """
    directory = Path(directory)
    if os.path.exists(directory) and not directory.is_dir():
        raise UserError(f"{shown_path(directory)}: expected a folder, got a file")
    for language in (corpus.source_language, corpus.target_language):
        if _NO_SUFFIX.search(language) or not 0 < len(language) <= LONGEST_SUFFIX:
            raise UserError(
                f"{shorten(language, 100)!r}: no language that ends a file's name; "
                f"give data.source_language and data.target_language, such as en and fr"
            )
    if corpus.source_language == corpus.target_language:
        raise UserError(
            f"both languages are {corpus.source_language!r}, and so would be the names of both files; "
            f"give data.source_language and data.target_language"
        )
    texts: dict[Path, Sequence[str]] = {}
    for split_name, file_name in FILE_NAMES.items():
        split = getattr(corpus, split_name)
        if split is None:
            continue
        texts[directory / f"{file_name}.{corpus.source_language}"] = split.source
        texts[directory / f"{file_name}.{corpus.target_language}"] = split.target
        if split.gold is not None:
            texts[directory / f"{file_name}.gold"] = split.gold
    for path in texts:
        if path.exists():
            raise UserError(f"{shown_path(path)}: exists already; choose another folder")
    existed = directory.exists()
    try:
        with explain_write_errors(directory):
            directory.mkdir(parents=True, exist_ok=True)
            with scratch(directory) as folder:
                for path, lines in texts.items():
                    with (folder / path.name).open("w", encoding="utf-8", newline="\n") as file:
                        file.writelines(line + "\n" for line in lines)
                for path in texts:
                    (folder / path.name).rename(path)
    except UserError:
        if not existed:
            with suppress(OSError):  # a parent is missing
                directory.rmdir()
        raise
    return list(texts)
