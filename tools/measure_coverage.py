"""Measures, over 1,000 simulations, what intervals and standard errors promise.

For every mechanism, with some values sensitive and with all: how often the 95% intervals of the linear estimate cover
the truth; how often all simultaneous ones do; and for every estimator its root mean squared stated standard error over
the true standard deviation of its estimates (1 is right). Writes docs/coverage.md and exits with 1 if a mean coverage
is outside 93.5-96.5%.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.progress import track

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism

SIZE, SENSITIVE, USERS, EPSILON = 24, 6, 4000, 1.0
LOW, HIGH = 0.935, 0.965
PAGE = Path(__file__).parent.parent / "docs" / "coverage.md"


def truth() -> np.ndarray:
    """Zipf's law over the values, dealt out so that sensitive ones are both rare and frequent."""
    weights = 1 / np.arange(1, SIZE + 1)
    return np.random.default_rng(0).permutation(weights / weights.sum())


def mechanisms() -> list[tuple[str, BlockMechanism]]:
    """Every block mechanism, with some values sensitive and with all."""
    found = []
    for kind, sensitive in ((f"{SENSITIVE} of {SIZE}", list(range(SENSITIVE))), ("all", None)):
        domain = dc.Domain(range(SIZE), sensitive=sensitive)
        found += [(kind, cls(domain, EPSILON)) for cls in BLOCK_MECHANISMS.values() if not cls.needs_options()]
        if sensitive:
            found.append((kind, dc.UnaryEncoding(domain, EPSILON, clear_bits=True)))
    return found


def measure(mechanism: BlockMechanism, runs: int, seed: int) -> dict[str, float]:
    """Simulate, and return coverages and ratios of standard errors."""
    p, random, people = truth(), dc.SeededRandom(seed), np.random.default_rng(seed)
    inside, together = np.zeros(SIZE), 0
    estimates = {method: np.empty((runs, SIZE)) for method in dc.METHODS}
    errors = {method: np.empty((runs, SIZE)) for method in dc.METHODS}
    for run in range(runs):
        reports = mechanism.obfuscate_codes(people.choice(SIZE, size=USERS, p=p), random=random)
        for method in dc.METHODS:
            found = dc.estimate(mechanism, reports, method=method)
            estimates[method][run], errors[method][run] = found.frequencies, found.standard_errors
            if method == "linear":
                inside += covers(found, p, simultaneous=False)
                together += bool(covers(found, p, simultaneous=True).all())
    cover = inside / runs
    numbers = {"cover": cover.mean(), "least": cover.min(), "most": cover.max(), "together": together / runs}
    ratios = {m: np.sqrt((errors[m] ** 2).mean() / estimates[m].var(axis=0, ddof=1).mean()) for m in dc.METHODS}
    return {**numbers, **ratios}


def covers(found: dc.Estimate, p: np.ndarray, *, simultaneous: bool) -> np.ndarray:
    """Say which values' intervals hold the truth."""
    low, high = found.interval(0.95, simultaneous=simultaneous)
    return (low <= p) & (p <= high)


def page(rows: list[list[str]], runs: int) -> str:
    """Return the table as Markdown."""
    head = ["sensitive", "mechanism", "mean", "least", "most", "all at once", *dc.METHODS]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * 2 + " ---: |" * (len(head) - 2)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(
        [
            "# Coverage of intervals and honesty of standard errors",
            "",
            f"Made by `make coverage`: {runs:,} simulations of {USERS:,} people each, |X| = {SIZE} values under Zipf's",
            f"law, epsilon = {EPSILON:g}, seeded. *mean*, *least*, *most*: how often 95% intervals of the linear",
            "estimate contain the truth, on average over the values and for the extreme ones; *all at once*: how often",
            "all the simultaneous 95% intervals do (Bonferroni; about 95%). The other columns: root mean square stated",
            "standard error over the true standard deviation of that estimator's own estimates; 1.00 is right.",
            "",
            *lines,
            "",
        ]
    )


def main() -> int:
    """Measure everything, write the page, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    rows, good = [], True
    for place, (kind, mechanism) in enumerate(track(mechanisms(), description="simulating")):
        found = measure(mechanism, runs, seed=place)
        good &= LOW <= found["cover"] <= HIGH
        name = mechanism.name + (" (clear_bits)" if mechanism.clear_blocks else "")
        percents = [f"{found[key]:.1%}" for key in ("cover", "least", "most", "together")]
        rows.append([kind, name, *percents, *(f"{found[method]:.2f}" for method in dc.METHODS)])
    text = page(rows, runs)
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
