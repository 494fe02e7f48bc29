"""Ways to ask in several rounds: the errors of the specification, and what rounds tell."""

import pytest

from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.surveys.schedules import schedules


def test_the_table_of_the_specification() -> None:
    """Ten values, epsilon 2 in all, twelve rounds: 195, 12, 5.0, 1.34, 1 times the error of one question."""
    options = schedules(Domain(range(10)), 2.0, 12, within=0.0)
    assert [option.how for option in options] == ["fresh", "rotate", "memo", "memo", "memo"]
    assert [option.error for option in options] == pytest.approx([194.6, 12, 4.999, 1.344, 1], rel=1e-3)
    assert [option.mechanism.epsilon for option in options] == pytest.approx([2 / 12, 2, 1, 1.8, 2])
    for option in options:
        assert list(option.epsilons) == sorted(option.epsilons)
        assert option.epsilons[-1] == pytest.approx(2, abs=1e-3)
        assert option.hides_changes == (option.how != "memo")


def test_more_rounds_for_each_person_pay_only_where_epsilon_is_large() -> None:
    found = [schedules(Domain(range(2)), epsilon, 10)[1].answers for epsilon in (1.0, 4.0, 6.0)]
    assert found == [1, 3, 4]


def test_bad_numbers() -> None:
    for epsilon, rounds in ((0, 12), (1.0, 1), (1.0, 2.5)):
        with pytest.raises(ParameterError):
            schedules(Domain(range(3)), epsilon, rounds)  # type: ignore[arg-type]
