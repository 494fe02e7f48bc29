"""Findings of [PIE, section 5] as statements with thresholds."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import inf, sqrt

from papers.finding import Finding
from papers.identities import GLH, HALF, LISTED, MAXIMUM, RR
from papers.results import Mean, Results
from papers.risk_charts import chosen_epsilons
from papers.risk_plans import EVENTS, PRINTED_EPSILON

CLOSE = 3.0
FAR = 10.0
USABLE = 0.25
_SEEN = 0.1
_FINGERS = ("left index finger", "right index finger")
_FACE = "face, matcher G"
_PAPER_BOUND, _EXACT, _LDP = "Thm 11 or 13", "exact", "Prop. 10"


def claims_on_bounds(results: Results) -> list[Finding]:
    """Check the paper's numbers for Prop. 10 and for Thms 11 and 13."""
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


def claims_on_partial(results: Results) -> list[Finding]:
    """Check that more training makes traces more identifiable."""
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = sorted(
            (p for p in results.where(population=name) if "certified_bits" in p), key=lambda p: p["drawn"] or 0
        )
        course = [p["certified_bits"].value for p in points]
        finding = Finding(
            "the more events the attacker learned from, the more identifiable are the others",
            name,
            "certified bits with the most events over those with the fewest",
            course[-1] / max(course[0], 1e-9),
            ">=",
            1.0,
            "; ".join(f"{p['drawn']}: {bits:.3g}" for p, bits in zip(points, course, strict=True)),
        )
        found.append(finding)
    return found


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
    """Check that no measured figure exceeds a bound, and compare the bounds."""
    names = dict.fromkeys(p["population"] for p in results.points)
    return [one for name in names for mechanism in (RR, GLH) for one in _on_reports(results, name, mechanism)]


def _on_reports(results: Results, name: str, mechanism: str) -> Iterator[Finding]:
    def by_epsilon(estimator: str, measure: str) -> dict[float, float]:
        points = results.where(population=name, mechanism=mechanism, estimator=estimator)
        return {p["epsilon"]: p[measure].value for p in points if measure in p}

    exact, paper, prop = (by_epsilon(kind, "bits") for kind in (_EXACT, _PAPER_BOUND, _LDP))
    seen = by_epsilon("attack", "certified_bits")
    if seen:
        excess = max(seen[e] - exact[e] for e in seen)
        claim = f"no certified PSE of {mechanism} is above the exact bound"
        yield Finding(claim, name, "largest excess, bits", excess, "<=", 0.0)
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
    close = {e: paper[e] / bits for e, bits in seen.items() if bits > _SEEN}
    if close:
        yield Finding(
            f"the paper's bound for {mechanism} lies close above the PSE where that is above {_SEEN:g} bits",
            name,
            "largest ratio of bound to certified PSE",
            max(close.values()),
            "<=",
            CLOSE,
            _listed(close),
        )


def _listed(ratios: Mapping[float, float]) -> str:
    return "; ".join(f"{epsilon:g}: {ratio:.3g}" for epsilon, ratio in ratios.items())


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
    """Return four standard errors of a share of users, each standard error that of one user at least."""
    spread = max(mean.value * (1 - mean.value), 1 / users)
    return 4 * sqrt(spread / (users * mean.runs))


def claims_on_top(results: Results) -> list[Finding]:
    """Check that PIE privacy at beta > 0.92 keeps the most visited places usable where epsilon = 10 does not."""
    found = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        for told, epsilon in chosen_epsilons(results, name).items():
            point = results.where(population=name, mechanism=RR, estimator="emp, all", epsilon=epsilon)
            if not point:
                continue
            printed = epsilon == PRINTED_EPSILON
            found.append(
                Finding(
                    f"{told} {'does not keep' if printed else 'keeps'} the {LISTED} most visited places usable (RR)",
                    name,
                    "mean relative error",
                    point[0]["relative"].value,
                    ">=" if printed else "<=",
                    USABLE,
                    f"exact beta {point[0]['error'].value:.4g}; by Cor. 8 {point[0]['paper_error'].value:.4g}",
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
