"""A stored recipe is trained again and compared; sacrebleu, sums by hand and changed data are the oracles."""

import hashlib
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from sacrebleu import corpus_bleu

import translate
from scripts import reproduce
from tests.tiny_runs import without_figures

EN = "a dog runs in the park\ntwo girls eat an apple\nthe man sleeps on a bench\n"
DE = "ein Hund rennt im Park\nzwei Mädchen essen einen Apfel\nein Mann schläft auf der Bank\n"
TRAIN = (
    "data=multi30k tokenizer.vocabulary_size=80 model.width=48 model.feedforward_size=48 optimizer=adam "
    "optimizer.lr=0.01 schedule=constant training.max_steps=30 training.guided_alignment=0 runtime.threads=1"
)
MORE = (
    "data=mixture data.source_language=en data.target_language=de"
    " data.corpora.old.choice=multi30k data.corpora.old.path={data}"
    " data.corpora.new.choice=files data.corpora.new.train.source=more{ending}.tsv"
    " data.corpora.new.validation_pairs=0"
)


def test_a_recipe_is_trained_again_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {}
    for split in ("train", "val", "test"):
        for language, text in (("en", EN), ("de", DE)):
            lines = text.encode() * (30 if split == "train" else 1)
            Path(f"{split}.{language}").write_bytes(lines)
            files[f"{split}.{language}"] = hashlib.sha256(lines).hexdigest()

    def again(bleu: float, name: str = "tiny") -> tuple[int, str]:
        measured = {"pair": "en-de", "seeds": {7: {"bleu": bleu}}}
        forward = (
            "backtranslate runs/tiny{ending} --source {data}/train.en.gz --forward --out more{ending}.tsv"
        )
        taught = TRAIN.replace("data=multi30k ", "")
        recipes = {
            "tiny": measured | {"train": TRAIN},
            "two": measured | {"train": f"{TRAIN} runtime=ddp runtime.device=cpu"},
            "both": measured | {"needs": ["tiny"], "ensemble": 2},
            "taught": measured | {"needs": ["tiny"], "before": [forward], "train": taught, "data": MORE},
        }
        stored = {"signature": "", "beam_size": 2, "test": "test", "files": files}
        Path("results.yaml").write_text(yaml.safe_dump(stored | {"recipes": recipes}))
        with without_figures():
            code = reproduce.main([name, "--data", "."], Path("results.yaml"))
        return code, "".join(capsys.readouterr())

    code, shown = again(0)
    found = corpus_bleu(Path("runs/tiny-seed7/test.de").read_text().splitlines(), [DE.splitlines()]).score
    assert found > 20, shown
    assert code == 1
    assert f"BLEU {found:.2f}, stored 0.00 (one seed): OUTSIDE the spread of -0.50 to 0.50" in shown
    code, shown = again(found + 0.4)
    assert code == 0
    assert "within the spread" in shown
    code, shown = again(found, "two")
    assert "$ torchrun --standalone --nproc-per-node 2 --no-python translate train data=multi30k " in shown
    assert "parallel: ddp" in Path("runs/two-seed7/config.yaml").read_text()
    code, shown = again(found, "both")
    assert "$ translate evaluate runs/tiny-seed7 " in shown
    assert "--ensemble runs/tiny-seed8\n" in shown
    both = translate.load("runs/tiny-seed7").join([translate.load("runs/tiny-seed8")])
    texts = [result.text for result in both.translate(EN.splitlines(), beam_size=2)]
    assert Path("runs/tiny-seed7/test.de").read_text().splitlines() == texts
    code, shown = again(found, "taught")
    assert Path("more-seed7.tsv").read_text().startswith("en\tde\n<synthetic> ")
    assert "new: files en-de, pairs: train 3, validation none" in shown
    Path("val.en").write_text(EN.replace("two", "some"))
    code, shown = again(found)
    assert code == 2
    assert shown.startswith("error: val.en: not the text that was measured")


def test_the_spread_is_that_of_the_seeds_and_half_a_bleu_at_least() -> None:
    for seeds, low, high in (([40.3], 39.8, 40.8), ([38, 39.6, 40], 38, 40), ([39.7, 39.9], 39.3, 40.3)):
        recipe = {"seeds": {seed: {"bleu": bleu} for seed, bleu in enumerate(seeds)}}
        limits = (low - 0.01, low + 0.01, high - 0.01, high + 0.01)
        judged = [reproduce.verdict(recipe, bleu)[0] for bleu in limits]
        assert judged == [False, True, True, False]
