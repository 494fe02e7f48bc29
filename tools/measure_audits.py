"""Counts the false alarms of audits of honest mechanisms: runs over block laws, domains and epsilons, with seeds.

    python tools/measure_audits.py [--runs 1000] [--draws 8000]

Prints a line for each law; exits with 1 if an audit calls an honest promise broken.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.mechanisms import (
    BlockDesign,
    BlockMechanism,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.privacy.audit import audit

LAWS: dict[str, Callable[..., BlockMechanism]] = {
    "singletons": RandomizedResponse,
    "bits": UnaryEncoding,
    "bits beside values in clear": partial(UnaryEncoding, clear_bits=True),
    "subsets": SubsetSelection,
    "hashing": LocalHashing,
    "Hadamard": HadamardResponse,
    "design": BlockDesign,
}
DOMAINS = (Domain(range(5)), Domain(range(9), sensitive=[0, 4, 6]), Domain(range(40), sensitive=range(12)))
EPSILONS = (0.5, 1.0, 3.0)


def main() -> int:
    """Print how many audits of each law called its promise broken."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=8000, help="reports per run")
    chosen, start = parser.parse_args(), time.process_time()
    runs: Counter[str] = Counter()
    alarms: Counter[str] = Counter()
    nearest = dict.fromkeys(LAWS, 0.0)
    cases: list[tuple[str, Any, float]] = [(law, domain, e) for domain in DOMAINS for e in EPSILONS for law in LAWS]
    cases = [case for case in cases if "clear" not in case[0] or case[1].clear_count]
    for seed in range(chosen.runs):
        law, domain, epsilon = cases[seed % len(cases)]
        found = audit(LAWS[law](domain, epsilon), draws=chosen.draws, random=SeededRandom(seed))
        runs[law] += 1
        alarms[law] += not found.holds
        nearest[law] = max(nearest[law], found.lower_bound / found.promised)
    for law, count in runs.items():
        print(f"{law:28} {alarms[law]} of {count} alarms, bounds up to {nearest[law]:.3f} of the promise")
    print(f"{alarms.total()} of {chosen.runs}, {time.process_time() - start:.0f} s of CPU")
    return 1 if alarms.total() else 0


if __name__ == "__main__":
    sys.exit(main())
