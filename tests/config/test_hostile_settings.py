"""Settings and files that would take for ever or print a page: refused in one short sentence."""

from itertools import pairwise
from pathlib import Path

import pytest

from translate.config.composer import MAX_JOBS, MAX_LENGTH, Composer
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
        ("run.plugins=" + "[" * 3000, "nested too deeply; expected at most 32 levels"),
        ("run.name=" + "${" * 200 + "x" + "}" * 200, "nested too deeply"),
        ("+" + "a." * 2000 + "b=1", "nested too deeply"),
        ("training.seed=" + "1" * 5000, "not a valid override"),
        ("run.plugins=[" + "1," * 10_000 + "1]", f"expected at most {MAX_LENGTH:,}"),
        ("x" * 5000 + "=1", "unknown key"),
        ("training.max_steps='" + "é" * 5000 + "'", "expected an integer"),
        ("run.plugins='" + "é" * 5000 + "'", "expected a list"),
        ("run.name=\x1b[31m", "\\x1b"),
        ("run.name=${run.name}", "recursive interpolation"),
        ("training.seed=range(0,1000000000)", "need --multirun"),
    ],
)
def test_overrides(override: str, expected: str) -> None:
    assert expected in refusal(override)


def test_interpolations_of_interpolations() -> None:
    names = ["run.name", "data.name", "data.source_language", "data.target_language", "data.train.source"]
    chain = [f"{name}='{'${' + other + '}'}{('${' + other + '}') * 14}'" for name, other in pairwise(names)]
    assert "interpolations make more than 10,000 values" in refusal(*chain, f"{names[-1]}=x")
    assert COMPOSER.compose(["run.name='${model.name}-${training.seed}'"]).run.name == "transformer-1"


def test_too_many_overrides() -> None:
    assert "1,001 overrides; expected at most 1,000" in refusal(*["training.seed=1"] * 1001)


def test_brackets_in_quotes_are_text() -> None:
    assert COMPOSER.compose(["run.name='" + "(" * 100 + "'"], check_config).run.name == "(" * 100


@pytest.mark.parametrize(
    "values",
    [
        "range(0,1000000000)",
        "range(0,1,1e-9)",
        "shuffle(range(0,1000000000))",
        "sort(range(0,1000000000,0.5))",
    ],
)
def test_sweeps_of_a_range(values: str) -> None:
    with pytest.raises(UserError, match=f"a sweep of more than {MAX_JOBS:,} runs; give fewer values"):
        COMPOSER.jobs([f"training.seed={values}"])


def test_sweeps_multiply() -> None:
    keys = ("training.seed", "data.seed", "training.max_steps", "training.keep", "training.average")
    with pytest.raises(UserError, match="a sweep of more than"):
        COMPOSER.jobs([f"{key}=1,2,3,4,5,6,7" for key in keys])
    assert len(COMPOSER.jobs([f"{key}=1,2,3,4" for key in keys[:2]])) == 16


@pytest.mark.parametrize("values", ["range(0,10,0)", "range(0.0,1.0,0.0)"])
def test_a_range_that_goes_nowhere(values: str) -> None:
    with pytest.raises(UserError, match=r"zero|[Ii]nvalid range"):
        COMPOSER.jobs([f"training.seed={values}"])


@pytest.mark.parametrize("values", ["glob(*,exclude=*)", "range(3,3)"])
def test_a_sweep_without_values(values: str) -> None:
    with pytest.raises(UserError, match="a sweep without values"):
        COMPOSER.jobs([f"model={values}"])


ALIASES = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
FILES = [
    (ALIASES, "too many values"),
    ("a: &a [*a]\n", "too many values"),
    ("a: " + "[" * 100_000, "nested too deeply"),
    ("a: [" + "1," * 20_000 + "1]\n", "too many values"),
    ("#" * (1 << 20) + "\na: 1\n", "larger than 1,048,576 bytes"),
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


def test_a_primary_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(ALIASES)
    with pytest.raises(UserError, match=r"own\.yaml, line 14: nested too deeply, or too many values"):
        Composer([tmp_path], config_name="own")


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
