"""What a run shows beside its numbers: TensorBoard, samples of each validation."""

import threading
from pathlib import Path

import pytest

from tests.disks import largest_file
from translate.runs.reports import TensorBoard


def test_a_full_disk_is_an_error_of_the_system_not_a_traceback_of_a_thread(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = threading.excepthook
    board = TensorBoard(tmp_path)

    def fill() -> None:
        try:
            for step in range(200):
                board.writer.add_scalar("train/nll", 1.0, step)
        finally:
            board.close()

    with largest_file(200), pytest.raises(OSError, match="File too large"):
        fill()
    with largest_file(10), pytest.raises(OSError, match="File too large"):
        TensorBoard(tmp_path / "other")
    assert threading.excepthook is before
    assert "Traceback" not in capfd.readouterr().err


def test_each_validation_shows_translations_and_an_alignment(tiny_runs: dict[str, Path]) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tiny_runs["transformer"] / "tensorboard"))
    events.Reload()
    assert events.Images("validation/alignment")[0].encoded_image_string.startswith(b"\x89PNG")
    shown = events.Tensors("validation/translations/text_summary")
    assert [event.step for event in shown] == [80, 160]
    worded = []
    for event in shown:
        head, _, *rows = event.tensor_proto.string_val[0].decode().split("\n")
        assert head == "| source | reference | translation |"
        assert len(rows) == 5
        worded += [event.step] * any(
            row.split("|")[3].strip() for row in rows
        )  # else there is nothing to draw
    assert worded[-1] == 160
    assert [event.step for event in events.Images("validation/alignment")] == worded
