"""Verbs and options that earlier versions had."""

from importlib import metadata

import pytest

from discreet.cli.removed import REMOVED
from running import refusal, run


@pytest.mark.parametrize("name", REMOVED)
def test_what_was_removed_is_refused_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # As where no other package brings a verb.
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())
    message = f"Error: discreet {name} was removed. {REMOVED[name]}. [option.removed]\n"
    assert refusal(*name.split()) == message
    assert refusal(*name.split(), "plan.toml", "--json") == message


def test_other_unknown_names_are_refused_as_before() -> None:
    for words in (["risks"], ["risk", "scores", "--peoples"], ["estimate", "--people"]):
        assert "was removed" not in run(*words).stderr
