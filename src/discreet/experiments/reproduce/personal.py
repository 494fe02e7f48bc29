"""Figures 8, 9 and 13 and Table 1 of [ULDP]: the personalized mechanism, with homes and workplaces as secrets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.estimators.tags import DROP, estimate_personalized
from discreet.experiments.data.population import Population
from discreet.experiments.reproduce.artefact import Settings
from discreet.experiments.reproduce.cells import (
    EMPIRICAL,
    ESTIMATORS,
    NO_PRIVACY,
    Cell,
    Row,
    answers,
    errors,
    fingerprint,
    half_of,
)
from discreet.experiments.reproduce.finding import Finding
from discreet.experiments.reproduce.results import Results
from discreet.experiments.reproduce.sweeps import EPSILONS, QUICK_EPSILONS, Charts, log_size, loss_name, told_of
from discreet.mechanisms import RandomizedResponse, UnaryEncoding
from discreet.mechanisms.personalized import Personalized
from discreet.plots.curves import Curves, curve_chart
from discreet.plots.maps import Map, map_chart

TASK = "personalized"
CASES = ("I", "II", "III")
OPTIMIZED = ("uRR", "uRAP")
MATTERS = 1.1
_BATCH = 5
_SUM = 1e-9


def measure_tags(cell: Cell, population: Population, run: int) -> Iterator[Row]:
    """Measure one run of the personalized mechanism: every case of background knowledge with every estimator."""
    generator = cell.generator(run)
    secret = list(population.behind)
    hidden = np.array([population.behind[tag] for tag in secret])
    everybody = np.concatenate([[population.counts - hidden.sum(axis=0)], hidden])
    users = half_of(everybody.reshape(-1), cell.people(run)).reshape(everybody.shape)
    facts = {"mechanism": cell.mechanism, "values": population.domain.size, "n": int(users.sum()), "seconds": 0.0}
    if cell.mechanism == NO_PRIVACY:
        p = users.sum(axis=0) / users.sum()
        yield facts | {"sensitive": 0, "estimator": EMPIRICAL} | errors(p, population.truth)
        return
    personalized = _personalized(cell, population)
    facts["sensitive"] = personalized.common.domain.sensitive_count
    data = answers(personalized.common, _with_bots(users), generator)
    truth, behind = _with_bots(everybody) / population.people, true_backgrounds(population)
    for case, known in _backgrounds(population).items():
        for name, method in ESTIMATORS.items():
            found = estimate_personalized(personalized, data, method=method, background=known)
            terms = found.decomposition(truth, behind)
            yield (
                facts
                | {"mechanism": f"{cell.mechanism} ({case})", "estimator": name}
                | errors(found.estimate.frequencies, population.truth)
                | {"l1": terms.error, "first_term": terms.intermediate, "second_term": terms.knowledge}
            )


def _personalized(cell: Cell, population: Population) -> Personalized:
    given: dict[str, Any] = {"mechanism": RandomizedResponse}
    if cell.mechanism == "uRAP":
        given = {"mechanism": UnaryEncoding, "clear_bits": True}
    epsilon = 0.0 if cell.epsilon is None else cell.epsilon
    return Personalized(population.domain, epsilon, list(population.behind), others=False, **given)


def _with_bots(people: IntArray) -> IntArray:
    """Return counts of values and bots: what is secret is the bot's."""
    return np.concatenate([people[0], people[1:].sum(axis=1)])


def true_backgrounds(population: Population) -> dict[str, FloatArray]:
    """Return pi_k, by tag: where the people are who hold that secret."""
    return {tag: counts / counts.sum() for tag, counts in population.behind.items()}


def points_of_interest(population: Population) -> dict[str, FloatArray]:
    """Return the distribution of points of interest by tag, over what may be behind a bot."""
    open_ = {tag: np.where(population.domain.sensitive, 0, counts) for tag, counts in population.points.items()}
    return {tag: counts / counts.sum() for tag, counts in open_.items()}


def _backgrounds(population: Population) -> dict[str, Any]:
    return dict(zip(CASES, (DROP, points_of_interest(population), true_backgrounds(population)), strict=True))


# What is measured


def plan_cases(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Figs. 8 and 13]."""
    found = []
    for name, population in populations.items():
        listed = QUICK_EPSILONS if settings.quick else EPSILONS
        found += _cells(name, population, settings, NO_PRIVACY, [None])
        for mechanism in OPTIMIZED:
            found += _cells(name, population, settings, mechanism, sorted({*listed, log_size(population.domain.size)}))
    return found


def plan_table(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return the cells of [ULDP, Table 1]: epsilon = ln|X|."""
    return [
        cell
        for name, population in populations.items()
        for mechanism in OPTIMIZED
        for cell in _cells(name, population, settings, mechanism, [log_size(population.domain.size)])
    ]


def plan_maps(populations: Mapping[str, Population], settings: Settings) -> list[Cell]:
    """Return one cell per data set: maps need no reports, but say whose they are."""
    return [cell for name, one in populations.items() for cell in _cells(name, one, settings, NO_PRIVACY, [None])[:1]]


def _cells(
    name: str, population: Population, settings: Settings, mechanism: str, epsilons: Sequence[float | None]
) -> list[Cell]:
    runs, data = settings.chosen(100, 3), fingerprint(population)
    return [
        Cell(name, data, mechanism, epsilon, None, first, min(_BATCH, runs - first), settings.seed, task=TASK)
        for epsilon in epsilons
        for first in range(0, runs, _BATCH)
    ]


# What is drawn


def charts_of_cases(measure: str) -> Charts:
    """Return what draws a loss against epsilon for the three cases of background knowledge."""

    def draw(results: Results, _: Mapping[str, Population]) -> dict[str, Any]:
        charts = {}
        for name in dict.fromkeys(point["population"] for point in results.points):
            points = [p for p in results.where(population=name) if p["epsilon"] is not None]
            base = results.mean(measure, population=name, mechanism=NO_PRIVACY)
            drawn = [
                {
                    "x": p["epsilon"],
                    "y": p[measure].value,
                    "low": max(p[measure].value - 2 * p[measure].error, p[measure].value / 10),
                    "high": p[measure].value + 2 * p[measure].error,
                    "line": p["mechanism"],
                    "column": p["estimator"],
                    "row": "",
                }
                for p in points
            ]
            charts[name] = curve_chart(
                Curves(
                    f"Personalized mechanism: {loss_name(measure)} against epsilon",
                    [told_of(points[0]), "(I) nothing known, (II) points of interest, (III) the truth behind each tag"],
                    "epsilon",
                    loss_name(measure),
                    drawn,
                    [f"{mechanism} ({case})" for mechanism in OPTIMIZED for case in CASES],
                    list(ESTIMATORS),
                    [""],
                    {"": base},
                    marks={"": log_size(points[0]["values"])},
                    mark="ln|X|",
                )
            )
        return charts

    return draw


def charts_of_table(_: Results, __: Mapping[str, Population]) -> dict[str, Any]:
    """Return no charts: a table is its numbers."""
    return {}


def charts_of_maps(_: Results, populations: Mapping[str, Population]) -> dict[str, Any]:
    """Return maps of the points of interest beside those of the truth, by tag."""
    charts = {}
    for name, population in populations.items():
        known, truth = points_of_interest(population), true_backgrounds(population)
        places = population.domain.table()
        panels = [
            Map(f"{tag}: {what}", places, shares)
            for tag in truth
            for what, shares in (("points of interest", known[tag]), ("check-ins (truth)", truth[tag]))
        ]
        charts[name] = map_chart(panels, title=f"Where homes and workplaces are: {population.title}", across=2)
    return charts


# What is found


def claims_on_cases(measure: str) -> Any:
    """Return what checks [ULDP, Figs. 8 and 13]."""

    def check(results: Results) -> list[Finding]:
        names = dict.fromkeys(point["population"] for point in results.points)
        return [finding for name in names for finding in _on_cases(results, name, measure)]

    return check


def _on_cases(results: Results, name: str, measure: str) -> Iterator[Finding]:
    def loss(mechanism: str, case: str, epsilon: float) -> float:
        where = {"population": name, "mechanism": f"{mechanism} ({case})", "estimator": "EM", "epsilon": epsilon}
        return results.mean(measure, **where)

    epsilons = sorted({p["epsilon"] for p in results.where(population=name) if p["epsilon"] is not None})
    line = log_size(results.where(population=name)[0]["values"])
    for mechanism in OPTIMIZED:
        low = epsilons[0]
        losses = [loss(mechanism, case, low) for case in CASES]
        yield Finding(
            f"where epsilon is small, background knowledge hardly matters to {mechanism}",
            name,
            f"largest over least loss with EM of the three cases at epsilon = {low:g}",
            max(losses) / min(losses),
            "<=",
            MATTERS,
            "; ".join(f"({case}): {value:.4g}" for case, value in zip(CASES, losses, strict=True)),
        )
        at = [loss(mechanism, case, line) for case in CASES]
        for worse, better in ((0, 1), (1, 2)):
            yield Finding(
                f"at epsilon = ln|X| case ({CASES[better]}) is better than ({CASES[worse]}) for {mechanism}",
                name,
                "ratio of losses with EM",
                at[worse] / at[better],
                ">=",
                1.0,
                "; ".join(f"({case}): {value:.4g}" for case, value in zip(CASES, at, strict=True)),
            )


def claims_on_maps(_: Results) -> list[Finding]:
    """Return no findings: the maps are for the eye; Figs. 8 and 13 say what they are worth."""
    return []


# As printed: uRR and uRAP in cases I, II and III; l1(p_hat, p), first term, second term.
PRINTED = {
    "uRR (I)": (6.73e-2, 2.70e-2, 7.34e-2), "uRR (II)": (4.24e-2, 2.70e-2, 2.96e-2), "uRR (III)": (2.62e-2, 2.70e-2, 0),
    "uRAP (I)": (6.77e-2, 2.76e-2, 7.35e-2), "uRAP (II)": (4.28e-2, 2.76e-2, 2.96e-2),
    "uRAP (III)": (2.67e-2, 2.76e-2, 0),
}  # fmt: skip


def claims_on_table(results: Results) -> list[Finding]:
    """Check Theorem 1 against the numbers of [ULDP, Table 1]."""
    found = []
    for point in results.where(estimator="EM"):
        l1, first, second = (point[name].value for name in ("l1", "first_term", "second_term"))
        printed = PRINTED[point["mechanism"]]
        found.append(
            Finding(
                f"Theorem 1 holds for {point['mechanism']}",
                point["population"],
                "l1(p_hat, p) less both terms",
                l1 - first - second,
                "<=",
                _SUM,
                f"here {l1:.3g}, {first:.3g}, {second:.3g}; the paper {printed[0]:.3g}, {printed[1]:.3g}, "
                f"{printed[2]:.3g}",
            )
        )
    return found
