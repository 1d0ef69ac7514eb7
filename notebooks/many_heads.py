# %% [markdown]
# # Many heads, and what they do
#
# One softmax gives one average. Vaswani et al. (2017) let several look at once, each in a narrow space of its own, and joined
# what they found. Which of them are needed, and for what? Voita et al. (2019) and Michel et al. (2019) took heads away from
# trained models and found that most were not missed. We do the same.
#
# The model is the Transformer of `make demo`; set `TRANSLATE_RUN` to use another run of the embedded corpus.

# %%
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

import translate
from translate.alignment.methods import attention_heads
from translate.attention import Attention
from translate.config.data import data_config
from translate.corpora.corpus import load_corpus
from translate.links.links import parse_gold
from translate.text.tokenizer import BOS, EOS, PAD

folders = [Path.cwd(), *Path.cwd().parents]
clone = next((folder for folder in folders if (folder / "pyproject.toml").exists()), folders[0])
run = clone / os.environ.get("TRANSLATE_RUN", "runs/demo/transformer")
if not run.exists():
    raise SystemExit(f"{run} does not exist; `make demo` trains it in a few minutes")
out = Path(os.environ.get("TRANSLATE_OUT", run))
translator = translate.load(run, device="cpu")
model = translator.model.eval()
torch.set_grad_enabled(False)
# Sentences of the embedded corpus, with the links between their words.
corpus = data_config({"name": "grammar", "kind": "grammar", "num_train": 1, "num_test": 120, "seed": 3})
test = load_corpus(corpus).test
assert test is not None
assert test.gold is not None
pairs = translator.encode_pairs(test.source, test.target, whitespace=True)
len(pairs), test.source[0], test.target[0]

# %% [markdown]
# ## The output is a sum over heads
#
# The paper concatenates what the heads found and multiplies by a matrix. That is the same as giving each head its own block
# of the matrix and adding up: $\sum_h W_h \sum_s a_{hs}\, v_{hs}$. So the part of each head can be told apart, and taken away.

# %%
cross = model.source_attention(0)
encoded = model.encode(torch.tensor([pairs[0].source_ids]), None)
query = torch.randn(1, 4, cross.query_size)
context, weights = cross(query, encoded.memories[0], need_weights=True)  # weights: (B, H, T, S)
parts = weights @ cross.transformed_values(encoded.memories[0])  # (B, H, T, width)
assert torch.allclose(parts.sum(1) + cross.output_projection.bias, context, atol=1e-4)
print(f"{parts.shape[1]} parts, whose sum is the output")

# %% [markdown]
# ## Every head, one sentence

# %%
sentence, translation = "she does not like the green apples .", "elle n' aime pas les pommes vertes ."
pair = translator.encode_pair(sentence, translation, whitespace=True)
heads = attention_heads(model, pair, translator.choice.shift)  # (layers, heads, target words, source words)
figure, axes = plt.subplots(*heads.shape[:2], figsize=(10, 5.2), layout="constrained", squeeze=False)
for (layer, head), axis in np.ndenumerate(axes):
    picture = axis.imshow(heads[layer, head], vmin=0, vmax=1, cmap="gray_r")
    axis.set_title(f"layer {layer}, head {head}", fontsize=9)
    axis.set_xticks(range(heads.shape[3]), pair.source_words, rotation=90, fontsize=7)
    axis.set_yticks(range(heads.shape[2]), pair.target_words if head == 0 else [], fontsize=7)
figure.colorbar(picture, ax=axes, label="weight")
figure.savefig(out / "every-head.png", dpi=150)

# %% [markdown]
# ## Which of them align words?
#
# For the target words that have known links: the weight that a head puts on the words that they translate, against the
# spread of its weights (the entropy, as a share of the largest possible one). A head at the top left knows what it translates;
# one at the right averages over the sentence. The demo teaches head 0 of layer 1 by guided alignment; the others found their
# own ways.

# %%
on_links, spread = [], []
for pair, links in zip(pairs, test.gold, strict=True):
    heads = attention_heads(model, pair, translator.choice.shift)
    known = np.zeros(heads.shape[2:], dtype=bool)
    for source, target in parse_gold(links, where="gold").sure:
        known[target, source] = True
    linked = heads[:, :, known.any(1)]  # (layers, heads, linked words, S)
    on_links.append((linked * known[known.any(1)]).sum(-1).mean(-1))
    entropy = -(linked * np.log(np.maximum(linked, 1e-9))).sum(-1) / np.log(linked.shape[-1])
    spread.append(entropy.mean(-1))
known_share, spread_share = np.mean(on_links, axis=0), np.mean(spread, axis=0)  # (layers, heads)
figure, axis = plt.subplots(figsize=(5, 3.6), layout="constrained")
for (layer, head), share in np.ndenumerate(known_share):
    axis.scatter(spread_share[layer, head], share, color=f"C{layer}")
    axis.annotate(f" {layer}.{head}", (spread_share[layer, head], share), fontsize=9)
axis.set(xlabel="spread of the weights", ylabel="weight on known links", xlim=(0, 1), ylim=(0, 1))
figure.savefig(out / "known-links.png", dpi=150)
best = np.unravel_index(known_share.argmax(), known_share.shape)
print("layer and head with the most weight on links:", *best, "chosen by calibration:", translator.choice)

# %% [markdown]
# ## Take one away
#
# A head is off when its block of the matrix is zero. We measure by how much the translation of the corpus becomes less
# probable (nats a piece), for the attention within the source, within the target, and from target to source.

# %%
longest = [
    max(len(ids) for ids in side) for side in zip(*((p.source_ids, p.target_ids) for p in pairs), strict=True)
]
source = torch.tensor([list(p.source_ids) + [PAD] * (longest[0] - len(p.source_ids)) for p in pairs])
target_in = torch.tensor([[BOS, *p.target_ids] + [PAD] * (longest[1] - len(p.target_ids)) for p in pairs])
wanted = torch.tensor([[*p.target_ids, EOS] + [PAD] * (longest[1] - len(p.target_ids)) for p in pairs])


def loss() -> float:
    """Nats a piece of the right translations."""
    logits = model.logits(model(source, source != PAD, target_in))
    return float(torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=PAD))


@contextmanager
def without(attention: Attention, head: int) -> Iterator[None]:
    """The model without a head."""
    block = attention.output_projection.weight[
        :, head * attention.head_size : (head + 1) * attention.head_size
    ]
    kept = block.clone()
    block.zero_()
    try:
        yield
    finally:
        block.copy_(kept)


kinds = {
    "within the source": [layer.self_attention for layer in model.encoder],
    "within the target": [layer.self_attention for layer in model.decoder],
    "to the source": [layer.source_attention for layer in model.decoder],
}
whole = loss()
missed = {}
for kind, layers in kinds.items():
    for layer, attention in enumerate(layers):
        for head in range(attention.num_heads):
            with without(attention, head):
                missed[kind, layer, head] = loss() - whole
assert loss() == whole
figure, axes = plt.subplots(1, len(kinds), figsize=(10, 2.8), sharey=True, layout="constrained")
for axis, (kind, layers) in zip(axes, kinds.items(), strict=True):
    for layer, attention in enumerate(layers):
        places = np.arange(attention.num_heads) + 0.4 * layer - 0.2
        values = [missed[kind, layer, head] for head in range(attention.num_heads)]
        axis.bar(places, values, width=0.38, color=f"C{layer}", label=f"layer {layer}")
    axis.set(title=kind, xlabel="head", xticks=range(attention.num_heads))
axes[0].set_ylabel("loss that it adds")
axes[0].legend()
figure.savefig(out / "missed.png", dpi=150)
print(
    f"the loss is {whole:.3f} with all heads; median of one head taken away: +{np.median(list(missed.values())):.3f}"
)

# %% [markdown]
# ## Take more away
#
# One after another, those that were missed least first. If heads were equally important, the curve would rise from the
# start.

# %%
order = sorted(missed, key=missed.__getitem__)
curve = [whole]
with ExitStack() as stack:
    for kind, layer, head in order:
        stack.enter_context(without(kinds[kind][layer], head))
        curve.append(loss())
assert loss() == whole
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(range(len(curve)), curve, marker="o")
axis.set(xlabel="heads taken away", ylabel="loss, nats a piece", ylim=(0, None))
figure.savefig(out / "fewer-heads.png", dpi=150)

# %% [markdown]
# ## So?
#
# In the demo's model one head is missed by far the most, head 0 of layer 1, which aligns words; nearly as a model of Bahdanau's
# has one attention. The median head costs a twentieth of that, and five of twenty-four can go before anybody notices. That
# agrees with the papers: a few heads have a job of their own, and the rest stand in for each other. It is no proof that a
# smaller model would have learnt the same, since what is not needed at the end may be needed on the way.
#
# `translate align heads RUN SENTENCE --out heads.png` draws the first picture for any run, `translate align calibrate` chooses
# the heads that align words, and [how far to trust them](how_far_to_trust.ipynb) is a chapter of its own.
