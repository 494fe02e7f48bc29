"""The page on warehouses does what it says: its commands from a plan to shares by region, and its example in Python."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest
from warehouses import DuckDB

import discreet as dc
from running import run

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "warehouse.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")


def test_the_commands_lead_from_a_plan_to_shares(tmp_path: Path) -> None:
    block = re.search(r"^```\n(discreet sql.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert block is not None
    _, query, estimate = (shlex.split(line, comments=True)[1:] for line in block[1].splitlines())
    values = ["bus", "walk", "car", "walk"] * 500
    mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"], sensitive=["bus"]), epsilon=1.0)
    dc.Plan.of(mechanism).save(tmp_path / "plan.toml")
    rows = mechanism.obfuscate(values, random=dc.SeededRandom(1)).to_arrow().to_pylist()
    warehouse = DuckDB()
    beside = [{**row, "region": ["north", "south"][place % 2]} for place, row in enumerate(rows)]
    warehouse.load("reports", {"clear": "int", "symbol": "int", "region": "text"}, beside)
    with contextlib.chdir(tmp_path):
        text = run(*query[: query.index("|")]).stdout
        warehouse.answer(text).to_pandas().to_csv("counts.csv", index=False)
        result = run(*estimate, "--json")
    assert result.exit_code == 0, result.output
    assert '"region": "north"' in result.stdout


def test_the_example_in_python_runs() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    exec(compile(example, "warehouse.md", "exec"), names)
    estimate, by_region = names["estimate"], names["by_region"]
    assert isinstance(estimate, dc.Estimate)
    assert estimate.n == 2000
    assert list(by_region) == ["north", "south"]  # type: ignore[call-overload]
    assert abs(estimate.frequencies - [0.25, 0.25, 0.5]).max() < 0.15
