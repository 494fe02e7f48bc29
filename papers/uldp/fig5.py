"""[ULDP, Fig. 5]: epsilon against total variation distance."""

from collections.abc import Iterator, Mapping
from math import exp, log
from statistics import fmean
from typing import Any

from discreet.pictures.curves import Curves, curve_chart
from papers.cells import Cell
from papers.data.population import Population
from papers.figure import Charts, Figure, Finding, Plan, Settings
from papers.results import Results
from papers.uldp.comparisons import BESIDE, FAR, NEAR, ONE_ORDER, Losses, on_each
from papers.uldp.losses import TV, Measure
from papers.uldp.mechanisms import BOUND, NO_PRIVACY, PAPER
from papers.uldp.sweep import (
    DATA_HERE,
    LOG_SIZE,
    LOW,
    ON_MECHANISMS,
    PAPER_DATA,
    THE_PAPERS,
    CellMaker,
    Comparison,
    baseline,
    epsilons_of,
    log_size,
    noisy,
    records,
    subtitle,
)

TITLE = "epsilon against {}"
SHOWS = (
    "How much every mechanism and estimator loses ({}) as the privacy promise is loosened from 0.1 to 10; the dotted "
    "line is at ln|X|, the dashed one is the sampling error without any privacy."
)


def plan_epsilons(comparison: Comparison = THE_PAPERS) -> Plan:
    """Return the plan: all mechanisms at every epsilon, and no privacy."""

    def plan(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
        cells: list[Cell] = []
        for name, population in populations.items():
            maker = CellMaker(name, population, settings, comparison)
            cells += maker.cells(NO_PRIVACY, None)
            for epsilon in epsilons_of(population, settings):
                cells += maker.all_cells(epsilon)
        return cells

    return plan


def charts_of_epsilons(measure: Measure, comparison: Comparison = THE_PAPERS) -> Charts:
    """Return the charts of a loss against epsilon, one figure per data set."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in results.populations:
            points = noisy(results, name)
            sensitive = next(p.mean.sensitive for p in points if p.mean.mechanism == "uRR")
            charts[name] = curve_chart(
                Curves(
                    f"{measure.name.capitalize()} against epsilon",
                    [subtitle(points[0]) + f"; |X_S| = {sensitive}"],
                    "epsilon",
                    measure.name,
                    [record for p in points for record in records(p, measure, p.epsilon or 0.0, "", comparison)],
                    comparison.lines(measure),
                    list(comparison.estimators),
                    [""],
                    {"": baseline(results, measure, name)},
                    marks={"": log_size(points[0].mean.values)},
                    mark=LOG_SIZE,
                    bound=BOUND,
                )
            )
        return charts

    return draw


def findings_on_epsilons(losses: Losses) -> Iterator[Finding]:
    """Yield the paper's findings on one data set."""
    line = log_size(losses.values)
    yield from _on_gains(losses)
    yield _near_no_privacy(losses, line)
    smart = {m: losses.at(m, "emp", LOW) / max(losses.at(m, e, LOW) for e in losses.smart) for m in PAPER}
    yield Finding(
        "emp+thr and EM are far better than emp where epsilon is small",
        losses.name,
        "smallest ratio over mechanisms of the loss of emp to that of the worse of emp+thr and EM, at epsilon = 0.1",
        min(smart.values()),
        ">=",
        FAR,
        "; ".join(f"{mechanism}: {ratio:.3g}" for mechanism, ratio in smart.items()),
    )
    yield _is_best(losses, "uRAP", LOW, "0.1")
    yield _is_best(losses, "uRR", line, "ln|X|")
    yield from _on_estimators(losses)


def _on_estimators(losses: Losses) -> Iterator[Finding]:
    threshold, em = losses.smart
    ratios = {
        (mechanism, epsilon): losses.at(mechanism, threshold, epsilon) / losses.at(mechanism, em, epsilon)
        for mechanism in PAPER
        for epsilon in losses.epsilons
    }
    yield Finding(
        "emp+thr and EM are very close as a whole",
        losses.name,
        "geometric mean, over mechanisms and epsilons, of the larger loss of the two over the smaller one",
        exp(fmean(abs(log(ratio)) for ratio in ratios.values())),
        "<=",
        NEAR if losses.measure is TV else NEAR**2,
    )
    largest = {mechanism: ratios[mechanism, max(losses.epsilons)] for mechanism in ("RAPPOR", "uRAP")}
    yield Finding(
        "EM is better than emp+thr for RAPPOR and uRAP where epsilon is large",
        losses.name,
        f"smaller ratio of the loss of emp+thr to that of EM at epsilon = {max(losses.epsilons):g}",
        min(largest.values()),
        ">=",
        1.0,
        "; ".join(f"{mechanism}: {ratio:.3g}" for mechanism, ratio in largest.items()),
    )


def _on_gains(losses: Losses) -> Iterator[Finding]:
    gains = losses.gains()
    largest = {name: max((gain, epsilon) for gain, e, epsilon in gains if e == name) for name in losses.estimators}
    yield Finding(
        "uRR and uRAP beat RR and RAPPOR by one to two orders of magnitude",
        losses.name,
        "largest ratio of losses, better of RR and RAPPOR over better of uRR and uRAP, over all epsilon and estimators",
        max(gains)[0],
        ">=",
        ONE_ORDER,
        "; ".join(f"{name}: {gain:.3g} at epsilon = {epsilon:.3g}" for name, (gain, epsilon) in largest.items()),
    )
    worst = min(gains)
    yield Finding(
        "uRR and uRAP are never worse than RR and RAPPOR",
        losses.name,
        "smallest such ratio",
        worst[0],
        ">=",
        1 / BESIDE,
        f"at epsilon = {worst[2]:.3g} with {worst[1]}",
    )


def _is_best(losses: Losses, first: str, epsilon: float, at: str) -> Finding:
    least = {mechanism: losses.best(mechanism, epsilon) for mechanism in PAPER}
    linear = {mechanism: losses.at(mechanism, "emp", epsilon) for mechanism in PAPER}
    return Finding(
        f"{first} is the best of all at epsilon = {at}",
        losses.name,
        f"ratio of the least loss of any other mechanism to that of {first}, best estimators",
        min(loss for mechanism, loss in least.items() if mechanism != first) / least[first],
        ">=",
        1.0,
        "; ".join(f"{mechanism}: {loss:.4g} (emp {linear[mechanism]:.4g})" for mechanism, loss in least.items()),
    )


def _near_no_privacy(losses: Losses, line: float) -> Finding:
    by = {estimator: losses.at("uRR", estimator, line) for estimator in losses.estimators}
    return Finding(
        "uRR at epsilon = ln|X| is about as good as no privacy",
        losses.name,
        "loss of uRR, best estimator, over that of no privacy",
        losses.best("uRR", line) / losses.base,
        "<=",
        NEAR if losses.measure is TV else NEAR**2,
        "; ".join(f"{estimator}: {loss:.4g}" for estimator, loss in by.items()) + f"; no privacy: {losses.base:.4g}",
    )


FIGURE = Figure(
    "uldp/fig5",
    f"[ULDP, Fig. 5] {TITLE.format(TV.name)}",
    SHOWS.format(TV.name),
    PAPER_DATA,
    DATA_HERE,
    plan_epsilons(),
    charts_of_epsilons(TV),
    on_each(findings_on_epsilons, TV),
    settings=ON_MECHANISMS,
)
