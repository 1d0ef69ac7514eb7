"""The model card of an export: its languages, proof and use, and the run's own card."""

from pathlib import Path

from translate.export.browser_runtime import VERSION
from translate.export.contents import Contents, Proof
from translate.text.bounded import read_bounded
from translate.text.escape import for_code, for_markdown, tame_markdown
from translate.version import __version__

USE = {
    "bundle": """```bash
translate text {name} "..."
```

```python
import translate

translator = translate.load("{name}")
```""",
    "ctranslate2": """```python
import ctranslate2
import sentencepiece

source = sentencepiece.SentencePieceProcessor(model_file="{name}/tokenizer/{source}.model")
target = sentencepiece.SentencePieceProcessor(model_file="{name}/tokenizer/{target}.model")
translator = ctranslate2.Translator("{name}")
pieces = source.encode("...", out_type=str)[:{longest}]
result = translator.translate_batch(
    [pieces],
    beam_size={beam_size},
    length_penalty={length_penalty},
    min_decoding_length=0,
    max_decoding_length={longest_target},
)[0]
print(target.decode(result.hypotheses[0]))
```

With `return_attention=True` a result has the attention of layer {layer}, which shows the alignment.""",
    "onnx": """`encoder.onnx` takes `source` (B, S) int64, which ends in end of sentence (3), and
`mask` (B, S) bool, True for pieces. It returns `memory_0` ... for each sentence, and `state_0` ...
(B, 1, ...) for its first hypothesis; `model.json` holds the number of memories.

`step.onnx` takes `ids` (B, W, T) of all pieces so far, starting with begin of sentence (2), `mask`, the
memories, and the states (B, W, ...) of the hypotheses. It returns `log_probabilities` (B, W, V) of the next
piece, and `next_state_0` ...

`translate/export/onnx_search.py` of seq2seq-translate is a search over both graphs in numpy.""",
    "page": """A host of files is enough, such as

```bash
python3 -m http.server --directory {name}
```

The page loads nothing from elsewhere, and what is typed stays in the browser. `model/` holds two ONNX
graphs and the tokenizer, `runtime/` ONNX Runtime for browsers (onnxruntime-web {runtime}, MIT licence).""",
    "huggingface": """```python
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{name}")
model = AutoModelForSeq2SeqLM.from_pretrained("{name}")
found = model.generate(**tokenizer(["..."], return_tensors="pt"))
print(tokenizer.batch_decode(found, skip_special_tokens=True))
```""",
}
TOKENISED = """The model reads words between white space (*I love you .*, not *I love you.*): separate
punctuation first, for example with `translate.text.words.tokenise`."""


def write_card(contents: Contents, export_format: str, directory: Path, name: str, proof: Proof) -> None:
    """Write the model card, ``README.md``, into the folder of an export.

    Args:
        contents: the exported run.
        export_format: a key of ``USE``.
        directory: of the export.
        name: the final name of the folder.
        proof: of the export.
    """
    tokenizers = contents.tokenizers
    source, target = (for_markdown(language or "?", 35) for language in contents.languages)
    files = {side: "shared" if tokenizers.shared else side for side in ("source", "target")}
    use = USE[export_format].format(
        name=for_code(name, "FOLDER"),
        layer=contents.choice.layer,
        runtime=VERSION,
        longest=contents.longest_source - 1,  # without the end of sentence, which CTranslate2 adds
        longest_target=contents.longest_target,
        beam_size=contents.search.beam_size,
        length_penalty=contents.search.length_penalty,
        **files,
    )
    parts = [
        f"# {for_markdown(name)}",
        f"Translates {source} to {target}. "
        f"Format `{export_format}`, exported by seq2seq-translate {__version__}.",
        f"## Proof\n\nBeam {contents.search.beam_size}, length penalty {contents.search.length_penalty}: "
        f"{proof.line()}.",
        f"## Use\n\n{use}",
    ]
    if tokenizers.source.tokenised and export_format not in ("bundle", "page"):
        parts.append(TOKENISED)
    parts.append(_of_the_run(contents))
    (directory / "README.md").write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")


def _of_the_run(contents: Contents) -> str:
    """The run's own card without its use and its pictures, with headings one level down."""
    directory = contents.directory
    try:
        content = read_bounded(directory.card, root=directory.path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    lines = tame_markdown(content.split("\n## Use\n")[0]).splitlines()
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in lines).strip()
