"""A verb that another package registers: listed and run where the package is installed, and nowhere else."""

from email.message import Message
from importlib import metadata
from types import SimpleNamespace

import click
import pytest

from running import done

SUMMARY = "Figures made again. And more."


class Entry:
    """An entry point."""

    name = "reproduce"
    dist = SimpleNamespace(metadata=Message())
    dist.metadata["Summary"] = SUMMARY

    @staticmethod
    def load() -> click.Command:
        @click.command()
        @click.argument("names", nargs=-1)
        @click.option("--loud", is_flag=True)
        def command(names: tuple[str, ...], loud: bool) -> None:
            click.echo(f"{names} {loud}")

        return command


def _register(monkeypatch: pytest.MonkeyPatch, *entries: object) -> None:
    def entry_points(*, group: str) -> tuple[object, ...]:
        assert group == "discreet.commands"
        return entries

    monkeypatch.setattr(metadata, "entry_points", entry_points)


def test_the_registered_command_gets_all_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, Entry())
    assert done("reproduce", "a", "--loud", "b") == "('a', 'b') True\n"
    assert "--loud" in done("reproduce", "--help")
    (line,) = (line for line in done("--help").splitlines() if "reproduce" in line)
    assert line.split(maxsplit=1) == ["reproduce", "Figures made again. And more."]


def test_a_verb_of_this_package_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = Entry()
    taken.name = "examples"
    _register(monkeypatch, taken)
    assert "Figures made again" not in done("--help")
    assert "Copy the examples" in done("examples", "--help")
