"""Measures what intervals and standard errors promise: every method, epsilon 0.1 to 4, on real counts.

3,000 people are drawn from those of the American Community Survey 2023 again and again, obfuscated and estimated. How
often do 95% intervals hold the truth, by the share of the people who have the value; how often all simultaneous ones;
and how do stated standard errors compare with the true deviations of the estimates? Methods that state no intervals
are measured with those that their standard errors would make. Writes docs/coverage.md and exits with 1 if a mean
coverage of ``linear`` is outside 93.5-98.5%.
"""

import argparse
import csv
import os
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from textwrap import fill

import numpy as np
from rich.progress import track

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism

ROOT = Path(__file__).parent.parent
COUNTS, PAGE = ROOT / "examples" / "acs2023.csv", ROOT / "docs" / "coverage.md"
PEOPLE, RUNS = 3000, 240
# Methods that go through the reports take long: they get fewer runs.
SLOW, SLOWER = ("mle", "em"), 6
EPSILONS = (0.1, 0.3, 1.0, 4.0)
NOTIONS = {"ULDP": "some values sensitive (ULDP)", "LDP": "all values sensitive (LDP)"}
CLASSES = {">= 5%": 0.05, "1-5%": 0.01, "0.1-1%": 0.001, "< 0.1%": 0.0}
EVERY_METHOD = ("rr", "unary", "subset", "hadamard")
CLEAR_BITS = "unary (clear_bits)"
# Above 95%: an interval that ends at 0 cannot miss a value near 0 from above.
LOW, HIGH = 0.935, 0.985
_MANY_TIMES = 100


@dataclass(frozen=True)
class Cell:
    """One mechanism on one table of counts.

    Attributes:
        fine: whether on all 277 categories, or on 36 coarse ones.
        notion: ULDP or LDP.
        law: name of the mechanism.
        epsilon: in nats.
        methods: the estimators to measure.
    """

    fine: bool
    notion: str
    law: str
    epsilon: float
    methods: tuple[str, ...]

    def mechanism(self, sensitive: np.ndarray) -> BlockMechanism:
        """Build it."""
        marked = np.flatnonzero(sensitive) if self.notion == "ULDP" else None
        domain = dc.Domain(range(len(sensitive)), sensitive=marked)
        if self.law == CLEAR_BITS:
            return dc.UnaryEncoding(domain, self.epsilon, clear_bits=True)
        return BLOCK_MECHANISMS[self.law](domain, self.epsilon)  # type: ignore[call-arg]


@dataclass(frozen=True)
class Measured:
    """The measurements of one method in one cell: ``(|X|,)`` shares of runs, one share, and one ratio."""

    inside: np.ndarray
    together: float
    ratio: float


def people(*, fine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the values, and which are sensitive: age x marital status x income, or all categories."""
    counts: Counter[tuple[str, ...]] = Counter()
    marks: dict[tuple[str, ...], bool] = {}
    with COUNTS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            parts = tuple(row["category"].split(", "))
            key = parts if fine else (parts[0], parts[2], parts[5])
            counts[key] += int(row["people"])
            marks[key] = row["sensitive_and"] == "true" if fine else parts[5] == "poor"
    weights = np.array(list(counts.values()), dtype=np.float64)
    return weights / weights.sum(), np.array(list(marks.values()))


def cells() -> list[Cell]:
    """Return all cells to measure."""
    laws = [*(name for name, cls in BLOCK_MECHANISMS.items() if not cls.needs_options()), CLEAR_BITS]
    coarse = [
        Cell(False, notion, law, epsilon, tuple(dc.METHODS) if law in EVERY_METHOD else ("linear",))
        for epsilon, notion, law in product(EPSILONS, NOTIONS, laws)
        if notion == "ULDP" or law != CLEAR_BITS
    ]
    fine = [
        Cell(True, notion, law, epsilon, ("linear",))
        for epsilon, notion, law in product(EPSILONS, NOTIONS, ("rr", "unary"))
    ]
    return coarse + fine


def measure(cell: Cell, runs: int) -> dict[str, Measured]:
    """Simulate, and return what each method did."""
    p, sensitive = people(fine=cell.fine)
    mechanism, seed = cell.mechanism(sensitive), cells().index(cell)
    random, drawn = dc.SeededRandom(seed), np.random.default_rng(seed)
    counted = {method: _Counted([], [], [], []) for method in cell.methods}
    for run in range(runs):
        reports = mechanism.obfuscate_codes(drawn.choice(len(p), size=PEOPLE, p=p), random=random)
        tally = mechanism.tally(reports)
        for method in cell.methods:
            if method not in SLOW or run % SLOWER == 0:
                found = dc.estimate(mechanism, reports if method in SLOW else tally, method=method)
                counted[method].add(found, p)
    return {method: one.measured() for method, one in counted.items()}


@dataclass(frozen=True)
class _Counted:
    inside: list[np.ndarray]
    together: list[bool]
    estimates: list[np.ndarray]
    errors: list[np.ndarray]

    def add(self, found: dc.Estimate, p: np.ndarray) -> None:
        self.inside.append(covers(found, p, simultaneous=False))
        self.together.append(bool(covers(found, p, simultaneous=True).all()))
        self.estimates.append(found.frequencies)
        self.errors.append(found.standard_errors)

    def measured(self) -> Measured:
        spread = float(np.var(self.estimates, axis=0, ddof=1).mean())
        ratio = float(np.sqrt(np.mean(np.square(self.errors)) / max(spread, 1e-300)))
        return Measured(np.mean(self.inside, axis=0), float(np.mean(self.together)), ratio)


def covers(found: dc.Estimate, p: np.ndarray, *, simultaneous: bool) -> np.ndarray:
    """Return the values whose intervals hold the truth."""
    low, high = found.interval(0.95, simultaneous=simultaneous)
    return (low <= p) & (p <= high)


# The page

HEAD = """# Coverage of intervals, and honesty of standard errors

{trust}

Made by `make coverage`: {people:,} people drawn from those of the American Community Survey 2023 (US Census Bureau,
public domain; categories as prepared by github.com/phy811/uBD), {runs:,} times ({slow} times for `mle` and `em`),
seeded. 36 values: age x marital status x income; sensitive are the 12 of poor people ({mass:.1%} of all), or all.

- Columns by share: how often the 95% interval of a value holds the truth, on average over the values that such a share
  of the people have, and over {laws}.
- *worst value*: for the value and the mechanism where it does so least often. By chance alone the worst of so many is
  a few percent low: one standard error is {scatter:.1%}, for `mle` and `em` {slow_scatter:.1%}.
- *all at once*: how often all 36 simultaneous 95% intervals do, on average over the mechanisms (and for the worst).
- *s.e.*: root mean square stated standard error over the true standard deviation of the estimates, for the mechanisms
  where it is least and largest; 1.00 is right.

Methods marked *none* state no intervals: their rows show what those made of their standard errors would do, which is
why.
"""


def page(found: dict[Cell, dict[str, Measured]], runs: int) -> str:
    """Return the page as Markdown."""
    p, sensitive = people(fine=False)
    chance = 0.95 * 0.05
    lines = HEAD.format(
        trust=fill(trust(found), 120),
        people=PEOPLE,
        runs=runs,
        slow=-(-runs // SLOWER),
        mass=p[sensitive].sum(),
        laws=", ".join(f"`{law}`" for law in EVERY_METHOD),
        scatter=(chance / runs) ** 0.5,
        slow_scatter=(chance / -(-runs // SLOWER)) ** 0.5,
    ).splitlines()
    for notion, title in NOTIONS.items():
        lines += ["", f"## Every method: {title}", "", *_methods(found, notion, p)]
    lines += ["", "## `linear`, by mechanism", "", *_mechanisms(found)]
    return "\n".join([*lines, "", *_fine(found), ""])


def trust(found: dict[Cell, dict[str, Measured]]) -> str:
    """Say in short which number to trust."""

    def said(method: str) -> str:
        means = [one[method].inside.mean() for cell, one in found.items() if method in one and not cell.fine]
        return f"{min(means):.0%} to {max(means):.0%}"

    def once(*, fine: bool, notion: str = "") -> str:
        shares = [
            one["linear"].together for cell, one in found.items() if cell.fine == fine and notion in ("", cell.notion)
        ]
        return f"{min(shares):.0%} to {max(shares):.0%}"

    by_notion = " and ".join(f"{once(fine=True, notion=notion)} ({notion})" for notion in NOTIONS)
    return (
        f"**Which number do I trust?** The intervals of `linear`: 95% ones held {said('linear')} of the time, in the "
        f"mean over the values, whatever the mechanism and epsilon. Those of `mle` ({said('mle')}), `em` "
        f"({said('em')}) and `projected` ({said('projected')}) are a guide: they hold too often where noise is large, "
        f"and too seldom for single values. `threshold` and `norm-sub` state none: theirs would have held "
        f"{said('threshold')} and {said('norm-sub')}. Intervals of `linear` that hold all at once did so "
        f"{once(fine=False)} of the time with 36 values, but {by_notion} with 277: where many values are told in clear "
        "by a few people each, do not rely on them."
    )


def _methods(found: dict[Cell, dict[str, Measured]], notion: str, p: np.ndarray) -> list[str]:
    head = ["method", "epsilon", *CLASSES, "worst value", "all at once (worst)", "s.e."]
    rows = []
    for method, epsilon in product(dc.METHODS, EPSILONS):
        chosen = [
            one[method]
            for cell, one in found.items()
            if (cell.notion, cell.epsilon, cell.fine) == (notion, epsilon, False) and cell.law in EVERY_METHOD
        ]
        inside = np.array([one.inside for one in chosen])
        together, ratios = [one.together for one in chosen], [one.ratio for one in chosen]
        rows.append(
            [
                f"`{method}`",
                f"{epsilon:g}",
                *(f"{inside[:, of_class].mean():.1%}" for of_class in _classes(p)),
                f"{inside.min():.0%}",
                f"{np.mean(together):.0%} ({min(together):.0%})",
                f"{_ratio(min(ratios))} to {_ratio(max(ratios))}",
            ]
        )
    return _table(head, rows, left=1)


def _ratio(ratio: float) -> str:
    # Estimates that are the same in every run have no deviation to compare with.
    return f"{ratio:.2f}" if ratio < _MANY_TIMES else f"> {_MANY_TIMES}"


def _classes(p: np.ndarray) -> list[np.ndarray]:
    """Return the values in each class of shares."""
    ends = [*CLASSES.values()]
    return [(p >= low) & (p < high) for low, high in zip(ends, [2.0, *ends], strict=False)]


def _mechanisms(found: dict[Cell, dict[str, Measured]]) -> list[str]:
    head = ["sensitive", "mechanism", *(f"epsilon = {epsilon:g}" for epsilon in EPSILONS)]
    rows: dict[tuple[str, str], list[str]] = {}
    for cell, one in found.items():
        if not cell.fine:
            linear = one["linear"]
            text = f"{linear.inside.mean():.1%}, {linear.inside.min():.0%}, {linear.together:.0%}"
            rows.setdefault((cell.notion, cell.law), []).append(text)
    titles = {"ULDP": "12 of 36", "LDP": "all"}
    cells_ = [[titles[notion], f"`{law}`", *texts] for (notion, law), texts in sorted(rows.items(), reverse=True)]
    return ["Mean over the values, worst value, all at once.", "", *_table(head, cells_, left=2)]


def _fine(found: dict[Cell, dict[str, Measured]]) -> list[str]:
    head = ["sensitive", "mechanism", "epsilon", "mean", "worst value", "all at once"]
    rows = [
        [
            "35 of 277" if cell.notion == "ULDP" else "all",
            f"`{cell.law}`",
            f"{cell.epsilon:g}",
            f"{one['linear'].inside.mean():.1%}",
            f"{one['linear'].inside.min():.0%}",
            f"{one['linear'].together:.0%}",
        ]
        for cell, one in found.items()
        if cell.fine
    ]
    return [
        "## Where simultaneous intervals fail",
        "",
        f"All 277 categories, most of which expect a few of the {PEOPLE:,} people or none. One by one the intervals of",
        "`linear` hold; all at once (Bonferroni) they need not where values are told in clear: the score interval of a",
        "single rare count is too short that far out.",
        "",
        *_table(head, rows, left=2),
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * left + " ---: |" * (len(head) - left)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def main() -> int:
    """Measure everything, write the page, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    # Each process has its own core.
    os.environ["DISCREET_THREADS"] = "1"
    listed = cells()
    with ProcessPoolExecutor(options.jobs) as pool:
        done = pool.map(measure, listed, [options.runs] * len(listed))
        found = dict(zip(listed, track(done, description="simulating", total=len(listed)), strict=True))
    text = page(found, options.runs)
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    means = [one["linear"].inside.mean() for cell, one in found.items() if not cell.fine]
    return 0 if min(means) >= LOW and max(means) <= HIGH else 1


if __name__ == "__main__":
    sys.exit(main())
