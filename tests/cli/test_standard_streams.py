"""``-``: reports and estimates through pipes, the same as through files, all or nothing."""

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from discreet import estimate, read_reports
from discreet.cli import main
from running import Files, done, refusal, run


def piped(content: bytes | str, *arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=content)


def lines(files: Files) -> str:
    found = run("obfuscate", files.plan, files.values, "-o", "-", "--seed", 7)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_reports_go_to_standard_output_and_nothing_else_does(files: Files) -> None:
    found = run("obfuscate", files.plan, files.values, "-o", "-", "--seed", 7)
    target = files.folder / "r.jsonl"
    done("obfuscate", files.plan, files.values, "-o", target, "--seed", 7)
    assert found.stdout == target.read_text()
    assert "600 reports" in found.stderr
    assert "written to standard output" in found.stderr
    assert "protect nobody" in found.stderr


def test_reports_come_from_standard_input(files: Files) -> None:
    found = piped(lines(files), "estimate", files.plan, "-", "--json")
    target = files.folder / "r.jsonl"
    target.write_text(lines(files))
    assert json.loads(found.stdout) == json.loads(done("estimate", files.plan, target, "--json"))
    assert found.stderr == "Reading JSON lines from standard input.\n"
    for method in ("mle", "em"):
        assert piped(lines(files), "estimate", files.plan, "-", "--method", method).exit_code == 0


def test_an_estimate_goes_to_standard_output(files: Files) -> None:
    target = files.folder / "r.jsonl"
    target.write_text(lines(files))
    found = run("estimate", files.plan, target, "-o", "-")
    done("estimate", files.plan, target, "-o", files.folder / "e.csv")
    assert found.stdout == (files.folder / "e.csv").read_text()
    assert "5 values; 600 reports" in found.stderr
    wanted = estimate(files.mechanism, read_reports(target, files.mechanism)).frequencies
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [float(row["frequency"]) for row in rows] == wanted.tolist()


def test_what_a_pipe_cannot_carry_is_refused(files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = tmp_path / "temporary"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    assert "output.two-on-standard-output" in refusal("estimate", files.plan, files.values, "-o", "-", "--json")
    assert "output.two-on-standard-output" in refusal("obfuscate", files.plan, files.values, "-o", "-", "--json")
    assert "force.idle" in refusal("obfuscate", files.plan, files.values, "-o", "-", "--force")
    assert "standard-input.twice" in refusal("estimate", files.plan, "-", "-")
    assert "standard-input.with-cluster" in refusal("estimate", files.plan, "-", "--engine", "spark")
    for name, option in [("pictures", "--plot"), ("tallies", "--tally")]:
        assert name in refusal("estimate", files.plan, files.values, option, "-")
    files.obfuscated()
    contents: list[Any] = [files.reports.read_bytes(), b"\x1f\x8bgz", b"", b"no line\n", lines(files)[:-30], "{}\n"]
    for content in contents:
        found = piped(content, "estimate", files.plan, "-", "-o", "-")
        assert (found.exit_code, found.stdout) == (2, ""), found.output
        assert "standard input" in found.stderr.casefold() or "at least one report" in found.stderr
        assert str(kept) not in found.output
    assert list(kept.iterdir()) == []
