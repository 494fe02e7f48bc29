"""``python -m bench.shuffling``: central guarantees over their whole range, and beside published bounds.

Prints the widest gap between the ends of a central epsilon and the slowest one, the table of mechanisms beside the
bounds for any LDP mechanism by clones [Feldman, McMillan, Talwar, FOCS 2021] and stronger clones [SODA 2023], and how
many of 10,000 random small cases tell more than is said (every data set is enumerated). Takes about ten minutes.

Variation-ratio parameters with a diluted rest are not used: they understate. RR with 3 values, e^eps = 3, two people,
the other one with x, C = 2.2: the truth is .6 .6 - 2.2 .6 .2 = .096, and that formula gives .080.
"""

import sys
import time
from collections.abc import Iterator
from itertools import product
from math import exp, inf
from pathlib import Path

import numpy as np

import discreet as dc
from discreet.mechanisms import BlockMechanism
from discreet.privacy.shuffling import shuffled
from discreet.privacy.shuffling_pairs import ValuePair
from discreet.privacy.shuffling_search import pair_epsilon

_EPSILONS = (0.01, 0.1, 0.5, 1, 3, 5, 8, 12)
_SIZES = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
_DELTAS = (1e-6, 1e-12, 1e-30)
_COLUMNS = ((1.0, 10**4), (3.0, 10**4), (3.0, 10**6))
_CASES = 10_000


def clones(epsilon: float, *, stronger: bool) -> ValuePair:
    """Return the pair of the bound by clones, for any LDP mechanism.

    Every other report is a clone with probability e^-eps, or 2/(e^eps + 1) for the stronger bound, and then one of two
    symbols evenly; the person's is the first one with probability e^eps/(e^eps + 1), or the second one.
    """
    clone = 2 / (exp(epsilon) + 1) if stronger else exp(-epsilon)
    likelier = exp(epsilon) / (exp(epsilon) + 1)
    first = np.array([likelier, 1 - likelier]) / (clone / 2)
    return ValuePair(first, first[::-1].copy(), np.full(2, clone / 2), 1 - clone)


def grid() -> Iterator[tuple[float, float, str]]:
    """Yield the ratio of both ends, seconds of CPU, and the case."""
    for epsilon, name in product(_EPSILONS, ("single values", "bits")):
        pi, rho = (0.01, 0.0) if name == "single values" else (1 / (exp(epsilon) + 1),) * 2
        odds = pi * (exp(epsilon) - 1)
        shares = np.array([pi * (1 - rho), pi * (1 - rho), pi * rho, 1 - 2 * pi + pi * rho]) / (1 + odds)
        pair = ValuePair(
            np.array([exp(epsilon), 1, exp(epsilon), 1]),
            np.array([1, exp(epsilon), exp(epsilon), 1]),
            shares,
            odds / (1 + odds),
        )
        for n, delta in product(_SIZES, _DELTAS):
            start = time.process_time()
            low, high = pair_epsilon(pair, n, delta)
            yield (high / low if low else inf), time.process_time() - start, f"{name} eps={epsilon} n={n} delta={delta}"


def mechanisms(epsilon: float) -> dict[str, BlockMechanism]:
    """Return the mechanisms of the table, over 100 values."""
    domain = dc.Domain(range(100))
    return {
        "RR": dc.RandomizedResponse(domain, epsilon),
        "subset": dc.SubsetSelection(domain, epsilon),
        "OUE": dc.UnaryEncoding(domain, epsilon, theta=0.5),
        "OLH": dc.LocalHashing(domain, epsilon),
        "SUE": dc.UnaryEncoding(domain, epsilon),
        "Hadamard": dc.HadamardResponse(domain, epsilon),
    }


def main() -> None:
    """Print everything."""
    cases = sorted(grid(), reverse=True)
    print("widest gap between the ends:", *cases[0])
    print(
        "slowest, s of CPU:", *max(cases, key=lambda case: case[1])[1:], " mean", np.mean([case[1] for case in cases])
    )
    print(f"{'delta = 1e-6':24}", *(f"eps={epsilon:g} n={n:g}".rjust(20) for epsilon, n in _COLUMNS))
    for name in mechanisms(1.0):
        found = [shuffled(mechanisms(epsilon)[name], n).among for epsilon, n in _COLUMNS]
        print(f"{name:24}", *(f"{one.upper:.4g} (attack {one.lower / one.upper:.3f})".rjust(20) for one in found))
    for name, stronger in (("clones 2021", False), ("stronger clones 2023", True)):
        ends = [pair_epsilon(clones(epsilon, stronger=stronger), n, 1e-6)[1] for epsilon, n in _COLUMNS]
        print(f"{name:24}", *(f"{end:.4g}".rjust(20) for end in ends))
    tests = Path(__file__).parent.parent / "tests"
    sys.path[:0] = [str(tests), str(tests / "privacy")]
    from test_shuffling_data_sets import beyond

    print(
        f"of {_CASES} random small cases beyond the guarantee:", sum(beyond(seed) is not None for seed in range(_CASES))
    )


if __name__ == "__main__":
    main()
