"""Largest standard errors against every distribution, and how many reports are enough."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from discreet import BlockDesign, Domain
from discreet.planning.losses import reports_for_standard_error, worst_variance
from laws import Case, every_with_rho


@every_with_rho
def test_worst_variance_is_reached_and_never_passed(case: Case) -> None:
    mechanism, domain = case.mechanism, case.domain
    worst, most = worst_variance(mechanism), 0.0
    kinds = [*domain.sensitive_codes[:2], *domain.clear_codes[:2]]
    corners = [np.eye(domain.size)[code] for code in kinds]
    # Between two corners a variance is quadratic, so that few places are as good as many.
    mixed = [s * a + (1 - s) * b for a, b in combinations(corners, 2) for s in np.linspace(0, 1, 11)]
    for p in [*mixed, *np.random.default_rng(3).dirichlet(np.full(domain.size, 0.1), 5)]:
        found = float((mechanism.decoder.standard_errors(1, p / p.sum()) ** 2).max())
        assert found <= worst * (1 + 1e-9)
        most = max(most, found)
    assert most == pytest.approx(worst, rel=0.01)


def test_worst_variance_of_the_only_value_in_clear_beside_a_sensitive_one() -> None:
    """A design for rare sensitive values: elsewhere this variance is never above those of sensitive values."""
    mechanism = BlockDesign(Domain(range(81), sensitive=range(80)), 11.0, sensitive_mass=5e-4)
    two = [np.eye(81)[[0, 80]].T @ [share, 1 - share] for share in np.linspace(0, 1, 1001)]
    sensitive, clear = np.max([mechanism.decoder.standard_errors(1, p)[[0, 80]] ** 2 for p in two], axis=0)
    assert clear > 1.03 * sensitive
    assert worst_variance(mechanism) == pytest.approx(clear, rel=1e-5)


@every_with_rho
def test_least_number_of_reports_is_enough_and_one_less_is_not(case: Case) -> None:
    mechanism = case.mechanism
    given = np.random.default_rng(9).dirichlet(np.ones(case.domain.size))
    for wanted in (0.5, 1e-2, 1.23e-5):
        n = reports_for_standard_error(mechanism, wanted, p=given)
        assert mechanism.decoder.standard_errors(n, given).max() <= wanted * (1 + 1e-12)
        assert n == 1 or mechanism.decoder.standard_errors(n - 1, given).max() > wanted * (1 - 1e-12)
        n = reports_for_standard_error(mechanism, wanted)
        assert sqrt(worst_variance(mechanism) / n) <= wanted * (1 + 1e-12)
        assert n == 1 or sqrt(worst_variance(mechanism) / (n - 1)) > wanted * (1 - 1e-12)
