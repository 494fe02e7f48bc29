"""Costly tests of many cases run with a part of their cases, which every run draws anew.

A test whose cases together take longer than ``BUDGET`` seconds keeps as many of them as take that long, ``FEWEST`` at
least. The draw follows from the seed that pytest prints (``--randomly-seed=N`` repeats it). Files, names and markers
that are asked for run whole; so does everything with ``--whole`` (``make test WHOLE=1``), and for planted faults.

    python tests/drawing.py tests.xml

writes the seconds of costly tests anew from the report of a whole run.
"""

import json
import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Protocol, TypeVar
from xml.etree import ElementTree

BUDGET = 1.5
"""Seconds that all cases of a test may take, where three workers share two cores."""

FEWEST = 4
"""Cases of each test that are run in any case."""

COSTS = Path(__file__).with_name("costs.json")


class Item(Protocol):
    """The part of a test that a draw depends on."""

    @property
    def nodeid(self) -> str:
        """The file, the test and the case."""
        ...


ItemT = TypeVar("ItemT", bound=Item)


def drawn(items: Sequence[ItemT], seed: int, costs: Mapping[str, float]) -> list[ItemT]:
    """Return the tests that run, in their order.

    Args:
        items: all tests.
        seed: of the draw.
        costs: seconds of all cases together, by test.
    """
    cases: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        cases[function_of(item.nodeid)].append(place)
    left_out: set[int] = set()
    for name, places in cases.items():
        keep = max(ceil(len(places) * BUDGET / max(costs.get(name, 0.0), BUDGET)), FEWEST)
        if keep < len(places):
            left_out.update(random.Random(f"{seed} {name}").sample(places, len(places) - keep))
    return [item for place, item in enumerate(items) if place not in left_out]


def function_of(nodeid: str) -> str:
    """Return a test's name without its case."""
    return nodeid.partition("[")[0]


def costs_of(report: Path) -> dict[str, float]:
    """Return the seconds of costly tests of many cases, from a report in JUnit's form."""
    spent: dict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.attrib['classname'].replace('.', '/')}.py::{case.attrib['name']}"
        spent[function_of(name)].append(float(case.attrib["time"]))
    found = {name: round(sum(each), 1) for name, each in spent.items() if len(each) > FEWEST and sum(each) > BUDGET}
    return dict(sorted(found.items()))


if __name__ == "__main__":
    COSTS.write_text(json.dumps(costs_of(Path(sys.argv[1])), indent=0) + "\n", encoding="utf-8")
