"""The limit of memory holds while the translations of words are learnt."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pyarrow
import pytest

from tests.prepare.corpora import grammar_pairs
from translate.prepare.link_filter import (
    LEAST_LINKS,
    LINK_BYTES,
    PROCESS_BYTES,
    lines_apart,
    links_within,
)

LIMIT = 256 << 20
# 3,500 pairs of 60 words a side: 12.6 million possible links. One round of each model needs as much memory.
LEARN = """
import json, random, resource, sys
from pathlib import Path
import pyarrow
from translate.links import statistical
from translate.prepare import link_filter as learning
from translate.prepare.recipe import recipe_of

statistical.MODEL_1_ROUNDS = learning.HMM_ROUNDS = 1
rng = random.Random(1)
side = [" ".join(f"w{int(rng.paretovariate(0.7))}" for _ in range(60)) for _ in range(3500)]
table = pyarrow.table({"source": side, "target": side, "corpus": ["a"] * 3500, "line": range(3500)})
config = recipe_of({"source_language": "en", "target_language": "fr"}).links
folder, limit = Path(sys.argv[1]), int(sys.argv[2])
found = learning.learn(table, config, learning.links_within(limit), folder)
status = Path("/proc/self/status")
if status.exists():  # what the process before this program held counts in ru_maxrss, too
    peak = 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({**found._asdict(), "peak": peak}))
"""


def test_learning_stays_within_the_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LEARN, str(tmp_path), str(LIMIT)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["peak"] < LIMIT
    assert found["limited"]
    assert 0 < found["pairs"] * 3600 <= links_within(LIMIT)
    assert (tmp_path / "links.npz").exists()


@pytest.mark.parametrize("memory", [2**28, 2**29, 2**30])
def test_how_many_links_the_memory_has_room_for(memory: int) -> None:
    assert links_within(memory) * LINK_BYTES + PROCESS_BYTES <= memory
    assert links_within(2**20) == LEAST_LINKS


def test_a_part_where_a_side_has_slipped_is_told() -> None:
    sources, targets = map(list, zip(*grammar_pairs(1200)))
    slipped = [*targets[:600], *targets[601:], targets[0]]
    table = {"source": [*sources, *sources], "target": [*targets, *slipped]}
    names, lines = ["good"] * 1200 + ["slipped"] * 1200, [*range(1, 1201)] * 2
    whole = pyarrow.table({**table, "corpus": names, "line": lines})
    ((corpus, first, last),) = lines_apart(whole.take(random.Random(1).sample(range(2400), 2400)))
    assert (corpus, last) == ("slipped", 1200)
    assert 480 <= first <= 721
