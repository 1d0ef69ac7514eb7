"""Prepares corpora stage by stage; every whole part stays, so that an interrupted preparation goes on."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from translate.config.names import counted, listed, shorten, shown_path
from translate.corpora.prepared import MANIFEST, MAX_MANIFEST
from translate.errors import UserError
from translate.prepare.exchange import Remaining, columns_of, drop_repeated, store, write_splits
from translate.prepare.executors import Executor
from translate.prepare.findings import PAGE, page_of, report_of
from translate.prepare.inputs import digest_of, list_inputs, write_chunks
from translate.prepare.link_filter import ALIGNER, CLEAN, LEFT, UNJUDGED, LinkFunction, learn_sample
from translate.prepare.recipe import Recipe
from translate.prepare.rows import ROWS, RowFunction
from translate.prepare.shard_files import REPORT, Shard, write_manifest
from translate.text.bounded import read_json
from translate.text.file_writing import explain_write_errors, scratch, write_text
from translate.text.folder_lock import locked
from translate.text.languages import is_known

VERSION = "6"  # changes when the same recipe would give other shards
WORK = ".preparing"  # the folder of an unfinished preparation, inside that of the shards


class Preparation:
    """One recipe on its way to a folder of shards.

    Args:
        recipe: what to prepare.
        out: folder of the shards.
        make_executor: makes the executor, given a folder for what it spills.
        note: tells the user what happens.
    """

    def __init__(
        self,
        recipe: Recipe,
        out: Path,
        make_executor: Callable[[Path], Executor],
        note: Callable[[str], None],
    ) -> None:
        self.recipe, self.make_executor, self.note = recipe, make_executor, note
        self.out = Path(os.path.abspath(out))  # the processes of a cluster have other working directories
        self.work = self.out / WORK
        self.inputs = list_inputs(recipe)

    def run(self) -> dict[str, Any]:
        """Prepare everything, and return the report.

        Raises:
            UserError: for files that cannot be read or have changed, a full disk, a folder of other shards.
        """
        if self.out.exists() and not self.out.is_dir():
            raise UserError(f"{shown_path(self.out)}: expected a folder for the shards, got a file")
        is_new = not ((self.out / MANIFEST).exists() or self.work.exists())
        if is_new and self.out.exists() and any(self.out.iterdir()):
            raise UserError(
                f"{shown_path(self.out)}: the folder is not empty and holds no shards; choose another"
            )
        digests = self._digests()
        files = {str(path): digest for path, digest in digests.items()}
        identity = sha256(
            json.dumps([VERSION, asdict(self.recipe), files], sort_keys=True).encode()
        ).hexdigest()
        if (self.out / MANIFEST).exists():
            return self._finished(identity)
        refusal = "{} prepares here; wait for it, or choose another --out"
        with explain_write_errors(self.work), locked(self.work, refusal):
            self._begin(identity)
            self._read()
            executor = self.make_executor(self.work / "spill")
            try:
                splits, report = self._exchange(executor)
            finally:
                executor.close()
            again = self._digests()
            if changed := [path for path, digest in digests.items() if again.get(path) != digest]:
                raise UserError(
                    f"{listed(map(shown_path, changed))}: changed while the corpora were prepared; nothing "
                    f"was published; start again once nobody writes there"
                )
            write_text(self.out / REPORT, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
            write_text(self.out / PAGE, page_of(report))
            columns = columns_of(self.recipe, self.inputs)
            write_manifest(self.out, self.recipe, identity, splits, columns)  # last: it stands for everything
        shutil.rmtree(self.work, ignore_errors=True)
        return report

    def _digests(self) -> dict[Path, str]:
        """The hash of every file of the recipe."""
        paths = dict.fromkeys(path for given in self.inputs for path in given.paths())
        return {path: digest_of(path) for path in paths}

    def _finished(self, identity: str) -> dict[str, Any]:
        if _identity_of(self.out / MANIFEST) != identity:
            raise UserError(
                f"{shown_path(self.out)}: holds the shards of another recipe or of other files; choose "
                f"another folder, or delete it"
            )
        shutil.rmtree(self.work, ignore_errors=True)
        self.note(f"{self.out} is already prepared, by the same recipe from the same files")
        return read_json(self.out / REPORT, limit=MAX_MANIFEST)

    def _begin(self, identity: str) -> None:
        plan = self.work / "plan.json"
        if plan.exists():
            if _identity_of(plan) != identity:
                raise UserError(
                    f"{shown_path(self.work)}: an unfinished preparation with another recipe or other files; "
                    f"delete that folder to begin anew, or choose another --out"
                )
            self.note("going on with what an earlier process left")
        write_text(plan, json.dumps({"identity": identity}))

    def _read(self) -> None:
        """Cut the inputs to chunks, but for those that an earlier process has read."""
        raw, notes = self.work / "raw", self.work / "inputs"
        languages = self.recipe.source_language, self.recipe.target_language
        with explain_write_errors(self.work):
            raw.mkdir(exist_ok=True)
            notes.mkdir(exist_ok=True)
            for given in self.inputs:
                done = notes / f"{given.number:06}"
                if done.exists():
                    continue
                with scratch(self.work) as folder:
                    try:
                        pairs = write_chunks(given, languages, folder)
                    except UserError as error:
                        if not any(raw.iterdir()):  # the next try may have the right files
                            (self.work / "plan.json").unlink()
                        raise UserError(f"corpus {given.corpus}: {error}") from error
                    for chunk in sorted(folder.iterdir()):
                        chunk.replace(raw / chunk.name)
                write_text(done, "")
                self.note(f"read {counted(pairs, 'pair')} of {given.corpus}: {given}")

    def _exchange(self, executor: Executor) -> tuple[dict[str, list[Shard]], dict[str, Any]]:
        """Judge the rows, drop what is repeated, write the shards: returns them, and the report."""
        for code in (self.recipe.source_language, self.recipe.target_language):
            if self.recipe.filters.language is not None and not is_known(code):
                unchecked = "no code of a known language, as en is; filters.language checks nothing of it"
                self.note(f"{shorten(code)}: {unchecked}")
        self.note("judging every pair")
        executor.map(RowFunction(self.recipe), self.work / "raw", self.work / "rows", ROWS)
        executor.add_table("rows", self.work / "rows")
        self.note("looking for repeated pairs")
        remaining = drop_repeated(executor, self.work, self.recipe)
        self._judge_links(executor, remaining)
        self.note("writing the shards in their random order")
        splits = write_splits(executor, self.recipe, self.inputs, self.out, self.work)
        return splits, report_of(executor, self.recipe, remaining, splits)

    def _judge_links(self, executor: Executor, remaining: Remaining) -> None:
        """Make the table ``clean``: the remaining pairs, judged by the links between their words."""
        links, aligner = self.recipe.links, self.work / ALIGNER
        store(executor, self.work, "left_pairs", f"SELECT {', '.join(LEFT.names)} FROM {remaining.view}")
        wanted = links.min_probability is not None or links.write
        if wanted and not aligner.exists():
            self.note(f"learning the translations of words from at most {links.sample_pairs:,} pairs")
            learnt = learn_sample(executor, "left_pairs", links, self.work)
            if learnt.limited:
                self.note(
                    f"learnt from {counted(learnt.pairs, 'pair')}, for which --memory has room; more of it "
                    f"teaches rarer words, up to links.sample_links"
                )
            for corpus, first, last in learnt.apart:
                self.note(
                    f"{corpus}: lines {first:,} to {last:,} fit the translations of their neighbours as well "
                    "as their own: has a side slipped by a line there, or a little before?"
                )
            if learnt.pairs and not learnt.regression and links.min_probability is not None:
                self.note("too few pairs to tell what a translation looks like: no links.min_probability")
        if not aligner.exists():
            executor.add_view("clean", f"SELECT *, {UNJUDGED} FROM left_pairs")
            return
        self.note("judging links between words")
        function = LinkFunction(links, self.work)
        executor.map(function, self.work / "left_pairs", self.work / "clean", CLEAN)
        executor.add_table("clean", self.work / "clean")


def _identity_of(path: Path) -> Any:
    """The identity of the preparation that wrote a file; ``None`` if none did."""
    found = read_json(path, limit=MAX_MANIFEST)
    return found.get("identity") if isinstance(found, dict) else None
