"""Reads pretrained models of others: Marian's, in the layout of Hugging Face or its own, and our own exports.

Nothing of them is run, and no weight is read before configuration and vocabulary are known to fit.
"""

import math
import pickle
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import huggingface_hub
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from translate.config.names import did_you_mean, nearest, shorten
from translate.errors import UserError
from translate.export.marian import DECODER, read_marian, read_vocabulary
from translate.models.embedding import SINUSOIDS, sinusoids
from translate.models.transformer_layer import ACTIVATIONS
from translate.search.ctranslate2.conversion import Refusals
from translate.text.bounded import read_bounded, read_json

WHO = "translate import"
ARCHITECTURES = {"marian": False, "pegasus": True}  # and whether norms come first
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
GENERATION = ("num_beams", "length_penalty", "early_stopping", "max_length")  # of their own file
FILES = ("*.json", "*.spm", "README.md")  # beside the weights
MAX_JSON = 1 << 26  # bytes; vocabularies have up to a few MiB
HUB_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
EXPECTED = f"a folder as the Hugging Face hub has it, with config.json, or Marian's, with {DECODER}"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
# Names that may be those of one matrix, of which a file then holds any.
TIED = ("model.shared.weight", "lm_head.weight")
EMBEDDINGS = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")


@dataclass(frozen=True)
class Pretrained:
    """A pretrained model in memory.

    Attributes:
        folder: of its files.
        config: the content of ``config.json``, ``generation_config.json`` and ``tokenizer_config.json``.
        tensors: by their names.
        file: of the weights.
        vocabularies: the files for source and target.
        known: options of the Transformer that ``config`` does not tell.
        origin: where it comes from, for the model card.
    """

    folder: Path
    config: Mapping[str, Any]
    tensors: dict[str, Tensor]
    file: Path
    vocabularies: Sequence[str]
    known: Mapping[str, Any]
    origin: str

    @property
    def tie(self) -> str:
        """The option ``tie`` of a Transformer."""
        shared = self.config.get("share_encoder_decoder_embeddings", True)
        if self.config.get("tie_word_embeddings", True):
            return "all" if shared else "target"
        return "none"

    @property
    def licence(self) -> str:
        """The licence that the model's card names."""
        try:
            text = read_bounded(self.folder / "README.md").decode("utf-8", "replace")
        except (FileNotFoundError, UserError):
            return "not named"
        found = re.search(r"^license: *(\S.*)$", text.partition("\n---\n")[0], re.MULTILINE)
        return found[1].strip() if found else "not named"

    def number(self, name: str, default: float | None = None) -> float:
        """A number of the configuration; raises ``UserError`` if it is none."""
        value = default if self.config.get(name) is None else self.config[name]
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise UserError(f"{self.folder}: {name}: expected a number, got {shorten(value)}")
        return value

    def aliases(self, name: str) -> tuple[str, ...]:
        """The names under which the file may hold the weights that the architecture calls ``name``."""
        if name == TIED[0]:
            return (*TIED, *EMBEDDINGS)
        if name not in EMBEDDINGS:
            return (name,)
        return (name, *TIED) if self.tie == "target" and name == EMBEDDINGS[1] else (name, TIED[0])

    def options(self) -> dict[str, Any]:
        """The options of the Transformer; raises ``UserError`` for one that it does not have."""
        config, refusals = self.config, Refusals(WHO)
        sizes = {}
        for size in ("attention_heads", "ffn_dim"):
            encoder, decoder = (self.number(f"{side}_{size}") for side in ("encoder", "decoder"))
            sizes[size] = encoder
            refusals.unless(encoder == decoder, f"decoder_{size}", decoder, f"the encoder's {encoder}")
        scaled = config.get("scale_embedding", False)
        refusals.unless(scaled is True, "scale_embedding", scaled, "true")
        function = str(config.get("activation_function")).replace("silu", "swish")
        refusals.unless(function in ACTIVATIONS, "activation_function", function, ", ".join(ACTIVATIONS))
        refusals.check()
        return {
            "width": self.number("d_model"),
            "feedforward_size": sizes["ffn_dim"],
            "num_heads": sizes["attention_heads"],
            **{name: self.number(name) for name in ("encoder_layers", "decoder_layers")},
            "dropout": self.number("dropout", 0.0),
            "feedforward_dropout": self.number("activation_dropout", 0.0),
            "feedforward": function,
            "tie": self.tie,
            "pre_norm": ARCHITECTURES[config["model_type"]],
            **self._positions(),
            **self.known,
        }

    def _positions(self) -> dict[str, Any]:
        """The kind of the positions, by their tables; files of Marian often have none."""
        if not all(name in self.tensors and self.tensors[name].dim() == 2 for name in POSITIONS):
            return {"positions": "marian"}
        tables = [self.tensors[name].float() for name in POSITIONS]
        for kind in SINUSOIDS:
            if all(_is_computed(table, kind) for table in tables):
                return {"positions": kind}
        if not any(table.any() for table in tables):
            return {"positions": "none"}
        return {"positions": "learned", "max_length": len(tables[1])}


def _is_computed(table: Tensor, kind: str) -> bool:
    length, width = table.shape
    computed = sinusoids(0, length, width, torch.device("cpu"), kind)
    return torch.allclose(table, computed, rtol=0, atol=1e-3)  # stored in 16 bits, perhaps


def read_pretrained(name: str) -> Pretrained:
    """Read a model, which is a folder, or is on the hub, whose files stay in the hub's own cache.

    Raises:
        UserError: if there is none, or none of the ``ARCHITECTURES``, or for a damaged file.
    """
    folder, origin = _find(name)
    if not (folder / "config.json").exists() and (folder / DECODER).exists():
        return Pretrained(folder, *read_marian(folder, WHO), origin)
    config = _read(folder / "config.json")
    kind = config.get("model_type")
    if kind not in ARCHITECTURES:
        names = config.get("architectures")
        named = f" ({shorten(names[0])})" if isinstance(names, list) and names else ""
        raise UserError(
            f"{name}: its architecture is {shorten(kind)}{named}; {WHO} reads {', '.join(ARCHITECTURES)}: "
            "Marian's models (OPUS-MT), and what translate export --format huggingface wrote"
        )
    for other in ("generation_config.json", "tokenizer_config.json"):
        if (folder / other).exists():
            values = _read(folder / other)
            first = set(GENERATION) & set(values) if other.startswith("generation") else set()
            config = {**values, **config, **{name: values[name] for name in first}}
    file = next((folder / file for file in WEIGHTS if (folder / file).is_file()), None)
    if file is None:
        raise UserError(f"{name}: no weights; expected {' or '.join(WEIGHTS)}")
    names = ["vocab.json", "target_vocab.json" if config.get("separate_vocabs") else "vocab.json"]
    return Pretrained(folder, config, _tensors(file), file, names, {}, origin)


def _find(name: str) -> tuple[Path, str]:
    """The folder of a model, and where it comes from."""
    folder = Path(name)
    if folder.is_dir():
        if not any((folder / file).is_file() for file in ("config.json", DECODER)):
            raise UserError(f"{name}: no model; expected {EXPECTED}")
        return folder, name
    if folder.exists():
        raise UserError(f"{name}: a file; expected {EXPECTED}")
    if not HUB_NAME.fullmatch(name):
        beside = [str(path) for path in folder.parent.iterdir()] if folder.parent.is_dir() else []
        hint = did_you_mean(nearest(name, beside))
        raise UserError(
            f"{name}: no such folder{hint}, and no name of the hub such as Helsinki-NLP/opus-mt-en-de"
        )
    try:
        found = Path(huggingface_hub.snapshot_download(name, allow_patterns=[*FILES, WEIGHTS[0]]))
        if not (found / WEIGHTS[0]).exists():
            found = Path(huggingface_hub.snapshot_download(name, allow_patterns=[*FILES, WEIGHTS[1]]))
    except Exception as error:  # it raises many kinds
        reason = shorten(error, 200)
        raise UserError(
            f"{name}: no such folder, not in the hub's cache on this machine, and the hub does not give it "
            f"({reason}); connect once, or give a folder"
        ) from error
    return found, f"https://huggingface.co/{name}, revision {found.name}"


def _read(path: Path) -> dict[str, Any]:
    values = read_json(path, limit=MAX_JSON, expected=EXPECTED)
    if not isinstance(values, dict):
        raise UserError(f"{path}: expected names and values, got {shorten(values)}")
    return values


def _tensors(file: Path) -> dict[str, Tensor]:
    """The weights of a file, mapped into memory where its format allows; no code of it is run."""
    try:
        if file.name == WEIGHTS[0]:
            return load_file(file)
        mapped = zipfile.is_zipfile(file)  # files before torch 1.6 are none
        found = torch.load(file, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"{file}: holds more than weights, and code of strangers is not run; expected tensors by name, "
            f"or {WEIGHTS[0]}"
        ) from error
    except (SafetensorError, OSError, RuntimeError, EOFError, ValueError, KeyError, MemoryError) as error:
        raise UserError(f"{file}: damaged or cut short ({shorten(error)})") from error
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise UserError(f"{file}: expected tensors by name")
    return found


def vocabulary_file(path: Path) -> dict[str, int]:
    """The id of each piece; raises ``UserError`` if the file is missing or is no vocabulary."""
    ids = _read(path) if path.suffix == ".json" else read_vocabulary(path)
    if not ids or not all(type(number) is int and number >= 0 for number in ids.values()):
        raise UserError(f"{path}: expected pieces with their numbers")
    return ids
