"""Numbers of people and reports, as one writes large ones."""

import click
import pytest

from discreet.cli import main
from discreet.cli.options import Count
from packing import each

COUNTS = {"0": 0, "100_000": 100_000, "1E5": 100_000, "1e+5": 100_000, "2.5e5": 250_000, "1e40": 10**40, "-3": -3}
# A full-width digit is none, nor is a number that a float is needed for.
NO_COUNTS = ["", " 1", "1 ", "1.5", "1.0", "1.5e0", "1e-1", "1e", "e5", "1,000", "100k", "1__0", "_1", "1_", "0x10"]
NO_COUNTS += ["inf", "nan", "１", "1e999"]


@each("text", COUNTS)
def test_counts(text: str) -> None:
    found = Count().convert(text, None, None)
    assert (found, type(found)) == (COUNTS[text], int)


@each("text", NO_COUNTS)
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(click.BadParameter, match="1e5"):
        Count().convert(text, None, None)


def test_all_numbers_of_things_are_counts() -> None:
    """Only a seed is a number that counts nothing."""
    for verb, command in main.commands.items():
        for one in command.params:
            assert not isinstance(one.type, click.types.IntParamType) or one.name == "seed", (verb, one.name)
