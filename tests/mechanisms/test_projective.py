"""Projective blocks: the draw, the decoding of counts, the choice of a space, and what is refused."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from itertools import combinations
from math import ceil, exp, log, log2, sqrt
from typing import Any

import numpy as np
import pytest

from discreet import BlockDesign, Domain, ProjectiveResponse, SeededRandom, estimate
from discreet.core.random import WORD_RANGE
from discreet.device.protocol.sampler import Sampler
from discreet.errors import ParameterError
from discreet.mechanisms import law_of
from discreet.mechanisms.block_law import joint_inclusion, triple_covariance
from discreet.mechanisms.cyclic import DIGITS
from discreet.mechanisms.laws.projective import ProjectiveBlocks, best_space, spaces_for
from discreet.privacy.verify import verify
from discreet.theory.finite_geometry import Space
from discreet.theory.optimum import lower_bound
from refusals import refused


def drawn(law: ProjectiveBlocks, ranks: Any, chosen: Any) -> list[int]:
    """Return the hyperplanes that numbers below k choose for values."""
    points = law.points_of(np.asarray(ranks))
    return law.space.through(points, np.asarray(chosen, np.uint32)).tolist()


# v, epsilon, q, t: V, k, lambda; n times the largest error, and its ratio to the least error of any mechanism.
FIGURES = [
    (1_000, 1, 4, 6, (1_365, 341, 85), 3_687.019, 1.003180),
    (5_000, 1, 4, 7, (5_461, 1_365, 341), 18_451.92, 1.002489),
    (400, 2, 8, 4, (585, 73, 9), 289.4415, 1.004369),
    (100, 2, 11, 3, (133, 12, 1), 73.66469, 1.038024),
    (5_000, 3, 23, 4, (12_720, 553, 24), 1_106.215, 1.003479),
    (21, log(3), 4, 3, (21, 5, 1), 57.20238, 1.0),
    (1_000, 0.5, 3, 7, (1_093, 364, 121), 15_790.80, 1.009676),
    (1_000, 0.2, 2, 10, (1_023, 511, 255), 100_451.1, 1.009883),
]


@pytest.mark.parametrize(("v", "epsilon", "q", "t", "counts", "error", "ratio"), FIGURES)
def test_the_best_space_and_its_error(
    v: int, epsilon: float, q: int, t: int, counts: tuple[int, int, int], error: float, ratio: float
) -> None:
    mechanism = ProjectiveResponse(Domain(range(v)), epsilon)
    law, worst = mechanism.law, mechanism.decoder.worst_case_mse(1)
    assert (law.q, law.t) == (q, t)
    assert (law.space.points, law.space.degree, law.space.shared) == counts
    assert worst == pytest.approx(error, rel=1e-6)
    assert worst / lower_bound(v, v, epsilon, 1) == pytest.approx(ratio, abs=1e-6)
    odds = counts[1] / counts[0] * (exp(epsilon) - 1)
    assert mechanism.coefficients.truth == pytest.approx(odds / (1 + odds), rel=1e-12)


def test_drawn_blocks() -> None:
    """Numbers that other devices must reproduce: five of eight spaces, and all of 1,000 values of one space."""
    for q, t, step, wanted in (
        (4, 3, 13, "0 3 18 17 12"),
        (3, 5, 74, "0 3 120 25 63"),
        (4, 6, 844, "0 2 1364 31 681"),
        (8, 4, 361, "0 5 577 63 296"),
        (23, 4, 7_861, "0 11 12711 170 6368"),
        (2, 10, 632, "0 1 1022 19 511"),
        (4, 10, 216_006, "0 2 349522 31 174764"),
        (127, 3, 10_046, "0 50 16196 946 8229"),
    ):
        law = ProjectiveBlocks((q**t - 1) // (q - 1), q, t)
        k = law.space.degree
        assert law.step == step
        assert drawn(law, [0, 1, 1, 2, law.size - 1], [0, 0, k - 1, min(7, k - 1), k // 2]) == [
            int(number) for number in wanted.split()
        ]
    law = ProjectiveBlocks(1_000, 4, 6)
    ranks, chosen = np.repeat(np.arange(1_000), 341), np.tile(np.arange(341), 1_000)
    listed = np.array(drawn(law, ranks, chosen), "<u2").tobytes()
    assert sha256(listed).hexdigest() == "07a06fcee4424884a9f6caaba9bc3ddd15f27f1d3e16363a9ffb2f73deab3182"


def test_members_of_the_plane_of_13_points() -> None:
    law = ProjectiveBlocks(13, 3, 3)
    lines = "0 2 5 10|0 4 7 12|0 3 8 11|0 1 6 9|5 7 9 11|4 5 6 8|1 3 5 12|2 3 6 7|1 2 4 11|2 8 9 12|1 7 8 10|3 4 9 10"
    contained = law.contains(law.alphabet()[0])
    members = [" ".join(map(str, np.flatnonzero(row))) for row in contained]
    assert law.step == 8
    assert members == [*lines.split("|"), "6 10 11 12"]


@pytest.mark.parametrize(("size", "others"), [(13, 0), (11, 0), (6, 4)])
def test_realised_odds_are_the_promise_exactly(size: int, others: int) -> None:
    """With s/(1 - s) = pi (E - 1) in fractions, the largest ratio of any block is E, and never more."""
    law, odds = ProjectiveBlocks(size, 3, 3), Fraction(7, 2)
    pi = law.inclusion
    s = pi * (odds - 1) / (1 + pi * (odds - 1))
    contained = law.contains(law.alphabet()[0])
    ratios = set()
    for row in contained:
        chances = [(1 - s) / 13 + s * int(inside) / law.space.degree for inside in row]
        # A value in clear sends a block only as noise.
        chances += [(1 - s) / 13] * others
        ratios |= {one / other for one in chances for other in chances}
    assert max(ratios) == odds


@pytest.mark.parametrize(("size", "q", "t"), [(13, 3, 3), (50, 4, 4), (700, 2, 10), (100, 127, 2), (1_000, 11, 4)])
def test_counts_of_any_size_give_exact_supports(size: int, q: int, t: int) -> None:
    law = ProjectiveBlocks(size, q, t)
    counts = np.random.default_rng(1).integers(0, 1 << 58, law.alphabet_size)
    contained = law.contains(law.alphabet()[0])
    wanted = [int(counts[column].astype(object).sum()) % WORD_RANGE for column in contained.T]
    assert [int(count) % WORD_RANGE for count in law.support_of(counts)] == wanted
    matrix, some = law.membership_of(counts), np.random.default_rng(2)
    values, weights = some.random(size), some.random(law.alphabet_size)
    np.testing.assert_allclose(matrix.dot(values), contained @ values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(matrix.transpose_dot(weights), contained.T @ weights, rtol=1e-9)


def rounding_bound(space: Space) -> float:
    """Return the proven bound on the rounding error of summed counts of 16 binary digits."""
    levels = ceil(log2(2 * space.points - 1))
    counts, marks = ((1 << DIGITS) - 1) * sqrt(space.points), sqrt(2 * space.degree)
    return counts * marks * (6 * levels + sqrt(5) * (3 * levels + 1)) * 2.0**-53


def test_rounding_stays_below_one_half_in_every_space() -> None:
    """The bound is for every count of 16 digits; what happens is far below it."""
    space = Space(3, 9)
    matrix = ProjectiveBlocks(space.points, 3, 9).membership_of(np.zeros(space.points, np.int64))
    sums = matrix.transpose_dot(np.random.default_rng(3).integers(0, 1 << DIGITS, space.points))
    assert float(np.abs(sums - np.rint(sums)).max()) < rounding_bound(space) < 1e-4
    assert max(rounding_bound(Space(q, t)) for q, t in ((2, 26), (3, 17), (401, 4), (8_191, 3))) < 0.2


def test_sums_that_do_not_add_up_are_noticed() -> None:
    law = ProjectiveBlocks(13, 3, 3)
    matrix = law.membership_of(np.ones(13, np.int64))
    broken = replace(matrix, spectrum=matrix.spectrum * 1.1)
    with pytest.raises(ArithmeticError):
        broken.exact_sums(np.arange(13) + 5, law.choices)


def test_every_draw_takes_the_same_words() -> None:
    """One word for the coin, one below V and one below k, whatever the coin says and whatever the value is."""

    class Counted:
        """A source that counts its words."""

        secure = False

        def __init__(self, coin: int) -> None:
            self.coin, self.rest, self.taken = coin, SeededRandom(5), 0

        def words(self, n: int) -> Any:
            words = self.rest.words(n)
            if not self.taken:
                words[0] = self.coin
            self.taken += n
            return words

    sampler = Sampler.of(ProjectiveResponse(Domain(range(40), sensitive=range(1, 40)), 1.0))
    for code in (1, 17, 39):
        for coin in (0, WORD_RANGE - 1):
            source = Counted(coin)
            sampler.record(code, source)
            assert source.taken == 3


def test_the_space_is_chosen_for_the_target() -> None:
    spaces = spaces_for(1_000)
    assert best_space(spaces, 1_000, 0, 1.0) == (4, 6)
    assert best_space(spaces, 1_000, 1_000, 1.0, 0.05) == (3, 7)
    assert best_space(spaces[:, spaces[0] == 4], 1_000, 1_000, 1.0, 0.05) == (4, 6)
    assert best_space(spaces[:, :0], 1_000, 0, 1.0) is None


@pytest.mark.parametrize(
    ("size", "others", "epsilon", "mass"), [(9, 0, 0.3, None), (40, 12, 2.0, None), (7, 3, 1.0, 0.1)]
)
def test_no_listed_space_is_better(size: int, others: int, epsilon: float, mass: float | None) -> None:
    """The formula that chooses agrees with the exact errors of mechanisms in the same order."""
    domain, choice = Domain(range(size + others), sensitive=range(size)), {}
    p = None if mass is None else np.where(domain.sensitive, mass / size, (1 - mass) / max(others, 1))
    for q, t, _ in spaces_for(size).T.tolist():
        if q < 60:
            decoder = ProjectiveResponse(domain, epsilon, q=q, t=t).decoder
            choice[q, t] = decoder.worst_case_mse(1) if p is None else decoder.mse(1, p)
    best = best_space(spaces_for(size), size, others, epsilon, mass)
    assert choice[best] == pytest.approx(min(choice.values()), rel=1e-12)


def test_two_values_of_a_hyperplane_and_the_most_hits() -> None:
    """Of up to q + 1 values no set is hit more often than values on a line; the bound is never exceeded."""
    law = ProjectiveBlocks(15, 2, 4)
    contained = law.contains(law.alphabet()[0])
    for m in (1, 2, 3, 4):
        hits = [
            Fraction(int(contained[:, list(chosen)].any(axis=1).sum()), 15) for chosen in combinations(range(15), m)
        ]
        bound = float(law.hits(np.array([float(m)]))[0])
        assert float(max(hits)) <= bound + 1e-12
        assert m > law.q + 1 or float(max(hits)) == pytest.approx(bound)
    assert law.hits(np.array([0.0, 100.0])).tolist() == [0, 1]


def test_three_values_share_blocks_by_whether_they_are_on_a_line() -> None:
    """So one probability for three values would be wrong, and sums take the blocks themselves."""
    law = ProjectiveBlocks(15, 2, 4)
    contained = law.contains(law.alphabet()[0]).astype(int)
    triples = Counter(int(contained[:, list(three)].all(axis=1).sum()) for three in combinations(range(15), 3))
    assert triples == {3: 35, 1: 420}
    assert (joint_inclusion(law, 3), triple_covariance(law)) == (None, None)


def test_neighbouring_values_are_spread() -> None:
    """Without the step the first ten values would meet every block, and their number in a block would vary most."""

    def skewness(step: int) -> float:
        law = ProjectiveBlocks(400, 8, 4, step)
        counts = law.contains(law.alphabet()[0])[:, :50].sum(axis=1)
        return float(np.mean((counts - counts.mean()) ** 3) / counts.std() ** 3)

    assert skewness(1) > 5
    assert abs(skewness(ProjectiveBlocks(400, 8, 4).step)) < 1.5


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"q": 6}, "q.no-space"),
        ({"q": 9, "t": 2}, "q.no-field"),
        ({"q": 65_537, "t": 2}, "q"),
        ({"q": 2, "t": 3}, "t.wrong-space"),
        ({"q": 2, "t": 27}, "t"),
        ({"q": 401, "t": 5}, "t.wrong-space"),
        ({"t": 1}, "q.no-space"),
        ({"q": 2.5, "t": 3}, "q"),
    ],
)
def test_spaces_that_do_not_fit_are_refused(options: dict[str, Any], code: str) -> None:
    assert code in refused(ParameterError, lambda: ProjectiveResponse(Domain(range(10)), 1.0, **options))


def test_steps_with_a_common_divisor_are_refused() -> None:
    description = {"law": "projective", "size": 4, "q": 4, "t": 3, "step": 13}
    assert law_of(description) == ProjectiveBlocks(4, 4, 3)
    for step in (0, 14, 21, -1):
        refused(ParameterError, lambda step=step: law_of(description | {"step": step}))


def test_estimates_of_reports_are_near_the_truth() -> None:
    """Linear and most likely estimates, with the errors that the law has."""
    domain = Domain(range(200), sensitive=range(150))
    mechanism = ProjectiveResponse(domain, 2.0)
    codes = np.random.default_rng(4).integers(0, 200, 40_000) ** 2 // 200
    p, tally = (
        np.bincount(codes, minlength=200) / len(codes),
        mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(6))),
    )
    expected = mechanism.decoder.mse(len(codes), p)
    linear, likeliest = (estimate(mechanism, tally, method=method).frequencies for method in ("linear", "mle"))
    assert 0.7 < float(((linear - p) ** 2).sum()) / expected < 1.3
    assert float(((likeliest - p) ** 2).sum()) < expected


def test_pi_and_rho_are_counted() -> None:
    assert verify(ProjectiveResponse(Domain(range(1_000)), 1.0)).counted == "all"
    worst = BlockDesign(Domain(range(1_000)), 1.0).decoder.worst_case_mse(1)
    assert ProjectiveResponse(Domain(range(1_000)), 1.0).decoder.worst_case_mse(1) < 1.004 * worst
