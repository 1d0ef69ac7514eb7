# %% [markdown]
# # How far to trust the picture
#
# A heatmap of attention tempts us to say: this word was translated **because of** that one. Jain and Wallace (2019) and
# Wiegreffe and Pinter (2019) disagreed on when that holds. Here are four ways to ask a trained translator which source
# words a target word needs, and a test of each by experiment: take the word away, and see.
#
# The model is the Transformer of `make demo`; set `TRANSLATE_RUN` to use another run. One of its heads was **taught to
# align**, by links that are estimated by word alignment: that attention points at the right words here is no discovery.
# `translate train experiment=demo_transformer training.guided_alignment=0` trains one whose attention finds its own way.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import translate
from translate.figures.heatmap import draw

folders = [Path.cwd(), *Path.cwd().parents]
clone = next((folder for folder in folders if (folder / "pyproject.toml").exists()), folders[0])
run = clone / os.environ.get("TRANSLATE_RUN", "runs/demo/transformer")
if not run.exists():
    raise SystemExit(f"{run} does not exist; `make demo` trains it in a few minutes")
out = Path(os.environ.get("TRANSLATE_OUT", run))
translator = translate.load(run, device="cpu")
sentences = [
    "the girl eats an apple .",
    "the old doctor shows her two red books .",
    "the police officers think that we were French .",
    "he showed it to Julie on Sunday .",
    "Peter lent his bottle to Julie .",
    "have the twelve nurses finished some coffee ?",
    "Paul is finding a shoe that we choose .",
    "she hopes that several students will rest tomorrow .",
]
translations = [result.text for result in translator.translate(sentences)]
translations

# %% [markdown]
# ## Four answers
#
# - **attention**: the weights themselves, of the layer and heads that align words best.
# - **norm**: weights times the length of what is read (Kobayashi et al. 2020). A word that is looked at and says nothing
#   counts for nothing.
# - **gradient**: how much the probability of the target word changes with the embedding of a source word.
# - **erasure**: how much it falls if the source word is taken away. It is no estimate but an intervention, and costs a
#   pass for each word.

# %%
METHODS = ("attention", "norm", "gradient", "erasure")
found = {method: translator.align(sentences, translations, method=method) for method in METHODS}
draw([found[method][1] for method in METHODS], out / "four-methods.png")
plt.figure(figsize=(11, 3), layout="constrained")
plt.imshow(plt.imread(out / "four-methods.png"))
_ = plt.axis("off")

# %% [markdown]
# ## Do they agree?
#
# The share of target words for which two methods name the same source word first.

# %%


def first(method: str) -> np.ndarray:
    return np.concatenate([np.asarray(alignment.weights).argmax(1) for alignment in found[method]])


agreement = np.array([[np.mean(first(one) == first(other)) for other in METHODS] for one in METHODS])
figure, axis = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
axis.imshow(agreement, vmin=0, vmax=1, cmap="gray_r")
axis.set_xticks(range(len(METHODS)), METHODS)
axis.set_yticks(range(len(METHODS)), METHODS)
for row, column in np.ndindex(agreement.shape):
    share = agreement[row, column]
    axis.text(
        column, row, f"{share:.2f}", ha="center", va="center", color="white" if share > 0.5 else "black"
    )
figure.savefig(out / "agreement.png", dpi=150)

# %% [markdown]
# ## Take the word away
#
# If a method is right about the causes of a translation, then a sentence without the words that it names last should keep
# its translation longer than one without the words that it names first. We take one source word after another, in both
# orders, and count the words of the first translation that are still there.

# %%


def shrinking(source: str, order: list[int]) -> list[str]:
    """The sentence, from which the words of ``order`` leave one after another."""
    words = source.split()
    gone = [set(order[:number]) for number in range(len(words))]
    return [" ".join(word for index, word in enumerate(words) if index not in some) for some in gone]


share = np.linspace(0, 0.8, 9)
figure, axes = plt.subplots(1, len(METHODS), figsize=(11, 2.9), sharey=True, layout="constrained")
for axis, method in zip(axes, METHODS, strict=True):
    # Of all target words together; least first.
    orders = [np.asarray(alignment.weights).sum(0).argsort().tolist() for alignment in found[method]]
    for name, step in (("most important first", -1), ("least important first", 1)):
        left = [shrinking(source, order[::step]) for source, order in zip(sentences, orders, strict=True)]
        texts = iter(translator.translate([text for some in left for text in some], beam_size=1))
        lines = []
        for translation, some in zip(translations, left, strict=True):
            expected = set(translation.split())
            kept = [len(expected & set(next(texts).text.split())) / max(1, len(expected)) for _ in some]
            lines.append(np.interp(share, np.arange(len(kept)) / len(kept), kept))
        axis.plot(share, np.mean(lines, axis=0), label=name)
    axis.set(title=method, xlabel="share of words gone")
axes[0].set_ylabel("words kept")
axes[0].legend(fontsize=8)
figure.savefig(out / "erased.png", dpi=150)

# %% [markdown]
# ## So?
#
# For a single target word attention and erasure mostly agree: with a chosen head, attention is a good word aligner
# (`translate evaluate --gold` measures it), and the cheapest. Over a whole sentence it does not say which words matter, as
# every target word hands out the same total of one: the two curves are close. Erasure, which is an intervention itself,
# parts them. So a picture of attention tells **where** a word came from, not **how much** it mattered; and a layer above may
# ignore what was read, since an encoder's states already mix their neighbours. Where it matters, show erasure:
# `translate align RUN SENTENCE --method erasure --out FILE` draws it. `translate align report RUN` counts
# over a whole test set how far the four agree ([alignment](../docs/alignment.md#which-method-and-how-far-to-trust-it)).
