"""Comparisons of two estimates of different people, and of an estimate with given shares."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import chdtrc, ndtr

from discreet.arrays import BoolArray, FloatArray
from discreet.core.checks import checked_level
from discreet.errors import MismatchError, ParameterError
from discreet.estimators.simplex import projection
from discreet.estimators.strata import Strata, Stratum
from discreet.results.comparison import ChiSquare, Comparison
from discreet.results.estimate import Estimate
from discreet.results.groups import GroupedEstimate
from discreet.theory.binomial import DEFAULT_LEVEL, Ends, miss_probability
from discreet.theory.limits import Estimated, difference_limits

# Most values for which the joint test computes the full covariance matrix.
_MOST_VALUES = 2000
_PAIR = 2
# Values in clear with fewer expected reports than this are combined into one.
_LEAST_EXPECTED = 5
# Standard scores at which intervals are computed for p-values.
_SCORES = np.concatenate([np.linspace(0.02, 4, 18), np.linspace(4.5, 8, 6)])


def compare(
    first: Estimate,
    second: Any,
    *,
    level: float = DEFAULT_LEVEL,
    simultaneous: bool = False,
    titles: tuple[str, str] | None = None,
) -> Comparison:
    """Compare two estimates of different people, or an estimate with given shares.

    Args:
        first: an estimate.
        second: another estimate over the same domain, of other people: another group, or another time. Or given shares:
            ``(|X|,)`` numbers, or a mapping from values; the test is then a test of fit.
        level: confidence of the intervals of the differences.
        simultaneous: whether all intervals hold at once.
        titles: names of both, for tables and pictures.

    Returns:
        The differences, first minus second, with intervals and tests.

    Raises:
        MismatchError: if the domains differ.
        ParameterError: if the shares are no distribution over the domain.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=2.0)
        >>> reports = mechanism.obfuscate(["yes"] * 700 + ["no"] * 300, random=dc.SeededRandom(1))
        >>> comparison = dc.compare(dc.estimate(mechanism, reports), {"yes": 0.5, "no": 0.5})
        >>> [one.value for one in comparison.significant()], comparison.overall.p_value < 0.001
        (['yes', 'no'], True)
    """
    if not isinstance(first, Estimate):
        raise ParameterError("comparison.not-estimate", argument="first", kind=type(first).__name__)
    checked_level(level)
    sides: tuple[Estimate | _GivenShares, ...]
    if isinstance(second, Estimate):
        if first.domain.fingerprint != second.domain.fingerprint:
            same = first.domain.size == second.domain.size and first.domain.names() == second.domain.names()
            what = "which values are sensitive" if same else "their values"
            raise MismatchError("comparison.different-domains", what=what)
        _check_different_people(first, second)
        sides, overall, name = (first, second), homogeneity_test([first.people, second.people]), "second"
    else:
        shares = first.domain.check_distribution(second)
        sides, overall, name = (first, _GivenShares(shares)), homogeneity_test([first.people], shares), "given shares"
    if any(isinstance(side, Estimate) and side.uncertainty.always for side in sides):
        raise ParameterError("comparison.always")
    alpha = miss_probability(level, first.domain.size, simultaneous=simultaneous)
    low, high = (np.clip(end, -1, 1) for end in _difference(sides, 1 - alpha))
    return Comparison(
        first.domain,
        first.frequencies,
        sides[1].frequencies,
        low,
        high,
        level,
        _p_values(sides),
        overall,
        (first.n, sides[1].n),
        titles or ("first", name),
        simultaneous,
        any(side.simulated for side in sides),
        tuple(side.method for side in sides if side.n),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _GivenShares:
    """Given shares without error, as one side of a comparison."""

    frequencies: FloatArray
    n: int = 0
    simulated: bool = False
    method: str = ""

    @property
    def centre(self) -> FloatArray:
        return self.frequencies

    def limits(self, level: float) -> Ends:
        del level
        return self.frequencies, self.frequencies


def _difference(sides: Sequence[Estimate | _GivenShares], level: float) -> Ends:
    """Return the confidence limits of differences of shares, from the limits of both distributions."""
    # From the nearly unbiased centres: limits around a biased frequency would not cover the true difference.
    first, second = (Estimated(side.centre, *side.limits(level)) for side in sides)
    return difference_limits(first, second, np.zeros(1))


def _p_values(sides: Sequence[Estimate | _GivenShares]) -> FloatArray:
    """Return ``(|X|,)`` p-values: 1 minus the level of the widest interval that excludes 0."""
    difference = sides[0].centre - sides[1].centre
    # The distance of each interval from 0 at each score; it decreases as intervals grow.
    left = []
    for score in _SCORES:
        low, high = _difference(sides, 1 - 2 * float(ndtr(-score)))
        left.append(np.where(difference >= 0, low, -high))
    rows = np.array(left)
    excluded = np.count_nonzero(np.logical_and.accumulate(rows > 0, axis=0), axis=0)
    before, after = np.maximum(excluded - 1, 0), np.minimum(excluded, len(_SCORES) - 1)
    places = np.arange(len(difference))
    near, far = np.where(excluded > 0, rows[before, places], np.abs(difference)), rows[after, places]
    start = np.where(excluded > 0, _SCORES[before], 0.0)
    gone = np.divide(near, near - far, out=np.zeros_like(near), where=near > far)
    scores = np.where(excluded == len(_SCORES), _SCORES[-1], start + gone * (_SCORES[after] - start))
    p_values: FloatArray = np.minimum(2 * ndtr(-scores), 1.0)
    return p_values


def homogeneity(estimates: Any) -> ChiSquare | None:
    """Test whether several groups of people have the same distribution.

    The covariance is computed under the hypothesis of one distribution for all groups. In this distribution values in
    clear have their reported shares, and sensitive values the nearest shares that sum to the rest. Values in clear with
    fewer than five expected reports in some group are combined first [Cochran 1954]. Then the statistic is nearly
    chi-square. For randomized response with sensitive values only, it is Pearson's statistic of the table of counts.

    Args:
        estimates: two or more `Estimate` under one plan, of different people: a `GroupedEstimate`, or a mapping or a
            sequence of estimates. Their method does not matter, because their tallies are tested.

    Returns:
        The statistic, its degrees of freedom and its p-value. None if the tallies are not known, the groups are
        post-stratified, nothing varies, or there are more than 2,000 values.

    Raises:
        ParameterError: if these are no estimates of different people.
        MismatchError: if they belong to several plans.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=2.0)
        >>> regions = ["north"] * 300 + ["south"] * 300 + ["west"] * 400
        >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
        >>> found = dc.homogeneity(dc.estimate_groups(mechanism, reports, groups=regions))
        >>> found.degrees, found.p_value < 0.001
        (4, True)
    """
    parts = estimates.values() if hasattr(estimates, "values") else estimates
    given_estimates = list(parts) if isinstance(parts, Iterable) else []
    if len(given_estimates) < _PAIR or not all(isinstance(estimate, Estimate) for estimate in given_estimates):
        raise ParameterError("homogeneity.too-few-groups")
    if len({estimate.fingerprint for estimate in given_estimates}) > 1:
        raise MismatchError("homogeneity.different-plans")
    if not isinstance(estimates, GroupedEstimate):
        for first, second in combinations(given_estimates, _PAIR):
            _check_different_people(first, second)
    return homogeneity_test([estimate.people for estimate in given_estimates])


def _check_different_people(first: Estimate, second: Estimate) -> None:
    """Raise an error for two estimates that are known to share people."""
    known = first.people is not None and second.people is not None
    shared = first.n if first is second else first.people.shared_with(second.people) if known else 0
    if shared:
        raise ParameterError("comparison.shared-reports", shared=shared)


def homogeneity_test(people: Sequence[Any], fixed: FloatArray | None = None) -> ChiSquare | None:
    """Return the test that all strata have the same distribution, or that one stratum has a fixed distribution."""
    if any(group is None or len(group.counts) > 1 for group in people) or people[0].decoder.domain.size > _MOST_VALUES:
        return None
    strata, decoders = [next(iter(group)) for group in people], [group.decoder for group in people]
    domain = decoders[0].domain
    if any(stratum.people < _PAIR for stratum in strata):
        return None
    sizes = np.array([stratum.weight**2 / stratum.squares for stratum in strata])
    truthful = sizes * [decoder.truth for decoder in decoders]
    in_clear = ~domain.sensitive & bool(truthful.all())
    shares = truthful if truthful.all() else sizes
    means = np.array([stratum.mean for stratum in strata])
    p = _plausible(in_clear, np.average(means, 0, shares)) if fixed is None else fixed
    covariances = _covariances(people, strata, in_clear, p)
    rare = in_clear & (truthful.min() * p < _LEAST_EXPECTED)
    cells = np.vstack([np.eye(domain.size)[~rare], rare.astype(np.float64)[None]])
    plans = {decoder.maker.fingerprint for decoder in decoders}
    if fixed is None and len(plans) == 1:
        away = np.sqrt(sizes)[:, None] * (means - np.average(means, 0, sizes))
        return _chi_square(
            cells @ np.average(covariances, 0, sizes) @ cells.T, [cells @ deviation for deviation in away]
        )
    parts = [covariance / size for covariance, size in zip(covariances, sizes, strict=True)]
    difference = means[0] - (p if fixed is not None else means[1])
    test = _chi_square(cells @ sum(parts[1:], start=parts[0]) @ cells.T, [cells @ difference])
    impossible = fixed is not None and bool((in_clear & (p == 0) & (means[0] > 0)).any())
    return test._replace(p_value=0.0) if test is not None and impossible else test


def _covariances(
    people: Sequence[Strata], strata: Sequence[Stratum], in_clear: BoolArray, p: FloatArray
) -> list[FloatArray]:
    """Return n times the covariances of the estimate of each stratum, if all strata have the distribution p.

    Let q be the distribution of people with weights w, if they are weighted by w^2. Then (q - p)(q - p)' is added to
    the covariance at q, and n is (sum w)^2 / sum w^2.
    """
    weighted = [stratum for stratum in strata if stratum.weighted]
    means, sizes = ([each.square_mean for each in weighted], [each.squares for each in weighted])
    q = _plausible(in_clear, np.average(means, 0, sizes)) if weighted else p
    known: dict[tuple[str, bool], FloatArray] = {}
    keys = [(group.decoder.maker.fingerprint, each.weighted) for group, each in zip(people, strata, strict=True)]
    for group, key in zip(people, keys, strict=True):
        if key not in known:
            at = group.decoder.covariances_at(q if key[1] else p)
            known[key] = at + np.outer(q - p, q - p) if key[1] else at
    return [known[key] for key in keys]


def _plausible(in_clear: BoolArray, linear: FloatArray) -> FloatArray:
    """Return a plausible distribution near the linear estimates, with all frequencies at least 0.

    Values in clear have their estimates, and the others the nearest shares that sum to the rest.
    """
    p = np.where(in_clear, np.maximum(linear, 0.0), 0.0)
    p /= max(float(p.sum()), 1.0)
    if not in_clear.all():
        noisy = linear[~in_clear]
        p[~in_clear], _ = projection(noisy, np.ones(len(noisy)), total=max(1 - float(p.sum()), 0.0))
    return p


def _chi_square(covariance: FloatArray, away: Sequence[FloatArray]) -> ChiSquare | None:
    """Return the chi-square test of the hypothesis that deviations with this covariance have the mean 0.

    Several deviations are taken from their common mean.
    """
    values, vectors = np.linalg.eigh(covariance)
    # Sums without an error, such as the sum of all estimates, are left out.
    used = values > 1e-9 * max(values.max(), 0)
    degrees = int(np.count_nonzero(used)) * max(len(away) - 1, 1)
    if not degrees:
        return None
    statistic = float(sum(((vectors[:, used].T @ deviation) ** 2 / values[used]).sum() for deviation in away))
    return ChiSquare(statistic, degrees, float(chdtrc(degrees, statistic)))
