# %% [markdown]
# # Linear attention, or a memory that is written and read
#
# Softmax attention keeps every key and compares each query with all of them. Katharopoulos et al. (2020) replace the
# exponential by features $\phi$ of query and key. Then the sum over the keys does not depend on the query, and can be
# **written once** into a matrix of constant size: attention becomes a memory. We build it by hand, check it against
# `translate.attention`, and see what it forgets and how the delta rule (Schlag et al. 2021) mends that.
#
# No trained model is needed.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from translate import attention

torch.manual_seed(1)
torch.set_grad_enabled(False)
out = Path(os.environ.get("TRANSLATE_OUT") or tempfile.mkdtemp())

# %% [markdown]
# ## The same sum, in two orders
#
# With $\phi(x) = \mathrm{elu}(x) + 1$ the context of query $q$ is
#
# $$\frac{\sum_j \phi(q)^\top \phi(k_j)\, v_j}{\sum_j \phi(q)^\top \phi(k_j)}
#   = \frac{\left(\sum_j v_j \phi(k_j)^\top\right) \phi(q)}{\left(\sum_j \phi(k_j)\right)^\top \phi(q)}.$$
#
# On the left a weight for each key; on the right a matrix $W = \sum_j v_j \phi(k_j)^\top$ and a vector, whatever the
# number of keys.

# %%
width, length = 8, 12
keys, values, queries = torch.randn(length, width), torch.randn(length, width), torch.randn(5, width)


def features(states: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.elu(states) + 1


weights = features(queries) @ features(keys).T  # (T, S): the left side
weights = weights / weights.sum(-1, keepdim=True)
written, total = (
    values.T @ features(keys),
    features(keys).sum(0),
)  # W (E, F) and its divisor (F): the right side
read = (features(queries) @ written.T) / (features(queries) @ total)[:, None]
assert torch.allclose(weights @ values, read, atol=1e-5)

# %% [markdown]
# ## The package's own
#
# `need_weights=True` takes the left side, which shows its weights; otherwise the right side runs, in linear time. Both
# give the same context. This is the whole conflict between fast and visible in four lines.

# %%
mechanism = attention.create("linear", query_size=width, key_size=width, num_heads=1)
memory = mechanism.prepare(keys[None])
fast, nothing = mechanism(queries[None], memory)
shown, visible = mechanism(queries[None], memory, need_weights=True)
assert nothing is None
assert torch.allclose(fast, shown, atol=1e-5)
visible.shape, float(visible.sum(-1).min())

# %% [markdown]
# ## Softmax looks, linear attention glances
#
# The same keys and queries under both. A softmax can put nearly all of its weight on one key; a sum of positive
# features cannot, which is why its alignments are pale.

# %%
# One query close to each key, which a good memory answers with that key's value.
near = 3 * keys / keys.norm(dim=-1, keepdim=True)
softmax = torch.softmax(near @ near.T, -1)
linear = features(near) @ features(near).T
linear = linear / linear.sum(-1, keepdim=True)
figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained")
for axis, shares, title in zip(axes, (softmax, linear), ("softmax", "elu + 1"), strict=True):
    picture = axis.imshow(shares, vmin=0, vmax=1, cmap="gray_r")
    axis.set(
        title=f"{title}: {float(shares.diagonal().mean()):.2f} on the right key", xlabel="key", ylabel="query"
    )
figure.colorbar(picture, ax=axes, label="weight")
figure.savefig(out / "softmax-and-linear.png", dpi=150)

# %% [markdown]
# ## Writing over what was written
#
# A second value under the same key: the sum keeps both, and a reader gets their mixture. The **delta rule** first reads
# what stands under the key, and writes only the difference, scaled by $\beta$:
# $W \leftarrow W + \beta\, (v - W \phi(k))\, \phi(k)^\top$.

# %%
key = torch.nn.functional.normalize(torch.randn(width), dim=0)
first, second = torch.zeros(width), torch.ones(width)
added, corrected = torch.zeros(width, width), torch.zeros(width, width)
for value in (first, second):
    added += torch.outer(value, key)
    corrected += torch.outer(value - corrected @ key, key)
mixture = (added @ key) / 2  # divided by the two writings, as linear attention does
print("sum:        half of each,", round(float(mixture.mean()), 2))
print("delta rule: the second,  ", round(float((corrected @ key).mean()), 2))
assert torch.allclose(corrected @ key, second, atol=1e-5)

# %% [markdown]
# ## How much fits in
#
# A matrix of width $E$ holds at most $E$ associations without disturbance, since no more keys can be orthogonal; keys
# drawn at random disturb each other sooner. Softmax attention keeps all keys and has no such limit; that is what its
# growing cache buys.

# %%
sizes = range(1, 4 * width + 1)
errors: dict[str, list[float]] = {"sum": [], "delta rule": [], "softmax": []}
for size in sizes:
    found = torch.nn.functional.normalize(torch.randn(64, size, width), dim=-1)  # 64 trials
    stored = torch.randn(64, size, width)
    plain = torch.einsum("bse,bsf->bef", stored, found)
    delta = torch.zeros(64, width, width)
    for index in range(size):
        one = found[:, index, :, None]  # (64, F, 1)
        delta += (stored[:, index, :, None] - delta @ one) @ one.mT
    exact = torch.softmax(20 * found @ found.mT, -1) @ stored
    answers = {"sum": found @ plain.mT, "delta rule": found @ delta.mT, "softmax": exact}
    for name, answer in answers.items():
        errors[name].append(float((answer - stored).pow(2).mean()))
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, curve in errors.items():
    axis.plot(sizes, curve, label=name)
axis.axvline(width, color="gray", linestyle=":")
axis.set(
    xlabel=f"associations written (width {width})", ylabel="squared error of what is read", ylim=(-0.05, 2)
)
axis.legend()
figure.savefig(out / "capacity.png", dpi=150)

# %% [markdown]
# In translation the source is short and is written once, so the limit hardly shows: `model/attention=linear` of a
# Transformer has nearly the BLEU of the softmax on the embedded corpus. Its links are worse, since pale weights say less
# about where a word came from.
