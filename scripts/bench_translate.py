"""Translation speed: ours, ours exported to other engines, and other toolkits, in one run.

    python scripts/bench_translate.py runs/m30k-transformer --data DIRECTORY_OF_MULTI30K \\
        --rnn runs/m30k-rnn_bahdanau --rnn runs/m30k-rnn_luong --peers DIRECTORY_OF_PEERS

Every engine translates test_2016_flickr in its own process, one at a time, in rounds, in float32 unless it
says int8, on `--threads` threads; medians of the rounds are printed. CTranslate2 and Hugging Face translate
with the weights of the run (pip install '.[export]'), CTranslate2 by one worker with all threads and, as ours
does, by a worker for every thread: in float32, in bfloat16 if it has that on the processor, and in 8 bits.
Ours with `--engine ctranslate2`, with and without alignments, is measured beside its own loop. OpenNMT-py is
an environment `onmt/` below --peers, and translates with what its checkpoints have learnt:
`models/onmt_{T,Rb,Rl}/m_step_*.pt`. Missing engines are reported. Nothing else may run on the machine.

On a GPU: --device cuda --precision bfloat16. Ours, CTranslate2 and Hugging Face then compute in that
precision, OpenNMT-py and 8 bits are left out, and memory is what torch held of the GPU's at most.
"""

import argparse
import gc
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RESULT = "RESULT "
BESIDE = "a worker a thread"
NUMBERS = ("sentences", "tokens", "bleu")
OPENNMT = {"T": "Transformer", "Rb": "RNN, additive", "Rl": "RNN, general"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path, help="Transformer")
    parser.add_argument("--rnn", type=Path, action="append", default=[], help="a recurrent run")
    parser.add_argument("--data", type=Path, required=True, help="folder with test_2016_flickr.{en,de}.gz")
    parser.add_argument("--peers", type=Path, help="folder where OpenNMT-py is set up")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=128, help="sentences at a time")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "bfloat16", "float16"], default="float32")
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 1])
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--model", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--beam", type=int, default=5, help=argparse.SUPPRESS)
    return parser.parse_args()


def sides(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The sentences and their references."""
    found = []
    for language in ("en", "de"):
        path = options.data / f"test_2016_flickr.{language}"
        packed = path.with_name(path.name + ".gz")
        text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text("utf-8")
        found.append(text.split("\n")[: options.sentences])
    return found[0], found[1]


def peak_memory(device: str) -> float | None:
    """GiB that this process has held at most; the resource module would count what its parent held, too.

    On a GPU what torch has held there; ``None`` if that is nothing, since others do not say.
    """
    if device == "cuda":
        import torch

        return torch.cuda.max_memory_allocated() / 2**30 or None
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 2**20


def report(options: argparse.Namespace, translate: Callable[[Sequence[str]], list[tuple[str, int]]]) -> None:
    """Translate a batch to warm up, then all; ``translate`` gives texts and lengths, the end counted."""
    import sacrebleu

    sources, references = sides(options)
    translate(sources[: options.batch_size])
    begin = time.perf_counter()
    found = translate(sources)
    seconds = time.perf_counter() - begin
    row = {
        "sentences": len(sources) / seconds,
        "tokens": sum(length for _, length in found) / seconds,
        "memory": peak_memory(options.device),
        "bleu": sacrebleu.corpus_bleu([text for text, _ in found], [references]).score,
    }
    print(RESULT + json.dumps(row))


def compute_type(options: argparse.Namespace) -> str:
    """In what CTranslate2 computes, by the worker's name."""
    named = [kind for kind in ("int8", "bfloat16") if kind in options.worker]
    return named[0] if named else str(options.precision)


def ours(options: argparse.Namespace) -> None:
    import translate
    from translate.runs.runtime import find_device, use_processor, use_runtime

    device = find_device(options.device)
    use_runtime(device, options.threads)  # as the command does
    kind, elsewhere = options.precision, "engine" in options.worker
    if elsewhere:
        kind = compute_type(options)
    translator = translate.load(
        options.model,
        device=options.device,
        precision="float32" if kind == "int8" else kind,
        int8=kind == "int8",
        engine="ctranslate2" if elsewhere else "torch",
    )
    use_processor(translator.model, device)
    aligned = options.worker.endswith("aligned")
    gc.freeze()

    def run(sentences: Sequence[str]) -> list[tuple[str, int]]:
        found = translator.translate(
            sentences,
            beam_size=options.beam,
            batch_size=options.batch_size,
            alignments=aligned,
        )
        return [(translation.text, len(translation.tokens) + 1) for translation in found]

    report(options, run)


def ctranslate2(options: argparse.Namespace) -> None:
    import ctranslate2 as library
    import sentencepiece

    from translate.text.tokenizer import TokenizerPair

    tokenizers = TokenizerPair.load(options.model / "tokenizer")
    decoder = sentencepiece.SentencePieceProcessor(model_proto=tokenizers.target.model)
    kind = compute_type(options)
    workers = options.threads if options.worker.endswith("beside") else 1
    engine = library.Translator(
        str(options.model),
        device=options.device,
        compute_type=kind,
        inter_threads=workers,
        intra_threads=options.threads // workers,
    )

    def run(sentences: Sequence[str]) -> list[tuple[str, int]]:
        pieces = [tokenizers.source.pieces(ids) for ids in tokenizers.source.encode_all(sentences)]
        found = engine.translate_batch(
            pieces, beam_size=options.beam, max_batch_size=options.batch_size, length_penalty=1.0
        )
        texts = decoder.decode([result.hypotheses[0] for result in found])
        lengths = [len(result.hypotheses[0]) + 1 for result in found]
        return list(zip(texts, lengths, strict=True))

    report(options, run)


def huggingface(options: argparse.Namespace) -> None:
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(options.model, attn_implementation="sdpa")
    model = model.to(options.device, getattr(torch, options.precision)).eval()

    def run(sentences: Sequence[str]) -> list[tuple[str, int]]:
        order = sorted(range(len(sentences)), key=lambda i: -len(sentences[i]))
        found: dict[int, tuple[str, int]] = {}
        for begin in range(0, len(order), options.batch_size):
            rows = order[begin : begin + options.batch_size]
            batch = tokenizer([sentences[i] for i in rows], return_tensors="pt", padding=True)
            batch = batch.to(options.device)
            with torch.inference_mode():
                ids = model.generate(**batch, num_beams=options.beam, max_length=None, max_new_tokens=100)
            texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
            lengths = (ids[:, 1:] != tokenizer.pad_token_id).sum(1).tolist()
            found.update(zip(rows, zip(texts, lengths, strict=True), strict=True))
        return [found[i] for i in range(len(sentences))]

    report(options, run)


def opennmt(options: argparse.Namespace) -> None:
    import sentencepiece
    import torch
    from onmt.bin.translate import _get_parser
    from onmt.inference_engine import InferenceEnginePY
    from onmt.utils.parse import ArgumentParser

    torch.set_num_threads(options.threads)
    os.environ["TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"] = "1"  # its checkpoints hold more than weights
    model = options.peers / "data" / "spm.unigram.model"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model))
    flags = ["-model", str(options.model), "-src", os.devnull, "-output", os.devnull]
    flags += ["-length_penalty", "avg"]
    flags += ["-beam_size", str(options.beam), "-batch_size", str(options.batch_size), "-batch_type", "sents"]
    parsed = _get_parser().parse_args([*flags, "-max_length", "100", "-gpu", "-1"])
    for prepare in (
        ArgumentParser.validate_translate_opts,
        ArgumentParser._get_all_transform_translate,
        ArgumentParser._validate_transforms_opts,
        ArgumentParser.validate_translate_opts_dynamic,
    ):
        prepare(parsed)
    engine = InferenceEnginePY(parsed)

    def run(sentences: Sequence[str]) -> list[tuple[str, int]]:
        split = pieces.encode(list(sentences), out_type=str)
        found = [best[0].split() for best in engine.infer_list([" ".join(words) for words in split])[1]]
        return [(pieces.decode(words), len(words) + 1) for words in found]

    report(options, run)


WORKERS = {
    "ours": ours,
    "ctranslate2": ctranslate2,
    "ctranslate2 beside": ctranslate2,
    "ctranslate2 int8": ctranslate2,
    "ctranslate2 int8 beside": ctranslate2,
    "ctranslate2 bfloat16 beside": ctranslate2,
    "engine": ours,
    "engine aligned": ours,
    "engine bfloat16": ours,
    "engine bfloat16 aligned": ours,
    "engine int8": ours,
    "engine int8 aligned": ours,
    "huggingface": huggingface,
    "opennmt": opennmt,
}


def measure(options: argparse.Namespace, worker: str, model: Path, beam: int, python: str) -> dict[str, Any]:
    """One engine once, in a process of its own; raises ``RuntimeError`` with its last line if it fails."""
    command = [python, __file__, str(options.run)]
    command += ["--worker", worker, "--model", str(model), "--beam", str(beam)]
    for name in ("data", "peers", "sentences", "threads", "batch_size", "device", "precision"):
        value = getattr(options, name)
        if value is not None:
            command += [f"--{name.replace('_', '-')}", str(value)]
    root = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    rows = [line for line in done.stdout.splitlines() if line.startswith(RESULT)]
    if not rows:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return dict(json.loads(rows[-1].removeprefix(RESULT)))


def beside(
    options: argparse.Namespace, title: str, worker: str, export: Path
) -> list[tuple[str, str, Path, str]]:
    """CTranslate2's own loop with a worker a thread, and ours with it, without and with alignments."""
    from ctranslate2 import get_supported_compute_types

    kinds = {title: worker.removeprefix("ctranslate2").strip()}
    if title == "float32" and "bfloat16" in get_supported_compute_types("cpu"):
        kinds["bfloat16"] = "bfloat16"
    found = []
    for kind, name in kinds.items():
        own = " ".join(["ctranslate2", *name.split(), "beside"])
        engine = " ".join(["engine", *name.split()])
        found.append((f"CTranslate2 {kind}, {BESIDE}", own, export, sys.executable))
        found.append((f"ours, --engine ctranslate2 {kind}", engine, options.run, sys.executable))
        title = f"ours, --engine ctranslate2 {kind}, with alignments"
        found.append((title, f"{engine} aligned", options.run, sys.executable))
    return found


def engines(options: argparse.Namespace, folder: Path) -> tuple[list[tuple[str, str, Path, str]], list[str]]:
    """Title, worker, model and interpreter of the engines, and why others are missing."""
    from translate.export.export_run import export_run

    found = [("ours, Transformer", "ours", options.run, sys.executable)]
    missing = []
    on_cpu = options.device == "cpu"
    for quantization in (None, "int8") if on_cpu else (None,):
        title = quantization or options.precision
        out = folder / f"ctranslate2-{title}"
        try:
            proof = export_run(options.run, "ctranslate2", out, quantization=quantization)
            print(f"ctranslate2 {title}: {proof.line()}", flush=True)
            worker = "ctranslate2 int8" if quantization else "ctranslate2"
            found.append((f"CTranslate2 {title}, same weights", worker, out, sys.executable))
            if on_cpu:
                found += beside(options, title, worker, out)
        except ValueError as error:
            missing.append(f"CTranslate2 {title}: {error}")
    try:
        proof = export_run(options.run, "huggingface", folder / "huggingface")
        print(f"huggingface: {proof.line()}", flush=True)
        found.append(("Hugging Face, same weights", "huggingface", folder / "huggingface", sys.executable))
    except ValueError as error:
        missing.append(f"Hugging Face: {error}")
    found += [(f"ours, {run.name}", "ours", run, sys.executable) for run in options.rnn]
    for kind, title in OPENNMT.items() if on_cpu else ():
        if options.peers is None:
            missing.append(f"OpenNMT-py {title}: no --peers")
            continue
        python = options.peers / "onmt" / "bin" / "python"
        models = sorted((options.peers / "models" / f"onmt_{kind}").glob("m_step_*.pt"), key=os.path.getmtime)
        if not python.exists():
            missing.append(f"OpenNMT-py {title}: {python} is not there")
        elif not models:
            config = options.peers / "cfg" / f"onmt_{kind}.yaml"
            train = (
                f"{python.parent}/onmt_train -config {config} -train_steps 1500 -save_checkpoint_steps 1500"
            )
            missing.append(f"OpenNMT-py {title}: no model; {train}")
        else:
            found.append((f"OpenNMT-py, {title}", "opennmt", models[-1], str(python)))
    return found, missing


def main() -> None:
    options = arguments()
    if options.worker:
        WORKERS[options.worker](options)
        return
    with tempfile.TemporaryDirectory() as folder:
        measured, missing = engines(options, Path(folder))
        rows: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for _ in range(options.rounds):
            for beam in options.beams:
                for title, worker, model, python in measured:
                    try:
                        row = measure(options, worker, model, beam, python)
                        rows.setdefault((title, beam), []).append(row)
                    except RuntimeError as error:
                        missing.append(f"{title}, beam {beam}: {error}")
    place = f"{options.threads} threads" if options.device == "cpu" else options.device
    print(f"\n{options.sentences} sentences, {place}, {options.precision}, batch {options.batch_size}, "
          f"median of {options.rounds}\n")  # fmt: skip
    print("| engine | beam | sentences/s | tokens/s | memory, GiB | BLEU |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for (title, beam), found in rows.items():
        middle = {name: statistics.median(row[name] for row in found) for name in NUMBERS}
        held = [row["memory"] for row in found if row["memory"] is not None]
        memory = f"{statistics.median(held):.2f}" if held else "unknown"
        print(f"| {title} | {beam} | {middle['sentences']:.1f} | {middle['tokens']:.0f} "
              f"| {memory} | {middle['bleu']:.2f} |")  # fmt: skip
    for line in dict.fromkeys(missing):
        print(f"not measured: {line}")


if __name__ == "__main__":
    main()
