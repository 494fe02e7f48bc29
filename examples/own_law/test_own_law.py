"""What discreet asks of every block mechanism, asked of this one."""

from collections.abc import Callable
from typing import Any

import pytest
from own_law import Exclusion

from discreet import Domain, SubsetSelection
from discreet.testing import CHECKS


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    "domain", [Domain(range(4)), Domain(range(6), sensitive=[0, 2, 3, 5]), Domain(range(9), sensitive=[0, 8])], ids=repr
)
def test_promises_are_kept(check: Callable[[Any], None], domain: Domain) -> None:
    """Every check of the contract, over domains in which everything is sensitive, much, or little."""
    check(Exclusion(domain, 0.7))


def test_it_is_subset_selection_in_fewer_bytes() -> None:
    """Its blocks are those of subset selection with k = v - 1."""
    domain = Domain(range(6), sensitive=[0, 2, 3, 5])
    ours, subsets = Exclusion(domain, 0.7), SubsetSelection(domain, 0.7, k=3)
    assert ours.decoder.worst_case_mse(10) == pytest.approx(subsets.decoder.worst_case_mse(10))
    assert ours.bytes_per_report(0.5) < subsets.bytes_per_report(0.5)
