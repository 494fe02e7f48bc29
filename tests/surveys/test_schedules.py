"""Ways to ask in several rounds: their errors, and what rounds tell."""

import pytest

from discreet import Domain
from discreet.surveys.schedules import survey_schedules


def test_errors_of_ten_values_in_twelve_rounds() -> None:
    """Ten values, epsilon 2 in all, twelve rounds: 195, 12, 5.0, 1.34, 1 times the error of asking once."""
    options = survey_schedules({"one": Domain(range(10))}, 2.0, 12, within=0.0)
    assert [option.rounds.how for option in options] == ["fresh", "rotate", "memo", "memo", "memo"]
    assert [option.error for option in options] == pytest.approx([194.6, 12, 4.999, 1.344, 1], rel=1e-3)
    mechanisms = [option.survey.questions[0].mechanism for option in options]
    assert [mechanism.epsilon for mechanism in mechanisms] == pytest.approx([2 / 12, 2, 1, 1.8, 2])
    for option in options:
        assert list(option.epsilons) == sorted(option.epsilons)
        assert option.epsilons[-1] == pytest.approx(2, abs=1e-3)
        assert 0 < option.block_bits <= 10


def test_more_rounds_for_each_person_pay_only_where_epsilon_is_large() -> None:
    domain = {"one": Domain(range(2))}
    found = [survey_schedules(domain, epsilon, 10)[1].rounds.answered for epsilon in (1.0, 4.0, 6.0)]
    assert found == [1, 3, 4]
