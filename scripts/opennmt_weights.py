"""What `translate export --format huggingface` wrote of a Transformer, as a checkpoint of OpenNMT-py.

    python scripts/opennmt_weights.py EXPORTED TEMPLATE.pt OUT.pt --tokenizer RUN/tokenizer

TEMPLATE is a checkpoint of a model of the same sizes that OpenNMT-py has trained, for a step or more. It has
norms before the parts, sinusoids, ReLU and tied embeddings; the export must be Pegasus with ReLU. There, a
source line needs `</s>` at its end, since our models are trained to read one.
"""

import argparse
import json
import re
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from translate.text.tokenizer import BOS, EOS, PAD, UNK, TokenizerPair

SPECIAL = {UNK: "<unk>", PAD: "<blank>", BOS: "<s>", EOS: "</s>"}  # in the order of OpenNMT-py
NAMES = (
    (r"^model\.", ""),
    (r"^encoder\.layers", "encoder.transformer"),
    (r"^decoder\.layers", "decoder.transformer_layers"),
    (r"(encoder.*)\.self_attn_layer_norm", r"\1.layer_norm"),
    (r"(decoder.*)\.self_attn_layer_norm", r"\1.layer_norm_1"),
    (r"\.encoder_attn_layer_norm", ".layer_norm_2"),
    (r"\.encoder_attn", ".context_attn"),
    (r"\.q_proj", ".linear_query"),
    (r"\.k_proj", ".linear_keys"),
    (r"\.v_proj", ".linear_values"),
    (r"\.out_proj", ".final_linear"),
    (r"\.fc(\d)", r".feed_forward.w_\1"),
    (r"\.final_layer_norm", ".feed_forward.layer_norm"),
)


def convert(exported: Path, tokenizer: Path, template: Path, out: Path) -> Path:
    """Put exported weights into a checkpoint of OpenNMT-py.

    Args:
        exported: folder of the Hugging Face export.
        tokenizer: the `tokenizer` folder of the run.
        template: of a model of the same sizes.
        out: where the checkpoint is written.
    Raises:
        ValueError: if OpenNMT-py has no such model, or the template is of other sizes.
    """
    config = json.loads((exported / "config.json").read_text(encoding="utf-8"))
    kind = config["architectures"][0], config["activation_function"]
    if kind != ("PegasusForConditionalGeneration", "relu"):
        raise ValueError(f"{exported}: {' with '.join(kind)}, expected Pegasus with relu")
    checkpoint = torch.load(template, map_location="cpu", weights_only=False)
    options = checkpoint["opt"]
    if options.heads != config["encoder_attention_heads"]:
        raise ValueError(f"{template}: it has {options.heads} heads, {exported} another number")
    weights = load_file(exported / "model.safetensors")
    target = TokenizerPair.load(tokenizer).target
    order = [*SPECIAL, *(each for each in range(len(target)) if each not in SPECIAL)]
    embedding = weights.pop("model.shared.weight")[order]
    bias = weights.pop("final_logits_bias")[0][order]
    new = {_name(name): each for name, each in weights.items() if "embed_positions" not in name}
    for side in ("encoder", "decoder"):
        place = f"{side}.embeddings.make_embedding"
        new[f"{place}.emb_luts.0.weight"] = embedding
        table, own = checkpoint["model"][f"{place}.pe.pe"], weights[f"model.{side}.embed_positions.weight"]
        table[: len(own), 0] = own[: len(table)]
        new[f"{place}.pe.pe"] = table
    _replace(checkpoint["model"], new, template)
    _replace(checkpoint["generator"], {"weight": embedding, "bias": bias}, template)
    pieces = [SPECIAL.get(each) or target.pieces([each])[0] for each in order]
    checkpoint["vocab"] |= {"src": pieces, "tgt": pieces}
    torch.save(checkpoint, out)
    return out


def _name(name: str) -> str:
    for pattern, replacement in NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def _replace(old: dict[str, Tensor], new: dict[str, Tensor], template: Path) -> None:
    there, here = ({name: tuple(each.shape) for name, each in side.items()} for side in (old, new))
    if there != here:
        name = min(there.items() ^ here.items())[0]
        raise ValueError(f"{template}: {name} is {there.get(name)} there, {here.get(name)} in the export")
    old.update(new)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("exported", type=Path, metavar="EXPORTED")
    parser.add_argument("template", type=Path, metavar="TEMPLATE.pt")
    parser.add_argument("out", type=Path, metavar="OUT.pt")
    parser.add_argument("--tokenizer", type=Path, required=True, help="folder `tokenizer` of the run")
    options = parser.parse_args()
    print(convert(options.exported, options.tokenizer, options.template, options.out))


if __name__ == "__main__":
    main()
