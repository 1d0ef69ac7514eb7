"""Loads a parallel corpus from the embedded grammar, local files or the hub, and filters it; writes one."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from translate.config.data import SPLITS, DataConfig, members_of
from translate.config.names import shorten, shown_path
from translate.corpora.columns.collector import seldom_collected
from translate.corpora.documents.ids import context_notes, with_documents
from translate.corpora.filtered_cache import filtered
from translate.corpora.filters import REASONS, hold_out, overlap_of
from translate.corpora.generated.grammar import load_grammar
from translate.corpora.local_files import has_side_by_side, load_directory, load_files
from translate.corpora.mixtures import joining
from translate.corpora.mixtures.shares import Mixture
from translate.corpora.presence import check_present
from translate.corpora.split import RawCorpus, Split, SplitReader, check_gold
from translate.errors import UserError
from translate.text.aside import scratch, told
from translate.text.lines import read_lines
from translate.text.reading import user_path

LONGEST_SUFFIX = 50  # characters of a language in a file's name
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
        return [*lines, *self.notes]


@seldom_collected()
def load_corpus(data: DataConfig, cache: Path | None = None) -> Corpus:
    """Read, check and filter the corpus that ``data`` describes; only the training split is filtered.

    Args:
        data: the settings.
        cache: folder in which large corpora are kept; ``None`` for files without a name.
    Raises:
        UserError: for wrong settings or files, or a full disk.
    """
    check_present(data)
    if data.kind == "mixture":
        return _load_mixture(data, cache)
    if data.kind == "prepared":
        return _load_prepared(data)
    raw = _read(data)
    if data.images is not None:
        from translate.corpora.pictured.picture_names import name_pictures

        raw = name_pictures(raw, data)
    readers = with_documents(_with_gold(raw.splits, data), data)
    splits = {name: reader.whole() for name, reader in readers.items() if name != "train"}
    for name, split in splits.items():
        if where := _where_gold(data, name):
            check_gold(split, where)
    found = filtered(readers["train"], data, cache, _where_gold(data, "train"))
    train, dropped = found.split, found.dropped
    if not len(train):
        raise UserError(
            f"the corpus {shorten(data.name, 100)!r} has no training pair left; "
            f"dropped: {_describe(dropped) or 'none'}"
        )
    notes = [*raw.notes, *context_notes(data)]
    if found.num_cleaned:
        notes.append(f"training lines with control characters replaced by spaces: {found.num_cleaned:,}")
    validation_pairs = 0 if "validation" in splits else data.validation_pairs
    test_pairs = 0 if "test" in splits else data.test_pairs
    train, held = hold_out(train, {"validation": validation_pairs, "test": test_pairs}, data.seed)
    documents = "" if train.documents is None else ", whole documents"
    for name, split in held.items():
        notes.append(f"{name} pairs held out of train with data.seed={data.seed}: {len(split):,}{documents}")
    splits |= held
    overlap, told = overlap_of(train, splits)
    notes += told
    if data.drop_overlap and overlap:
        dropped["overlap"] = len(overlap)
        train = train.without(overlap)
    if data.max_train_pairs is not None and len(train) > data.max_train_pairs:
        dropped["beyond_limit"] = len(train) - data.max_train_pairs
        train = train.part(0, data.max_train_pairs)
    return Corpus(
        name=data.name,
        source_language=raw.source_language,
        target_language=raw.target_language,
        train=train,
        validation=splits.get("validation"),
        test=splits.get("test"),
        dropped={"train": dropped},
        notes=tuple(notes),
        num_read=found.num_read,
    )


def _load_prepared(data: DataConfig) -> Corpus:
    from translate.corpora.prepared import read_prepared  # pyarrow takes a moment to import

    languages, splits, notes = read_prepared(data)
    train, others = splits["train"], {name: split for name, split in splits.items() if name != "train"}
    overlap, told = overlap_of(train, others)
    dropped = {"overlap": len(overlap)} if data.drop_overlap and overlap else {}
    return Corpus(
        data.name,
        *languages,
        train=train.without(overlap) if dropped else train,
        validation=splits.get("validation"),
        test=splits.get("test"),
        dropped={"train": dropped},
        notes=(*notes, *told),
        num_read=len(train),
    )


def _load_mixture(data: DataConfig, cache: Path | None) -> Corpus:
    members = members_of(data)
    joining.check_no_context(members)
    found = {name: load_corpus(member.data, cache) for name, member in members.items()}
    tags = {name: member.tag for name, member in members.items()}
    languages = {name: (each.source_language, each.target_language) for name, each in found.items()}
    source_language, target_language = joining.joined_languages(languages, tags)
    joining.check_tokenised(members, tokenised=data.tokenised)
    others = {
        split: {
            name: getattr(each, split) for name, each in found.items() if getattr(each, split) is not None
        }
        for split in SPLITS[1:]
    }
    trains, overlap, told = joining.without_overlap(
        {name: each.train for name, each in found.items()}, others, drop=data.drop_overlap
    )
    notes = [f"{name}: {line}" for name, each in found.items() for line in each.summary_lines()]
    sizes = {name: len(train) for name, train in trains.items()}
    mixture = Mixture(data, sizes, tuple(dict.fromkeys(filter(None, tags.values()))))
    return Corpus(
        name=data.name,
        source_language=source_language,
        target_language=target_language,
        train=joining.joined_train(trains, tags),
        validation=joining.joined_others(others["validation"], tags),
        test=joining.joined_others(others["test"], tags),
        dropped={"train": {"overlap": overlap} if overlap else {}},
        notes=(*notes, *told, *mixture.lines()),
        num_read=sum(each.num_read for each in found.values()),
        mixture=mixture,
    )


def _describe(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {REASONS[reason]}" for reason, count in reasons.items())


def _read(data: DataConfig) -> RawCorpus:
    if data.kind == "grammar":
        return load_grammar(data)
    if data.kind == "scenes":
        from translate.corpora.generated.scenes import load_scenes

        return load_scenes(data)
    if data.kind == "files" and data.path is None:
        return load_files(data)
    if data.source_language is None or data.target_language is None:
        raise UserError("data.source_language and data.target_language must both be set, such as en and fr")
    languages = data.source_language, data.target_language
    if data.path is None:
        from translate.corpora.hub import load_hub  # datasets takes seconds to import

        return load_hub(data, *languages)
    root = user_path(data.path)
    if has_side_by_side(root):
        return load_directory(root, *languages, data.test_name, data.document_field)
    from translate.corpora.clone import load_clone

    return load_clone(root, data, *languages)


def _with_gold(readers: dict[str, SplitReader], data: DataConfig) -> dict[str, SplitReader]:
    """Add the gold files in the settings to their splits."""
    result = dict(readers)
    for name in SPLITS:
        gold: str | None = getattr(data, name).gold
        if gold is not None:
            if name not in readers:
                raise UserError(
                    f"data.{name}.gold={shorten(gold, 150)}: the corpus {shorten(data.name, 100)!r} "
                    f"has no {name} split"
                )
            result[name] = replace(readers[name], gold=read_lines(user_path(gold)))
    return result


def _where_gold(data: DataConfig, name: str) -> str:
    """What the gold links of a split are called in messages; empty if they need no check."""
    if data.kind in ("grammar", "scenes"):
        return ""
    gold: str | None = getattr(data, name).gold
    return f"gold links of {name}" if gold is None else shorten(gold)


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
        with told(directory):
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
