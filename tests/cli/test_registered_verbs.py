"""A verb that another package registers: listed without it, refused in one sentence, run with it."""

import click
import pytest

from discreet.cli.verbs import simulate
from running import done, refusal


class Entry:
    """An entry point."""

    @staticmethod
    def load() -> click.Command:
        @click.command()
        @click.argument("names", nargs=-1)
        @click.option("--loud", is_flag=True)
        def command(names: tuple[str, ...], loud: bool) -> None:
            click.echo(f"{names} {loud}")

        return command


def _register(monkeypatch: pytest.MonkeyPatch, *entries: object) -> None:
    def entry_points(*, group: str, name: str) -> tuple[object, ...]:
        assert (group, name) == ("discreet.commands", "reproduce")
        return entries

    monkeypatch.setattr(simulate, "entry_points", entry_points)


def test_where_nobody_registers_it_the_verb_says_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch)
    for arguments in ([], ["--list"], ["uldp/fig5", "--quick"], ["--help"]):
        text = refusal("reproduce", *arguments)
        assert "in the folder papers of discreet's sources" in text
        assert "'pip install ./papers'" in text
    assert "reproduce" in done("--help")


def test_the_registered_command_gets_all_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    _register(monkeypatch, Entry())
    assert done("reproduce", "a", "--loud", "b") == "('a', 'b') True\n"
    assert "--loud" in done("reproduce", "--help")
