# %% [markdown]
# # Attention by hand
#
# Every attention mechanism takes four steps: project the source states to **keys and values**, **score** how
# relevant each key is to the query, **align** by normalising the scores, and take the **weighted** sum of the
# values. We take these steps one by one for a sentence of a trained model, and compare the results with the model's.
#
# The model is the RNN + Bahdanau of `make demo`; set `TRANSLATE_RUN` to use another `rnn_bahdanau` run, and below a
# `sentence` that it knows.

# %%
import os
from pathlib import Path

import torch

import translate
from translate.text.tokenizer import BOS, EOS

folders = [Path.cwd(), *Path.cwd().parents]
clone = next((folder for folder in folders if (folder / "pyproject.toml").exists()), folders[0])
run = clone / os.environ.get("TRANSLATE_RUN", "runs/demo/rnn_bahdanau")
if not run.exists():
    raise SystemExit(f"{run} does not exist; `make demo` trains it in a few minutes")
translator = translate.load(run, device="cpu")
model = translator.model
sentence = "I love you ."
result = translator.translate([sentence], alignments=True)[0]
result.text

# %% [markdown]
# ## The source, read once
#
# The encoder reads the pieces of the sentence and gives one state a piece.

# %%
source_ids = [*translator.tokenizers.source.encode(sentence), EOS]
print(translator.tokenizers.source.pieces(source_ids))
torch.set_grad_enabled(False)
encoded = model.encode(torch.tensor([source_ids]), None)
memory = encoded.memories[0]

# %% [markdown]
# ## 1. Keys and values
#
# The keys are the states, projected by the matrix $U$ of Bahdanau et al. (2015), A.1.2; the values are the states
# themselves. This happens once for a sentence, before the first target word.

# %%
attention = model.attention
values = memory.values[0, 0]  # (S, width)
keys = values @ attention.key_projection.weight.T  # (S, A)
assert torch.allclose(keys, memory.keys[0, 0], atol=1e-5)
keys.shape, values.shape

# %% [markdown]
# ## 2. Score
#
# The query is the decoder's state before it writes a word, in the demo's model behind the embedding of the word before:
# the state alone has not read that word (`model.word_in_query`). We let the decoder read the words before *aime*, so that
# we have the query for *aime*. (If another run does not write *aime*, it is the query for the last word.)

# %%
target_ids = translator.tokenizers.target.encode(result.text)
pieces = translator.tokenizers.target.pieces(target_ids)
position = next((i for i, piece in enumerate(pieces) if "aime" in piece), len(pieces) - 1)
state = model.start(encoded)
for token in [BOS, *target_ids[:position]]:
    word = model.embed(torch.tensor([token]), model.target_embedding)  # y_{i-1}
    query = state.tensors[0]  # s_{i-1}
    if model.word_in_query:
        query = torch.cat([word, query], dim=-1)  # [y_{i-1}; s_{i-1}]
    _, state = model.step(torch.tensor([token]), state, encoded)

# %% [markdown]
# $e_j = v^\top \tanh(W q + U h_j)$ with the query $q$: one number a source piece.

# %%
projected = query @ attention.query_projection.weight.T + attention.query_projection.bias  # (1, A)
scores = torch.tanh(projected + keys) @ attention.direction  # (S,)
scores

# %% [markdown]
# ## 3. Align
#
# The softmax turns scores into weights that sum to one.

# %%
weights = torch.exp(scores - scores.max())
weights = weights / weights.sum()
for piece, weight in zip(translator.tokenizers.source.pieces(source_ids), weights, strict=True):
    print(f"{piece:>10}  {'#' * int(40 * weight)} {weight:.2f}")

# %% [markdown]
# ## 4. Weight
#
# The context is the weighted sum of the values. It is all that the decoder learns about the source at this step.

# %%
context = weights @ values
context.shape

# %% [markdown]
# ## The same by the model
#
# A single pass over the finished translation, by teacher forcing, gives the weights of all steps at once. They equal
# the weights that we computed.

# %%
target_in = torch.tensor([[BOS, *target_ids]])
(teacher_forced,) = model.forced_weights(torch.tensor([source_ids]), None, target_in, [0])
assert torch.allclose(teacher_forced[0, 0, position], weights, atol=1e-4)
by_model, _ = attention(query.unsqueeze(0), memory)
assert torch.allclose(by_model[0, 0], context, atol=1e-4)
result.alignment.pharaoh()

# %% [markdown]
# With pieces joined to words and the end of sentence left out, this is the picture that `translate align` draws:

# %%
picture = result.alignment.heatmap(Path(os.environ.get("TRANSLATE_OUT", run)) / "by-hand.png", values=True)
from IPython.display import Image  # noqa: E402

Image(str(picture))
