"""Expected errors of numbers, and the verbs on a plan of numbers."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.planning.numbers import NumberPlan, mean_error
from papers.data.drawn_tallies import draw_tally
from refusals import refused

_PLANS, _COLLECTIONS = 20, 600


def test_simulated_means_have_the_planned_error() -> None:
    """Twenty random plans. The standard deviation of 600 means has a relative error of 3%."""
    random = np.random.default_rng(5)
    for _ in range(_PLANS):
        bins, epsilon = int(random.choice([8, 16, 32, 64, 128])), float(random.choice([0.5, 1, 2, 3]))
        users = int(10 ** random.uniform(2, 4.5))
        domain = dc.Domain.number(0, 100, bins=bins, sensitive=None if random.random() < 0.6 else [[0, 25]])
        p = random.dirichlet(np.full(bins, random.choice([0.3, 3])))
        mechanism, centres = dc.Windows(domain, epsilon), domain.table()["low"] + 50 / bins
        people = random.multinomial(users, p, _COLLECTIONS)
        means = [mechanism.decoder.decode(draw_tally(mechanism, counts, random)) @ centres for counts in people]
        assert np.std(means) == pytest.approx(mean_error(mechanism, users, p), rel=0.1), (bins, epsilon, users)


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
