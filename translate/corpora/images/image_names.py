"""The names of images beside the sentences of a corpus."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from translate.config.data import DataConfig
from translate.config.names import shorten
from translate.corpora.images.line import join_line, split_line
from translate.corpora.local_files import PREFIXES
from translate.corpora.split import RawCorpus, Split, SplitReader
from translate.corpora.tables import is_table, pick, read_table
from translate.errors import UserError
from translate.text.lines import read_lines, user_path

LANGUAGE = "picture"  # in place of the source language, if only the image is read
# Where a folder of a corpus has the names of a split's images; Multi30k has the first.
_NAME_FILES = ("image_splits/{}.txt", "{}.pictures", "{}_images.txt")


def name_images(raw: RawCorpus, data: DataConfig) -> RawCorpus:
    """The corpus with source lines that name images below ``data.images``.

    Raises:
        UserError: if names are missing, are more or fewer than the pairs, or lead out of the folder.
    """
    root = user_path(str(data.images))
    if not os.path.isdir(root):
        raise UserError(f"data.images={shorten(str(data.images), 150)}: expected a folder of images")
    splits = {}
    for name, reader in raw.splits.items():
        split = reader.whole()
        found, where = _names_of(name, data)
        if len(found) != len(split):
            raise UserError(
                f"{where}: {len(found):,} names of images, but the {name} split has {len(split):,} pairs; "
                "expected one line a pair"
            )
        for image in found:
            below(root, image)
        sentences = split.source if data.read == "both" else [""] * len(split)
        lines = [join_line(image, sentence) for image, sentence in zip(found, sentences, strict=True)]
        splits[name] = SplitReader.of(Split(lines, split.target, split.gold))
    source = raw.languages[0] if data.read == "both" else LANGUAGE
    return replace(raw, languages=(source, raw.languages[1]), splits=splits)


def below(root: Path, name: str) -> Path:
    """The file ``name`` in the folder ``root``; raises :class:`UserError` for one outside it."""
    parts = Path(name).parts
    if not parts or Path(name).is_absolute() or ".." in parts or "\x00" in name:
        raise UserError(f"{name[:100]!r}: expected the name of an image inside {root}")
    return root / name


def leave_out(split: Split, data: DataConfig, described: Collection[int] | None = None) -> Split:
    """The training split without the images of some pairs and the sentences of others, evenly spread.

    Gold links, which would no longer fit, are left out, too.

    Args:
        described: indexes of the pairs whose image alone decides the target; all by default.
    """
    lines, rows = list(split.source), range(len(split))
    bare = _spread(rows, data.without_picture * len(split))
    for row in bare:
        lines[row] = split_line(lines[row]).sentence
    eligible = [row for row in rows if row not in bare and (described is None or row in described)]
    for row in _spread(eligible, data.without_sentence * len(split)):
        lines[row] = join_line(split_line(lines[row]).image)
    return replace(split, source=lines, gold=None, name=None)


def _names_of(name: str, data: DataConfig) -> tuple[list[str], str]:
    """The names of a split's images, and where they are from."""
    files = getattr(data, name)
    if files.pictures is not None:
        return _cleaned(read_lines(user_path(files.pictures))), shorten(files.pictures, 150)
    if files.source is not None and files.target is None and is_table(Path(files.source)):
        table = read_table(user_path(files.source))
        field = data.picture_field or "picture"
        (found,) = table.columns(pick(table, [field], "choose one with data.picture_field"))
        return _cleaned(found), table.where
    if data.path is not None:
        prefixes = (data.test_name, "test") if name == "test" and data.test_name else PREFIXES[name]
        names = (pattern.format(prefix) for prefix in prefixes for pattern in _NAME_FILES)
        if path := next(filter(Path.is_file, map(user_path(data.path).joinpath, names)), None):
            return _cleaned(read_lines(path)), str(path)
    raise UserError(
        f"data.images: the names of the {name} images are not known; give data.{name}.pictures=FILE with one "
        "name a pair, or data.picture_field for a table"
    )


def _cleaned(names: Sequence[str]) -> list[str]:
    """Names without the number of a caption, as in `1000092795.jpg#0`."""
    return [re.sub(r"#\d+$", "", name.strip()) for name in names]


def _spread(rows: Sequence[int], count: float) -> set[int]:
    """About ``count`` of the rows, all at most, evenly spread."""
    share = min(1.0, count / max(1, len(rows)))
    return {row for place, row in enumerate(rows) if int((place + 1) * share) > int(place * share)}
