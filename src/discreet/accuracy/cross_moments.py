"""Cross moments: the mean product of what one report is worth to two different values.

With a = p(X_S), the values x != x' in X_S, and rho_3 = P(x', x'' in A given x in A), a block law whose values are alike
has

    E phi_x phi_x' = c_0 + c_1 (p_x + p_x'),

    m_0 = o^2 + 2 o d pi + d^2 pi rho,  m_1 = o^2 + o d (1 + rho) + d^2 rho,  m_2 = o^2 + 2 o d rho + d^2 rho_3,
    c_0 = (1 - s) m_0 + s (a m_2 + (1 - a) k^2),  c_1 = s (m_1 - m_2),

where a report is worth o = phi_out to a value outside its block, d more to one inside, and k if it is in clear: a
noise block holds both values with probability pi rho, the block of one of them the other one with rho, and that of a
third value both with rho_3. The covariance of two estimates is this less p_x p_x', over n. It is affine in p and in a:
with unbiased estimates in their places and n - 1 in that of n, its mean is the covariance.
"""

import numpy as np

from discreet.accuracy.design import Design
from discreet.accuracy.linear_decoder import LinearDecoder
from discreet.arrays import FloatArray


def cross_moments(numbers: LinearDecoder, triple: float, mass: float) -> FloatArray:
    """Return the cross moments of truth or noise.

    Args:
        numbers: of the decoder, the same for every sensitive value.
        triple: the covariance of x' in A and x'' in A given x in A, that is rho_3 - rho^2.
        mass: a = p(X_S).

    Returns:
        ``(4, 4)`` C: E phi_x phi_y = b_x' C b_y with b_x = (1, p_x, 0, 0) for x in X_S and (0, 0, 1, p_x) for others.
    """
    inside, o, silent = (float(worth) for worth in numbers.worth)
    s, pi, rho = numbers.truth, float(numbers.inclusion), float(numbers.conditional_inclusion)
    d = inside - o
    m_0 = o * o + 2 * o * d * pi + d * d * pi * rho
    m_1 = o * o + o * d * (1 + rho) + d * d * rho
    m_2 = o * o + 2 * o * d * rho + d * d * (rho * rho + triple)
    base = numbers.noisy * m_0 + s * (mass * m_2 + (1 - mass) * silent**2)
    return _arranged((base, s * (m_1 - m_2)), (silent, 0.0, 0.0), (0.0, 0.0))


def design_cross_moments(design: Design, mass: float) -> FloatArray:
    """Return the ``(4, 4)`` cross moments of a mixture of block sizes; see `cross_moments`."""
    total = np.zeros((4, 4))
    for k, share in design.weights.items():
        total += share * _of_size(design, k, mass)
    return total


def _of_size(design: Design, k: int, mass: float) -> FloatArray:
    """Return the cross moments of a device that draws blocks of size k."""
    v, own, noise = design.size, design.inside(k), design.noise(k)
    silent, other_clear, own_clear = design.clear_worth if design.instance.clear_size else (0.0, 0.0, 0.0)
    beside = design.block_worth(k)[2]

    def worth(members: int, values: int) -> tuple[float, float]:
        """Return the mean worth to one, and the mean product to two, of values of which a uniform set is inside."""
        inside, outside, _ = design.block_worth(k)
        one = members / max(values, 1)
        both = one * (members - 1) / max(values - 1, 1)
        pair = both * inside**2 + 2 * (one - both) * inside * outside + (1 - 2 * one + both) * outside**2
        return one * inside + (1 - one) * outside, pair

    inside, outside, _ = design.block_worth(k)
    (next_in, pair_in), (next_out, pair_out), (any_one, any_pair) = worth(k - 1, v - 1), worth(k, v - 1), worth(k, v)
    first = own * inside * next_in + (1 - own) * outside * next_out
    third = own * pair_in + (1 - own) * pair_out
    from_clear = noise * any_pair + (1 - noise) * silent**2
    mean_own, mean_other = own * inside + (1 - own) * outside, own * next_in + (1 - own) * next_out
    told, told_other = (noise * any_one * beside + (1 - noise) * silent * each for each in (own_clear, other_clear))
    clear_pair, clear_third = (
        noise * beside**2 + (1 - noise) * other_clear * each for each in (own_clear, other_clear)
    )
    return _arranged(
        (mass * third + (1 - mass) * from_clear, first - third),
        (told - told_other, (mean_own - mean_other) * beside, mass * mean_other * beside + (1 - mass) * told_other),
        (mass * beside**2 + (1 - mass) * clear_third, clear_pair - clear_third),
    )


def _arranged(
    sensitive: tuple[float, float], between: tuple[float, float, float], clear: tuple[float, float]
) -> FloatArray:
    """Return C from its coefficients.

    Args:
        sensitive: of two sensitive values: of 1, and of either frequency.
        between: of a sensitive value x and another y.
        clear: of two other values: of 1, and of either frequency.
    """
    (c_0, c_1), (of_y, of_x, d_0), (e_0, e_1) = sensitive, between, clear
    return np.array([[c_0, c_1, d_0, of_y], [c_1, 0, of_x, 0], [d_0, of_x, e_0, e_1], [of_y, 0, e_1, 0]])
