"""The ``data`` and ``tokenizer`` sections; their files below ``conf/`` hold defaults and meanings."""

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Le

from translate.config.declare import Count, Fraction, Positive, convert, declared, to_section
from translate.config.files import YAML, choice_of, overlaid, section_of
from translate.config.messages import LARGEST
from translate.config.names import config_directory, did_you_mean, nearest, shorten
from translate.errors import UserError

SPLITS = ("train", "validation", "test")
MAX_PATCHES = 1 << 12  # of a picture: 64 rows and columns
SCENE_SIDE = 48  # pixels
NUM_SPECIAL = 4  # padding, unknown, begin and end of sentence
RESERVED = ("<pad>", "<unk>", "<s>", "</s>")  # their names
# Before a source: the corpus of a mixture, or the language that Marian's models translate to.
TAG = re.compile(r"<[\w:.+-]{1,40}>|>>[\w:.+-]{1,40}<<")
BESIDE = (".gold", ".pictures", ".documents")  # files that any corpus may have beside its own
FILE = "data/_base.yaml"
Generated = Annotated[int, Ge(0), Le(10_000_000)]  # pairs of the grammar, which are held in memory

Weight = Annotated[float, Ge(0), Le(LARGEST)]
LANGUAGES_DIFFER = "mul"  # the code of several languages, as a mixture may have them

# Settings that only some kinds of corpus read; the other kinds refuse them.
_READ_BY: dict[tuple[str, ...], str] = {
    ("grammar", "scenes"): "num_train num_validation num_test",
    ("scenes", "files", "hub"): "read without_picture without_sentence",
    ("files", "hub"): "images picture_field test_name document_field context_sentences context_pieces "
    "source_field target_field validation_pairs test_pairs",
    ("files", "hub", "prepared"): "path",
    ("hub",): "hub streaming",
    ("grammar", "scenes", "files", "hub"): "max_length max_length_ratio drop_duplicates drop_identical "
    "max_train_pairs seed",
    ("mixture",): "corpora temperature max_repetitions stages",
}


@declared("tokenizer/unigram.yaml")
class TokenizerConfig:
    """Settings by which SentencePiece cuts text into pieces; beside ``path`` only ``shared`` counts."""

    path: str | list[str] | None = YAML
    model_type: Literal["unigram", "bpe", "word", "char"] = YAML
    vocabulary_size: Annotated[int, Ge(NUM_SPECIAL + 1), Le(10_000_000)] = YAML
    shared: bool = YAML
    character_coverage: Annotated[float, Ge(0.98), Le(1)] = YAML
    byte_fallback: bool = YAML
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = YAML

    def __post_init__(self) -> None:
        if self.path is not None and not 1 <= len(self.paths) <= 2:
            raise ValueError(f"path: expected one model, or one each side, got {len(self.paths)}")
        if self.shared and len(self.paths) == 2:
            raise ValueError("path: two models are not shared by both sides; add tokenizer.shared=false")

    @property
    def paths(self) -> list[str]:
        """The user's own models: none, one for both sides, or one for each."""
        return [self.path] if isinstance(self.path, str) else self.path or []


class Stage(NamedTuple):
    """Weights of the corpora of a mixture, until a step of training; the last stage has no end."""

    until: int | None
    weights: dict[str, float]


@declared(FILE, "train")
class FileSplit:
    """The files of one split."""

    source: str | None = YAML
    target: str | None = YAML
    gold: str | None = YAML
    pictures: str | None = YAML
    documents: str | None = YAML


@declared(FILE, "hub.splits")
class HubSplits:
    """Names of the splits on the hub; null for a split that the repository does not have."""

    train: str | None = YAML
    validation: str | None = YAML
    test: str | None = YAML


@declared(FILE, "hub")
class HubConfig:
    """The place of a corpus on the hub; ``{source}``, ``{target}``, ``{language}`` are language codes."""

    repository: str | None = YAML
    revision: str = YAML
    config: str | None = YAML
    directory: str | None = YAML
    column: str = YAML
    splits: HubSplits = YAML

    def __post_init__(self) -> None:
        if self.config is not None and self.directory is not None:
            raise ValueError("directory: hub.config names a part already; set one of both to null")


@declared(FILE)
class DataConfig:
    """One parallel corpus: where it comes from, and what is filtered from it."""

    name: str
    kind: Literal["grammar", "scenes", "files", "hub", "mixture", "prepared"]
    path: str | None = YAML
    source_language: str | None = YAML
    target_language: str | None = YAML
    tokenised: bool = YAML
    train: FileSplit = YAML
    validation: FileSplit = YAML
    test: FileSplit = YAML
    source_field: str | None = YAML
    target_field: str | None = YAML
    test_name: str | None = YAML
    document_field: str | None = YAML
    context_sentences: Annotated[int, Ge(0), Le(20)] = YAML
    context_pieces: Annotated[int, Ge(1), Le(4096)] = YAML
    hub: HubConfig = YAML
    streaming: bool = YAML
    read: Literal["text", "picture", "both"] = YAML
    images: str | None = YAML
    picture_field: str | None = YAML
    picture_size: Annotated[int, Ge(8), Le(1024)] = YAML
    patch_size: Literal[4, 8, 16, 32] = YAML
    without_picture: Fraction = YAML
    without_sentence: Fraction = YAML
    max_length: Positive | None = YAML
    max_length_ratio: Annotated[float, Ge(1), Le(LARGEST)] | None = YAML
    drop_duplicates: bool = YAML
    drop_identical: bool = YAML
    drop_overlap: bool = YAML
    max_train_pairs: Positive | None = YAML
    validation_pairs: Count = YAML
    test_pairs: Count = YAML
    num_train: Generated = YAML
    num_validation: Generated = YAML
    num_test: Generated = YAML
    corpora: dict[str, dict[str, Any]] = YAML
    temperature: Annotated[float, Ge(1), Le(LARGEST)] = YAML
    max_repetitions: Annotated[float, Ge(1), Le(LARGEST)] | None = YAML
    stages: list[dict[str, Any]] = YAML
    seed: Annotated[int, Ge(-LARGEST), Le(LARGEST)] = YAML

    def __post_init__(self) -> None:
        neutral = section_of(FILE) | {"hub": HubConfig()}
        for kinds, names in _READ_BY.items():
            for name in names.split():
                if self.kind not in kinds and getattr(self, name) != neutral[name]:
                    raise ValueError(
                        f"{name}: it has no effect on the corpus {self.name!r}; "
                        f"it is for the kinds {' and '.join(kinds)}"
                    )
        pictures = self.read != "text" or self.kind == "scenes"
        idle = {} if pictures else dict.fromkeys(("picture_size", "patch_size"), "data.read=picture or both")
        idle |= {} if self.context_sentences else {"context_pieces": "data.context_sentences"}
        for name, needed in idle.items():
            if getattr(self, name) != neutral[name]:
                raise ValueError(f"{name}: it has no effect without {needed}")
        if self.corpora:
            stages_of(self)
        if self.streaming and self.max_train_pairs is None:
            raise ValueError("streaming: it needs data.max_train_pairs, after which no more is read")
        if self.streaming and self.path is not None:
            raise ValueError("streaming: it has no effect with data.path, whose files are here already")
        for setting in self.files:
            self._check_file(setting)
        _check_pictures(self)
        _check_documents(self)
        same = self.source_language is not None and self.source_language == self.target_language
        if same and (self.kind == "hub" or self.path is not None):
            raise ValueError(
                f"target_language: expected another language than the source's, got {self.target_language!r}"
            )

    @property
    def files(self) -> dict[str, str]:
        """The files that are given, by setting, such as ``train.source``."""
        return {
            f"{split}.{name}": file
            for split in SPLITS
            for name, file in asdict(getattr(self, split)).items()
            if file is not None
        }

    def _check_file(self, setting: str) -> None:
        """Raise ``ValueError`` if this kind of corpus reads no file of its own for ``setting``."""
        from_files = self.kind == "files" and self.path is None
        if self.kind not in ("files", "hub") or not (from_files or setting.endswith(BESIDE)):
            if self.path is not None:
                other = "name them in the recipe" if self.kind == "prepared" else "use data=files without it"
                raise ValueError(f"{setting}: no effect with data.path; {other}")
            raise ValueError(f"{setting}: it has no effect on the corpus {self.name!r}; add data=files")


def _check_pictures(data: DataConfig) -> None:
    """Raise ``ValueError`` for settings of pictures that do not fit together."""
    left_out = {"without_picture": data.without_picture, "without_sentence": data.without_sentence}
    for name, share in left_out.items():
        if share and data.read != "both":
            raise ValueError(f"{name}: it needs data.read=both, got read={data.read}; or set it to 0")
    if sum(left_out.values()) > 1:
        raise ValueError("without_sentence: with without_picture it is more than all pairs")
    if data.kind != "scenes" and (data.read != "text") != (data.images is not None):
        raise ValueError(
            "images: data.images=DIR and data.read=picture or both go together; "
            f"got images={data.images} and read={data.read}"
        )
    patches = (data.picture_size // data.patch_size) ** 2
    if data.read != "text" and not 1 <= patches <= MAX_PATCHES:
        raise ValueError(
            f"picture_size: {data.picture_size} pixels are {patches:,} patches of {data.patch_size}; "
            f"expected 1 to {MAX_PATCHES:,}"
        )
    given = [setting for setting in data.files if setting.endswith(".pictures")]
    if given and data.images is None:
        raise ValueError(f"{given[0]}: it needs the folder of the pictures, data.images=DIR")
    if data.read == "picture" and data.max_length_ratio is not None:
        raise ValueError("max_length_ratio: a picture has no length in words; set it to null")
    if data.kind == "scenes" and data.picture_size != SCENE_SIDE:
        raise ValueError(
            f"picture_size: scenes have {SCENE_SIDE} x {SCENE_SIDE} pixels, got {data.picture_size}"
        )
    if data.kind == "scenes" and data.patch_size > 16:
        raise ValueError(
            f"patch_size: scenes of 48 x 48 pixels have patches of 4, 8 or 16, got {data.patch_size}"
        )


def _check_documents(data: DataConfig) -> None:
    """Raise ``ValueError`` for settings of documents that do not fit together."""
    given = [setting for setting in data.files if setting.endswith(".documents")]
    if given and data.document_field is not None:
        raise ValueError(f"{given[0]}: data.document_field names the documents already; give one of both")
    if (data.context_sentences or given or data.document_field) and data.read != "text":
        raise ValueError(f"read: documents are of text alone, got read={data.read}")


class Member(NamedTuple):
    """A corpus of a mixture.

    Attributes:
        data: what it is.
        weight: its share of the pairs that are drawn, relative to the others; ``None`` for one by its size.
        tag: a word before each source sentence.
    """

    data: DataConfig
    weight: float | None
    tag: str | None


def members_of(data: DataConfig) -> dict[str, Member]:
    """The corpora of a mixture by name; raises ``UserError`` for a wrong one, with its path."""
    if not data.corpora:  # an empty mixture composes, as data=files does without files
        raise UserError(
            "data.corpora: expected the corpora of the mixture, such as {law: {choice: files, path: law}}"
        )
    return {name: _member(data, name, dict(values)) for name, values in data.corpora.items()}


def _member(mixture: DataConfig, name: str, values: dict[str, Any]) -> Member:
    where = f"corpora.{shorten(name)}"
    choice, weight, tag = (values.pop(key, None) for key in ("choice", "weight", "tag"))
    weight = convert(weight, Weight | None, f"{where}.weight")
    tag = convert(tag, str | None, f"{where}.tag")
    if tag is not None and (not TAG.fullmatch(tag) or tag in RESERVED):
        raise UserError(f"{where}.tag: expected a word like <law>, in < and >, got {shorten(repr(tag))}")
    choices = sorted(file.stem for file in (config_directory() / "data").glob("[!_]*.yaml"))
    choices.remove("mixture")
    if choice not in choices:
        hint = did_you_mean(nearest(str(choice), choices))
        got = "nothing" if choice is None else shorten(str(choice))
        raise UserError(f"{where}.choice: expected one of {', '.join(choices)}, got {got}{hint}")
    known = {field.name for field in fields(DataConfig)}
    if unknown := next((key for key in values if key not in known), None):
        near = nearest(str(unknown), known | {"choice", "weight", "tag"})
        near = f"train.{unknown}" if unknown in ("source", "target") else near
        hint = did_you_mean(near, f"data.{where}")
        raise UserError(f"{where}.{shorten(unknown)}: unknown key{hint}")
    for key in ("source_language", "target_language"):
        language = getattr(mixture, key)
        if language not in (None, LANGUAGES_DIFFER):
            values.setdefault(key, language)
    return Member(to_section(overlaid(choice_of("data", choice), values), DataConfig, where), weight, tag)


def stages_of(data: DataConfig) -> list[Stage]:
    """The weights of a mixture by step, empty if sizes decide; raises ``UserError`` for wrong ones."""
    members = members_of(data)
    weights = {name: member.weight for name, member in members.items()}
    without = [name for name, weight in weights.items() if weight is None]
    if without and len(without) < len(members):
        raise UserError(f"corpora.{without[0]}.weight: give all corpora a weight, or none")
    if not data.stages:
        own = {} if without else {name: weight or 0.0 for name, weight in weights.items()}
        return [Stage(None, _summing(own, "corpora"))]
    if not without:
        raise UserError("stages: they have weights of their own; give the corpora none")
    found: list[Stage] = []
    for number, values in enumerate(data.stages):
        where = f"stages.{number}"
        if values.keys() - {"until", "weights"} or not isinstance(values.get("weights"), Mapping):
            raise UserError(f"{where}: expected until and weights, got {shorten(', '.join(values))}")
        until = convert(values.get("until"), Positive | None, f"{where}.until")
        given = convert(dict(values["weights"]), dict[str, Weight], f"{where}.weights")
        if unknown := next((name for name in given if name not in members), None):
            hint = did_you_mean(nearest(unknown, members))
            raise UserError(f"{where}.weights.{shorten(unknown)}: no such corpus{hint}")
        is_last = number == len(data.stages) - 1
        if (until is None) != is_last or (found and until is not None and until <= (found[-1].until or 0)):
            raise UserError(f"{where}.until: expected a later step in each stage, and none in the last one")
        found.append(Stage(until, _summing(given, f"{where}.weights")))
    return found


def _summing(weights: dict[str, float], where: str) -> dict[str, float]:
    if weights and not sum(weights.values()):
        raise UserError(f"{where}: the weights sum to nothing; give at least one corpus a weight above 0")
    return weights


def data_config(values: Mapping[str, Any]) -> DataConfig:
    """The ``data`` section from nested mappings. Raises ``UserError`` for a wrong one, with its path."""
    return to_section(values, DataConfig, "data")
