"""Central guarantees of shuffled reports: printed figures, refusals, statuses."""

from math import exp, log
from typing import Any

import numpy as np
import pytest
from matrices import clear_pair, law_pair, truth_of

import discreet as dc
from discreet import Domain, RandomizedResponse, shuffled
from discreet.core.guarantee import rounded_down, rounded_up
from discreet.errors import ParameterError
from discreet.privacy.shuffling import delta
from discreet.privacy.shuffling_rounds import joint_epsilons_at_chance, pair_epsilon
from packing import each


def _bits(root: float) -> tuple[float, float, float]:
    d1 = 1 / (exp(root) + 1)
    return root, d1, d1


_SIZES = (10**3, 10**4, 10**6, 10**7)
_PRINTED: dict[str, tuple[Any, tuple[float, ...], tuple[float, ...], float]] = {
    "rr 3": (
        (3, 0.01, 0),
        (0.299621, 0.088962, 0.007383, 0.002067),
        (0.39981, 0.23764, 0.1797, 0.17607),
        0.17467,
    ),
    "oue 1": (
        _bits(1),
        (0.102464, 0.029735, 0.002391, 0.000651),
        (0.44961, 0.40025, 0.38151, 0.38032),
        0.37989,
    ),
    "subsets 1": (
        (1, 0.27, 26 / 99),
        (0.103084, 0.029917, 0.002406, 0.000655),
        (0.45089, 0.40151, 0.38275, 0.38157),
        0.38113,
    ),
    "hadamard 3": (
        (3, 0.5, 0.5),
        (0.576789, 0.156315, 0.013013, 0.003681),
        (2.66641, 2.45696, 2.36431, 2.35794),
        2.35544,
    ),
}


@pytest.mark.parametrize("name", _PRINTED)
def test_central_epsilons_are_the_printed_ones(name: str) -> None:
    """The printed ends are a lattice's, up to 3e-5 above these, whose gap is smaller still."""
    law, among, versus_clear, floor = _PRINTED[name]
    assert log((1 - 1e-6) / (1 - truth_of(*law[:2]))) == pytest.approx(floor, abs=6e-6)
    for n, one, other in zip(_SIZES, among, versus_clear, strict=True):
        for pair, printed, digit in ((law_pair(*law), one, 1e-6), (clear_pair(*law[:2]), other, 1e-5)):
            low, high = pair_epsilon(pair, n, 1e-6)
            assert low <= high <= 1.0002 * low
            assert high == pytest.approx(printed, rel=3e-5, abs=0.51 * digit)


def test_the_statuses_follow_from_the_printed_ends() -> None:
    alone = shuffled(dc.RandomizedResponse(dc.Domain(range(11), sensitive=range(10)), 2.0), n=1000)
    bits = shuffled(dc.UnaryEncoding(dc.Domain(range(10)), 2.0), n=1000)
    rare = shuffled(dc.RandomizedResponse(dc.Domain(range(3), sensitive=range(2)), 5.0), n=752, delta=0.0035)
    rounds = shuffled(dc.RandomizedResponse(dc.Domain(range(10)), 2.0), n=1000, rounds=30)
    found = [way for case in (alone, bits, rare, rounds) for way in (case.among, case.versus_clear)]
    for epsilon in (way for way in found if way is not None):
        lower, upper = float(rounded_down(epsilon.lower)), float(rounded_up(epsilon.upper))
        assert (epsilon.status == "exact") == (upper < 1e-6 or upper <= 1.01 * lower)
        assert epsilon.status.startswith("within") == (upper >= 1e-6 and 1.01 * lower < upper <= 1.25 * lower)
        if epsilon.status.startswith("within"):
            assert lower * (1 + int(epsilon.status[7:-1]) / 100) >= upper * (1 - 1e-12)
    assert bits.among.status.startswith("within ")
    # Towards the only value in clear nobody else's value is told apart from it: no data set is known to attain it.
    assert alone.versus_clear is not None
    assert 0 < alone.versus_clear.lower < 0.999 * alone.versus_clear.upper
    assert alone.among.status == rare.among.status == "exact"
    assert rare.among.lower <= 4.2102377 <= rare.among.upper


def test_delta_of_a_report_alone_is_that_of_the_channel() -> None:
    mechanism = dc.SubsetSelection(dc.Domain(range(7), sensitive=range(5)), 1.5, k=2)
    matrix = mechanism.channel().matrix
    for epsilon in (0.0, 0.4, 1.2, 3.0):
        found = delta(mechanism, 1, epsilon)
        assert found.among.upper == pytest.approx(np.maximum(matrix[0] - exp(epsilon) * matrix[1], 0).sum(), abs=1e-12)
        assert found.versus_clear is not None
        assert found.versus_clear.upper == pytest.approx(
            np.maximum(matrix[0] - exp(epsilon) * matrix[6], 0).sum(), abs=1e-12
        )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n": 1}, "n.too-few-hidden"),
        ({"n": 0}, "n must be an integer"),
        ({"n": 10.0}, "n must be an integer"),
        ({"n": 10, "not_trusted": 9}, "n.too-few-hidden"),
        ({"n": 10, "not_trusted": -1}, "not_trusted must be an integer"),
        ({"n": 10, "delta": 0}, "delta must be a number between"),
        ({"n": 10, "delta": 1.0}, "delta must be a number between"),
        ({"n": 10, "delta": float("nan")}, "delta must be a number between"),
        ({"n": 10, "rounds": 0}, "rounds must be an integer"),
        ({"n": 10, "rounds": 10**6}, "rounds must be an integer"),
    ],
)
def test_what_has_no_central_guarantee_is_refused(wrong: dict[str, Any], words: str) -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(10)), 2.0)
    with pytest.raises(ParameterError, match=words):
        shuffled(mechanism, **wrong)


def test_a_personalized_mechanism_is_judged_with_its_bots() -> None:
    places = dc.Domain(["clinic", "park", "mall", "gym"], sensitive=["clinic"])
    personalized = dc.Personalized(places, epsilon=2.0, tags=["home"])
    assert shuffled(personalized, 1000).among == shuffled(personalized.common, 1000).among
    assert shuffled(personalized, 1000).among.upper > 0


@each("domain", [dc.Domain(range(2)), dc.Domain(range(100), sensitive=range(5)), dc.Domain(range(3), sensitive=[0])])
@each("build", [dc.RandomizedResponse, dc.HadamardResponse, dc.UnaryEncoding])
@each("epsilon, n, delta", [(30.0, 100, 1e-6), (12.0, 1000, 1e-30), (40.0, 10**8, 1e-30), (0.001, 2, 1e-6)])
def test_nearly_no_noise_in_the_batch_has_at_most_the_local_epsilon(
    build: Any, domain: dc.Domain, epsilon: float, n: int, delta: float
) -> None:
    """Where all but certainly nobody else made noise, no digit is left to work with, and no error comes of it."""
    central = shuffled(build(domain, epsilon=epsilon), n, delta)
    for found in (central.among, central.versus_clear):
        if found is not None:
            assert 0 <= found.lower <= found.upper <= central.local * (1 + 1e-12)


def test_any_epsilon_of_at_least_0_has_a_delta() -> None:
    """Also where e^epsilon is no float; nothing is told beyond the local epsilon."""
    central = shuffled(dc.RandomizedResponse(dc.Domain(range(10), sensitive=range(5)), 2.0), 100)
    found = central.delta_at(1e4)
    assert found.among == (0.0, 0.0)
    assert found.versus_clear == (0.0, 0.0)


def test_rounds_of_what_tells_all_but_nothing() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(10), sensitive=range(5)), 1e-9)
    assert shuffled(mechanism, 100, rounds=2).among.upper == 0.0


@pytest.mark.parametrize("epsilon", [0.1, 3.0])
def test_rounds_of_one_protected_value_cost_their_sum(epsilon: float) -> None:
    """No number of reports hides the one value from a reader who knows that all others answer in clear."""
    mechanism = RandomizedResponse(Domain(range(6), sensitive=[0]), epsilon)
    for rounds in (1, 3, 12):
        central = shuffled(mechanism, 100, rounds=rounds)
        assert central.among.upper == 0
        assert central.versus_clear.upper == pytest.approx(rounds * mechanism.guarantee.realised, rel=1e-4)
    curve = shuffled(mechanism, 100).curve_versus_clear
    assert joint_epsilons_at_chance([curve, curve], [[0, 1]], 1e-6) == [pytest.approx(2 * epsilon, rel=1e-3)]
