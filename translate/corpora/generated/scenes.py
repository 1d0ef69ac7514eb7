"""The embedded corpus of scenes as splits."""

from translate.config.data import DataConfig
from translate.config.names import shorten
from translate.corpora.images.scene_corpus import LANGUAGES, generate_scenes, pair_of
from translate.corpora.pictured.picture_names import PICTURE, leave_out
from translate.corpora.split import RawCorpus, Split, SplitReader
from translate.errors import UserError


def load_scenes(data: DataConfig) -> RawCorpus:
    """The splits of `data=scenes`; raises :class:`UserError` for other languages than English and French."""
    source, target = data.source_language or "en", data.target_language or "fr"
    if data.read == "picture":
        source = PICTURE
    asked = (target,) if data.read == "picture" else (source, target)
    if not set(asked) <= set(LANGUAGES) or source == target:
        raise UserError(
            f"the corpus of scenes has en and fr, not {shorten(source, 100)} and {shorten(target, 100)}; set "
            "data.source_language and data.target_language"
        )
    if data.num_train < 1:
        raise UserError(f"data.num_train={data.num_train}: expected at least 1")
    sizes = {"test": data.num_test, "validation": data.num_validation, "train": data.num_train}
    examples = generate_scenes(sizes, data.seed, captions=data.read == "picture")
    splits = {}
    for name, found in examples.items():
        # Gold regions need the drawings; nothing reads those of the training split.
        grid = None if name == "train" else data.patch_size
        pairs = [pair_of(example, (source, target), data.read, grid) for example in found]
        if pairs:
            gold = None if name == "train" else [pair.gold for pair in pairs]
            splits[name] = Split([pair.source for pair in pairs], [pair.target for pair in pairs], gold)
    if data.read == "both":
        told = {index for index, example in enumerate(examples["train"]) if example.is_description}
        splits["train"] = leave_out(splits["train"], data, told)
    readers = {name: SplitReader.of(split) for name, split in splits.items()}
    return RawCorpus(source, target, readers)
