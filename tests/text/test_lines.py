"""Lines of files, where each limit is one sentence and nothing over it is held, and lines of streams."""

import gzip
import os
import queue
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from translate.errors import UserError
from translate.text import lines
from translate.text.lines import FIRST_BLOCK, MAX_LINE, gather, read_lines, user_path


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        read_lines(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)


def test_a_line_of_zeros_is_refused_without_being_held(tmp_path: Path) -> None:
    packed = tmp_path / "bomb.en.gz"
    packed.write_bytes(gzip.compress(b"\0" * (1 << 27)))
    sparse = tmp_path / "sparse.en"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    for path in (packed, sparse):
        assert f"{path.name}, line 1: longer than 1,048,576 bytes; expected one sentence a line" in refusal(
            path
        )
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_the_longest_line_is_the_same_wherever_it_stands(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.en{ending}"
    for before in (0, 1, 5 << 17):  # lines of one byte
        for length in (MAX_LINE, MAX_LINE + 1):
            content = b"a\n" * before + b"b" * length + b"\nc\n"
            path.write_bytes(gzip.compress(content, 1) if ending else content)
            if length > MAX_LINE:
                assert f"line {before + 1}: longer" in refusal(path)
            else:
                assert [len(line) for line in read_lines(path)][before:] == [length, 1]


def test_short_lines_may_not_expand_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FREE_BYTES", 1 << 20)
    path = tmp_path / "a.en.gz"
    path.write_bytes(gzip.compress(b"a b\n" * (1 << 22)))
    assert "expands to more than 100 times its size" in refusal(path)
    path.write_bytes(gzip.compress(b"a b\n" * (1 << 17)))
    assert len(read_lines(path)) == 1 << 17


def test_pipes_and_devices(tmp_path: Path) -> None:
    named, linked = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(named)
    linked.symlink_to("/dev/zero")
    for path in (named, linked, Path("/dev/tty0"), Path("/dev/zero")):
        if path.exists():
            assert "expected a file, got a pipe or a device" in refusal(path)
    assert "expected a file, got a folder" in refusal(tmp_path)


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    for content in (b"one\ntwo\n", gzip.compress(b"one\ntwo\n")):
        end, start = os.pipe()
        os.write(start, content)
        os.close(start)
        assert read_lines(Path(f"/dev/fd/{end}")) == ["one", "two"]
        os.close(end)


def test_line_ends_of_carriage_returns_alone(tmp_path: Path) -> None:
    path = tmp_path / "old.en"
    path.write_bytes(b"one line\rand one\r" * 5000)
    assert "old.en: its lines end in carriage returns; expected line feeds" in refusal(path)
    path.write_bytes(b"a lone line\r")
    assert read_lines(path) == ["a lone line"]


def test_names_that_no_file_can_have(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(tmp_path / ("x" * 5000))
    assert "no such file" in refusal(tmp_path / "a\0b")
    assert "\\x1b" in refusal(tmp_path / "\x1b[31m")
    (tmp_path / "file").touch()
    assert "no such folder" in refusal(tmp_path / "file" / "a")
    assert user_path("~nobody-of-that-name/a") == Path("~nobody-of-that-name/a")


def test_all_lines_in_order_in_growing_blocks() -> None:
    given = [str(n) for n in range(1000)]
    blocks = list(gather(given, largest=256, wait=5.0))
    assert [line for block in blocks for line in block] == given
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
