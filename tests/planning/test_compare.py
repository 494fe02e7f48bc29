"""The comparison says what the mechanisms say, and recommends the least error."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from inspect import signature
from itertools import product
from math import sqrt
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.errors import DataError, ParameterError
from discreet.formats.plan import Plan
from discreet.mechanisms import (
    BLOCK_MECHANISMS,
    UnaryEncoding,
)
from discreet.planning.best import best
from discreet.planning.candidates import Candidate, Wishes
from discreet.planning.compare import MechanismComparison, alternative, compare_mechanisms, recommended
from discreet.planning.losses import exact_l1, normal_l1, reports_for_standard_error, worst_normal_l1, worst_variance
from discreet.theory.optimum import optimal_design, optimal_theta
from refusals import refused

DOMAINS = {
    "some": Domain(range(30), sensitive=[1, 2, 3, 5, 8, 13, 21]),
    "one": Domain(range(30), sensitive=[4]),
    "all": Domain(range(30)),
    "most": Domain(range(30), sensitive=range(1, 30)),
}
every = pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
several_epsilons = pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0, 6.0])


@cache
def compared(domain: Domain, epsilon: float, mass: float) -> MechanismComparison:
    return compare_mechanisms(domain, epsilon, 1000, target="worst-case", sensitive_mass=mass, within=0)


def masses(domain: Domain) -> list[float]:
    return [0.0, 0.05, 0.6, 1.0] if domain.clear_count else [1.0]


@every
@several_epsilons
def test_numbers_are_those_of_the_mechanisms(domain: Domain, epsilon: float) -> None:
    n = 1000
    for mass in masses(domain):
        found = compared(domain, epsilon, mass)
        even = np.where(domain.sensitive, mass / domain.sensitive_count, (1 - mass) / max(domain.clear_count, 1))
        rare = even.copy()
        lost, *others = domain.sensitive_codes
        rare[others] += rare[lost] / max(len(others), 1)
        rare[lost] = 0
        for one in found.candidates:
            mechanism = one.mechanism
            assert mechanism.domain == domain
            assert mechanism.epsilon == epsilon
            assert one.worst_mse == mechanism.decoder.worst_case_mse(n)
            assert one.assumed_mse == pytest.approx(mechanism.decoder.mse(n, even), rel=1e-12)
            assert one.bytes == mechanism.bytes_per_report(mass)
            if others:
                errors = mechanism.decoder.standard_errors(n, rare)
                assert one.sensitive_error == pytest.approx(errors[lost], rel=1e-12)
            if domain.clear_count:
                errors = mechanism.decoder.standard_errors(n, even)
                assert one.clear_error == pytest.approx(errors[domain.clear_codes[0]], rel=1e-12, abs=1e-12)
            else:
                assert one.clear_error is None


@every
def test_every_mechanism_is_there_once(domain: Domain) -> None:
    found = compare_mechanisms(domain, 1.0, 1000)
    enough = [name for name, cls in BLOCK_MECHANISMS.items() if not (cls.needs_options() or cls.of_neighbours)]
    planes = ["translates, best plane"] if domain.sensitive_count > 7 else []
    names = [*enough, "unary, theta=1/2", "unary, best theta", *planes]
    assert [one.name for one in found.candidates] == names
    assert set(BLOCK_MECHANISMS) - set(enough) == {"translates", "windows"}
    for one in found.candidates[: len(enough)]:
        cls = BLOCK_MECHANISMS[one.name]
        wanted = cls(domain, 1.0, **cls.proposed)  # type: ignore[call-arg]
        assert one.mechanism.fingerprint == wanted.fingerprint
    half, tuned = found.candidates[len(enough) :][:2]
    assert half.mechanism.fingerprint == UnaryEncoding(domain, 1.0, theta=0.5, digits="few").fingerprint
    theta = optimal_theta(domain.sensitive_count, domain.size, 1.0).theta
    assert tuned.mechanism.fingerprint == UnaryEncoding(domain, 1.0, theta=theta, digits="few").fingerprint


@every
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_both_numbers_of_digits_are_shown_and_few_are_proposed(domain: Domain, epsilon: float) -> None:
    found = compare_mechanisms(domain, epsilon, 1000)
    # A bit that noise sets as often as not has one digit anyhow.
    best_theta = [] if domain.sensitive_count == 1 else ["unary, best theta"]
    assert [*found.usual] == ["unary", "unary, theta=1/2", *best_theta]
    names = [one.name for one in found.rows]
    for name, usual in found.usual.items():
        few = found.candidates[[one.name for one in found.candidates].index(name)]
        assert names[names.index(name) + 1] == usual.name == f"{name}, default digits"
        assert (few.mechanism.digits, usual.mechanism.digits) == ("few", None)
        assert few.mechanism.theta == usual.mechanism.theta
        assert f"digits={few.mechanism.law.depth}" in few.options
        assert f"digits={usual.mechanism.law.depth}" in usual.options
        assert few.mechanism.law.depth < usual.mechanism.law.depth
        assert few.worst_mse <= usual.worst_mse * (1 + 2**-10)
    assert len(found.columns()["mechanism"]) == len(found.rows) == len(found.candidates) + len(found.usual)
    assert "digits" not in (found.best_worst.name + found.best_assumed.name + found.least.name)


@every
@several_epsilons
def test_recommendations_have_the_least_error(domain: Domain, epsilon: float) -> None:
    for mass in masses(domain):
        found = compared(domain, epsilon, mass)
        assert found.best is found.best_worst
        assert found.best_worst in found.candidates
        assert found.best_assumed in found.candidates
        least, least_assumed = (min(one.error(worst=worst) for one in found.candidates) for worst in (True, False))
        assert least <= found.best_worst.worst_mse <= least * (1 + 1e-9)
        assert least_assumed <= found.best_assumed.assumed_mse <= least_assumed * (1 + 1e-9)
        assert not any(
            one.largest_bytes < found.best.largest_bytes and one.worst_mse == least for one in found.candidates
        )
        assert found.least.worst_mse == found.best.worst_mse


@every
@several_epsilons
def test_recommendations_are_the_smallest_reports_of_little_error(domain: Domain, epsilon: float) -> None:
    """What is near the least error is all that changes the choice: the candidates are the same, and made once."""
    for mass in masses(domain):
        found = compared(domain, epsilon, mass)
        for worst, by_default in ((True, found.best_worst), (False, found.best_assumed)):
            assert recommended(found.candidates, 0, worst=worst) is by_default
        for within, worst in product((0.0, 0.01, 0.05, 0.5), (True, False)):
            chosen = recommended(found.candidates, within, worst=worst)
            least = min(one.error(worst=worst) for one in found.candidates)
            near = [one for one in found.candidates if one.error(worst=worst) <= least * (1 + within) * (1 + 1e-9)]
            assert chosen in near
            assert chosen.largest_bytes == min(one.largest_bytes for one in near)
            small = [one for one in near if one.largest_bytes == chosen.largest_bytes]
            assert chosen.error(worst=worst) <= min(one.error(worst=worst) for one in small) * (1 + 1e-9)


def test_a_report_of_151_kilobytes_is_not_recommended() -> None:
    """1e5 values at epsilon = 0.5: hashing has 0.94% more error than subsets, in 12 bytes."""
    domain = Domain(range(100_000))
    found = compare_mechanisms(domain, 0.5, 100_000)
    assert (found.best.name, found.best.largest_bytes) == ("hashing", 12)
    assert found.least.name == "subset"
    assert found.best.worst_mse / found.least.worst_mse == pytest.approx(1.0094, abs=1e-4)
    assert "0.9% more than the least of all compared (subset (k=37754), up to 151,016 bytes a report)" in (
        found.recommendation
    )
    assert found.recommendation.endswith("a report takes at most 12 bytes, the smallest within 5% of the least error.")
    assert best(domain, 0.5).fingerprint == found.best.mechanism.fingerprint
    heavier = compare_mechanisms(domain, 0.5, 100_000, within=0.009)
    assert (heavier.best.name, heavier.best.largest_bytes) == ("unary, theta=1/2", 12_500)
    assert "the smallest within 0.9% of the least error" in heavier.recommendation
    heavy = compare_mechanisms(domain, 0.5, 100_000, within=0)
    assert (heavy.best.name, heavy.best.largest_bytes) == ("subset", 151_016)
    assert heavy.recommendation.endswith("a report takes at most 151,016 bytes.")
    assert best(domain, 0.5, within=0).fingerprint == heavy.best.mechanism.fingerprint


def made(one: Candidate, name: str, **numbers: float) -> Candidate:
    """Return a candidate with other numbers."""
    worst, assumed = replace(one.worst, mse=numbers["worst"]), replace(one.assumed, mse=numbers["assumed"])
    size = int(numbers.get("size", 4))
    uniform = numbers["uniform"]
    return replace(one, name=name, worst=worst, assumed=assumed, uniform_mse=uniform, largest_bytes=size, bytes=size)


def test_ties_of_the_worst_case_go_to_the_one_that_dominates_elsewhere() -> None:
    one = compare_mechanisms(DOMAINS["some"], 1.0, 100).candidates[0]
    first = made(one, "first", worst=1.0, assumed=0.8, uniform=0.9)
    better = made(one, "better", worst=1.0 + 1e-12, assumed=0.8, uniform=0.7)
    heavy = made(one, "heavy", worst=0.99, assumed=0.1, uniform=0.1, size=5)
    assert recommended([first, better, heavy], 0.05, worst=True) is better
    assert recommended([better, heavy, first], 0.05, worst=True) is better
    assert recommended([first, better, heavy], 0, worst=True) is heavy
    # Rival: less error where it counts is no tie.
    worse = made(one, "worse", worst=1.01, assumed=0.1, uniform=0.1)
    assert recommended([worse, first, better], 0.05, worst=True) is better
    same = made(one, "same", worst=1.0, assumed=0.8, uniform=0.9)
    assert recommended([first, same], 0.05, worst=True) is first
    assert recommended([better, first], 0.05, worst=False) is better


def test_a_mechanism_that_is_nearly_best_and_better_elsewhere_is_named() -> None:
    domain = Domain(range(400), sensitive=range(76))
    found = compare_mechanisms(domain, 4.0, 100_000)
    assert found.alternative is not None
    assert found.alternative.name == "hashing"
    uniform = np.full(400, 1 / 400)
    ratio = found.alternative.mechanism.decoder.mse(9, uniform) / found.best.mechanism.decoder.mse(9, uniform)
    assert ratio == pytest.approx(0.789, abs=5e-4)
    assert found.alternative.worst_mse < 1.05 * found.least.worst_mse
    assert found.recommendation.endswith(
        "; hashing (g=40) has 1.9% more error in the worst case and 21.1% less where all values are equally frequent, "
        "with up to 12 bytes a report."
    )
    p = np.where(domain.sensitive, 0.05 / 76, 0.95 / 324)
    mass = compare_mechanisms(domain, 4.0, 100_000, target="worst-case", sensitive_mass=0.05)
    known = compare_mechanisms(domain, 4.0, 100_000, target="worst-case", p=p)
    assert "25.1% less at the given sensitive share, with" in mass.recommendation
    assert "25.1% less at the given distribution, with" in known.recommendation
    # Nothing is 10% better at epsilon = 1, and what is best for the distribution needs no alternative.
    assert compare_mechanisms(domain, 1.0, 100_000).alternative is None
    assert compare_mechanisms(domain, 4.0, 100_000, target="distribution", p=p).alternative is None


def test_an_alternative_must_be_near_the_worst_case_and_a_tenth_better() -> None:
    one = compare_mechanisms(DOMAINS["some"], 1.0, 100).candidates[0]
    chosen = made(one, "chosen", worst=1.02, assumed=1.0, uniform=1.0)
    far = made(one, "far", worst=1.06, assumed=0.1, uniform=0.1)
    little = made(one, "little", worst=1.0, assumed=0.91, uniform=0.91)
    enough = made(one, "enough", worst=1.05, assumed=0.95, uniform=0.89)
    assert alternative([chosen, far, little], chosen, 0.05, known=False) is None
    assert alternative([chosen, far, little, enough], chosen, 0.05, known=False) is enough
    assert alternative([chosen, far, little, enough], chosen, 0.05, known=True) is None
    # Who wants the least error hears of what costs up to 5% all the same; who allows more hears of more.
    assert alternative([chosen, far, little, enough], chosen, 0.0, known=False) is enough
    assert alternative([chosen, far, little, enough], chosen, 0.1, known=False) is far


@every
def test_errors_fall_with_the_number_of_people(domain: Domain) -> None:
    few, many = compare_mechanisms(domain, 1.0, 100), compare_mechanisms(domain, 1.0, 10_000)
    for one, other in zip(few.candidates, many.candidates, strict=True):
        assert one.bytes == other.bytes
        if one.worst.pool_bias and domain.sensitive_count > 1:
            assert other.worst_mse < one.worst_mse < 100 * other.worst_mse
            continue
        assert one.worst_mse == pytest.approx(100 * other.worst_mse)
        assert one.sensitive_error == pytest.approx(10 * other.sensitive_error)


def test_the_mass_that_nobody_gave() -> None:
    found = compare_mechanisms(DOMAINS["some"], 1.0, 1000)
    assert (found.sensitive_mass, found.assumed) == (0.05, True)
    given = compare_mechanisms(DOMAINS["some"], 1.0, 1000, target="worst-case", sensitive_mass=0.05)
    assert not given.assumed
    assert [one.assumed_mse for one in given.candidates] == [one.assumed_mse for one in found.candidates]
    plain = compare_mechanisms(DOMAINS["all"], 1.0, 1000)
    assert (plain.sensitive_mass, plain.assumed) == (1.0, True)


def test_a_single_value() -> None:
    found = compare_mechanisms(Domain(["only"]), 1.0, 10)
    assert all(np.isfinite(one.worst_mse) for one in found.candidates)
    assert all(one.worst.excess is None for one in found.candidates)
    assert found.recommendation.startswith("Use rr: ")


# Losses


def given(domain: Domain) -> Any:
    return np.random.default_rng(2).dirichlet(np.full(domain.size, 0.5))


@every
@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_losses_are_those_of_the_planning_functions(domain: Domain, epsilon: float) -> None:
    n, p = 700, given(domain)
    for one in compare_mechanisms(domain, epsilon, n, target="distribution", p=p).candidates:
        mechanism = one.mechanism
        assert one.assumed.mse == pytest.approx(mechanism.decoder.mse(n, p), rel=1e-9)
        assert one.assumed.l1 == pytest.approx(normal_l1(mechanism, n, p), rel=1e-9)
        assert one.assumed.standard_error == pytest.approx(mechanism.decoder.standard_errors(n, p).max(), rel=1e-9)
        assert one.assumed.excess is None
        worst = worst_normal_l1(mechanism, n)
        assert (one.worst.mse, one.worst.l1) == (mechanism.decoder.worst_case_mse(n), worst.value)
        assert one.worst.standard_error == sqrt(worst_variance(mechanism, n) / n)
        best_of_all = optimal_design(domain.sensitive_count, domain.size, epsilon)
        assert one.worst.excess == pytest.approx(mechanism.decoder.worst_case_mse(n) * n / best_of_all.value, rel=1e-12)
        assert one.assumed.mse <= one.worst.mse
        assert one.assumed.l1 <= one.worst.l1
        assert one.assumed.standard_error <= one.worst.standard_error * (1 + 1e-12)
        if (domain.clear_count == 0 or one.name == "rr") and not mechanism.numbers.pool_bias:
            assert one.assumed.exact_l1 == pytest.approx(exact_l1(mechanism, n, p / p.sum()), rel=1e-12)
            assert one.worst.exact_l1 == pytest.approx(one.worst.l1, rel=0.05)
        else:
            assert one.assumed.exact_l1 is None or mechanism.numbers.conditional_inclusion == 0


@every
def test_nothing_has_less_than_the_bound_at_its_mass(domain: Domain) -> None:
    for mass in masses(domain):
        found = compare_mechanisms(domain, 1.0, 50, target="sensitive-mass", sensitive_mass=mass)
        if found.bounds.assumed:
            assert all(one.assumed.excess >= 1 - 1e-9 for one in found.candidates)  # type: ignore[operator]
            bound = optimal_design(domain.sensitive_count, domain.size, 1.0, sensitive_mass=mass).value / 50
            assert found.best.assumed.excess == pytest.approx(found.best.assumed_mse / bound, rel=1e-12)


# Targets


def test_parameters_are_tuned_for_the_mass() -> None:
    """Block sizes near v/(1 + sqrt(E)) if hardly anybody is sensitive, near v/(1 + E) in the worst case."""
    domain = Domain(range(400), sensitive=range(76))
    worst = compare_mechanisms(domain, 2.0, 100, within=0)
    tuned = compare_mechanisms(domain, 2.0, 100, target="sensitive-mass", sensitive_mass=0.0, within=0)
    sizes = [one.mechanism.law.describe()["count"] for one in tuned.candidates if one.mechanism.name == "design"]
    assert sizes[0] in (9, 10)
    assert sizes[1] in (20, 21)
    assert (tuned.best.name, tuned.best.options) == ("design, known mass", "sensitive_mass=0")
    assert tuned.best.assumed.excess == pytest.approx(1, rel=1e-6)
    assert tuned.best.assumed_mse < worst.best_assumed.assumed_mse
    assert tuned.best.worst_mse > worst.best_worst.worst_mse
    thetas = [one.options for found in (worst, tuned) for one in found.candidates if one.name == "unary, best theta"]
    assert thetas[0] != thetas[1]


def test_best_is_that_of_the_comparison() -> None:
    domain = Domain(range(400), sensitive=range(76))
    p = np.where(domain.sensitive, 0.05 / 76, 0.95 / 324)
    for known, target in (
        ({}, "worst-case"),
        ({"sensitive_mass": 0.05}, "sensitive-mass"),
        ({"p": p}, "distribution"),
        ({"largest_report": 4}, "worst-case"),
        ({"within": 0}, "worst-case"),
        ({"within": 1.0, "sensitive_mass": 0.05}, "sensitive-mass"),
    ):
        wanted = compare_mechanisms(domain, 2.0, 10**9, target=target, **known).best.mechanism  # type: ignore[arg-type]
        assert best(domain, 2.0, **known).fingerprint == wanted.fingerprint  # type: ignore[arg-type]
    assert best(domain, 2.0, p=p).fingerprint == best(domain, 2.0, sensitive_mass=0.05).fingerprint


def test_an_even_distribution_is_its_mass() -> None:
    domain = DOMAINS["some"]
    p = np.where(domain.sensitive, 0.2 / 7, 0.8 / 23)
    by_mass = compare_mechanisms(domain, 1.0, 10, target="sensitive-mass", sensitive_mass=0.2)
    by_p = compare_mechanisms(domain, 1.0, 10, target="distribution", p=p)
    assert by_p.sensitive_mass == pytest.approx(0.2)
    for one, other in zip(by_mass.candidates, by_p.candidates, strict=True):
        # Who gives a distribution gets as many functions as it takes.
        tuned = one.name == "hashing-pool"
        assert one.assumed_mse == pytest.approx(other.assumed_mse, rel=0.02 if tuned else 1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"target": "distribution"},
        {"target": "sensitive-mass", "p": np.full(30, 1 / 30)},
        {"target": "best"},
        {"sensitive_mass": 0.1, "p": np.full(30, 1 / 30)},
        {"target": "distribution", "p": np.full(30, 1 / 29)},
        {"target": "distribution", "p": [1.0]},
        {"largest_report": 0},
        {"largest_report": float("nan")},
        {"largest_report": "4"},
        {"standard_error": -1.0},
        {"standard_error": float("inf")},
        {"standard_error": 1e-300},
        {"reports_per_user": 0},
        {"reports_per_user": 1.5},
        {"reports_per_user": True},
        {"reports_per_user": 1 << 62},
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused(options: Any) -> None:
    refused(ParameterError, lambda: compare_mechanisms(DOMAINS["some"], 1.0, 100, **options))


# Size of a report


@every
def test_no_report_is_larger_than_the_largest(domain: Domain) -> None:
    for one in compare_mechanisms(domain, 1.0, 100).candidates:
        reports = one.mechanism.obfuscate(domain.sensitive_codes[[0] * 50], random=SeededRandom(1))
        assert sum(column.nbytes for column in reports.blocks.values()) / 50 <= one.largest_bytes
        assert one.bytes <= one.largest_bytes


def test_large_reports_do_not_compete() -> None:
    domain = Domain(range(400), sensitive=range(76))
    free = compare_mechanisms(domain, 1.0, 100, within=0)
    tight = compare_mechanisms(domain, 1.0, 100, largest_report=9, within=0)
    assert free.best.largest_bytes > 9
    assert tight.best.largest_bytes <= 9
    assert [one.fits for one in tight.candidates] == [one.largest_bytes <= 9 for one in free.candidates]
    assert tight.best.worst_mse == min(one.worst_mse for one in tight.candidates if one.fits)
    assert "whose reports take at most 9 bytes" in tight.recommendation
    message = refused(ParameterError, lambda: compare_mechanisms(domain, 1.0, 100, largest_report=0.5))
    assert "the smallest takes 2" in message


# Several reports


@pytest.mark.parametrize("t", [2, 3, 7])
def test_several_reports_share_epsilon(t: int) -> None:
    domain, epsilon = DOMAINS["some"], 1.0
    found = compare_mechanisms(domain, epsilon, 100, reports_per_user=t, standard_error=0.01)
    each = found.candidates[0].mechanism.epsilon
    assert each == pytest.approx(epsilon / t)
    assert Fraction(each) * t <= Fraction(epsilon)
    alone = compare_mechanisms(domain, each, 100 * t, standard_error=0.01)
    for one, other in zip(found.candidates, alone.candidates, strict=True):
        assert (one.worst, one.assumed, one.bytes) == (other.worst, other.assumed, other.bytes)
        assert one.users_needed is not None
        assert other.users_needed is not None
        assert 0 <= one.users_needed * t - other.users_needed < t


# Users needed


@every
def test_users_needed(domain: Domain) -> None:
    assert all(one.users_needed is None for one in compare_mechanisms(domain, 1.0, 10).candidates)
    for one in compare_mechanisms(domain, 1.0, 10, standard_error=0.01).candidates:
        if one.users_needed is None:
            assert sqrt(worst_variance(one.mechanism, 1 << 53) / (1 << 53)) > 0.01
            continue
        assert one.users_needed == reports_for_standard_error(one.mechanism, 0.01)
    p = given(domain)
    found = compare_mechanisms(domain, 1.0, 10, target="distribution", p=p, standard_error=0.01)
    for one in found.candidates:
        if one.users_needed is None:
            assert one.mechanism.decoder.standard_errors(1 << 53, p).max() > 0.01
            continue
        again = one.mechanism.decoder.standard_errors(one.users_needed, p).max()
        assert again <= 0.01 * (1 + 1e-9)
    assert f"{found.best.users_needed:,} users give every value a standard error" in found.recommendation


# The sentence


def named(one: Candidate) -> str:
    return f"{one.name} ({one.options})" if one.options else one.name


def test_recommendations_are_one_sentence_with_the_reason() -> None:
    domain = Domain(range(400), sensitive=range(76))
    found = compare_mechanisms(domain, 1.0, 100_000, within=0)
    assert found.recommendation == (
        f"Use subset (k=20): whatever the distribution, its mean squared error is at most {found.best.worst_mse:.3e}, "
        "the least of all compared (next is hashing, 0.4% more) and 1.00 times the least possible; "
        "a report takes at most 20 bytes."
    )
    light = compare_mechanisms(domain, 1.0, 100_000)
    assert light.recommendation == (
        f"Use {named(light.best)}: whatever the distribution, its mean squared error is at most "
        f"{light.best.worst_mse:.3e}, {light.best.worst_mse / found.best.worst_mse - 1:.1%} more than the least of all "
        "compared (subset (k=20), up to 20 bytes a report) and "
        f"{light.best.worst.excess:.2f} times the least possible; "
        f"a report takes at most {light.best.largest_bytes} bytes, the smallest within 5% of the least error."
    )
    assumed = compare_mechanisms(domain, 1.0, 100_000, target="sensitive-mass").recommendation
    assert "if 5.0% of the people have a sensitive value (assumed), its mean squared error is" in assumed
    p = np.where(domain.sensitive, 0.25 / 76, 0.75 / 324)
    by_p = compare_mechanisms(domain, 1.0, 100_000, target="distribution", p=p).recommendation
    assert "for the given distribution (25.0% sensitive) its mean squared error is" in by_p
    assert "least possible" not in by_p
    few = compare_mechanisms(domain, 1.0, 100_000, largest_report=2).recommendation
    assert re.search(r"next is [a-z ,]+, ([0-9.]+% more|[0-9.]+ times as much)\)", few)
    alone = compare_mechanisms(Domain(range(200), sensitive=range(199)), 1.0, 10, largest_report=1).recommendation
    assert "whose reports take at most 1 byte" in alone
    assert alone.endswith("; a report takes at most 1 byte, the smallest within 5% of the least error.")
    sure = compare_mechanisms(Domain(range(5), sensitive=[1]), 1.0, 10, target="sensitive-mass", sensitive_mass=1.0)
    assert sure.recommendation.startswith("Use rr: if 100.0% of the people have a sensitive value, ")
    near = compare_mechanisms(
        domain, 1.0, 10, target="sensitive-mass", sensitive_mass=0.05, largest_report=16, within=0
    )
    assert "(next is unary, best theta, less than 0.1% more)" in near.recommendation


def test_the_document_says_what_is_so(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).parent.parent.parent
    page = (root / "docs" / "howto" / "planning.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    exec(compile(example, "planning.md", "exec"), {})
    assert re.match(r"Use [a-z, ]+( \([^)]*\))?: if 5\.0% of the people", capsys.readouterr().out)
    survey = Plan.load(root / "examples" / "survey.toml").domain
    assert compare_mechanisms(survey, 1.0, 100_000).recommendation in " ".join(page.split())
    domain = Domain(range(400), sensitive=range(76))
    known = compare_mechanisms(domain, 2.0, 100, target="sensitive-mass", sensitive_mass=0.05, within=0).best
    assert 1 - known.assumed_mse / compare_mechanisms(domain, 2.0, 100, within=0).best.assumed_mse == pytest.approx(
        0.15, abs=0.005
    )


# One question, asked in two ways, and what its answer costs the collector


def settings(count: int) -> Iterator[tuple[Domain, float, dict[str, Any]]]:
    """Yield domains, epsilons and wishes of every kind."""
    random = np.random.default_rng(28)
    for _ in range(count):
        size = int(random.integers(2, 13))
        sensitive = random.permutation(size)[: int(random.integers(1, size + 1))].tolist()
        domain = Domain(range(size), sensitive=sensitive)
        wishes: dict[str, Any] = {"within": float(random.choice([0, 0.05, 0.3]))}
        if random.random() < 0.8:
            wishes["users"] = int(10 ** random.uniform(1, 9))
        known = random.integers(0, 3)
        if known == 1 and domain.clear_count:
            wishes["sensitive_mass"] = float(random.random())
        if known == 2:
            wishes["p"] = random.dirichlet(np.ones(size))
        wishes |= {"largest_report": float(random.integers(0, 4)) + 0.5} if random.random() < 0.5 else {}
        wishes |= {"most_seconds": float(10 ** random.uniform(-3, 2))} if random.random() < 0.3 else {}
        wishes |= {"reports_per_user": 3} if random.random() < 0.1 else {}
        yield domain, float(10 ** random.uniform(-1, 0.9)), wishes


def test_the_best_is_that_of_the_comparison() -> None:
    """Whoever asks for the best and whoever compares get one answer, a refusal included."""
    outcomes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for domain, epsilon, wishes in settings(16):
            answers = []
            for ask in (best, lambda *given, **named: compare_mechanisms(*given, **named).best.mechanism):
                try:
                    answers.append(ask(domain, epsilon, **wishes).fingerprint)
                except ParameterError as error:
                    answers.append(str(error))
            assert answers[0] == answers[1]
            outcomes.append(answers[0])
    assert 0 < sum(len(one) > 32 for one in outcomes) < 8 < len(set(outcomes))


def test_both_take_the_same_arguments() -> None:
    ours, theirs = (signature(one).parameters for one in (best, compare_mechanisms))
    assert {*theirs} - {*ours} == {"standard_error"}
    assert {*ours} <= {*theirs}
    assert ours["wishes"].annotation == theirs["wishes"].annotation == Unpack[Wishes]
    for name in Wishes.__annotations__:
        assert f"``{name}``" in (best.__doc__ or "")
        assert f"``{name}``" in (compare_mechanisms.__doc__ or "")
    for ask in (best, compare_mechanisms):
        with pytest.raises(TypeError, match="largest"):
            ask(Domain(range(3)), 1.0, largest=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="standard_error"):
        best(Domain(range(3)), 1.0, standard_error=0.1)  # type: ignore[call-arg]


def test_a_distribution_may_be_a_mapping() -> None:
    domain, p = Domain(["bus", "car", "walk"], sensitive=["car"]), {"walk": 0.7, "car": 0.3}
    listed = [0.0, 0.3, 0.7]
    assert domain.check_distribution(p).tolist() == listed
    assert best(domain, 1.0, p=p) == best(domain, 1.0, p=listed)
    decoder = best(domain, 1.0).decoder
    assert decoder.mse(100, p) == decoder.mse(100, listed)
    refused(DataError, lambda: domain.check_distribution({"tram": 1.0}))
    refused(ParameterError, lambda: domain.check_distribution({"bus": 0.5}))


def test_what_costs_the_collector_long_is_said_or_not_recommended() -> None:
    domain = Domain(range(10_000))
    found = compare_mechanisms(domain, 0.5, 100_000_000)
    assert (found.best.name, found.best.seconds > 300) == ("hashing", True)
    assert "counting 100,000,000 reports and decoding their tally takes about 6 minutes of one core" in (
        found.recommendation
    )
    with pytest.warns(UserWarning, match="about 6 minutes of one core"):
        assert best(domain, 0.5, 100_000_000) == found.best.mechanism
    quick = compare_mechanisms(domain, 0.5, 100_000_000, most_seconds=10)
    assert quick.best.seconds <= 10
    assert "of one core" not in quick.recommendation
    assert best(domain, 0.5, 100_000_000, most_seconds=10) == quick.best.mechanism
    assert compare_mechanisms(domain, 0.5).best.seconds == pytest.approx(
        compare_mechanisms(domain, 0.5, 100_000).best.seconds
    )
    message = refused(
        ParameterError, lambda: compare_mechanisms(domain, 0.5, 100_000_000, largest_report=2, most_seconds=1e-6)
    )
    assert "reports of at most 2 bytes and at most 1e-06 s" in message
