"""The claim and its check are strangers: the check must hold for what is right and see what is not."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from matrices import rr_matrix, urr_matrix

from discreet import Channel, Domain, HadamardResponse, RandomizedResponse, UnaryEncoding
from discreet.mechanisms import BlockMechanism
from discreet.privacy.verify import matrix_epsilon, verify
from laws import BUILDERS, MEDIUM, SMALL, Case, cases, over

small_cases = over(cases(SMALL))
medium_cases = over(cases(MEDIUM, (1.0, 8.0)))


def fresh(case: Case) -> BlockMechanism:
    """A mechanism of one's own, to be broken."""
    return BUILDERS[case.builder](case.domain, case.epsilon)


def below(ratio: Fraction, epsilon: float) -> bool:
    with localcontext() as context:
        context.prec = 90
        return ratio <= Fraction(Decimal(epsilon).exp())


@small_cases
def test_every_promise_holds_and_the_matrix_agrees(case: Case) -> None:
    found = verify(case.mechanism)
    assert found.holds
    assert found.promised == case.epsilon
    assert found.notion == ("LDP" if case.domain.clear_count == 0 else "ULDP")
    assert below(found.ratio, case.epsilon)
    assert found.realised == pytest.approx(log(found.ratio), rel=1e-14)
    # Nothing is given away either: what is realised is what was asked for, nearly.
    assert found.realised == pytest.approx(case.epsilon, rel=1e-9)
    if case.builder == "unary-clear-bits":
        assert found.from_matrix is None
    else:
        assert found.from_matrix == pytest.approx(found.realised, abs=1e-9)


@medium_cases
def test_every_promise_holds_where_there_are_more_values(case: Case) -> None:
    found = verify(case.mechanism)
    assert found.holds
    assert below(found.ratio, case.epsilon)
    if found.from_matrix is not None:
        assert found.from_matrix == pytest.approx(found.realised, abs=1e-9)


@pytest.mark.parametrize("size", [40, 2000])
def test_matrices_too_large_are_left_out(size: int) -> None:
    found = verify(UnaryEncoding(Domain(range(size)), 1.0))
    assert found.from_matrix is None
    assert found.holds


@small_cases
def test_one_step_of_the_threshold_too_many_is_caught_by_the_integers(case: Case) -> None:
    """2^-64 more truth: no matrix of doubles can see that, the exact fraction does."""
    if case.mechanism.threshold == (1 << 64) - 1:
        return
    mechanism = fresh(case)
    mechanism.__dict__["threshold"] = mechanism.threshold + 1
    found = verify(mechanism)
    assert not found.holds
    assert not below(found.ratio, case.epsilon)
    assert found.from_matrix is None or found.from_matrix == pytest.approx(found.realised, abs=1e-9)


@small_cases
def test_a_threshold_too_high_is_caught_by_the_matrix_too(case: Case) -> None:
    mechanism = fresh(case)
    threshold = mechanism.threshold
    mechanism.__dict__["threshold"] = threshold + ((1 << 64) - threshold) // 1000
    found = verify(mechanism)
    assert not found.holds
    assert found.realised > case.epsilon + 1e-5
    if found.from_matrix is not None:
        assert found.from_matrix > case.epsilon + 1e-5


def test_a_matrix_that_is_not_what_the_integers_say_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The integers are fine, the outputs are not: only the matrix can tell."""
    mechanism = HadamardResponse(Domain(range(5), sensitive=[0, 1, 3]), 1.0)
    spelled = mechanism.channel().matrix.copy()
    more, less = np.flatnonzero(spelled[0] == spelled[0].max())[:2]
    spelled[0, more] += 1e-6
    spelled[0, less] -= 1e-6
    monkeypatch.setattr(HadamardResponse, "channel", lambda self: Channel(spelled, self.domain))
    found = verify(mechanism)
    assert found.realised <= 1.0
    assert found.from_matrix > 1.0 + 1e-9
    assert not found.holds


def test_an_output_that_tells_a_sensitive_value_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = RandomizedResponse(Domain(range(3), sensitive=[0, 1]), 1.0)
    spelled = np.hstack([mechanism.channel().matrix, np.zeros((3, 1))])
    spelled[0, 0] -= 1e-6
    spelled[0, -1] += 1e-6
    monkeypatch.setattr(RandomizedResponse, "channel", lambda self: Channel(spelled, self.domain))
    found = verify(mechanism)
    assert found.from_matrix == inf
    assert not found.holds


def test_a_mechanism_that_promises_less_than_it_does_is_caught() -> None:
    mechanism = RandomizedResponse(Domain(range(4)), 1.0)
    object.__setattr__(mechanism, "epsilon", 0.999)
    found = verify(mechanism)
    assert found.promised == 0.999
    assert not found.holds


def test_nothing_is_taken_from_the_guarantee_but_the_notion() -> None:
    mechanism = fresh(Case("rr", "5of5", 1.0))
    mechanism.__dict__["threshold"] = mechanism.threshold + (1 << 60)
    assert mechanism.guarantee.realised == pytest.approx(verify(mechanism).realised)
    sound = fresh(Case("rr", "5of5", 1.0))
    guarantee = sound.guarantee
    object.__setattr__(guarantee, "realised", 99.0)
    assert verify(sound).realised == pytest.approx(1.0)


def test_nobody_protected() -> None:
    mechanism = RandomizedResponse(Domain(range(3), sensitive=[], allow_unprotected=True), 1.0)
    found = verify(mechanism)
    assert (found.notion, found.promised, found.ratio, found.from_matrix, found.realised) == (
        "none",
        None,
        None,
        None,
        inf,
    )


# Explicit matrices


def test_explicit_channels() -> None:
    found = verify(Channel(rr_matrix(4, 1.5)))
    assert found.holds
    assert found.notion == "LDP"
    assert (found.promised, found.ratio) == (None, None)
    assert found.realised == found.from_matrix == pytest.approx(1.5, rel=1e-9)
    domain = Domain(range(5), sensitive=[0, 1])
    found = verify(Channel(urr_matrix(5, 2, 0.5), domain))
    assert (found.notion, bool(found.holds)) == ("ULDP", True)
    assert found.realised == pytest.approx(0.5, rel=1e-9)
    assert not verify(Channel(np.eye(3))).holds
    assert not verify(Channel(urr_matrix(5, 2, 0.5), Domain(range(5), sensitive=[0, 1, 4]))).holds


def test_channels_are_judged_by_the_integers_that_they_draw_with() -> None:
    """What is possible gets 2^-64 at least; the matrix as it was given would say 68.4."""
    matrix = np.array([[1 - 1e-30, 1e-30], [0.5, 0.5]])
    assert verify(Channel(matrix)).realised == pytest.approx(63 * log(2))
    assert matrix_epsilon(matrix, np.array([True, True])) == pytest.approx(log(0.5e30))
