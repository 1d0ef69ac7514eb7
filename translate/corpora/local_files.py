"""Reads parallel corpora from local files: two parallel files, one table, or a folder of splits."""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from translate.config.data import SPLITS, DataConfig, FileSplit, members_of
from translate.config.names import TABLES, counted, cut, did_you_mean, is_code, listed, nearest, shorten
from translate.corpora.document_rows import columns_of, numbered
from translate.corpora.split import RawCorpus, Split, SplitReader, beside
from translate.corpora.tables import SIDES, Table, check_table, is_table, pick, read_table
from translate.errors import UserError
from translate.text.languages import code_of
from translate.text.lines import check_file, read_line_blocks, user_path

ROWS = 1 << 12  # pairs of a block of two files
PREFIXES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}
_NO_LANGUAGE = ("gz", "txt", "text", "tok", "raw", "clean", "lc", "norm", "bpe", *(s[1:] for s in TABLES))
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")


def load_files(data: DataConfig) -> RawCorpus:
    """The files of ``data.train``, and of ``data.validation`` and ``data.test`` if they are set.

    Raises:
        UserError: if a file is missing; while reading, if it is malformed or empty, or if two parallel files
            differ in length.
    """
    if data.train.source is None:
        raise UserError(
            "data.train.source is not set; "
            "give data.train.source=FILE data.train.target=FILE, or data.path=DIR"
        )
    given = {name: files for name in SPLITS if _is_complete(name, files := getattr(data, name))}
    tables = any(files.target is None for files in given.values())
    for name in ("test_name", *(() if tables else ("source_field", "target_field", "picture_field"))):
        if getattr(data, name) is not None:
            needed = "the folder data.path" if name == "test_name" else "a table, a file with both sides"
            raise UserError(f"data.{name}={_short(getattr(data, name))}: it has no effect without {needed}")
    languages = _languages(data)
    splits = {}
    for name, files in given.items():
        sources = matching(files.source)
        if files.target is None:
            splits[name] = table_reader(sources, data, languages, further=name != SPLITS[0])
            continue
        _check_sides(name, files, languages)
        targets = matching(files.target)
        if len(sources) != len(targets):
            raise UserError(f"data.{name}: {len(sources):,} files of sources but {len(targets):,} of targets")
        splits[name] = SplitReader(partial(_blocks_of_pairs, list(zip(sources, targets))))
        if data.document_field is not None:
            raise UserError(
                f"data.document_field={_short(data.document_field)}: two files have no columns; give a file "
                "with the id of each pair's document, data.train.documents=FILE"
            )
    return RawCorpus(languages, splits)


def matching(name: str) -> list[Path]:
    """The file of this name, or all that match it as a pattern, in the order of their names but languages.

    Raises:
        UserError: for a pattern that no file matches.
    """
    path = user_path(name)
    if not glob.has_magic(name) or os.path.exists(path):
        return [path]
    if not (found := [Path(one) for one in sorted(glob.glob(str(path)))]):
        raise UserError(f"no file matches {_short(name)}")
    parts = {one: [part for part in one.name.split(".") if part != language_of(one.name)] for one in found}
    return sorted(found, key=lambda one: (one.parent, parts[one]))  # train.en, train.news.en, and so for fr


def language_of(path: str) -> str | None:
    """The language code at the end of a file name (``train.en``, ``train.en.gz``, ``train.en.txt``)."""
    parts = Path(path).name.split(".")
    while len(parts) > 1 and parts[-1].lower() in _NO_LANGUAGE:
        parts.pop()
    return parts[-1] if len(parts) > 1 and _LANGUAGE.fullmatch(parts[-1]) else None


def check_language(path: str | Path, wanted: str, other: str, advice: str) -> None:
    """Raise ``UserError`` if the name of a text tells the other language of a pair, as ``news.fr`` does."""
    endings = Path(path).name.split(".")[1:]
    if other in endings and wanted not in endings:
        raise UserError(
            f"{_short(path)}: by its name a text in {other}, where one in {wanted} is expected; {advice}, or "
            "give the file another name"
        )


def _check_sides(split: str, files: FileSplit, languages: tuple[str, str]) -> None:
    """Raise ``UserError`` if the sides of a split are one file, or swapped."""
    if files.source == files.target:
        hint = f"; without data.{split}.target it is a table" if is_table(Path(str(files.source))) else ""
        raise UserError(f"data.{split}: {_short(files.source)} is both source and target{hint}")
    for path, both in ((files.source, languages), (files.target, languages[::-1])):
        check_language(str(path), *both, f"exchange the files of data.{split}, or the languages")


def pair_of(source: str | Path, target: str | Path) -> Split:
    """Read two parallel files; raises ``UserError`` if one is longer, both are empty, or both are one."""
    if Path(source) == Path(target):
        raise UserError(f"{_short(source)} is both source and target; expected two files")
    blocks = list(line_blocks(Path(source), Path(target)))
    source_lines, target_lines = ([line for block in blocks for line in block[side]] for side in (0, 1))
    return Split(source_lines, target_lines)


def _blocks_of_pairs(files: Sequence[tuple[Path, Path]]) -> Iterator[list[list[str]]]:
    return (block for source, target in files for block in line_blocks(source, target))


def line_blocks(*paths: Path) -> Iterator[list[list[str]]]:
    """The lines of files, as many of one as of the others, some thousands at a time."""
    sides = [chain.from_iterable(read_line_blocks(path)) for path in paths]
    count = 0
    while True:
        block = [list(islice(side, ROWS)) for side in sides]
        for path, lines in zip(paths, block) if count == 0 else ():
            if len(lines) > 1 and all("\t" in line for line in lines):
                raise UserError(
                    f"{_short(path)}: every line has a tab, so this is a table: data.train.source takes one "
                    "alone, named .tsv; elsewhere each side is a file, as cut -f1 and cut -f2 write them"
                )
        shared = min(map(len, block))
        if shared:
            yield [lines[:shared] for lines in block]
        count += shared
        if shared < ROWS:
            break
    first, *counts = (count + len(lines) - shared + sum(1 for _ in side) for lines, side in zip(block, sides))
    for path, number in zip(paths[1:], counts):
        if number != first:
            raise UserError(
                f"{_short(paths[0])} has {counted(first, 'line')} but {_short(path)} has {number:,}; "
                f"line n of one must translate line n of the other"
                f"{'; a table has both sides, so leave the other file out' * is_table(paths[0])}"
            )
    if not first:
        raise UserError(f"{' and '.join(map(_short, paths))} are empty")


def languages_in(root: Path) -> list[str]:
    """The languages of files such as ``train.en`` or ``train.en.gz`` in ``root``."""
    names = [path.name.removesuffix(".gz").partition(".") for path in root.iterdir()]
    found = {end for name, _, end in names if name in PREFIXES["train"] and _LANGUAGE.fullmatch(end)}
    return sorted(found.difference(_NO_LANGUAGE, ("gold",)))


def load_directory(root: Path, data: DataConfig, languages: tuple[str, str]) -> RawCorpus:
    """Read a directory of ``{train,valid,test}.{language}[.gz]`` files, with ``.gold`` files for gold links.

    ``data.test_name`` is the name of the test files, and ``data.document_field`` the ending of files with the
    id of each pair's document.

    Raises:
        UserError: for a language without files; the message lists the others.
    """
    known = languages_in(root)
    for language in languages:
        if language not in known:
            hint = did_you_mean(nearest(language, known))
            raise UserError(
                f"{_short(root)}: no training file in the language {_short(language)!r}{hint}; "
                f"there are {listed(known)}"
            )
    tests = _test_names(root, languages)
    prefixes = {**PREFIXES, "test": ((data.test_name,) if data.test_name else ()) + PREFIXES["test"]}
    if len(tests) == 1:
        prefixes["test"] = (*prefixes["test"], *tests)
    splits: dict[str, SplitReader] = {}
    notes = []
    for name in SPLITS:
        for prefix in prefixes[name]:
            source, target = (_find(root, prefix, language) for language in languages)
            if source is not None and target is not None:
                reader = SplitReader(partial(line_blocks, source, target))
                if gold := _find(root, prefix, "gold"):
                    reader = beside(reader, "gold", gold, f"gold links of {name}")
                splits[name] = _with_ids(reader, root, prefix, data.document_field)
                wanted = data.test_name or prefix
                if name == "test" and (prefix, wanted) != ("test", "test"):
                    notes.append(f"test is {prefix}" + f"; there is no {wanted}" * (wanted != prefix))
                break
            if source is not None or target is not None:
                lacking = languages[target is None]
                where = _short(source or target)
                raise UserError(f"{where}: expected a parallel file {prefix}.{lacking} beside it")
    if "test" not in splits and tests:
        raise UserError(f"{_short(root)}: several test sets, {listed(tests)}; choose one with data.test_name")
    return RawCorpus(languages, splits, tuple(notes))


def _with_ids(reader: SplitReader, root: Path, prefix: str, field: str | None) -> SplitReader:
    """The reader of a folder's pairs, with the ids of documents beside them if these are wanted."""
    if field is None:
        return reader
    path = _find(root, prefix, field)
    if path is None:
        raise UserError(
            f"{_short(root)}: no file {_short(f'{prefix}.{field}')} with the ids of documents "
            f"(data.document_field={_short(field)})"
        )
    return beside(reader, "documents", path, _short(path))


def _is_complete(name: str, files: FileSplit) -> bool:
    """Whether there are files of a split; raises ``UserError`` if one is missing."""
    if files.source is None and files.target is not None:
        raise UserError(f"data.{name}.target={_short(files.target)} is set without data.{name}.source")
    if files.source is not None and files.target is None:
        check_table(f"data.{name}", Path(files.source))
    return files.source is not None


def _languages(data: DataConfig) -> tuple[str, str]:
    """The languages from the settings, the files' suffixes or a table's fields, else plain names."""
    source, target = data.source_language, data.target_language
    if data.train.target is not None and data.train.source is not None:
        suffixes = language_of(data.train.source), language_of(data.train.target)
        if suffixes[0] == suffixes[1]:  # source.txt and target.txt end alike
            suffixes = None, None
        found = source or suffixes[0] or "source", target or suffixes[1] or "target"
        if found[0] == found[1] and all(suffixes):
            raise UserError(
                f"data.source_language={found[0]} data.target_language={found[1]}: by their names the files "
                f"are {suffixes[0]} and {suffixes[1]}; exchange the files, or the languages"
            )
        return found
    if has_no_header(data.source_field, data.target_field):
        return source or "source", target or "target"
    source = source or code_of((data.source_field or "").split(".")[-1])
    target = target or code_of((data.target_field or "").split(".")[-1])
    if source and target:
        return source, target
    names = read_table(matching(str(data.train.source))[0]).names
    codes = [code_of(name) for name in names]
    if not source and not target and len(names) == 2 and all(map(is_code, codes)):
        return codes[0], codes[1]
    if all(_of_side(names, side) for side in SIDES):
        return source or "source", target or "target"
    first = ""
    if {".tsv", ".csv"} & set(Path(str(data.train.source)).suffixes):
        first = (
            "; if its first line is a pair, write data.source_field=1 data.target_field=2, and the languages "
            "of the columns, such as data.source_language=en data.target_language=fr"
        )
    shown = listed(cut(name, 40) for name in names)
    if any("\t" in name for name in names):
        first = "; its columns are apart by tabs, so name it .tsv"
    raise UserError(
        f"{_short(data.train.source)}: cannot tell which columns are source and target; write "
        f"data.source_field=NAME data.target_field=NAME with two of {shown}, or name them source and target, "
        f"or by language codes such as en{first}"
    )


def has_no_header(*fields: str | None) -> bool:
    """Whether columns are chosen by their numbers, from 1: the first line is a pair then."""
    given = [field for field in fields if field is not None]
    return bool(given) and all(map(str.isdecimal, given))


def _of_side(names: Sequence[str], side: str) -> list[str]:
    """The columns that are called as a side of the pairs."""
    return [name for name in names if name.lower() in SIDES[side]]


def usual_columns(table: Table, side: str, language: str) -> list[str]:
    """The names by which the column of a side, ``source`` or ``target``, is looked for in a table."""
    named = [name for name in table.names if code_of(name) == language != name]
    return [language, f"translation.{language}", *named, *_of_side(table.names, side)]


def table_reader(
    paths: Sequence[Path], data: DataConfig, languages: tuple[str, str], *, further: bool = False
) -> SplitReader:
    """Reads both sides from tables, one after another.

    While reading it raises ``UserError`` for an unknown field or a table without rows.

    Args:
        further: see :func:`chosen_columns`.
    """

    header = not has_no_header(data.source_field, data.target_field, data.document_field)

    def blocks() -> Iterator[Sequence[Sequence[Any]]]:
        for path in paths:
            table, count = read_table(path, header=header), 0
            for block in numbered(table, chosen_columns(table, data, languages, further=further)):
                count += len(block[0])
                yield block
            if not count:
                raise UserError(f"{_short(path)}: the table has no rows; expected sentence pairs")

    return SplitReader(blocks, columns_of(data))


def chosen_columns(
    table: Table, data: DataConfig, languages: tuple[str, str], *, further: bool = False
) -> list[str]:
    """The columns of both languages and of the documents, if wanted; raises ``UserError`` without one.

    Args:
        further: for a table beside that of the training pairs, whose columns may have other, usual names.
    """
    names = []
    folder = "" if data.path is None else f"a folder of text files has train.{languages[0]} and so on; "
    for side, field, language in zip(SIDES, (data.source_field, data.target_field), languages, strict=True):
        usual = [data.hub.column.replace("{language}", language), *usual_columns(table, side, language)]
        code = f"; is data.{side}_language={language} its code?" if field is None and language else ""
        advice = f"{folder}choose one with data.{side}_field{code}"
        if field is not None and further:
            usual, advice = [field, *usual], "name it as in the table of training pairs, or by its language"
        names.append(pick(table, [field] if field and not further else usual, advice))
    if names[0] == names[1]:
        raise UserError(f"the column {shorten(names[0])} is both source and target")
    if data.document_field is not None:
        names.append(pick(table, [data.document_field], "choose another data.document_field"))
    return names


def _test_names(root: Path, languages: tuple[str, str]) -> list[str]:
    names = {path.name.partition(".")[0] for path in root.iterdir() if path.name.startswith("test")}
    return sorted(name for name in names if all(_find(root, name, language) for language in languages))


def _find(root: Path, prefix: str, suffix: str) -> Path | None:
    paths = (root / f"{prefix}.{suffix}{ending}" for ending in ("", ".gz"))
    return next(filter(os.path.exists, paths), None)  # pathlib's raises OSError for a name that is too long


def _short(name: object) -> str:
    return shorten(str(name), 150)


def check_present(data: DataConfig, where: str = "data") -> None:
    """Raise ``UserError`` for the first file or folder of ``data`` that cannot be read; opens none."""
    for name, member in members_of(data).items() if data.kind == "mixture" else ():
        check_present(member.data, f"{where}.corpora.{shorten(name)}")
    for setting, name in data.files.items():
        check_readable(f"{where}.{setting}", name)
    if data.path is None:
        return
    root = user_path(data.path)
    if not os.path.isdir(root):  # that of pathlib raises OSError for a name that is too long
        problem = "is a file" if os.path.exists(root) else "does not exist"
        raise UserError(
            f"{where}.path={shorten(data.path, 150)}: {problem}; expected the directory of the corpus "
            f"{shorten(data.name, 100)!r}"
        )


def check_readable(setting: str, name: str) -> None:
    """Raise ``UserError`` if a file that ``setting`` names is missing, a folder or a special file."""
    if not name.strip():
        raise UserError(f"{setting}: the name is empty")
    try:
        for path in matching(name):
            check_file(path)
    except UserError as error:
        raise UserError(f"{setting}: {error}") from error
