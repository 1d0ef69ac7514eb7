"""Types and mistakes of a configuration in words: the path, the value expected and the value given."""

import os
import re
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml  # type: ignore[import-untyped]
from annotated_types import Ge, Gt, Le, Lt
from pydantic import ValidationError

from translate.config.names import OTHER_NAMES, TABLES, did_you_mean, display_path, nearest, shorten

LARGEST = 10**12  # of every number of a configuration that has no narrower limit
_LISTS = (list, tuple, set, frozenset)
_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "null",
}
_BEYOND = ("greater_than_equal", "greater_than", "less_than_equal", "less_than")  # errors of pydantic
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_TIME = re.compile(rf"(?:{_NUMBER} ?h)? ?(?:{_NUMBER} ?m(?:in)?)? ?(?:{_NUMBER} ?s)?")
_SHORT = re.compile(rf"{_NUMBER} ?([kKM])")
_LIMITS: dict[type, tuple[str, str]] = {
    Ge: ("ge", "at least"),
    Gt: ("gt", "more than"),
    Le: ("le", "at most"),
    Lt: ("lt", "less than"),
}


def show(value: Any) -> str:
    """A value roughly as YAML would write it, cut short."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    try:
        return shorten(repr(value), 200)
    except ValueError:  # Python writes no integer of more than 4,300 digits
        return "a number of over 1,000 digits"


def expected(annotation: Any) -> str:
    """The words for a value of this type: ``an integer or null``, ``one of a, b``."""
    kinds = _members(annotation)
    names = [_expected_kind(kind) for kind in kinds if kind is not type(None)]
    if len(names) < len(kinds):
        names = ["true, false" if name == _NAMES[bool] else name for name in names] + ["null"]
    return " or ".join(names)


def described(annotation: Any) -> str:
    """The values that a setting of this type takes: ``an integer or null, at least 1``."""
    return ", ".join(filter(None, (expected(annotation), limits(annotation))))


def limits(annotation: Any) -> str:
    """The limits of a number in words: ``at least 1``, ``0 to 1``; empty for none, or ``LARGEST`` alone."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(filter(None, map(limits, get_args(annotation))), "")
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    known = {type(limit): limit for limit in metadata if type(limit) in _LIMITS}
    numbers = {kind: getattr(limit, _LIMITS[kind][0]) for kind, limit in known.items()}
    found = {kind: number for kind, number in numbers.items() if abs(number) != LARGEST}
    if Ge in found and Le in found:
        return f"{found[Ge]:,} to {found[Le]:,}"
    return " and ".join(f"{_LIMITS[kind][1]} {number:,}" for kind, number in found.items())


def explain(error: ValidationError, annotation: Any, path: str, value: Any) -> str:
    """The first mistake that pydantic found, as one sentence; unknown keys come first, missing ones last."""
    order = {"unexpected_keyword_argument": -1, "invalid_key": -1, "missing": 1}
    first = min(error.errors(include_url=False), key=lambda found: order.get(found["type"], 0))
    location = list(first["loc"])
    if first["type"] in ("unexpected_keyword_argument", "invalid_key"):
        key = location.pop()
        where, section, _ = _walk(location, annotation, path, value)
        hint = did_you_mean(nearest(str(key), _field_names(section)), where)
        return f"{where}.{shorten(str(key))}: unknown key{hint}".removeprefix(".")
    where, kind, got = _walk(location, annotation, path, value)
    if first["type"] == "missing" and is_dataclass(kind):
        return f"{where}.{location[-1]}: a value is required".removeprefix(".")
    if first["type"] == "value_error" and is_dataclass(kind):  # of its __post_init__
        return join_message(where, str(first["ctx"]["error"]), _field_names(kind))
    if LARGEST in map(abs, (limit for limit in first.get("ctx", {}).values() if isinstance(limit, int))):
        return f"{where}: {beyond(got)}"
    if first["type"] in _BEYOND:
        return f"{where}: expected {limits(kind)}, got {show(got)}"
    if first["type"] == "finite_number":
        return f"{where}: expected a finite number, got {show(got)}"
    inner = got if isinstance(got, str) else "..."
    hint = f"; write {where}.{_field_names(kind)[0]}={shorten(inner)}" if is_dataclass(kind) else ""
    return f"{where}: {_refused(kind, got)}{did_you_mean(named_elsewhere(where)) or hint}"


def beyond(value: Any) -> str:
    """The message about a number beyond ``LARGEST``."""
    return f"expected a number of at most {LARGEST:,}, got {show(value)}"


def join_message(path: str, message: str, names: Iterable[str]) -> str:
    """``path.name: ...`` if the message begins with one of ``names``, else ``path: message``."""
    name = message.partition(":")[0].split(".")[0]
    joined = f"{path}.{message}" if ":" in message and name in names else f"{path}: {message}"
    return joined.removeprefix(".").removeprefix(": ")


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _members(annotation: Any) -> list[Any]:
    """The types of a union, without what limits them; of anything else, itself."""
    annotation = _bare(annotation)
    union = get_origin(annotation) in (Union, types.UnionType)
    return [_bare(member) for member in get_args(annotation)] if union else [annotation]


def _expected_kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(kind))
    if kind in _NAMES:
        return _NAMES[kind]
    if (get_origin(kind) or kind) is dict or is_dataclass(kind):
        return "a section of keys and values"
    return "a list" if (get_origin(kind) or kind) in _LISTS else "any value"


def _refused(annotation: Any, got: Any) -> str:
    """``expected ..., got ...``, with what the user probably meant."""
    kinds = _members(annotation)
    hint = ""
    for kind in kinds:
        items = get_args(kind)
        if get_origin(kind) is Literal and isinstance(got, str):
            hint = did_you_mean(nearest(got.lower(), map(str, items)))
        if kind is str and isinstance(got, bool):
            hint = "; in YAML no, yes, on and off are quoted, as in 'no'"
        if (get_origin(kind) or kind) in _LISTS and isinstance(got, str | int | float):
            hint = f"; write [{shorten(str(got).removesuffix('.py'))}]"  # of a plugin
        if kind in (int, float) and isinstance(got, str):
            hint = _number_meant(got, is_time=kind is float) or hint
        if get_origin(kind) is tuple and isinstance(got, list | tuple) and ... not in items:
            return f"expected {len(items)} values, got {len(got)}: {show(list(got))}"
    return f"expected {expected(annotation)}, got {show(got)}{hint}"


def _number_meant(text: str, *, is_time: bool) -> str:
    """The hint for a number that a person would read: ``20k``, and as a time ``1h30m`` or ``1:30``."""
    if short := _SHORT.fullmatch(text):
        return f"; write {float(short[1]) * (1e6 if short[2] == 'M' else 1e3):.0f}"
    time = _TIME.fullmatch(re.sub(r"^(\d{1,9}):(\d\d)$", r"\1m\2s", text))
    if not (is_time and time and any(time.groups())):
        return ""
    hours, minutes, seconds = (float(part or 0) for part in time.groups())
    return f"; a time is a number of seconds: {3600 * hours + 60 * minutes + seconds:g}"


def _walk(location: Sequence[Any], annotation: Any, path: str, value: Any) -> tuple[str, Any, Any]:
    """Path, annotation and value at pydantic's ``location``, as far as it names keys and indices."""
    for part in location:
        members = _members(annotation)
        kind = next((kind for kind in members if get_args(kind) or is_dataclass(kind)), None)
        items, origin = get_args(kind), get_origin(kind)
        if is_dataclass(kind) and part in (hints := get_type_hints(kind, include_extras=True)):
            inner, step = hints[part], f".{part}"
        elif origin is dict and isinstance(part, str):
            inner, step = items[1], f".{shorten(part)}"
        elif origin in _LISTS and isinstance(part, int):
            inner, step = items[part if origin is tuple and ... not in items else 0], f"[{part}]"
        else:
            continue  # a label that pydantic gives to a member of a union
        try:
            value = getattr(value, part) if isinstance(part, str) and is_dataclass(value) else value[part]
        except (LookupError, TypeError, AttributeError):  # a missing key, or item of a tuple
            break
        annotation, path = inner, f"{path}{step}".removeprefix(".")
    return path, _members(annotation)[0] if is_dataclass(_bare(annotation)) else annotation, value


def _field_names(section: Any) -> list[str]:
    return [field.name for field in fields(section)] if is_dataclass(section) else []


def named_elsewhere(name: str, settings: Collection[str] = OTHER_NAMES) -> str:
    """Those of the settings that another toolkit calls ``name``, with "or" between them; maybe none."""
    found = (ours for ours, theirs in OTHER_NAMES.items() if name.lower() in theirs)
    return " or ".join(ours for ours in found if ours in settings)


def malformed(text: str, reason: str, choices: Mapping[str, list[str]]) -> str:
    """The message for an override that Hydra cannot read."""
    if text.endswith((".yaml", ".yml")) and "=" not in text:
        return own_file_hint(text)
    if "=" not in text and os.path.isfile(text):
        return _files_hint(text, text)
    if "=" not in text and not text.startswith("~"):
        quoted = known = "; a value with spaces is quoted: 'run.name=two words'"
        if text.split(".")[0] in choices:
            known = f" (for example {shorten(text)}=VALUE){quoted}"
        for group, options in choices.items():
            if text == group:
                known = f" (for example {group}={options[0]}){quoted}"
            elif text in options:
                known = f"; did you mean {group}={text}?"
        return f"{shorten(text)!r}: an override is written name=value{known}"
    quoting = "text that is no list is quoted: \"name='[a b'\""
    return f"{shorten(text)!r}: not a valid override ({shorten(reason)}); {quoting}"


def spaced(overrides: Sequence[str], number: int, *, multirun: bool) -> str:
    """The message if spaces make the override of this number one that Hydra cannot read; else empty."""
    before, text, *after = ("", *overrides)[number : number + 4]
    found = re.search(r"(?<!\S)([\w./@+~-]+)(?: += *|= +)([^\s'\"\[{(]*)", " ".join((before, text, *after)))
    if found:
        form = f"{found[1]}={found[2] or 'VALUE'}"
        return f"{shorten(found[0])!r}: an override has no spaces around =: {shorten(form)}"
    if multirun and "=" in before and "=" not in text:
        form = f"{before.removesuffix(',')},{text}"
        return f"{shorten(text)!r}: commas alone separate the values of a sweep: {shorten(form)}"
    return ""


def own_file_hint(text: str) -> str:
    """The message for a file of settings that is given as other toolkits take it."""
    name = shorten(Path(text).stem)
    return (
        f"{shorten(text)}: settings are given as NAME=VALUE, or in a file DIR/experiment/{name}.yaml with "
        f"--config-dir DIR experiment={name}"
    )


def _files_hint(given: str, file: str) -> str:
    """The message for a file of sentences that is given in another way."""
    source = f"data.train.source={shorten(file)}"
    is_table = file.removesuffix(".gz").endswith(TABLES)
    target = "" if is_table else " data.train.target=FILE, or both in one table, such as .tsv"
    return f"{shorten(given)}: sentences are given as data=files {source}{target}"


def explain_composing(error: BaseException, choices: Mapping[str, list[str]]) -> str:
    """One sentence for an error of Hydra, OmegaConf or YAML."""
    if isinstance(error, yaml.YAMLError):
        mark = getattr(error, "problem_mark", None)
        problem = shorten(getattr(error, "problem", None) or str(error).splitlines()[0])
        where = "configuration" if mark is None else f"{display_path(Path(mark.name))}, line {mark.line + 1}"
        return f"{where}: not valid YAML ({problem})"
    missing = getattr(error, "missing_cfg_file", None)  # of Hydra's MissingConfigException
    if missing:
        return missing_choice(missing, choices)
    if isinstance(error, RecursionError):
        return "configuration: nested too deeply"
    causes = [cause for cause in (error, error.__cause__) if cause]
    lines = [line.strip() for cause in causes for line in str(cause).splitlines()]
    message = "; ".join(line for line in lines if line) or type(error).__name__
    group = re.search(r"Could not override '(.+?)'\. No match", message)
    if group is None:
        return f"configuration: {shorten(message)}"
    near = nearest(group[1], choices)
    hint = "; this model has none" if near == group[1] else did_you_mean(near)
    return f"{shorten(group[1])}: no such group{hint}"


def missing_choice(name: str, choices: Mapping[str, list[str]]) -> str:
    """The message for ``group/choice``, which does not exist."""
    group, _, choice = name.rpartition("/")
    file = name.removeprefix("data/")
    if file != name and os.path.isfile(file):
        return _files_hint(f"data={file}", file)
    if file != name and os.path.isdir(file):
        return f"data={shorten(file)}: a folder is given as data=files data.path={shorten(file)}"
    if file != name and Path(file).suffix:
        return f"data={shorten(file)}: no such file"
    if group not in choices:
        return f"{shorten(group or name)}: no such group{did_you_mean(nearest(group or name, choices))}"
    others = {theirs: ours for ours in choices[group] for theirs in OTHER_NAMES.get(ours, ())}
    near = nearest(choice.lower(), [*choices[group], *others])
    near = f"{group}={others.get(near, near)}" if near else named_elsewhere(choice)
    return (
        f"{group}={shorten(choice)}: no such choice{did_you_mean(near)} "
        f"(there are {', '.join(choices[group])}; files of your own need --config-dir DIR)"
    )
