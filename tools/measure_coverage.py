"""Measures what intervals and standard errors promise: every method and mechanism, at known distributions.

Two grids. *Real reports*: 3,000 people and 26 values; intervals of the tally, of `mle` and of `em`, and the error that
each method states. *Tallies* drawn from their joint law (of subsets: counted from reports) at n = 300, 3,000 and
100,000: the tally's intervals, 26 and 1,000 values. Coverage is of 95%
intervals; widths are divided by those of score intervals (for the tally) and of the tally (for `mle` and `em`). Writes
coverage.md and coverage.svg in docs/evidence, and exits with 1 if a goal is missed. *Corners*: four values, few people
and much noise, where `mle` and `em` put nearly everybody on one value; ``--corners`` measures these only, and replaces
their section, which is the last one.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import altair as alt
import numpy as np
from rich.progress import track
from scipy.stats import binom

import discreet as dc
from discreet.estimators.linear import LinearStart
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism
from discreet.theory.binomial import miss_probability, score_limits, z_quantile
from papers.data.drawn_tallies import draw_tally

ROOT = Path(__file__).parent.parent
PAGE, PICTURE = ROOT / "docs" / "evidence" / "coverage.md", ROOT / "docs" / "evidence" / "coverage.svg"
LEVEL, SIZE, PEOPLE = 0.95, 26, 3000
TALLY_METHODS, REPORT_METHODS = ("linear", "projected", "norm-sub", "threshold"), ("mle", "em")
LAWS = ("rr", "subset", "unary", "hadamard", "hashing", "design")
EPSILONS = (0.3, 1.0, 4.0)
# Chances and shares: of the worst value of a thousand, of all at once from below and from above.
_CHANCE = ((1e-6, 0.92), (1e-4, 0.935), (1 - 1e-4, 0.99))
# Where maximum likelihood must gain: bits at epsilon = 4.
_GAINS = ("unary", 4.0, "LDP")
# Where score intervals are empty, which these may not be: see the page.
_NEVER_EMPTY, _WIDE = ("rr", 0.1), 1.06
# Expected counts below which no exact interval covers 95% only.
FEW = 10
CORNERS, CORNER_RUNS = "## Corners: `mle` and `em` of four values", 200
_CORNER_LAWS, _CORNER_EPSILONS, _CORNER_PEOPLE = ("unary", "hashing"), (0.01, 0.1, 1.0), (30, 300, 3000)


@dataclass(frozen=True)
class Cell:
    """One mechanism at one truth.

    Attributes:
        law: name of the mechanism.
        epsilon: in nats.
        notion: LDP or ULDP; under ULDP every third value is in clear.
        truth: "Zipf", or "5 values only".
        size: |X|.
        n: number of people.
        reports: whether reports are made, and methods estimated from them.
    """

    law: str
    epsilon: float
    notion: str
    truth: str
    size: int
    n: int
    reports: bool

    @property
    def name(self) -> str:
        """The mechanism in a line."""
        return f"{self.law} {self.epsilon:g} {self.notion}, {self.truth}"

    @property
    def p(self) -> np.ndarray:
        """``(|X|,)`` the truth."""
        weights = 1 / np.arange(1, self.size + 1)
        if self.truth != "Zipf":
            weights = np.where(np.arange(self.size) < 5, 1.0, 0.0)
        return weights / weights.sum()

    def mechanism(self) -> BlockMechanism:
        """Return it."""
        sensitive = [code for code in range(self.size) if code % 3 != 2] if self.notion == "ULDP" else None
        return BLOCK_MECHANISMS[self.law](dc.Domain(range(self.size), sensitive=sensitive), self.epsilon)


@dataclass(frozen=True)
class Held:
    """Coverage and width of the intervals in a cell.

    Attributes:
        runs: how many.
        inside: ``(|X|,)`` shares of runs in which they held the truth.
        together: share of runs in which all simultaneous ones did.
        width: mean width, over that of others.
    """

    runs: int
    inside: np.ndarray
    together: float
    width: float


@dataclass(frozen=True)
class Findings:
    """The measurements of a cell.

    Attributes:
        held: what intervals held, by method; those of the tally under "tally".
        stated: by method: stated over true summed error, and the share of frequencies outside their intervals.
    """

    held: dict[str, Held]
    stated: dict[str, tuple[float, float]]


def cells() -> list[Cell]:
    """Return all cells."""
    real = [
        Cell(law, epsilon, notion, "Zipf", SIZE, PEOPLE, True)
        for law, epsilon, notion in product(LAWS, EPSILONS, ("LDP", "ULDP"))
    ]
    real += [
        Cell(law, 4.0, notion, "5 values only", SIZE, PEOPLE, True)
        for law, notion in product(("unary", "subset"), ("LDP", "ULDP"))
    ]
    tallies = [
        Cell(law, epsilon, notion, "Zipf", size, n, False)
        for size, law, epsilon, notion, n in product(
            (SIZE, 1000), ("rr", "unary", "subset"), (0.1, 1.0, 4.0), ("LDP", "ULDP"), (300, 3000, 100_000)
        )
        if law != "subset" or n * size <= 3_000_000
    ]
    return real + tallies


def corners() -> list[Cell]:
    """Return the cells in which estimates reach corners of the simplex."""
    every = product(_CORNER_LAWS, ("LDP", "ULDP"), _CORNER_EPSILONS, _CORNER_PEOPLE)
    return [Cell(law, epsilon, notion, "Zipf", 4, n, True) for law, notion, epsilon, n in every]


class _Counter:
    """Counts of intervals that hold the truth."""

    def __init__(self, p: np.ndarray) -> None:
        self._p, self._inside, self._together, self._widths, self._runs = p, np.zeros(len(p)), 0, [0.0, 0.0], 0

    def add(self, found: dc.Estimate, other: tuple[np.ndarray, np.ndarray]) -> None:
        (low, high), (lowest, highest) = found.interval(LEVEL), found.interval(LEVEL, simultaneous=True)
        self._inside += (low <= self._p) & (self._p <= high)
        self._together += bool(((lowest <= self._p) & (self._p <= highest)).all())
        self._widths[0] += float((high - low).sum())
        self._widths[1] += float((other[1] - other[0]).sum())
        self._runs += 1

    @property
    def held(self) -> Held:
        runs = self._runs
        return Held(runs, self._inside / runs, self._together / runs, self._widths[0] / self._widths[1])


def measure(cell: Cell, runs: int, slow: int) -> Findings:
    """Simulate, and return what intervals and errors did."""
    mechanism, p = cell.mechanism(), cell.p
    drawn = np.random.default_rng(cells().index(cell))
    counters = {name: _Counter(p) for name in ("tally", *(REPORT_METHODS if cell.reports else ()))}
    errors: dict[str, list[np.ndarray]] = {}
    for run in range(runs):
        people = drawn.multinomial(cell.n, p)
        reports = None
        if cell.reports and run < slow:
            random = dc.SeededRandom(int(drawn.integers(1 << 62)))
            reports = mechanism.obfuscate_codes(np.repeat(np.arange(cell.size), people), random=random)
        tally = draw_tally(mechanism, people, drawn) if reports is None else mechanism.tally(reports)
        linear = dc.estimate(mechanism, tally)
        counters["tally"].add(linear, _score(mechanism, tally))
        for method in (*TALLY_METHODS, *REPORT_METHODS) if reports is not None else ():
            found = dc.estimate(mechanism, reports if method in REPORT_METHODS else tally, method=method)
            if method in REPORT_METHODS:
                counters[method].add(found, linear.interval(LEVEL))
            squares = (found.frequencies - p) ** 2, found.standard_errors**2, found.contradicted(LEVEL)
            errors.setdefault(method, []).append(np.array([each.sum() for each in squares]))
    return Findings(
        {name: one.held for name, one in counters.items()}, {m: _stated(e, cell) for m, e in errors.items()}
    )


def measure_corner(cell: Cell, runs: int) -> tuple[dict[str, Held], float]:
    """Simulate, and return what intervals did, and the share of runs in which one value had all but one report."""
    mechanism, p, drawn = cell.mechanism(), cell.p, np.random.default_rng(corners().index(cell))
    counters, reached = {name: _Counter(p) for name in REPORT_METHODS}, 0
    for _ in range(runs):
        random = dc.SeededRandom(int(drawn.integers(1 << 62)))
        reports = mechanism.obfuscate_codes(
            np.repeat(np.arange(cell.size), drawn.multinomial(cell.n, p)), random=random
        )
        usual = dc.estimate(mechanism, reports).interval(LEVEL)
        for name, counter in counters.items():
            found = dc.estimate(mechanism, reports, method=name)
            counter.add(found, usual)
            reached += name == "mle" and bool(found.frequencies.max() > 1 - 1 / cell.n)
    return {name: one.held for name, one in counters.items()}, reached / runs


def _stated(errors: list[np.ndarray], cell: Cell) -> tuple[float, float]:
    true, stated, outside = np.mean(errors, axis=0)
    return float(np.sqrt(stated / true)), float(outside / cell.size)


def _score(mechanism: BlockMechanism, tally: dc.Tally) -> tuple[np.ndarray, np.ndarray]:
    start = LinearStart.of(mechanism, tally)
    alpha = miss_probability(LEVEL, mechanism.domain.size, simultaneous=False)
    low, high = score_limits(start.linear, start.second_moments, start.n, z_quantile(alpha / 2))
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def expected(cell: Cell) -> np.ndarray:
    """Return the ``(|X|,)`` expected counts of each value: of blocks that hold it, or told in clear."""
    mechanism, p = cell.mechanism(), cell.p
    numbers, chosen = mechanism.coefficients, mechanism.domain.sensitive
    mass = float(p[chosen].sum())
    others = numbers.noisy * numbers.inclusion + numbers.truth * numbers.conditional_inclusion * (mass - p)
    return cell.n * (numbers.truth * p + np.where(chosen, others, 0.0))


def goals(cell: Cell, found: Findings) -> Iterable[str]:
    """Yield the goals that a cell misses."""
    p = cell.p
    for name, one in found.held.items():
        few = bool((expected(cell)[p > 0] < FEW).any())
        mean = float(one.inside[p > 0].mean())
        # Values of one run are told by the same reports: half as many as there are count.
        near = 3.5 * np.sqrt(0.05 * 0.95 / (one.runs * min(np.count_nonzero(p), 13)))
        least, least_together, most = (binom.ppf(q, one.runs, share) / one.runs for q, share in _CHANCE)
        tallied = _WIDE if (cell.law, cell.epsilon) == _NEVER_EMPTY and cell.n <= PEOPLE else 1.03
        widest = tallied if name == "tally" else 0.9 if (cell.law, cell.epsilon, cell.notion) == _GAINS else 1.015
        misses = {
            f"mean {mean:.1%}": not 0.94 - near <= mean <= (1.0 if few else 0.97 + near),
            f"worst value {one.inside.min():.1%}": one.inside.min() < least,
            f"all at once {one.together:.1%}": not least_together <= one.together <= most,
            f"width {one.width:.2f}": one.width > widest,
        }
        where = f"{cell.name}, n = {cell.n:,}, |X| = {cell.size:,}, {name}"
        yield from (f"{where}: {miss}" for miss, is_one in misses.items() if is_one)


# The page

HEAD = """# Coverage of intervals, and honesty of standard errors

*For analysts who believe no interval; 4 minutes.*

**Which interval do I trust?** Any: an interval belongs to the reports, and is the same for every method of a tally;
`mle` and `em` have shorter ones of whole reports ([how](../explanation/estimators.md)). 95% intervals of the tally
held {tally}, those of `mle` {mle} and of `em` {em}, on average over the values that somebody has, from the worst
cell to the best; all at once {together}. Standard errors are another matter: only those of `linear`
are right for single values.

![Coverage by mechanism: mean over the values, and the worst value](coverage.svg)

Made by `make coverage`, seeded: {slow} runs of real reports, {runs} of tallies of 26 values, a third of that of 1,000.
Each entry: mean over the values with p > 0, worst value, all at once, and width (of the tally's over score
intervals', of the others' over the tally's). By chance alone the worst of 26 values is about {worst:.0%} in {runs} runs
and {slow_worst:.0%} in {slow}. Where fewer than ten counts of a value are expected no exact interval covers 95% only.
Under ULDP every third value is in clear.

Goals: mean 94-97% (more where fewer than ten counts are expected), every value 92% and all at once 93.5-99% but for
what chance explains, width at most 1.03, of `mle` and `em` at most 1.01, and 0.9 for bits at epsilon = 4 under LDP.

One limit is understood: `rr` at epsilon = 0.1 with up to 3,000 people may be up to 1.06 times as wide as score
intervals. By enumeration it is 1.02 to 1.05 there. The standard error is 2 to 17 times as large as a share can be, and
1.6 to 5% of the score intervals are empty, which none here may be: at 26 values the ratio without that rule is 1.00.
At 1,000 values, with less than one count expected of each, exact limits take the rest (1.02 to 1.05 without the rule).

**{missed}**
"""


def page(found: dict[Cell, Findings], runs: int, slow: int) -> str:
    """Return the page as Markdown."""
    missed = [goal for cell, one in found.items() for goal in goals(cell, one)]
    held = [(cell, name, one) for cell, each in found.items() for name, one in each.held.items()]
    together = [one.together for *_, one in held]
    lines = HEAD.format(
        **{name: _range(one.inside[cell.p > 0].mean() for cell, which, one in held if which == name)
           for name in ("tally", "mle", "em")},
        together=_range(together),
        runs=runs,
        slow=slow,
        worst=0.95 - 2 * (0.05 * 0.95 / runs) ** 0.5,
        slow_worst=0.95 - 2 * (0.05 * 0.95 / slow) ** 0.5,
        missed="All met." if not missed else f"{len(missed)} missed: {'; '.join(missed)}.",
    ).splitlines()  # fmt: skip
    return "\n".join([*lines, *_real(found), *_tallies(found), *_errors(found), ""])


def _range(shares: Iterable[float]) -> str:
    listed = list(shares)
    return f"{min(listed):.1%} to {max(listed):.1%}"


def _entry(one: Held, p: np.ndarray) -> str:
    return f"{one.inside[p > 0].mean():.1%}, {one.inside.min():.0%}, {one.together:.0%}, {one.width:.2f}"


def _real(found: dict[Cell, Findings]) -> list[str]:
    head = ["mechanism, truth", "tally", "`mle`", "`em`"]
    rows = [
        [cell.name, *(_entry(one.held[name], cell.p) for name in ("tally", *REPORT_METHODS))]
        for cell, one in found.items()
        if cell.reports
    ]
    return ["", f"## Real reports: {PEOPLE:,} people, {SIZE} values", "", *_table(head, rows, left=1)]


def _tallies(found: dict[Cell, Findings]) -> list[str]:
    rows: dict[tuple[int, str], list[str]] = {}
    sizes = (300, 3000, 100_000)
    for cell, one in found.items():
        if not cell.reports:
            row = rows.setdefault((cell.size, f"{cell.law} {cell.epsilon:g} {cell.notion}"), [""] * len(sizes))
            row[sizes.index(cell.n)] = _entry(one.held["tally"], cell.p)
    listed = [[f"{size:,}", name, *entries] for (size, name), entries in rows.items()]
    head = ["values", "mechanism", *(f"n = {n:,}" for n in sizes)]
    return ["", "## The tally's intervals, by number of people", "", *_table(head, listed, left=2)]


def _corner_section(found: dict[Cell, tuple[dict[str, Held], float]], runs: int) -> list[str]:
    rows: dict[str, list[str]] = {}
    for cell, (held, reached) in found.items():
        entries = (f"{held[name].inside.min():.0%}, {held[name].together:.0%}" for name in REPORT_METHODS)
        row = rows.setdefault(f"{cell.law} {cell.epsilon:g} {cell.notion}", [])
        row.append(f"{' / '.join(entries)} ({reached:.0%})")
    return [
        CORNERS,
        "",
        f"{runs} runs of real reports at 48, 24, 16 and 12%. Each entry: worst value and all at once, of `mle` / `em`;",
        "in brackets how often `mle` puts all but one report on one value. By chance alone the worst of four values is",
        f"about {0.95 - 2 * (0.05 * 0.95 / runs) ** 0.5:.0%}. Goals: worst value 90%, all at once 92%, but for chance.",
        "",
        *_table(
            ["mechanism", *(f"n = {n:,}" for n in _CORNER_PEOPLE)], [[name, *row] for name, row in rows.items()], left=1
        ),
        "",
    ]


def _corner_goals(found: dict[Cell, tuple[dict[str, Held], float]], runs: int) -> Iterable[str]:
    for cell, (held, _) in found.items():
        for name, one in held.items():
            for what, share, least in (("worst value", one.inside.min(), 0.9), ("all at once", one.together, 0.92)):
                if share < binom.ppf(1e-3, runs, least) / runs:
                    yield f"{cell.name}, n = {cell.n:,}, a corner, {name}: {what} {share:.1%}"


def _errors(found: dict[Cell, Findings]) -> list[str]:
    methods = (*TALLY_METHODS, *REPORT_METHODS)
    rows = []
    for epsilon, notion in product(EPSILONS, ("LDP", "ULDP")):
        chosen = [
            one.stated
            for cell, one in found.items()
            if cell.reports and (cell.epsilon, cell.notion) == (epsilon, notion)
        ]
        ratios = {method: [stated[method] for stated in chosen] for method in methods}
        entries = [
            f"{min(r for r, _ in each):.2f} to {max(r for r, _ in each):.2f}; {max(o for _, o in each):.0%}"
            for each in ratios.values()
        ]
        rows.append([f"{epsilon:g} {notion}", *entries])
    return [
        "",
        "## Standard errors, and where methods contradict the reports",
        "",
        "Stated over true error, summed over the values, from the mechanism where it is least to where it is largest;",
        "and the largest share of frequencies that lie outside their intervals.",
        "",
        *_table(["epsilon", *(f"`{method}`" for method in methods)], rows, left=1),
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> list[str]:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * left + " ---: |" * (len(head) - left)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def drawn(found: dict[Cell, Findings]) -> list[dict[str, object]]:
    """Return the rows of the picture: for each cell and interval of real reports the mean and the worst value."""
    return [
        {"cell": cell.name, "of": of, "mean": float(shares.mean()), "worst": float(shares.min())}
        for cell, one in found.items()
        if cell.reports
        for of, held in one.held.items()
        for shares in [held.inside[cell.p > 0]]
    ]


def picture(rows: list[dict[str, object]]) -> alt.LayerChart:
    """Return the picture: the mean over the values and the worst value, of each interval."""
    kinds = alt.Scale(domain=["tally", "mle", "em"])
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("cell:N", sort=None, title=None, axis=alt.Axis(labelLimit=260, grid=True)),
        yOffset=alt.YOffset("of:N", sort=["tally", "mle", "em"]),
        color=alt.Color("of:N", scale=kinds, title="interval of"),
    )
    axis = alt.Axis(format="%", orient="top")
    x = {"scale": alt.Scale(domain=[0.76, 1], clamp=True), "title": "share of runs in which 95% intervals held"}
    bars = base.mark_rule(opacity=0.5).encode(x=alt.X("worst:Q", axis=axis, **x), x2="mean:Q")
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(
        x=alt.X("mean:Q", axis=axis, **x), shape=alt.Shape("of:N", scale=kinds, title="interval of")
    )
    line = alt.Chart(alt.Data(values=[{"x": LEVEL}])).mark_rule(strokeDash=[4, 3])
    title = alt.TitleParams(
        "Coverage of 95% intervals", subtitle="point: mean over the values; line: from the worst; dashed: promised"
    )
    layers = line.encode(x=alt.X("x:Q", axis=axis, **x)) + bars + dots
    return layers.properties(width=420, height=alt.Step(7, **{"for": "offset"}), title=title)


def main() -> int:
    """Measure everything, write page and picture, and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--slow", type=int, default=50, help="runs of methods that read reports")
    parser.add_argument("--corners", action="store_true", help="measure corners of the simplex only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    # Each process has its own core.
    os.environ["DISCREET_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    listed = [] if options.corners else cells()
    # Tallies of 1,000 values take long.
    tallies = {SIZE: options.runs, 1000: options.runs // 3}
    runs = [options.slow if cell.reports else tallies[cell.size] for cell in listed]
    with ProcessPoolExecutor(options.jobs) as pool:
        done = pool.map(measure, listed, runs, [options.slow] * len(listed))
        found = dict(zip(listed, track(done, description="simulating", total=len(listed)), strict=True))
        few = corners()
        near = pool.map(measure_corner, few, [CORNER_RUNS] * len(few))
        cornered = dict(zip(few, track(near, description="corners", total=len(few)), strict=True))
    missed = [goal for cell, one in found.items() for goal in goals(cell, one)]
    missed += _corner_goals(cornered, CORNER_RUNS)
    # What follows is written by `tools/measure_sums.py` and `tools/measure_tests.py`.
    there = PAGE.read_text(encoding="utf-8")
    _, heading, others = there.partition("## Sums, conditions, differences and ratios\n")
    if options.corners:
        before = there.partition(CORNERS)[0].rstrip() + "\n\n"
    else:
        before = page(found, options.runs, options.slow) + "\n"
        picture(drawn(found)).save(str(PICTURE))
    own = before + "\n".join(_corner_section(cornered, CORNER_RUNS))
    PAGE.write_text(own.rstrip() + "\n" * (2 if others else 1) + heading + others, encoding="utf-8")
    print("\n".join(missed) or "all goals met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
