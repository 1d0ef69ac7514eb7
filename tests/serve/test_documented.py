"""The requests of docs/serving.md are answered in the shape that the page shows."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import blocks
from tests.serve.client import Client
from translate.serve.limits import ServiceLimits

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
EXAMPLES = [
    tuple(example.split("\n", 1))
    for block in blocks(PAGE)
    for example in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
]


def request(command: str) -> tuple[str, bytes, str]:
    """Path, body and type of a request that is written for curl."""
    words = shlex.split(command)
    assert words[:2] == ["curl", "-s"]
    data = [word for flag, word in pairwise(words) if flag == "-d"]
    kind = "application/x-www-form-urlencoded" if data[0][0] not in "{[" else "application/json"
    return words[2].removeprefix("localhost:5000"), "&".join(data).encode(), kind


def shape(value: Any) -> Any:
    """The keys and types of a value; of an array, those of its first element."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return "number" if isinstance(value, int | float) else type(value).__name__


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_answer_has_the_shape_that_the_page_shows(client: Client, command: str, shown: str) -> None:
    path, body, kind = request(command)
    reply = client.ask("POST", path, body, {"Content-Type": kind})
    assert reply.status == 200, reply.body
    assert shape(reply.json) == shape(json.loads(shown))


@pytest.mark.parametrize("option", ["characters", "texts", "queue", "requests", "beam"])
def test_the_limits_are_those_of_the_table(option: str) -> None:
    row = re.search(rf"^\| `--max-{option}`.*?\| ([\d,]+) \|", PAGE.read_text(), re.MULTILINE)
    assert row[1] == f"{getattr(ServiceLimits(), option):,}"
