# %% [markdown]
# # Dot products, their scale and their masks
#
# How well does a key fit a query? Bahdanau et al. (2015) asked a small network. Luong et al. (2015) showed that a **dot
# product** will do, which is one matrix product for all pairs, and Vaswani et al. (2017) divided it by $\sqrt{d}$. This
# chapter computes each by hand, shows what the division is for, and what a mask has to do.
#
# No trained model is needed.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from translate import attention
from translate.attention.functional import masked_softmax

torch.manual_seed(5)
torch.set_grad_enabled(False)
out = Path(os.environ.get("TRANSLATE_OUT") or tempfile.mkdtemp())

# %% [markdown]
# ## Four scores
#
# For a query $q$ and a key $k$: `dot` $q^\top k$; `general` $q^\top W k$, when both live in different spaces; `concat`
# $v^\top \tanh(W[q;k])$, Bahdanau's score in Luong's words; and `scaled_dot`, $(W_q q)^\top (W_k k) / \sqrt d$. By hand, and by
# the mechanisms:

# %%
width, S, T = 16, 7, 3
query, states = torch.randn(1, T, width), torch.randn(1, S, width)
q, k = query[0], states[0]
made = {
    name: attention.create(name, query_size=width, key_size=width)
    for name in ("dot", "general", "concat", "scaled_dot")
}
scaled, concat = made["scaled_dot"], made["concat"]
to_keys, to_values = scaled.key_value_projection.weight.chunk(2)
by_hand = {
    "dot": q @ k.T,
    "general": q @ made["general"].key_projection.weight @ k.T,
    "concat": torch.tanh(
        (q @ concat.query_projection.weight.T)[:, None] + (k @ concat.key_projection.weight.T)[None]
    )
    @ concat.direction,
    "scaled_dot": (q @ scaled.query_projection.weight.T) @ (k @ to_keys.T).T / width**0.5,
}
for name, mechanism in made.items():
    scores = mechanism.scores(query, mechanism.prepare(states))[0, 0]  # (T, S)
    difference = float((scores - by_hand[name]).abs().max())
    print(f"{name:10}  largest difference {difference:.1e}")
    assert difference < 1e-4

# %% [markdown]
# `dot` has nothing to learn and needs states of one width; `concat` holds a hidden layer for every pair of words, which is
# why it is slower. The other three are matrix products.
#
# ## Why divide by $\sqrt d$?
#
# If the numbers of a query and a key are independent with variance 1, their product is a sum of $d$ terms and has variance
# $d$. So the wider the vectors, the farther apart the scores:

# %%
widths = [2**power for power in range(2, 11)]
num_keys, num_queries = 10, 2000
samples = {}
for d in widths:
    queries, keys = torch.randn(num_queries, 1, d), torch.randn(num_queries, num_keys, d)
    samples[d] = (queries @ keys.mT).squeeze(1)  # (queries, keys)
    assert abs(float(samples[d].var()) / d - 1) < 0.1
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for d in (4, 64, 1024):
    axis.hist(
        samples[d].flatten().numpy(), bins=80, range=(-80, 80), density=True, alpha=0.6, label=f"d = {d}"
    )
axis.set(xlabel="q · k", ylabel="density", yscale="log")
axis.legend()
figure.savefig(out / "scores.png", dpi=150)

# %% [markdown]
# A softmax of scores that far apart is nearly a choice of one key, before anything has been learnt. That would not be bad in
# itself, but a softmax that has chosen passes hardly any gradient: its derivative is $\mathrm{diag}(a) - a a^\top$, which is zero
# where $a$ is 0 or 1. On the left the largest of ten weights, on the right the size of the derivative (its Frobenius norm).

# %%


def derivative(weights: torch.Tensor) -> torch.Tensor:
    """The derivative of a softmax that gave the weights: (..., S) -> (..., S, S)."""
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
sizes: dict[str, list[float]] = {}
for name, scale in (("as it is", 0.0), ("divided by √d", -0.5)):
    weights = [torch.softmax(samples[d] * d**scale, -1) for d in widths]
    sizes[name] = [float(derivative(one).norm(dim=(-2, -1)).mean()) for one in weights]
    axes[0].plot(widths, [float(one.max(-1).values.mean()) for one in weights], marker="o", label=name)
    axes[1].plot(widths, sizes[name], marker="o", label=name)
axes[0].set(xlabel="width d", ylabel="largest weight", xscale="log", ylim=(0, 1))
axes[1].set(xlabel="width d", ylabel="size of the derivative", xscale="log", ylim=(0, None))
axes[0].legend()
figure.savefig(out / "scale.png", dpi=150)
assert sizes["as it is"][-1] < 0.5 * sizes["divided by √d"][-1]
assert max(sizes["divided by √d"]) < 1.2 * min(sizes["divided by √d"])

# %% [markdown]
# Divided by $\sqrt d$, the scores have variance 1 at any width. A model can still learn to choose, by longer queries and keys;
# it need not start there. In a head, $d$ is the width of the head, not of the model.
#
# ## Masks
#
# Not every key is for every query: padding is no word, a decoder must not read the word that it is to write, and a window
# keeps to the neighbours. A hidden key gets a score of $-\infty$, so the softmax shares everything among the rest.

# %%
length = 9
words = torch.randn(1, length, width)
heads = {"num_heads": 1}
kinds = {
    "all": attention.create("multi_head", query_size=width, key_size=width, **heads),
    "padding": attention.create("multi_head", query_size=width, key_size=width, **heads),
    "causal": attention.create("multi_head", query_size=width, key_size=width, causal=True, **heads),
    "window": attention.create("sliding_window", query_size=width, key_size=width, window=2, **heads),
}
padded = torch.arange(length)[None] < 6  # (1, S), True = visible
figure, axes = plt.subplots(1, len(kinds), figsize=(10, 2.8), layout="constrained")
shown = {}
for axis, (name, mechanism) in zip(axes, kinds.items(), strict=True):
    mechanism.load_state_dict(kinds["all"].state_dict())
    memory = mechanism.prepare(words, padded if name == "padding" else None)
    _, weights = mechanism(words, memory, need_weights=True)
    shown[name] = weights[0, 0]  # (T, S)
    picture = axis.imshow(shown[name], vmin=0, vmax=1, cmap="gray_r")
    axis.set(title=name, xlabel="key", ylabel="query", xticks=range(0, 9, 2))
    assert torch.allclose(shown[name].sum(-1), torch.ones(length), atol=1e-5)
figure.colorbar(picture, ax=axes, label="weight")
figure.savefig(out / "masks.png", dpi=150)
assert float(shown["causal"].triu(1).max()) == 0.0
assert float(shown["padding"][:, 6:].max()) == 0.0

# %% [markdown]
# The causal mask is what lets a decoder train on all positions of a sentence at once: each sees what it would see if the
# sentence ended there.

# %%
causal = kinds["causal"]
whole = causal.attend_self(words)
for end in range(1, length + 1):
    assert torch.allclose(causal.attend_self(words[:, :end])[:, -1], whole[:, end - 1], atol=1e-5)
print("every prefix alone gives what it gives within the sentence")

# %% [markdown]
# ## Two mistakes that are easy to make
#
# **Hiding after the softmax.** Weights that are set to zero afterwards no longer sum to one, and what is hidden still counts,
# in the sum below the fraction. If the padding changes, so must the answer:

# %%
scores = torch.randn(1, 6)
visible = torch.tensor([[True, True, True, True, False, False]])
louder = scores + 3 * ~visible  # another padding
before = [masked_softmax(one, visible) for one in (scores, louder)]
after = [torch.softmax(one, -1) * visible for one in (scores, louder)]
print("hidden before:", float(before[0].sum()), "and", float(before[1].sum()))
print("hidden after: ", round(float(after[0].sum()), 2), "and", round(float(after[1].sum()), 2))
assert torch.equal(before[0], before[1])
assert not torch.allclose(after[0], after[1], atol=0.01)

# %% [markdown]
# **A row in which everything is hidden.** A softmax of nothing but $-\infty$ is 0/0, and one NaN in a batch of a thousand
# sentences ends the training. Here such a row gives zeros, and zeros give no gradient:

# %%
nothing = torch.zeros(1, 6, dtype=torch.bool)
naive = torch.softmax(scores.masked_fill(~nothing, float("-inf")), -1)
print("naive:", naive[0, 0].item(), " here:", masked_softmax(scores, nothing)[0, 0].item())
assert naive.isnan().all()
assert not masked_softmax(scores, nothing).any()

# %% [markdown]
# `model/attention=dot`, `general`, `concat` or `scaled_dot` with `model=rnn_luong` trains with either score, and
# [the mechanisms](../docs/mechanisms.md#what-they-learn) lists what they learn. Several scaled dot products side by side are
# the [heads](many_heads.ipynb) of the Transformer.
