"""Errors of sums of weighted and post-stratified estimates are those of the reports' own worths."""

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


def error_of(mechanism: Any, reports: Any, factors: FloatArray, centres: FloatArray, weights: FloatArray) -> float:
    """The root of the sum of squares of worths about centres, written out."""
    away = (mechanism.decoder.contributions(reports) - centres) * factors[:, None]
    return float(np.sqrt(((away @ weights) ** 2).sum()))


@pytest.mark.parametrize("named", [dc.RandomizedResponse, dc.SubsetSelection, dc.HadamardResponse])
def test_weighted_estimates_have_the_errors_of_their_worths(named: Any) -> None:
    codes, weights, _ = people(1, 20_000)
    mechanism = named(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(1))
    found = dc.estimate(mechanism, reports, weights=weights)
    for label, code in (("f", 0), ("m", 1)):
        inside = np.arange(6) // 3 == code
        total = found.total({"sex": label})
        centre = found.frequencies
        direct = error_of(
            mechanism,
            reports,
            weights / weights.sum(),
            centre,
            inside - found.uncertainty.sums(inside[None] * 1.0).control,
        )
        assert total.standard_error == pytest.approx(direct, rel=0.03)
        assert found.marginal("sex").standard_errors[code] == pytest.approx(total.standard_error)


def test_post_stratified_estimates_have_the_errors_of_their_worths() -> None:
    """Strata that differ: what lies between them is in no error."""
    codes, _, regions = people(2, 20_000)
    codes = np.where(regions == "north", codes // 3, codes)
    mechanism = dc.RandomizedResponse(DOMAIN, 3.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(2))
    shares = {"north": 0.45, "south": 0.55}
    found = dc.estimate_groups(mechanism, reports, groups=regions, shares=shares).overall
    sizes = {label: int(np.count_nonzero(regions == label)) for label in shares}
    worths = mechanism.decoder.contributions(reports)
    means = {label: worths[regions == label].mean(axis=0) for label in shares}
    factors = np.array([shares[label] / sizes[label] for label in regions])
    inside = np.arange(6) < 3.0
    direct = error_of(mechanism, reports, factors, np.array([means[label] for label in regions]), inside)
    assert found.total({"sex": "f"}).standard_error == pytest.approx(direct, rel=0.03)


def test_weighted_pools_of_hash_functions_say_what_is_not_known() -> None:
    codes, weights, _ = people(4)
    domain = dc.Domain.product({"sex": ["f", "m"], "age": ["<40", "40-64", "65+"]})
    mechanism = dc.PooledHashing(domain, 1.0, functions=8)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(4))
    found = dc.estimate(mechanism, reports, weights=weights)
    with pytest.raises(ParameterError, match="covariances"):
        found.marginal("sex")
    # Of functions that are drawn anew inclusions are taken as independent.
    mechanism = dc.LocalHashing(domain, 1.0)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(4))
    assert (dc.estimate(mechanism, reports, weights=weights).marginal("sex").standard_errors > 0).all()
