"""The smallest error of any mechanism: the optimal block sizes, with a certificate, and the optimal bit probability.

No unbiased estimate from n reports of any utility-optimized mechanism that all people use alike has a worst-case mean
squared error below M*/n. M* is the maximum over alpha of the minimum over t of M(alpha, t) [Park, Nam, Lee]. The design
found here attains it for every n.

The search is short. The derivative of -M by t_k is k (A + B k) / ((alpha k + v tau)(k + v tau)) for some A and B. It
takes a positive value for at most two k and is 0 at k = 0, so it rises and then falls. Hence an optimal t has one size
or two neighbouring sizes. On the path through single sizes and mixtures of neighbours a local minimum is the minimum,
which bisection finds. Over alpha the minimum is concave: bisection again.

The optimal theta of unary encoding has a closed form. With theta the probability that the bit of the user's value is
set, tau = 1/(e^eps - 1) and a the sensitive mass,

    n MSE + ||p||^2 = C / theta + B(a) / (1 - theta),   C = (1 + tau)(1 + v tau),

where B(a) = tau (1 + tau)(v - a) + tau^2 a if reports in clear carry noise bits that the decoder counts (the paper's
uRAP), and B(a) = v tau^2 + tau (v - 1) a otherwise. So theta = 1 / (1 + sqrt(B/C)) is best at a, with the value
(sqrt(C) + sqrt(B))^2. In the worst case the loss is convex in theta and concave in a. So the best theta is the one for
the mass at which the best loss is largest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from discreet.core.checks import checked_n
from discreet.errors import ParameterError
from discreet.theory.arithmetic import last_positive, last_whole
from discreet.theory.design import Design, Instance, Mixture


def optimal_design(size: int, total: int, epsilon: float, *, sensitive_mass: float | None = None) -> Design:
    """Return the design with the smallest mean squared error, in the worst case or at a given sensitive mass.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: the privacy promise, in nats.
        sensitive_mass: p(X_S), the share of people whose value is sensitive, if roughly known; None for the worst case.

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
    """Return M*/n, the smallest worst-case mean squared error of any unbiased estimate from n reports.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: the privacy promise, in nats.
        n: the number of reports.

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
    # The smallest size k that k + 1 does not improve on; v if each improves.
    upper = 1 + last_whole(lambda k: _decrease_of_bound(instance, alpha, k)(0.0) > 0, 0, instance.size, upper=True)
    climb = _decrease_of_bound(instance, alpha, upper - 1)
    # Blocks of all v values contain no information about any of them.
    alone = upper == 1 or (upper < instance.size and climb(1.0) >= 0)
    share = 1.0 if alone else last_positive(climb)
    return Mixture((upper,), (1.0,)) if share == 1 else Mixture((upper - 1, upper), (1 - share, share))


def _decrease_of_bound(instance: Instance, alpha: float, k: int) -> Callable[[float], float]:
    """Return the derivative -dM/du as a function of u, the share of size k + 1 in a mixture of k and k + 1."""
    lower, upper = instance.information(alpha, k), instance.information(alpha, k + 1)
    terms = [(c, s, t - s) for c, s, t in zip(instance.costs(alpha), lower, upper, strict=True) if c]
    return lambda share: sum(cost * step / (start + share * step) ** 2 for cost, start, step in terms)


@dataclass(frozen=True, slots=True)
class Theta:
    """An optimal bit probability theta of unary encoding, with its error.

    Attributes:
        theta: the probability that the bit of the user's value is set.
        complement: 1 - theta, accurate to the last digit where theta is rounded to 1.
        sensitive_mass: the mass for which theta is optimal.
        minimax: whether that mass is the worst one; otherwise it was given.
        closed_form: whether the mass was given or is an end of 0..1; otherwise it was found by bisection.
        value: n times the mean squared error at that mass, uniform within each class; if ``minimax``, the largest over
            all distributions.
    """

    theta: float
    complement: float
    sensitive_mass: float
    minimax: bool
    closed_form: bool
    value: float


def optimal_theta(
    size: int, total: int, epsilon: float, *, sensitive_mass: float | None = None, clear_bits: bool = False
) -> Theta:
    """Return the theta of unary encoding with the smallest mean squared error of the linear estimate.

    With ``clear_bits`` the worst mass is 0, and theta = 1 / (1 + sqrt(v / (v + e^eps - 1))), if
    (1 - theta)(e^eps - 1) <= N/2.

    Args:
        size: v, the number of sensitive values; at least 1.
        total: w, the number of values; at least 2.
        epsilon: the privacy promise, in nats.
        sensitive_mass: p(X_S), if roughly known; None for the worst case.
        clear_bits: whether reports in clear have noise bits, as in the paper's uRAP.

    Raises:
        ParameterError: if a number is out of range, or clear_bits is set where no value is reported in clear.

    Example:
        >>> theta = optimal_theta(76, 400, 1.0)
        >>> round(theta.theta, 4), round(theta.value, 1), theta.sensitive_mass
        (0.5038, 281.9, 1.0)
    """
    instance = Instance(size, total, epsilon)
    if clear_bits and instance.clear_size == 0:
        raise ParameterError("clear-bits.nothing-clear", argument="clear_bits")
    mass = _worst_theta_mass(instance, clear_bits) if sensitive_mass is None else instance.check_mass(sensitive_mass)
    own_cost, noise = _own_cost(instance), _noise_cost(instance, mass, clear_bits)
    return Theta(
        1 / (1 + sqrt(noise / own_cost)),
        sqrt(noise) / (sqrt(own_cost) + sqrt(noise)),
        mass,
        minimax=sensitive_mass is None,
        closed_form=sensitive_mass is not None or mass in {0.0, 1.0},
        value=(sqrt(own_cost) + sqrt(noise)) ** 2 - instance.squares(mass),
    )


def _own_cost(instance: Instance) -> float:
    tau = instance.tau
    return (1 + tau) * (1 + instance.size * tau)


def _noise_cost(instance: Instance, mass: float, clear_bits: bool) -> float:
    v, tau = instance.size, instance.tau
    return tau * (1 + tau) * (v - mass) + tau**2 * mass if clear_bits else v * tau**2 + tau * (v - 1) * mass


def _worst_theta_mass(instance: Instance, clear_bits: bool) -> float:
    if instance.clear_size == 0:
        return 1.0
    cost, rise = _own_cost(instance), _noise_cost(instance, 1.0, clear_bits) - _noise_cost(instance, 0.0, clear_bits)

    def slope(mass: float) -> float:
        gain = rise * (1 + sqrt(cost / _noise_cost(instance, mass, clear_bits)))
        return gain - 2 * mass / instance.size + 2 * (1 - mass) / instance.clear_size

    return 1.0 if slope(1.0) >= 0 else last_positive(slope)
