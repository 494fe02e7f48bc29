"""[PIE, Fig. 9]: the identification error against epsilon, and its lower bounds."""

from collections.abc import Iterator
from math import sqrt

from papers.figure import Figure, Finding
from papers.pie.attacks import CHANCE, Attack
from papers.pie.bounds import ANY_LDP, BY_PSE, EXACT, PAPER_BOUND, ErrorBound
from papers.pie.fig8 import ReportedMeasure, charts_of_reports, plan_reports
from papers.pie.settings import (
    ERRATA,
    FEW_RUNS,
    GLH,
    ON_ATTACKED_REPORTS,
    PLACES,
    PRINTED_EPSILON,
    REPORTED_HERE,
    RR,
    SIZES,
)
from papers.results import Point, Results, Row

TIGHTER, MOSTLY = 0.1, 0.5


def _error(point: Point[Row]) -> tuple[float, float] | None:
    mean, error = point.mean, point.error
    if isinstance(mean, ErrorBound) and isinstance(error, ErrorBound):
        return mean.error, error.error
    return None


ERROR = ReportedMeasure(
    "Identification error",
    "identification error rate",
    _error,
    lambda row: row.error,
    "attack",
    even=True,
)


def findings_on_errors(results: Results) -> list[Finding]:
    """Check that identification errors are above every bound on them, and where bounds lose."""
    return [
        item for name in results.populations for mechanism in (RR, GLH) for item in _on_errors(results, name, mechanism)
    ]


def _on_errors(results: Results, name: str, mechanism: str) -> Iterator[Finding]:
    where = {"population": name, "mechanism": mechanism}

    def by_epsilon(source: str) -> dict[float | None, float]:
        return {p.epsilon: p.mean.error for p in results.of(ErrorBound, **where, source=source)}

    exact, paper, prop = (by_epsilon(source) for source in (EXACT, PAPER_BOUND, ANY_LDP))
    if PRINTED_EPSILON in paper:
        yield Finding(
            f"the bound for {mechanism} is much tighter than that of Prop. 10 (epsilon = {PRINTED_EPSILON:g})",
            name,
            "the least error by it less that by Prop. 10",
            paper[PRINTED_EPSILON] - prop[PRINTED_EPSILON],
            ">=",
            TIGHTER,
            f"{paper[PRINTED_EPSILON]:.3g} against {prop[PRINTED_EPSILON]:.3g}",
        )
    attacks = results.of(Attack, **where)
    if not attacks:
        return
    yield Finding(
        f"no attack on {mechanism} errs less often than the exact bound says",
        name,
        "least error measured, less the bound, with room for chance",
        min(p.mean.error + _chance(p) - exact[p.epsilon] for p in attacks),
        ">=",
        0.0,
    )
    for knowledge in dict.fromkeys(p.mean.attack for p in attacks):
        pse = by_epsilon(f"{BY_PSE}, {knowledge}")
        error = {p.epsilon: p.mean.error for p in attacks if p.mean.attack == knowledge}
        yield Finding(
            f"what the bound for {mechanism} lacks to the error is Fano's ({knowledge})",
            name,
            "share of it that (10) by the PSE lacks too, over all epsilons",
            sum(error[e] - pse[e] for e in error) / sum(error[e] - paper[e] for e in error),
            ">=",
            MOSTLY,
            "; ".join(f"{e:g}: {error[e]:.3g}, {pse[e]:.3g}, {paper[e]:.3g}" for e in error),
        )


def _chance(point: Point[Attack]) -> float:
    """Return four standard errors of a share of users, each standard error that of one user at least."""
    error, users = point.mean.error, point.mean.n
    return CHANCE * sqrt(max(error * (1 - error), 1 / users) / (users * point.runs))


FIGURE = Figure(
    "pie/fig9",
    "[PIE, Fig. 9] identification error and its lower bounds",
    "How often the right user is not named, against epsilon: what no attack can be better than, what one finds.",
    (*SIZES, *PLACES),
    REPORTED_HERE,
    plan_reports,
    charts_of_reports(ERROR),
    findings_on_errors,
    runs=FEW_RUNS,
    settings=(*ON_ATTACKED_REPORTS, ERRATA),
)
