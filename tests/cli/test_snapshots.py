"""What verbs print, kept in tests/snapshots; `make snapshots` writes them anew, and people read the change."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from discreet.cli import main
from running import run

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
OUTPUTS = """
init answers.csv --column age --all-sensitive --epsilon 1 -o age.toml
init people.csv --column diagnosis --sensitive depression,diabetes --epsilon 1 --least 5 -o diagnosis.toml
plan age.toml --epsilon 1 --users 2000
verify age.toml
verify age.toml --statement 2000 --draws 20000 --seed 1
verify personal.toml
obfuscate age.toml answers.csv --column age --keep marital --seed 1 -o reports.parquet
estimate age.toml reports.parquet
estimate age.toml reports.parquet --method mle --largest 2
estimate age.toml reports.parquet --statement
estimate age.toml reports.parquet --by marital
regress age.toml reports.parquet --on marital
seal age.toml reports.parquet -o sealed.parquet
verify age.toml --sealed sealed.parquet
tally age.toml sealed.parquet -o all.tally.parquet
survey obfuscate health_survey.toml people.csv --seed 1 -o answered
survey verify health_survey.toml
survey estimate health_survey.toml answered
survey risk health_survey.toml --users 1000
risk checkins.csv --event place --time day --time-unit d --seed 1
risk reports survey.toml people.csv --by age,sex
risk compare survey.toml age.toml --users 1000
risk plan age.toml --users 1000 --identification-error 0.9
"""
REFUSALS = """
estimate age.toml nothing.parquet
estimate nothing.toml reports.parquet
estimate age.toml reports.parquet --level 95
obfuscate age.toml answers.csv --column marital -o wrong.parquet
obfuscate age.toml answers.csv --column nobody -o wrong.parquet
init answers.csv --column age --epsilon -1 --all-sensitive
compare age.toml reports.parquet reports.parquet
risk checkins.csv --event place --time day --split last
risk checkins.csv --event place --time day
"""


def verbs_of(group: click.Group, path: str) -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        verb = group.get_command(click.Context(group), name)
        yield f"{path}{name} --help"
        if isinstance(verb, click.Group):
            yield from verbs_of(verb, f"{path}{name} ")


def check(name: str, commands: list[str], folder: str = "") -> None:
    """Compare what commands print with the file of the name, or write it; a temporary folder has another name in it."""
    printed = []
    for command in commands:
        result = CliRunner().invoke(main, command.split(), prog_name="discreet")
        code = "" if result.exit_code == 0 else f"(exit code {result.exit_code})\n"
        output = result.output.replace(folder, "FOLDER") if folder else result.output
        printed.append(f"$ discreet {command}\n{output}{code}")
    text = "\n".join("\n".join(line.rstrip() for line in part.splitlines()) + "\n" for part in printed)
    file = SNAPSHOTS / name
    if os.environ.get("SNAPSHOTS") == "write":
        file.write_text(text, encoding="utf-8")
    assert text.split("\n$ ") == file.read_text(encoding="utf-8").split("\n$ "), (
        "run `make snapshots`, and read the change"
    )


def test_help() -> None:
    check("help.txt", ["--help", *verbs_of(main, "")])


def test_outputs_and_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    assert run("examples", "there").exit_code == 0
    monkeypatch.chdir(tmp_path / "there")
    check("outputs.txt", OUTPUTS.split("\n")[1:-1], str(tmp_path))
    check("refusals.txt", REFUSALS.split("\n")[1:-1], str(tmp_path))
