"""Prepares corpora stage by stage; every whole part stays, so that an interrupted preparation goes on."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from translate.config.names import shown_path
from translate.errors import UserError
from translate.prepare.chunks import write_chunks
from translate.prepare.engines import statements
from translate.prepare.engines.tables_and_views import DataEngine, Shard
from translate.prepare.exchange import Dropped, drop_repeated
from translate.prepare.findings import find
from translate.prepare.inputs import Input, Stamp, all_paths, check_unchanged, list_inputs, stamp
from translate.prepare.judging.rows import SCHEMA as ROWS
from translate.prepare.judging.rows import RowFunction
from translate.prepare.judging.scoring import CLEAN, LinkFunction
from translate.prepare.learning import learn_sample
from translate.prepare.manifest import MANIFEST, REPORT, columns, write_manifest, write_splits
from translate.prepare.readable import write_readable
from translate.prepare.recipe import Recipe
from translate.text.aside import scratch, told, write_text

VERSION = "2"  # changes when the same recipe would give other shards
WORK = ".preparing"  # the folder of an unfinished preparation, inside that of the shards
EngineMaker = Callable[[Path], DataEngine]


class Preparation:
    """One recipe on its way to a folder of shards.

    Args:
        recipe: what to prepare.
        out: folder of the shards.
        engine: makes the engine, given a folder for what it spills.
        note: tells the user what happens.
    """

    def __init__(self, recipe: Recipe, out: Path, engine: EngineMaker, note: Callable[[str], None]) -> None:
        self.recipe, self.make_engine, self.note = recipe, engine, note
        self.out = Path(os.path.abspath(out))  # the processes of a cluster have other working directories
        self.work = self.out / WORK
        self.inputs = list_inputs(recipe)
        self.damaged: list[dict[str, str]] = []

    def run(self) -> dict[str, Any]:
        """Prepare everything, and return the report.

        Raises:
            UserError: for files that cannot be read or have changed, a full disk, a folder of other shards.
        """
        if self.out.exists() and not self.out.is_dir():
            raise UserError(f"{shown_path(self.out)}: expected a folder for the shards, got a file")
        known = self._known_stamps()
        stamps = self._stamps(known)
        identity = self._identity(stamps)
        if (self.out / MANIFEST).exists():
            return self._finished(identity)
        with _working(self.work):
            self._begin(identity, stamps)
            self._read()
            engine = self.make_engine(self.work / "spill")
            try:
                self.note("judging every pair")
                engine.map(RowFunction(self.recipe), self.work / "raw", self.work / "rows", ROWS)
                engine.add_table("rows", self.work / "rows")
                engine.add_view("train_rows", statements.TRAIN)
                self.note("looking for repeated pairs")
                dropped = drop_repeated(engine, self.work, self.recipe)
                self._links(engine, dropped)
                self.note("writing the shards in their random order")
                splits = write_splits(engine, self.recipe, self.inputs, self.out, self.work)
                report = find(engine, self.recipe, dropped, self.damaged, splits)
            finally:
                engine.close()
            check_unchanged(stamps)
            self._publish(identity, splits, report)
        shutil.rmtree(self.work, ignore_errors=True)
        return report

    def _known_stamps(self) -> dict[str, Stamp]:
        try:
            plan = json.loads((self.work / "plan.json").read_text(encoding="utf-8"))
            return {path: Stamp(**values) for path, values in plan["stamps"].items()}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _stamps(self, known: dict[str, Stamp]) -> dict[Path, Stamp]:
        found = {}
        for path in all_paths(self.inputs):
            try:
                found[path] = stamp(path, known.get(str(path)))
            except UserError as error:
                if not self.recipe.skip_damaged:
                    raise UserError(f"{error}; skip_damaged=true leaves such files out") from error
        return found

    def _identity(self, stamps: dict[Path, Stamp]) -> str:
        files = [[str(path), each.sha256] for path, each in stamps.items()]
        text = json.dumps([VERSION, asdict(self.recipe), files], sort_keys=True)
        return sha256(text.encode()).hexdigest()

    def _finished(self, identity: str) -> dict[str, Any]:
        manifest = json.loads((self.out / MANIFEST).read_text(encoding="utf-8"))
        if manifest.get("identity") != identity:
            raise UserError(
                f"{shown_path(self.out)}: holds the shards of another recipe or of other files; choose "
                f"another folder, or delete it"
            )
        self.note(f"{self.out} is already prepared, by the same recipe from the same files")
        report: dict[str, Any] = json.loads((self.out / REPORT).read_text(encoding="utf-8"))
        return report

    def _begin(self, identity: str, stamps: dict[Path, Stamp]) -> None:
        plan = self.work / "plan.json"
        if plan.exists():
            if json.loads(plan.read_text(encoding="utf-8")).get("identity") != identity:
                raise UserError(
                    f"{shown_path(self.work)}: an unfinished preparation with another recipe or other files; "
                    f"delete that folder to begin anew, or choose another --out"
                )
            self.note("going on with what an earlier process left")
        content = {"identity": identity, "stamps": {str(path): asdict(each) for path, each in stamps.items()}}
        write_text(plan, json.dumps(content))

    def _read(self) -> None:
        """Cut the inputs to chunks; an input that is damaged half-way leaves nothing."""
        raw, notes = self.work / "raw", self.work / "inputs"
        languages = self.recipe.source_language, self.recipe.target_language
        with told(self.work):
            raw.mkdir(exist_ok=True)
            notes.mkdir(exist_ok=True)
        for given in self.inputs:
            done = notes / f"{given.number:06}.json"
            if not done.exists():
                write_text(done, json.dumps(self._read_one(given, languages, raw)))
            found = json.loads(done.read_text(encoding="utf-8"))
            if "error" in found:
                self.damaged.append({"corpus": given.corpus, "file": str(given), "error": found["error"]})
                self.note(f"left out: {found['error']}")
        if len(self.damaged) == len(self.inputs):
            raise UserError("every file of the recipe is missing or damaged; nothing is left to prepare")

    def _read_one(self, given: Input, languages: tuple[str, str], raw: Path) -> dict[str, Any]:
        with told(self.work), scratch(self.work) as folder:
            try:
                pairs = write_chunks(given, languages, folder)
            except UserError as error:
                if not self.recipe.skip_damaged:
                    raise UserError(f"corpus {given.corpus}: {error}") from error
                return {"error": str(error)}
            for chunk in sorted(folder.iterdir()):
                chunk.replace(raw / chunk.name)
        self.note(f"read {pairs:,} pairs of {given.corpus}: {given}")
        return {"pairs": pairs}

    def _links(self, engine: DataEngine, dropped: Dropped) -> None:
        """Judge the pairs that are left by the links between their words."""
        links, parameters, judge = self.recipe.links, self.work / "links.npz", self.work / "judge.npz"
        judged = links.min_coverage is not None or links.min_probability is not None
        wanted = judged or links.write
        if wanted and not parameters.exists():
            self.note(f"learning the translations of words from at most {links.sample_pairs:,} pairs")
            learnt = learn_sample(engine, dropped.view, links, parameters, judge)
            if learnt.limited:
                self.note(
                    f"learnt from {learnt.pairs:,} pairs, for which --memory has room; more of it teaches "
                    f"rarer words, up to links.sample_links"
                )
            if learnt.pairs and not learnt.judge and links.min_probability is not None:
                self.note("too few pairs to tell what a translation looks like: no links.min_probability")
        self.note("judging links between words" if wanted else "collecting what is left")
        function = LinkFunction(links, *(path if path.exists() else None for path in (parameters, judge)))
        engine.map(function, self.work / "rows", self.work / "clean", CLEAN, dropped.folders())
        engine.add_table("clean", self.work / "clean")

    def _publish(self, identity: str, splits: dict[str, list[Shard]], report: dict[str, Any]) -> None:
        """Write the report, and the manifest last: with it the shards are whole."""
        write_text(self.out / REPORT, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        write_readable(self.out, report)
        write_manifest(self.out, self.recipe, identity, splits, columns(self.recipe, self.inputs))


@contextmanager
def _working(folder: Path) -> Iterator[None]:
    """Hold the lock of a preparation: two processes must not write the same parts."""
    with told(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(
                    f"{shown_path(folder)}: another process prepares here; wait for it, or choose "
                    f"another --out"
                ) from None
            yield
