# %% [markdown]
# # Why a fixed vector is not enough
#
# The first neural translators (Cho et al. 2014, Sutskever et al. 2014) read a sentence into **one vector** and wrote the
# translation from it. Bahdanau et al. (2015) conjectured that this vector is the bottleneck, since it has the same size for
# five words as for fifty, and let the decoder look back at every state of the encoder instead. We put both to a test that
# nobody can pass by guessing: read letters at random, and write them backwards.
#
# No trained model is needed; three small ones are trained here, in about ten seconds.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import nn

from translate import attention

torch.manual_seed(1)
torch.set_num_threads(1)
out = Path(os.environ.get("TRANSLATE_OUT") or tempfile.mkdtemp())
LETTERS, LONGEST = 20, 12  # no longer sequence is seen in training

# %% [markdown]
# ## Two translators that differ in one line
#
# The encoder is a GRU in both directions, the decoder another GRU. Without attention the **context** of every step is the
# vector of the whole sequence, which also starts the decoder. With attention it is a weighted sum of the encoder's states,
# other weights at every step; the score is Luong's `general`, which is quick. Nothing else differs.

# %%


class Translator(nn.Module):
    def __init__(self, width: int, *, looks: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(LETTERS + 1, width)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.start = nn.Linear(2 * width, width)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.attention = attention.create("general", query_size=width, key_size=2 * width) if looks else None
        self.readout = nn.Sequential(nn.Linear(3 * width, width), nn.Tanh(), nn.Linear(width, LETTERS))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Logits (B, T, LETTERS), and the weights (B, T, S) if there are any."""
        states, last = self.encoder(self.embedding(source))  # (B, S, 2 width)
        vector = torch.cat([*last], dim=-1)  # the end of either direction: (B, 2 width)
        before = torch.cat([torch.full_like(target[:, :1], LETTERS), target[:, :-1]], dim=1)
        queries, _ = self.decoder(self.embedding(before), self.start(vector).tanh()[None])
        if self.attention is None:
            context, weights = vector[:, None].expand(-1, target.shape[1], -1), None
        else:
            context, found = self.attention(queries, self.attention.prepare(states), need_weights=True)
            weights = found[:, 0]
        return self.readout(torch.cat([queries, context], dim=-1)), weights


def batch(length: int, size: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Letters at random, and the same backwards."""
    source = torch.randint(LETTERS, (size, length), generator=generator)
    return source, source.flip(1)


def train(model: Translator, steps: int = 300) -> Translator:
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.015, total_steps=steps)
    for _ in range(steps):
        length = int(torch.randint(2, LONGEST + 1, (), generator=generator))
        source, target = batch(length, 128, generator)
        logits, _ = model(source, target)
        nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return model


# %%
models = {
    "attention": train(Translator(32, looks=True)),
    "fixed vector of 64 numbers": train(Translator(32, looks=False)),
    "fixed vector of 128 numbers": train(Translator(64, looks=False)),
}

# %% [markdown]
# ## The longer the sequence, the worse the vector
#
# The share of letters that are right, of 500 new sequences of each length, with the letters before them given. Guessing
# would be right once in twenty. Beyond the dotted line lie lengths that no model has seen.

# %%


def correct(model: Translator, length: int) -> torch.Tensor:
    """Whether each letter is right: (500, length)."""
    source, target = batch(length, 500, torch.Generator().manual_seed(length))
    with torch.no_grad():
        logits, _ = model(source, target)
    return (logits.argmax(-1) == target).float()


lengths = range(2, 25, 2)
shares = {
    name: [float(correct(model, length).mean()) for length in lengths] for name, model in models.items()
}
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, curve in shares.items():
    axis.plot(lengths, curve, label=name)
axis.axvline(LONGEST, color="gray", linestyle=":")
axis.set(xlabel="letters", ylabel="share that is right", ylim=(0, 1.05))
axis.legend()
figure.savefig(out / "length.png", dpi=150)
with_attention, small, large = (dict(zip(lengths, curve, strict=True)) for curve in shares.values())
assert with_attention[24] > 0.8 > 0.6 > large[24]
assert large[24] - small[24] < 0.2

# %% [markdown]
# A vector of twice the size, with four times the weights behind it, hardly moves the curve; attention, with the smaller
# states, hardly notices the length. All had the same 300 steps: after 600, the vectors have two thirds of twelve letters right
# and attention nearly all. Bahdanau et al. (2015), figure 2, show the same for BLEU and sentences.
#
# ## What is forgotten?
#
# Sixteen letters, and how often each place of the answer is right. The answer begins with the letter that was read last.

# %%
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, model in models.items():
    axis.plot(range(1, 17), correct(model, 16).mean(0), label=name)
axis.set(xlabel="place in the answer", ylabel="share that is right", ylim=(0, 1.05))
axis.legend()
figure.savefig(out / "place.png", dpi=150)
at_places = correct(models["fixed vector of 64 numbers"], 16).mean(0)
assert at_places[:3].mean() > at_places[6:12].mean() + 0.2

# %% [markdown]
# The vector still knows both ends of the sequence, where one of its directions has just been, best the end that is written
# first; the middle is a blur. This is why Sutskever et al. (2014) turned their source sentences round, so that their first
# words were read last and written first: a trick that helps the beginning, and that attention has made superfluous.
#
# ## Where the other one looked
#
# The weights for twenty letters, eight more than in any training example. Nobody told the model that the answer runs
# backwards; it found an alignment by itself, and the picture shows it.

# %%
source, target = batch(20, 1, torch.Generator().manual_seed(3))
with torch.no_grad():
    _, weights = models["attention"](source, target)
assert weights is not None
names = [[chr(ord("a") + int(letter)) for letter in side[0]] for side in (source, target)]
figure, axis = plt.subplots(figsize=(4.6, 4), layout="constrained")
picture = axis.imshow(weights[0], vmin=0, vmax=1, cmap="gray_r")
axis.set_xticks(range(20), names[0])
axis.set_yticks(range(20), names[1])
axis.xaxis.tick_top()
figure.colorbar(picture, ax=axis, label="weight")
figure.savefig(out / "backwards.png", dpi=150)
found = weights[0].argmax(-1)
backwards = torch.arange(20).flip(0)
print(
    "largest weight at the right letter, or beside it:", int(((found - backwards).abs() <= 1).sum()), "of 20"
)
assert ((found - backwards).abs() <= 1).float().mean() > 0.8

# %% [markdown]
# ## In the toolkit
#
# `model=rnn_bahdanau` is the network of the paper and `model=rnn_luong` its successor; the Transformer has given up the
# recurrence and kept the look back. [Attention by hand](attention_by_hand.ipynb) takes the four steps of one look apart, and
# `translate align RUN SENTENCE --out picture.png` draws where your own model looked.
