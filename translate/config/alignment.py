"""What the ``alignment`` section of the configuration holds; the values are in ``conf/alignment``."""

from dataclasses import dataclass


@dataclass
class AlignmentConfig:
    """How the attention that is shown is chosen; a layer, heads, shift or threshold given is not searched."""

    calibration_pairs: int = 500  # development sentences
    layer: int | None = None
    heads: list[int] | None = None
    shift: int | None = None
    threshold: float | None = None  # weights from it on are links; 0 for each target word's largest alone

    def __post_init__(self) -> None:
        if self.calibration_pairs < 1:
            raise ValueError(f"calibration_pairs: expected at least 1, got {self.calibration_pairs}")
        if self.shift not in (None, 0, 1):
            raise ValueError(f"shift: expected 0 or 1, got {self.shift}")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ValueError(f"threshold: expected a number from 0 to 1, got {self.threshold}")
