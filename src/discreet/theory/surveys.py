"""Exact errors of other ways to ask for several attributes, beside a question for each table.

A report of a question is worth phi, and n reports of it have the summed squared error (g - |p|^2)/n, g = E |phi|^2; so
have the ways below, of which g is stated where every value is sensitive.

*Joint*: one question over all W cells. A cell of a marginal has m of these, and the sum of their phi is
K (phi_in - phi_out) + m phi_out, K the members of the block among them. With pi and rho of the block law, and tau the
probability that two further values are in a block of which one is known, its moments are

    noise:                  E K = m pi,             E K^2 = m pi (1 + (m-1) rho),
    the cell of the truth:  E K = 1 + (m-1) rho,    E K^2 = 1 + 3 (m-1) rho + (m-1)(m-2) tau,
    other cells:            E K = m rho,            E K^2 = m rho + m (m-1) tau.

*Products*: each attribute is asked with a part of epsilon; the product of what two reports are worth is that of the
pair, of which g is the product of both.

*Fakes*: RS+FD [Arcolezi et al., CIKM 2021] with randomized response: one of d attributes is reported with epsilon', and
uniform values for the others. An output y has the probability sum_j k_j Q_j(y_j | x_j), up to a factor, so that for
whole records the largest ratio is e^epsilon' and not e^epsilon, for which epsilon' = ln(d (e^epsilon - 1) + 1) is
taken. For records that differ in attribute j it is 1 + (e^epsilon' - 1) l_j / sum(l), l_j = k_j/(e^epsilon' + k_j - 1):
e^epsilon where all attributes have as many values, and more elsewhere.
"""

from collections.abc import Sequence
from math import exp, expm1, log1p


def joint_moment(cells: int, parts: int, truth: float, inclusion: float, conditional: float, triple: float) -> float:
    """Return g of a marginal of one question over all cells.

    Args:
        cells: W.
        parts: m, the cells of the question for each of the marginal.
        truth: s, the probability of the truth.
        inclusion: pi.
        conditional: rho.
        triple: tau.

    Example:
        Of subsets of 2 among 6 cells, with s = 0.2, the marginal of 3 cells:

        >>> round(joint_moment(6, 2, 0.2, 1 / 3, 1 / 5, 0.0), 6)
        42.0
    """
    per_member = 1 / (truth * (1 - conditional))
    outside = -(conditional + (inclusion - conditional) * (1 - truth)) * per_member

    def square(mean: float, second: float) -> float:
        return per_member**2 * second + parts * outside * (2 * per_member * mean + parts * outside)

    m, rho, tau = parts, conditional, triple
    noise = square(m * inclusion, m * inclusion * (1 + (m - 1) * rho))
    same = square(1 + (m - 1) * rho, 1 + 3 * (m - 1) * rho + (m - 1) * (m - 2) * tau)
    other = square(m * rho, m * rho + m * (m - 1) * tau)
    count = cells // parts
    return (1 - truth) * count * noise + truth * (same + (count - 1) * other)


def fake_epsilon(epsilon: float, attributes: int) -> float:
    """Return epsilon' of RS+FD, which it protects whole records by, for its stated epsilon.

    Example:
        >>> [round(fake_epsilon(1.0, d), 4) for d in (2, 5)]
        [1.4899, 2.2609]
    """
    return log1p(attributes * expm1(epsilon))


def fake_attribute_epsilon(record: float, sizes: Sequence[int]) -> float:
    """Return the epsilon of RS+FD for records that differ in one attribute.

    Args:
        record: epsilon', of whole records.
        sizes: number of values of each attribute.

    Example:
        >>> round(fake_attribute_epsilon(fake_epsilon(1.0, 3), [2, 3, 4]), 4)
        1.124
    """
    least = [size / (exp(record) + size - 1) for size in sizes]
    return log1p(expm1(record) * max(least) / sum(least))


def fake_moment(record: float, size: int, attributes: int) -> float:
    """Return g of one attribute by RS+FD with randomized response.

    Each report is worth (d 1{y = x} - q - (d-1)/k)/(p - q) to the value x.

    Args:
        record: epsilon', of whole records.
        size: k, the number of its values.
        attributes: d.

    Example:
        It is as many times that of sampling one attribute, which says which, as there are attributes:

        >>> round(fake_moment(1.0, 10, 10) / (10 * fake_moment(1.0, 10, 1)), 1)
        10.0
    """
    other = 1 / (exp(record) + size - 1)
    constant = other + (attributes - 1) / size
    squares = (attributes - constant) ** 2 + (size - 1) * constant**2
    return squares / (expm1(record) * other) ** 2


def fake_variance(record: float, size: int, attributes: int, frequency: float = 0.0) -> float:
    """Return n times the variance of one value by RS+FD; arguments as for `fake_moment`.

    Example:
        >>> [round(fake_variance(1.0, 10, d), 1) for d in (1, 10)]
        [3.6, 413.1]
    """
    other = 1 / (exp(record) + size - 1)
    difference = expm1(record) * other
    chance = (other + frequency * difference + (attributes - 1) / size) / attributes
    return attributes**2 * chance * (1 - chance) / difference**2
