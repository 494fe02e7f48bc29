"""Limits of the method `smooth` by likelihood ratios, and their lengths beside linear limits, of 32 bins.

Four shapes: a smooth one, every fifth bin heaped, a narrow bump, and one bin with all people.
"""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from evidence_page import table
from kept_runs import Cells, Found, Part, Setting, generator, runs_of
from scipy.stats import binom

import discreet as dc
from discreet.estimators.ratio_limits import RatioLimits
from papers.data.drawn_tallies import draw_tally

GROUP, BINS = "smooth", 32
LEAST_MEAN, LEAST, LONGEST = 0.94, 0.88, 0.75
"""Goals: the mean coverage, the least coverage of each cell, and the largest length over linear limits' length."""
SHORTER = ("smooth", "heaped", "bump")
"""The shapes whose limits shall be shorter, at epsilon 1 and 100 and 1,000 reports."""
SHAPES = (*SHORTER, "one bin")
ALPHA, SURE, MOST_LENGTHS = 0.05, 3.6, 6
"""Limits contain each number with a likelihood ratio below the second number. Lengths are means of some runs."""


class ShapeSetting(NamedTuple):
    """One setting: the shape, the ranges that are protected, epsilon, and the number of reports."""

    group: str
    shape: str
    ranges: str
    epsilon: float
    n: int


def settings() -> Iterator[ShapeSetting]:
    """Yield all settings."""
    cells = [*product((1.0, 3.0), ("all",), (30, 100, 1000, 10_000)), *product((3.0,), ("two",), (30, 1000))]
    for (epsilon, ranges, n), shape in product(cells, SHAPES):
        yield ShapeSetting(GROUP, shape, ranges, epsilon, n)


def shares_of(shape: str) -> np.ndarray:
    """Return the true shares of the bins."""
    place = np.arange(BINS)
    x = (place + 0.5) / BINS
    p = {
        "smooth": np.exp(-((x - 0.35) ** 2) / 0.04),
        "heaped": np.where(place % 5 == 0, 1, 0.02),
        "bump": 0.2 + 3 * np.exp(-((x - 0.6) ** 2) / 0.001),
        "one bin": (place == BINS // 2 - 1).astype(float),
    }[shape]
    return np.asarray(p / p.sum())


def measured(setting: Setting, runs: int, first: int) -> Cells:
    """Return the share of intervals that held, and the mean lengths of the first ones, by question."""
    asked, rng = ShapeSetting(*setting), generator(setting, first)
    sensitive: Any = [[0, 6 / BINS], [12 / BINS, 18 / BINS]] if asked.ranges == "two" else None
    mechanism = dc.Windows(dc.Domain.number(0, 1, bins=BINS, sensitive=sensitive), asked.epsilon)
    place, p = np.arange(BINS), shares_of(asked.shape)
    asks = {"upper half": place >= BINS // 2, "fifth": place < BINS // 5, "1 bin": place == BINS // 2 - 1}
    weights = {name: mask.astype(float) for name, mask in asks.items()} | {"mean": (place + 0.5) / BINS}
    held, lengths = dict.fromkeys(weights, 0), {name: np.zeros(2) for name in weights}
    few = min(runs, MOST_LENGTHS)
    for run in range(runs):
        tally = draw_tally(mechanism, rng.multinomial(asked.n, p), rng)
        limits = RatioLimits(*mechanism.decoder.listed_outputs(tally))
        for name, each in weights.items():
            held[name] += _holds(limits, each, float(p @ each))
            if run < few:
                linear: Any = dc.estimate(mechanism, tally)
                usual = linear.mean() if name == "mean" else linear.total(asks[name])
                lengths[name] += [np.ptp(limits.sum_ends(each, ALPHA)), np.ptp(usual.interval())]
    return {
        name: {
            "held": held[name] / runs,
            "length": float(lengths[name][0] / few),
            "linear": float(lengths[name][1] / few),
        }
        for name in weights
    }


def _holds(limits: RatioLimits, weights: np.ndarray, truth: float) -> bool:
    """Return true if the truth is within the limits of a weighted sum.

    The likelihood ratio grows with the distance from the estimate. So limits are computed only if it is large.
    """
    least, most = float(weights.min()), float(weights.max())
    unit, near = (weights - least) / (most - least), np.clip((truth - least) / (most - least), 1e-6, 1 - 1e-6)
    if limits.ratios(lambda t: (unit[None], t), np.array([near]))[0] < SURE:
        return True
    low, high = limits.sum_ends(weights, ALPHA)
    return low <= truth + 1e-9 and truth - 1e-9 <= high


def is_doubtful(setting: Setting, found: Found) -> bool:
    """Return true if a cell is below the goal, perhaps by chance."""
    return any(cell["held"] < LEAST for cell in found.cells.values())


def section(known: Mapping[Setting, Found]) -> tuple[list[str], list[str]]:
    """Return the lines of the section, and the goals that were missed."""
    missed, rows, held = [], [], []
    chance = 0.05 / sum(len(found.cells) for found in known.values())
    for setting, found in sorted(known.items(), key=lambda each: (each[0][2:4], SHAPES.index(each[0][1]))):
        asked = ShapeSetting(*setting)
        held += [cell["held"] for cell in found.cells.values()]
        for name, cell in found.cells.items():
            if cell["held"] < binom.ppf(chance, found.runs, LEAST) / found.runs:
                missed.append(f"{', '.join(map(str, setting[1:]))}, {name}: {cell['held']:.0%}")
        ratio = _ratio(found)
        if asked.shape in SHORTER and asked.n in (100, 1000) and asked.epsilon == 1 and ratio > LONGEST:
            missed.append(f"{', '.join(map(str, setting[1:]))}: {ratio:.2f} of the length of linear limits")
    for (ranges, epsilon), shape in product((("all", 1.0), ("all", 3.0), ("two", 3.0)), SHAPES):
        row = [f"{shape}, {'all' if ranges == 'all' else '12 of 32'} protected, epsilon = {epsilon:g}"]
        for n in (30, 100, 1000, 10_000):
            one = known.get(ShapeSetting(GROUP, shape, ranges, epsilon, n))
            shares = [cell["held"] for cell in one.cells.values()] if one else []
            row.append(f"{np.mean(shares):.1%}, {min(shares):.0%}, {_ratio(one):.2f}" if one else "")
        rows += [row] if any(row[1:]) else []
    if np.mean(held) < LEAST_MEAN:
        missed.append(f"the mean, {np.mean(held):.1%}")
    return [
        f"Limits of sums and means by likelihood ratios (the default of `smooth` up to 64 bins), for {BINS} bins. Four",
        "questions: the upper half, the lowest fifth, one bin, and the mean. Each entry: how often 95% limits held, on",
        f"average and for the worst question; and for the three sums their mean length, of {MOST_LENGTHS} runs, over",
        "the length of linear limits.",
        f"{runs_of(known)}",
        f"Goals: {LEAST:.0%} for each question, {LEAST_MEAN:.0%} on average, and a length of at most {LONGEST} at",
        f"epsilon = 1 with 100 and 1,000 reports, but for one bin. Found: {np.mean(held):.1%} on average.",
        "Where all people are in one bin little is gained, because simulated samples allow for larger ratios there.",
        "",
        *table(["bins", *(f"n = {n:,}" for n in (30, 100, 1000, 10_000))], rows),
    ], missed


def _ratio(found: Found) -> float:
    """Return the mean length for the three sums over the mean length of linear limits."""
    lengths = [[cell["length"], cell["linear"]] for name, cell in found.cells.items() if name != "mean"]
    own, linear = np.sum(lengths, axis=0)
    return float(own / linear)


PART = Part("## Limits of `smooth` by likelihood ratios", (GROUP,), settings, measured, is_doubtful, section)
