"""Words and pieces in the exported page."""

import math
from pathlib import Path

from tests.export.in_node import in_node, run_script

SCRIPT = """
import { probabilities } from "./links.js";
const answer = ({ target, steps }) => probabilities(target, steps);
"""


@in_node
def test_a_piece_of_several_words_counts_for_each(tmp_path: Path) -> None:
    target = {"ids": [0, 1, 1], "words": ["a", "b", "c"], "owners": [0, 2, -1], "further": [[0, 1]]}
    steps = [{"logs": [math.log(0.5), math.log(0.25)]}] * 4
    assert run_script(tmp_path, SCRIPT, {"target": target, "steps": steps}) == [0.5, 0.5, 0.25]
