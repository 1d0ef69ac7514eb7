"""Settings and files that Hydra, OmegaConf or YAML cannot read: refused in one short sentence."""

from pathlib import Path

import pytest

from translate.config.composer import Composer
from translate.config.settings import check_config
from translate.errors import UserError

COMPOSER = Composer()


def refusal(*overrides: str, composer: Composer = COMPOSER) -> str:
    with pytest.raises(UserError) as caught:
        composer.compose(overrides, check_config)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("training.seed=" + "1" * 5000, "training.seed: expected an integer"),
        ("training.max_steps='" + "é" * 5000 + "'", "expected an integer"),
        ("run.plugins='" + "é" * 5000 + "'", "expected a list"),
        ("run.name=\x1b[31m", "\\x1b"),
        ("run.name=${run.name}", "recursive interpolation"),
        ("run.name=${oops", "'run.name=${oops': not a valid override"),
        ("training.seed=range(0,1000000000)", "need --multirun"),
    ],
)
def test_overrides(override: str, expected: str) -> None:
    assert expected in refusal(override)


def test_interpolations_and_brackets_in_quotes() -> None:
    assert COMPOSER.compose(["run.name='${model.name}-${training.seed}'"]).run.name == "transformer-1"
    assert COMPOSER.compose(["run.name='" + "(" * 100 + "'"], check_config).run.name == "(" * 100


@pytest.mark.parametrize("text", ["Français", "日本語", "my file (1)", "it's", "a=b", "50%", "-", "<unk>"])
def test_a_value_that_is_no_expression_is_text(text: str) -> None:
    config = COMPOSER.compose(["data=files", f"data.target_field={text}"], check_config)
    assert config.data.target_field == text


def test_a_run_stays_below_its_folder() -> None:
    assert "run.name: expected a name, got 'a/../../x'; run.directory is a path" in refusal(
        "run.name=a/../../x"
    )
    assert "run.name: expected a name, got ''" in refusal("run.name=")
    assert COMPOSER.compose(["run.name=a/b..c"], check_config).run.directory == "runs/a/b..c"


def test_sweeps_multiply() -> None:
    assert len(COMPOSER.jobs([f"{key}=1,2,3,4" for key in ("training.seed", "data.seed")])) == 16


@pytest.mark.parametrize("values", ["range(0,10,0)", "range(0.0,1.0,0.0)"])
def test_a_range_that_goes_nowhere(values: str) -> None:
    with pytest.raises(UserError, match=r"zero|[Ii]nvalid range"):
        COMPOSER.jobs([f"training.seed={values}"])


@pytest.mark.parametrize("values", ["glob(*,exclude=*)", "range(3,3)"])
def test_a_sweep_without_values(values: str) -> None:
    with pytest.raises(UserError, match="a sweep without values"):
        COMPOSER.jobs([f"model={values}"])


FILES = [
    ("a: &a [*a]\n", "configuration: "),
    ("a: " + "[" * 10_000, "nested too deeply"),
    ("training:\n  seed: " + "9" * 5000, "configuration: "),
    ("training: [1\n", "not valid YAML"),
]


@pytest.mark.parametrize(("content", "expected"), FILES)
def test_files_of_the_user(tmp_path: Path, content: str, expected: str) -> None:
    (tmp_path / "experiment").mkdir()
    file = tmp_path / "experiment" / "mine.yaml"
    file.write_text(content)
    with pytest.raises(UserError) as caught:
        Composer([tmp_path]).compose(["experiment=mine"], check_config)
    text = str(caught.value)
    assert expected in text
    assert len(text) < 500
    assert "mine.yaml" in text or "configuration" in text


def test_files_of_the_user_may_have_aliases_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEED_OF_TEST", "17")
    (tmp_path / "experiment").mkdir()
    content = "# @package _global_\ndata: {seed: &seed 5}\ntraining: {seed: '${oc.env:SEED_OF_TEST}'}\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(content + "run: {name: 'a', plugins: []}\n")
    config = Composer([tmp_path]).compose(["experiment=mine"])
    assert (config.data.seed, config.training.seed) == (5, "17")
    (tmp_path / "experiment" / "mine.yaml").write_text(content.replace("training", "search") + "x: *seed\n")
    assert "x: unknown section" in refusal("experiment=mine", composer=Composer([tmp_path]))
