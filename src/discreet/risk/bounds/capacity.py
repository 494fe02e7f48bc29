"""Every bound on the PIE of one report or of t: I(user; reports), for any source and any adversary.

[PIE]: Murakami and Takahashi. What goes beyond it is derived in the modules of `discreet.leakage` named beside it.
"""

from math import log

from discreet.leakage.entropies import BITS, ldp_capacity
from discreet.leakage.fano import erased_information
from discreet.risk.bounds.bound import Bound
from discreet.risk.bounds.leakage import ReportLeakage
from discreet.risk.bounds.prior import Prior

FRESH = "noise is fresh in each report"
ANY_DATA = f"{FRESH}, even if values are correlated or depend on earlier reports"
DATA_DO_NOT_REACT = f"{FRESH} and values do not depend on earlier reports, even if they are correlated"
NOT_ADAPTIVE = f"{FRESH} and neither values nor mechanisms depend on earlier reports, even if values are correlated"
OF_SEVERAL = (ANY_DATA, DATA_DO_NOT_REACT, NOT_ADAPTIVE)
"""The conditions of figures for several reports, each stronger than the one before."""

_PIE = "PIE"
_WORST_PRIOR = "attained by the worst prior over users"


def paper_information(leakage: ReportLeakage, prior: Prior, reports: int) -> list[Bound]:
    """Return alpha by the paper's theorems, in bits: Prop. 10, and Thms 11 and 13 with t reports as in 12 and 14.

    Capped by log n, which the paper leaves out for t reports. Thms 11 and 13 are about randomized response and hashing;
    their proof holds for every mechanism of truth or noise, with theta = s.
    """
    both, cap = min(log(prior.users), log(leakage.values)), log(prior.users)
    when = NOT_ADAPTIVE if reports > 1 else ""
    figures = []
    if leakage.local is not None:
        alpha = min(leakage.local, leakage.local**2, both)
        figures.append(_bits(min(reports * alpha, cap), "alpha", "Prop. 10 of [PIE]", when))
    if leakage.theta is not None:
        source = "Thms 11 and 13 of [PIE], theta = s" if reports == 1 else "Thms 12 and 14 of [PIE], theta = s"
        figures.append(_bits(min(reports * leakage.theta * both, cap), "alpha", source, when))
    return figures


def information_bounds(leakage: ReportLeakage, prior: Prior, reports: int) -> list[Bound]:
    """Return every bound on the information that t reports give on the user, in bits."""
    entropy = prior.entropy
    figures = [_bits(entropy, _PIE, "the entropy of the user")]
    if reports == 1:
        # The supremum is over priors as well, unless one is given.
        exact = leakage.information.exact and prior.probabilities is None
        when = _WORST_PRIOR if exact else ""
        figures.append(_bits(leakage.information.value, _PIE, "capacity of n values", when, exact=exact))
    else:
        figures += _of_several(leakage, prior, reports)
    if leakage.local is not None:
        # No more than 63 reports of two values are needed to tell all users apart.
        used = min(prior.users, leakage.values ** min(reports, 63))
        figures.append(_bits(ldp_capacity(reports * leakage.local, used), _PIE, "any LDP mechanism", ANY_DATA))
    return figures


def _of_several(leakage: ReportLeakage, prior: Prior, reports: int) -> list[Bound]:
    eta, entropy = leakage.eta_kl.value, prior.entropy
    together = erased_information(eta, reports, prior.users, leakage.values) if leakage.values > 1 else 0.0
    return [
        _bits(reports * leakage.information.value, _PIE, "t times the capacity of n values", NOT_ADAPTIVE),
        _bits(together, _PIE, "erasures with 1 - eta_KL", DATA_DO_NOT_REACT),
        _bits(reports * eta * entropy, _PIE, "t eta_KL times the entropy of the user", ANY_DATA),
    ]


def _bits(nats: float, what: str, source: str, condition: str = "", *, exact: bool = False) -> Bound:
    return Bound(max(nats, 0.0) * BITS, "bits", what, source, exact, condition)
