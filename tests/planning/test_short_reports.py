"""Reports of at most four bytes have nearly the least error of any mechanism, and the planner finds them."""

from math import exp

import numpy as np
import pytest

from discreet import Domain, HadamardResponse, ProjectiveResponse, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.laws.projective import best_space, spaces_for
from discreet.planning.compare import compare_mechanisms
from discreet.theory.optimum import lower_bound

SIZES, EPSILONS = (20, 100, 400, 1_000, 5_000, 10_000), (0.5, 1.0, 2.0, 3.0, 4.0)
# Cells of the grid in which no mechanism here of at most four bytes is near enough, with the loss of the best.
NOT_NEAR = {(20, 0.5): 1.0701, (400, 4.0): 1.0601}


def loss(mechanism: BlockMechanism) -> float:
    """Return the largest error of a mechanism, divided by the least of any mechanism."""
    size = mechanism.domain.size
    return mechanism.decoder.worst_case_mse(1) / lower_bound(size, size, mechanism.epsilon, 1)


def least_of_four_bytes(size: int, epsilon: float) -> float:
    """Return the smallest loss of mechanisms with reports of at most four bytes."""
    domain = Domain(range(size))
    made: list[BlockMechanism] = [RandomizedResponse(domain, epsilon), ProjectiveResponse(domain, epsilon)]
    made += [SubsetSelection(domain, epsilon, k=k) for k in range(1, 5 if size <= 256 else 3)]
    made += [UnaryEncoding(domain, epsilon, theta=0.5)] if size <= 32 else []
    return min(map(loss, made))


@pytest.mark.parametrize("size", SIZES)
def test_four_bytes_are_enough(size: int) -> None:
    for epsilon in EPSILONS:
        found = least_of_four_bytes(size, epsilon)
        if (size, epsilon) in NOT_NEAR:
            assert found == pytest.approx(NOT_NEAR[size, epsilon], abs=1e-4)
            continue
        assert found <= 1.05
        if size >= 100 and epsilon <= 3:
            assert found <= (1.03801 + 1e-4 if (size, epsilon) == (100, 2.0) else 1.03)


@pytest.mark.parametrize(
    ("size", "epsilon", "title"), [(1_000, 1.0, "projective (q=4, t=6)"), (100, 3.0, "subset, 4-byte (k=4)")]
)
def test_the_planner_proposes_short_reports(size: int, epsilon: float, title: str) -> None:
    found = compare_mechanisms(Domain(range(size)), epsilon)
    assert found.best.title == title
    assert found.best.largest_bytes <= 4
    assert found.best.worst_mse <= 1.05 * found.least.worst_mse
    assert "Of the reports" not in found.recommendation
    assert not [row for row in found.candidates if row.name == "hadamard"]


def test_a_long_report_is_proposed_with_the_best_short_one_beside_it() -> None:
    found = compare_mechanisms(Domain(range(400)), 4.0)
    assert found.best.largest_bytes > 4
    assert (
        "Of the reports of at most 4 bytes, projective (q=53, t=3) has the smallest error, 5.9% larger."
        in found.recommendation
    )


def test_spaces_are_tuned_for_the_sensitive_mass() -> None:
    domain = Domain(range(2_000), sensitive=range(1_000))
    tuned, worst = (compare_mechanisms(domain, 1.0, sensitive_mass=mass) for mass in (0.05, None))
    options = [next(row.options for row in found.candidates if row.name == "projective") for found in (tuned, worst)]
    assert options == ["q=3, t=7", "q=4, t=6"]
    excess = next(row.excess for row in tuned.candidates if row.name == "projective")
    assert excess == pytest.approx(1.0058, abs=5e-4)


def test_a_smaller_report_is_a_candidate_of_its_own() -> None:
    found = {row.name: row for row in compare_mechanisms(Domain(range(240)), 1.0).candidates}
    assert found["projective"].largest_bytes == 2
    assert found["projective, 1-byte"].largest_bytes == 1
    assert found["projective"].worst_mse < found["projective, 1-byte"].worst_mse


def test_two_elements_are_never_worse_than_hadamard_response() -> None:
    """Both have reports of one size; the margin is largest for few values and a large epsilon."""
    for size in (1, 2, 3, 7, 8, 60, 1_000, 10**6):
        for epsilon in (0.2, 1.0, 5.0):
            domain = Domain(range(size))
            hadamard, binary = HadamardResponse(domain, epsilon), ProjectiveResponse(domain, epsilon, q=2)
            assert binary.columns[-1].bytes <= hadamard.columns[-1].bytes
            if size > 1:
                assert binary.decoder.worst_case_mse(1) < hadamard.decoder.worst_case_mse(1)
    ratio = ProjectiveResponse(Domain(range(3)), 5.0, q=2).decoder.worst_case_mse(1)
    assert ratio / HadamardResponse(Domain(range(3)), 5.0).decoder.worst_case_mse(1) == pytest.approx(0.2525, abs=1e-4)


def test_many_values_lose_what_the_formula_says() -> None:
    """The loss tends to (q + E - 1)^2/(4 E (q - 1)), and is largest between q = 2 and 3."""
    for epsilon, limit in ((0.3466, 1.0303), (1.0, None), (4.0, None)):
        q, t = best_space(spaces_for(10**6), 10**6, 0, epsilon) or (0, 0)
        odds = exp(epsilon)
        formula = (q + odds - 1) ** 2 / (4 * odds * (q - 1))
        found = loss(ProjectiveResponse(Domain(range(10**6)), epsilon, q=q, t=t))
        assert found == pytest.approx(formula, abs=2e-4)
        assert limit is None or found == pytest.approx(limit, abs=1e-4)
    assert np.isfinite(loss(ProjectiveResponse(Domain(range(1_000)), 9.0)))
