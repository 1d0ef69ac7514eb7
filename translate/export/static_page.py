"""Exports a run as a page that translates and aligns in the reader's browser, from any host of files.

It is the page of the server, ``translate/serve/assets``, with a ``request.js`` that asks no server: the two
ONNX graphs run in ONNX Runtime's WebAssembly; the search and the tokenizer are ``assets`` of this package.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from translate.alignment.methods import align_recorded
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.export import onnx
from translate.export.browser_runtime import read_runtime
from translate.export.contents import Contents, Engine
from translate.export.onnx_search import Graphs
from translate.figures.page import asset
from translate.serve.catalogue import Served
from translate.serve.live_page import index_text, shared_files
from translate.serve.word_confidence import stored
from translate.text.own_tokenizers import USER_DEFINED
from translate.text.tokenizer import BOS, EOS, MODEL_TYPES, Tokenizer, parse_model
from translate.translation import Translation

FORMAT = "page"
NAMES = "engine", "links", "normaliser", "paragraphs", "request", "search", "tokenizer", "words"
SCRIPTS = [f"{name}.js" for name in NAMES]
SEARCHED = ("beam_size", "length_penalty", "max_length_ratio", "max_length_extra", "max_length")
# As strict as the live page's; WebAssembly must be allowed by name.
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
LOADING = """Loading the translator … If this line stays, the page was opened as a file; a browser runs it
only from a host, such as <code>python3 -m http.server</code> in this folder."""
NO_SCRIPT = "This page needs JavaScript: the translator runs in your browser."


def export(contents: Contents, directory: Path, runtime: Path | None) -> Engine:
    """Write ``index.html``, ``assets/``, ``model/`` and ``runtime/``.

    Args:
        contents: of any backend.
        directory: to be created.
        runtime: where ONNX Runtime for browsers lies; see :func:`read_runtime`.

    Returns:
        The engine, which translates and aligns with the written graphs.

    Raises:
        UserError: if a package that the export needs is not installed, or for a tokenizer or a runtime that
            the page cannot use.
    """
    onnx.check_packages(FORMAT)
    model = directory / "model"
    model.mkdir(parents=True)
    names = ["shared", "shared"] if contents.tokenizers.shared else ["source", "target"]
    for name, tokenizer in zip(names, (contents.tokenizers.source, contents.tokenizers.target), strict=True):
        write_tokenizer(tokenizer, model, name)
    files = read_runtime(runtime)
    num_memories = onnx.write_graphs(contents, model, weights=True)
    text = json.dumps(_description(contents, names, num_memories), indent=2)
    (model / onnx.DESCRIPTION).write_text(text + "\n", encoding="utf-8")
    (directory / "assets").mkdir()
    for path, page in page_files().items():
        (directory / path).write_text(page, encoding="utf-8")
    (directory / "runtime").mkdir()
    for name, content in files.items():
        hosted = name.replace(".mjs", ".js")  # more hosts know what .js is
        (directory / "runtime" / hosted).write_bytes(content)
    return _engine(contents, onnx.open_graphs(model, num_memories))


def _description(contents: Contents, names: Sequence[str], num_memories: int) -> dict[str, Any]:
    """The facts about the model that the page needs."""
    source, target = contents.languages
    counted = stored(contents.directory.path, contents.model)
    return {
        **Served(f"{source}-{target}", source, target, contents, counted).described(),
        "tokenizers": names,
        "memories": num_memories,
        **{name: getattr(contents.search, name) for name in SEARCHED},
        "longest_source": contents.longest_source - 1,
        "longest_target": contents.longest_target,
    }


def page_files() -> dict[str, str]:
    """The texts of the page by their paths, beside the model and the runtime."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    files = shared_files() | {
        "index.html": index_text(
            policy=policy, noscript=NO_SCRIPT, placeholder="Type or paste text", status=LOADING
        )
    }
    return files | {f"assets/{name}": asset(name, "translate.export") for name in SCRIPTS}


def _engine(contents: Contents, graphs: Graphs) -> Engine:
    translate = onnx.engine(contents, graphs)
    return lambda sentences: [
        _aligned(contents, graphs, *pair) for pair in zip(sentences, translate(sentences), strict=True)
    ]


def _aligned(contents: Contents, graphs: Graphs, sentence: str, found: Translation) -> Translation:
    """A translation with the alignment that the graphs show."""
    source = contents.tokenizers.source.encode_words(sentence).cut(contents.longest_source - 1)
    if not source.ids:
        return found
    tokenizer = contents.tokenizers.target
    text, target = tokenizer.decode_words(tokenizer.ids(found.tokens))
    mask, memories, states = graphs.read([[*source.ids, EOS]])
    ids, rows = [BOS], []
    for following in [*target.ids, EOS]:
        _, (*states, weights) = graphs.advance(np.array([[ids]]), mask, memories, states)
        rows.append(weights[0, 0, contents.choice.layer, list(contents.choice.heads)])
        ids.append(following)
    recorded = torch.from_numpy(np.stack(rows))  # (T + 1, H, S)
    (alignment,) = align_recorded([EncodedPair.of(source, target)], contents.choice, [recorded])
    return replace(found, text=text, alignment=alignment)


def write_tokenizer(tokenizer: Tokenizer, directory: Path, name: str) -> None:
    """Write ``NAME.json`` and ``NAME.rules``.

    Args:
        tokenizer: a SentencePiece model.
        directory: that is there.
        name: of the files.

    Raises:
        UserError: if the model has what the page's tokenizer does not know.
    """
    model = parse_model(tokenizer.model)
    described = describe(model, tokenised=tokenizer.tokenised)
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    (directory / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (directory / f"{name}.rules").write_bytes(model.normalizer_spec.precompiled_charsmap)


def describe(model: Any, *, tokenised: bool) -> dict[str, Any]:
    """The values of ``NAME.json``.

    Args:
        model: the message ``ModelProto`` of SentencePiece.
        tokenised: as :class:`Tokenizer`.

    Raises:
        UserError: as :func:`write_tokenizer`.
    """
    trained, normalizer = model.trainer_spec, model.normalizer_spec
    unknown = {
        "user-defined pieces": any(piece.type == USER_DEFINED for piece in model.pieces),
        "white space at the end of words": trained.treat_whitespace_as_suffix,
        "white space as it is": not normalizer.escape_whitespaces,
        "rules for the output": bool(model.denormalizer_spec.precompiled_charsmap),
    }
    for what, is_there in unknown.items():
        if is_there:
            raise UserError(f"--format page cannot represent a tokenizer with {what}; use --format onnx")
    return {
        "kind": MODEL_TYPES[trained.model_type],
        "tokenised": tokenised,
        "byte_fallback": trained.byte_fallback,
        "unknown": trained.unk_surface,
        "dummy_prefix": normalizer.add_dummy_prefix,
        "remove_extra_whitespaces": normalizer.remove_extra_whitespaces,
        "pieces": [piece.piece for piece in model.pieces],
        "scores": [float(str(np.float32(piece.score))) for piece in model.pieces],  # the fewest digits
        "kinds": [piece.type for piece in model.pieces],
    }
