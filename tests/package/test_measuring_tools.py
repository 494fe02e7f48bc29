"""The tools behind `make coverage`: a few runs of each part, kept and added up, and the page that they write."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = "# Coverage\n\nAbove.\n\n## Few informative reports\n\nOld lines.\n\n## Below\n\nKept.\n"


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module


def test_limits_are_measured_kept_and_written(tools: Any, tmp_path: Path) -> None:
    """A renamed attribute broke the tool, and nobody saw it."""
    kept, page = tmp_path / "limits.jsonl", tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    options = ["--again", "0", "--most", "1", "--jobs", "1", "--kept", str(kept), "--page", str(page)]
    main = tools("measure_limits").main
    looks = tools("limit_looks")
    looks.LOOKS, looks.SHOWN = 12, (2, 12)
    for runs in ("2", "3"):
        assert main(["--runs", runs, *options]) in (0, 1)
    lines = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert sorted((line["setting"][0], line["runs"]) for line in lines) == sorted(
        (group, runs) for group in ("sums", "regression", "smooth", "always") for runs in (1, 2)
    )
    text = page.read_text(encoding="utf-8")
    assert "Old lines." not in text
    assert text.startswith("# Coverage\n\nAbove.\n\n## Few informative reports\n\n")
    assert "\n## Below\n\nKept.\n" in text
    assert text.count("Each setting has 3 runs.") == 4


def test_runs_of_one_setting_add_up(tools: Any, tmp_path: Path) -> None:
    kept = tmp_path / "runs.jsonl"
    cells = [{"a": {"held": 0.9, "error": 1.0}}, {"a": {"held": 0.6, "error": None}}]
    lines = [json.dumps({"setting": ["x", 1], "runs": runs, "cells": cells[at]}) for at, runs in enumerate((100, 200))]
    kept.write_text("\n".join(lines), encoding="utf-8")
    (found,) = tools("kept_runs").read_runs(kept).values()
    assert found.runs == 300
    assert found.cells["a"] == {"held": pytest.approx(0.7), "error": None}


SMALL: dict[str, tuple[dict[str, Any], list[str]]] = {
    "measure_sums": (
        {"EPSILONS": (1.0,), "SIZES": (300,)},
        ["--runs", "1", "--report-runs", "1", "--shown-runs", "0", "--laws", "rr"],
    ),
    "measure_surveys": ({"CELLS": None}, ["--runs", "1"]),
    "measure_tests": ({"settings": None}, ["--runs", "1"]),
}


@pytest.mark.parametrize("name", SMALL)
def test_other_parts_are_measured_and_written(tools: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    tool, (smaller, options) = tools(name), SMALL[name]
    if name == "measure_surveys":
        smaller = {"CELLS": tool.CELLS[:1]}
    if name == "measure_tests":
        first = next(iter(tool.settings(1)))
        smaller = {"settings": lambda runs: [first]}
    written: list[Any] = []
    for attribute, value in {**smaller, "replace_section": lambda *section: written.append(section)}.items():
        monkeypatch.setattr(tool, attribute, value)
    monkeypatch.setattr("sys.argv", [name, *options])
    assert tool.main() in (0, 1)
    ((heading, lines),) = written
    assert f"\n{heading}\n" in (ROOT / "docs" / "evidence" / "coverage.md").read_text(encoding="utf-8")
    assert sum(line.startswith("| ") for line in lines) > 2
