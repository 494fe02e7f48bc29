"""Runs verbs on small files, and expects what every verb must keep to."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from discreet import Plan, Reports, read_reports
from discreet.cli import main

PLAN = """
epsilon = 1.5
[domain]
labels = ["never", "[once]", "[/often]", ":smile:", "daily"]
sensitive = ["[/often]", "daily"]
[mechanism]
name = "{name}"
"""
LABELS = ["never", "[once]", "[/often]", ":smile:", "daily"]
VALUES = [LABELS[code] for code in np.random.default_rng(5).choice(5, 600, p=[0.4, 0.3, 0.15, 0.1, 0.05])]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def flat(text: str) -> str:
    """Return text without its line breaks."""
    return " ".join(text.split())


def done(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def told(*arguments: object) -> Any:
    """Return what a verb says for programs, but the evidence, which has the command line."""
    facts = json.loads(done(*arguments, "--json"), parse_constant=pytest.fail)
    if isinstance(facts, dict):
        facts.pop("evidence", None)
    return facts


def refusal(*arguments: object) -> str:
    """Expect one sentence on the error stream and exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert re.fullmatch(r"Error: [^\n]+\.( \[[\w-]+\.[a-z0-9-]+\])?\n", result.stderr), result.stderr
    assert not re.search(r"`\w+=", result.stderr), f"an argument of Python, not an option: {result.stderr}"
    return result.stderr


class Files:
    """A folder with a plan and a table of values."""

    def __init__(self, folder: Path, name: str = "unary") -> None:
        self.folder = folder
        self.plan, self.values = folder / "plan.toml", folder / "values.csv"
        self.reports, self.mechanism = folder / "reports.parquet", None
        self.plan.write_text(PLAN.format(name=name))
        self.values.write_text("habit\n" + "\n".join(VALUES) + "\n")
        self.mechanism = Plan.load(self.plan).mechanism()

    def obfuscated(self) -> Reports:
        done("obfuscate", self.plan, self.values, "-o", self.reports, "--seed", 7, "--force")
        return read_reports(self.reports, self.mechanism)
