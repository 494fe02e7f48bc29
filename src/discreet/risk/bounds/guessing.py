"""Every bound on the probability that the right user is among k guesses, for any source and any adversary."""

from dataclasses import replace

from discreet.leakage.entropies import BITS
from discreet.leakage.fano import (
    distortion_rate,
    erased_success,
    ldp_success,
    leaked_success,
    of_order,
    tight_fano,
)
from discreet.risk.bounds.bound import Bound, least
from discreet.risk.bounds.capacity import ANY_DATA, NOT_ADAPTIVE, information_bounds
from discreet.risk.bounds.leakage import ReportLeakage
from discreet.risk.bounds.prior import Prior


def identification_bounds_of(leakage: ReportLeakage, prior: Prior, reports: int, listed: int) -> list[Bound]:
    """Return every bound on V_k after t reports."""
    guessed = prior.guessed(listed)
    when = ANY_DATA if reports > 1 else ""
    figures = []
    if reports == 1 and leakage.success is not None:
        one = leakage.success
        figures.append(_chance(one.value, "the best guess against the worst source", exact=one.exact))
    if leakage.local is not None:
        figures.append(_chance(ldp_success(reports * leakage.local, guessed), "any LDP mechanism", when))
    values = leakage.values
    doeblin = erased_success(leakage.informative, reports, guessed, values) if values > 1 else guessed
    figures.append(_chance(doeblin, "Doeblin: how often reports are noise", when))
    if prior.probabilities is not None or reports > 1 or leakage.success is None:
        leaked = leaked_success(leakage.leakage, reports, guessed)
        figures.append(_chance(leaked, "maximal leakage (Sibson's order infinity)", when))
    figures += _by_information(leakage, prior, reports, listed)
    # Reports never make guessing harder; rounding might.
    return [replace(one, value=max(one.value, guessed)) for one in figures]


def _by_information(leakage: ReportLeakage, prior: Prior, reports: int, listed: int) -> list[Bound]:
    guessed = prior.guessed(listed)
    pie = least(information_bounds(leakage, prior, reports))
    figures = [_chance(tight_fano(pie.value / BITS, guessed), "Fano, tight", pie.condition)]
    if prior.probabilities is not None and listed == 1:
        erokhin = distortion_rate(pie.value / BITS, prior.probabilities)
        figures.append(_chance(erokhin, "Erokhin's distortion-rate function", pie.condition))
    if leakage.orders:
        orders = [(of_order(reports * leaked, guessed, order), order) for order, leaked in leakage.orders]
        value, order = min(orders)
        condition = NOT_ADAPTIVE if reports > 1 else ""
        figures.append(_chance(value, f"Sibson's information of order {order:g}", condition))
    return figures


def _chance(value: float, source: str, condition: str = "", *, exact: bool = False) -> Bound:
    return Bound(min(value, 1.0), "probability", "identification", source, exact, condition)
