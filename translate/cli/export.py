"""``translate export``: a run in the format of another engine, with a proof that both translate alike."""

from pathlib import Path
from typing import Annotated, Literal

from translate.cli.console import print_warning
from translate.cli.options import Plugins, Run, Threads, option

Format = Annotated[
    Literal["bundle", "ctranslate2", "onnx", "huggingface", "page"],
    option(
        "NAME",
        "ctranslate2, onnx, huggingface, page: a folder for any web host, which translates in the "
        "reader's browser, or bundle: a run without the files that only training needs.",
    ),
]
Quantization = Annotated[
    Literal["float32", "int8", "int8_float32", "int16", "float16", "bfloat16"] | None,
    option(
        "TYPE",
        "How ctranslate2 stores the weights: float32 (the default), int8, int8_float32, int16, "
        "float16 or bfloat16.",
    ),
]
Runtime = Annotated[
    Path | None, option("PATH", "For page: onnxruntime-web as npm packs it. Default: it is fetched.")
]


def export(
    run: Run,
    format: Format,
    out: Annotated[Path, option("DIR", "Folder to create.")],
    sentences: Annotated[
        Path | None,
        option(
            "FILE",
            "Source sentences for the proof, one a line. Default: generated English ones; files that "
            "the run names are not read.",
        ),
    ] = None,
    num_sentences: Annotated[int, option("N", "How many of the sentences to translate.", min=1)] = 100,
    quantization: Quantization = None,
    runtime: Runtime = None,
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    r"""Write a trained run in the format of another engine, and translate with both to compare them.

    ctranslate2 and huggingface can hold only Transformers; a setting that they cannot represent is refused
    by name. All formats but bundle need pip install 'seq2seq-translate\[export]'; page also fetches
    onnxruntime-web, 33 MB, unless --runtime has it.

    Examples:
      translate export runs/mine --format bundle --out mine
      translate export runs/mine --format ctranslate2 --out mine-ct2 \
          --quantization int8
      translate export runs/mine --format onnx --out mine-onnx \
          --sentences test.en --num-sentences 1000
      translate export runs/mine --format page --out mine-page \
          --runtime onnxruntime-web-1.30.0.tgz
    """
    from translate.export.export_run import export_run
    from translate.runs.runtime import find_device, use_runtime

    use_runtime(find_device("cpu"), threads)
    proof = export_run(
        run,
        format,
        out,
        sentences=sentences,
        num_sentences=num_sentences,
        quantization=quantization,
        runtime=runtime,
        plugins=plugin or (),
    )
    print(proof.line())
    if proof.example is not None:
        for name, text in zip(("source", "run", "export"), proof.example, strict=True):
            print(f"  {name + ':':8} {text}")
    rounded = quantization not in (None, "float32")
    if proof.differing > 0.01 * proof.sentences and not rounded:
        print_warning("more than 1 % of the translations differ: see whether they repeat without end")
    print(f"{format} written to {out}")
