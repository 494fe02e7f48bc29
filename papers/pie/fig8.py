"""[PIE, Fig. 8]: bounds on the information about the user against epsilon, and the information that an attack finds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from papers.cells import BOUNDS, REPORTS, Cell
from papers.drawing import curves, interval, record
from papers.figure import Charts, Figure, Finding, Settings
from papers.pie.attacks import Attack
from papers.pie.bounds import ANY_LDP, EXACT, PAPER_BOUND, ErrorBound, InformationBound
from papers.pie.settings import (
    ERRATA,
    FEW_RUNS,
    GLH,
    ON_ATTACKED_REPORTS,
    PLACES,
    PRINTED_EPSILON,
    REPORTED,
    REPORTED_HERE,
    RR,
    SIZES,
    cells_of,
    reporting,
)
from papers.results import Point, Results, Row

CLOSE = 3.0
FAR = 10.0
_SEEN = 0.1


@dataclass(frozen=True, slots=True)
class ReportedMeasure:
    """A measure of reports that are attacked, beside its bounds.

    Attributes:
        title: of the chart.
        axis: name of the measure.
        bound: from a point to the bound that it is and its standard error, if it is one.
        attack: from an attack to the measure.
        attack_name: the line of the attack.
        even: whether the axis is even, not logarithmic.
    """

    title: str
    axis: str
    bound: Callable[[Point[Row]], tuple[float, float] | None]
    attack: Callable[[Attack], float]
    attack_name: str
    even: bool


def _bits(point: Point[Row]) -> tuple[float, float] | None:
    mean, error = point.mean, point.error
    if isinstance(mean, InformationBound) and isinstance(error, InformationBound):
        return mean.bits, error.bits
    return None


INFORMATION = ReportedMeasure(
    "Information about the user",
    "bits",
    _bits,
    lambda row: row.certified_bits,
    "attack (certified PSE)",
    even=False,
)


def plan_reports(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan bounds at the paper's sizes, and attacks on one report of each user with their bounds."""
    sizes = {name: data for name, data in datasets.items() if name in SIZES}
    epsilons = REPORTED[::3] if settings.quick else REPORTED
    cells = cells_of(sizes, settings, BOUNDS, [(name, epsilon, None) for name in (RR, GLH) for epsilon in epsilons])
    for name, data, runs, chosen in reporting(datasets, settings, epsilons):
        asked = [(mechanism, epsilon, None) for mechanism in (RR, GLH) for epsilon in chosen]
        cells += cells_of({name: data}, settings, REPORTS, asked, runs)
    return cells


def charts_of_reports(drawing: ReportedMeasure) -> Charts:
    """Return the charts of bounds, and of an attack on one report of each user, against epsilon."""

    def draw(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
        charts = {}
        for name in results.populations:
            points = [p for p in results.points if p.population == name]
            bounded = [
                record(interval(p.epsilon or 0.0, *bound), line=p.mean.source, column=p.mean.mechanism)
                for p in points
                if isinstance(p.mean, InformationBound | ErrorBound) and (bound := drawing.bound(p)) is not None
            ]
            attacked = [
                record(
                    interval(p.epsilon or 0.0, drawing.attack(p.mean), drawing.attack(p.error)),
                    line=f"{drawing.attack_name}, {p.mean.attack}",
                    column=p.mean.mechanism,
                )
                for p in results.of(Attack, population=name)
            ]
            first = points[0].mean
            subtitle = f"{first.n:,} users of {name}, one place each, |X| = {first.values:,}"
            axes = ("epsilon", drawing.axis)
            charts[name] = curves(drawing.title, subtitle, axes, bounded + attacked, even=drawing.even)
        return charts

    return draw


def findings_on_reports(results: Results) -> list[Finding]:
    """Check that no measured figure exceeds a bound, and compare the bounds."""
    return [
        item
        for name in results.populations
        for mechanism in (RR, GLH)
        for item in _on_reports(results, name, mechanism)
    ]


def _on_reports(results: Results, name: str, mechanism: str) -> Iterator[Finding]:
    where = {"population": name, "mechanism": mechanism}

    def by_epsilon(source: str) -> dict[float, float]:
        return {p.epsilon or 0.0: p.mean.bits for p in results.of(InformationBound, **where, source=source)}

    exact, paper, prop = (by_epsilon(source) for source in (EXACT, PAPER_BOUND, ANY_LDP))
    attacks = results.of(Attack, **where)
    if attacks:
        excess = max(p.mean.cautious_bits - exact[p.epsilon or 0.0] for p in attacks)
        claim = f"no certified PSE of {mechanism} is above the exact bound"
        yield Finding(claim, name, "largest excess, bits, with room for chance", excess, "<=", 0.0)
    low = {e: prop[e] / paper[e] for e in paper if e <= PRINTED_EPSILON and e in prop}
    yield Finding(
        f"the paper's bound for {mechanism} is far below Prop. 10 (epsilon up to {PRINTED_EPSILON:g})",
        name,
        "least ratio of Prop. 10 to it",
        min(low.values(), default=inf),
        ">=",
        FAR,
        _listed(low),
    )
    for knowledge in dict.fromkeys(p.mean.attack for p in attacks):
        bits_at = {p.epsilon or 0.0: p.mean.paper_bits for p in attacks if p.mean.attack == knowledge}
        close = {e: paper[e] / bits for e, bits in bits_at.items() if bits > _SEEN}
        if close:
            yield Finding(
                f"the bound for {mechanism} lies close above the PSE where that is above {_SEEN:g} bits ({knowledge})",
                name,
                "largest ratio of bound to D(f_G || f_I)",
                max(close.values()),
                "<=",
                CLOSE,
                _listed(close),
            )


def _listed(ratios: Mapping[float, float]) -> str:
    return "; ".join(f"{epsilon:g}: {ratio:.3g}" for epsilon, ratio in ratios.items())


FIGURE = Figure(
    "pie/fig8",
    "[PIE, Fig. 8] bounds on the PIE, and the PSE",
    "Upper bounds on the information about the user against epsilon, and what an attack finds as a lower bound.",
    (*SIZES, *PLACES),
    REPORTED_HERE,
    plan_reports,
    charts_of_reports(INFORMATION),
    findings_on_reports,
    runs=FEW_RUNS,
    settings=(*ON_ATTACKED_REPORTS, ERRATA),
)
