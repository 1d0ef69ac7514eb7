"""Reads the pictures of a corpus of files once, and drops the pairs whose picture cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from translate.config.data import SPLITS, DataConfig
from translate.corpora.corpus import Corpus
from translate.corpora.images.line import split_line
from translate.corpora.images.picture_store import PictureStore, open_store
from translate.corpora.images.scene import is_scene
from translate.corpora.pictured.picture_names import leave_out
from translate.errors import UserError
from translate.text.reading import user_path

SHOWN = 3  # problems in a message


@dataclass(frozen=True)
class PicturedCorpus(Corpus):
    """A corpus whose source lines name pictures of files."""

    pictures: PictureStore | None = None


def read_all_pictures(corpus: Corpus, data: DataConfig, cache: Path | None) -> Corpus:
    """Read the pictures of files once; pairs whose picture cannot be read are dropped and counted.

    Raises:
        UserError: if no training pair is left.
    """
    if data.images is None:
        return corpus
    splits = {name: getattr(corpus, name) for name in SPLITS if getattr(corpus, name) is not None}
    names = {name: [split_line(line).picture for line in split.source] for name, split in splits.items()}
    files = [each for found in names.values() for each in found if each is not None and not is_scene(each)]
    store = open_store(files, user_path(data.images), data.picture_size, data.patch_size, cache)
    dropped, notes, kept = dict(corpus.dropped), list(corpus.notes), dict(splits)
    for name, split in splits.items():
        bad = [
            index
            for index, picture in enumerate(names[name])
            if picture in store.index and store.problem(picture) is not None
        ]
        if not bad:
            continue
        if len(bad) == len(split):
            raise UserError(
                f"data.images: no {name} picture can be read; {_problem(store, names[name], bad)}"
            )
        dropped[name] = {**dropped.get(name, {}), "picture": len(bad)}
        notes.append(f"unreadable {name} pictures: {_problem(store, names[name], bad)}")
        kept[name] = split.take(sorted(set(range(len(split))) - set(bad)))
    if data.read == "both":
        kept["train"] = leave_out(kept["train"], data)
    changed = replace(corpus, dropped=dropped, notes=tuple(notes), **kept)
    known = {field.name: getattr(changed, field.name) for field in fields(Corpus)}
    return PicturedCorpus(**known, pictures=store)


def _problem(store: PictureStore, names: Sequence[str | None], bad: Sequence[int]) -> str:
    shown = "; ".join(str(store.problem(str(names[index]))) for index in bad[:SHOWN])
    return shown + (f"; and {len(bad) - SHOWN:,} others" if len(bad) > SHOWN else "")
