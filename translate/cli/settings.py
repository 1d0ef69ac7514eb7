"""``translate settings``: every setting with its default, type and meaning."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translate.cli.options import flag
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.config.listing import Setting

# In the order of a reader's questions.
ORDER = (
    "data",
    "tokenizer",
    "model",
    "optimizer",
    "schedule",
    "training",
    "runtime",
    "search",
    "alignment",
    "run",
)
WIDTH = 80  # columns


def settings(
    section: Annotated[
        str, typer.Argument(metavar="SECTION", help=f"One of {', '.join(ORDER)}; or a setting.")
    ] = "",
    choices: Annotated[
        list[str] | None, typer.Argument(metavar="GROUP=CHOICE", help="Choices as for translate train.")
    ] = None,
    as_json: Annotated[bool, flag("--json", "Print one JSON array.")] = False,
) -> None:
    """Show every setting, of one section or of one name, with its default, type and meaning.

    Examples:
      translate settings training
      translate settings model model=rnn_luong model/attention=concat
      translate settings optimizer optimizer=muon --json
    """
    from translate.config.composer import Composer
    from translate.config.declare import plain
    from translate.config.files import leaves
    from translate.config.messages import named_elsewhere
    from translate.config.names import did_you_mean, nearest, shorten

    words = [section, *(choices or [])]
    given = [word for word in words if "=" in word]
    section = "_".join(word for word in words if word and "=" not in word).replace(" ", "_")
    composer = Composer()
    chosen = composer.chosen(given)
    # A choice that extends a file of another group brings that group along, at its own path.
    package = {name: name.partition("@")[2].replace(".", "/") for name in chosen}
    chosen = {name: choice for name, choice in chosen.items() if package[name] not in chosen}
    named = section if section not in ORDER else ""  # a setting, or several
    # To look up what nobody knows would wait for torch.
    keys = {key for path, _ in leaves(plain(composer.compose(given))) for key in path} if named else set()
    known = not named or {*named.split(".")} & keys
    found = {
        name: list(_settings(name, chosen)) for name in (ORDER if section == named else [section]) if known
    }
    if named:
        own = {name: [row for row in rows if f".{named}." in f".{row.path}."] for name, rows in found.items()}
        found = {name: rows for name, rows in own.items() if rows}
    if not found:
        last = section.rpartition(".")[2]
        holding = sorted(key for key in keys if len(last) > 2 and last.lower() in key)
        near = did_you_mean(
            named_elsewhere(last) or " or ".join(holding[:4]) or nearest(last, {*ORDER, *keys})
        )
        if having := [f"{group}={name}" for group in ORDER for name in composer.having(group, last)]:
            near = f"; give its choice, too: {', '.join(having)}"
        raise UserError(f"{shorten(section)}: no section or setting{near} (sections: {', '.join(ORDER)})")
    if as_json:
        listed = [asdict(setting) for rows in found.values() for setting in rows]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    for name, rows in found.items():
        files = [f"{group}={choice}" for group, choice in chosen.items() if group.split("/")[0] == name]
        print(f"{name}: {', '.join(sorted(files))}" if files else name)
        for setting in rows:
            print(_entry(setting))
        print()
    print("Without an experiment, train chooses sizes, rates and steps that you omit.")


def _settings(section: str, chosen: dict[str, str]) -> "Iterator[Setting]":
    """The settings of a section with the values of the files that were chosen."""
    from translate.config.files import choice_of
    from translate.config.listing import chosen_settings, closed_settings
    from translate.config.settings import SECTIONS

    if section in SECTIONS:
        values = choice_of(section, chosen[section]) if section in chosen else None
        yield from closed_settings(section, values)
        return
    for name, choice in sorted(chosen.items()):
        group, _, package = name.partition("@")
        if group.split("/")[0] == section:
            yield from chosen_settings(group, choice, package)


def _entry(setting: "Setting") -> str:
    known = bool(setting.meaning) and setting.type.startswith("one of ")  # the meaning names them, too
    about = setting.meaning if known else f"{setting.type}: {setting.meaning}".removesuffix(": ")
    text = textwrap.fill(about, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"  {setting.path} = {written(setting.default)}\n{text}"


def written(value: Any) -> str:
    """A value as YAML writes it on one line."""
    if isinstance(value, str):
        return value
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False)
