"""Expected errors of numbers, and the verbs on a plan of numbers."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.planning.numbers import NumberPlan, mean_error
from refusals import refused


def test_the_expected_error_of_the_mean_is_what_reports_have() -> None:
    domain, random = dc.Domain.number(0, 10, bins=12, sensitive=[[0, 4.9]]), np.random.default_rng(3)
    p = random.dirichlet(np.ones(12))
    mechanism, centres = dc.Windows(domain, 1.0), domain.table()["low"] + 5 / 12
    outputs = p @ mechanism.decoder.matrix
    added = mechanism.decoder.inverse @ centres
    assert mean_error(mechanism, 100, p) ** 2 == pytest.approx((outputs @ added**2 - (outputs @ added) ** 2) / 100)
    plan = NumberPlan.of(domain, 1.0, 100_000, p)
    errors = plan.columns()
    assert [*errors["quantity"]] == ["mean", "0.1 quantile", "median", "0.9 quantile", "share of 0 to 5"]
    assert errors["value"][0] == pytest.approx(p @ centres)
    assert (errors["standard_error"] > 0).all()
    assert dc.best(domain, 1.0) == plan.mechanism
    refused(ParameterError, lambda: dc.best(domain, 1.0, target="worst-case"))
    refused(ParameterError, lambda: NumberPlan.of(dc.Domain(range(5)), 1.0, 100))
