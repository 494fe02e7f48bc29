"""What follows from an estimate: sums, marginals, conditions, ratios, means, quantiles; bad input."""

import time
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from discreet.core.domain import Domain
from discreet.core.estimate import Estimate
from discreet.core.random import SeededRandom
from discreet.core.ratios import Moments, ratio_pieces
from discreet.core.tally import Tally
from discreet.errors import DataError, ParameterError
from discreet.estimators import estimate
from discreet.mechanisms import HadamardResponse, LocalHashing, RandomizedResponse, SubsetSelection, UnaryEncoding

Z = norm.isf(0.025)
PEOPLE = Domain.product(
    {"age": ["<30", "30-59", "60+"], "status": ["single", "married"], "sex": ["f", "m"]},
    sensitive=[{"status": "single"}, {"age": "60+", "sex": "m"}],
)
P = np.array([0.2, 0.1, 0.05, 0.05, 0.1, 0.05, 0.15, 0.1, 0.02, 0.03, 0.05, 0.1])


def collected(build: Any = UnaryEncoding, n: int = 4000, domain: Domain = PEOPLE, p: Any = P, **more: Any) -> Estimate:
    mechanism = build(domain, 2.0)
    codes = np.random.default_rng(3).choice(domain.size, n, p=p)
    return estimate(mechanism, mechanism.obfuscate_codes(codes, random=SeededRandom(2)), **more)


BUILDS = pytest.mark.parametrize("build", [UnaryEncoding, SubsetSelection, RandomizedResponse, HadamardResponse])


@BUILDS
def test_totals_are_sums_with_their_covariances(build: Any) -> None:
    found = collected(build)
    matrix = found.covariance()
    chosen = [("<30", "single", "f"), ("60+", "married", "m"), ("30-59", "married", "f")]
    w = np.zeros(12)
    w[PEOPLE.encode(chosen)] = 1
    whole = found.total(chosen)
    assert whole.estimate == pytest.approx(w @ found.frequencies)
    assert whole.standard_error == pytest.approx(np.sqrt(w @ matrix @ w))
    if build not in {RandomizedResponse, SubsetSelection}:  # of which blocks have one value here: a binomial count
        away = Z * whole.standard_error
        assert whole.interval() == pytest.approx((whole.estimate - away, whole.estimate + away))
    assert float(whole) == whole.estimate
    assert repr(whole).startswith(f"share of 3 values: {whole.estimate:.4f}, standard error {whole.standard_error:.4f}")
    by_pattern = found.total({"age": "<30"})
    assert by_pattern.estimate == pytest.approx(found.frequencies[:4].sum())
    assert by_pattern.standard_error == pytest.approx(np.sqrt(matrix[:4, :4].sum()))
    scores = np.linspace(-2, 3, 12)
    mean = found.mean(scores)
    assert mean.estimate == pytest.approx(scores @ found.frequencies)
    assert mean.standard_error == pytest.approx(np.sqrt(scores @ matrix @ scores))
    assert found.weighted(scores).estimate == mean.estimate
    apart = found.difference({"age": "<30"}, {"age": "60+"})
    w = np.r_[np.ones(4), np.zeros(4), -np.ones(4)]
    assert apart.estimate == pytest.approx(w @ found.frequencies)
    assert apart.standard_error == pytest.approx(np.sqrt(w @ matrix @ w))


@BUILDS
@pytest.mark.parametrize("names", [("age",), ("sex", "age"), ("age", "status")], ids="-".join)
def test_a_marginal_is_an_estimate_of_its_own(build: Any, names: tuple[str, ...]) -> None:
    found = collected(build)
    table, every = found.marginal(*names), PEOPLE.table()
    spelled = table.domain.table()
    for code in range(len(table)):
        labels = [spelled[name if len(names) > 1 else "value"][code] for name in names]
        rows = np.all([every[name] == label for name, label in zip(names, labels, strict=True)], axis=0)
        w = rows.astype(float)
        assert table.frequencies[code] == pytest.approx(w @ found.frequencies)
        assert table.standard_errors[code] == pytest.approx(np.sqrt(w @ found.covariance() @ w))
        assert table.domain.sensitive[code] == PEOPLE.sensitive[rows].any()
    low, high = table.interval()
    assert (low < table.frequencies).all()
    assert (high > table.frequencies).all()
    assert len(table.to_pandas()) == len(table)
    if len(names) > 1:
        twice, once = table.marginal(names[0]), found.marginal(names[0])
        assert twice.frequencies == pytest.approx(once.frequencies)
        assert twice.standard_errors == pytest.approx(once.standard_errors)


def test_the_noise_of_bits_adds_up() -> None:
    """A root of summed squares, which marginals had before, is not the error of a marginal of bits with a mass."""
    found = collected(UnaryEncoding)
    marginal = found.marginal("age")
    cells = found.standard_errors.reshape(3, 4)
    assert (np.sqrt((cells**2).sum(axis=1)) > marginal.standard_errors).all()


@BUILDS
def test_conditions_have_fiellers_intervals(build: Any) -> None:
    found = collected(build)
    table, matrix = found.where(status="single"), found.covariance()
    assert list(table.domain.space.attributes) == ["age", "sex"]
    inside = PEOPLE.table()["status"] == "single"
    assert table.frequencies == pytest.approx(found.frequencies[inside] / found.frequencies[inside].sum())
    low, high = table.limits()
    bottom = inside.astype(float)
    for at, code in enumerate(np.flatnonzero(inside)):
        top = np.eye(12)[code]
        for end in (low[at], high[at]):
            w = top - end * bottom
            assert (w @ found.frequencies) ** 2 == pytest.approx(Z**2 * (w @ matrix @ w))
        w = top - table.frequencies[at] * bottom
        assert table.standard_errors[at] == pytest.approx(np.sqrt(w @ matrix @ w) / (bottom @ found.frequencies))
    one, both = table.marginal("age"), found.marginal("age", "status").where(status="single")
    assert one.frequencies == pytest.approx(both.frequencies)
    assert one.standard_errors == pytest.approx(both.standard_errors)
    for found_end, wanted in zip(one.limits(), both.limits(), strict=True):
        assert found_end == pytest.approx(wanted)
    share = found.ratio({"status": "single", "age": "60+"}, {"status": "single"})
    assert share.estimate == pytest.approx(one["60+"].frequency)
    assert share.interval() == pytest.approx((one["60+"].lower, one["60+"].upper))
    assert share.standard_error == pytest.approx(one["60+"].standard_error)
    assert one.total(["60+"]).interval() == pytest.approx(share.interval())


def test_where_several_labels_are_allowed() -> None:
    found = collected()
    several = found.where(age=["<30", "30-59"], sex="f")
    assert several.domain.names() == ["single", "married"]
    sums = found.frequencies.reshape(3, 2, 2)[:2, :, 0].sum(axis=0)
    assert several.frequencies == pytest.approx(sums / sums.sum())


def test_ratios_in_one_piece_in_two_and_in_all() -> None:
    """Each piece is where the parabola says so, by trying many ratios."""
    tried = np.linspace(-6, 6, 24001)
    for moments in (Moments(2, 4, 0.1, 0.02, 0.2), Moments(2, 1, 0.1, 0.02, 1.0), Moments(0.1, 0.1, 1, 0.0, 1.0)):
        top, bottom, first, across, second = moments
        plausible = (top - tried * bottom) ** 2 <= Z**2 * (first - 2 * tried * across + tried**2 * second)
        pieces = ratio_pieces(moments, Z, (-6.0, 6.0))
        inside = np.any([(tried >= low - 1e-9) & (tried <= high + 1e-9) for low, high in pieces], axis=0)
        assert (inside == plausible).all()
    assert len(ratio_pieces(Moments(2, 4, 0.1, 0.02, 0.2), Z, (0.0, 1.0))) == 1
    assert len(ratio_pieces(Moments(2, 1, 0.1, 0.02, 1.0), Z, (-6.0, 6.0))) == 2
    assert ratio_pieces(Moments(0.1, 0.1, 1, 0.0, 1.0), Z, (0.0, 1.0)) == [(0.0, 1.0)]
    assert ratio_pieces(Moments(-2, 4, 0.001, 0, 0.001), Z, (0.0, 1.0)) == [(0.0, 0.0)]
    assert ratio_pieces(Moments(9, 4, 0.001, 0, 0.001), Z, (0.0, 1.0)) == [(1.0, 1.0)]


def test_a_ratio_that_the_reports_do_not_determine_says_so() -> None:
    mechanism = UnaryEncoding(Domain(["a", "b", "c", "d"]), 0.3)
    found = estimate(mechanism, mechanism.obfuscate(["a", "b"] * 100, random=SeededRandom(1)))
    ratio = found.ratio(["c"], ["c", "d"])
    assert not ratio.determined
    assert "these reports do not determine it" in repr(ratio)
    assert ratio.interval() == (ratio.pieces()[0][0], ratio.pieces()[-1][1])


def test_a_ratio_by_nothing_has_no_estimate() -> None:
    domain = Domain(["a", "b", "c"], sensitive=["a"])
    mechanism = RandomizedResponse(domain, 1.0)
    found = estimate(mechanism, Tally(mechanism.fingerprint, 50, np.array([50]), np.array([0, 0])))
    ratio = found.ratio(["b"], ["b", "c"])
    assert np.isnan([ratio.estimate, ratio.standard_error]).all()
    assert ratio.interval() == (0, 1)
    assert repr(ratio).startswith(
        "ratio: no estimate, standard error nan, 95% interval 0.0000 to 1.0000; these reports do"
    )


def test_quantiles_by_inversion() -> None:
    domain = Domain(range(20, 60))
    found = collected(domain=domain, p=np.r_[np.full(20, 0.04), np.full(20, 0.01)], n=20_000)
    matrix = found.covariance()
    below = np.tri(40)
    cumulative, deviations = below @ found.frequencies, np.sqrt(np.diag(below @ matrix @ below.T))
    for share in (0.1, 0.5, 0.75, 0.99):
        quantile = found.quantile(share)
        assert quantile.estimate == 20 + int(np.argmax(np.append(cumulative[:-1] >= share, True)))
        may = [
            (cumulative[j] + Z * deviations[j] >= share or j == 39)
            and (j == 0 or cumulative[j - 1] - Z * deviations[j - 1] < share)
            for j in range(40)
        ]
        assert quantile.interval() == (20 + may.index(True), 59 - may[::-1].index(True))
    assert found.median().estimate in {31, 32, 33}
    assert repr(found.median()).startswith(f"median: {found.median().estimate}, 95% interval")
    shuffled = Domain([5, 1, 3])
    assert collected(domain=shuffled, p=[0.1, 0.8, 0.1]).median().estimate == 1


def test_quantiles_of_texts_need_their_order() -> None:
    domain = Domain(["low", "high", "mid"])
    found = collected(domain=domain, p=[0.2, 0.2, 0.6])
    with pytest.raises(ParameterError, match="a quantile needs labels that are integers, or their order"):
        found.median()
    assert found.median(order=["low", "mid", "high"]).estimate == "mid"
    with pytest.raises(ParameterError, match="order must list each of the 3 values once, got 2, of which 2 differ"):
        found.median(order=["low", "mid"])
    with pytest.raises(ParameterError, match=r"order: .* not in the domain"):
        found.median(order=["low", "mid", "top"])


def test_other_methods_have_the_intervals_of_the_reports() -> None:
    linear, projected = collected(), collected(method="projected")
    one, other = (found.total({"age": "60+"}) for found in (linear, projected))
    assert one.interval() == other.interval()
    assert one.standard_error == other.standard_error
    assert other.estimate == pytest.approx(projected.frequencies[8:].sum())
    assert projected.marginal("sex").frequencies.sum() == pytest.approx(1)
    moved = Estimate.total(_with_frequencies(linear, np.eye(12)[0]), {"age": "60+"})
    assert not moved.fits
    assert "lies outside, so that it contradicts the reports" in repr(moved)


def _with_frequencies(found: Estimate, frequencies: Any) -> Estimate:
    from dataclasses import replace

    return replace(found, frequencies=frequencies)


@pytest.mark.parametrize("build", [UnaryEncoding, SubsetSelection, RandomizedResponse])
def test_functionals_cover_in_400_collections(build: Any) -> None:
    """400 collections of 2,000: 95% intervals hold in 91.5% to 98.2% (binomial tails of 1e-3 on either side)."""
    mechanism, runs = build(PEOPLE, 1.0), 400
    rng, held = np.random.default_rng(8), np.zeros(5)
    scores = np.linspace(0, 1, 12)
    old, young = P[8:].sum(), P[:4].sum()
    single = P.reshape(3, 2, 2)[:, 0].sum()
    truths = [old, scores @ P, young - old, P.reshape(3, 2, 2)[0, 0].sum() / single]
    for run in range(runs):
        codes = rng.choice(12, 2000, p=P)
        found = estimate(mechanism, mechanism.obfuscate_codes(codes, random=SeededRandom(run)))
        asked = [found.total({"age": "60+"}), found.mean(scores), found.difference({"age": "<30"}, {"age": "60+"})]
        ends = [one.interval() for one in asked]
        ends.append(found.ratio({"age": "<30", "status": "single"}, {"status": "single"}).interval())
        held[:4] += [low <= truth <= high for (low, high), truth in zip(ends, truths, strict=True)]
        low, high = found.marginal("age").interval()
        held[4] += np.mean((low <= P.reshape(3, 4).sum(axis=1)) & (P.reshape(3, 4).sum(axis=1) <= high))
    assert (held / runs > 0.915).all(), held / runs
    assert (held / runs < 0.985).all(), held / runs


def test_a_million_products_take_fifty_milliseconds() -> None:
    domain = Domain.product({"place": range(1000), "hour": range(24), "sex": range(2), "age": range(21)})
    mechanism = UnaryEncoding(domain, 1.0)
    counts = np.random.default_rng(1).binomial(10**6, 0.3, domain.size)
    found = estimate(mechanism, Tally(mechanism.fingerprint, 10**6, counts, np.zeros(0, np.int64)))
    found.marginal("age")
    taken = []
    for names in (("age",), ("place",), ("sex", "age"), ("hour", "age"), ("age",)):
        start = time.process_time()
        found.marginal(*names)
        taken.append(time.process_time() - start)
    assert np.median(taken) <= 0.05


# Bad input


def test_unknown_labels_are_told_some_that_are_known() -> None:
    found = collected()
    known = "such as <30, single, f, <30, single, m,"
    with pytest.raises(ParameterError, match=f"values must name values of the domain, {known}.* and 7 more; 1 of 1"):
        found.total([("<30", "single", "x")])
    with pytest.raises(ParameterError, match=r"'age' must name its labels, which are <30, 30-59, 60\+; got \['x'\]\."):
        found.where(age="x")
    with pytest.raises(ParameterError, match=r"attributes among \['age', 'status', 'sex'\], got \['colour'\]"):
        found.where(colour="red")
    with pytest.raises(ParameterError, match=r"different attributes among age, status, sex, got \['colour'\]\."):
        found.marginal("colour")
    with pytest.raises(DataError, match="1 of 1"):
        found.covariance([("<30", "single", "x")])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda found: found.total([]), "values must name at least one value of the domain, got none"),
        (lambda found: found.total("a"), "values must be a list of labels, not a single text"),
        (lambda found: found.ratio(["a"], []), "second must name at least one value of the domain, got none"),
        (lambda found: found.covariance([]), "values must be 1 to 4096 of the domain, got 0"),
        (lambda found: found.marginal("age"), "a marginal needs a product domain"),
        (lambda found: found.where(age="x"), "a condition needs a product domain"),
        (lambda found: found.mean(), "the mean of labels needs labels that are integers, or scores"),
        (lambda found: found.mean([1, 2]), "scores must be a finite number for each of the 3 values, got shape .2,."),
        (lambda found: found.mean({"a": 1, "b": 2}), "with 2 finite numbers"),
        (lambda found: found.mean([1, 2, np.nan]), "scores must be a finite number for each of the 3 values"),
        (lambda found: found.quantile(1.0), "share must be a number between 0 and 1, both excluded, got share=1.0"),
        (lambda found: found.total(["a"]).interval(1), "level must be a number between 0 and 1"),
        (lambda found: found.total({"age": "x"}), "values patterns need a product domain"),
    ],
)
def test_bad_input_is_refused(ask: Any, message: str) -> None:
    found = collected(domain=Domain(["a", "b", "c"]), p=[0.5, 0.3, 0.2], n=100)
    with pytest.raises(ParameterError, match=message):
        ask(found)


def test_all_labels_leave_nothing_open() -> None:
    found = collected()
    with pytest.raises(
        ParameterError, match="where must leave one attribute open, got labels of all: age, status, sex"
    ):
        found.where(age="60+", status="single", sex="f")
    with pytest.raises(ParameterError, match="a marginal must be of different attributes"):
        found.marginal()
    with pytest.raises(ParameterError, match="a marginal must be of different attributes"):
        found.marginal("age", "age")


def test_conditions_that_nobody_is_estimated_to_meet() -> None:
    domain = Domain.product({"a": range(2), "b": range(2)}, sensitive=[{"a": 0}])
    mechanism = RandomizedResponse(domain, 1.0)
    tally = Tally(mechanism.fingerprint, 10, np.array([6, 4]), np.array([0, 0]))
    with pytest.raises(DataError, match=r"must be estimated above 0, got 0\.0000; take labels that more"):
        estimate(mechanism, tally).where(a=1)


@pytest.mark.parametrize("build", [RandomizedResponse, HadamardResponse])
def test_one_report_tells_no_error_of_a_sum(build: Any) -> None:
    mechanism = build(PEOPLE, 1.0)
    found = estimate(mechanism, mechanism.obfuscate_codes(np.array([3]), random=SeededRandom(1)))
    for ask in (lambda: found.total({"age": "<30"}), lambda: found.marginal("age"), lambda: found.where(age="<30")):
        with pytest.raises(ParameterError, match="needs at least two reports, got 1"):
            ask()


def test_a_tally_of_hash_functions_is_not_enough() -> None:
    mechanism = LocalHashing(Domain(range(5)), 1.0, g=2)
    reports = mechanism.obfuscate([1] * 50, random=SeededRandom(1))
    assert estimate(mechanism, reports).total([1, 2]).standard_error > 0
    with pytest.raises(ParameterError, match="of hash functions they need the reports, not only their tally"):
        estimate(mechanism, mechanism.tally(reports)).total([1, 2])


@pytest.mark.parametrize("build", [RandomizedResponse, SubsetSelection, HadamardResponse])
def test_sums_whose_count_is_binomial_have_exact_intervals(build: Any) -> None:
    """Married people below 60 go in clear; under randomized response every set has a binomial count."""
    from discreet.accuracy.binomial_limits import BinomialCounts

    mechanism = build(PEOPLE, 1.0)
    codes = np.repeat([2, 3, 0], [2, 1, 400])
    tally = mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(3)))
    found = estimate(mechanism, tally)
    in_clear = found.total({"age": "<30", "status": "married"})
    s, n = mechanism.decoder.numbers.truth, tally.n
    count = tally.clear[:2].sum()
    low, high = BinomialCounts(np.array([count]), n, 0.0, s).limits(0.05)
    assert in_clear.interval() == pytest.approx((max(low[0], 0), high[0]))
    if build is RandomizedResponse:
        young = found.marginal("age")
        held = tally.support[:2].sum() + count
        low, high = BinomialCounts(np.array([held]), n, 2 * (1 - s) / PEOPLE.sensitive_count, s).limits(0.05)
        assert (young["<30"].lower, young["<30"].upper) == pytest.approx((max(low[0], 0), min(high[0], 1)))
        assert young["<30"].frequency == pytest.approx((held / n - 2 * (1 - s) / PEOPLE.sensitive_count) / s)
    one = found.total([("<30", "single", "f")])
    assert one.interval() == pytest.approx((found["<30", "single", "f"].lower, found["<30", "single", "f"].upper))


def test_nothing_seen_of_a_set_leaves_an_interval() -> None:
    """Nobody was told in clear: the interval of their sum reaches above 0, by the count and not by its variance."""
    mechanism = UnaryEncoding(PEOPLE, 1.0)
    tally = mechanism.tally(mechanism.obfuscate_codes(np.zeros(200, np.int64), random=SeededRandom(3)))
    found = estimate(mechanism, tally)
    assert found.total({"age": "<30", "status": "married"}).interval().upper > 0.005
    low, high = found.marginal("status").interval()
    assert (high > low).all()


def test_the_sum_of_everything_is_known() -> None:
    found = collected(RandomizedResponse)
    everything = found.total(np.ones(12, dtype=bool))
    assert everything.interval() == pytest.approx((1, 1), abs=1e-7)
    assert repr(everything).startswith("share of all values: 1.0000, standard error 0.0000")
