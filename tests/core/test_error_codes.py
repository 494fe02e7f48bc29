"""Errors: a sentence from the catalogue, a code, the name of an argument, and no more."""

import pickle
from string import Formatter

import pytest

from discreet.cli.commands import Subcommand
from discreet.errors import DataError, DiscreetError, ParameterError, catalogue


def test_an_error_has_a_code_and_an_argument() -> None:
    error = ParameterError("argument.not-positive", argument="epsilon", value=-1)
    assert (error.code, error.argument) == ("epsilon.not-positive", "epsilon")
    assert error.sentence() == "epsilon must be a finite number above 0, got -1."
    assert str(error) == "epsilon must be a finite number above 0, got -1. [epsilon.not-positive]"


def test_a_place_comes_before_the_sentence() -> None:
    error = ParameterError("argument.not-positive", argument="epsilon", value=-1).at("row 2").at("plan.toml")
    assert str(error) == "plan.toml: row 2: epsilon must be a finite number above 0, got -1. [epsilon.not-positive]"


def test_errors_travel_between_processes() -> None:
    error = ParameterError("argument.not-positive", argument="epsilon", value=-1).at("plan.toml")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.code) == (ParameterError, str(error), "epsilon.not-positive")


def test_other_packages_write_sentences() -> None:
    error = DataError("The device's clock is not set.")
    assert (str(error), error.code, error.argument) == ("The device's clock is not set.", "", "")


def test_the_command_line_writes_arguments_as_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalogue(), "rows.unknown", "Add them, or use `unknown='drop'` and `other`.")
    import click

    verb = Subcommand("estimate", params=[click.Option(["--unknown"])])
    error = DiscreetError("rows.unknown", argument="unknown")
    assert error.sentence() == "Add them, or use `unknown='drop'` and `other`."
    assert error.sentence(verb.name_of) == "Add them, or use --unknown drop and other."


def test_every_sentence_can_be_filled() -> None:
    """A lone brace, or a format that no number has, would end the program where it explains an error."""
    assert len(catalogue()) > 800
    for code, text in catalogue().items():
        names = {name for _, name, _, _ in Formatter().parse(text) if name}
        sentence = text.format(**dict.fromkeys(names, 1))
        assert sentence.endswith((".", "?", ")", "'", "1")), code
