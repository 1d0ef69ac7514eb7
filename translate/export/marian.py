"""Reads Marian's own files: an unpacked release of OPUS-MT or of the Tatoeba challenge.

They become what the hub has of such a model: its names, and matrices of (outputs, inputs). Marian's decoder
starts from a vector of zeros, and Marian has no padding. Both are row 0 here; all pieces stand one row later.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.nn.functional import pad

from translate.config.names import shorten
from translate.errors import UserError
from translate.search.ctranslate2.conversion import Refusals
from translate.text.bounded import check_regular, explained, parse_yaml, read_bounded, read_yaml
from translate.text.tokenizer import MAX_MODEL_BYTES

DECODER = "decoder.yml"
SETTINGS = "special:model.yml"  # in the .npz, beside the weights
LISTED = re.compile(r"(.+): +([0-9]{1,9})")  # a piece and its number
NEVER = -100.0  # the bias of pieces that the pretrained model does not have; finite, for label smoothing
# How Marian's names become those of the hub, one change after the other.
RENAMED: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"^Wemb$", "model.shared.weight"),
    (r"^decoder_ff_logit_out_Wt?$", "lm_head.weight"),
    (r"^decoder_ff_logit_out_b$", "final_logits_bias"),
    (r"^(encoder|decoder)_", r"model.\1."),
    (r"\.Wemb$", ".embed_tokens.weight"),
    (r"\.l(\d+)_", lambda found: f".layers.{int(found[1]) - 1}."),
    (r"_W([qkvo12])$", r"_\1.weight"),
    (r"_b([qkvo12])$", r"_\1.bias"),
    (r"_ln_scale(_pre)?$", "_layer_norm.weight"),
    (r"_ln_bias(_pre)?$", "_layer_norm.bias"),
    (r"\.top_", "."),
    (r"\.context_", ".encoder_"),
    (r"_Wo_layer", "_attn_layer"),
    (r"\.ffn_ffn_", ".final_"),
    (r"\.ffn_([12])", r".fc\1"),
    (r"_([qkv])\.", r"_attn.\1_proj."),
    (r"_o\.", "_attn.out_proj."),
)
# Marian's settings that its names do not show, with the values that a Transformer here can have; the first is
# the default. Marian's gelu is x sigmoid(1.702 x).
KNOWN: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-activation": ("swish", "relu"),
    "transformer-postprocess-emb": ("d", ""),
    "right-left": (False,),
    "word-penalty": (0,),
}
OPERATIONS = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
NORMS = {"/dan/": False, "n/da/n": True}  # by these operations; and whether they come first


def read_marian(folder: Path, who: str) -> tuple[Any, dict[str, Tensor], Path, list[str], dict[str, Any]]:
    """Read the model that ``decoder.yml`` names, with its beam and normalisation.

    Args:
        folder: of the files.
        who: refuses other models, for the message.

    Returns:
        Configuration, weights, their file, names of the vocabularies and further options, for ``Pretrained``.

    Raises:
        UserError: for a file that is missing or damaged, or a model that is not a Transformer as ours.
    """
    decoder = read_yaml(folder / DECODER)
    lists = [decoder.get(key) for key in ("models", "vocabs")] if isinstance(decoder, dict) else []
    names = [Path(str(name)).name for listed in lists if isinstance(listed, list) for name in listed]
    if [Path(name).suffix.replace(".vocab", ".yml") for name in names] != [".npz", ".yml", ".yml"]:
        raise UserError(f"{folder / DECODER}: expected one .npz and two .yml or .vocab, got {shorten(names)}")
    file = folder / names[0]
    model, tensors = _weights(file)
    refusals = Refusals(who)
    for name, values in KNOWN.items():
        value = model.get(name, decoder.get(name, values[0]))
        refusals.unless(value in values, name, shorten(value), " or ".join(map(str, values)))
    norms = "/".join(str(model.get(name, "")) for name in OPERATIONS)
    refusals.unless(norms in NORMS, "/".join(OPERATIONS), shorten(norms), " or ".join(NORMS))
    refusals.check()
    shared = tensors.get("model.shared.weight", torch.empty(0))
    sizes = [len(tensors.get(f"model.{side}coder.embed_tokens.weight", shared)) for side in ("en", "de")]
    config = {
        "model_type": "marian",
        "scale_embedding": True,
        "dropout": 0.1,  # Marian stores none
        "early_stopping": True,  # it ends a beam when as many hypotheses have ended as it is wide
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "d_model": model.get("dim-emb"),
        "encoder_layers": model.get("enc-depth"),
        "decoder_layers": model.get("dec-depth"),
        **{f"{side}_attention_heads": model.get("transformer-heads") for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": model.get("transformer-dim-ffn") for side in ("encoder", "decoder")},
        "activation_function": model.get("transformer-ffn-activation", "swish"),
        "share_encoder_decoder_embeddings": len(shared) > 0,
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        "pad_token_id": 0,
        "decoder_start_token_id": 0,
        "unk_token": "<unk>",
        "num_beams": decoder.get("beam-size", 12),  # as marian-decoder
        "length_penalty": decoder.get("normalize", 0.0),
    }
    # transformers and CTranslate2 compute Marian's positions with other wave lengths.
    return config, tensors, file, names[1:], {"pre_norm": NORMS[norms], "positions": "sinusoidal"}


def _weights(file: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The settings and the weights of an ``.npz``; nothing pickled is read."""
    tensors: dict[str, Tensor] = {}
    try:
        check_regular(file)
        with numpy.load(file, allow_pickle=False) as archive:
            if any(entry.compress_type for entry in archive.zip.infolist()):
                raise ValueError("it is compressed")  # few bytes may become terabytes
            text = archive[SETTINGS].tobytes().partition(b"\0")[0].decode("utf-8")
            settings = dict(parse_yaml(text, file))
            for own in {*archive.files} - {SETTINGS}:
                name, array = own, archive[own]
                if array.dtype.kind != "f":
                    raise ValueError(f"{own} holds {array.dtype}")
                for pattern, new in RENAMED:
                    name = re.sub(pattern, new, name)
                kept = own.endswith(("Wemb", "_b", "_Wt"))
                tensor = torch.from_numpy(array if kept else array.T.squeeze())
                if own.endswith(("Wemb", "_W", "_Wt")):
                    tensor = pad(tensor, (0, 0, 1, 0))
                elif own.endswith("_b"):
                    tensor = pad(tensor, (1, 0), value=NEVER)
                tensors[name] = tensor
    except Exception as error:  # numpy and zipfile raise many kinds
        raise UserError(f"{file}: missing, damaged or not Marian's ({shorten(error)})") from error
    return settings, tensors


def read_vocabulary(path: Path) -> dict[str, int]:
    """The row of each piece: of lines ``piece: number``, or of a ``.vocab`` of pieces alone.

    A parser of YAML cannot read it: U+0085 and U+2028, which may be pieces, would end a line.
    """
    rows = {}
    with explained(f"{path}: no vocabulary", FileNotFoundError, UnicodeDecodeError):
        lines = read_bounded(path, limit=MAX_MODEL_BYTES).decode("utf-8").replace("\r\n", "\n").split("\n")
        for number, line in enumerate(dict.fromkeys(filter(None, lines))):
            found = LISTED.fullmatch(line if path.suffix == ".yml" else f"{line}: {number}")
            if found is None:
                raise UserError(f"{path}: expected a piece and its number, got {shorten(line)!r}")
            quoted = path.suffix == ".yml" and line[0] in "\"'"
            rows[str(parse_yaml(found[1], path)) if quoted else found[1]] = int(found[2]) + 1
    return rows | {"<pad>": 0}
