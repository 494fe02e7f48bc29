"""The number of reports that show a change between two groups, against its definition."""

import numpy as np
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.errors import ParameterError
from discreet.planning.losses import reports_for_change, worst_variance
from papers.data.drawn_tallies import draw_tally
from repeated import estimates

MECHANISM = dc.UnaryEncoding(dc.Domain(["a", "b", "c"], sensitive=["a"]), 1.0)


@pytest.mark.parametrize("power", [0.5, 0.8, 0.99])
@pytest.mark.parametrize("p", [None, [0.2, 0.3, 0.5]])
def test_so_many_reports_have_the_power_and_one_less_has_not(power: float, p: list[float] | None) -> None:
    n = reports_for_change(MECHANISM, 0.03, power=power, significance=0.01, p=p)
    each = worst_variance(MECHANISM) if p is None else MECHANISM.decoder.variances(1, p).max()
    for reports, enough in ((n, True), (n - 1, False)):
        exact = norm.cdf(0.03 / np.sqrt(2 * each / reports) - norm.isf(0.005))
        assert (exact >= power) == enough


def test_simulated_tests_have_the_power() -> None:
    """400 pairs of groups, of which about 80% show the change; binomial at 4 standard deviations."""
    first, second = [0.2, 0.3, 0.5], [0.26, 0.27, 0.47]
    n = reports_for_change(MECHANISM, 0.06, p=[0.23, 0.285, 0.485])
    random = np.random.default_rng(3)
    one, other = (
        estimates(MECHANISM, [draw_tally(MECHANISM, people, random) for people in random.multinomial(n, p, 400)])
        for p in (first, second)
    )
    error = np.hypot(one.standard_errors, other.standard_errors)
    seen = (abs(other.frequencies - one.frequencies) > 1.96 * error)[:, 0].sum()
    assert abs(seen / 400 - 0.8) < 4 * np.sqrt(0.16 / 400)


def test_what_no_number_of_reports_shows_is_refused() -> None:
    for named, words in (
        ({"change": 0.0}, "change.not-positive"),
        ({"change": 1.5}, "change.not-share"),
        ({"change": 0.1, "power": 1.0}, "power.not-between"),
        ({"change": 0.1, "significance": 0.0}, "significance.not-between"),
        ({"change": 0.1, "power": 0.01, "significance": 0.5}, "power.too-low"),
    ):
        with pytest.raises(ParameterError, match=words):
            reports_for_change(MECHANISM, **named)
