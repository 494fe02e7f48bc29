"""Estimates of the distribution of values from reports of a personalized mechanism [ULDP, (22) and Theorem 1].

The common mechanism gives r_hat, the distribution of values and placeholders. Reports say nothing about pi_k, the
distribution of the values behind placeholder k. The estimate pi_hat_k is background knowledge, or is taken from values
in clear. Then

    p_hat(x) = r_hat(x) + sum_k r_hat(⊥_k) pi_hat_k(x),

and for every pi_hat_k the error due to pi_hat_k is at most 2 sum_k |r_hat(⊥_k)| in l1.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from discreet.arrays import FloatArray, Floats, IntArray
from discreet.core.columns import of_parameter
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.estimators import MethodName, estimate
from discreet.mechanisms.evidence import Data
from discreet.mechanisms.personalized import Personalized
from discreet.mechanisms.row_checks import ArrowTable
from discreet.results.estimate import Estimate
from discreet.results.uncertainty import ValueUncertainty
from discreet.theory.binomial import CountLaw, Ends

IN_CLEAR, DROP = "in-clear", "drop"

Background: TypeAlias = "Mapping[str, Any] | str | None"
"""By tag, or once for all tags: "in-clear", "drop", or a distribution; see `estimate_personalized`."""


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """The assumed distribution pi_hat_k of the values behind a placeholder: the values with a positive probability.

    Attributes:
        codes: ``(m,)`` values.
        weights: ``(m,)`` their probabilities, given the placeholder.
        base: the sum of r_hat of these values, clipped at 0, if the weights are proportional to r_hat; else infinite.
    """

    codes: IntArray
    weights: FloatArray
    base: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TagEstimate:
    """An estimate from reports of a personalized mechanism, which have placeholders.

    Attributes:
        estimate: p_hat, over the values. Its standard errors assume that pi_hat is right, and that the errors of r_hat
            are independent. Placeholders and values in clear have negatively correlated errors, so the standard errors
            are too large.
        intermediate: r_hat, over the values and the placeholders.
        tags: one name per placeholder.
        shares: pi_hat of every placeholder.
    """

    estimate: Estimate
    intermediate: Estimate
    tags: tuple[str, ...]
    shares: tuple[Share, ...]

    def __repr__(self) -> str:
        return f"TagEstimate({self.estimate!r}, {len(self.tags)} placeholders, worst_case={self.worst_case:.3g})"

    @property
    def placeholders(self) -> dict[str, float]:
        """r_hat of every placeholder, by tag: the share of values that the placeholder replaced."""
        masses = self.intermediate.frequencies[self.estimate.domain.size :]
        return dict(zip(self.tags, masses.tolist(), strict=True))

    @property
    def worst_case(self) -> float:
        """2 sum_k |r_hat(⊥_k)|: an upper bound on the l1 error from wrong background knowledge (Theorem 1)."""
        return 2 * float(sum(abs(mass) for mass in self.placeholders.values()))


def estimate_personalized(
    personalized: Personalized,
    data: Data | ArrowTable,
    *,
    method: MethodName = "linear",
    background: Background = None,
    **options: Any,
) -> TagEstimate:
    """Estimate the distribution of the true values from reports of a personalized mechanism [ULDP, (22)].

    Args:
        personalized: the mechanism of the reports.
        data: reports of any number of users, a tally of them, or the result of `LocalEngine.evidence`.
        method: the method of r_hat; see `discreet.estimators.estimate`.
        background: the distributions of the values behind placeholders, by tag, or one word for all tags. A tag that is
            missing has "in-clear".

            - a distribution over the domain: ``(|X|,)`` probabilities, or a mapping from values to probabilities;
            - ``"in-clear"`` or None: proportional to r_hat over the values that may be behind the placeholder: X_N, or
              if placeholders stand for cells, the values of X_N in the cell;
            - ``"drop"``: proportional to r_hat over all values: the placeholder is dropped, and the other frequencies
              are normalised.
        options: options of the method, by name.

    Warns:
        UserWarning: if a background has mass on values that are sensitive for everybody; these never become
            placeholders.

    Raises:
        ParameterError: if a tag is not in the plan, or a background is no distribution over the domain; or as for
            `discreet.estimators.estimate`.
        DataError: if there is no report.
        MismatchError: if reports and mechanism belong to different plans.

    Example:
        >>> import discreet as dc
        >>> places = dc.Domain(["clinic", "park", "mall"], sensitive=["clinic"])
        >>> mechanism = dc.Personalized(places, epsilon=2.0, tags=["home"])
        >>> secret = dc.SecretTags(mechanism, {"home": ["park"]})
        >>> reports = mechanism.obfuscate(["park"] * 5000, secret, random=dc.SeededRandom(1))
        >>> result = estimate_personalized(mechanism, reports, background={"home": {"park": 0.6, "mall": 0.4}})
        >>> result.estimate.frequencies.round(1).tolist(), round(result.placeholders["home"], 1)
        ([0.0, 0.6, 0.4], 1.0)
    """
    known = _by_tag(Personalized.checked(personalized), background)
    if options.get("limits") == "always":
        raise ParameterError("limits.personalized", argument="limits")
    r = estimate(personalized.common, data, method=method, **options)
    shares = tuple(_share(personalized, r.frequencies, place, conditional) for place, conditional in enumerate(known))
    return TagEstimate(_shared(personalized.domain, r, shares), r, personalized.tags, shares)


def _by_tag(personalized: Personalized, background: Background) -> list[Any]:
    """Return the checked background of each placeholder: a word or a distribution."""
    if background is None or isinstance(background, str):
        return [_known(personalized.domain, "every tag", background)] * len(personalized.tags)
    if not isinstance(background, Mapping):
        raise ParameterError("background.not-by-tag", argument="background", kind=type(background).__name__)
    unknown = [tag for tag in background if tag not in personalized.tags]
    if unknown:
        raise ParameterError(
            "background.tag-not-in-plan", argument="background", names=", ".join(personalized.tags), unknown=unknown
        )
    return [_known(personalized.domain, tag, background.get(tag)) for tag in personalized.tags]


def _known(domain: Domain, tag: str, background: Any) -> Any:
    if background is None:
        return IN_CLEAR
    if isinstance(background, str):
        if background not in (IN_CLEAR, DROP):
            raise ParameterError(
                "background.wrong-value",
                argument="background",
                tag=tag,
                in_clear=IN_CLEAR,
                drop=DROP,
                background=background,
            )
        return background
    known = _distribution(domain, tag, background)
    misplaced = float(known[domain.sensitive].sum())
    if misplaced > 0:
        # A warning shows this line of code.
        warnings.warn(
            f"the background of {tag!r} has a share of {misplaced:.3g} on values that are sensitive for everybody. "
            "These never become placeholders. Give the distribution over the other values.",
            stacklevel=1,
        )
    return known


def _distribution(domain: Domain, tag: str, background: Any) -> FloatArray:
    with of_parameter(f"background of tag {tag!r}"):
        return domain.check_distribution(background)


def _share(personalized: Personalized, r: FloatArray, place: int, known: Any) -> Share:
    """Return pi_hat_k, the assumed distribution of the values behind one placeholder."""
    if not isinstance(known, str):
        codes = np.flatnonzero(known)
        return Share(codes, known[codes], float("inf"))
    codes = np.arange(personalized.domain.size) if known == DROP else personalized.hidden_values[place]
    likely = np.maximum(r[codes], 0)
    base = float(likely.sum())
    if base == 0:
        return Share(codes, np.full(len(codes), 1 / len(codes)), float("inf"))
    return Share(codes, likely / base, base)


def _shared(domain: Domain, r: Estimate, shares: tuple[Share, ...]) -> Estimate:
    """Return p_hat with standard errors, from r_hat and the distributions of values behind placeholders."""
    frequencies, factors = r.frequencies[: domain.size].copy(), np.ones(domain.size)
    for mass, share in zip(r.frequencies[domain.size :], shares, strict=True):
        frequencies[share.codes] += mass * share.weights
        factors[share.codes] += mass / share.base
    law = SharedCounts(r, shares, factors)
    numbers = r.n, f"{r.method}, placeholders shared", r.fingerprint, r.gap, r.passes, r.simulated
    limits = ValueUncertainty.of(law, law.summed(r.centre))
    return Estimate(domain, frequencies, lambda: law.combined(r.standard_errors), *numbers, limits)


@dataclass(frozen=True, eq=False)
class SharedCounts(CountLaw):
    """The sampling distribution of p_hat, whose limits combine the limits of r_hat [Zou and Donner 2008].

    Squared distances of limits from estimates are added, as variances of independent estimates are. The estimates here
    are negatively correlated, so the limits are conservative. pi_hat is assumed to be right.

    Attributes:
        common: r_hat, over the values and the placeholders.
        shares: pi_hat of every placeholder.
        factors: ``(|X|,)`` the derivatives of p_hat by r_hat of the same value.
    """

    common: Estimate
    shares: tuple[Share, ...]
    factors: FloatArray

    no_sums: ClassVar[str] = (
        "sums over values that a placeholder may stand for have no known error, because the shares of these values "
        "are estimated. Use `intermediate` of the result, whose sums are over values and placeholders."
    )

    @property
    def remark(self) -> str:  # type: ignore[override]
        """A sentence on limits of r_hat that do not come from its method; otherwise empty."""
        return self.common.remark

    def summed(self, centre: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` estimates of p_hat, from ``(|X| + placeholders,)`` estimates of r_hat."""
        size = len(self.factors)
        sums = centre[:size].copy()
        for mass, share in zip(centre[size:], self.shares, strict=True):
            sums[share.codes] += mass * share.weights
        return sums

    def limits(self, alpha: float) -> Ends:
        """Return the confidence limits of p_hat, not clipped; see `CountLaw.limits`."""
        low, high = self.common.limits(1 - alpha)
        around = self.common.centre
        centre = self.summed(around)
        return centre - self.combined(around - low), centre + self.combined(high - around)

    def variances(self, p: Floats) -> FloatArray:
        """Return the variances of the estimates of p_hat if all values and placeholders have the frequency p."""
        known = self.common.uncertainty
        assert isinstance(known, ValueUncertainty)
        return self.combined(np.sqrt(known.variances(float(np.max(p))))) ** 2

    def combined(self, deviations: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` deviations of p_hat, from ``(|X| + placeholders,)`` deviations of r_hat."""
        size = len(self.factors)
        squares = np.zeros(size)
        for deviation, share in zip(deviations[size:], self.shares, strict=True):
            squares[share.codes] += (deviation * share.weights) ** 2
        squares += (self.factors * deviations[:size]) ** 2
        return np.sqrt(squares)
