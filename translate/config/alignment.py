"""The ``alignment`` section; ``conf/alignment/calibrated.yaml`` holds defaults and meanings."""

from translate.config.declare import YAML, Fraction, Positive, Shift, declared


@declared("alignment/calibrated.yaml")
class AlignmentConfig:
    """Which attention is shown. Calibration searches for the settings that are null."""

    calibration_pairs: Positive = YAML
    layer: int | None = YAML
    heads: list[int] | None = YAML
    shift: Shift | None = YAML
    threshold: Fraction | None = YAML
