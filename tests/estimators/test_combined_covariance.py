"""Covariances of weighted and post-stratified estimates are those of the reports' own worths."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.arrays import FloatArray
from discreet.errors import ParameterError

DOMAIN = dc.Domain.product({"sex": ["f", "m"], "age": ["<40", "40-64", "65+"]}, sensitive={"age": "65+"})
SHARES = [0.3, 0.2, 0.1, 0.2, 0.1, 0.1]


def people(seed: int, n: int = 600) -> tuple[Any, FloatArray, Any]:
    rng = np.random.default_rng(seed)
    regions = np.array(["north" if r < 2 else "south" for r in rng.integers(0, 4, n)])
    return rng.choice(DOMAIN.size, n, p=SHARES), rng.choice([1.0, 2.0, 4.0], n), regions


def squares(mechanism: Any, reports: Any, factors: FloatArray, centres: FloatArray, free: FloatArray) -> FloatArray:
    """The sum of squares of worths about centres, written out."""
    away = (mechanism.decoder.worth(reports) - centres) * (factors * np.sqrt(free))[:, None]
    return np.asarray(away.T @ away)


def test_weighted_estimates_have_the_covariance_of_their_worths() -> None:
    codes, weights, _ = people(1)
    mechanism = dc.RandomizedResponse(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(1))
    found = dc.estimate(mechanism, reports, weights=weights)
    assert found.covariances is not None
    n = len(codes)
    free = np.full(n, n / (n - 1))
    direct = squares(mechanism, reports, weights / weights.sum(), found.frequencies, free)
    matrix = found.covariances.matrix(np.arange(DOMAIN.size))
    # Weights that are multiples of 2^-20 of the largest lose nothing.
    np.testing.assert_allclose(matrix, direct, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.sqrt(found.covariances.variances()), found.standard_errors, rtol=1e-9)
    np.testing.assert_allclose(found.covariances.with_sum(), matrix.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(
        found.covariances.prefixes(), [matrix[: k + 1, : k + 1].sum() for k in range(DOMAIN.size)], atol=1e-12
    )
    cells = np.kron(np.eye(2), np.ones(3))
    np.testing.assert_allclose(
        found.marginal("sex").standard_errors, np.sqrt(np.diag(cells @ matrix @ cells.T)), rtol=1e-9
    )


def test_post_stratified_estimates_have_the_covariance_of_their_worths() -> None:
    codes, _, regions = people(2)
    mechanism = dc.RandomizedResponse(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(2))
    shares = {"north": 0.7, "south": 0.3}
    found = dc.estimate_groups(mechanism, reports, groups=regions, shares=shares).overall
    assert found.covariances is not None
    sizes = {label: int(np.count_nonzero(regions == label)) for label in shares}
    worths = mechanism.decoder.worth(reports)
    means = {label: worths[regions == label].mean(axis=0) for label in shares}
    factors = np.array([shares[label] / sizes[label] for label in regions])
    free = np.array([sizes[label] / (sizes[label] - 1) for label in regions])
    direct = squares(mechanism, reports, factors, np.array([means[label] for label in regions]), free)
    np.testing.assert_allclose(found.covariances.matrix(np.arange(DOMAIN.size)), direct, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(np.sqrt(found.covariances.variances()), found.standard_errors, rtol=1e-9)


@pytest.mark.parametrize("named", [dc.UnaryEncoding, dc.SubsetSelection, dc.HadamardResponse])
def test_covariances_of_blocks_have_the_mean_of_those_of_their_worths(named: Any) -> None:
    """Those of blocks follow from their tally, which does not hold the pairs that a block has: equal on average."""
    mechanism, found, direct = named(DOMAIN, 1.0), [], []
    for seed in range(60):
        codes, weights, _ = people(seed, 300)
        reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(seed))
        estimate = dc.estimate(mechanism, reports, weights=weights)
        assert estimate.covariances is not None
        free = np.full(len(codes), len(codes) / (len(codes) - 1))
        found.append(estimate.covariances.matrix(np.arange(DOMAIN.size)))
        direct.append(squares(mechanism, reports, weights / weights.sum(), estimate.frequencies, free))
    apart = np.array(found) - np.array(direct)
    error = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
    assert (np.abs(apart.mean(axis=0)) <= 4.5 * error + 1e-12).all()


def test_shares_within_weighted_strata_have_errors() -> None:
    codes, weights, regions = people(3)
    mechanism = dc.UnaryEncoding(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(3))
    shares = {"north": 0.4, "south": 0.6}
    found = dc.estimate_groups(mechanism, reports, groups=regions, weights=weights, shares=shares).overall
    assert found.covariances is not None
    np.testing.assert_allclose(np.sqrt(found.covariances.variances()), found.standard_errors, rtol=1e-9)
    spread = found.covariances
    total, size = float(spread.centre.sum()), DOMAIN.size
    shares = spread.centre / total
    turned = (np.eye(size) - np.outer(shares, np.ones(size))) / total
    matrix = spread.matrix(np.arange(size))
    np.testing.assert_allclose(spread.conditional().matrix(np.arange(size)), turned @ matrix @ turned.T, atol=1e-14)


def test_weighted_pools_of_hash_functions_say_what_is_not_known() -> None:
    codes, weights, _ = people(4)
    domain = dc.Domain.product({"sex": ["f", "m"], "age": ["<40", "40-64", "65+"]})
    mechanism = dc.PooledHashing(domain, 1.0, functions=8)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(4))
    found = dc.estimate(mechanism, reports, weights=weights)
    assert found.covariances is None
    with pytest.raises(ParameterError, match="covariances"):
        found.marginal("sex")
    # Of functions that are drawn anew inclusions are taken as independent.
    mechanism = dc.LocalHashing(domain, 1.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(4))
    assert (dc.estimate(mechanism, reports, weights=weights).marginal("sex").standard_errors > 0).all()
