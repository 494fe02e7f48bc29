"""What a guarantee says in words."""

import re
from math import ceil, exp, inf

import pytest

from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee, in_odds


@pytest.mark.parametrize("epsilon", [4.001, 5.0, 8.0, 12.5, 29.0])
def test_odds(epsilon: float) -> None:
    """Bayes: odds of 1 to 99 times e^epsilon."""
    text = in_odds(epsilon)
    after = 0.01 * exp(epsilon) / (0.01 * exp(epsilon) + 0.99)
    assert f"by a factor of {ceil(exp(epsilon)):,}" in text
    (held,) = re.findall(r"hold it at (more than )?([\d.]+)% after", text)
    assert bool(held[0]) == (after >= 0.999)
    # A promise is never stated too small.
    assert held[0] or after <= float(held[1]) / 100 <= after + 0.001
    assert text.count(".") - text.count("0.") <= 3
    assert "\n" not in text


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_no_odds_up_to_4(epsilon: float) -> None:
    assert in_odds(epsilon) == ""


@pytest.mark.parametrize("epsilon", [31.0, 800.0, inf])
def test_odds_that_limit_nothing(epsilon: float) -> None:
    assert "for certain" in in_odds(epsilon)


@pytest.mark.parametrize("notion", ["LDP", "ULDP"])
@pytest.mark.parametrize("tags", [0, 2])
def test_a_guarantee_of_a_large_epsilon_says_it_in_odds_once(notion: str, tags: int) -> None:
    domain = Domain(["a", "b", "c"], sensitive=None if notion == "LDP" else ["a"])
    for epsilon, said in ((4.0, 0), (6.0, 1)):
        assert str(Guarantee(notion, domain, epsilon, epsilon, tags)).count("In odds") == said
    assert str(Guarantee("none", domain, None, inf)) == "No protection: every value is reported in clear."
