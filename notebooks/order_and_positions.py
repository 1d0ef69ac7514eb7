# %% [markdown]
# # Order, and who knows of it
#
# An RNN reads its source in order. Attention does not: it is a function of a **set**. Vaswani et al. (2017) add
# positions for that reason. We show, rather than claim, what each kind of attention knows of order.
#
# No trained model is needed.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from translate import attention

torch.manual_seed(2)
torch.set_grad_enabled(False)
out = Path(os.environ.get("TRANSLATE_OUT") or tempfile.mkdtemp())
width, length = 16, 9
states = torch.randn(1, length, width)  # (B, S, width): nine words
order = torch.randperm(length)


def attend(mechanism: torch.nn.Module, states: torch.Tensor) -> torch.Tensor:
    """Self-attention: the states are queries, keys and values."""
    context, _ = mechanism(states, mechanism.prepare(states))
    return context


# %% [markdown]
# ## Permute the words, and the answers are permuted
#
# Formally, self-attention $f$ is equivariant: $f(Px) = P f(x)$ for every permutation $P$. So *the dog bites the man* and
# *the man bites the dog* have the same states, in another order. Multi-head attention without positions is of this kind.

# %%
plain = attention.create("multi_head", query_size=width, key_size=width, num_heads=8)
difference = attend(plain, states[:, order]) - attend(plain, states)[:, order]
print("multi_head:", float(difference.abs().max()))
assert torch.allclose(attend(plain, states[:, order]), attend(plain, states)[:, order], atol=1e-5)

# %% [markdown]
# ## Three ways to tell it
#
# ALiBi (Press et al. 2022) subtracts a slope times the distance from the scores; T5 (Raffel et al. 2020) learns a bias for
# each bucket of distances; a window (Beltagy et al. 2020) hides what is far. None of them is equivariant, but all are
# **translation-invariant**: only distances count.

# %%
kinds = {"alibi": {}, "relative_bias": {}, "sliding_window": {"window": 2}}
mechanisms = {"multi_head": plain}
for name, options in kinds.items():
    mechanisms[name] = mechanism = attention.create(
        name, query_size=width, key_size=width, num_heads=8, **options
    )
    for parameter in mechanism.parameters():
        if not parameter.any():  # what is learned from zero on, such as the biases of distances
            parameter.normal_()
    difference = attend(mechanism, states[:, order]) - attend(mechanism, states)[:, order]
    print(f"{name}:", round(float(difference.abs().max()), 3))
    assert difference.abs().max() > 1e-3

# %% [markdown]
# Their weights, the mean of 500 sentences of random words, first head. What the words say averages out; what remains is
# what the mechanism knows of positions.

# %%
many = torch.randn(500, length, width)
figure, axes = plt.subplots(1, len(mechanisms), figsize=(10, 2.9), layout="constrained")
for axis, (name, mechanism) in zip(axes, mechanisms.items(), strict=True):
    _, weights = mechanism(many, mechanism.prepare(many), need_weights=True)  # (B, H, T, S)
    picture = axis.imshow(weights[:, 0].mean(0), vmin=0, vmax=0.4, cmap="gray_r")
    axis.set(title=name, xlabel="key", ylabel="query")
figure.colorbar(picture, ax=axes, label="weight")
figure.savefig(out / "positions.png", dpi=150)

# %% [markdown]
# ## Turning, instead of adding
#
# Rotary positions (Su et al. 2021) turn each pair of a query's and a key's numbers by an angle that grows with the
# position. The product of two turned vectors depends on the **difference** of their angles alone. By hand, for one pair:

# %%


def turn(pair: torch.Tensor, position: float, speed: float = 0.5) -> torch.Tensor:
    angle = torch.tensor(position * speed)
    matrix = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
    return matrix @ pair


query, key = torch.randn(2), torch.randn(2)
near = [float(turn(query, position + 3) @ turn(key, position)) for position in range(10)]
assert max(near) - min(near) < 1e-5
print("three words apart, at ten places:", [round(score, 3) for score in near])

# %% [markdown]
# The same scores by sinusoids that are added, as in Vaswani et al. (2017): the product of two positions also depends on
# their distance only, and falls with it, before the projections of a layer mix words and positions.

# %%
positions, speeds = torch.arange(60.0)[:, None], 10_000 ** (-torch.arange(0, 64, 2) / 64)
angles = positions * speeds
sinusoids = torch.cat([angles.sin(), angles.cos()], dim=-1)  # (60, 64)
products = sinusoids @ sinusoids.T
assert torch.allclose(products.diagonal(7), products[0, 7].expand(53), atol=1e-3)
figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
axis.plot(products[30] / products[30, 30])
axis.set(xlabel="position", ylabel="product with position 30", title="sinusoidal positions")
figure.savefig(out / "sinusoids.png", dpi=150)

# %% [markdown]
# ## And the decoder?
#
# A causal mask hides the words to come, so the first word sees one key and the last sees all: even without positions, a
# masked layer can count. Between source and target nothing of this exists, which is why `model.positions=rotary` and
# `sinusoidal` reach both sides, and why cross-attention alone must find the order of the words in their states.
