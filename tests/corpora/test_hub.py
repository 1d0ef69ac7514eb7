"""The hub: through a server on this machine, from the cache once it is gone, and without either."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from tests.corpora.fake_hub import serve

# Settings of huggingface_hub are read at import, so that each world needs a process of its own.
SCRIPT = """
import json, sys
from translate.errors import UserError
from translate.config.data import data_config
from translate.corpora.corpus import load_corpus
for values in json.loads(sys.argv[1]):
    try:
        corpus = load_corpus(data_config(values))
        print(json.dumps([len(corpus.train), corpus.train.source[0], corpus.train.target[0]]))
    except UserError as error:
        print(json.dumps(str(error)))
"""


def load(tmp_path: Path, endpoint: str, configs: list[dict[str, Any]]) -> tuple[list[Any], str]:
    environment = {k: v for k, v in os.environ.items() if not k.upper().endswith("_PROXY")}
    environment |= {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(configs)],
        env=environment, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def write_parquet(path: Path, de: str, en: str, num_rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"de": f"{de} {i}", "en": f"{en} {i}"} for i in range(num_rows)]
    pyarrow.parquet.write_table(pyarrow.table({"translation": rows}), path)


@pytest.fixture
def repositories(tmp_path: Path) -> Path:
    root = tmp_path / "repositories"
    write_parquet(
        root / "some" / "books" / "de-en" / "train-00000-of-00001.parquet", "das Buch", "the book", 7
    )
    card = (
        "---\nconfigs:\n- config_name: de-en\n  data_files:\n  - split: train\n    path: de-en/train-*\n---\n"
    )
    (root / "some" / "books" / "README.md").write_text(card)
    for split, num_rows in (("train", 11), ("validation", 3), ("test", 2)):
        write_parquet(
            root / "some" / "talks" / "talks-de-en" / split / "0000.parquet", "hallo", "hello", num_rows
        )
    captions = root / "some" / "captions"
    captions.mkdir()
    for split, num_rows in (("train", 5), ("val", 3), ("test", 2)):
        lines = [json.dumps({"de": f"Hund {split} {i}", "en": f"dog {split} {i}"}) for i in range(num_rows)]
        (captions / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
    return root


def config(name: str, source: str, target: str, **hub: Any) -> dict[str, Any]:
    hub = {"repository": f"some/{name}", **hub}
    return {"name": name, "kind": "hub", "source_language": source, "target_language": target, "hub": hub}


@pytest.mark.slow
def test_hub_both_directions_then_cache(tmp_path: Path, repositories: Path) -> None:
    only_train = {"validation": None, "test": None}
    configs = [
        config("books", "de", "en", config="{source}-{target}", splits=only_train),
        config("books", "en", "de", config="{source}-{target}", splits=only_train),
        config("talks", "de", "en", directory="talks-{source}-{target}"),
        config("captions", "en", "de", column="{language}"),
        config("talks", "en", "de", directory="talks-{source}-{target}")
        | {"streaming": True, "max_train_pairs": 4},
    ]
    wanted = [
        [7, "das Buch 0", "the book 0"],
        [7, "the book 0", "das Buch 0"],
        [11, "hallo 0", "hello 0"],
        [5, "dog train 0", "Hund train 0"],
        [4, "hello 0", "hallo 0"],
    ]
    wrong = [
        config("books", "en", "it", config="{source}-{target}", splits=only_train),
        config("captions", "en", "fr", column="{language}"),
        config("nothing", "en", "de"),
    ]
    with serve(repositories) as endpoint:
        results, _ = load(tmp_path, endpoint, configs + wrong)
    assert results[:5] == wanted
    for message, expected, advice in (
        (results[5], "en-it", "data.path=DIR"),
        (results[6], "no field 'fr'; it has", "data.target_field"),
        (results[7], "some/nothing", "data.path=DIR"),
    ):
        assert expected in message
        assert advice in message
        assert "\n" not in message
    results, log = load(tmp_path, endpoint, configs[:4] + wrong[:1])
    assert results[:4] == wanted[:4]
    assert "some/books" in results[4]
    assert "not cached" in results[4]
    assert log == ""


@pytest.mark.slow
def test_offline_and_not_cached_is_one_quiet_line(tmp_path: Path) -> None:
    results, log = load(tmp_path, "http://127.0.0.1:9", [config("books", "en", "de")])
    assert len(results) == 1
    assert "hub cannot be reached" in results[0]
    assert "data.path=DIR" in results[0]
    assert log == ""
