"""What is no argument is refused when it is given, by name and in one sentence; what is one is taken as it is meant."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet import (
    METHODS,
    BlockDesign,
    Domain,
    Personalized,
    RandomizedResponse,
    SeededRandom,
    UnaryEncoding,
    estimate,
)
from discreet.errors import MismatchError, ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.planning.compare import compare_mechanisms
from discreet.privacy.composition import integrated, sequential
from discreet.privacy.notions import smallest_epsilon
from discreet.risk.scores.pse import pse_of_matrix
from packing import each
from refusals import refused

DOMAIN = Domain(["a", "b", "c", "d"], sensitive=["a", "b"])
PLAIN = Domain(["a", "b", "c", "d"])
MECHANISM = RandomizedResponse(DOMAIN, 1.0)
REPORTS = MECHANISM.obfuscate(["a", "b", "c", "d"] * 50, random=SeededRandom(1))


def test_batches_hold_every_code_once() -> None:
    for codes in (list(range(4)) * 5, np.arange(20) % 4, range(4)):
        for size in (1, 3, np.int64(7), None):
            assert sum(batch.n for batch in MECHANISM.obfuscate_batches(codes, size=size)) == len(codes)


@pytest.mark.parametrize("method", ["threshold", "em"])
@pytest.mark.parametrize("significance", ["0.05", "x", True, None, np.nan, 0, 1, [0.05], 1j], ids=repr)
def test_significance(method: str, significance: Any) -> None:
    assert "significance must be a number" in refused(
        ParameterError, lambda: estimate(MECHANISM, REPORTS, method=method, significance=significance)
    )


@pytest.mark.parametrize("tolerance", ["x", "1e-6", np.nan, np.inf, 0, -1, True, [1e-6]], ids=repr)
def test_tolerance(tolerance: Any) -> None:
    assert "tolerance must be a finite number" in refused(
        ParameterError, lambda: estimate(MECHANISM, REPORTS, method="mle", tolerance=tolerance)
    )


# Epsilon and theta at their ends


@each("epsilon", [5e-324, 1e-300, 1e-30, 5e-20])
@each("name", [name for name, cls in BLOCK_MECHANISMS.items() if not cls.needs_options()])
def test_an_epsilon_too_small_for_any_truth(name: str, epsilon: float) -> None:
    for domain in (DOMAIN, PLAIN, Domain(["a", "b"], sensitive=["a"])):
        message = refused(ParameterError, lambda given=domain: BLOCK_MECHANISMS[name](given, epsilon))
        assert f"epsilon={epsilon!r} is so small" in message


def test_the_least_epsilon_of_a_design_is_no_larger_than_before() -> None:
    # S is floor(2^64 s), and this is the least for which it is 1 where v = 1.
    domain = Domain(["a", "b"], sensitive=["a"])
    assert 0 < BlockDesign(domain, 2.0**-63).guarantee.realised <= 2.0**-63


@each("epsilon", [1.0, 37.0, 50.0, 100.0, 200.0])
@each("size", [1, 2, 5])
@each("clear_bits", [False, True])
def test_the_best_theta_is_never_refused(epsilon: float, size: int, clear_bits: bool) -> None:
    domain = Domain(range(8), sensitive=range(size))
    mechanism = UnaryEncoding(domain, epsilon, theta="optimal", clear_bits=clear_bits)
    assert 0 < mechanism.guarantee.realised <= epsilon
    near = [UnaryEncoding(domain, epsilon, clear_bits=clear_bits)]
    near += [UnaryEncoding(domain, epsilon, theta=one, clear_bits=clear_bits) for one in (0.5, 0.9) if epsilon < 30]
    assert all(mechanism.decoder.worst_case_mse(1) <= other.decoder.worst_case_mse(1) * (1 + 1e-6) for other in near)


@pytest.mark.parametrize("given", [10**5000, "x" * 5000], ids=["number", "text"])
def test_what_is_very_long_is_not_quoted(given: Any) -> None:
    assert len(refused(ParameterError, lambda: RandomizedResponse(DOMAIN, given))) < 200
    assert len(refused(ParameterError, lambda: MECHANISM.obfuscate_batches([0], size=given))) < 200
    assert len(refused(ParameterError, lambda: estimate(MECHANISM, REPORTS, method=given))) < 200


# Composition


def test_an_ldp_report_to_another_collector_is_over_a_domain_of_its_own() -> None:
    own, other = RandomizedResponse(DOMAIN, 0.6), RandomizedResponse(PLAIN, 0.9)
    found = integrated(own.channel(), other.channel())
    assert found.notion == "ULDP"
    assert own.guarantee.realised + other.guarantee.realised == pytest.approx(found.epsilon, abs=1e-12)
    assert found.channel.domain == DOMAIN
    same = integrated(own, other)
    assert same.ratio == found.ratio
    # What is promised is what the pair of reports has.
    assert smallest_epsilon(found.weights.astype(object), "ULDP", sensitive=DOMAIN.sensitive).epsilon <= found.epsilon


def test_composition_refuses_other_values_and_what_is_no_channel() -> None:
    other = RandomizedResponse(Domain(["a", "b", "c", "x"]), 0.9)
    refused(MismatchError, lambda: integrated(MECHANISM, other))
    reordered = RandomizedResponse(Domain(["b", "a", "c", "d"]), 0.9)
    refused(MismatchError, lambda: integrated(MECHANISM, reordered))
    assert "LDP" in refused(ParameterError, lambda: integrated(MECHANISM, MECHANISM))
    for nothing in (None, "rr", np.eye(4), {1}):
        refused(ParameterError, lambda given=nothing: integrated(given, MECHANISM))
        refused(ParameterError, lambda given=nothing: sequential(MECHANISM, given))


# Scores


@pytest.mark.parametrize("power", [1019, 1020, 1021, 1022])
def test_scores_of_any_size_tell_the_same(power: int) -> None:
    scores = np.random.default_rng(1).uniform(-1, 1, (8, 8)) + np.eye(8) / 2
    small, large = (pse_of_matrix(scores * scale, halves=4, random=SeededRandom(1)) for scale in (1.0, 2.0**power))
    assert large.certified == small.certified
    assert large.info_nce == small.info_nce
    assert large.paper is not None
    assert large.paper.bits == pytest.approx(small.paper.bits)


# Names


@pytest.mark.parametrize(
    ("attempt", "known", "meant"),
    [
        (lambda name: estimate(MECHANISM, REPORTS, method=name("linear")), METHODS, "linear"),
        (lambda name: Personalized(DOMAIN, 1.0, ["home"], mechanism=name("unary")), BLOCK_MECHANISMS, "unary"),
        (
            lambda name: compare_mechanisms(DOMAIN, 1.0, 100, target=name("worst-case") or 0),
            ["sensitive-mass"],
            "worst-case",
        ),
        (lambda name: smallest_epsilon(MECHANISM.channel(), name("ULDP")), ["OSLDP"], "ULDP"),
        (
            lambda name: estimate(MECHANISM, REPORTS, method="threshold", remainder=name("uniform")),
            ["zero"],
            "uniform",
        ),
    ],
    ids=["method", "mechanism", "target", "notion", "remainder"],
)
def test_unknown_names_list_the_known_ones(
    attempt: Callable[[Callable[[str], Any]], Any], known: list[str], meant: str
) -> None:
    message = refused(ParameterError, lambda: attempt(lambda name: f"{name[:-2]}{name[-1]}"))
    assert all(name in message for name in known)
    assert f"perhaps {meant!r} was meant" in message
    message = refused(ParameterError, lambda: attempt(lambda _: "zzzzzz"))
    assert "meant" not in message
    for nothing in (None, 5, ["x"], {}):
        refused(ParameterError, lambda given=nothing: attempt(lambda _: given))
