"""Runs the examples of the documentation as a reader would: in order, in one folder a page."""

import gzip
import io
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.tiny_runs import without_figures
from translate.cli.main import run as run_command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "data" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# Later overrides win, so a training is as typed but for its length and the size of its corpus.
TINY = (
    *("training.max_steps=2", "training.batch_tokens=100"),
    *("training.validation_pairs=3", "schedule.warmup=1", "alignment.calibration_pairs=5"),
    *("search.beam_size=2", "search.max_length_extra=3", "runtime.threads=1"),
)
TINY_GRAMMAR = ("data.num_train=120", "data.num_validation=7", "data.num_test=5")
AMBIGUOUS = "data.num_test=80"  # scenes, among which some sentences have several references
GENERATED = ("grammar", "grammar_sov", "scenes")
# Corpora that are downloaded unless data.path names a folder.
HUB = ("multi30k", "iwslt2017", "wmt14", "opus_books", "opus100")

# The commands that no test runs, by their first words, each with the reason.
NOT_RUN = {
    "make demo": "trains for minutes; its commands are tested as experiments, its figures by hand",
    "make test": "would run these tests again",
    "make install": "installs from a package index",
    "source .venv/bin/activate": "changes the reader's shell",
    "pip install": "installs from a package index",
    "tensorboard": "serves pages until it is interrupted",
    "translate export RUN --format page": "fetches 33 MB, or needs them; tests/export has tests of it",
    "translate import": "fetches a model of the hub; tests/export has tests of it",
    "translate text runs/opus-en-de": "needs that model",
    "npm pack": "fetches from the package index of Node",
    "python3 -m http.server": "serves until it is interrupted",
    "translate serve": "serves until it is interrupted; its options and answers have tests of their own",
    "docker": "needs a daemon; its file has tests of its own",
    "translate prepare --recipe corpora.yaml --out /shared": "needs a Spark cluster",
    "translate prepare pairs=large/": "needs a large corpus",
    "python scripts/": "measures for minutes; the test checks that script and options exist",
    "python -m tests.tools.": "runs for minutes, and has tests of its own",
}
# What the Python of a page may use without defining it.
GIVEN = {
    "mechanisms.md": "import torch\n"
    "states, mask = torch.randn(2, 5, 512), torch.ones(2, 5, dtype=torch.bool)\n"
    "query = torch.randn(2, 3, 256)\n"
}
PASSIVE = ("text", "{eval-rst}")  # languages of blocks in which nothing runs
# Commands whose `translate train` part is composed and checked, but not run.
COMPOSED = {"torchrun": "starts several processes", "sbatch": "needs a SLURM cluster"}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its text, and the line where the text begins."""

    page: Path
    line: int
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    lines: list[str] = []
    language, start = "", None
    for number, line in enumerate(page.read_text(encoding="utf-8").split("\n"), start=1):
        fence = re.fullmatch(r"\s*```(\w*|\{eval-rst\})\s*", line)
        if fence and start is None:
            language, start, lines = fence[1], number + 1, []
        elif fence and start is not None:
            yield Block(page, start, language, "\n".join(lines) + "\n")
            start = None
        elif start is not None:
            lines.append(line)
    assert start is None, f"{page}: the block of line {start} has no end"


def commands(text: str) -> list[list[str]]:
    """The words of each command of a shell block; redirections are words of their own."""
    found = []
    for line in text.replace("\\\n", " ").split("\n"):
        lexer = shlex.shlex(line, posix=True, punctuation_chars="<>;|&")
        lexer.whitespace_split = True
        if words := list(lexer):
            found.append(words)
    return found


@dataclass
class Reader:
    """Types the examples of one page into a shell, whose working directory is ``folder``."""

    folder: Path
    names: dict[str, Any] = field(default_factory=dict)  # of the page's Python
    written: list[str] = field(default_factory=list)  # Python modules of the page
    ran: int = 0  # examples: commands, pieces of Python, and files

    def follow(self, block: Block) -> None:
        """Run one block of the page.

        Raises:
            AssertionError: if a command fails, or prints something else than the page shows.
        """
        follow: dict[str, Callable[[Block], None]] = {
            "bash": self._shell,
            "console": self._console,
            "python": self._python,
            "yaml": self._yaml,
        }
        language = block.language
        if not language and block.text.startswith("$ "):
            language = "console"
        if language not in PASSIVE:
            where = f"{block.page.name}:{block.line}"
            assert language in follow, f"{where}: the language {language!r} is not known"
            follow[language](block)

    def _shell(self, block: Block) -> None:
        for words in commands(block.text):
            code, shown = self._type(words)
            assert code == 0, f"{block.page.name}:{block.line}: {shlex.join(words)}\n{shown}"

    def _console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            _, shown = self._type(commands(command)[0])
            printed = iter(shown.splitlines())
            for line in filter(None, expected.splitlines()):  # each begins a printed line, in this order
                found = any(other.startswith(line) for other in printed)
                assert found, f"{block.page.name}:{block.line}: {command} does not print {line!r}:\n{shown}"

    def _python(self, block: Block) -> None:
        self.ran += 1
        if name := self._file_of(block):
            self.written.append(name.removesuffix(".py"))
        else:
            if not self.names and block.page.name in GIVEN:
                exec(GIVEN[block.page.name], self.names)
            padded = "\n" * (block.line - 1) + block.text  # for line numbers in a traceback
            exec(compile(padded, str(block.page), "exec"), self.names)

    def _yaml(self, block: Block) -> None:
        self.ran += 1
        assert self._file_of(block), f"{block.page.name}:{block.line}: the first line names no file"

    def _file_of(self, block: Block) -> str | None:
        """Write the file that the first line names, as in ``# my_attention.py``; returns the name."""
        named = re.match(r"# ([\w./-]+\.(?:py|yaml))\n", block.text)
        if named is None:
            return None
        path = self.folder / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return named[1]

    def _type(self, words: list[str]) -> tuple[int, str]:
        """Exit code and output of a command, or of what is tested of it."""
        self.ran += 1
        line = " ".join(words)
        if any(line.startswith(beginning) for beginning in NOT_RUN):
            return _look_at(words)
        if words[0] in COMPOSED:
            return self._run(["train", *(word for word in words if "=" in word), "--cfg", "job"])
        assert words[0] == "translate", f"{line}: neither run nor listed in NOT_RUN"
        if words[1] in ("train", "guide", "corpus"):
            return self._run_tiny(words[1:])
        if words[1] == "resume" and len(words) > 3:
            return self._run([*words[1:], "training.max_steps=3"])
        return self._run(words[1:])

    def _run_tiny(self, words: list[str]) -> tuple[int, str]:
        """A command that takes settings, with a small corpus and few steps; or its settings checked alone."""
        corpus = _corpus_of(words)
        tiny = [*TINY_GRAMMAR] if corpus in GENERATED else []
        if words[0] == "corpus" and corpus == "scenes":
            tiny[-1] = AMBIGUOUS
        if words[0] == "corpus" or "--cfg" in words:
            return self._run([*words, *tiny])
        needs_network = corpus in HUB and not any(word.startswith("data.path=") for word in words)
        needs_cluster = any(word.startswith("hydra/launcher=") for word in words)
        if needs_network or needs_cluster:
            settings = [word for word in words[1:] if "=" in word and not word.startswith(("hydra", "-"))]
            first_job = [re.sub(r"^([\w./]+=[^\[{,]+),.*", r"\1", word) for word in settings]
            return self._run(["train", *first_job, "--cfg", "job"])
        with without_figures():
            if not any(word.startswith("tokenizer.path=") for word in words):
                tiny.append("tokenizer.vocabulary_size=320")
            return self._run([*words, *tiny, *TINY])

    def _run(self, words: list[str]) -> tuple[int, str]:
        shown, kept, stdin = io.StringIO(), io.StringIO(), sys.stdin
        out = kept if ">" in words else shown
        arguments = words
        for sign in "<>":
            arguments = arguments[: arguments.index(sign)] if sign in arguments else arguments
        if "<" in words:
            source = self.folder / words[words.index("<") + 1]
            sys.stdin = io.TextIOWrapper(io.BytesIO(source.read_bytes()))
        try:
            with redirect_stdout(out), redirect_stderr(shown):
                code = run_command([word.replace("~", str(self.folder)) for word in arguments])
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 1
        finally:
            sys.stdin = stdin
        if ">" in words:
            (self.folder / words[words.index(">") + 1]).write_text(kept.getvalue(), encoding="utf-8")
        return code, shown.getvalue()


def _corpus_of(words: list[str]) -> str:
    """The corpus that a command trains on."""
    corpus = "grammar"
    for word in words:
        if word.startswith("experiment=multi30k"):
            corpus = "multi30k"
        if word.startswith("experiment=scenes"):
            corpus = "scenes"
    for word in words:
        if word.startswith("data="):
            corpus = word.removeprefix("data=")
    return words[words.index("--data") + 1] if "--data" in words else corpus


def _look_at(words: list[str]) -> tuple[int, str]:
    """Check a command without running it: the script has the options, make has the target."""
    if words[0] == "make":
        found = re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        return (0, "") if found else (1, f"make has no target {words[1]}")
    if words[0] == "python":
        name = words[2].replace(".", "/") + ".py" if words[1] == "-m" else words[1]
        if not (ROOT / name).exists():
            return 1, f"{name}: there is no such script"
        text = (ROOT / name).read_text(encoding="utf-8")
        missing = [word for word in words[2:] if word.startswith("--") and f'"{word}"' not in text]
        return (1, f"{name} has no {', '.join(missing)}") if missing else (0, "")
    return 0, ""


def furnish(folder: Path, runs: dict[str, Path]) -> None:
    """The runs and files that the pages speak of: `RUN`, `runs/demo/transformer`, `test.en` ...

    Args:
        folder: the reader's working directory, to be made.
        runs: finished runs by name.
    """
    for name, run in runs.items():
        shutil.copytree(run, folder / name)
        config = folder / name / "config.yaml"
        config.write_text(re.sub(r"beam_size: \d", "beam_size: 5", config.read_text()))  # the default
    text = folder / "text"
    with redirect_stdout(io.StringIO()):
        assert run_command(["corpus", "--data", "grammar", "--out", str(text), *TINY_GRAMMAR]) == 0
    for file in text.iterdir():
        shutil.copy(file, folder / file.name)
    english, french = ((text / f"train.{side}").read_text().splitlines() for side in ("en", "fr"))
    (folder / "train.links").write_text("0-0\n" * len(english))
    (folder / "note.md").write_text("# A note\n\nI *love* you.\n")
    (folder / "messages.po").write_text('msgid "it rains"\nmsgstr "il pleut"\n\nmsgid "a {0} ."\nmsgstr ""\n')
    rows = "".join(f"{source}\t{target}\n" for source, target in zip(english, french, strict=True))
    (folder / "pairs.tsv").write_text(f"en\tfr\n{rows}")
    captions = folder / "multi30k"
    captions.mkdir()
    for split, name in (("train", "train"), ("dev", "valid"), ("test", "test_2016_flickr")):
        for language, written in (("en", "en"), ("fr", "fr"), ("de", "fr")):
            packed = gzip.compress((text / f"{split}.{written}").read_bytes())
            (captions / f"{name}.{language}.gz").write_bytes(packed)
    _add_photos(captions, folder / "flickr30k")
    (folder / "law").mkdir()
    for split, name in (("train", "train"), ("dev", "val"), ("test", "test")):
        for language in ("en", "fr"):
            shutil.copy(text / f"{split}.{language}", folder / "law" / f"{name}.{language}")
        count = len((text / f"{split}.en").read_text().splitlines())
        ids = "".join(f"{name} {number // 4}\n" for number in range(count))
        (folder / "law" / f"{name}.doc").write_text(ids)
    shutil.rmtree(text)


def _add_photos(captions: Path, photos: Path) -> None:
    """Photos, and the lists of their names beside the captions."""
    from PIL import Image

    photos.mkdir()
    (captions / "image_splits").mkdir()
    for number in range(3):
        Image.new("RGB", (120 + 10 * number, 90), (80 * number, 120, 40)).save(photos / f"{number}.jpg")
    for name in ("train", "valid", "test_2016_flickr"):
        count = len(gzip.decompress((captions / f"{name}.en.gz").read_bytes()).splitlines())
        rows = "".join(f"{number % 3}.jpg\n" for number in range(count))
        (captions / "image_splits" / f"{name}.txt").write_text(rows)
