"""What every mechanism made, counted and estimated when the golden file was written.

A change of the structure must not change a report, a tally, a fingerprint or an estimate. ``python tests/golden.py``
writes the file anew, which only a change that is meant may do.
"""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from discreet import (
    METHODS,
    Channel,
    Domain,
    Estimate,
    Personalized,
    RandomizedResponse,
    Reports,
    SeededRandom,
    Tally,
    estimate,
    estimate_personalized,
)
from discreet.mechanisms import Mechanism
from laws import SIZES, cases

FILE = Path(__file__).with_name("golden.json")
REPORTS = 300
_DIGITS = 16
GOLDEN = tuple(method for method in METHODS if method != "smooth")
"""All methods but one for values in order alone, whose test has its own numbers."""
# Where an ascent stops depends on rounding, and that on the processor; the maximum that it certifies does not.
_SOLVED: dict[str, dict[str, Any]] = {"mle": {"tolerance": 1e-12}}


def mechanisms() -> Iterator[tuple[str, Mechanism | Personalized]]:
    """Yield every block mechanism of the contract suites, explicit channels, and a personalized one."""
    for case in cases(SIZES, (1.0, 4.0)):
        # The certificates of many values take the longest, whatever epsilon is.
        if (case.sizes, case.epsilon) != ("40of40", 4.0):
            yield str(case), case.mechanism
    some = np.random.default_rng(5)
    for size in (2, 7, 24):
        yield f"channel/{size}", Channel(some.dirichlet(np.ones(size + 3), size), Domain(range(size), sensitive=[0]))
    domain = Domain(range(7), sensitive=[3])
    yield "channel of rr/1of7", RandomizedResponse(domain, 1.0).channel()
    yield "personalized/1of7", Personalized(domain, 1.0, tags=["home", "work"])


def facts(mechanism: Mechanism | Personalized) -> dict[str, Any]:
    """Return what a mechanism does with the same values and words: digests of whole numbers, and sums of others."""
    size = mechanism.domain.size
    codes = np.arange(REPORTS) ** 2 % size
    if isinstance(mechanism, Personalized):
        reports = mechanism.common.obfuscate_codes(codes, random=SeededRandom(11))
        tally = mechanism.common.tally(reports)
        found = [
            estimate_personalized(mechanism, reports, method=one, **_SOLVED.get(one, {})).estimate for one in GOLDEN
        ]
    else:
        reports = mechanism.obfuscate_codes(codes, random=SeededRandom(11))
        tally = mechanism.tally(reports)
        found = [estimate(mechanism, reports, method=one, **_SOLVED.get(one, {})) for one in GOLDEN]
    told: dict[str, Any] = {
        "plan": mechanism.fingerprint,
        "epsilon": mechanism.guarantee.realised.hex(),
        "reports": _digest(reports),
        "tally": _digest(tally),
        "estimates": {one: _numbers(each) for one, each in zip(GOLDEN, found, strict=True)},
    }
    if not isinstance(mechanism, Personalized):
        told["errors"] = _expected(mechanism)
    return told


def _expected(mechanism: Any) -> list[float]:
    uneven = np.arange(1, mechanism.domain.size + 1) / np.arange(1, mechanism.domain.size + 1).sum()
    errors = mechanism.decoder.standard_errors(50, uneven)
    return [
        _sum(np.array([mechanism.decoder.worst_case_mse(50), mechanism.decoder.mse(50, uneven)])),
        _sum(errors),
    ]


def _numbers(estimate: Estimate) -> list[float]:
    return [_sum(estimate.frequencies), _sum(estimate.standard_errors)]


def _sum(numbers: Any) -> float:
    """Return a sum in which every number has a weight of its own."""
    return float(numbers @ np.cos(np.arange(len(numbers))))


def _digest(data: Reports | Tally) -> str:
    digest = sha256(str(data.n).encode())
    if isinstance(data, Tally):
        columns = [("support", data.support), ("clear", data.clear)]
    else:
        in_clear = [] if data.in_clear is None else [("in_clear", data.in_clear)]
        columns = [*in_clear, ("clear", data.clear), *sorted(data.blocks.items())]
    for name, column in columns:
        digest.update(f"{name} {column.dtype} {column.shape}".encode() + np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:_DIGITS]


if __name__ == "__main__":
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(facts(mechanism))}" for name, mechanism in mechanisms())
    FILE.write_text(f"{{\n{lines}\n}}\n")
