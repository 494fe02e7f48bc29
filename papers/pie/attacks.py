"""Attacks on traces and on reports, and biometric matchers: their rows, measurement, charts and table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log2
from typing import Any

import numpy as np

from discreet.core.random import SeededRandom
from discreet.core.result_table import ResultTable
from discreet.risk.assessment import Assessment, assess
from discreet.risk.bounds.leakage import Prior
from discreet.risk.scores.biometric import biometric
from discreet.risk.scores.pse import Information, z_quantile
from discreet.risk.scores.rates import DET
from discreet.risk.traces import Split, Traces, by_half, maximum_knowledge
from papers.cells import Cell
from papers.data.biometrics import FAILED, Biometrics
from papers.data.traces import TraceData
from papers.drawing import Bars, bar_chart, curves, interval, record
from papers.pie.bounds import BY_PSE, ErrorBound, bounds_of, error_by
from papers.pie.settings import MATCHERS, mechanism_over
from papers.results import Point, Results, Row

MAXIMUM, HALF, PARTIAL, RATED = "maximum knowledge", "first halves", "part of the first half", "first ratings"
LONG_TRACE, LONG_HISTORY = 200, 100
"""Users with fewer events than this are left out where the attacker learns from a part (places, movies)."""

ATTACK = "markov"
CHANCE = 4
"""Standard errors that a comparison with a bound allows for chance."""

FACE, FINGER = "face, matcher G", "left index finger"
_CURVE_POINTS = 160


@dataclass(frozen=True, kw_only=True)
class Attack(Row):
    """An attack. In the place of a mechanism stands the attacker's knowledge, or a matcher, where there is none.

    Attributes:
        attack: its name, or the attacker's knowledge.
        paper_bits: D(f_G || f_I), the paper's PSE.
        certified_bits: a lower bound on the information about the user, with 95% confidence.
        cautious_bits: the same bound with four standard errors, for comparisons that chance must not decide.
        success: the share of users who are identified.
        error: the share of those who are not.
        eer: equal error rate.
    """

    attack: str
    paper_bits: float
    certified_bits: float
    cautious_bits: float
    success: float
    error: float
    eer: float


@dataclass(frozen=True, kw_only=True)
class DetPoint(Row):
    """A point of the DET curve of an attack.

    Attributes:
        place: along the curve.
        far: false acceptance rate.
        frr: false rejection rate.
        equal: equal error rate of the whole curve.
    """

    place: int
    far: float
    frr: float
    equal: float


BITS: dict[str, Callable[[Attack], float]] = {
    "D(f_G || f_I), the paper's PSE": lambda row: row.paper_bits,
    "certified PSE": lambda row: row.certified_bits,
}
"""Two measures of information by name."""


def split_of(traces: Traces, knowledge: str, events: int | None) -> Split:
    """Return the split of traces: those that the attacker knows, and those that are attributed.

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
    eligible = traces.with_least(LONG_HISTORY)
    return Split(eligible if events is None else eligible.first(events), eligible)


def measure_attack(cell: Cell, data: TraceData, run: int) -> Iterator[Row]:
    """Attack traces that are published as they are; of so many users, if the cell says how many."""
    traces = data.traces
    if cell.users is not None:
        traces = traces.select(cell.people(run).permutation(traces.users)[: cell.users])
    assessment = assess(split_of(traces, cell.mechanism, cell.drawn), attack=ATTACK, random=_source(cell, run))
    at = Row(mechanism=cell.mechanism, values=data.traces.event_count, sensitive=0, n=assessment.users)
    yield _attack(assessment, ATTACK, at)
    yield from _curve(assessment.det, at)


def _attack(assessment: Assessment, name: str, at: Row) -> Attack:
    paper = assessment.pse.paper
    return Attack(
        **asdict(at),
        attack=name,
        paper_bits=0.0 if paper is None else paper.bits,
        certified_bits=assessment.certified,
        cautious_bits=_cautious(assessment.pse.best, assessment.pse.certified, assessment.rank_pse),
        success=assessment.success.value,
        error=1 - assessment.success.value,
        eer=assessment.det.equal_error_rate,
    )


def _cautious(*bounds: Information) -> float:
    """Return the largest of lower bounds on the PIE at four standard errors below their estimates, in bits."""
    errors = [(bound, (bound.bits - bound.interval[0]) / z_quantile(bound.level)) for bound in bounds if bound.interval]
    return max((bound.bits - CHANCE * error for bound, error in errors), default=0.0)


def _curve(det: DET, at: Row) -> Iterator[DetPoint]:
    """Yield points of a DET curve, evenly along it."""
    inside = np.flatnonzero((det.far > 0) & (det.far < 1) & (det.frr > 0) & (det.frr < 1))
    places = inside[np.unique(np.linspace(0, len(inside) - 1, _CURVE_POINTS).astype(int))] if len(inside) else []
    for place, point in enumerate(places):
        far, frr = float(det.far[point]), float(det.frr[point])
        yield DetPoint(**asdict(at), place=place, far=far, frr=frr, equal=det.equal_error_rate)


def measure_matchers(cell: Cell, data: Biometrics, run: int) -> Iterator[Row]:
    """Measure biometric matchers with the figures of attacks on traces."""
    for name, assessment in biometric(data.scores, failed=FAILED, random=_source(cell, run)).items():
        paper, success = assessment.bse.paper, assessment.ranks.rates[0]
        at = Row(mechanism=name, values=0, sensitive=0, n=assessment.users)
        yield Attack(
            **asdict(at),
            attack="scores",
            paper_bits=0.0 if paper is None else paper.bits,
            certified_bits=assessment.bse.best.certified or 0.0,
            cautious_bits=_cautious(assessment.bse.best),
            success=success.value,
            error=1 - success.value,
            eer=assessment.det.equal_error_rate,
        )
        yield from _curve(assessment.det, at)


def measure_reports(cell: Cell, data: Any, run: int) -> Iterator[Row]:
    """Let each user report one place, and attack the reports: knowing the first halves, and knowing the places."""
    assert cell.epsilon is not None
    traces, halves = data.traces, by_half(data.traces)
    first = halves.target.first(1)
    mechanism = mechanism_over(cell.mechanism, traces.event_count, cell.epsilon, cell.drawn)
    at = Row(mechanism=cell.mechanism, values=traces.event_count, sensitive=0, n=traces.users)
    for knowledge, split in ((HALF, Split(halves.training, first)), (MAXIMUM, maximum_knowledge(first))):
        attack = _attack(assess(split, mechanism=mechanism, random=_source(cell, run)), knowledge, at)
        yield attack
        yield ErrorBound(**asdict(at), source=f"{BY_PSE}, {knowledge}", error=error_by(attack.paper_bits, attack.n))
    yield from bounds_of(mechanism, Prior.of(traces.users), cell.mechanism)


def _source(cell: Cell, run: int) -> SeededRandom:
    return SeededRandom(int(cell.generator(run).integers(1 << 62)))


# Drawing


def charts_of_attacks(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the information in a few events and in the scores of matchers, as in the paper and certified."""
    points = results.of(Attack)
    numbers = [p.drawn for p in points if p.drawn is not None]
    records = [
        record(interval(x, bits(p.mean), bits(p.error)), line=_name(p), column=column)
        for p in points
        for x in _abscissas(p, numbers)
        for column, bits in BITS.items()
    ]
    subtitle = "D(f_G || f_I) bounds nothing at finitely many users; the certified PSE is a lower bound on the PIE"
    axes = ("events that are known or attributed", "bits")
    drawn = {"events": curves("What events tell about the user", subtitle, axes, records)} if records else {}
    whole = [p for p in points if p.drawn is None]
    return (drawn | {"whole": bar_chart(_bars(whole))}) if any(p.population != MATCHERS for p in whole) else drawn


def _name(point: Point[Attack]) -> str:
    return point.mean.mechanism if point.population == MATCHERS else point.population


def _abscissas(point: Point[Attack], numbers: Sequence[int]) -> Sequence[int]:
    """Return the numbers of events at which a point is drawn: both ends for a matcher, none for whole traces."""
    if point.drawn is not None:
        return (point.drawn,)
    return (min(numbers), max(numbers)) if numbers and point.mean.mechanism in (FACE, FINGER) else ()


def _bars(points: Sequence[Point[Attack]]) -> Bars:
    names = [_name(p) for p in points]
    bars = [
        {"name": name, "kind": kind, "value": bits(point.mean)}
        for name, point in zip(names, points, strict=True)
        for kind, bits in BITS.items()
    ]
    subtitle = "whole traces, maximum knowledge, beside biometric matchers"
    return Bars("What whole traces tell about the user", subtitle, "bits", bars, names, list(BITS))


def tables_of_attacks(results: Results) -> list[ResultTable]:
    """Return the table of attacks, a row for each of the data that were attacked."""
    rows = [
        (
            p.population,
            p.mean.mechanism,
            "all" if p.drawn is None else str(p.drawn),
            f"{p.mean.n:,}",
            f"{p.mean.paper_bits:.2f}",
            f"{p.mean.certified_bits:.2f}",
            f"{log2(p.mean.n):.2f}",
            f"{p.mean.success:.3f}",
            f"{p.mean.eer:.4f}",
        )
        for p in results.of(Attack)
    ]
    heads = ("data", "attack", "events", "users", "D(f_G||f_I)", "certified", "log n", "named", "equal errors")
    return [ResultTable.of("Bits about the user, and how often she is named", heads, rows, left=3)]
