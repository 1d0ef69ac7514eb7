import queue
import time
from collections.abc import Iterator

import pytest

from translate.text.lines import FIRST_BLOCK, MAX_AHEAD, MAX_CHARACTERS, gather


def test_all_lines_in_order_in_growing_blocks() -> None:
    lines = [str(n) for n in range(1000)]
    blocks = list(gather(lines, largest=256, wait=5.0))
    assert [line for block in blocks for line in block] == lines
    sizes = [len(block) for block in blocks]
    assert sizes[:4] == [FIRST_BLOCK, 2 * FIRST_BLOCK, 256, 256]
    assert max(sizes) == 256
    assert list(gather([])) == []


def test_a_lone_line_on_an_open_stream_is_given_away() -> None:
    written: queue.Queue[str] = queue.Queue()

    def endless() -> Iterator[str]:
        while True:
            yield written.get()

    blocks = gather(endless())
    for text in ("first", "second"):
        began = time.monotonic()
        written.put(text)
        assert next(blocks) == [text]
        assert time.monotonic() - began < 5.0  # a loaded machine is slow


def test_an_error_comes_after_the_lines_before_it() -> None:
    def broken() -> Iterator[str]:
        yield "a"
        raise OSError("gone")

    blocks = gather(broken())
    assert next(blocks) == ["a"]
    with pytest.raises(OSError, match="gone"):
        next(blocks)


def test_no_more_is_read_than_two_blocks_ahead() -> None:
    drawn = 0

    def endless() -> Iterator[str]:
        nonlocal drawn
        while True:
            drawn += 1
            yield "x"

    blocks = gather(endless(), largest=50)
    next(blocks)
    time.sleep(0.1)
    assert drawn <= 50 + 100 + 2


def test_long_lines_make_small_blocks() -> None:
    ordinary, long = ["x" * 100] * 1024, ["x" * 600] * 300
    assert max(len(block) for block in gather(ordinary * 2, wait=5.0)) == 1024
    assert max(len(block) for block in gather(long, wait=5.0)) == 128
    assert max(len(block) for block in gather(["x" * MAX_CHARACTERS] * 20, wait=5.0)) == 8


def test_few_characters_are_read_ahead() -> None:
    drawn = 0

    def endless() -> Iterator[str]:
        nonlocal drawn
        while True:
            drawn += 1
            yield "x" * MAX_CHARACTERS

    blocks = gather(endless())
    next(blocks)
    time.sleep(0.1)
    assert drawn <= 8 + MAX_AHEAD // MAX_CHARACTERS + 2
