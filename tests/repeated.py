"""Estimates of many collections at once, for tests of what happens in most of them."""

from collections.abc import Iterable
from typing import Any

from discreet import Tally, estimate_groups
from discreet.core.tally import GroupedTally
from discreet.mechanisms import BlockMechanism


def estimates(mechanism: BlockMechanism, tallies: Iterable[Tally]) -> Any:
    """Return the linear estimates of collections in rows: frequencies, errors and limits are ``(runs, |X|)``.

    Collections are groups of people to the estimator, which works all of them out together; test_groups.py holds that
    each is what it is alone.
    """
    grouped: Any = estimate_groups(mechanism, GroupedTally(("run",), dict(enumerate(tallies))))
    (found,) = grouped.estimates.stacks(mechanism.domain.size)
    return found
