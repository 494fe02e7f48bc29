"""The verbs that move reports, ``obfuscate`` and ``estimate``: in numbers and words, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import estimate, read_reports
from discreet.cli import main
from discreet.tables.columns import read_table
from json_rows import columns
from packing import each
from running import LABELS, VALUES, VERBS, Files, done, refusal, told

# Help


@each("flag", ["-h", "--help"])
@each("verb", [None, *VERBS])
def test_help(verb: str | None, flag: str) -> None:
    text = done(*([verb] if verb else []), flag)
    assert text.startswith("Usage: ")
    wanted = (
        VERBS
        if verb is None
        else [parameter.opts[-1] for parameter in main.commands[verb].params if "-" in parameter.opts[-1]]
    )
    assert all(name in text for name in wanted)


def test_verbs_are_these() -> None:
    assert sorted(main.commands) == sorted(VERBS)
    assert discreet.__version__ in done("--version")


# obfuscate


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl"])
def test_obfuscate_gives_a_report_per_row(files: Files, suffix: str) -> None:
    output = files.folder / f"r.{suffix}"
    facts = told("obfuscate", files.plan, files.values, "-o", output)
    fingerprint = files.mechanism.fingerprint
    assert facts == {"reports": 600, "output": str(output), "plan": fingerprint, "simulated": False}
    found = read_reports(output, files.mechanism)
    assert (found.n, found.simulated) == (600, False)
    assert [LABELS[code] for code in found.clear] == [
        value for value, told_ in zip(VALUES, found.in_clear, strict=True) if told_
    ]


def test_obfuscate_is_random_and_a_seed_is_not(files: Files) -> None:
    def sent(*options: object) -> Any:
        done("obfuscate", files.plan, files.values, "-o", files.reports, "--force", *options)
        found = read_reports(files.reports, files.mechanism)
        return found.simulated, found.clear.tolist(), found.blocks["bits"].tolist()

    assert sent("--seed", 7) == sent("--seed", 7)
    assert sent("--seed", 7)[0]
    assert sent("--seed", 7) != sent("--seed", 8)
    assert sent() != sent()


def test_obfuscate_never_quotes_a_value(files: Files) -> None:
    files.values.write_text("habit\nnever\nzanzibar\ndaily\nzanzibar\n")
    text = refusal("obfuscate", files.plan, files.values, "-o", files.reports)
    assert "2 of 4 values are not in the domain (first in row 1, line 3)" in text
    assert "zanzibar" not in text
    assert not files.reports.exists()


# estimate


@each("method", ["linear", "projected", "mle", "em"])
@each("name", ["rr", "unary", "subset", "hashing", "hadamard"])
def test_estimate_is_the_estimator(tmp_path: Path, name: str, method: str) -> None:
    files = Files(tmp_path, name)
    wanted = estimate(files.mechanism, files.obfuscated(), method=method)
    facts = told("estimate", files.plan, files.reports, "--method", method, "--level", 0.8, "--simultaneous")
    assert (facts["plan"], facts["n"], facts["level"]) == (wanted.fingerprint, 600, 0.8)
    assert facts["method"] == wanted.method
    assert facts["simultaneous"]
    assert facts["simulated"]
    low, high = wanted.interval(0.8, simultaneous=True)
    found = columns(facts)
    assert found["value"] == LABELS
    assert found["sensitive"] == [False, False, True, False, True]
    for field, numbers in (("lower", low), ("upper", high), ("frequency", wanted.frequencies)):
        np.testing.assert_allclose(found[field], numbers, rtol=1e-9, atol=1e-12)
    assert (facts["gap"] is None) == (method not in ("mle", "em"))


def test_estimate_shows_labels_as_they_are(files: Files) -> None:
    """Brackets and colons are part of a label, whatever a terminal library makes of them."""
    found = estimate(files.mechanism, files.obfuscated())
    text = done("estimate", files.plan, files.reports)
    for code, label in enumerate(LABELS):
        (line,) = [line for line in text.splitlines() if f" {label} " in line]
        assert f"{found.frequencies[code]:.1%}" in line
        assert ("yes" in line) == (code in (2, 4))
    assert "600 reports, method linear" in text
    assert text.endswith("These reports are simulated with a known seed: they protect nobody.\n")
    assert "protect nobody" in text


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "feather", "ipc", "json"])
def test_estimate_writes_tables(files: Files, suffix: str) -> None:
    files.obfuscated()
    output = files.folder / f"estimate.{suffix}"
    facts = told("estimate", files.plan, files.reports, "-o", output)
    if suffix == "json":
        assert json.loads(output.read_text()) == facts
        return
    assert read_table(output).to_pydict() == columns(facts)
