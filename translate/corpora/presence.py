"""Whether the files that a configuration names are there, before a reader has to wait for anything."""

from dataclasses import fields
from pathlib import Path

from translate.config.data import SPLITS, DataConfig
from translate.errors import UserError
from translate.text.lines import check_file


def check_present(data: DataConfig) -> None:
    """Raise ``UserError`` for the first file of ``data`` that is missing or no regular file; reads none."""
    for split in SPLITS:
        files = getattr(data, split)
        for field in fields(files):
            name = getattr(files, field.name)
            if name is not None:
                check_readable(f"data.{split}.{field.name}", name)
    if data.path is not None and not Path(data.path).expanduser().is_dir():
        problem = "is a file" if Path(data.path).expanduser().exists() else "does not exist"
        raise UserError(
            f"data.path={data.path}: {problem}; expected the directory of the corpus {data.name!r}"
        )


def check_readable(setting: str, name: str) -> None:
    """Raise ``UserError`` if the file that ``setting`` names is missing or no regular file."""
    path = Path(name).expanduser()
    try:
        check_file(path)
        if not path.is_file():
            raise UserError(f"{path}: expected a regular file, since training may read it several times")
    except UserError as error:
        raise UserError(f"{setting}: {error}") from error
    except OSError as error:  # a name that is too long, or a folder that may not be listed
        raise UserError(f"{setting}: {name[:300]}: cannot be read ({error.strerror})") from error
