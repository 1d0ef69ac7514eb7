"""Pretrained models as runs: the same pieces, logits and translations as in ``transformers``."""

import io
import json
import os
import pickle
import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file

import translate
from tests.export.contents import SOURCES, TARGETS, of_transformer
from tests.export.marian import TAGS, make_marian, write_own
from tests.tiny_runs import without_figures
from translate.config.composer import compose
from translate.corpora.batching import pad
from translate.errors import UserError
from translate.export import huggingface
from translate.export.import_run import import_run
from translate.export.marian import read_vocabulary
from translate.export.pretrained import read_pretrained
from translate.export.pretrained_tokenizer import PretrainedTokenizers, read_tokenizers
from translate.runs.fine_tuning import with_model_of_start
from translate.runs.life import train
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory
from translate.text.tokenizer import BOS, EOS, UNKNOWN
from translate.training.weights import model_tensors

Made = Callable[[str], tuple[Path, Any, Any]]
TEXTS = [*SOURCES, "é, ça va?", f"{TAGS[1]} you laugh", "  two   spaces "]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Makes the folder of a model with shared or separate vocabularies, the model and its tokenizer."""

    @cache
    def make(kind: str) -> tuple[Path, Any, Any]:
        folder = tmp_path_factory.mktemp("models") / "marian"
        return folder, *make_marian(folder, separate=kind == "separate")

    return make


@pytest.fixture(scope="module")
def marian(made: Made) -> Path:
    return made("shared")[0]


@pytest.fixture(scope="module", params=["shared", "separate", "shared own", "separate own"])
def pretrained(
    request: pytest.FixtureRequest, made: Made, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Any, ...]:
    """A model and its tokenizer, the run that it became, and the numbers of its pieces there."""
    kind, *own = request.param.split()
    folder, model, tokenizer = made(kind)
    new = tmp_path_factory.mktemp("runs")
    if own:
        model = deepcopy(model)
        write_own(new / "own", folder, model, tied=kind == "shared")
        folder = new / "own"
    pieces = read_tokenizers(read_pretrained(str(folder)))
    if own:  # padding is last there
        last = model.config.pad_token_id
        sides = [side._replace(rows=[row - 1 if row else last for row in side.rows]) for side in pieces[1:]]
        pieces = PretrainedTokenizers(pieces.pair, *sides)
    return model, tokenizer, imported(folder, new / "run"), pieces


def imported(folder: Path, out: Path) -> Any:
    import_run(str(folder), out)
    return translate.load(out, device="cpu")


def test_settings_of_a_generation_come_from_its_own_file(made: Made, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(made("shared")[0], tmp_path / "older"))
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_beams": 2, "length_penalty": 0.5}))
    search = imported(folder, tmp_path / "run").search
    assert (search.beam_size, search.length_penalty) == (4, 0.5)  # the other file has no penalty
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 20}))
    search = imported(folder, tmp_path / "shorter").search
    assert (search.max_source_pieces, search.max_length) == (19, 63)  # a source's limit is no translation's


def test_texts_are_cut_alike(pretrained: tuple[Any, ...]) -> None:
    _, tokenizer, run, pieces = pretrained
    for text in TEXTS:
        wanted = tokenizer(text)["input_ids"][:-1]
        found = run.tokenizers.source.encode(text)
        assert [pieces.source.rows[i] for i in found] == wanted
        assert run.tokenizers.source.encode_words(text).ids == found
    for text in TARGETS:
        found = run.tokenizers.target.encode(text)
        wanted = tokenizer(text_target=text)["input_ids"][:-1]
        assert [pieces.target.rows[i] for i in found] == wanted
        assert run.tokenizers.target.decode(found) == text


def test_logits_of_a_padded_batch_are_equal(pretrained: tuple[Any, ...]) -> None:
    model, _, run, pieces = pretrained
    source, mask = pad([[*run.tokenizers.source.encode(text), EOS] for text in SOURCES])
    target, visible = pad([[BOS, *run.tokenizers.target.encode(text)] for text in TARGETS])
    rows, columns = torch.tensor(pieces.source.rows), torch.tensor(pieces.target.rows)
    with torch.no_grad():
        wanted = model(rows[source], mask.long(), columns[target]).logits[..., columns]
        found = run.model.logits(run.model(source, mask, target))
    assert found[..., pieces.target.never].max() < -80
    found[..., pieces.target.never] = wanted[..., pieces.target.never]
    torch.testing.assert_close(found[visible], wanted[visible], rtol=0, atol=1e-5)


@pytest.mark.parametrize("pretrained", ["shared", "separate"], indirect=True)
@pytest.mark.parametrize(("beam_size", "stop"), [(1, "beaten"), (3, "beaten"), (3, "full")])
def test_translations_are_those_of_generate(pretrained: tuple[Any, ...], beam_size: int, stop: str) -> None:
    model, tokenizer, run, _ = pretrained
    texts = [text for text in SOURCES if text]
    search = replace(run.search, stop=stop)
    found = [result.text for result in run.translate(texts, beam_size=beam_size, search=search)]
    early = stop == "full"
    for text, translation in zip(texts, found, strict=True):
        source = tokenizer([text], return_tensors="pt")
        generated = model.generate(**source, num_beams=beam_size, max_length=64, early_stopping=early)
        wanted = tokenizer.decode(generated[0], skip_special_tokens=True)  # without unknown pieces
        assert wanted.split() == translation.replace(UNKNOWN, "").split()


def test_ctranslate2_translates_alike(marian: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    run = imported(marian, tmp_path / "run")
    ours = run.translate(SOURCES, search=replace(run.search, stop="full"))
    other = translate.load(tmp_path / "run", device="cpu", engine="ctranslate2")
    assert "without search.stop=beaten" in str(other.engine.note)
    with pytest.raises(UserError, match="CTranslate2 cannot do this: stop"):
        other.translate(SOURCES, search=replace(run.search, stop="full"))
    theirs = other.translate(SOURCES)
    auto = translate.load(tmp_path / "run", device="cpu", engine="auto")
    assert "since CTranslate2 has no search.stop=beaten" in str(auto.engine.note)
    assert [result.text for result in ours] == [result.text for result in theirs]
    assert [result.score for result in ours] == pytest.approx([result.score for result in theirs], abs=1e-5)


def test_tags_of_languages_are_words_before_the_sentence(marian: Path, tmp_path: Path) -> None:
    run = imported(marian, tmp_path / "runs" / "run")
    assert run.tokenizers.source.tags == TAGS
    (result,) = run.translate([f"{TAGS[1]} I love you ."], alignments=True)
    assert result.alignment.source_words == [TAGS[1], "I", "love", "you", "."]


@pytest.mark.parametrize(
    "options",
    [{}, {"pre_norm": False, "tie": "none", "positions": "learned", "max_length": 64}, {"tie": "all"}],
    ids=str,
)
def test_an_export_of_ours_comes_back_to_the_bit(options: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    contents = of_transformer(**options)
    huggingface.export(contents, tmp_path / "out")
    run = imported(tmp_path / "out", tmp_path / "run")
    before, after = model_tensors(contents.model), model_tensors(run.model)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    for text in SOURCES:
        assert run.tokenizers.source.encode(text) == contents.tokenizers.source.encode(text)
    source = torch.tensor([contents.encode(SOURCES[0])])
    target = torch.tensor([[BOS, 7, 5, 8]])
    logits = [model.logits(model(source, None, target)) for model in (contents.model, run.model)]
    assert torch.equal(*logits)


def test_an_imported_run_learns_more_with_guided_alignment(marian: Path, tmp_path: Path) -> None:
    start = imported(marian, tmp_path / "start")
    pairs = [pair for pair in zip(SOURCES, TARGETS, strict=True) if pair[0]]
    files = (tmp_path / "train.en", tmp_path / "train.fr")
    for file, lines in zip(files, zip(*pairs)):
        file.write_text("\n".join(lines * 2) + "\n", encoding="utf-8")
    given = ["data=files", "runtime.threads=1", "runtime.device=cpu"]
    given += [f"data.train.source={files[0]}", f"data.train.target={files[1]}", "schedule.warmup=1"]
    given += [f"run.directory={tmp_path / 'run'}", f"training.start_from={tmp_path / 'start'}"]
    given += ["training.guided_alignment=0.5", "training.max_steps=2"]
    with without_figures():
        assert train(with_model_of_start(compose(given), [text.partition("=")[0] for text in given])) == 0
    tuned = translate.load(tmp_path / "run", device="cpu", checkpoint="last")
    assert not torch.equal(tuned.model.output_weight, start.model.output_weight)
    (found,) = tuned.translate(["I love you ."], alignments=True)
    assert found.alignment.source_words == ["I", "love", "you", "."]


def test_an_imported_model_is_exported_again(marian: Path, tmp_path: Path) -> None:
    imported(marian, tmp_path / "run")
    from translate.export.export_run import export_run

    sentences = tmp_path / "sentences"
    sentences.write_text("I love you .\nyou\n", encoding="utf-8")
    options: dict[str, Any] = {"sentences": sentences}
    proof = export_run(tmp_path / "run", "huggingface", tmp_path / "hf", **options)
    assert proof.differing == 0
    again = imported(tmp_path / "hf", tmp_path / "again")
    assert again.tokenizers.source.tags == TAGS


class Code:
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return os.mkdir, ("planted",)


@pytest.mark.parametrize("zipped", [True, False])
def test_weights_of_torch_are_read_without_running_code(
    zipped: bool, marian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(marian, tmp_path / "copy"))
    weights: dict[str, Any] = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    file = folder / "pytorch_model.bin"
    torch.save(weights, file, _use_new_zipfile_serialization=zipped)
    plain, other = imported(marian, tmp_path / "plain"), imported(folder, tmp_path / "run")
    tensors = (model_tensors(run.model).values() for run in (plain, other))
    assert all(torch.equal(*pair) for pair in zip(*tensors, strict=True))
    torch.save({**weights, "more": Code()}, file, _use_new_zipfile_serialization=zipped)
    assert "code of strangers is not run" in refused(folder, tmp_path / "new")
    assert not Path("planted").exists()


def refused(model: Path | str, out: Path) -> str:
    """The one sentence that refuses a model, which leaves nothing behind."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(UserError) as told:
        import_run(str(model), out)
    assert sorted(out.parent.iterdir()) == before
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        ("config.json", {"model_type": "t5", "architectures": ["T5Model"]}, "architecture is t5 (T5Model)"),
        ("config.json", {"activation_function": "gelu_new"}, "function=gelu_new (it has relu, gelu"),
        ("config.json", {"scale_embedding": False}, "scale_embedding=False (it has true)"),
        ("config.json", {"decoder_ffn_dim": 19}, "decoder_ffn_dim=19 (it has the encoder's 34)"),
        ("config.json", {"d_model": "${oc.env:HOME}"}, "d_model: expected a number"),
        ("config.json", {"d_model": 30}, "24), its configuration says (48, 30)"),
        ("config.json", {"encoder_layers": 3}, "model.encoder.layers.2"),
        ("config.json", {"encoder_layers": 1}, "model.encoder.layers.1"),
        ("config.json", {"vocab_size": 10**12}, "expected a number for each piece"),
        ("config.json", {"pad_token_id": 1000}, "has no piece for pad_token_id=1000"),
        ("vocab.json", {"more": 10**6}, "expected a number for each piece"),
        ("vocab.json", {"more": [1]}, "expected pieces with their numbers"),
        ("config.json", None, "no model; expected a folder as the Hugging Face hub"),
        ("model.safetensors", None, "no weights; expected model.safetensors or pytorch_model.bin"),
        ("model.safetensors", b"cut short", "damaged or cut short"),
        ("source.spm", None, "no such file; expected the SentencePiece model of a Marian, not BPE"),
        ("target.spm", b"\xffno message", "no SentencePiece model"),
        ("vocab.json", b'{"<pad>": 47, "</s>": 0, "<unk>": 1}', "of the SentencePiece models, such as"),
        ("vocab.json", b"[]", "expected names and values"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_named(
    file: str, changes: dict[str, Any] | bytes | None, message: str, marian: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(marian, tmp_path / "copy"))
    if isinstance(changes, dict):
        changes = json.dumps(json.loads((folder / file).read_bytes()) | changes).encode()
    change(folder / file, changes)
    assert message in refused(folder, tmp_path / "run")


def change(file: Path, content: bytes | None) -> None:
    """Give a file another content, or remove it."""
    file.unlink()
    if content is not None:
        file.write_bytes(content)


@pytest.mark.parametrize("norms", [("", "dan", ""), ("n", "da", "n")], ids="/".join)
def test_ctranslate2_reads_marians_own_files_alike(
    norms: tuple[str, str, str], made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = pytest.importorskip("ctranslate2")
    (folder, original, _), own = made("separate"), tmp_path / "own"
    model, names = deepcopy(original), ("preprocess", "postprocess", "postprocess_top")
    changed: dict[str, Any] = {f"transformer_{name}": norm for name, norm in zip(names, norms, strict=True)}
    write_own(own, folder, model, **changed)
    table = model.model.encoder.embed_positions.weight.numpy()  # Marian's; theirs has other wave lengths
    monkeypatch.setattr(library.converters.marian, "_make_sinusoidal_position_encodings", lambda dim: table)
    library.converters.OpusMTConverter(str(own)).convert(str(tmp_path / "other"))
    engine = library.Translator(str(tmp_path / "other"), compute_type="float32")
    cutter = sentencepiece.SentencePieceProcessor(model_file=str(own / "source.spm"))
    run = imported(own, tmp_path / "run")
    assert (run.search.beam_size, run.search.length_penalty, run.search.stop) == (4, 1, "full")
    known = run.tokenizers.target.pieces(range(len(run.tokenizers.target)))
    for text in filter(None, SOURCES):
        pieces = [cutter.encode(text, out_type=str)]
        (found,) = engine.translate_batch(pieces, beam_size=1, max_decoding_length=23)
        ids = [known.index(piece) for piece in found.hypotheses[0]]
        source = torch.tensor([[*run.tokenizers.source.encode(text), EOS]])
        hidden = run.model(source, None, torch.tensor([[BOS, *ids]]))
        assert run.model.logits(hidden)[0].argmax(1)[: len(ids)].tolist() == ids
        (theirs,) = engine.score_batch(pieces, [found.hypotheses[0]])
        ours = torch.log_softmax(run.model.logits(hidden), -1)[0, range(len(ids) + 1), [*ids, EOS]]
        torch.testing.assert_close(ours, torch.tensor(theirs.log_probs), rtol=0, atol=2e-5)


def test_vocabularies_of_marian_are_lists_of_pieces(tmp_path: Path) -> None:
    load = pytest.importorskip("ctranslate2").converters.marian.load_vocab
    pieces = ["</s>", "<unk>", "on", "1", '"', "▁:", "a: b", "\u2028", "\x85", "'"]
    lines = [*pieces[:4], '"\\""', '"▁:"', '"a: b"', "\u2028", '"\\x85"', "''''"]
    text = "".join(f"{line}: {number}\n" for number, line in enumerate(lines))
    (tmp_path / "a.yml").write_text(text, encoding="utf-8")
    (tmp_path / "a.vocab").write_text("\n".join(pieces), encoding="utf-8")
    assert load(tmp_path / "a.yml") == pieces
    for name in ("a.yml", "a.vocab"):
        rows = read_vocabulary(tmp_path / name)
        assert sorted(rows, key=rows.__getitem__) == ["<pad>", *pieces]


def npz(save: Callable[..., None], value: Any, **arrays: Any) -> bytes:
    """A file of numpy with a value instead of the settings."""
    file = io.BytesIO()
    save(file, **{"special:model.yml": numpy.array([value])}, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"type": "s2s"}, "type=s2s (it has transformer)"),
        ({"transformer_decoder_autoreg": "rnn"}, "autoreg=rnn (it has self-attention)"),
        ({"transformer_ffn_activation": "gelu"}, "activation=gelu (it has swish or relu)"),
        ({"transformer_preprocess": "n"}, "postprocess-top=n/dan/ (it has /dan/ or n/da/n)"),
        ({"dim_emb": 30}, "24), its configuration says (48, 30)"),
        ({"models": ["model.intgemm.bin"]}, "expected one .npz and two .yml"),
        ({"vocabs": ["vocab.spm", "vocab.spm"]}, "two .yml or .vocab, got"),
        ({"word_penalty": 0.5}, "word-penalty=0.5 (it has 0)"),
        ({"decoder.yml": b"- a"}, "expected one .npz and"),
        ({"model.npz": None}, "missing, damaged or not Marian's"),
        ({"model.npz": pickle.dumps(1)}, "pickled"),
        ({"model.npz": npz(numpy.savez, {})}, "allow_pickle=False"),
        ({"model.npz": npz(numpy.savez_compressed, 1)}, "is compressed"),
        ({"model.npz": npz(numpy.savez, b"{}", W=numpy.ones(3, int))}, "W holds int64"),
        ({"encoder.vocab.yml": None}, "no vocabulary"),
        ({"encoder.vocab.yml": b"- a\n"}, "expected a piece and its number, got '- a'"),
        ({"encoder.vocab.yml": b"a: 0\n"}, "has no piece for unk_token=<unk>"),
    ],
    ids=str,
)
def test_what_marian_has_beside_is_refused(
    changed: dict[str, Any], message: str, made: Made, tmp_path: Path
) -> None:
    (original, model, _), own = made("shared"), tmp_path / "own"
    write_own(own, original, deepcopy(model), **{name: changed[name] for name in changed if "." not in name})
    for name in (name for name in changed if "." in name):
        change(own / name, changed[name])
    assert message in refused(own, tmp_path / "run")


def test_weights_that_are_not_finite_are_refused(marian: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(marian, tmp_path / "copy"))
    weights = load_file(folder / "model.safetensors")
    weights["model.shared.weight"][5, 3] = torch.nan
    save_file(weights, folder / "model.safetensors")
    assert "NaN or infinite numbers" in refused(folder, tmp_path / "run")


def test_names_of_the_hub_are_found_in_its_cache(
    marian: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub").constants
    cache, commit = tmp_path / "cache", "0123456789abcdef" * 2 + "01234567"
    repository = cache / "models--Some-One--opus-mt-en-fr"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    shutil.copytree(marian, repository / "blobs")
    (repository / "snapshots" / commit).mkdir(parents=True)
    for path in marian.iterdir():
        (repository / "snapshots" / commit / path.name).symlink_to(f"../../blobs/{path.name}")
    card = "---\nlanguage: [en, fr]\nlicense: cc-by-4.0\n---\n# text\nlicense: none\n"
    (repository / "snapshots" / commit / "README.md").write_text(card)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    import_run("Some-One/opus-mt-en-fr", tmp_path / "run")
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "Translates en to fr." in card
    assert commit in card
    assert "| licence | cc-by-4.0 |" in card
    for name in ("Some-One/another", "Some-One"):
        assert "no such folder" in refused(name, tmp_path / "new")


def test_the_command_writes_a_run_that_others_take(
    marian: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from translate.cli.main import run

    out = tmp_path / "run"
    assert run(["import", str(marian), "--out", str(out)]) == 0
    assert f"run written to {out}" in capsys.readouterr().out
    assert run(["text", str(out), "I love you .", "--align"]) == 0
    assert capsys.readouterr().out
    settings = read_settings(RunDirectory(out))
    assert (settings.model["positions"], settings.model["pre_norm"]) == ("marian", False)
    assert (settings.search.beam_size, settings.search.stop) == (4, "beaten")  # the default there
    assert run(["import", str(marian), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err
