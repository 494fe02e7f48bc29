"""The success of the best guess of n users: exact suprema over all sources, for truth or noise.

V = sum over reports y of max over users u of p_u Q(y|x_u), with a prior p over users. The users with the largest p have
values of their own, as far as values go; a block of noise is worth most for the likeliest user whose value it contains.
With hit(j) = P(a noise block contains one of j given values), its steps h_j, and p in falling order,

    V = s sum of p_j in clear + (1 - s) p_1 + sum of h_i ((1 - s + s/pi) p_j(i) - (1 - s) p_1)_+,

the last one over the i-th likeliest user with a sensitive value. Which users those are: a user's loss by having one is
concave in p and its slope rises as h falls, so they are the likeliest k and the unlikeliest a - k, for some k.
"""

from typing import NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet.leakage.capacity import Inputs
from discreet.leakage.hits import HitDistribution


class Sizes(NamedTuple):
    """The number of users, and of values of each kind.

    Attributes:
        users: n.
        sensitive: v.
        clear: N.
    """

    users: int
    sensitive: int
    clear: int


def uniform_success(inputs: Inputs, hit: float, users: int) -> float:
    """Return V for n equally likely users.

    Args:
        inputs: the numbers, and how many values of each kind are in use.
        hit: P(a noise block contains one of the sensitive values in use).
        users: n.
    """
    return min(leakage(inputs, hit) / users, 1.0)


def leakage(inputs: Inputs, hit: float) -> float:
    """Return ML, the maximal leakage of the values in use: the sum over outputs of their largest probability."""
    return inputs.truth * inputs.clear + inputs.noisy + inputs.truth / inputs.inclusion * hit


def success(inputs: Inputs, hits: FloatArray, prior: FloatArray) -> float:
    """Return V for users with a prior.

    Args:
        inputs: the numbers, and how many values of each kind are in use.
        hits: ``(a + 1,)`` hit(0), hit(1), ...
        prior: ``(n,)`` probabilities, falling.
    """
    a, b = inputs.sensitive, inputs.clear
    used = prior[: a + b]
    base = inputs.noisy * float(prior[0])
    gain = inputs.noisy + inputs.truth / inputs.inclusion
    steps = np.diff(hits)
    likeliest = steps * np.maximum(gain * used[:a] - base, 0.0)
    unlikeliest = steps * np.maximum(gain * used[b : b + a] - base, 0.0)
    ends = np.concatenate([[0.0], np.cumsum(likeliest)])
    ends += np.concatenate([np.cumsum(unlikeliest[::-1])[::-1], [0.0]])
    sums = np.concatenate([[0.0], np.cumsum(used)])
    # For each k: those who stand between the likeliest k and the unlikeliest a - k speak in clear.
    in_clear = inputs.truth * (sums[b : b + a + 1] - sums[: a + 1])
    return min(base + float(np.max(ends + in_clear)), 1.0)


def listed_success(inputs: Inputs, hits: HitDistribution | None, sizes: Sizes, listed: int) -> float:
    """Return V_k, the success of k guesses, for n equally likely users; an upper bound if hits are not exact.

    Exact where the distribution of hits is and users spread evenly over the values. As many users as are listed may
    share a value in clear; the rest share the sensitive ones.

    Args:
        inputs: s, 1 - s and pi.
        hits: of the min(n - N k, v) sensitive values in use; None if there are none.
        sizes: n, v and N.
        listed: k.
    """
    told = min(sizes.users, sizes.clear * listed)
    rest = sizes.users - told
    blocks = inputs.noisy * listed
    if rest and hits is not None:
        contained = float(min(listed, rest * inputs.inclusion))
        if hits.exact:
            contained = min(contained, hits.mean(np.minimum(listed, rest * hits.shares)))
        blocks += inputs.truth / inputs.inclusion * contained
    return min((inputs.truth * told + blocks) / sizes.users, 1.0)
