"""Every closed form of an expected loss against simulated collections, setting by setting.

A setting is a mechanism, a distribution, a number of users and what the papers say their loss is; the mean loss of many
simulated tallies is compared with that by a z-score from the sample's own standard error. Not one score may reach 4,
all together must look standard normal (scores that are always 0, or too large, do not), and closed forms that are a few
percent off must be seen.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import log, sqrt
from typing import Any

import closed_forms as printed
import numpy as np
import pytest
from closed_forms import even
from scipy import stats

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.tally import TallyStack
from discreet.estimators.tags import estimate_personalized
from discreet.mechanisms import (
    BlockDesign,
    BlockMechanism,
    HadamardResponse,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.mechanisms.mechanism import tallies_by_group
from discreet.mechanisms.personalized import Personalized
from discreet.simulation.tallies import draw_tally

pytestmark = pytest.mark.slow

SEED = 101
RUNS = 500
MANY = 10**9
SIZES = [(1, 2), (1, 6), (3, 8), (10, 40), (6, 6), (76, 400)]
SOME = [(1, 6), (3, 8), (10, 40), (76, 400)]
L1, SQUARED_L2 = 1, 2


@dataclass(frozen=True)
class Setting:
    """One mechanism and what its loss is said to be.

    Attributes:
        form: the name of the closed form.
        mechanism: what is simulated.
        p: ``(|X|,)`` the distribution that each user is drawn from.
        n: number of users.
        said: the expected loss.
        power: 1 for l1, 2 for squared l2.
        drawn: whether each simulation draws its users anew; else they are the same people each time.
    """

    form: str
    mechanism: BlockMechanism
    p: Any
    n: int
    said: float
    power: int = SQUARED_L2
    drawn: bool = True

    def __str__(self) -> str:
        domain = self.mechanism.domain
        sizes = f"{domain.sensitive_count} of {domain.size}"
        return f"{self.form}: {self.mechanism.name}, {sizes}, eps={self.mechanism.epsilon:.3g}, n={self.n}"

    def losses(self, generator: np.random.Generator) -> Any:
        """Return ``(RUNS,)`` losses of the linear estimate."""
        fixed = np.tile(np.rint(self.n * self.p).astype(np.int64), (RUNS, 1))
        people = generator.multinomial(self.n, self.p, size=RUNS) if self.drawn else fixed
        make = self._drawn if isinstance(self.mechanism, RandomizedResponse | UnaryEncoding) else self._counted
        return (np.abs(make(people, generator) - self.p) ** self.power).sum(axis=1)

    def _counted(self, people: Any, generator: np.random.Generator) -> Any:
        """Return the ``(RUNS, |X|)`` estimates from reports, made and counted at once."""
        codes = np.concatenate([np.repeat(np.arange(len(self.p)), row) for row in people])
        reports = self.mechanism.obfuscate_codes(codes, random=SeededRandom(int(generator.integers(1 << 62))))
        tallies = tallies_by_group(self.mechanism, reports, np.repeat(np.arange(RUNS), people.sum(axis=1)), RUNS)
        decoder = self.mechanism.decoder
        return decoder.decode(TallyStack.of(tallies)) if decoder.stacks else np.array([*map(decoder.decode, tallies)])

    def _drawn(self, people: Any, generator: np.random.Generator) -> Any:
        """Return the ``(RUNS, |X|)`` estimates from blocks that are values or bits, drawn from their law."""
        mechanism, domain = self.mechanism, self.mechanism.domain
        told = generator.binomial(people, mechanism.numbers.truth)
        truth, clear = told[:, domain.sensitive_codes], told[:, domain.clear_codes]
        in_clear = clear.sum(axis=1)
        blocks = np.broadcast_to(mechanism.block_count(self.n, in_clear), in_clear.shape)
        if isinstance(mechanism, RandomizedResponse):
            v = domain.sensitive_count
            support = truth + generator.multinomial(blocks - truth.sum(axis=1), np.full(v, 1 / v))
        else:
            support = truth + generator.binomial(blocks[:, None] - truth, float(mechanism.law.inclusion))
        return mechanism.decoder.decode(TallyStack(np.full((RUNS, 1), self.n), support, clear))


def domain(v: int, w: int) -> Domain:
    return Domain(range(w), sensitive=range(v))


def urr(v: int, w: int, epsilon: float) -> BlockMechanism:
    return RandomizedResponse(domain(v, w), epsilon)


def urap(v: int, w: int, epsilon: float, theta: float | None = None, *, paper: bool = True) -> BlockMechanism:
    return UnaryEncoding(domain(v, w), epsilon, theta=theta, clear_bits=paper and v < w)


def worst_case_epsilons(v: int, w: int) -> tuple[float, ...]:
    """Within all ranges, beyond that of uRR, beyond the printed one of uRAP (its true one is wider), beyond all."""
    others = w - v
    return 0.5, log(others + 1) + 0.2, 2 * log(others / 2 + 1) + 0.1, 2 * log(w) + 1


def spread(w: int, concentration: float = 1.0) -> Any:
    p = np.random.default_rng([SEED, w]).dirichlet(np.full(w, concentration))
    return p / p.sum()


# The settings


def averages() -> Iterator[Setting]:
    """(11), (16), (46) and (48), at skewed distributions; those in squared l2 hold for any n."""
    for v, w in SIZES:
        for epsilon in (0.3, 1.0, 3.0, log(w) + 0.5):
            p, rr, rap = spread(w), urr(v, w, epsilon), urap(v, w, epsilon)
            yield Setting("uRR l1 (11)", rr, p, MANY, printed.urr_l1(v, epsilon, p, MANY), L1)
            yield Setting("uRAP l1 (16)", rap, p, MANY, printed.urap_l1(v, epsilon, p, MANY), L1)
            yield Setting("uRR l2 (46)", rr, p, 30, printed.urr_l2(v, epsilon, p, 30))
            yield Setting("uRAP l2 (48)", rap, p, 500, printed.urap_l2(v, epsilon, p, 500))


def worst_cases() -> Iterator[Setting]:
    """Simulated at the distribution that is said to be the worst."""
    for v, w in SIZES:
        for epsilon in worst_case_epsilons(v, w):
            rr, rap = urr(v, w, epsilon), urap(v, w, epsilon)
            for name, mechanism, form, n, power in (
                ("uRR worst l1", rr, printed.urr_worst_l1, MANY, L1),
                ("uRAP worst l1", rap, printed.urap_worst_l1, MANY, L1),
                ("uRR worst l2", rr, printed.urr_worst_l2, 40, SQUARED_L2),
                ("uRAP worst l2", rap, printed.urap_worst_l2, 40, SQUARED_L2),
            ):
                said, a = form(v, w, epsilon, n)
                yield Setting(name, mechanism, even(v, w, a), n, said, power)


def few_users() -> Iterator[Setting]:
    """The exact l1, for numbers of users at which the limits are off."""
    for v, w in SIZES:
        for epsilon, n in ((0.5, 8), (1.5, 60), (4.0, 200)):
            p = spread(w, 0.4)
            said = printed.urr_exact_l1(v, epsilon, p, n)
            yield Setting("uRR exact l1", urr(v, w, epsilon), p, n, said, L1)
            said = printed.urap_exact_l1(v, epsilon, p, n)
            yield Setting("uRAP exact l1", urap(v, w, epsilon), p, n, said, L1)


def other_laws() -> Iterator[Setting]:
    """uBD(k), uHR and uRAP(theta) with both decoders, at a skewed distribution and at the worst one."""
    for v, w in SOME:
        for epsilon in (0.5, 2.0):
            made = [("uHR", HadamardResponse(domain(v, w), epsilon), printed.hadamard(v, epsilon))]
            for k in sorted({1, 2, v // 3} & set(range(1, v))):
                law = SubsetSelection(domain(v, w), epsilon, k=k)
                made.append(("uBD(k)", law, printed.block_design(v, epsilon, k)))
            for name, paper in (("uRAP(theta), paper", True), ("uRAP(theta), drop-bits", False)):
                for theta in (0.5, printed.best_theta(v, epsilon, 0.1, paper)):
                    costs = printed.unary(v, epsilon, theta, paper)
                    made.append((name, urap(v, w, epsilon, theta, paper=paper), costs))
            for name, mechanism, costs in made:
                yield Setting(name, mechanism, spread(w), 50, printed.squared_error(costs, v, spread(w), 50))
                said, a = printed.worst_squared_error(costs, v, w, 20)
                yield Setting(f"{name}, worst", mechanism, even(v, w, a), 20, said)


def designs() -> Iterator[Setting]:
    """The optimum, where it has a closed form and where it is a mixture; and mixtures at another distribution."""
    for v, w, epsilon in ((3, 8, 2.8), (1, 6, 1.0), (1, 6, 3.0), (10, 40, 1.0), (10, 40, 4.4), (76, 400, 2.0)):
        best = BlockDesign(domain(v, w), epsilon)
        assert best.design is not None
        p = even(v, w, best.design.worst_mass)
        yield Setting("M*, closed form", best, p, 40, printed.optimum(v, w, epsilon) / 40)
    for v, w, epsilon in ((2, 7, 1.5), (3, 8, 1.5), (5, 9, 1.4), (10, 40, 3.0), (76, 400, 4.5)):
        best = BlockDesign(domain(v, w), epsilon)
        assert best.design is not None
        assert best.design.regime == "mixture"
        numbers = v, w, epsilon, best.design.alpha, best.design.weights
        said = printed.mixture_bound(*numbers) / 40
        yield Setting("mixture, M(alpha, t)", best, even(v, w, best.design.alpha), 40, said)
        for p in (spread(w), even(v, w, 0.05)):
            yield Setting("mixture", best, p, 40, printed.squared_error(printed.mixture(*numbers), v, p, 40))


def the_same_people() -> Iterator[Setting]:
    """Conditional on the data: less by (1 - |p|^2)/n."""
    for v, w, epsilon in ((3, 8, 1.0), (10, 40, 2.0), (10, 40, 5.0)):
        people = np.random.default_rng([SEED, v]).multinomial(50, spread(w))
        p = people / 50
        for mechanism, costs in (
            (urr(v, w, epsilon), printed.block_design(v, epsilon, 1)),
            (SubsetSelection(domain(v, w), epsilon, k=2), printed.block_design(v, epsilon, 2)),
            (HadamardResponse(domain(v, w), epsilon), printed.hadamard(v, epsilon)),
            (urap(v, w, epsilon, 0.5, paper=False), printed.unary(v, epsilon, 0.5, False)),
        ):
            said = printed.squared_error(costs, v, p, 50) - (1 - p @ p) / 50
            yield Setting("the same people", mechanism, p, 50, said, drawn=False)


FAMILIES = (averages, worst_cases, few_users, other_laws, designs, the_same_people)


@dataclass(frozen=True)
class Score:
    """What the simulations of a setting say."""

    setting: Setting
    mean: float
    error: float

    def z(self, factor: float = 1.0) -> float:
        """Return the z-score of the closed form, times ``factor``."""
        return (self.mean - factor * self.setting.said) / self.error


@cache
def scores() -> tuple[Score, ...]:
    found = []
    for index, setting in enumerate(setting for family in FAMILIES for setting in family()):
        losses = setting.losses(np.random.default_rng([SEED, index]))
        found.append(Score(setting, float(losses.mean()), float(losses.std(ddof=1)) / sqrt(RUNS)))
    return tuple(found)


def of_form(name: str) -> list[Score]:
    return [score for score in scores() if score.setting.form == name]


# The tests


def test_every_closed_form_agrees_with_simulation() -> None:
    assert len(scores()) >= 200
    assert {str(score.setting): score.z() for score in scores() if abs(score.z()) >= 4} == {}


def test_all_scores_together_are_standard_normal() -> None:
    z = np.array([score.z() for score in scores()])
    low, high = stats.chi2.ppf([1e-3, 1 - 1e-3], len(z)) / len(z)
    assert low < (z**2).mean() < high
    assert abs(z.mean()) < 3.3 / sqrt(len(z))
    assert stats.kstest(z, "norm").pvalue > 1e-3


def test_a_closed_form_that_is_a_few_percent_off_is_seen() -> None:
    """Planted: each form in turn is wrong by 6%, either way."""
    forms = {score.setting.form for score in scores()}
    for factor in (0.94, 1.06):
        seen = {name: max(abs(score.z(factor)) for score in of_form(name)) for name in forms}
        assert {name: z for name, z in seen.items() if z < 4} == {}


def with_sampling(v: int, epsilon: float, p: Any, n: int) -> float:
    return printed.squared_error(printed.hadamard(v, epsilon), v, p, n)


def paper_decoder(v: int, epsilon: float, p: Any, n: int) -> float:
    return printed.squared_error(printed.unary(v, epsilon, 0.5, True), v, p, n)


@pytest.mark.parametrize(
    ("form", "rival"),
    [
        ("uRR exact l1", printed.urr_l1),
        ("uRAP exact l1", printed.urap_l1),
        ("uRAP l2 (48)", printed.urr_l2),
        ("uRAP(theta), drop-bits", paper_decoder),
        ("the same people", with_sampling),
        ("mixture", paper_decoder),
    ],
)
def test_a_form_taken_for_another_is_seen(form: str, rival: Callable[..., float]) -> None:
    """Planted: the limit of many users for few, the other mechanism's or decoder's, sampling counted where is none."""
    seen = []
    for score in of_form(form):
        one, mechanism = score.setting, score.setting.mechanism
        said = rival(mechanism.domain.sensitive_count, mechanism.epsilon, one.p, one.n)
        seen.append(abs(score.z(said / one.said)))
    assert max(seen) > 8


# What simulation need not show


@pytest.mark.parametrize(("v", "w"), SIZES)
def test_no_distribution_is_worse_than_the_printed_worst_one(v: int, w: int) -> None:
    random = np.random.default_rng([SEED, v, w])
    others = [even(v, w, a) for a in (np.linspace(0, 1, 101) if v < w else [1.0])]
    others += [random.dirichlet(np.full(w, concentration)) for concentration in (0.1, 1, 10) for _ in range(30)]
    for epsilon in (*worst_case_epsilons(v, w), 2.0):
        for form, worst in (
            (printed.urr_l1, printed.urr_worst_l1),
            (printed.urap_l1, printed.urap_worst_l1),
            (printed.urr_l2, printed.urr_worst_l2),
            (printed.urap_l2, printed.urap_worst_l2),
        ):
            value, a = worst(v, w, epsilon, 7)
            assert form(v, epsilon, even(v, w, a), 7) == pytest.approx(value, rel=1e-12)
            assert max(form(v, epsilon, p, 7) for p in others) <= value * (1 + 1e-12)


@pytest.mark.parametrize("mechanism", ["rr", "unary"])
@pytest.mark.parametrize("method", ["linear", "threshold", "norm-sub"])
def test_theorem_1_holds_in_every_draw(mechanism: str, method: str) -> None:
    """l1(p_hat, p) <= l1(r_hat, r) + sum r_hat(bot) l1(pi_hat, pi); without the second term it would not."""
    random, noise_alone = np.random.default_rng([SEED, len(method)]), 0
    plan = Personalized(domain(2, 12), 2.0, ["home", "work"], mechanism=mechanism, others=False)
    for draw in range(100):
        r, (pi, guess) = random.dirichlet(np.ones(14)), behind_two_bots(random)
        tally = draw_tally(plan.common, random.multinomial(20_000, r), random)
        background = None if draw % 2 else dict(zip(plan.tags, guess, strict=True))
        found = estimate_personalized(plan, tally, method=method, background=background)
        r_hat = found.intermediate.frequencies
        pi_hat = np.array([share.whole(12) for share in found.shares])
        error = np.abs(found.estimate.frequencies - r[:12] - r[12:] @ pi).sum()
        noise, knowledge = np.abs(r_hat - r).sum(), np.abs(r_hat[12:]) @ np.abs(pi_hat - pi).sum(axis=1)
        assert error <= noise + knowledge + 1e-12
        assert knowledge <= 2 * np.abs(r_hat[12:]).sum() + 1e-12
        noise_alone += error > noise
    assert noise_alone > 30


def behind_two_bots(random: np.random.Generator) -> Any:
    """The truth and a guess: ``(2, 2, 12)`` distributions over the values that are not sensitive for everybody."""
    return np.concatenate([np.zeros((2, 2, 2)), random.dirichlet(np.full(10, 0.5), (2, 2))], axis=2)
