"""Bounds on the information about the user and on identification errors, by the paper and exactly."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from discreet.mechanisms import BlockMechanism
from discreet.risk.bounds import identification_bounds
from discreet.risk.bounds.capacity import BITS
from discreet.risk.bounds.fano import corollary_8
from discreet.risk.bounds.identification import information_bounds, paper_information
from discreet.risk.bounds.leakage import Prior, report_leakage
from papers.cells import Cell
from papers.data.traces import Sizes
from papers.pie.settings import mechanism_over
from papers.results import Row

ANY_LDP, PAPER_BOUND, EXACT = "Prop. 10", "Thm 11 or 13", "exact"
BY_PSE = "by the PSE"
_NAMES = {
    "Prop. 10 of [PIE]": ANY_LDP,
    "Thms 11 and 13 of [PIE], theta = s": PAPER_BOUND,
    "capacity of n values": EXACT,
    "any LDP mechanism": "any LDP, tight",
    "the entropy of the user": "log n",
}


@dataclass(frozen=True, kw_only=True)
class InformationBound(Row):
    """An upper bound on the information about the user.

    Attributes:
        source: of the bound.
        bits: it.
    """

    source: str
    bits: float


@dataclass(frozen=True, kw_only=True)
class ErrorBound(Row):
    """A lower bound on the identification error.

    Attributes:
        source: of the bound.
        error: it.
    """

    source: str
    error: float


def measure_bounds(cell: Cell, data: Sizes, _: int) -> Iterator[Row]:
    """Yield every bound on the information and on identification errors, by the paper and exactly."""
    assert cell.epsilon is not None
    mechanism, prior = mechanism_over(cell.mechanism, data.values, cell.epsilon, cell.drawn), Prior.of(data.users)
    yield from bounds_of(mechanism, prior, cell.mechanism)


def bounds_of(mechanism: BlockMechanism, prior: Prior, name: str) -> Iterator[Row]:
    """Yield every bound for a prior."""
    leakage = report_leakage(mechanism, prior, 1)
    at = asdict(Row(mechanism=name, values=mechanism.domain.size, sensitive=0, n=prior.users))
    papers = paper_information(leakage, prior, 1)
    for figure in (*papers, *information_bounds(leakage, prior, 1)):
        yield InformationBound(**at, source=_NAMES[figure.source], bits=figure.value)
    for figure in papers:
        yield ErrorBound(**at, source=_NAMES[figure.source], error=error_by(figure.value, prior.users))
    bounds = identification_bounds(mechanism, prior.users)
    yield ErrorBound(**at, source=EXACT, error=bounds.error)
    for figure in bounds.identifications:
        if figure.source == "Fano, tight":
            yield ErrorBound(**at, source="Fano, tight", error=1 - figure.value)


def error_by(bits: float, users: int) -> float:
    """Return the least identification error that so much information on the user allows by (10) and Cor. 8."""
    return corollary_8(bits / BITS, 1 / users)
