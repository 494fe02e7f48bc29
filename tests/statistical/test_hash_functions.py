"""Hash functions of reports: uniform up to the largest primes, and independent of the coin and of values in clear."""

from math import exp

import numpy as np
import pytest

from discreet import Domain, LocalHashing, SeededRandom
from discreet.mechanisms.laws.hashing import HashBuckets
from evidence import binomial, multinomial

pytestmark = pytest.mark.slow

N = 400_000


@pytest.mark.parametrize(
    ("size", "g", "prime"),
    [(65_521, 2, 65_521), (65_530, 3, 65_537), (2**32 - 10, 3, 2**32 - 5), (10, 2**32 - 5, 2**32 - 5)],
)
def test_large_primes(size: int, g: int, prime: int) -> None:
    """Where the products of the hash function come near the ends of 32 and 64 bits."""
    law = HashBuckets(size, g)
    assert law.prime == prime
    n = 50_000
    print("seed 4")
    members = np.random.default_rng(4).integers(0, size, n)
    members[:3] = 0, size - 1, size // 2
    for told in (True, False):
        out = {column.name: np.empty(n, dtype=column.dtype) for column in law.columns}
        law.draw(members if told else np.full(n, -1), SeededRandom(4), out)
        alpha, beta, bucket = (out[name].astype(object) for name in ("alpha", "beta", "bucket"))
        assert alpha.min() >= 1
        assert max(alpha.max(), beta.max()) < prime
        hashed = [
            (x - b) * pow(a, -1, prime) % prime % g for x, a, b in zip(members.tolist(), alpha, beta, strict=True)
        ]
        hits = int((np.array(hashed, dtype=object) == bucket).sum())
        if told:
            assert hits == n
        elif g <= 3:
            binomial("noise contains a member", hits, n, 1 / g, rival=1 / (g + 1))
        for name, values in (("alpha", alpha), ("beta", beta), ("bucket", bucket)):
            cells = min(8, g) if name == "bucket" else 8
            counts = np.bincount((values * cells // (g if name == "bucket" else prime)).astype(int), minlength=cells)
            tilt = np.full(cells, 1 / cells) * (1 + 0.1 * np.cos(np.pi * np.arange(cells)))
            multinomial(f"{name}, told={told}", counts, np.full(cells, 1 / cells), rival=tilt / tilt.sum())


def test_the_hash_function_says_nothing_about_who_went_in_clear() -> None:
    """Reports of a value that is not sensitive, between others in clear: hash functions and buckets are uniform."""
    mechanism = LocalHashing(Domain(range(6), sensitive=range(5)), 1.0, g=2)
    print("seed 9")
    reports = mechanism.obfuscate_codes(np.full(N, 5), random=SeededRandom(9))
    after_clear = reports.in_clear[:-1][~reports.in_clear[1:]]
    alpha = reports.blocks["alpha"][-len(after_clear) :]
    joint = [int(((alpha == a) & (after_clear == told)).sum()) for a in range(1, 5) for told in (False, True)]
    truth = (exp(1) - 1) / (exp(1) - 1 + 2)
    right = [(truth if told else 1 - truth) / 4 for _ in range(4) for told in (False, True)]
    rival = [
        (truth if told else 1 - truth) / 4 + (0.01 if (a % 2 == told) else -0.01) for a in range(4) for told in (0, 1)
    ]
    multinomial("alpha and the coin before", joint, right, rival=rival)
