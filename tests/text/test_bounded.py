import os
import time
from pathlib import Path

import pytest

from translate.errors import UserError
from translate.text.bounded import MAX_BYTES, MAX_DEPTH, read_bounded, read_json, read_yaml


def refused(function, path: Path, **options) -> str:
    """The message that reading the file ends in, within seconds."""
    began = time.monotonic()
    with pytest.raises(UserError) as caught:
        function(path, **options)
    assert time.monotonic() - began < 10
    assert len(str(caught.value)) < 300 + len(str(path)) + len(str(options.get("root", "")))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_special_files_are_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "expected a regular file" in refused(read_bounded, pipe)
    assert "expected a regular file" in refused(read_bounded, Path("/dev/zero"))
    folder = tmp_path / "folder"
    folder.mkdir()
    refused(read_bounded, folder)


def test_a_link_stays_inside_its_root(tmp_path: Path) -> None:
    root, other = tmp_path / "run", tmp_path / "other"
    root.mkdir()
    other.write_bytes(b"secret")
    (root / "own").write_bytes(b"own")
    (root / "link").symlink_to("own")
    (root / "leak").symlink_to("../other")
    assert read_bounded(root / "link", root=root) == b"own"
    assert "outside" in refused(read_bounded, root / "leak", root=root)
    assert read_bounded(root / "leak") == b"secret"


def test_size_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 7)
    assert read_bounded(path, limit=7) == b"x" * 7
    assert "larger than 6 bytes" in refused(read_bounded, path, limit=6)
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse
    assert f"{MAX_BYTES:,}" in refused(read_bounded, path)


def test_a_missing_file_is_the_callers_to_explain(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "missing")


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "alias"),
        ("[" * 100_000, "nest"),  # PyYAML from 6.0.4 on refuses them itself
        ("a: " + "{b: " * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1), "nested too deeply"),
        ("a: !!python/object/apply:os.system [ls]", "not readable"),
        ("a: b: c", "not readable"),
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "c stands there twice"),
        ("\x00", "not readable"),
    ],
    ids=["bomb", "brackets", "depth", "tag", "syntax", "twice", "control"],
)
def test_hostile_yaml(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    message = refused(read_yaml, path)
    assert reason in message
    assert message.count(str(path)) == 1


@pytest.mark.parametrize(
    "content",
    [b"[" * 100_000, b"1" * 5_000, b"{", b"\xff\xfe", b""],
    ids=["deep", "digits", "cut", "bytes", "empty"],
)
def test_hostile_json(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "alignment.json"
    path.write_bytes(content)
    assert refused(read_json, path).startswith(f"{path}: ")


def test_what_is_sound_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a: [1, 2.5, true, null, é]\nb: {c: '${oc.env:HOME}'}\n", encoding="utf-8")
    assert read_yaml(path) == {"a": [1, 2.5, True, None, "é"], "b": {"c": "${oc.env:HOME}"}}
    path.write_text('{"a": [1, 2.5, true, null, "é"]}', encoding="utf-8")
    assert read_json(path) == {"a": [1, 2.5, True, None, "é"]}
