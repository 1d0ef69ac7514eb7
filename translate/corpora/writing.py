"""Writes corpora as plain text."""

from pathlib import Path

from translate.corpora.corpus import Corpus
from translate.errors import UserError

NAMES = {"train": "train", "validation": "dev", "test": "test"}


def write_corpus(corpus: Corpus, directory: Path) -> list[Path]:
    """Write ``{train,dev,test}.{source,target,gold}`` and return the paths.

    Raises:
        UserError: if ``directory`` is a file, or one of the files exists already.
    """
    if directory.exists() and not directory.is_dir():
        raise UserError(f"{directory}: expected a folder; there is a file of that name")
    texts: dict[Path, list[str]] = {}
    for split_name, file_name in NAMES.items():
        split = getattr(corpus, split_name)
        if split is None:
            continue
        texts[directory / f"{file_name}.{corpus.source_language}"] = split.source
        texts[directory / f"{file_name}.{corpus.target_language}"] = split.target
        if split.gold is not None:
            texts[directory / f"{file_name}.gold"] = split.gold
    for path in texts:
        if path.exists():
            raise UserError(f"{path}: exists already; choose another folder")
    directory.mkdir(parents=True, exist_ok=True)
    for path, lines in texts.items():
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")
    return list(texts)
