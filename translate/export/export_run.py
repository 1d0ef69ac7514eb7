"""Exports a trained run: reads it, writes it in a format, proves the export, and describes it in a card."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from translate.config.data import DataConfig
from translate.config.names import counted, shorten
from translate.corpora.corpus import load_corpus
from translate.corpora.images.scene_corpus import generate_scenes, pair_of
from translate.corpora.tables import is_table
from translate.errors import UserError
from translate.export import ctranslate2, huggingface, onnx, static_page
from translate.export.contents import Contents, Engine, Proof, check_new, prove
from translate.export.export_card import write_card
from translate.grammar.generator import generate
from translate.runs.checkpoint import WEIGHTS, save_weights
from translate.runs.load import load, read_settings
from translate.runs.run_directory import RunDirectory
from translate.search.ctranslate2.conversion import refuse_search
from translate.serve.word_confidence import FILE as CONFIDENCE
from translate.text.bounded import read_bounded
from translate.text.file_writing import aside
from translate.text.lines import read_lines
from translate.training.weights import model_tensors
from translate.translator import Translator

WITHOUT_CONTEXT = "note: the run reads previous sentences of a document; {} translates each one without them"


def export_run(
    run: str | Path,
    export_format: str,
    out: str | Path,
    *,
    sentences: str | Path | None = None,
    num_sentences: int = 100,
    quantization: str | None = None,
    runtime: str | Path | None = None,
    plugins: Sequence[str] = (),
) -> Proof:
    """Write a run in another format, and translate with both.

    Args:
        run: a run directory or a bundle.
        export_format: as the command names it.
        out: folder to be created.
        sentences: file with sentences for the proof; by default generated ones, those of the run's validation
            split if it was trained on the embedded grammar. Files that the run names are not read.
        num_sentences: number of sentences for the proof.
        quantization: for ctranslate2 only, see there.
        runtime: for page only, see there.
        plugins: modules that the run may import.

    Raises:
        UserError: for a setting that the format cannot represent, a folder that exists, or a package that is
            not installed.
    """
    run, out = Path(run), Path(out)
    _check_options(export_format, quantization, runtime)
    check_new(out)
    if sentences is not None and is_table(Path(sentences)):
        raise UserError(f"{sentences} is a table; the proof of an export reads sentences, one a line")
    sources = None if sentences is None else read_lines(sentences)[:num_sentences]
    if sources == []:
        raise UserError(f"{sentences} is empty; the proof of an export needs sentences")
    translator = load(run, device="cpu", plugins=plugins)
    translator.model.float()
    contents = Contents(**vars(translator), directory=RunDirectory(run))
    if export_format not in ("bundle", "huggingface") and contents.search.stop != "full":
        print(f"note: {export_format} has no search.stop={contents.search.stop}: its beams end when full")
        contents.search = replace(contents.search, stop="full")
    if export_format != "bundle":
        _check_text_alone(export_format, contents)
        refuse_search(contents.search, f"--format {export_format}")
    print(f"writing {export_format}" + (": about a minute" if export_format in ("onnx", "page") else ""))
    with aside(out) as new:
        if export_format == "page":
            engine = static_page.export(contents, new, None if runtime is None else Path(runtime))
        else:
            engine = _write(contents, export_format, new, quantization, plugins)
        if sources is None:
            sources = _validation(read_settings(contents.directory, plugins).data, num_sentences)
        print(f"translating {counted(len(sources), 'sentence')} with the run and with the export")
        proof = prove(sources, contents.translate(sources, alignments=True), engine(sources))
        write_card(contents, export_format, new, out.name, proof)
    return proof


def _check_options(export_format: str, quantization: str | None, runtime: str | Path | None) -> None:
    if quantization is not None and export_format != "ctranslate2":
        raise UserError(f"--quantization is for --format ctranslate2; {export_format} keeps float32")
    if runtime is not None and export_format != "page":
        raise UserError(f"--runtime is for --format page; {export_format} does not run in a browser")


def _check_text_alone(export_format: str, translator: Translator) -> None:
    """Raise :class:`UserError` for a run that reads pictures; say so if it reads other sentences."""
    if translator.context.sentences:
        print(WITHOUT_CONTEXT.format(export_format))
    if translator.reads != "text":
        raise UserError(f"--format {export_format}: it reads text, and the run reads pictures; use bundle")


def _write(
    contents: Contents, export_format: str, directory: Path, quantization: str | None, plugins: Sequence[str]
) -> Engine:
    if export_format == "bundle":
        return load(write_bundle(contents, directory).path, device="cpu", plugins=plugins).translate
    if export_format == "ctranslate2":
        return ctranslate2.export(contents, directory, quantization or ctranslate2.EXACT)
    if export_format == "onnx":
        return onnx.export(contents, directory)
    return huggingface.export(contents, directory)


def _validation(data: DataConfig, count: int) -> list[str]:
    """Source lines of the run's own grammar, or generated ones: no file that a run names is read."""
    if data.read != "text":
        scenes = generate_scenes({"validation": count}, data.seed, captions=data.read == "picture")
        languages = ("en", "fr")
        return [pair_of(scene, languages, data.read, None).source for scene in scenes["validation"]]
    generated = [example.source for example in generate(1, count, 0, data.seed)["validation"]]
    if data.kind == "grammar":
        try:
            corpus = load_corpus(data)
        except UserError:  # of settings that no grammar has
            return generated
        return list((corpus.validation or corpus.train).source[:count])
    files = (data.validation.source, data.train.source)
    named = next((file for file in files if file is not None and not is_table(Path(file))), "FILE")
    print(
        "the proof uses generated English sentences, since data that a run names are not read; for others "
        f"add --sentences {shlex.quote(shorten(named))}"
    )
    return generated


def write_bundle(contents: Contents, directory: Path) -> RunDirectory:
    """Write a run directory without the files that only training needs.

    Args:
        contents: of any backend.
        directory: to be created.

    Raises:
        UserError: if a file of the run cannot be read.
    """
    run, bundle = contents.directory, RunDirectory(directory)
    weights = {name: tensor.contiguous() for name, tensor in model_tensors(contents.model).items()}
    save_weights(weights, bundle.checkpoints / "best" / WEIGHTS)
    contents.tokenizers.save(bundle.tokenizer)
    try:
        for file in (run.config, run.alignment, run.scores, run.path / CONFIDENCE):
            if file.exists():
                (directory / file.name).write_bytes(read_bounded(file, root=run.path))
    except OSError as error:
        raise UserError(f"{error.filename}: cannot be copied ({error.strerror})") from error
    return bundle
