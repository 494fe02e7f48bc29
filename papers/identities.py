"""Measurements of [PIE]: bounds, attacks on traces and reports, biometric matchers, and the loss of utility."""

from collections.abc import Iterator
from math import exp, log

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.traces import Split, Traces, by_half, maximum_knowledge
from discreet.estimators import estimate
from discreet.mechanisms import BlockMechanism, LocalHashing, RandomizedResponse
from discreet.risk.assessment import Assessment, assess
from discreet.risk.bounds import identification_bounds
from discreet.risk.bounds.capacity import information_bounds, paper_information
from discreet.risk.bounds.leakage import report_leakage
from discreet.risk.bounds.prior import Prior
from discreet.risk.scores.biometric import biometric
from discreet.risk.scores.det import DET
from discreet.simulation.tallies import draw_tally
from papers.cells import Cell, Row
from papers.data.biometrics import FAILED, Biometrics
from papers.data.trails import Sizes, Trails

RR, GLH = "RR", "GLH"
BUCKETS, BUCKETS_PER_VALUE = 100_000_000, 10
"""g of hashing: the paper's for its number of places, about ten times as many as places for fewer."""

MAXIMUM, HALF, PARTIAL, RATED = "maximum knowledge", "half", "part of the first half", "first ratings"
LONG_TRACE, LONG_HISTORY = 200, 100
"""Users with fewer events than this are left out where the attacker learns from a part (places, movies)."""

THETA = 0.5
TOP, LISTED = 100, 20
ATTACK = "markov"
_CURVE_POINTS = 160
_NAMES = {
    "Prop. 10 of [PIE]": "Prop. 10",
    "Thms 11 and 13 of [PIE], theta = s": "Thm 11 or 13",
    "capacity of n values": "exact",
    "any LDP mechanism": "any LDP, tight",
    "the entropy of the user": "log n",
}


def made(name: str, values: int, epsilon: float, buckets: int | None = None) -> BlockMechanism:
    """Return one of the paper's two mechanisms over a number of values."""
    domain = Domain(range(values))
    return (
        RandomizedResponse(domain, epsilon)
        if name == RR
        else LocalHashing(domain, epsilon, g=buckets or min(BUCKETS, BUCKETS_PER_VALUE * values))
    )


def epsilon_of(theta: float, symbols: int) -> float:
    """Return the epsilon at which the truth is told with probability theta, for a number of symbols."""
    return log(1 + symbols * theta / (1 - theta))


def measure_bounds(cell: Cell, data: Sizes, _: int) -> Iterator[Row]:
    """Yield every bound on the information and on identification errors, by the paper and exactly."""
    assert cell.epsilon is not None
    mechanism, prior = made(cell.mechanism, data.values, cell.epsilon, cell.drawn), Prior.of(data.users)
    yield from _bounds(mechanism, prior, cell.mechanism)


def _bounds(mechanism: BlockMechanism, prior: Prior, name: str) -> Iterator[Row]:
    found = report_leakage(mechanism, prior, 1)
    facts: Row = {"mechanism": name, "values": mechanism.domain.size, "n": prior.users, "sensitive": 0}
    for figure in (*paper_information(found, prior, 1), *information_bounds(found, prior, 1)):
        yield facts | {"estimator": _NAMES[figure.source], "bits": figure.value}
    bounds = identification_bounds(mechanism, prior.users)
    yield facts | {"estimator": "exact", "error": bounds.error}
    if bounds.paper_error is not None:
        yield facts | {"estimator": "Cor. 8", "error": max(bounds.paper_error.value, 0.0)}
    for figure in bounds.identifications:
        if figure.source == "Fano, tight":
            yield facts | {"estimator": "Fano, tight", "error": 1 - figure.value}


# Attacks on traces


def split_of(traces: Traces, knowledge: str, events: int | None) -> Split:
    """Return the split of traces: those that the attacker knows, and those that she attributes.

    Args:
        traces: of everybody.
        knowledge: one of `MAXIMUM`, `HALF`, `PARTIAL`, `RATED`.
        events: how many events; None for all.
    """
    if knowledge == MAXIMUM:
        return maximum_knowledge(traces if events is None else traces.first(events))
    if knowledge == HALF:
        return by_half(traces)
    if knowledge == PARTIAL:
        halves, most = by_half(traces.with_least(LONG_TRACE)), LONG_TRACE // 2
        # Traces of one length, or the scores of long and short ones could not be compared.
        return Split(halves.training.first(most if events is None else events), halves.target.first(most))
    kept = traces.with_least(LONG_HISTORY)
    return Split(kept if events is None else kept.first(events), kept)


def measure_attack(cell: Cell, data: Trails, run: int) -> Iterator[Row]:
    """Attack traces that are published as they are."""
    found = assess(split_of(data.traces, cell.mechanism, cell.drawn), attack=ATTACK, random=_source(cell, run))
    facts: Row = {"mechanism": cell.mechanism, "values": data.traces.event_count, "n": found.users, "sensitive": 0}
    yield facts | {"estimator": ATTACK} | _figures(found)
    yield from _curve(found.det, facts)


def _figures(found: Assessment) -> Row:
    paper = found.pse.paper
    return {
        "paper_bits": 0.0 if paper is None else paper.bits,
        "certified_bits": found.certified,
        "success": found.success.value,
        "error": 1 - found.success.value,
        "eer": found.det.equal_error_rate,
    }


def _curve(det: DET, facts: Row) -> Iterator[Row]:
    """Yield points of a DET curve, evenly along it."""
    inside = np.flatnonzero((det.far > 0) & (det.far < 1) & (det.frr > 0) & (det.frr < 1))
    places = inside[np.unique(np.linspace(0, len(inside) - 1, _CURVE_POINTS).astype(int))] if len(inside) else []
    for place, point in enumerate(places):
        far, frr = float(det.far[point]), float(det.frr[point])
        yield facts | {"estimator": f"DET {place}", "far": far, "frr": frr, "equal": det.equal_error_rate}


def measure_matchers(cell: Cell, data: Biometrics, run: int) -> Iterator[Row]:
    """Measure biometric matchers with the figures of attacks on traces."""
    for name, found in biometric(data.scores, failed=FAILED, random=_source(cell, run)).items():
        paper, success = found.bse.paper, found.ranks.rates[0]
        facts: Row = {"mechanism": name, "values": 0, "n": found.users, "sensitive": 0}
        yield (
            facts
            | {"estimator": "scores", "paper_bits": 0.0 if paper is None else paper.bits}
            | {"certified_bits": found.bse.best.certified or 0.0, "success": success.value}
            | {"error": 1 - success.value, "eer": found.det.equal_error_rate}
        )
        yield from _curve(found.det, facts)


# Attacks on reports


def measure_reports(cell: Cell, data: Trails, run: int) -> Iterator[Row]:
    """Let each user report one place, and attack the reports knowing the places."""
    assert cell.epsilon is not None
    split = maximum_knowledge(data.traces.first(1))
    mechanism = made(cell.mechanism, data.traces.event_count, cell.epsilon, cell.drawn)
    found = assess(split, mechanism=mechanism, random=_source(cell, run))
    facts: Row = {"mechanism": cell.mechanism, "values": data.traces.event_count, "n": found.users, "sensitive": 0}
    yield facts | {"estimator": "attack"} | _figures(found)
    yield from _bounds(mechanism, Prior.of(found.users), cell.mechanism)


# What protection costs


def measure_utility(cell: Cell, data: Trails, run: int) -> Iterator[Row]:
    """Estimate how often places are visited, each check-in taken as a user's one report."""
    assert cell.epsilon is not None
    counts = np.bincount(data.traces.events, minlength=data.traces.event_count).astype(np.int64)
    n, p = int(counts.sum()), counts / counts.sum()
    mechanism = made(cell.mechanism, len(p), cell.epsilon, cell.drawn)
    bounds = identification_bounds(mechanism, n)
    facts: Row = {"mechanism": cell.mechanism, "values": len(p), "n": n, "sensitive": 0, "error": bounds.error}
    facts |= {"paper_error": 0.0 if bounds.paper_error is None else max(bounds.paper_error.value, 0.0)}
    tally = draw_tally(mechanism, counts, cell.generator(run))
    top = np.argsort(-counts, kind="stable")
    for name, method, options in (
        ("emp", "linear", {}),
        ("emp+thr", "threshold", {"remainder": "zero"}),
    ):
        found = estimate(mechanism, tally, method=method, **options).frequencies
        for chosen, told in ((top[:TOP], f"top {TOP}"), (top, "all")):
            loss = float(((found - p)[chosen] ** 2).sum())
            relative = float((np.abs(found - p)[top[:LISTED]] / p[top[:LISTED]]).mean())
            yield facts | {"estimator": f"{name}, {told}", "mse": loss, "relative": relative}
    linear = mechanism.decoder.estimate(tally)
    for place, code in enumerate(top[:LISTED]):
        one = {"estimator": f"place {place + 1}", "truth": float(p[code]), "estimate": float(linear[code])}
        yield facts | one


def measure_buckets(cell: Cell, data: Trails, run: int) -> Iterator[Row]:
    """Yield the loss of hashing to a number of buckets at theta = 1/2, by the paper's formula and simulated."""
    assert cell.drawn is not None
    g = cell.drawn
    epsilon = epsilon_of(THETA, g)
    counts = np.bincount(data.traces.events, minlength=data.traces.event_count).astype(np.int64)
    n, p = int(counts.sum()), counts / counts.sum()
    top = np.argsort(-counts, kind="stable")[:TOP]
    facts: Row = {"mechanism": GLH, "values": len(p), "n": n, "sensitive": 0, "drawn": g}
    printed = float(hashing_loss(p[top], n, g, epsilon).sum())
    yield facts | {"estimator": "Eq. 23", "mse": printed}
    yield facts | {"estimator": "limit of Thm 17", "mse": float((p[top] * (1 - THETA) / (n * THETA)).sum())}
    mechanism = LocalHashing(Domain(range(len(p))), epsilon, g=g)
    tally = draw_tally(mechanism, counts, cell.generator(run))
    yield facts | {"estimator": "simulated", "mse": float(((mechanism.decoder.estimate(tally) - p)[top] ** 2).sum())}


def hashing_loss(p: FloatArray, n: int, g: int, epsilon: float) -> FloatArray:
    """Return the ``(k,)`` squared losses of values, given the data [PIE, (23)]."""
    e = exp(epsilon)
    constant = (g + e - 1) ** 2 / (n * (e - 1) ** 2 * (g - 1))
    slope = (g * g - 2 * g - e + 1) / (n * (e - 1) * (g - 1))
    return constant + p * slope


def _source(cell: Cell, run: int) -> SeededRandom:
    return SeededRandom(int(cell.generator(run).integers(1 << 62)))
