"""A promise to each sensitive value, one-sided: from fractions, by the closed forms, and what it is not."""

import json
import warnings
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from math import log, nextafter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize

from discreet.cli import main
from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.errors import ParameterError
from discreet.estimators import METHODS, estimate
from discreet.formats.plan import Plan
from discreet.mechanisms import BlockMechanism, PerValueEncoding, PerValueResponse, RandomizedResponse, UnaryEncoding
from discreet.mechanisms.law import LawMechanism
from discreet.mechanisms.mechanism import tallies_by_group
from discreet.mechanisms.per_value import GroupEpsilons, best_odds
from discreet.mechanisms.personalized import Personalized
from discreet.mechanisms.singletons import Singletons
from discreet.privacy.audit import audit
from discreet.privacy.notions import one_sided
from discreet.privacy.verify import verify
from laws import MEDIUM, SMALL, Case, cases, over, rounding, spelled
from packing import each
from refusals import refused
from repeated import estimates

BOTH = each("cls", [PerValueResponse, PerValueEncoding])
DOMAIN = Domain(list("abcdef"), sensitive=list("abc"))
EPSILONS = {"a": 0.5, "b": 1.0, "c": 2.0}
per_value_cases = [case for case in cases({**SMALL, **MEDIUM}) if case.builder.endswith("per-value")]
small = over([case for case in per_value_cases if case.sizes in SMALL])


def own_ratio(case: Case, code: int) -> Fraction:
    """Return the largest Q(y|x) / Q(y|x') over y and x', in whole numbers."""
    matrix = spelled(case).numerators
    possible = matrix[code] > 0
    pairs = zip(matrix[code][possible], matrix.min(axis=0)[possible], strict=True)
    return max(Fraction(one, least) for one, least in pairs)


def within(ratio: Fraction, epsilon: float) -> bool:
    with localcontext() as context:
        context.prec = 60
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= Decimal(epsilon).exp()


def promises(mechanism: BlockMechanism) -> list[float]:
    return [mechanism.promised_to(code) for code in mechanism.domain.sensitive_codes]


# What is promised holds, and no more


@small
def test_every_value_keeps_its_promise_and_nearly_uses_it_up(case: Case) -> None:
    for code, promised in zip(case.domain.sensitive_codes, promises(case.mechanism), strict=True):
        ratio = own_ratio(case, code)
        assert within(ratio, promised)
        assert log(ratio) == pytest.approx(promised, rel=rounding(case))


@small
def test_the_two_sided_reading_does_not_hold(case: Case) -> None:
    """Two values whose promises differ: the larger ratio is above the smaller promise."""
    kept = dict(zip(case.domain.sensitive_codes.tolist(), promises(case.mechanism), strict=True))
    strict, loose = min(kept, key=kept.__getitem__), max(kept, key=kept.__getitem__)
    matrix = spelled(case).numerators
    possible = matrix[loose] > 0
    ratio = max(Fraction(a, b) for a, b in zip(matrix[loose][possible], matrix[strict][possible], strict=True))
    assert (log(ratio) > kept[strict] * 1.4) == (case.domain.sensitive_count > 1)
    assert within(ratio, kept[loose])


@small
def test_the_notion_is_read_off_the_matrix(case: Case) -> None:
    channel, sensitive = spelled(case), case.domain.sensitive
    exact = one_sided(channel.numerators, sensitive=sensitive)
    assert exact.ratios == tuple(own_ratio(case, code) for code in case.domain.sensitive_codes)
    floats = one_sided(channel.matrix, sensitive=sensitive)
    assert floats.ratios is None
    np.testing.assert_allclose(floats.epsilons, exact.epsilons, rtol=1e-9)
    drawn = one_sided(case.mechanism.channel())
    np.testing.assert_allclose(drawn.epsilons, exact.epsilons, rtol=1e-6)


def test_a_value_without_any_bound_has_none() -> None:
    found = one_sided([[Fraction(1), 0], [Fraction(1, 2), Fraction(1, 2)]], sensitive=np.array([True, True]))
    assert found.ratios == (Fraction(2), None)
    assert found.epsilons.tolist() == [nextafter(log(2), 1), np.inf]


@over(per_value_cases)
def test_verification_says_it_of_each_level(case: Case) -> None:
    found, mechanism = verify(case.mechanism), case.mechanism
    assert found.holds
    assert all(group.holds for group in found.groups)
    assert sorted(np.concatenate([group.codes for group in found.groups])) == case.domain.sensitive_codes.tolist()
    assert found.ratio == max(group.ratio for group in found.groups)
    for group in found.groups:
        assert {mechanism.promised_to(code) for code in group.codes} == {group.promised}
        assert group.ratio == 1 + Fraction(mechanism.threshold, 2**64 - mechanism.threshold) / group.inclusion
        assert group.realised <= group.promised
        assert group.realised == pytest.approx(group.promised, rel=rounding(case))
        if group.from_matrix is not None:
            assert group.from_matrix == pytest.approx(group.realised, abs=1e-9)


@BOTH
def test_a_promise_that_only_one_value_misses_is_caught(cls: Any) -> None:
    """At the largest epsilon everything holds; one value of three has been promised a little less than it gets."""
    mechanism = cls(DOMAIN, 2.0, epsilons=EPSILONS)
    object.__setattr__(mechanism, "epsilons", (0.499, 1.0, 2.0))
    found = verify(mechanism)
    assert not found.holds
    assert [group.holds for group in found.groups] == [False, True, True]
    assert found.realised <= 2.0


@BOTH
def test_the_audit_compares_a_value_with_its_own_promise(cls: Any) -> None:
    """Broken for the best protected value only: ratios stay far below the largest promise."""
    mechanism = cls(DOMAIN, 2.0, epsilons={"a": 1.0, "b": 1.0, "c": 2.0})
    assert audit(mechanism, draws=200_000, random=SeededRandom(1)).holds
    object.__setattr__(mechanism, "epsilons", (0.7, 2.0))
    found = audit(mechanism, draws=200_000, random=SeededRandom(1))
    assert not found.holds
    assert found.promised == 0.7
    assert found.lower_bound < 1.0
    assert found.event.first.code in (0, 1)
    assert "the first value's epsilon_x" in str(found)


def test_the_guarantee_says_it_in_words() -> None:
    said = str(PerValueResponse(DOMAIN, 2.0, epsilons=EPSILONS).guarantee)
    for part in (
        "one-sided: a report makes x at most e^epsilon_x times likelier than any other value",
        "the two-sided reading, min(epsilon_x, epsilon_x'), is stricter and does not hold",
        "promised 0.5 to 2",
        "3 sensitive of 6 values",
        "The other 3 values are not protected",
    ):
        assert part in said
    alone = str(PerValueResponse(DOMAIN, 2.0, epsilons=dict.fromkeys("abc", 2.0)).guarantee)
    assert "two-sided" not in alone
    both = PerValueResponse(Domain(["a", "b"]), 1.0, epsilons={"a": 1, "b": 0.5})
    assert "epsilon-LDP at the largest" in str(both.guarantee)


# The closed forms


def beta(epsilons: Any) -> Any:
    return 1 / np.expm1(np.array(epsilons))


def test_the_printed_example() -> None:
    """[Spec of the optimum, section 5]: 7.09 against 22.8 for uRR at the least epsilon."""
    even = np.full(6, 1 / 6)
    assert round(PerValueResponse(DOMAIN, 2.0, epsilons=EPSILONS).decoder.mse(1, even), 2) == 7.09
    assert round(RandomizedResponse(DOMAIN, 0.5).decoder.mse(1, even), 1) == 22.8


@over([case for case in per_value_cases if case.builder == "rr-per-value"])
def test_randomized_response_has_its_closed_forms(case: Case) -> None:
    """S = 1/(1 + T), pi = beta/T, n MSE = (1 + T)^2 - sum (p + beta)^2 - sum p^2, and its largest by projection."""
    mechanism, domain = case.mechanism, case.domain
    noise = beta(promises(mechanism))
    total = noise.sum()
    assert mechanism.numbers.truth == pytest.approx(1 / (1 + total), rel=1e-12)
    np.testing.assert_allclose(mechanism.numbers.inclusion * np.ones(len(noise)), noise / total, rtol=1e-12)
    shift = np.zeros(domain.size)
    shift[domain.sensitive] = noise
    for p in np.random.default_rng(1).dirichlet(np.ones(domain.size), 5):
        expected = (1 + total) ** 2 - ((p + shift) ** 2).sum()
        assert mechanism.decoder.mse(1, p) == pytest.approx(expected, rel=1e-9)
    low, high = -1.0 - shift.max(), 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(-shift - middle, 0).sum() > 1 else (low, middle)
    p = np.maximum(-shift - low, 0)
    p /= p.sum()
    assert mechanism.decoder.worst_case_mse(1) == pytest.approx((1 + total) ** 2 - ((p + shift) ** 2).sum(), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("v", [1, 7])
def test_one_epsilon_takes_theta_one_half(v: int, epsilon: float) -> None:
    odds = float(best_odds(GroupEpsilons.over(np.zeros(v, dtype=np.int64), (epsilon,))))
    assert odds == pytest.approx(1 / (1 + 2 * float(beta(epsilon))), rel=2e-6)
    domain = Domain(range(9), sensitive=range(v))
    mechanism = PerValueEncoding(domain, epsilon, epsilons=[{"values": range(v), "epsilon": epsilon}])
    half = UnaryEncoding(mechanism.domain, epsilon, theta=0.5)
    p = np.full(9, 1 / 9)
    assert mechanism.decoder.mse(1, p) == pytest.approx(half.decoder.mse(1, p), rel=2e-3)


@pytest.mark.parametrize("epsilons", [(0.5, 1.0, 2.0), (0.05, 3.0), (1.0, 1.1), (0.3, 20.0), (150.0, 200.0)])
def test_the_odds_have_the_least_summed_variance_of_noise(epsilons: tuple[float, ...]) -> None:
    groups = np.repeat(np.arange(len(epsilons)), [3, 5, 2][: len(epsilons)])
    found = float(best_odds(GroupEpsilons.over(groups, epsilons)))
    b = beta(np.array(epsilons)[groups])

    def loss(r: Any) -> Any:
        return (b * (1 + r) ** 2 / (r * (1 - r * b))).sum()

    others = np.concatenate([np.linspace(1e-3, 0.9999, 3000) * min(1.0, 1 / b.max()), found * np.array([0.99, 1.01])])
    assert all(loss(r) >= loss(found) * (1 - 1e-9) for r in others if r * b.max() < 1)


@pytest.mark.parametrize("cls", [PerValueResponse, PerValueEncoding])
@pytest.mark.parametrize("epsilons", [(0.001, 200.0), (190.0, 200.0), (0.01, 0.011, 5.0), (1e-9, 1.0)])
def test_extremes_keep_their_promises(cls: Any, epsilons: tuple[float, ...]) -> None:
    domain = Domain(range(9))
    groups = [{"values": [x for x in range(9) if x % len(epsilons) == k], "epsilon": e} for k, e in enumerate(epsilons)]
    mechanism = cls(domain, max(epsilons), epsilons=groups)
    assert verify(mechanism).holds
    reports = mechanism.obfuscate_codes(np.arange(9).repeat(50), random=SeededRandom(1))
    assert np.isfinite(mechanism.decoder.estimate(mechanism.tally(reports))).all()


def test_many_values_that_are_all_promised_something_else() -> None:
    domain = Domain(range(1500), sensitive=range(1000))
    for cls in (PerValueResponse, PerValueEncoding):
        mechanism = cls(domain, 2.0, epsilons={x: 0.5 + 1.5 * (x + 1) / 1000 for x in range(1000)})
        found = verify(mechanism)
        assert found.holds
        assert len(found.groups) == 1000
        assert min(group.realised / group.promised for group in found.groups) > 1 - 1e-3
        tally = mechanism.tally(mechanism.obfuscate_codes(np.arange(1500).repeat(4), random=SeededRandom(2)))
        errors = mechanism.decoder.standard_errors(6000, np.full(1500, 1 / 1500))
        z = (mechanism.decoder.estimate(tally) - 1 / 1500) / errors
        assert 0.9 < z.std() < 1.1


# The analyst


@BOTH
@pytest.mark.parametrize("sensitive", ["abc", "abcdef"])
def test_standard_errors_hold(cls: Any, sensitive: str) -> None:
    """Errors of 400 simulated collections, in standard errors: of the linear estimate, its sum and its exact errors."""
    domain = Domain(list("abcdef"), sensitive=list(sensitive))
    epsilons = {one: 0.5 + 0.3 * place for place, one in enumerate(sensitive)}
    mechanism = cls(domain, max(epsilons.values()), epsilons=epsilons)
    n, runs = 2000, 400
    p = np.array([0.3, 0.05, 0.1, 0.25, 0.1, 0.2])
    codes, runs_of = np.random.default_rng(7).choice(6, n * runs, p=p), np.repeat(np.arange(runs), n)
    errors = mechanism.decoder.standard_errors(n, p)
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(8))
    found = estimates(mechanism, tallies_by_group(mechanism, reports, runs_of, runs))
    z, squares = (found.frequencies - p) / errors, ((found.frequencies - p) ** 2).sum(axis=1)
    assert (abs(z.mean(axis=0)) * np.sqrt(runs) < 5).all()
    assert (abs(z.var(axis=0) - 1) * np.sqrt(runs / 2) < 5).all()
    np.testing.assert_allclose(found.standard_errors.mean(axis=0), errors, rtol=0.03)
    assert abs(np.mean(squares) - mechanism.decoder.mse(n, p)) < 5 * np.std(squares) / np.sqrt(runs)


@BOTH
@pytest.mark.parametrize("sensitive", ["abc", "abcdef"])
def test_the_likelihood_is_maximised(cls: Any, sensitive: str) -> None:
    """Against a general optimiser on the spelled-out matrix; EM climbs to the same place if it is not stopped."""
    domain = Domain(list("abcdef"), sensitive=list(sensitive))
    epsilons = {one: 0.5 + 0.3 * place for place, one in enumerate(sensitive)}
    mechanism = cls(domain, max(epsilons.values()), epsilons=epsilons)
    codes = np.random.default_rng(3).choice(6, 3000, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(4))
    matrix, counts = mechanism.channel().matrix, outputs(mechanism, reports)

    def loss(p: Any) -> float:
        return float(-(counts @ np.log(np.maximum(p, 0) @ matrix + 1e-300)) / len(codes))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = min(
            minimize(
                loss,
                start,
                bounds=[(0, 1)] * 6,
                constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
                options={"ftol": 1e-14, "maxiter": 500},
            ).fun
            for start in np.random.default_rng(5).dirichlet(np.ones(6), 3)
        )
    found = estimate(mechanism, reports, method="mle", tolerance=1e-10)
    assert loss(found.frequencies) <= best + 1e-8
    assert found.gap <= 1e-10
    early = estimate(mechanism, reports, method="em")
    assert loss(early.frequencies) <= best + 1e-3


def outputs(mechanism: BlockMechanism, reports: Any) -> Any:
    """Return how often each output of the spelled-out matrix came."""
    blocks, _ = mechanism.law.alphabet()
    rows = {row.tobytes(): place for place, row in enumerate(mechanism.law.contains(blocks))}
    counts = np.zeros(len(rows) + mechanism.domain.clear_count)
    for row in mechanism.law.contains(reports.blocks):
        counts[rows[row.tobytes()]] += 1
    for code in reports.clear:
        counts[len(rows) + np.searchsorted(mechanism.domain.clear_codes, code)] += 1
    return counts


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_what_is_there(cls: Any, method: str) -> None:
    mechanism = cls(DOMAIN, 2.0, epsilons=EPSILONS)
    p = np.array([0.3, 0.05, 0.1, 0.25, 0.1, 0.2])
    reports = mechanism.obfuscate_codes(np.random.default_rng(1).choice(6, 200_000, p=p), random=SeededRandom(2))
    found = estimate(mechanism, reports, method=method)
    assert abs(found.frequencies - p).max() < 0.05
    assert (abs(found.frequencies - p) < 6 * np.maximum(found.standard_errors, 1e-3)).all()


# What may be said, and what not


@BOTH
def test_all_ways_to_say_it_mean_the_same(cls: Any) -> None:
    product = Domain.product({"age": ["young", "old"], "state": ["ill", "well"]}, sensitive={"state": "ill"})
    grid = Domain.grid(lat=(0, 2), lon=(0, 2), rows=2, cols=2, sensitive=[(0.5, 0.5), (1.5, 1.5)])
    one_by_one = [{"values": [one], "epsilon": epsilon} for one, epsilon in EPSILONS.items()]
    asked = [{"values": lambda x, one=one: x == one, "epsilon": EPSILONS[one]} for one in "cab"]
    patterns = [
        {"values": [{"age": ["old"], "state": "ill"}], "epsilon": 2},
        {"values": {"age": "young", "state": "ill"}, "epsilon": 1},
    ]
    points = [{"values": [[0.1, 0.2]], "epsilon": 1.0}, {"values": [[1.9, 1.1]], "epsilon": 2}]
    same = [
        [cls(DOMAIN, 2, epsilons=said) for said in (EPSILONS, one_by_one, asked)],
        [cls(product, 2, epsilons=said) for said in ({("young", "ill"): 1, ("old", "ill"): 2}, patterns)],
        [cls(grid, 2, epsilons=said) for said in ({(0.5, 0.5): 1, (1.5, 1.5): 2}, points)],
    ]
    for group in same:
        assert len({mechanism.fingerprint for mechanism in group}) == 1
    assert len({group[0].fingerprint for group in same}) == len(same)


REFUSED: list[tuple[Any, str]] = [
    ({"a": 0.5}, "2 of 3 have none, the first of them 'b'"),
    ({}, "3 of 3 have none, the first of them 'a'"),
    ([], "3 of 3 have none"),
    ({**EPSILONS, "d": 1.0}, "1 of the values named are not sensitive, the first of them 'd'"),
    ({**EPSILONS, "z": 1.0}, "1 of 4 are not in it, the first of them 'z'"),
    ({**EPSILONS, 7: 1.0}, "labels of epsilons must be those of the domain"),
    (
        [{"values": ["a", "b"], "epsilon": 1.0}, {"values": ["b", "c"], "epsilon": 2.0}],
        "1 have two, the first of them 'b'",
    ),
    ([{"values": ["a", "b"], "epsilon": 1.0}, {"values": ["a", "b"], "epsilon": 1.0}], "2 have two, the first of them"),
    ([{"values": ["a", "z"], "epsilon": 1.0}], "values of group 0 of epsilons"),
    ([{"values": None, "epsilon": 1.0}], "values of group 0 of epsilons must be named"),
    ([{"values": ["a"]}], "group 0 of epsilons must have values and epsilon"),
    ([{"values": ["a"], "epsilon": 1.0, "more": 2}], "group 0 of epsilons must have values and epsilon"),
    (["a"], "group 0 of epsilons must have values and epsilon"),
    ("abc", "must be a mapping from label to epsilon, or a list of groups"),
    (None, "must be a mapping from label to epsilon, or a list of groups"),
    (1.0, "must be a mapping from label to epsilon, or a list of groups"),
    ({**EPSILONS, "c": 2.5}, "epsilon must be the largest promise, 2.0, but 'c' is given 2.5"),
    *(
        ({**EPSILONS, "b": bad}, "epsilon of 'b' must be a finite number > 0")
        for bad in (0, -1.0, np.nan, np.inf, "1", None, True)
    ),
    ([{"values": [{"age": "young"}], "epsilon": 1.0}], "patterns need a product domain"),
]


@BOTH
@each("epsilons, said", REFUSED)
def test_what_is_no_promise_to_each_is_refused(cls: Any, epsilons: Any, said: str) -> None:
    assert said in refused(ParameterError, lambda: cls(DOMAIN, 2.0, epsilons=epsilons))


@BOTH
@pytest.mark.parametrize("as_groups", [False, True])
def test_promises_that_differ_by_a_rounding_are_the_smaller_one(cls: Any, as_groups: bool, tmp_path: Path) -> None:
    domain = Domain(list("abc"), sensitive=list("ab"))
    for epsilon, largest in ((0.3, 0.1 + 0.2), (0.1 + 0.2, 0.3), (0.1 + 0.2, 0.1 + 0.2), (1.0, sum([0.1] * 10))):
        said = {"a": 0.1, "b": largest}
        epsilons = [{"values": [x], "epsilon": one} for x, one in said.items()] if as_groups else said
        mechanism = cls(domain, epsilon, epsilons=epsilons)
        least = min(epsilon, largest)
        assert (mechanism.epsilon, mechanism.guarantee.promised) == (least, least)
        assert [group.promised for group in mechanism.guarantee.groups] == [0.1, least]
        assert all(group.realised <= group.promised for group in mechanism.guarantee.groups)
        plan = Plan.of(mechanism)
        plan.save(tmp_path / "plan.toml", force=True)
        assert Plan.load(tmp_path / "plan.toml").fingerprint == plan.fingerprint == mechanism.fingerprint
    assert "must be the largest promise" in refused(
        ParameterError, lambda: cls(domain, 0.3, epsilons={"a": 0.1, "b": 0.3 + 1e-9})
    )
    assert "must be the largest of epsilons" in refused(
        ParameterError, lambda: cls(domain, 0.3 + 1e-9, epsilons={"a": 0.1, "b": 0.3})
    )


@BOTH
def test_what_else_is_refused(cls: Any) -> None:
    assert "domain must be a Domain" in refused(ParameterError, lambda: cls(["a"], 1.0, epsilons={"a": 1.0}))
    assert "epsilon must be a finite number" in refused(ParameterError, lambda: cls(DOMAIN, 0, epsilons=EPSILONS))
    assert "so small that the truth would never be told" in refused(
        ParameterError, lambda: cls(DOMAIN, 1.0, epsilons={**EPSILONS, "c": 1.0, "a": 1e-22})
    )
    with pytest.raises(TypeError):
        cls(DOMAIN, 1.0)
    grid = Domain.grid(lat=(0, 2), lon=(0, 2), rows=2, cols=2, sensitive=[(0.5, 0.5), (1.5, 1.5)])
    twice = {(0.1, 0.1): 1.0, (0.2, 0.2): 1.0, (1.5, 1.5): 2.0}
    assert "1 have two, the first of them" in refused(ParameterError, lambda: cls(grid, 2.0, epsilons=twice))
    home = refused(ParameterError, lambda: Personalized(DOMAIN, 2.0, ["home"], mechanism=cls, epsilons=EPSILONS))
    assert "a personalized mechanism must have one epsilon for all values and bots" in home


@BOTH
def test_where_nothing_is_sensitive_nothing_is_promised(cls: Any) -> None:
    nobody = Domain(range(4), sensitive=[], allow_unprotected=True)
    for none in ({}, []):
        mechanism = cls(nobody, 1.0, epsilons=none)
        assert mechanism.guarantee.notion == "none"
        tally = mechanism.tally(mechanism.obfuscate_codes([3, 0, 3, 1]))
        assert mechanism.decoder.estimate(tally).tolist() == [0.25, 0.25, 0, 0.5]
    assert "not sensitive" in refused(ParameterError, lambda: cls(nobody, 1.0, epsilons={0: 1.0}))


# Plans and verbs


PLAN = """
epsilon = 2.0
[domain]
labels = ["a", "b", "c", "d", "e", "f"]
sensitive = ["a", "b", "c"]
[mechanism]
name = "{name}"
{epsilons}
"""
MAPPING = "epsilons = { a = 0.5, b = 1, c = 2.0 }"
GROUPS = """
[[mechanism.epsilons]]
values = ["a"]
epsilon = 0.5
[[mechanism.epsilons]]
values = ["b"]
epsilon = 1
[[mechanism.epsilons]]
values = [false, false, true, false, false, false]
epsilon = 2.0
"""


def written(folder: Path, cls: Any, epsilons: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN.format(name=cls.name, epsilons=epsilons))
    return path


@BOTH
@pytest.mark.parametrize("epsilons", [MAPPING, GROUPS])
def test_plans_say_it_as_the_class_does(cls: Any, epsilons: str, tmp_path: Path) -> None:
    made = Plan.load(written(tmp_path, cls, epsilons)).mechanism()
    assert made.fingerprint == cls(DOMAIN, 2.0, epsilons=EPSILONS).fingerprint
    spelled_out = {
        "epsilon": 2.0,
        "domain": {"labels": list("abcdef"), "sensitive": list("abc")},
        "mechanism": {"name": cls.name, "epsilons": EPSILONS},
    }
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(spelled_out))
    assert Plan.load(path).fingerprint == made.fingerprint


@BOTH
@pytest.mark.parametrize(
    ("epsilons", "said"),
    [
        ("", "missing required field `epsilons`"),
        ('epsilons = "all"', "mechanism.epsilons"),
        ('epsilons = { a = "much" }', "mechanism.epsilons"),
        ("epsilons = [1.0]", "mechanism.epsilons"),
    ],
)
def test_plans_are_decoded_strictly(cls: Any, epsilons: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, cls, epsilons)
    assert said in refused(ParameterError, lambda: Plan.load(path))


@BOTH
def test_a_plan_may_not_be_personalized(cls: Any, tmp_path: Path) -> None:
    path = written(tmp_path, cls, MAPPING)
    path.write_text('tags = ["home"]\n' + path.read_text())
    assert "one epsilon for all values and bots" in refused(ParameterError, Plan.load(path).mechanism)


@BOTH
def test_a_plan_is_made_of_values_that_share_an_epsilon(cls: Any, tmp_path: Path) -> None:
    made = cls(DOMAIN, 2.0, epsilons={"a": 2.0, "b": 0.5, "c": 2.0})
    plan = Plan.of(made)
    assert plan.mechanism().fingerprint == made.fingerprint
    plan.save(tmp_path / "plan.toml")
    assert Plan.load(tmp_path / "plan.toml").mechanism().fingerprint == made.fingerprint


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, list(arguments))


@BOTH
def test_the_verb_verify_says_which_reading_it_verifies(cls: Any, tmp_path: Path) -> None:
    path = str(written(tmp_path, cls, MAPPING))
    shown = run("verify", path)
    assert shown.exit_code == 0
    words = " ".join(shown.stdout.split())
    assert words.count("one-sided: a report makes x at most e^epsilon_x times likelier than any other value") == 2
    assert "is stricter and does not hold" in words
    assert "The promise holds." in words
    facts = json.loads(run("verify", path, "--json").stdout)
    assert facts["reading"].startswith("one-sided: ")
    assert [group["promised"] for group in facts["per_value"]] == [0.5, 1.0, 2.0]
    assert [group["first_values"] for group in facts["per_value"]] == [["a"], ["b"], ["c"]]
    for group, found in zip(facts["per_value"], verify(Plan.load(path).mechanism()).groups, strict=True):
        assert Fraction(group["e_to_epsilon"]) == found.ratio
        assert Fraction(group["block_contains_a_given_one"]) == found.inclusion
        assert group["e_to_epsilon"] in words
        assert group["holds"] is True


def test_the_verb_verify_sums_up_where_there_are_many(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    epsilons = [{"values": [x], "epsilon": (61 + x) / 100} for x in range(40)]
    domain = {"range": [0, 50], "sensitive": list(range(40))}
    path.write_text(
        json.dumps({"epsilon": 1.0, "domain": domain, "mechanism": {"name": "rr-per-value", "epsilons": epsilons}})
    )
    words = run("verify", str(path)).stdout
    assert "32 other values" in words
    assert "0.69 to 1" in words
    assert len(json.loads(run("verify", str(path), "--json").stdout)["per_value"]) == 40


def test_the_verb_verify_exits_with_1_and_shows_who_is_not_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(written(tmp_path, PerValueResponse, MAPPING))
    sound = Plan.mechanism

    def broken(self: Plan) -> Any:
        mechanism = sound(self)
        object.__setattr__(mechanism, "epsilons", (0.5, 0.9, 2.0))
        return mechanism

    monkeypatch.setattr(Plan, "mechanism", broken)
    shown = run("verify", path)
    assert shown.exit_code == 1
    assert "THE PROMISE IS BROKEN" in shown.stdout
    holds = [group["holds"] for group in json.loads(run("verify", path, "--json").stdout)["per_value"]]
    assert holds == [True, False, True]


def test_more_protection_for_all_costs_more_and_for_some_less() -> None:
    p = np.full(6, 1 / 6)
    losses = [
        PerValueResponse(DOMAIN, max(epsilons.values()), epsilons=epsilons).decoder.mse(1, p)
        for epsilons in (dict.fromkeys("abc", 2.0), EPSILONS, dict.fromkeys("abc", 0.5))
    ]
    assert all(one < other for one, other in pairwise(losses))
    assert losses[0] == pytest.approx(RandomizedResponse(DOMAIN, 2.0).decoder.mse(1, p), rel=1e-12)
    assert losses[2] == pytest.approx(RandomizedResponse(DOMAIN, 0.5).decoder.mse(1, p), rel=1e-12)


@BOTH
def test_a_promise_that_nobody_has_is_refused(cls: type[BlockMechanism]) -> None:
    """Epsilon is what the guarantee states as promised, so some value must have it."""
    refused(ParameterError, lambda: cls(DOMAIN, 1.0, epsilons=dict.fromkeys("abc", 0.5)))
    for epsilons in [(0.5,), (2.0,), (0.5, 1.0)]:
        refused(ParameterError, lambda: LawMechanism(DOMAIN, 1.0, Singletons(3), epsilons=epsilons))  # noqa: B023
