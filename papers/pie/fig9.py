"""[PIE, Fig. 9]: the identification error against epsilon, and its lower bounds."""

from math import sqrt

from papers.figure import Figure, Finding
from papers.pie.attacks import Attack
from papers.pie.bounds import EXACT, ErrorBound
from papers.pie.fig8 import ReportedMeasure, charts_of_reports, plan_reports
from papers.pie.settings import ERRATA, FEW_RUNS, GLH, ON_ONE_PLACE, PLACES, PLACES_HERE, RR, SIZES
from papers.results import Point, Results, Row


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
    """Check that identification errors measured are above every bound on them."""
    found = []
    for name in results.populations:
        for mechanism in (RR, GLH):
            where = {"population": name, "mechanism": mechanism}
            exact = {p.epsilon: p.mean.error for p in results.of(ErrorBound, **where, source=EXACT)}
            slack = [p.mean.error + _chance(p) - exact[p.epsilon] for p in results.of(Attack, **where)]
            if slack:
                found.append(
                    Finding(
                        f"no attack on {mechanism} errs less often than the exact bound says",
                        name,
                        "least error measured, less the bound, with room for chance",
                        min(slack),
                        ">=",
                        0.0,
                    )
                )
    return found


def _chance(point: Point[Attack]) -> float:
    """Return four standard errors of a share of users, each standard error that of one user at least."""
    error, users = point.mean.error, point.mean.n
    return 4 * sqrt(max(error * (1 - error), 1 / users) / (users * point.runs))


FIGURE = Figure(
    "pie/fig9",
    "[PIE, Fig. 9] identification error and its lower bounds",
    "How often the right user is not named, against epsilon: what no attack can be better than, what one finds.",
    (*SIZES, *PLACES),
    PLACES_HERE,
    plan_reports,
    charts_of_reports(ERROR),
    findings_on_errors,
    runs=FEW_RUNS,
    settings=(*ON_ONE_PLACE, ERRATA),
)
