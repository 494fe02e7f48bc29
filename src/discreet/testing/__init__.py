"""Checks for the tests of your own block mechanism: the contract that every block mechanism must keep.

    from discreet.testing import CHECKS, check_mechanism

    def test_my_response() -> None:
        check_mechanism(MyResponse(Domain(range(5), sensitive=[1, 3]), epsilon=1.0))

Domains must be small, with up to about ten values, because most checks enumerate all outputs. Some values should be
sensitive and some not. With pytest, ``@pytest.mark.parametrize("check", CHECKS)`` makes a test of each check.
"""

from collections.abc import Callable
from typing import Any

from discreet.mechanisms import BlockMechanism
from discreet.testing.contract import (
    Outputs,
    blocks_are_written_as_the_columns_say,
    blocks_follow_the_law,
    channel_equals_enumeration,
    contributions_keep_their_range,
    devices_know_the_law,
    epsilon_is_kept,
    errors_equal_enumeration,
    estimate_is_unbiased,
    flaws_are_what_the_alphabet_lacks,
    inclusions_equal_enumeration,
    members_and_noise_keep_their_rows,
    membership_is_what_blocks_contain,
    outputs_of,
    reports_follow_the_channel,
    reports_survive_the_wire,
    tallies_agree_and_merge,
    words_tell_nothing,
)

__all__ = ["CHECKS", "Outputs", "check_mechanism", "outputs_of"]

CHECKS: tuple[Callable[[BlockMechanism], None], ...] = (
    blocks_are_written_as_the_columns_say,
    inclusions_equal_enumeration,
    flaws_are_what_the_alphabet_lacks,
    channel_equals_enumeration,
    epsilon_is_kept,
    estimate_is_unbiased,
    contributions_keep_their_range,
    errors_equal_enumeration,
    blocks_follow_the_law,
    members_and_noise_keep_their_rows,
    words_tell_nothing,
    reports_follow_the_channel,
    tallies_agree_and_merge,
    membership_is_what_blocks_contain,
    reports_survive_the_wire,
    devices_know_the_law,
)
"""One check for each requirement of block mechanisms; a check raises AssertionError with a sentence."""


def check_mechanism(mechanism: Any) -> None:
    """Check all requirements of a block mechanism.

    Args:
        mechanism: a mechanism over a small domain, at a moderate epsilon, so that draws can detect a wrong law.

    Raises:
        AssertionError: if a check fails; its sentence has the expected and the actual result.
        ParameterError: if it is not a block mechanism, or has too many blocks for an enumeration.

    Example:
        >>> import discreet
        >>> check_mechanism(discreet.RandomizedResponse(discreet.Domain(range(4), sensitive=[1, 3]), 1.0))
    """
    block_mechanism = BlockMechanism.checked(mechanism)
    for check in CHECKS:
        check(block_mechanism)
