"""Simultaneous intervals of two values: one comparison where both values are one number, two where they are not."""

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet import Tally
from discreet.mechanisms import BlockMechanism

YES = dc.Domain(["yes", "no"])
SECRET = dc.Domain(["yes", "no"], sensitive=["yes"])
ONE = [
    dc.RandomizedResponse(YES, 1.0),
    dc.RandomizedResponse(SECRET, 1.0),
    dc.SubsetSelection(YES, 1.0),
]
TWO = [
    dc.UnaryEncoding(YES, 1.0),
    dc.UnaryEncoding(SECRET, 1.0),
    dc.RandomizedResponse(dc.Domain(["a", "b", "c"]), 1.0),
]


def estimate(mechanism: BlockMechanism, n: int, ones: int) -> dc.Estimate:
    codes = (np.arange(n) < ones).astype(int)
    return dc.estimate(mechanism, mechanism.obfuscate_codes(codes, random=dc.SeededRandom(1)))


@pytest.mark.parametrize("mechanism", ONE, ids=lambda one: one.name)
@pytest.mark.parametrize(("n", "ones"), [(50, 0), (300, 3), (1000, 500)])
def test_one_number_has_one_interval(mechanism: BlockMechanism, n: int, ones: int) -> None:
    found = estimate(mechanism, n, ones)
    alone, together = found.limits(0.9), found.limits(0.9, simultaneous=True)
    assert np.array_equal(alone, together)
    assert together[0] == pytest.approx(1 - together[1][::-1], abs=1e-9)


@pytest.mark.parametrize("mechanism", TWO, ids=lambda one: one.name)
def test_two_numbers_have_wider_intervals_together(mechanism: BlockMechanism) -> None:
    found = estimate(mechanism, 1000, 500)
    (low, high), (low_both, high_both) = found.limits(0.9), found.limits(0.9, simultaneous=True)
    assert (low_both < low).all()
    assert (high_both > high).all()


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5])
def test_both_hold_at_once_as_often_as_they_say(share: float) -> None:
    """Every tally of 60 reports, each with its probability."""
    mechanism, n = ONE[0], 60
    told = float(np.array([share, 1 - share]) @ mechanism.channel().matrix[:, 0])
    held = 0.0
    for count, probability in enumerate(binom.pmf(np.arange(n + 1), n, told)):
        tally = Tally(mechanism.fingerprint, n, np.array([count, n - count]), np.zeros(0, np.int64))
        low, high = dc.estimate(mechanism, tally).interval(0.9, simultaneous=True)
        held += probability * bool(((low <= [share, 1 - share]) & ([share, 1 - share] <= high)).all())
    assert 0.88 <= held <= 0.95
