"""Figures 4 to 12 of [PIE]: what is planned, drawn, tabulated and found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, log2, sqrt
from typing import Any

import numpy as np

from discreet.experiments.reproduce.artefact import Artefact, Settings, Table, no_charts
from discreet.experiments.reproduce.cells import ATTACKED, BOUNDS, BUCKETS, MATCHERS, REPORTS, UTILITY, Cell
from discreet.experiments.reproduce.finding import Finding
from discreet.experiments.reproduce.identities import (
    GLH,
    HALF,
    LISTED,
    LONG_HISTORY,
    LONG_TRACE,
    MAXIMUM,
    PARTIAL,
    RATED,
    RR,
    THETA,
    TOP,
)
from discreet.experiments.reproduce.results import Mean, Results
from discreet.plots.curves import Curves, curve_chart
from discreet.plots.det import DetLine, det_chart

SMALL = (0.05, 0.1, 0.2, 0.5, 1.0)
LARGE = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0)
REPORTED = (0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)
EVENTS = (1, 2, 3, 4, 5)
LEARNED = (20, 40, 60, 80, 100)
BUCKET_COUNTS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 2_000_000_000)
FEW_RUNS = (5, 1)
_SIZES = ("sizes",)
_PLACES, _PLACES_HERE = ("lbsn-world",), ("lbsn-kl", "lbsn-nyc", "trails-nyc")
_MOVIES, _MOVIES_HERE = ("movielens", "movielens-dat"), ("movielens-1m",)
_FINGERS = ("left index finger", "right index finger")
_FACE = "face, matcher G"
CLOSE = 3.0
FAR = 10.0
USABLE = 0.25
BETA = 0.92
_PAPER_BOUND, _EXACT, _LDP = "Thm 11 or 13", "exact", "Prop. 10"


def _cells(
    datasets: Mapping[str, Any],
    settings: Settings,
    task: str,
    asked: Sequence[tuple[str, float | None, int | None]],
    runs: int = 1,
) -> list[Cell]:
    return [
        Cell(name, data.fingerprint, mechanism, epsilon, drawn, 0, runs, settings.seed, task)
        for name, data in datasets.items()
        for mechanism, epsilon, drawn in asked
    ]


def _of(kind: str, datasets: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {"places": (*_PLACES, *_PLACES_HERE), "movies": (*_MOVIES, *_MOVIES_HERE), "matchers": ("bssr1",)}[kind]
    return {name: data for name, data in datasets.items() if name in chosen}


def plan_bounds(epsilons: Sequence[float]) -> Callable[[Mapping[str, Any], Settings], list[Cell]]:
    """Return what plans bounds, which need no data."""

    def plan(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
        asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in sorted(set(epsilons))]
        return _cells(datasets, settings, BOUNDS, asked)

    return plan


def plan_maximum(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks with maximum knowledge, whole traces and first events, and the matchers beside them."""
    traces = _of("places", datasets) | _of("movies", datasets)
    asked = [(MAXIMUM, None, events) for events in (None, *EVENTS)]
    return _cells(_of("matchers", datasets), settings, MATCHERS, [("all", None, None)]) + _cells(
        traces, settings, ATTACKED, asked
    )


def plan_partial(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan attacks that learn from other events of the same users."""
    places = _cells(_of("places", datasets), settings, ATTACKED, [(PARTIAL, None, events) for events in LEARNED])
    movies = _cells(_of("movies", datasets), settings, ATTACKED, [(RATED, None, events) for events in EVENTS])
    return places + movies


def plan_curves(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan DET curves of traces, by half and with maximum knowledge, and of the matchers."""
    found = _cells(_of("matchers", datasets), settings, MATCHERS, [("all", None, None)])
    found += _cells(
        _of("places", datasets), settings, ATTACKED, [(MAXIMUM, None, None), (PARTIAL, None, None), (HALF, None, None)]
    )
    return found + _cells(_of("movies", datasets), settings, ATTACKED, [(MAXIMUM, None, None)])


def plan_reports(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan bounds at the paper's sizes, and attacks on one report of each user with their bounds."""
    sizes = {name: data for name, data in datasets.items() if name in _SIZES}
    epsilons = REPORTED[::3] if settings.quick else REPORTED
    runs = settings.chosen(*FEW_RUNS)
    asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in epsilons]
    return _cells(sizes, settings, BOUNDS, asked) + _cells(_of("places", datasets), settings, REPORTS, asked, runs)


def plan_utility(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan estimates of how often places are visited."""
    epsilons = REPORTED[4::3] if settings.quick else REPORTED[2:]
    asked = [(name, epsilon, None) for name in (RR, GLH) for epsilon in epsilons]
    return _cells(_of("places", datasets), settings, UTILITY, asked, settings.chosen(*FEW_RUNS))


def plan_buckets(datasets: Mapping[str, Any], settings: Settings) -> list[Cell]:
    """Plan hashing to more and more buckets."""
    counts = BUCKET_COUNTS[::3] if settings.quick else BUCKET_COUNTS
    asked = [(GLH, None, buckets) for buckets in counts]
    return _cells(_of("places", datasets), settings, BUCKETS, asked, settings.chosen(*FEW_RUNS))


# Charts


def _record(point: Mapping[str, Any], x: float, measure: str, *, line: str, column: str = "", row: str = "") -> Any:
    mean = point[measure]
    low, high = mean.value - 2 * mean.error, mean.value + 2 * mean.error
    return {
        "x": x,
        "y": mean.value,
        "low": max(low, mean.value / 10),
        "high": high,
        "line": line,
        "column": column,
        "row": row,
    }


def _curves(title: str, told: str, axes: tuple[str, str], records: list[Any], **more: Any) -> Any:
    drawn = [record for record in records if more.get("even") or record["y"] > 0]
    named: dict[str, Sequence[str]] = {
        key: list(dict.fromkeys(record[key[:-1]] for record in drawn)) for key in ("lines", "columns", "rows")
    }
    return curve_chart(Curves(title, [told], *axes, drawn, named["lines"], named["columns"], named["rows"], {}, **more))


def charts_of_bounds(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw epsilon against alpha, small and large epsilons apart."""
    records = [
        _record(p, p["epsilon"], "bits", line=p["estimator"], column=p["mechanism"], row=row)
        for row, epsilons in (("large epsilon", LARGE), ("small epsilon", SMALL))
        for p in results.points
        if "bits" in p and p["epsilon"] in epsilons
    ]
    first = results.points[0]
    told = f"{first['n']:,} users, |X| = {first['values']:,}; GLH: g = 1e8"
    return {"sizes": _curves("Bounds on the information about the user", told, ("epsilon", "alpha, bits"), records)}


def charts_of_attacks(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw how much a few events tell, and how much the matchers tell, as in the paper and certified."""
    records = []
    for p in results.points:
        if "paper_bits" not in p or p["drawn"] is None:
            continue
        for measure, column in (("paper_bits", "D(f_G || f_I), the paper's PSE"), ("certified_bits", "certified PSE")):
            records.append(_record(p, p["drawn"], measure, line=p["population"], column=column))
    told = "D(f_G || f_I) bounds nothing at finitely many users; the certified PSE is a lower bound on the PIE"
    axes = ("events that are known or attributed", "bits")
    return {"events": _curves("What events tell about the user", told, axes, records)} if records else {}


def charts_of_det(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw DET curves on normal-deviate axes."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for p in results.points:
        if "far" in p:
            name = p["mechanism"] if p["population"] == "bssr1" else f"{p['population']}, {p['mechanism']}"
            lines.setdefault(name, []).append((p["far"].value, p["frr"].value, p["equal"].value))
    drawn = [
        DetLine(name, np.array([one[0] for one in points]), np.array([one[1] for one in points]), points[0][2])
        for name, points in lines.items()
    ]
    return {"det": det_chart(drawn)}


def charts_of_reports(measure: str) -> Callable[[Results, Mapping[str, Any]], dict[str, Any]]:
    """Return what draws bounds, and what an attack on one report of each user finds, against epsilon."""
    measured = {"bits": "certified_bits", "error": "error"}[measure]
    named = {"bits": "attack (certified PSE)", "error": "attack"}

    def draw(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
        charts = {}
        for name in dict.fromkeys(p["population"] for p in results.points):
            points = results.where(population=name)
            records = [
                _record(p, p["epsilon"], measure, line=p["estimator"], column=p["mechanism"])
                for p in points
                if measure in p and p["estimator"] != "attack"
            ]
            records += [
                _record(p, p["epsilon"], measured, line=named[measure], column=p["mechanism"])
                for p in points
                if p["estimator"] == "attack"
            ]
            told = f"{points[0]['n']:,} users of {name}, one place each, |X| = {points[0]['values']:,}"
            titles = {"bits": "Information about the user", "error": "Identification error"}
            axes = ("epsilon", {"bits": "bits", "error": "identification error rate"}[measure])
            charts[name] = _curves(titles[measure], told, axes, records, even=measure == "error")
        return charts

    return draw


def charts_of_utility(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against epsilon and against the certified identification error."""
    charts = {}
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = [p for p in results.where(population=name) if "mse" in p]
        records = [_record(p, p["epsilon"], "mse", line=p["mechanism"], column=p["estimator"], row="") for p in points]
        told = f"{points[0]['n']:,} check-ins of {name}, each taken as a user's, |X| = {points[0]['values']:,}"
        charts[name] = _curves("Squared loss over places", told, ("epsilon", "summed squared error"), records)
        risky = [
            _record(p, 1 - p["error"].value, "mse", line=p["mechanism"], column=p["estimator"], row="") for p in points
        ]
        axes = ("largest identification probability, 1 - beta", "summed squared error")
        charts[f"{name}-beta"] = _curves("Squared loss against identification risk", told, axes, risky)
    return charts


def charts_of_buckets(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against the number of buckets."""
    charts = {}
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = results.where(population=name)
        records = [_record(p, p["drawn"], "mse", line=p["estimator"]) for p in points]
        told = f"theta = {THETA:g}; the {TOP} most visited places of {name}, {points[0]['n']:,} check-ins"
        charts[name] = _curves("Hashing to more buckets", told, ("g", "summed squared error"), records)
    return charts


# Tables


def tables_of_attacks(results: Results) -> list[Table]:
    """Return everything that was attacked, a row each."""
    rows = [
        (
            p["population"],
            p["mechanism"],
            "all" if p["drawn"] is None else str(p["drawn"]),
            f"{p['n']:,}",
            f"{p['paper_bits'].value:.2f}",
            f"{p['certified_bits'].value:.2f}",
            f"{log2(p['n']):.2f}",
            f"{p['success'].value:.3f}",
            f"{p['eer'].value:.4f}",
        )
        for p in results.points
        if "paper_bits" in p
    ]
    heads = ("data", "attack", "events", "users", "D(f_G||f_I)", "certified", "log n", "named", "equal errors")
    return [Table("Bits about the user, and how often she is named", heads, rows, left=3)]


def tables_of_top(results: Results) -> list[Table]:
    """Return the most visited places: the truth, at epsilon = 10 and at the largest epsilon with beta > 0.92."""
    tables = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = results.where(population=name, mechanism=RR)
        chosen = _wide_epsilon(results, name)
        rows = []
        for place in range(1, LISTED + 1):
            at = {p["epsilon"]: p for p in points if p["estimator"] == f"place {place}"}
            if not at:
                continue
            truth = next(iter(at.values()))["truth"].value
            cells = [f"{at[e]['estimate'].value:.5f}" if e in at else "" for e in (4.0, 10.0, chosen)]
            rows.append((str(place), f"{truth:.5f}", *cells))
        heads = ("place", "truth", "epsilon = 4", "epsilon = 10", f"epsilon = {chosen:g} (beta >= {BETA:g})")
        tables.append(Table(f"RR, emp: the {LISTED} most visited places of {name}", heads, rows))
    return tables


def _wide_epsilon(results: Results, name: str) -> float:
    """Return the largest epsilon at which no attack names more than 8% of the users."""
    points = [p for p in results.where(population=name, mechanism=RR) if "paper_error" in p]
    return max((p["epsilon"] for p in points if p["error"].value >= BETA), default=0.0)


# Findings


def claims_on_bounds(results: Results) -> list[Finding]:
    """Check the paper's numbers, and how far Prop. 10 is from the truth."""
    printed = {("Prop. 10", 0.1): 0.014, ("Prop. 10", 1.0): 1.4, ("Prop. 10", 10.0): 14.0}
    printed |= {("Thm 11 or 13", 0.1): 2.0e-7, ("Thm 11 or 13", 1.0): 3.3e-6, ("Thm 11 or 13", 10.0): 0.043}
    found = []
    for (name, epsilon), number in printed.items():
        points = results.where(mechanism=RR, estimator=name, epsilon=epsilon)
        if not points or "bits" not in points[0]:
            continue
        here = points[0]["bits"].value
        found.append(
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
    return found


def claims_on_maximum(results: Results) -> list[Finding]:
    """Check that a handful of events identifies as well as a fingerprint when the attacker knows them."""
    fingers = [p["paper_bits"].value for p in results.points if p["mechanism"] in _FINGERS and "paper_bits" in p]
    if not fingers:
        return []
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points if p["mechanism"] == MAXIMUM):
        at = {p["drawn"]: p for p in results.where(population=name, mechanism=MAXIMUM) if "paper_bits" in p}
        best = max(at[events]["paper_bits"].value for events in EVENTS if events in at)
        found.append(
            Finding(
                "a handful of events (at most 5) identifies as well as a fingerprint, if the attacker knows them",
                name,
                "D(f_G || f_I) of the most telling number of events over that of the less telling finger",
                best / min(fingers),
                ">=",
                1.0,
                "; ".join(f"{events}: {at[events]['paper_bits'].value:.3g} bits" for events in EVENTS if events in at),
            )
        )
    return found


def claims_on_partial(results: Results) -> Iterator[Finding]:
    """Check that more training makes traces more identifiable."""
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = sorted(
            (p for p in results.where(population=name) if "certified_bits" in p), key=lambda p: p["drawn"] or 0
        )
        course = [p["certified_bits"].value for p in points]
        yield Finding(
            "the more events the attacker learned from, the more identifiable are the others",
            name,
            "certified bits with the most events over those with the fewest",
            course[-1] / max(course[0], 1e-9),
            ">=",
            1.0,
            "; ".join(f"{p['drawn']}: {bits:.3g}" for p, bits in zip(points, course, strict=True)),
        )


def claims_on_det(results: Results) -> list[Finding]:
    """Check that long traces are more identifiable than the face matcher, even with separate training data."""
    face = next((p for p in results.where(mechanism=_FACE) if "paper_bits" in p), None)
    if face is None:
        return []
    return [
        Finding(
            f"traces are more identifiable than the {_FACE} (attacker: {p['mechanism']})",
            p["population"],
            "D(f_G || f_I) over the matcher's",
            p["paper_bits"].value / face["paper_bits"].value,
            ">=",
            1.0,
            f"{p['paper_bits'].value:.3g} bits against {face['paper_bits'].value:.3g}; named {p['success'].value:.1%}",
        )
        for p in results.points
        if "paper_bits" in p and p["population"] != "bssr1" and p["mechanism"] != HALF
    ]


def claims_on_reports(results: Results) -> list[Finding]:
    """Check that nothing measured exceeds a bound, and where the bounds lie."""
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        for mechanism in (RR, GLH):
            at = results.where(population=name, mechanism=mechanism)
            exact = {p["epsilon"]: p["bits"].value for p in at if p["estimator"] == _EXACT and "bits" in p}
            paper = {p["epsilon"]: p["bits"].value for p in at if p["estimator"] == _PAPER_BOUND}
            prop = {p["epsilon"]: p["bits"].value for p in at if p["estimator"] == _LDP}
            seen = {p["epsilon"]: p["certified_bits"].value for p in at if p["estimator"] == "attack"}
            if seen:
                found.append(
                    Finding(
                        f"no certified PSE of {mechanism} is above the exact bound",
                        name,
                        "largest excess, bits",
                        max(seen[e] - exact[e] for e in seen),
                        "<=",
                        0.0,
                    )
                )
            low = {e: prop[e] / paper[e] for e in paper if e <= 10 and e in prop}
            found.append(
                Finding(
                    f"the paper's bound for {mechanism} is far below Prop. 10 (epsilon up to 10)",
                    name,
                    "least ratio of Prop. 10 to it",
                    min(low.values(), default=inf),
                    ">=",
                    FAR if name in _SIZES else 1.0,
                    "; ".join(f"{e:g}: {ratio:.3g}" for e, ratio in low.items()),
                )
            )
            shown = {e: bits for e, bits in seen.items() if bits > 0.1}
            if shown:
                close = {e: paper[e] / bits for e, bits in shown.items()}
                found.append(
                    Finding(
                        f"the paper's bound for {mechanism} lies close above the PSE where that is above 0.1 bits",
                        name,
                        "largest ratio of bound to certified PSE",
                        max(close.values()),
                        "<=",
                        CLOSE,
                        "; ".join(f"{e:g}: {ratio:.3g}" for e, ratio in close.items()),
                    )
                )
    return found


def claims_on_errors(results: Results) -> list[Finding]:
    """Check that identification errors measured are above every bound on them."""
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        for mechanism in (RR, GLH):
            at = results.where(population=name, mechanism=mechanism)
            seen = {p["epsilon"]: (p["error"], p["n"]) for p in at if p["estimator"] == "attack"}
            exact = {p["epsilon"]: p["error"].value for p in at if p["estimator"] == _EXACT and "error" in p}
            if seen:
                slack = {e: mean.value + _chance(mean, n) - exact[e] for e, (mean, n) in seen.items()}
                found.append(
                    Finding(
                        f"no attack on {mechanism} errs less often than the exact bound says",
                        name,
                        "least error measured, less the bound, with room for chance",
                        min(slack.values()),
                        ">=",
                        0.0,
                    )
                )
    return found


def _chance(mean: Mean, users: int) -> float:
    """Return four standard errors of a share of users, of whom one at least might have been otherwise."""
    spread = max(mean.value * (1 - mean.value), 1 / users)
    return 4 * sqrt(spread / (users * mean.runs))


def claims_on_utility(results: Results) -> list[Finding]:
    """Check that PIE privacy at beta > 0.92 keeps the most visited places usable."""
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        chosen = _wide_epsilon(results, name)
        points = results.where(population=name, mechanism=RR, estimator="emp, all", epsilon=chosen)
        if points:
            found.append(
                Finding(
                    f"PIE privacy at beta > {BETA:g} keeps the {LISTED} most visited places usable (RR)",
                    name,
                    f"mean relative error at epsilon = {chosen:g}",
                    points[0]["relative"].value,
                    "<=",
                    USABLE,
                    f"exact beta {points[0]['error'].value:.4g}; by Cor. 8 {points[0]['paper_error'].value:.4g}",
                )
            )
    return found


def claims_on_buckets(results: Results) -> list[Finding]:
    """Check Theorem 17: at fixed theta, the more buckets the less loss."""
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        course = {p["drawn"]: p["mse"].value for p in results.where(population=name, estimator="Eq. 23")}
        steps = sorted(course)
        rises = max(course[b] / course[a] for a, b in pairwise(steps))
        found.append(
            Finding(
                "larger g is better for a fixed PIE guarantee (theta = 1/2)",
                name,
                "largest ratio of the loss from one g to the next (Eq. 23)",
                rises,
                "<=",
                1.0,
                "; ".join(f"{g:g}: {course[g]:.3g}" for g in steps),
            )
        )
    return found


_ATTACK = (
    "the Markov model of the paper: visit and transition probabilities by maximum likelihood, zeros become 1e-8",
    "best score, ties broken at random (expected success); every trace against every user",
    "D(f_G || f_I) is the paper's PSE; the certified PSE is a lower bound on the PIE, by the larger of "
    "D(f_G || f_mix) and the bound by ranks, lower limits of 95% intervals",
)
_ONE_PLACE = (
    "each user reports her first place; the attacker knows the places of all users (maximum knowledge)",
    "GLH: g = 1e8 for the paper's sizes, ten times the number of places for the data at hand",
    "exact: the largest information, the least error, over all data and attacks; printed bounds beside it",
)
_ERRATA = "errata: (11) has the wrong sign; alpha < 2.07 (6.21) are nats; Thms 12 and 14 should be capped by log n"

PIE: tuple[Artefact, ...] = (
    Artefact(
        "pie/fig4",
        "[PIE, Fig. 4] epsilon against alpha",
        "Bounds on the information that a report gives about its user, for small and large epsilon.",
        _SIZES,
        (),
        plan_bounds((*SMALL, *LARGE)),
        charts_of_bounds,
        claims_on_bounds,
        runs=(1, 1),
        settings=("no data are needed; GLH with g = 1e8", _ERRATA),
    ),
    Artefact(
        "pie/fig5",
        "[PIE, Fig. 5] PSE with maximum knowledge",
        "How much traces tell about their users if the attacker knows the traces: whole, and their first events.",
        (*_PLACES, *_MOVIES),
        ("bssr1", *_PLACES_HERE, *_MOVIES_HERE),
        plan_maximum,
        charts_of_attacks,
        claims_on_maximum,
        tables_of_attacks,
        runs=(1, 1),
        settings=_ATTACK,
    ),
    Artefact(
        "pie/fig6",
        "[PIE, Fig. 6] PSE with partial knowledge",
        "How much traces tell if the attacker learned from other events of the same users.",
        (*_PLACES, *_MOVIES),
        (*_PLACES_HERE, *_MOVIES_HERE),
        plan_partial,
        charts_of_attacks,
        lambda results: list(claims_on_partial(results)),
        tables_of_attacks,
        runs=(1, 1),
        settings=(
            *_ATTACK,
            f"places: users with at least {LONG_TRACE} check-ins (1,000 in the paper), learned from the first 20 to "
            "100 of the first half (100 to 500); the first 100 of the second half are attributed",
            f"movies: users with at least {LONG_HISTORY} ratings (500 in the paper), learned from the first 1 to 5; "
            "the whole history is attributed",
        ),
    ),
    Artefact(
        "pie/fig7",
        "[PIE, Fig. 7] DET curves",
        "False rejection against false acceptance of traces and of biometric matchers, over all thresholds, exactly.",
        (*_PLACES, *_MOVIES),
        ("bssr1", "lbsn-kl", *_MOVIES_HERE),
        plan_curves,
        charts_of_det,
        claims_on_det,
        tables_of_attacks,
        runs=(1, 1),
        settings=_ATTACK,
    ),
    Artefact(
        "pie/fig8",
        "[PIE, Fig. 8] bounds on the PIE, and the PSE",
        "Upper bounds on the information about the user against epsilon, and what an attack finds as a lower bound.",
        (*_SIZES, *_PLACES),
        _PLACES_HERE,
        plan_reports,
        charts_of_reports("bits"),
        claims_on_reports,
        runs=FEW_RUNS,
        settings=(*_ONE_PLACE, _ERRATA),
    ),
    Artefact(
        "pie/fig9",
        "[PIE, Fig. 9] identification error and its lower bounds",
        "How often the right user is not named, against epsilon: what no attack can be better than, what one finds.",
        (*_SIZES, *_PLACES),
        _PLACES_HERE,
        plan_reports,
        charts_of_reports("error"),
        claims_on_errors,
        runs=FEW_RUNS,
        settings=(*_ONE_PLACE, _ERRATA),
    ),
    Artefact(
        "pie/fig10",
        "[PIE, Fig. 10] what protection costs",
        "The squared loss over the most visited and over all places against epsilon.",
        _PLACES,
        _PLACES_HERE,
        plan_utility,
        charts_of_utility,
        claims_on_utility,
        runs=FEW_RUNS,
        settings=("each check-in is taken as a user's one report", "emp+thr: what is below the threshold becomes 0"),
    ),
    Artefact(
        "pie/fig11",
        "[PIE, Fig. 11] the most visited places",
        f"How often the {LISTED} most visited places are visited: the truth, and estimates.",
        _PLACES,
        _PLACES_HERE,
        plan_utility,
        no_charts,
        claims_on_utility,
        tables_of_top,
        runs=FEW_RUNS,
        settings=("each check-in is taken as a user's one report",),
    ),
    Artefact(
        "pie/fig12",
        "[PIE, Fig. 12] hashing to more buckets",
        "The squared loss at theta = 1/2 against the number of buckets.",
        _PLACES,
        _PLACES_HERE,
        plan_buckets,
        charts_of_buckets,
        claims_on_buckets,
        runs=FEW_RUNS,
        settings=(
            "larger g is better at a fixed theta only: hashing to about V n buckets without noise has far less loss at "
            "the same identification probability V, and no attribute privacy at all",
        ),
    ),
)
