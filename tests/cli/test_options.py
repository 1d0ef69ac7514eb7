import inspect
from dataclasses import dataclass
from typing import Annotated, ClassVar, get_args

import pytest
import typer

from translate.alignment import formats
from translate.cli.align import options as align_options
from translate.cli.options import MachineOptions, Symmetrisation, TranslationMachine, with_groups
from translate.cli.text_options import (
    AlignmentOptions,
    LengthOptions,
    OutputOptions,
    SampleOptions,
    SearchOptions,
)
from translate.figures.figure import check_extension
from translate.links.symmetrise import SYMMETRISATIONS


@dataclass(frozen=True)
class Place:
    """A place that a guest visits."""

    PANEL: ClassVar = "Where"

    city: Annotated[str, typer.Option(help="City.")]
    street: Annotated[str, typer.Option(help="Street.")] = "High Street"


def test_a_group_stands_for_its_options() -> None:
    calls = []

    @with_groups
    def visit(guest: Annotated[str, typer.Argument()], *, place: Place, count: int = 3) -> None:
        """Note a visit of a guest."""
        calls.append((guest, place, count))

    parameters = inspect.signature(visit).parameters
    assert list(parameters) == ["guest", "city", "street", "count"]
    assert parameters["city"].default is inspect.Parameter.empty
    assert parameters["street"].default == "High Street"
    assert [parameters[name].annotation.__metadata__[0].rich_help_panel for name in ("city", "street")] == [
        "Where"
    ] * 2
    assert (visit.__name__, visit.__doc__) == ("visit", "Note a visit of a guest.")
    visit(guest="Ann", city="Oslo", street="Main Street", count=5)
    assert calls == [("Ann", Place("Oslo", "Main Street"), 5)]


def test_two_options_of_one_name_are_a_mistake_of_ours() -> None:
    def visit(*, city: str, place: Place) -> None:
        """Note a visit of a guest."""

    with pytest.raises(ValueError, match="city"):
        with_groups(visit)


def test_a_group_may_have_an_option_of_the_name_of_another() -> None:
    calls = []

    @with_groups
    def visit(*, city: Place, machine: MachineOptions) -> None:
        """Note a visit of a guest."""
        calls.append((city, machine))

    visit(city="Oslo", street="Main Street", device="cpu", threads=None, plugin=None)
    assert calls == [(Place("Oslo", "Main Street"), MachineOptions("cpu"))]


@pytest.mark.parametrize(
    "group",
    [
        MachineOptions,
        TranslationMachine,
        OutputOptions,
        AlignmentOptions,
        SearchOptions,
        LengthOptions,
        SampleOptions,
    ],
)
def test_options_left_out_decide_nothing(group: type) -> None:
    """The run's configuration decides; a default here would be a second one."""
    of_the_command = {"device": "auto", "precision": "float32", "n_best": 1, "format": "text"}
    of_the_command["engine"] = "torch"
    for name, value in vars(group()).items():
        assert value == of_the_command[name] if name in of_the_command else not value


def test_names_that_help_lists_are_those_of_the_library() -> None:
    """The command line spells them out, so that `--help` need not import numpy."""
    assert get_args(Symmetrisation) == SYMMETRISATIONS
    assert (align_options.LINKS, align_options.TABLES) == (formats.LINKS, formats.TABLES)
    for suffix in align_options.PICTURES:
        assert check_extension(f"a{suffix}").suffix == suffix
