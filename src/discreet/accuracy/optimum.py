"""The optimal mechanism: block sizes, their weights, and a proof that no other mechanism has less error.

No unbiased estimate from n reports of any utility-optimized mechanism that everybody uses alike has a worst-case mean
squared error below M*/n, where M* is the maximum over alpha of the minimum over t of M(alpha, t)
[Park, Nam, Lee; spec of the optimum, section 3]; the design found here attains it for every n.

Why the search is short: the derivative of -M by t_k is k (A + B k) / ((alpha k + v tau)(k + v tau)) for some A and B.
It takes a positive value at two places at most and is 0 at k = 0, so it rises and then falls. Hence an optimal t rests
on one size or on two neighbours, and on the path through single sizes and mixtures of neighbours a local minimum is the
minimum: bisection finds it. Over alpha the minimum is concave: bisection again.
"""

from collections.abc import Callable

from discreet.accuracy.design import Design
from discreet.accuracy.fisher import Instance, Mixture
from discreet.core.checks import checked_n
from discreet.core.searching import last_positive, last_whole


def optimal_design(size: int, total: int, epsilon: float, *, sensitive_mass: float | None = None) -> Design:
    """Return the design with the least worst-case mean squared error, or the least one at a given sensitive mass.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: in nats.
        sensitive_mass: p(X_S), the share of people whose value is sensitive, if it is roughly known; None for the worst
            case.

    Raises:
        ParameterError: if a number is out of range.

    Example:
        >>> design = optimal_design(76, 400, 1.0)
        >>> design.mixture.sizes, round(design.value, 1)
        ((20,), 272.6)
    """
    instance = Instance(size, total, epsilon)
    if sensitive_mass is not None:
        alpha = instance.check_mass(sensitive_mass)
        return Design(instance, alpha, _best_mixture(instance, alpha), given=True)
    alpha = 1.0 if instance.clear_size == 0 else _worst_mass(instance)
    return Design(instance, alpha, _best_mixture(instance, alpha), given=False)


def lower_bound(size: int, total: int, epsilon: float, n: int) -> float:
    """Return M*/n, the least worst-case mean squared error of any unbiased estimate from n reports.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: in nats.
        n: number of reports.

    Raises:
        ParameterError: if a number is out of range.

    Example:
        >>> round(lower_bound(76, 400, 1.0, 100_000), 5)
        0.00273
    """
    return optimal_design(size, total, epsilon).value / checked_n(n)


def _worst_mass(instance: Instance) -> float:
    def slope(alpha: float) -> float:
        return _best_mixture(instance, alpha).slope(instance, alpha)

    if slope(1.0) >= 0:
        return 1.0
    return 0.0 if slope(0.0) <= 0 else last_positive(slope)


def _best_mixture(instance: Instance, alpha: float) -> Mixture:
    upper = _upper_size(instance, alpha)
    share = 1.0 if upper == 1 else _upper_share(instance, alpha, upper)
    if share == 1:
        return Mixture((upper,), (1.0,))
    return Mixture((upper - 1, upper), (1 - share, share))


def _upper_size(instance: Instance, alpha: float) -> int:
    """Return the smallest size k that k + 1 does not improve on; v if there is none."""
    return 1 + last_whole(lambda k: _climb(instance, alpha, k)(0.0) > 0, 0, instance.size, upper=True)


def _upper_share(instance: Instance, alpha: float, upper: int) -> float:
    climb = _climb(instance, alpha, upper - 1)
    # Blocks of all v values alone say nothing of one of them.
    if upper < instance.size and climb(1.0) >= 0:
        return 1.0
    return last_positive(climb)


def _climb(instance: Instance, alpha: float, k: int) -> Callable[[float], float]:
    """Return -dM/du for a mixture of k and k + 1 with the share u of size k + 1, as a function of u."""
    lower, upper = instance.told(alpha, k), instance.told(alpha, k + 1)
    terms = [(c, s, t - s) for c, s, t in zip(instance.costs(alpha), lower, upper, strict=True) if c]
    return lambda share: sum(cost * step / (start + share * step) ** 2 for cost, start, step in terms)
