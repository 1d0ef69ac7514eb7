# %% [markdown]
# # A picture as the source
#
# A model that describes pictures reads patches as another reads words. We follow one picture of the embedded corpus of
# scenes through a trained model: drawn, cut into patches, encoded, and attended to word by word.
#
# The model is that of `translate train experiment=scenes_captions`, which takes six minutes on two cores; set
# `TRANSLATE_RUN` to use another run of captions with the RNN. What stands below the cells is from a quarter of that training
# (900 steps), so that yours will describe and point better. Nothing teaches this attention: it finds its own way.

# %%
import os
from pathlib import Path

import numpy as np
import torch
from PIL import Image

import translate
from translate.alignment.regions import region_scores, regions
from translate.corpora.batching import pad
from translate.corpora.images.scene_corpus import generate_scenes, pair_of
from translate.corpora.images.scenes import draw, read_scene
from translate.links.links import parse_gold
from translate.text.tokenizer import BOS, EOS

folders = [Path.cwd(), *Path.cwd().parents]
clone = next((folder for folder in folders if (folder / "pyproject.toml").exists()), folders[0])
run = clone / os.environ.get("TRANSLATE_RUN", "runs/scenes_captions")
if not run.exists():
    raise SystemExit(f"{run} does not exist; `translate train experiment=scenes_captions` trains it")
out = Path(os.environ.get("TRANSLATE_OUT", run))
translator = translate.load(run, device="cpu")
model = translator.model
torch.set_grad_enabled(False)
scene = "scene:sand/star.blue.big.0.1.0.0/circle.red.small.2.1.1.0"
translator.translate([scene])[0].text

# %% [markdown]
# ## The picture
#
# A scene is written as one word, and always drawn alike. The drawing knows the exact region of each thing.

# %%
drawing = draw(read_scene(scene))
print(drawing.pixels.shape, [int(region.sum()) for region in drawing.regions])
Image.fromarray(drawing.pixels).resize((192, 192), Image.Resampling.NEAREST)

# %% [markdown]
# ## Patches
#
# The source tokenizer cuts the picture into patches; each is a source word named by its row and column.

# %%
pieces = translator.tokenizers.source.encode_words(scene)
picture = pieces.picture
size = picture.patch_size
print(picture.rows, picture.columns, [word.text for word in pieces.words[:8]])
cells, _ = pad([[*pieces.ids, EOS]])
first = picture.pixels[:size, :size]
assert (cells[0, 0, 2:].numpy().view(np.uint8).reshape(size, size, 3) == first).all()

# %% [markdown]
# ## States
#
# The encoder turns patches into states; keys and values are made of them once, as of words.

# %%
encoded = model.encode(cells, None)
memory = encoded.memories[0]
print(memory.keys.shape, memory.values.shape)

# %% [markdown]
# ## Attention
#
# The decoder reads the caption word by word. Each row of weights is a distribution over the patches and the end of
# the source.

# %%
result = translator.translate([scene], alignments=True)[0]
target = torch.tensor([[BOS, *translator.tokenizers.target.encode(result.text)]])
weights = model.forced_weights(cells, None, target, [0])[0][0, 0]
assert torch.allclose(weights.sum(1), torch.ones(len(weights)), atol=1e-4)
maps = regions(result.alignment)
assert maps.shape == (len(result.alignment.target_words), picture.rows, picture.columns)
for word, place in zip(result.alignment.target_words, maps, strict=True):
    row, column = np.unravel_index(place.argmax(), place.shape)
    print(f"{word:10} row {row + 1}, column {column + 1}: {place.max():.2f}")

# %% [markdown]
# ## Does a word point at what it names?
#
# The corpus knows the region of every word that names something: pointing is the share of these words whose greatest
# weight lies there.

# %%
languages = ("en", translator.languages[1] or "fr")
examples = generate_scenes({"test": 20}, 99, captions=True)["test"]
pairs = [pair_of(example, languages, "picture", size) for example in examples]
aligned = translator.align([pair.source for pair in pairs], [pair.target for pair in pairs], whitespace=True)
scores = region_scores(aligned, [parse_gold(pair.gold, where="scenes") for pair in pairs])
print(scores)

# %% [markdown]
# ## The picture, lit where each word looked

# %%
result.alignment.heatmap(out / "regions.png", title=scene)
Image.open(out / "regions.png").reduce(2)
