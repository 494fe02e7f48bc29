"""What a guarantee says in words."""

import re
from decimal import Decimal
from math import ceil, exp, inf

import numpy as np
import pytest

from discreet import Domain, Guarantee
from discreet.core.guarantee import largest_posterior, odds_sentence, posterior_percent, posterior_share


@pytest.mark.parametrize("epsilon", [4.001, 5.0, 8.0, 12.5, 29.0])
def test_odds(epsilon: float) -> None:
    """Bayes: odds of 1 to 99 times e^epsilon."""
    text = odds_sentence(epsilon)
    after = 0.01 * exp(epsilon) / (0.01 * exp(epsilon) + 0.99)
    assert f"odds of a protected value by {ceil(exp(epsilon)):,}." in text
    (held,) = re.findall(r"1% can become (more than )?([\d.]+)%", text)
    assert bool(held[0]) == (after >= 0.999)
    # A promise is never stated too small.
    assert held[0] or after <= float(held[1]) / 100 <= after + 0.001
    assert text.count(".") - text.count("0.") <= 3
    assert "\n" not in text


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_odds_up_to_4(epsilon: float) -> None:
    assert odds_sentence(epsilon) == ""


def test_only_infinite_odds_are_certainty() -> None:
    assert "certainty" in odds_sentence(inf)
    assert (posterior_percent(inf), posterior_share(inf)) == ("100", 1.0)
    for epsilon in np.concatenate([np.linspace(0, 12, 500), [36.0, 40.0, 800.0]]):
        share = 1 / (1 + exp(-epsilon))
        for before, digits in ((0.5, 2), (0.5, 3), (0.01, 3)):
            percent = posterior_percent(epsilon, before, digits)
            assert percent != "100"
            assert percent == "99.99..." or Decimal(percent) / 100 >= Decimal(
                largest_posterior(epsilon, before)
            ) - Decimal("1e-15")
        assert share <= posterior_share(epsilon) < 1 or epsilon > 35
        assert posterior_share(epsilon) < max(share + 0.01, 0.992)


@pytest.mark.parametrize(
    ("epsilon", "percent"),
    [
        (0.0, "50"),
        (0.2, "55"),
        (4.59, "99"),
        (4.6, "99.1"),
        (6.9, "99.9"),
        (6.91, "99.91"),
        (9.0, "99.99"),
        (9.3, "99.99..."),
    ],
)
def test_percents_are_rounded_up(epsilon: float, percent: str) -> None:
    assert posterior_percent(epsilon) == percent


@pytest.mark.parametrize("notion", ["LDP", "ULDP"])
@pytest.mark.parametrize("tags", [0, 2])
def test_a_guarantee_of_a_large_epsilon_says_it_in_odds_once(notion: str, tags: int) -> None:
    domain = Domain(["a", "b", "c"], sensitive=None if notion == "LDP" else ["a"])
    for epsilon, said in ((4.0, 0), (6.0, 1)):
        assert str(Guarantee(notion, domain, epsilon, epsilon, tags)).count("In odds") == said
    assert str(Guarantee("none", domain, None, inf)) == "No protection: every value is reported in clear."
