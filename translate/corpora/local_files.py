"""Parallel corpora in local files: two side by side, one table, or a directory of train/valid/test files."""

import re
from pathlib import Path

from translate.config.data import SPLITS, DataConfig, FileSplit
from translate.config.names import did_you_mean, nearest
from translate.corpora.split import Found, Split
from translate.corpora.tables import SUFFIXES, is_table, pick, read_table
from translate.errors import UserError
from translate.text.lines import read_lines

_PREFIXES = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "val", "dev"),
    "test": ("test",),
}
_NO_LANGUAGE = ("gz", "txt", "text", "tok", "raw", "clean", "lc", "norm", "bpe", *(s[1:] for s in SUFFIXES))
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")


def load_files(data: DataConfig) -> Found:
    """The splits that ``data.train``, ``data.validation`` and ``data.test`` name; only train must be there.

    Raises ``UserError`` if a file is missing, malformed, empty, or of another length than its partner.
    """
    if data.train.source is None:
        raise UserError(
            "data.train.source is not set; "
            "give data.train.source=FILE data.train.target=FILE, or data.path=DIR"
        )
    for name in SPLITS:
        _check_complete(name, getattr(data, name))
    languages = _languages(data)
    given = {name: getattr(data, name) for name in SPLITS if getattr(data, name).source is not None}
    return Found(*languages, {name: _load_split(data, files, *languages) for name, files in given.items()})


def language_of(path: str) -> str | None:
    """The language code that a file name ends in (``train.en``, ``train.en.gz``, ``train.en.txt``)."""
    parts = Path(path).name.split(".")
    while len(parts) > 1 and parts[-1].lower() in _NO_LANGUAGE:
        parts.pop()
    return parts[-1] if len(parts) > 1 and _LANGUAGE.fullmatch(parts[-1]) else None


def pair_of(source: Path, target: Path) -> Split:
    """Two files read side by side. Raises ``UserError`` if one is longer or both are empty."""
    source_lines, target_lines = read_lines(source), read_lines(target)
    if len(source_lines) != len(target_lines):
        raise UserError(
            f"{source} has {len(source_lines)} lines but {target} has {len(target_lines)}; "
            f"line n of one must translate line n of the other"
        )
    if not source_lines:
        raise UserError(f"{source} and {target} are empty")
    return Split(source_lines, target_lines)


def has_side_by_side(root: Path) -> bool:
    """Whether ``root`` holds files such as ``train.en`` or ``train.en.gz``."""
    return bool(_languages_in(root, _PREFIXES["train"]))


def load_directory(root: Path, source_language: str, target_language: str, test_name: str | None) -> Found:
    """A directory of ``{train,valid,test}.{language}[.gz]`` files, and ``.gold`` files where there is gold.

    ``test_name`` says which test files to take where they have another name than ``test``.
    Raises ``UserError`` for a language that is not there, naming those that are.
    """
    known = _languages_in(root, _PREFIXES["train"])
    for language in (source_language, target_language):
        if language not in known:
            hint = did_you_mean(nearest(language, known))
            raise UserError(
                f"{root}: no training file in the language {language!r}{hint}; "
                f"there are {', '.join(sorted(known))}"
            )
    tests = _test_names(root, source_language, target_language)
    prefixes = {**_PREFIXES, "test": ((test_name,) if test_name else ()) + _PREFIXES["test"]}
    if len(tests) == 1:
        prefixes["test"] = (*prefixes["test"], *tests)
    splits: dict[str, Split] = {}
    notes = []
    for name in SPLITS:
        for prefix in prefixes[name]:
            source, target = _find(root, prefix, source_language), _find(root, prefix, target_language)
            if source is not None and target is not None:
                splits[name] = _with_gold(pair_of(source, target), _find(root, prefix, "gold"))
                if name == "test" and prefix != "test":
                    notes.append(f"test is {prefix}")
                break
            if source is not None or target is not None:
                lacking = target_language if target is None else source_language
                raise UserError(f"{source or target} has no counterpart {prefix}.{lacking} in {root}")
    if "test" not in splits and tests:
        raise UserError(f"{root}: several test sets, {', '.join(tests)}; choose one with data.test_name")
    return Found(source_language, target_language, splits, tuple(notes))


def _check_complete(name: str, files: FileSplit) -> None:
    if files.source is None and files.target is not None:
        raise UserError(f"data.{name}.target={files.target} stands alone; data.{name}.source is missing")
    if files.source is not None and files.target is None and not is_table(Path(files.source)):
        raise UserError(
            f"data.{name}.target is not set and {files.source} is no table; "
            f"give the file of translations, or one table ({', '.join(SUFFIXES)})"
        )


def _languages(data: DataConfig) -> tuple[str, str]:
    """Explicit settings first, then the files' suffixes, then a table's fields, then plain names."""
    source, target = data.source_language, data.target_language
    if data.train.target is not None and data.train.source is not None:
        suffixes = language_of(data.train.source), language_of(data.train.target)
        if suffixes[0] == suffixes[1]:  # train.src.txt against train.trg.txt is fine, two times .txt is not
            suffixes = None, None
        return source or suffixes[0] or "source", target or suffixes[1] or "target"
    source = source or (data.source_field or "").split(".")[-1]
    target = target or (data.target_field or "").split(".")[-1]
    if not source or not target:
        raise UserError(
            f"{data.train.source}: which fields are the sentences? Give data.source_language and "
            f"data.target_language, or data.source_field and data.target_field"
            f"{_fields_there(data.train.source)}"
        )
    return source, target


def _fields_there(name: str | None) -> str:
    if name is None or not is_table(Path(name)):
        return ""
    return f"; it has {', '.join(read_table(Path(name).expanduser()).names)}"


def _load_split(data: DataConfig, files: FileSplit, source_language: str, target_language: str) -> Split:
    source = Path(files.source or "").expanduser()
    if files.target is not None:
        return pair_of(source, Path(files.target).expanduser())
    return split_of_table(source, data, source_language, target_language)


def split_of_table(path: Path, data: DataConfig, source_language: str, target_language: str) -> Split:
    """Both sides from the columns of one table. Raises ``UserError`` for an unknown field or no rows."""
    table = read_table(path)
    source = pick(
        table, columns(data, data.source_field, source_language), "choose one with data.source_field"
    )
    target = pick(
        table, columns(data, data.target_field, target_language), "choose one with data.target_field"
    )
    if not source:
        raise UserError(f"{path} holds no sentence pairs")
    return Split(source, target)


def columns(data: DataConfig, explicit: str | None, language: str) -> list[str]:
    """The columns in which the sentences of one language may stand, the likeliest first."""
    if explicit is not None:
        return [explicit]
    usual = (data.hub.column.format(language=language), language, f"translation.{language}")
    return list(dict.fromkeys(usual))


def _languages_in(root: Path, prefixes: tuple[str, ...]) -> set[str]:
    found = set()
    for path in root.iterdir():
        prefix, _, suffix = path.name.removesuffix(".gz").partition(".")
        if prefix in prefixes and _LANGUAGE.fullmatch(suffix) and suffix not in (*_NO_LANGUAGE, "gold"):
            found.add(suffix)
    return found


def _test_names(root: Path, source_language: str, target_language: str) -> list[str]:
    names = {path.name.partition(".")[0] for path in root.iterdir() if path.name.startswith("test")}
    both = (source_language, target_language)
    return sorted(name for name in names if all(_find(root, name, language) is not None for language in both))


def _find(root: Path, prefix: str, suffix: str) -> Path | None:
    for ending in ("", ".gz"):
        path = root / f"{prefix}.{suffix}{ending}"
        if path.exists():
            return path
    return None


def _with_gold(split: Split, gold: Path | None) -> Split:
    return split if gold is None else Split(split.source, split.target, read_lines(gold))
