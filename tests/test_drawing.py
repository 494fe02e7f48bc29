"""Draws of cases: the same for all workers, never of what is cheap or few, and all cases come."""

import ast
import json
from dataclasses import dataclass
from pathlib import Path

from drawing import COSTS, FEWEST, costs_of, drawn

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Case:
    """A test's name is all that counts."""

    nodeid: str


ITEMS = [Case(f"{name}[{i}]") for i in range(40) for name in ("a.py::dear", "a.py::cheap")] + [Case("a.py::dear_alone")]
DEAR = {"a.py::dear": 12.0, "a.py::dear_alone": 60.0}


def test_a_draw_follows_from_its_seed_and_keeps_the_order() -> None:
    first = drawn(ITEMS, 7, DEAR)
    assert first == drawn(ITEMS, 7, DEAR) == [item for item in ITEMS if item in first]
    assert first != drawn(ITEMS, 8, DEAR)


def test_only_cases_of_what_is_dear_are_left_out() -> None:
    kept = [item.nodeid for item in drawn(ITEMS, 7, DEAR)]
    # A second and a half of twelve.
    assert sum(name.startswith("a.py::dear[") for name in kept) == 5
    assert sum(name.startswith("a.py::cheap[") for name in kept) == 40
    assert "a.py::dear_alone" in kept
    assert len(drawn(ITEMS, 7, {})) == len(ITEMS)
    assert sum("dear[" in item.nodeid for item in drawn(ITEMS, 7, {"a.py::dear": 1e6})) == FEWEST


def test_every_case_comes_in_some_run() -> None:
    seen = {item for seed in range(60) for item in drawn(ITEMS, seed, DEAR)}
    assert seen == set(ITEMS)


def test_costs_are_read_from_a_report(tmp_path: Path) -> None:
    cases = "".join(f'<testcase classname="tests.a" name="dear[{i}]" time="{i}" />' for i in range(6))
    few = '<testcase classname="tests.a" name="alone" time="60" />'
    (tmp_path / "report.xml").write_text(f"<testsuites><testsuite>{cases}{few}</testsuite></testsuites>")
    assert costs_of(tmp_path / "report.xml") == {"tests/a.py::dear": 15.0}


def test_costs_are_of_tests_that_are_there() -> None:
    costs = json.loads(COSTS.read_text(encoding="utf-8"))
    assert len(costs) > 50
    for name in costs:
        file, _, function = name.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert function in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}, name
