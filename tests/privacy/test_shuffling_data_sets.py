"""No data set of a small batch tells more than the central guarantee says; where that is exact, one tells as much."""

from collections import Counter
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.privacy.shuffling import ShuffledGuarantee, values_in_clear
from discreet.testing import outputs_of
from laws import BUILDERS
from packing import each


def batch(rows: list[Any]) -> dict[tuple[int, ...], float]:
    """Return the probabilities of all multisets of outputs, one of each row; outputs are numbered."""
    found: dict[tuple[int, ...], float] = {(): 1.0}
    for row in rows:
        after: Counter[tuple[int, ...]] = Counter()
        for outputs, chance in found.items():
            for output in np.flatnonzero(row).tolist():
                after[tuple(sorted((*outputs, output)))] += chance * row[output]
        found = dict(after)
    return found


def worst(matrix: Any, firsts: list[int], seconds: list[int], n: int, ratio: float) -> float:
    """Return the largest D_C(x -> x') over all data sets of n people."""
    most = 0.0
    for others in combinations_with_replacement(range(len(matrix)), n - 1):
        known = batch([matrix[other] for other in others])
        for x in firsts:
            for other in seconds:
                if x != other:
                    most = max(most, divergence(known, matrix[x] - ratio * matrix[other]))
    return most


def divergence(known: dict[tuple[int, ...], float], difference: Any) -> float:
    """Return sum (P - C Q)_+ when one more output is added to known ones, by the difference of its probabilities."""
    total: Counter[tuple[int, ...]] = Counter()
    for outputs, chance in known.items():
        for output in np.flatnonzero(difference).tolist():
            total[tuple(sorted((*outputs, output)))] += chance * difference[output]
    return sum(max(value, 0.0) for value in total.values())


def compressed(matrix: Any) -> Any:
    """Return a channel with outputs of equal likelihoods put together, which tells as much."""
    kinds: dict[tuple[float, ...], Any] = {}
    for column in matrix.T:
        size = column.sum()
        if size > 0:
            key = tuple((column / size).round(10).tolist())
            kinds[key] = kinds.get(key, 0.0) + column
    return np.array(list(kinds.values())).T


def check(central: ShuffledGuarantee, matrix: Any, ratio: float) -> None:
    """Compare both directions with all data sets."""
    domain = central.mechanism.domain
    firsts, clear, n = domain.sensitive_codes.tolist(), domain.clear_codes.tolist(), central.n
    found, silent = central.delta_at(np.log(ratio)), values_in_clear(central.mechanism)
    for ends, seconds, needed in ((found.among, firsts, 1), (found.versus_clear, clear, 2)):
        if ends is None:
            continue
        most = worst(matrix, firsts, seconds, n, ratio)
        assert ends.lower <= ends.upper
        assert most <= ends.upper + 1e-12
        if silent >= needed:
            assert most == pytest.approx(ends.upper, abs=1e-9)


@each("builder", BUILDERS)
@each("sizes", [(4, [0, 1]), (4, [0, 2, 3]), (3, None)])
def test_no_data_set_of_a_law_exceeds_the_guarantee(builder: str, sizes: Any) -> None:
    domain = dc.Domain(range(sizes[0]), sensitive=sizes[1])
    if builder == "subset-k2" and domain.sensitive_count < 3:
        return
    if builder in ("unary-clear-bits", "design-mass") and domain.clear_count == 0:
        return
    for epsilon, n, ratio in ((1.1, 2, 1.3), (2.0, 3, 1.8)):
        mechanism = BUILDERS[builder](domain, epsilon)
        matrix = compressed(outputs_of(mechanism).matrix)
        check(ShuffledGuarantee(mechanism, n if matrix.shape[1] < 12 else 2, 0.5), matrix, ratio)


def test_no_data_set_of_a_random_law_exceeds_the_guarantee() -> None:
    """10,000 such cases are made by ``python -m bench shuffling``."""
    for seed in range(24):
        assert beyond(seed) is None


def beyond(seed: int) -> str | None:
    """Return a sentence on a random channel whose batch tells more than its guarantee, or less where that is exact."""
    random = np.random.default_rng(seed)
    matrix, domain = random_law(random)
    ratio, n = float(np.exp(random.uniform(0, 1.2))), int(random.integers(2, 3 + (matrix.shape[1] < 6) * 2))
    channel = dc.Channel(matrix, domain)
    central = ShuffledGuarantee(channel, n, 0.5)
    try:
        check(central, compressed(matrix), ratio)
    except AssertionError as error:
        return f"seed {seed}, n = {n}, C = {ratio}: {error}"
    return None


def random_law(random: np.random.Generator) -> tuple[Any, dc.Domain]:
    """Return the matrix of truth or noise with a random law of blocks, 2 to 4 sensitive values and 0 to 3 in clear."""
    v, clear = int(random.integers(2, 5)), int(random.integers(0, 4))
    blocks = np.array(list(product((0, 1), repeat=v)))[1:]
    law = [
        (blocks.sum(axis=1) == 1) * 1.0,
        (blocks.sum(axis=1) == int(random.integers(1, v))) * 1.0,
        random.uniform(0.2, 0.8) ** blocks.sum(axis=1),
        random.uniform(0, 1, len(blocks)) * (random.uniform(0, 1, len(blocks)) < 0.7) + 1e-3,
    ][int(random.integers(4))]
    law = law / law.sum()
    truth = random.uniform(0.1, 0.8)
    given = law * blocks.T
    rows = truth * given / given.sum(axis=1, keepdims=True) + (1 - truth) * law
    matrix = np.zeros((v + clear, len(blocks) + clear))
    matrix[:v, : len(blocks)], matrix[v:, : len(blocks)] = rows, (1 - truth) * law
    matrix[v:, len(blocks) :] = truth * np.eye(clear)
    return matrix[:, matrix.sum(axis=0) > 0], dc.Domain(range(v + clear), sensitive=range(v))
