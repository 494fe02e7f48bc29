"""Bounds on the identification risk of a mechanism for any adversary, together with its attribute risk.

The two risks do not bound each other, and neither should be traded silently: the *attribute* risk of the value
(epsilon), and the *identification* risk of the user. Identification risk is given as the PIE in bits, I(user; reports),
and as the probability that the right user is among k guesses. The bounds hold for every source, which is a joint
distribution of users and values, and for every adversary with any prior knowledge of the users. A bound is a number
with its unit, source and condition.

[PIE]: Murakami and Takahashi. Bounds beyond the paper are derived in the modules that their sources name.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Any, Literal, TypeAlias

from discreet.core.checks import checked_whole
from discreet.core.guarantee import Guarantee, odds_sentence
from discreet.core.result_table import ResultTable
from discreet.mechanisms.personalized import AnyMechanism, common_of
from discreet.risk.bounds.capacity import BITS, ldp_capacity
from discreet.risk.bounds.fano import (
    corollary_8,
    distortion_rate,
    erased_information,
    erased_success,
    ldp_success,
    leaked_success,
    of_order,
    tight_fano,
)
from discreet.risk.bounds.leakage import Prior, ReportLeakage, report_leakage

Unit: TypeAlias = Literal["bits", "probability", "share"]
"""Units: of information; of the success of guesses; of shares such as total variation."""

ERROR = "error at least"
"""The name of the only lower bound."""

NO_LIMIT = "no limit"
"""The text for a bound without effect."""

_SAME = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound, perhaps attained: a number with its unit, source and condition.

    Attributes:
        value: the number.
        unit: its unit.
        what: its name.
        source: a description of its derivation.
        exact: whether some source attains it.
        condition: a condition beyond the conditions on users and mechanism; empty if there is no other.

    Example:
        >>> print(Bound(2.5, "bits", "PIE", "capacity of n values", exact=True))
        PIE: 2.5 bits (exactly, capacity of n values)
    """

    value: float
    unit: Unit
    what: str
    source: str
    exact: bool = False
    condition: str = ""

    def __str__(self) -> str:
        unit = " bits" if self.unit == "bits" else ""
        how = "exactly" if self.exact else "bound"
        when = f"; {self.condition}" if self.condition else ""
        value = f"{self.value:.4g}" if self.unit == "bits" or self.what == ERROR else limit(self.value)
        return f"{self.what}: {value}{unit} ({how}, {self.source}{when})"


def limit(value: float, ceiling: float = 1.0) -> str:
    """Return a bound as text; "no limit" if it does not improve on the given ceiling, such as a probability of 1.

    Example:
        >>> limit(0.25), limit(0.99999), limit(12.5592, ceiling=12.5596)
        ('0.25', 'no limit', 'no limit')
    """
    shown = f"{value:.4g}"
    return shown if float(shown) < float(f"{ceiling:.4g}") else NO_LIMIT


def at_most(value: float, ceiling: float = 1.0, *, otherwise: str = NO_LIMIT) -> str:
    """Return a bound with "at most", or another text if it is no limit.

    Example:
        >>> at_most(0.25), at_most(1.0)
        ('at most 0.25', 'no limit')
    """
    shown = limit(value, ceiling)
    return otherwise if shown == NO_LIMIT else f"at most {shown}"


def least(bounds: Iterable[Bound]) -> Bound:
    """Return the smallest bound; of bounds equal up to rounding an exact one, then the first one.

    Example:
        >>> bounds = [Bound(2.5, "bits", "PIE", "one bound"), Bound(1.5, "bits", "PIE", "another bound")]
        >>> least(bounds).source
        'another bound'
    """
    candidates = list(bounds)
    most = min(bound.value for bound in candidates) * _SAME
    return min((bound for bound in candidates if bound.value <= most), key=lambda bound: not bound.exact)


FRESH = "noise is fresh in each report"
ANY_DATA = f"{FRESH}, even if values are correlated or depend on earlier reports"
DATA_DO_NOT_REACT = f"{FRESH} and values do not depend on earlier reports, even if they are correlated"
NOT_ADAPTIVE = f"{FRESH} and neither values nor mechanisms depend on earlier reports, even if values are correlated"
OF_SEVERAL = (ANY_DATA, DATA_DO_NOT_REACT, NOT_ADAPTIVE)
"""The conditions on results for several reports, each stronger than the one before."""

_PIE = "PIE"
_WORST_PRIOR = "attained by the worst prior over users"


def paper_information(leakage: ReportLeakage, prior: Prior, reports: int) -> list[Bound]:
    """Return alpha from the paper's theorems, in bits: Prop. 10, and Thms 11 and 13 with t reports as in 12 and 14.

    It is capped by log n, which the paper omits for t reports. Thms 11 and 13 are for randomized response and hashing.
    Their proof holds for every mechanism of truth or noise, with theta = s.
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
    """Return all bounds on the information of t reports about the user, in bits."""
    entropy = prior.entropy
    figures = [_bits(entropy, _PIE, "the entropy of the user")]
    if reports == 1:
        # The supremum is also over priors, unless one is given.
        exact = leakage.information.exact and prior.probabilities is None
        when = _WORST_PRIOR if exact else ""
        figures.append(_bits(leakage.information.value, _PIE, "capacity of n values", when, exact=exact))
    else:
        figures += _of_several(leakage, prior, reports)
    if leakage.local is not None:
        # At most 63 reports of two values are needed to distinguish all users.
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


def identification_bounds_of(leakage: ReportLeakage, prior: Prior, reports: int, listed: int) -> list[Bound]:
    """Return all bounds on V_k after t reports."""
    guessed = prior.guessed(listed)
    when = ANY_DATA if reports > 1 else ""
    figures = []
    if reports == 1 and leakage.success is not None:
        success = leakage.success
        figures.append(_chance(success.value, "the best guess against the worst source", exact=success.exact))
    if leakage.local is not None:
        figures.append(_chance(ldp_success(reports * leakage.local, guessed), "any LDP mechanism", when))
    values = leakage.values
    doeblin = erased_success(leakage.informative, reports, guessed, values) if values > 1 else guessed
    figures.append(_chance(doeblin, "Doeblin: how often reports are noise", when))
    if prior.probabilities is not None or reports > 1 or leakage.success is None:
        leaked = leaked_success(leakage.leakage, reports, guessed)
        figures.append(_chance(leaked, "maximal leakage (Sibson's order infinity)", when))
    figures += _by_information(leakage, prior, reports, listed)
    # Reports never make guesses harder, but rounding might.
    return [replace(figure, value=max(figure.value, guessed)) for figure in figures]


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


# Above this e^epsilon, a likelihood ratio is no limit.
_USELESS = 50.0
_EVEN = 1e-9

IN_A_BATCH = "one report of each user in the batch, no names, no order"
"""The condition of the bound on attribution."""


@dataclass(frozen=True, slots=True, repr=False)
class Bounds:
    """Bounds on both risks of one mechanism.

    Attributes:
        name: the mechanism's name in plans.
        guarantee: the attribute risk of one report.
        users: n, the number of users.
        reports: t, the number of reports per user.
        largest_list: k, the number of the adversary's guesses.
        entropy: H(U), the entropy of the user, in bits.
        guessed: P_k, the probability of a right guess without any report.
        pie: alpha, the smallest bound on the information about the user, in bits.
        pies: all bounds on this information.
        paper_pie: alpha from the paper's theorems, the smallest of them; None if no theorem applies.
        identification: V_k, the smallest bound on the probability of a right guess.
        identifications: all bounds on this probability.
        paper_error: beta from the paper's Cor. 8 and ``paper_pie``; None if it does not apply, or for lists.
        eta_tv: the largest total variation between reports of two values, in 0..1.
        eta_kl: the largest share of the information about a user that a report lets through, in 0..1.
        ideal: figures for an idealised mechanism; empty if there is no idealisation.
        in_clear: the probability that a value that is not sensitive is reported in clear; 0 if every value is
            sensitive.

    Example:
        >>> import discreet as dc
        >>> bounds = identification_bounds(dc.RandomizedResponse(dc.Domain(range(1000)), 4.0), users=5000)
        >>> round(bounds.pie.value, 3), round(bounds.identification.value, 4), bounds.identification.exact
        (0.224, 0.0104, True)
    """

    name: str
    guarantee: Guarantee
    users: int
    reports: int
    largest_list: int
    entropy: float
    guessed: float
    pie: Bound
    pies: tuple[Bound, ...]
    paper_pie: Bound | None
    identification: Bound
    identifications: tuple[Bound, ...]
    paper_error: Bound | None
    eta_tv: Bound
    eta_kl: Bound
    ideal: tuple[Bound, ...]
    in_clear: float

    @property
    def error(self) -> float:
        """The identification error beta = 1 - V_k, a lower bound for every adversary."""
        return 1 - self.identification.value

    @property
    def epsilon(self) -> float:
        """The attribute risk of one report: the realised epsilon in nats; infinite without protection."""
        return self.guarantee.realised

    @property
    def total_epsilon(self) -> float:
        """The attribute risk of all reports of a user together, in nats."""
        return self.reports * self.guarantee.realised

    @property
    def attribute_sentence(self) -> str:
        """The attribute risk as a sentence."""
        if self.total_epsilon == inf:
            return "Attribute risk: no limit, because a report may reveal the value with certainty."
        several = f", {self.total_epsilon:.4g} for {self.reports} reports together" if self.reports > 1 else ""
        whose = "every value" if self.guarantee.notion == "LDP" else "sensitive values only"
        odds = odds_sentence(self.total_epsilon)
        stated = f"Attribute risk: epsilon = {self.epsilon:.4g} nats per report{several}, for {whose}."
        return f"{stated} {odds}" if odds else stated

    @property
    def condition_sentence(self) -> str:
        """The conditions on the figures for several reports, as a sentence; empty if there are no conditions."""
        return conditions([self])

    @property
    def identification_sentence(self) -> str:
        """The identification risk as a sentence."""
        guesses = "one guess" if self.largest_list == 1 else f"{self.largest_list:,} guesses"
        reports = "a report" if self.reports == 1 else f"{self.reports} reports"
        bits = at_most(self.pie.value, self.entropy, otherwise="perhaps all")
        chance = at_most(self.identification.value)
        return (
            f"Identification risk: from {reports} of one of {self.users:,} users, an adversary identifies this user in "
            f"{guesses} {'perhaps always' if chance == NO_LIMIT else f'with probability {chance}'} "
            f"({self.guessed:.4g} for a blind guess), and learns {bits} of {self.entropy:.4g} bits."
        )

    @property
    def per_user_sentence(self) -> str:
        """The bound for each single user, not on average, as a sentence."""
        if self.in_clear or self.guarantee.notion != "LDP":
            chance = 1 - (1 - min(self.in_clear, 1.0)) ** self.reports
            return (
                "No limit for a single user: a value that is not sensitive is reported in clear with probability "
                f"{chance:.4g}. If only one user has this value, the report identifies the user with certainty."
            )
        apart = min(self.reports * self.eta_tv.value, 1.0)
        limits = [f"TPR <= {exp(self.total_epsilon):.4g} FPR"] if self.total_epsilon < _USELESS else []
        limits += [] if limit(apart) == NO_LIMIT else [f"TPR - FPR <= {apart:.4g}"]
        if not limits:
            return "No limit for a single user: a test may always recognise this user, without a false positive."
        return (
            "For every single user: a test that recognises the user's reports with true positive rate TPR has a false "
            f"positive rate FPR with {' and '.join(limits)}."
        )

    @property
    def attribution(self) -> Bound | None:
        """The bound on identifying a report's sender, given a complete sealed batch and everybody's values.

        A swap of two people's reports changes the likelihood of a batch by at most E^2, E = e^epsilon. So no user is
        the sender with probability above E^2/(E^2 + n - 1); for a single report the bound is E/(E + n - 1). None if a
        value may be reported in clear, for several reports or guesses, and if some users are likelier than others.
        """
        single = self.reports == self.largest_list == 1 and abs(self.guessed * self.users - 1) < _EVEN
        if not single or self.in_clear or self.guarantee.notion != "LDP" or self.epsilon == inf:
            return None
        value = 1 / (1 + (self.users - 1) * exp(-2 * self.epsilon))
        return Bound(value, "probability", "attribution in a sealed batch", "swapped reports", condition=IN_A_BATCH)

    @property
    def attribution_sentence(self) -> str:
        """The bound on attribution within a sealed batch, as a sentence; empty if there is no bound."""
        if self.attribution is None or limit(self.attribution.value) == NO_LIMIT:
            return ""
        return (
            f"In a sealed batch with one report of each of {self.users:,} users, an adversary who knows everybody's "
            f"value identifies a report's sender with probability at most {self.attribution.value:.4g}. Shuffling "
            "changes no figure above, because all figures are for a report without a name."
        )

    def __repr__(self) -> str:
        risks = f"identification <= {self.identification.value:.4g}, PIE <= {self.pie.value:.4g} bits"
        return f"Bounds({self.name}, {self.users:,} users, t={self.reports}, epsilon={self.total_epsilon:.4g}, {risks})"

    def _repr_html_(self) -> str:
        facts = {
            "attribute risk, epsilon of all reports": f"{self.total_epsilon:.4g} nats",
            f"identification, {self.largest_list} guesses": at_most(self.identification.value),
            "without any report": f"{self.guessed:.4g}",
            "information on the user (PIE)": f"{at_most(self.pie.value, self.entropy)} of {self.entropy:.4g} bits",
            "total variation between two values": at_most(self.eta_tv.value),
            "share of information let through": at_most(self.eta_kl.value),
        }
        title = f"{self.name}, {self.users:,} users, {self.reports} reports each"
        sentences = (
            self.attribute_sentence,
            self.identification_sentence,
            self.per_user_sentence,
            self.condition_sentence,
        )
        return ResultTable.of_figures(title, facts, " ".join(filter(None, sentences))).html()

    def __str__(self) -> str:
        share = at_most(self.eta_kl.value, otherwise="perhaps all")
        lines = [
            f"{self.name}, {self.users:,} users, {self.reports} report{'' if self.reports == 1 else 's'} each",
            self.attribute_sentence,
            self.identification_sentence,
            f"  {self.pie}",
            f"  {self.identification}",
            *(f"  {figure}" for figure in (self.paper_pie, self.paper_error) if figure is not None),
            *(f"  {figure}" for figure in self.ideal),
            f"A report lets through {share} of the information on a user (eta_KL).",
            self.per_user_sentence,
            *filter(None, [self.attribution_sentence]),
            "The two risks are different things: a small one does not make the other small.",
        ]
        return "\n".join(lines)


def conditions(bounds: Iterable[Bounds]) -> str:
    """Return the conditions on the main figures for several reports of a user, as a sentence; empty for single reports.

    For several mechanisms it is the strongest condition, which suffices for all of them.

    Example:
        >>> import discreet as dc
        >>> bounds = identification_bounds(dc.RandomizedResponse(dc.Domain(range(1000)), 4.0), users=5000, reports=3)
        >>> conditions([bounds]).split(",")[0]
        'The bound on identification for 3 reports of a user holds if noise is fresh in each report'
    """
    several = [bound for bound in bounds if bound.reports > 1]
    numbers = {bound.reports for bound in several}
    reports = f"{numbers.pop()} reports" if len(numbers) == 1 else "several reports"
    chance, pie = _strongest(bound.identification for bound in several), _strongest(bound.pie for bound in several)
    if chance == pie:
        return f"The bounds on identification and PIE for {reports} of a user hold if {pie}." if pie else ""
    named = [(name, when) for name, when in (("identification", chance), ("PIE", pie)) if when]
    return " ".join(f"The bound on {name} for {reports} of a user holds if {when}." for name, when in named)


def _strongest(figures: Iterable[Bound]) -> str:
    # The entropy of the user is a bound without a condition.
    return max((figure.condition for figure in figures), key=("", *OF_SEVERAL).index, default="")


def identification_bounds(
    mechanism: AnyMechanism, users: int, *, reports: int = 1, prior: Any = None, largest_list: int = 1
) -> Bounds:
    """Return bounds on a mechanism's two risks, for any source and any adversary.

    A figure for one report that is marked as exact is attained by some source. For t reports the noise must be fresh
    each time; each figure states its further conditions.

    Args:
        mechanism: a block mechanism, a matrix, or a personalized mechanism.
        users: n, the number of users.
        reports: t, the number of reports of one user that the adversary can link.
        prior: ``(n,)`` prior probability of each user, in any order; None if all are equally likely.
        largest_list: k, the number of users that the adversary may name.

    Raises:
        ParameterError: if a number is not an integer of at least 1, or the prior is not n probabilities.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(1000)), epsilon=4.0)
        >>> [round(identification_bounds(mechanism, 5000, reports=t).identification.value, 4) for t in (1, 3)]
        [0.0104, 0.0352]
    """
    named = common_of(mechanism)
    population = Prior.of(users, prior)
    reports, listed = checked_whole("reports", reports), checked_whole("largest_list", largest_list)
    leakage = report_leakage(mechanism, population, listed)
    pies = tuple(information_bounds(leakage, population, reports))
    chances = tuple(identification_bounds_of(leakage, population, reports, listed))
    papers = paper_information(leakage, population, reports)
    paper = least(papers) if papers else None
    return Bounds(
        name=named.name,
        guarantee=leakage.guarantee,
        users=population.users,
        reports=reports,
        largest_list=listed,
        entropy=population.entropy * BITS,
        guessed=population.guessed(listed),
        pie=least(pies),
        pies=pies,
        paper_pie=paper,
        identification=least(chances),
        identifications=chances,
        paper_error=_paper_error(paper, population) if listed == 1 else None,
        eta_tv=Bound(leakage.eta_tv.value, "share", "eta_TV", "total variation", leakage.eta_tv.exact),
        eta_kl=Bound(leakage.eta_kl.value, "share", "eta_KL", "Ordentlich and Polyanskiy", leakage.eta_kl.exact),
        ideal=tuple(_ideal(leakage)) if reports == 1 else (),
        in_clear=leakage.in_clear,
    )


def _paper_error(paper: Bound | None, prior: Prior) -> Bound | None:
    if paper is None:
        return None
    error = corollary_8(paper.value / BITS, prior.likeliest)
    return Bound(error, "probability", ERROR, "Cor. 8 of [PIE]", condition=paper.condition)


def _ideal(leakage: ReportLeakage) -> list[Bound]:
    if leakage.ideal is None:
        return []
    information, probability, how = leakage.ideal
    figures = [Bound(information * BITS, "bits", "PIE", "capacity of n values", True, f"for {how}")]
    if probability is not None:
        source = "the best guess against the worst source"
        figures.append(Bound(probability, "probability", "identification", source, True, f"for {how}"))
    return figures
