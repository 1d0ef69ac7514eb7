# %% [markdown]
# # What attention costs over length
#
# Attention compares every word with every word: $S^2$ scores for $S$ words. That is why so many papers look for something
# cheaper. This chapter counts operations and memory, rather than believing either the complaint or the remedies: when does
# the square begin to hurt, and what does each remedy give up?
#
# No trained model is needed. Operations are counted by torch; times are those of one core of the machine at hand.

# %%
import os
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch.utils.flop_counter import FlopCounterMode

from translate import attention

torch.manual_seed(4)
torch.set_grad_enabled(False)
torch.set_num_threads(1)
out = Path(os.environ.get("TRANSLATE_OUT") or tempfile.mkdtemp())
width, num_heads, window = 256, 4, 16
lengths = [32, 64, 128, 256, 512, 1024, 2048]

# %% [markdown]
# ## Two parts, of which one is square
#
# A layer projects $S$ states to queries, keys and values, and the result back: $4 S D^2$ multiplications. The scores and the
# weighted sum take another $2 S^2 D$. Both are equal where $S = 2D$, so with a width of 256 the square is the smaller part
# up to 512 words, which is longer than nearly every sentence. Counted as torch counts, two operations a multiplication:

# %%
multi_head = attention.create(
    "multi_head", query_size=width, key_size=width, num_heads=num_heads, kernel="explicit"
)


def operations(length: int) -> int:
    """The operations that torch counts when a sequence attends to itself."""
    with FlopCounterMode(display=False) as counter:
        multi_head.attend_self(torch.randn(1, length, width))
    return counter.get_total_flops()


projections = [2 * 4 * length * width**2 for length in lengths]
square = [2 * 2 * length**2 * width for length in lengths]
counted = [operations(length) for length in lengths]
assert counted == [one + other for one, other in zip(projections, square, strict=True)]
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
axis.plot(lengths, projections, label="projections")
axis.plot(lengths, square, label="scores and weighted sum")
axis.plot(lengths, counted, "k.", label="counted by torch")
axis.axvline(2 * width, color="gray", linestyle=":")
axis.set(xlabel="words", ylabel="operations", xscale="log", yscale="log")
axis.legend()
figure.savefig(out / "operations.png", dpi=150)

# %% [markdown]
# ## Time is another matter than operations
#
# The same layer with its weights written down (`explicit`), by a kernel that never writes them (`fused`: Dao et al. 2022), and
# two remedies: a **window** of 16 words on either side (Beltagy et al. 2020), and **linear** attention, which adds up keys and
# values in a matrix (Katharopoulos et al. 2020). Each time is the shortest of five.

# %%
made = {"explicit": multi_head}
for label, name, options in (
    ("fused", "multi_head", {}),
    ("window", "sliding_window", {"window": window}),
    ("linear", "linear", {}),
):
    made[label] = attention.create(name, query_size=width, key_size=width, num_heads=num_heads, **options)


def seconds(mechanism: attention.Attention, length: int) -> float:
    """The shortest processor time of five in which a sequence attends to itself."""
    states, taken = torch.randn(1, length, width), []
    for _ in range(5):
        begun = time.process_time()
        mechanism.attend_self(states)
        taken.append(time.process_time() - begun)
    return min(taken)


figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for label, mechanism in made.items():
    axis.plot(lengths, [1000 * seconds(mechanism, length) for length in lengths], marker=".", label=label)
axis.set(xlabel="words", ylabel="milliseconds", xscale="log", yscale="log")
axis.legend()
figure.savefig(out / "times.png", dpi=150)
made["fused"].load_state_dict(made["explicit"].state_dict())
words = torch.randn(1, 100, width)
assert torch.allclose(made["explicit"].attend_self(words), made["fused"].attend_self(words), atol=1e-5)
weights = [num_heads * length**2 * 4 / 2**20 for length in lengths]
print("weights of a layer and sentence, MiB:", dict(zip(lengths, weights, strict=True)))

# %% [markdown]
# Up to a hundred words the curves lie together, since the projections rule; from there on linear attention follows the
# projections, as its operations do. The explicit form leaves the fused one where its weights outgrow the caches of the
# processor: the operations are the same, but 64 MiB have to be written and read. In training they would also be kept until
# the backward pass, for each sentence, head and layer. And a window that is only a **mask** saves nothing here: all scores are
# computed, and then most are hidden.
#
# ## Writing word by word
#
# A decoder asks with one query at a time and keeps the keys and values of all words so far, in every layer, for every
# hypothesis of the beam. This **cache** is what fills the memory of a server. We let one layer write 300 words under four
# rules, and count the numbers that it holds.

# %%
rules = {
    "multi_head": ("multi_head", {}),
    "one key/value head": ("grouped_query", {"num_key_value_heads": 1}),
    "window": ("sliding_window", {"window": window}),
    "linear": ("linear", {}),
}
steps, held = 300, {}
for label, (name, options) in rules.items():
    layer = attention.create(
        name, query_size=width, key_size=width, num_heads=num_heads, causal=True, **options
    )
    cache, held[label] = layer.start_self(1, torch.empty(())), []
    for position in range(steps):
        _, cache = layer.step_self(torch.randn(1, 1, width), cache, position)
        held[label].append(cache.numel())
head_size = width // num_heads
assert held["multi_head"] == [2 * width * count for count in range(1, steps + 1)]
assert held["one key/value head"] == [2 * head_size * count for count in range(1, steps + 1)]
assert held["window"][-1] == 2 * width * (window + 1)
assert held["linear"] == [num_heads * head_size * (head_size + 1)] * steps
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for label, numbers in held.items():
    axis.plot(range(1, steps + 1), numbers, label=label)
axis.set(xlabel="words written", ylabel="numbers held by a layer")
axis.legend()
figure.savefig(out / "cache.png", dpi=150)

# %% [markdown]
# Here the remedies earn their keep. Fewer key/value heads (Shazeer 2019, Ainslie et al. 2023) divide the cache and change
# nothing else; a window stops its growth, and forgets what lies behind; linear attention holds a matrix of one size, which is
# larger than the cache of a short sentence: for these heads, of the first 32 words.

# %%
crossing = next(count for count, number in enumerate(held["multi_head"], 1) if number > held["linear"][0])
print("the cache of multi_head outgrows the matrix of linear attention at word", crossing)
assert crossing == num_heads * head_size * (head_size + 1) // (2 * width) + 1

# %% [markdown]
# ## So?
#
# For sentences nothing is gained by an approximation. For documents of thousands of words the square counts, and in a decoder
# the cache counts before it. What each remedy gives up
# stands in [fast weights](fast_weights.ipynb) and [order and positions](order_and_positions.ipynb); what they cost in BLEU on
# the embedded corpus, in [mechanisms](../docs/mechanisms.md#what-they-learn). The picture asks for the weights, which the
# fused kernel never writes: [architecture](../docs/architecture.md#the-conflict) says how the toolkit has both.
