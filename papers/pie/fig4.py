"""[PIE, Fig. 4]: epsilon against alpha."""

from collections.abc import Mapping
from typing import Any

from papers.cells import BOUNDS, Cell
from papers.drawing import curves, interval, record
from papers.figure import Figure, Finding, Settings
from papers.pie.bounds import ANY_LDP, PAPER_BOUND, InformationBound
from papers.pie.settings import ERRATA, GLH, RR, SIZES, cells_of
from papers.results import Results

SMALL = (0.05, 0.1, 0.2, 0.5, 1.0)
LARGE = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0)


def plan_bounds(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan bounds, which need no data."""
    asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in sorted({*SMALL, *LARGE})]
    return cells_of(datasets, settings, BOUNDS, asked)


def charts_of_bounds(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw epsilon against alpha, small and large epsilons apart."""
    records = [
        record(interval(p.epsilon, p.mean.bits, p.error.bits), line=p.mean.source, column=p.mean.mechanism, row=row)
        for row, epsilons in (("large epsilon", LARGE), ("small epsilon", SMALL))
        for p in results.of(InformationBound)
        if p.epsilon is not None and p.epsilon in epsilons
    ]
    first = results.points[0].mean
    subtitle = f"{first.n:,} users, |X| = {first.values:,}; GLH: g = 1e8"
    return {"sizes": curves("Bounds on the information about the user", subtitle, ("epsilon", "alpha, bits"), records)}


def findings_on_bounds(results: Results) -> list[Finding]:
    """Check the paper's numbers for Prop. 10 and for Thms 11 and 13."""
    printed = {(ANY_LDP, 0.1): 0.014, (ANY_LDP, 1.0): 1.4, (ANY_LDP, 10.0): 14.0}
    printed |= {(PAPER_BOUND, 0.1): 2.0e-7, (PAPER_BOUND, 1.0): 3.3e-6, (PAPER_BOUND, 10.0): 0.043}
    findings = []
    for (name, epsilon), number in printed.items():
        points = results.of(InformationBound, mechanism=RR, source=name, epsilon=epsilon)
        if not points:
            continue
        here = points[0].mean.bits
        findings.append(
            Finding(
                f"{name.replace(' or 13', '')} at epsilon = {epsilon:g} is {number:g} bits",
                "sizes",
                "larger over smaller",
                max(here / number, number / here),
                "<=",
                1.05,
                f"here {here:.4g}",
            )
        )
    return findings


FIGURE = Figure(
    "pie/fig4",
    "[PIE, Fig. 4] epsilon against alpha",
    "Bounds on the information that a report gives about its user, for small and large epsilon.",
    SIZES,
    (),
    plan_bounds,
    charts_of_bounds,
    findings_on_bounds,
    runs=(1, 1),
    settings=("no data are needed; GLH with g = 1e8", ERRATA),
)
