"""Certified ends beside interval arithmetic: every sum of a mean excess, each operation rounded outwards."""

from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest
from matrices import law_pair
from mpmath import iv, mp

from discreet.privacy import shuffling_pairs

mp.dps = iv.dps = 40

LAWS = [(1.0, 0.5, 0.0), (5.0, 0.5, 0.0), (2.0, 0.05, 0.0), (3.0, 0.25, 0.25), (8.0, 0.02, 0.02)]
CASES = [(law, n, share) for law in LAWS for n, share in ((3, 0.2), (11, 0.5), (11, 0.97), (19, 0.05))]


def in_intervals(values: Any, probabilities: Any, n: int) -> Any:
    """Return E[(G_1 + ... + G_n)_+] as an interval, from all multinomial counts.

    The floats are taken as they are; their probabilities are divided by their sum, which is 1 but for rounding.
    """
    kinds = [(iv.mpf(float(g)), iv.mpf(float(p))) for g, p in zip(values, probabilities, strict=True) if p > 0]
    whole = sum((p for _, p in kinds), iv.mpf(0))
    powers = [[(p / whole) ** k / iv.mpf(mp.factorial(k)) for k in range(n + 1)] for _, p in kinds]
    total = iv.mpf(0)
    for counts in product(range(n + 1), repeat=len(kinds) - 1):
        if (rest := n - sum(counts)) < 0:
            continue
        every = (*counts, rest)
        amount = sum((k * g for k, (g, _) in zip(every, kinds, strict=True)), iv.mpf(0))
        if amount.b <= 0:
            continue
        weight = iv.mpf(mp.factorial(n))
        for k, row in zip(every, powers, strict=True):
            weight *= row[k]
        total += weight * iv.mpf([max(amount.a, 0), amount.b])
    return total


@pytest.mark.parametrize(("law", "n", "share"), CASES)
def test_both_ways_enclose_what_interval_arithmetic_finds(
    law: Any, n: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = law_pair(*law)
    ratio = exp(share * law[0])
    values = np.append(pair.first - ratio * pair.second, 0.0)
    weights = np.append(pair.weights, pair.silent)
    if n > 11:
        # Few kinds, so that all counts of many reports can be listed in intervals.
        values, weights = values[[0, 1, 4]], np.array([weights[0], weights[1], 1 - weights[0] - weights[1]])
    true = in_intervals(values, weights, n)
    assert true.delta < 1e-30 * true.b
    listed = shuffling_pairs.excess(values, weights, n)
    monkeypatch.setattr(shuffling_pairs, "listed_ends", lambda *_: None)
    for low, high in (listed, shuffling_pairs.excess(values, weights, n)):
        assert low <= float(true.b) * (1 + 1e-15)
        assert high >= float(true.a) * (1 - 1e-15)
    assert listed[1] - listed[0] <= 1e-11 * listed[1]
