"""Exports a trained run: read, written in a format, proved, described."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from translate.config.data import DataConfig
from translate.corpora.corpus import load_corpus
from translate.errors import UserError
from translate.export import Contents, Engine, Proof, Rendered, bundle, ctranslate2, huggingface, onnx, prove
from translate.export.architecture import refuse_search
from translate.export.export_card import write_card
from translate.grammar.generator import generate
from translate.runs.load import load, read_settings
from translate.storage.run_directory import RunDirectory
from translate.text.lines import read_lines
from translate.translation import Translation
from translate.translator import Translator

FORMATS = ("bundle", "ctranslate2", "onnx", "huggingface")
ASIDE = ".writing-"


def export_run(
    run: Path,
    export_format: str,
    out: Path,
    *,
    sentences: Path | None = None,
    num_sentences: int = 100,
    quantization: str | None = None,
    threads: int | None = None,
    plugins: Sequence[str] = (),
    report: Callable[[str], None] = print,
) -> Proof:
    """Write a run in another format, and translate with both.

    Args:
        run: a run directory or a bundle.
        export_format: one of ``FORMATS``.
        out: folder to be made.
        sentences: file whose first lines prove the export; the run's validation split by default.
        num_sentences: how many of them.
        quantization: of ctranslate2: see there.
        threads: of the CPU.
        plugins: modules that the run may import.
        report: what is told to the user, line by line.

    Raises:
        UserError: for what the format cannot represent, a folder that is there, or a package that is not.
    """
    if quantization is not None and export_format != "ctranslate2":
        raise UserError(f"--quantization is for --format ctranslate2; {export_format} keeps float32")
    if out.exists():
        raise UserError(f"{out}: exists already; choose another folder")
    if not out.parent.is_dir():
        raise UserError(f"{out}: there is no folder {out.parent}")
    directory = RunDirectory(run)
    sources = None if sentences is None else _first_lines(sentences, num_sentences)
    translator = load(run, device="cpu", threads=threads, plugins=plugins, as_trained=True)
    translator.model.float()
    contents = Contents(
        directory,
        translator.model,
        translator.tokenizers,
        translator.search,
        translator.choice,
        translator.languages,
    )
    if export_format != "bundle":
        refuse_search(contents.search, export_format)
    aside = out.with_name(f"{ASIDE}{out.name}")
    if aside.exists():  # of a process that was killed
        shutil.rmtree(aside)
    try:
        engine = _write(contents, export_format, aside, quantization, plugins)
        if sources is None:
            sources = _validation(read_settings(directory, plugins).data, num_sentences, report)
        proof = prove(sources, _rendered(translator.translate(sources)), engine(sources))
        write_card(contents, export_format, aside, out.name, proof)
        aside.rename(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return proof


def _write(
    contents: Contents, export_format: str, directory: Path, quantization: str | None, plugins: Sequence[str]
) -> Engine:
    if export_format == "bundle":
        return _bundle_engine(bundle.export(contents, directory), plugins)
    if export_format == "ctranslate2":
        return ctranslate2.export(contents, directory, quantization or ctranslate2.EXACT)
    if export_format == "onnx":
        return onnx.export(contents, directory)
    if export_format == "huggingface":
        return huggingface.export(contents, directory)
    raise UserError(f"--format: expected one of {', '.join(FORMATS)}, got {export_format!r}")


def _bundle_engine(directory: RunDirectory, plugins: Sequence[str]) -> Engine:
    translator: Translator = load(directory.path, device="cpu", plugins=plugins, as_trained=True)
    return lambda sentences: _rendered(translator.translate(sentences))


def _rendered(translations: Sequence[Translation]) -> list[Rendered]:
    return [Rendered(each.text, each.score) for each in translations]


def _first_lines(path: Path, count: int) -> list[str]:
    found = read_lines(path)[:count]
    if not found:
        raise UserError(f"{path} is empty; it takes sentences to prove an export")
    return found


def _validation(data: DataConfig, count: int, report: Callable[[str], None]) -> list[str]:
    """Source sentences of the run's validation split; generated ones where the corpus cannot be read."""
    try:
        corpus = load_corpus(data)
    except UserError as error:
        report(f"proved on generated English sentences, as the run's corpus cannot be read ({error})")
        return [each.source for each in generate(1, count, 0, data.seed)["validation"]]
    return (corpus.validation or corpus.train).source[:count]
