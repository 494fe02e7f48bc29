"""Limits for repeated looks (`limits="always"`): how often they hold at all of 365 looks, and how long they are.

A year has 365 batches of 10 or 1,000 reports, and the limits are looked at after each batch. Limits of all years and
looks are computed from one law at once, and compared with what an estimate returns at two looks of some years.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from evidence_page import table
from kept_runs import Cells, Found, Part, Setting, generator, runs_of

import discreet as dc
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.results.sums import Means, Sums
from discreet.theory.always import AlwaysLimits, slopes
from papers.data.drawn_tallies import draw_tally

GROUP, LOOKS, SHOWN, COMPARED = "always", 365, (12, 365), 3
LEVEL, LONGEST, ENOUGH = 0.95, 2.5, 1000
"""Goals: the share of years in which limits hold at all looks; the length over the length of usual limits, for batches
of 1,000 reports."""
LAWS = {
    "rr": (16, (8, 8)),
    "unary": (8, (6, 6)),
    "subset": (8, (6, 6)),
    "hadamard": (31, (15, 9)),
    "hashing": (8, (6, 6)),
    "design": (8, (6, 6)),
    "windows": (32, (12, 20)),
}


class LookSetting(NamedTuple):
    """One setting: the mechanism, LDP or ULDP, and the number of reports in a batch."""

    group: str
    law: str
    notion: str
    batch: int


def settings() -> Iterator[LookSetting]:
    """Yield all settings."""
    for batch, law, notion in product((10, ENOUGH), LAWS, ("LDP", "ULDP")):
        yield LookSetting(GROUP, law, notion, batch)


def questions(covered: int, size: int) -> dict[str, np.ndarray]:
    """Return the weights of one value, two sets and a mean; the first values are protected."""
    place = np.arange(size)
    return {
        "1 value": place == 0,
        "quarter": place < max(covered // 4, 2),
        "half": (place < covered // 2) | (place >= covered + (size - covered) // 2),
        "mean": place / (size - 1),
    }


def measured(setting: Setting, runs: int, first: int) -> Cells:
    """Return the share of years in which limits held at all looks, and lengths over usual limits, by question."""
    asked, rng = LookSetting(*setting), generator(setting, first)
    every, (protected, clear) = LAWS[asked.law]
    size, covered = (every, every) if asked.notion == "LDP" else (protected + clear, protected)
    domain: Any = dc.Domain(range(size), sensitive=range(covered))
    mechanism, weights = BLOCK_MECHANISMS[asked.law](domain, 1.0), questions(covered, size)
    p = rng.dirichlet(np.ones(size))
    estimates = np.empty((runs, LOOKS, size))
    lengths: dict[str, list[list[float]]] = {name: [] for name in weights}
    for year in range(runs):
        total = None
        for look in range(LOOKS):
            tally = draw_tally(mechanism, rng.multinomial(asked.batch, p), rng)
            estimates[year, look] = dc.estimate(mechanism, tally).frequencies
            if year < COMPARED:
                total = tally if total is None else total + tally
                if look + 1 in SHOWN:
                    for name, each in weights.items():
                        lengths[name].append(_length(mechanism, total, each))
    law = dc.estimate(mechanism, tally, limits="always").uncertainty.known_law
    estimates = estimates.cumsum(axis=1) / np.arange(1, LOOKS + 1)[:, None]
    cells: Cells = {}
    for name, each in weights.items():
        low, high = _ends(law, each, estimates, asked.batch * np.arange(1.0, LOOKS + 1))
        inside = (low <= p @ each + 1e-9) & (high >= p @ each - 1e-9)
        ratios = np.reshape(lengths[name], (-1, len(SHOWN))).mean(axis=0)
        cells[name] = {"held": float(inside.all(axis=1).mean()), "soon": float(ratios[0]), "late": float(ratios[1])}
    return cells


def _length(mechanism: Any, tally: dc.Tally, weights: np.ndarray) -> float:
    """Return the length of limits for repeated looks over the length of usual limits."""
    lengths = []
    for options in ({}, {"limits": "always"}):
        found: Any = dc.estimate(mechanism, tally, **options)
        number = found.total(weights) if weights.dtype == bool else found.mean(weights)
        lengths.append(float(np.ptp(number.interval())))
    return lengths[1] / lengths[0]


def _ends(law: Any, weights: np.ndarray, estimates: np.ndarray, n: np.ndarray) -> Any:
    """Return the ``(years, looks)`` lower and upper limits of one weighted sum, for all estimates at once."""
    functional = Sums.of(law, weights[None] * 1.0) if weights.dtype == bool else Means(law, weights[None])
    (groups, _), control = functional.groups(), functional.control
    some = groups._replace(each=groups.each - control[:, None], constant=control)
    squares, largest = law.contributions.spread(some)
    steps, shares = slopes(np.where(groups.sizes > 0, squares, 0).max(axis=1), largest)
    both = np.array([law.contributions.exponentials(some, sign * steps) for sign in (1, -1)])
    both = np.where(groups.sizes[:, None] > 0, both, 0)
    years, looks, _ = estimates.shape
    sums = estimates @ weights - control * (estimates.sum(axis=2) - 1)
    limits = AlwaysLimits.of(groups.each, both, steps, shares, 1.0).at(np.zeros(years * looks, np.int64))
    ends = replace(limits, n=np.tile(n, years)[:, None]).limits(sums.ravel(), 1 - LEVEL)
    return (end.reshape(years, looks) for end in ends)


def is_doubtful(setting: Setting, found: Found) -> bool:
    """Return true if limits held in fewer years than promised, perhaps by chance."""
    return any(cell["held"] < LEVEL for cell in found.cells.values())


def section(known: Mapping[Setting, Found]) -> tuple[list[str], list[str]]:
    """Return the lines of the section, and the goals that were missed."""
    missed, rows = [], []
    for setting, found in sorted(known.items(), key=lambda each: (each[0][3], list(LAWS).index(each[0][1]))):
        shares = [cell["held"] for cell in found.cells.values()]
        ratios = [[cell[name] for cell in found.cells.values()] for name in ("soon", "late")]
        name = f"{setting[1]} {setting[2]}, batches of {setting[3]:,}"
        entries = (f"{np.median(each):.2f}, {max(each):.2f}" for each in ratios)
        rows.append([name, f"{np.mean(shares):.1%}", f"{min(shares):.1%}", *entries])
        if min(shares) < LEVEL:
            missed.append(f"{name}: held in {min(shares):.1%}")
        if setting[3] == ENOUGH and max(map(max, ratios)) > LONGEST:
            missed.append(f"{name}: {max(map(max, ratios)):.2f} times as long")
    every = [cell["held"] for found in known.values() for cell in found.cells.values()]
    head = ["mechanism", "held", "worst", *(f"length, look {look}" for look in SHOWN)]
    return [
        f'Intervals with `limits="always"` after each of {LOOKS} batches, at epsilon = 1, of one value, a quarter and',
        "half of the values, and a mean. *Held* is the share of years in which the truth lay in the intervals of all",
        f"{LOOKS} looks. The length is divided by the length of usual 95% intervals: median and largest of the four",
        f"questions, mean of {COMPARED} years. {runs_of(known)}",
        f"Goals: {LEVEL:.0%} for each question, and with batches of {ENOUGH:,} at most {LONGEST} times as long.",
        f"All {len(every)} cells together: {np.mean(every):.1%}, at worst {min(every):.1%}.",
        "",
        *table(head, rows),
    ], missed


PART = Part("## Limits at repeated looks", (GROUP,), settings, measured, is_doubtful, section)
