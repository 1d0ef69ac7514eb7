"""Whether the files that a configuration names are there, before a reader has to wait for anything."""

import os
from dataclasses import fields

from translate.config.data import SPLITS, DataConfig, members_of
from translate.config.names import shorten
from translate.errors import UserError
from translate.text.reading import check_file, user_path


def check_present(data: DataConfig, where: str = "data") -> None:
    """Raise ``UserError`` for the first file or folder of ``data`` that cannot be read; opens none."""
    for name, member in members_of(data).items() if data.kind == "mixture" else ():
        check_present(member.data, f"{where}.corpora.{shorten(name)}")
    for split in SPLITS:
        files = getattr(data, split)
        for field in fields(files):
            name = getattr(files, field.name)
            if name is not None:
                check_readable(f"{where}.{split}.{field.name}", name)
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
    """Raise ``UserError`` if the file that ``setting`` names is missing, a folder or a special file."""
    try:
        check_file(user_path(name))
    except UserError as error:
        raise UserError(f"{setting}: {error}") from error
