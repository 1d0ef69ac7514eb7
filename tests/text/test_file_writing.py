import os
import stat
from pathlib import Path

import pytest

from tests.disks import largest_file
from translate.errors import UserError
from translate.text.file_writing import PREFIX, aside, explain_write_errors, is_left_over, scratch, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with aside(path) as new:
        new.write_text("after")
        assert path.read_text() == "before"
        assert new.name == "a.txt"  # the extension tells the format
    assert path.read_text() == "after"
    assert names(tmp_path) == ["a.txt"]


def test_a_folder_appears_in_one_piece(tmp_path: Path) -> None:
    with aside(tmp_path / "out") as new:
        new.mkdir()
        (new / "a").write_text("1")
        assert not (tmp_path / "out").exists()
    assert names(tmp_path) == ["out"]
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) & 0o500 == 0o500


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")

    def fail() -> None:
        with aside(path) as new:
            new.write_text("half")
            raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        fail()
    assert path.read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("before")
    with largest_file(100), pytest.raises(UserError) as found:
        write_text(path, "x" * 1000)
    message = str(found.value)
    assert message.startswith(f"{path}: cannot be written (File too large); ")
    assert "choose another folder" in message
    assert path.read_text() == "before"
    assert names(tmp_path) == ["a.txt"]


def test_a_link_is_followed_and_kept(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("before")
    (tmp_path / "link").symlink_to(Path("data", "a.txt"))
    write_text(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "data" / "a.txt").read_text() == "after"


def test_a_device_is_written_not_replaced(tmp_path: Path) -> None:
    write_text(Path(os.devnull), "nothing")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    with pytest.raises(
        UserError, match=r"/dev/full: cannot be written \(No space left on device\); the disk"
    ):
        write_text(Path("/dev/full"), "something")


def test_only_names_of_the_system_are_known_as_ours(tmp_path: Path) -> None:
    with scratch(tmp_path) as folder:
        assert is_left_over(folder)
    for name in (".writing-mine", f"{PREFIX}mine", f"{PREFIX}Thesis01", ".translate"):
        (tmp_path / name).mkdir()
        assert not is_left_over(tmp_path / name)
    (tmp_path / f"{PREFIX}abcd_123").symlink_to(tmp_path / ".translate")
    assert not is_left_over(tmp_path / f"{PREFIX}abcd_123")


def test_a_reader_that_left_is_no_error_of_the_disk() -> None:
    with pytest.raises(BrokenPipeError), explain_write_errors("standard output"):
        raise BrokenPipeError
