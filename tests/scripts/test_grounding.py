"""The script that tells whether a run reads the picture beside a sentence: its sentences and its chance."""

from pathlib import Path

import grounding
import pytest
from grounding import Riddle, kind, report, riddles

from translate.config.data import DataConfig
from translate.config.files import choice_of
from translate.corpora.images.scene import read_scene

FEMININE = {"star", "cross", "moon", "arrow"}
LANGUAGES = ("en", "fr")


def corpus(num_test: int) -> DataConfig:
    return DataConfig(**choice_of("data", "scenes") | {"num_test": num_test, "num_validation": 5})


@pytest.fixture(scope="module")
def found() -> list[Riddle]:
    return riddles(corpus(200), "test", LANGUAGES)


def test_a_sentence_has_as_many_answers_as_english_leaves_open(found: list[Riddle]) -> None:
    """Counted from the words: two genders unless the thing is named, two kinds of light."""
    assert len(found) > 50
    for riddle in found:
        words = riddle.sentence.split()
        pronoun = words[0] in ("it", "they") or words[1] in ("left", "right")
        assert riddle.answers == (2 if pronoun else 1) * (2 if "light" in words else 1), riddle
    assert {kind(riddle) for riddle in found} == {"gender", "light", "gender and light"}


def test_the_picture_decides(found: list[Riddle]) -> None:
    for riddle in found:
        thing, french = read_scene(riddle.picture).things[0], riddle.french.split()
        if french[0] in ("il", "ils", "celui", "elle", "elles", "celle"):
            assert (thing.shape in FEMININE) == (french[0] in ("elle", "elles", "celle"))
        if "light" in riddle.sentence.split():
            assert (thing.look == "light") == french[-2].startswith("lég")


def test_the_share_of_each_kind_is_told(found: list[Riddle], capsys: pytest.CaptureFixture[str]) -> None:
    gender = [riddle for riddle in found if kind(riddle) == "gender"][:4]
    light = [riddle for riddle in found if kind(riddle) == "light"][:1]
    report("title", [*gender, *light], [*(riddle.french for riddle in gender[:3]), "?", "?"])
    assert " ".join(capsys.readouterr().out.split()) == "title 60.0 % right (gender 75.0 %, light 0.0 %)"


def test_sentences_are_asked_with_right_with_wrong_and_without_pictures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A translator that knows the scenes: all right, then those whose neighbour decides alike, then none."""
    data = corpus(60)
    answers = {riddle.picture: riddle.french for riddle in riddles(data, "test", LANGUAGES)}

    class Knowing:
        languages = LANGUAGES

        def translate(self, lines: list[str], beam_size: int) -> list:
            return [
                type("Found", (), {"text": answers.get(line[4:].partition(")")[0], "")}) for line in lines
            ]

    monkeypatch.setattr(grounding.translate, "load", lambda run: Knowing())
    monkeypatch.setattr(grounding, "read_settings", lambda directory: type("Settings", (), {"data": data}))
    grounding.main([str(Path("runs/none"))])
    first, own, other, none = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{len(answers)} ambiguous sentences of the test split; chance 4")
    assert "100.0 % right" in own
    assert float(other.split()[3]) < 50
    assert "  0.0 % right" in none
