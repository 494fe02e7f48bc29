"""Estimates by group and with weights, against sums over single reports."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import Reports, Tally
from discreet.arrays import AnyArray, FloatArray
from discreet.core.tally import GroupedTally
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.estimators import weights as weighing
from discreet.estimators.weights import Weights, weighted_tally
from discreet.mechanisms import BlockMechanism
from discreet.testing import outputs_of
from packing import each
from refusals import refused

ULDP = dc.Domain(["flu", "hiv", "none", "cold"], sensitive=["hiv", "flu"])
LDP = dc.Domain(["flu", "hiv", "none", "cold"])
MECHANISMS = {
    "rr": dc.RandomizedResponse(ULDP, 1.0),
    "bits": dc.UnaryEncoding(ULDP, 2.0),
    "subsets": dc.SubsetSelection(LDP, 1.0),
    "hadamard": dc.HadamardResponse(ULDP, 1.0),
    "clear-bits": dc.UnaryEncoding(ULDP, 1.0, clear_bits=True),
}
PEOPLE = 600
RANDOM = np.random.default_rng(5)
CODES = RANDOM.choice(4, PEOPLE, p=[0.4, 0.1, 0.3, 0.2])
REGION = RANDOM.choice(["east", "north", "south"], PEOPLE, p=[0.5, 0.3, 0.2])
WEIGHTS = RANDOM.uniform(0.2, 5.0, PEOPLE)
SHARES = {"east": 0.2, "north": 0.3, "south": 0.5}


def reports_of(mechanism: BlockMechanism) -> Reports:
    return mechanism.obfuscate_codes(CODES, random=dc.SeededRandom(3))


def sandwich(added: FloatArray, weights: FloatArray, centre: FloatArray) -> FloatArray:
    """Return sum w^2 (phi - centre)^2 / (sum w)^2."""
    variance: FloatArray = (weights[:, None] ** 2 * (added - centre) ** 2).sum(axis=0) / weights.sum() ** 2
    return variance


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_weighted_estimate_is_the_weighted_mean_of_the_reports(name: str) -> None:
    mechanism = MECHANISMS[name]
    reports = reports_of(mechanism)
    added = mechanism.decoder.contributions(reports)
    found = dc.estimate(mechanism, reports, weights=WEIGHTS)
    whole = Weights.of(WEIGHTS, PEOPLE).units.astype(float)
    assert found.frequencies == pytest.approx(whole @ added / whole.sum(), rel=1e-9, abs=1e-12)
    assert abs(found.frequencies - WEIGHTS @ added / WEIGHTS.sum()).max() < 2e-6
    variance = sandwich(added, whole, found.frequencies) * PEOPLE / (PEOPLE - 1)
    # By the law: of the mean square contribution at the estimate.
    assert found.standard_errors == pytest.approx(np.sqrt(variance), rel=0.02)
    inside = np.array([1.0, 0, 1, 0])
    share = inside - found.uncertainty.sums(inside[None]).control
    outputs, p = outputs_of(mechanism), found.uncertainty.known_law.p
    square = p @ outputs.matrix @ (outputs.contributions @ share) ** 2 - (p @ share) ** 2
    wanted = np.sqrt(square * (whole**2).sum()) / whole.sum()
    assert found.total(inside > 0).standard_error == pytest.approx(wanted, rel=0.01)
    assert (found.n, found.method, found.simulated) == (PEOPLE, "linear, weighted", True)


@pytest.mark.parametrize("size", [1, 3, 500])
def test_weights_are_added_digit_by_digit_or_one_by_one_alike(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = MECHANISMS["bits"]
    reports, weights = reports_of(mechanism), Weights.of(RANDOM.uniform(0.1, 9, size)[np.arange(PEOPLE) % size], PEOPLE)
    both = []
    for few in (0, 10_000):
        monkeypatch.setattr(weighing, "FEW", few)
        both.append(weighted_tally(mechanism, reports, weights))
    assert both[0].weights == both[1].weights
    assert both[0].squares == both[1].squares
    assert both[0].weights.n == weights.units.sum()
    low, high = both[0].squares
    assert low.n + 2**20 * high.n == (weights.units**2).sum()
    half = [
        weighted_tally(mechanism, reports.part(*rows), weights.take(np.arange(*rows))) for rows in ((0, 9), (9, 600))
    ]
    assert (half[0] + half[1]).weights == both[0].weights


@pytest.mark.parametrize("method", ["linear", "projected", "mle"])
def test_a_group_is_estimated_from_its_reports_alone(method: str) -> None:
    mechanism = MECHANISMS["bits"]
    reports = reports_of(mechanism)
    grouped = dc.estimate_groups(mechanism, reports, groups=REGION, method=method)
    for region in ("east", "north", "south"):
        alone = dc.estimate(mechanism, reports.take(np.flatnonzero(region == REGION)), method=method)
        assert np.array_equal(grouped[region].frequencies, alone.frequencies)
        assert np.array_equal(grouped[region].interval(), alone.interval())
    everybody = dc.estimate(mechanism, reports, method=method)
    assert np.array_equal(grouped.overall.frequencies, everybody.frequencies)
    assert (list(grouped), grouped.left_out) == (["east", "north", "south"], (0, 0))


@pytest.mark.parametrize("weighted", [False, True])
def test_post_stratification_is_the_sum_of_the_strata(weighted: bool) -> None:
    mechanism = MECHANISMS["bits"]
    reports, weights = reports_of(mechanism), WEIGHTS if weighted else None
    found = dc.estimate_groups(mechanism, reports, groups=REGION, weights=weights, shares=SHARES)
    parts = [found[region] for region in SHARES]
    share = np.array(list(SHARES.values()))
    assert found.overall.frequencies == pytest.approx(share @ [part.frequencies for part in parts], rel=1e-9)
    variance = share**2 @ [part.standard_errors**2 for part in parts]
    assert found.overall.standard_errors == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert found.overall.method == "linear, post-stratified"
    errors = [part.total(["flu", "cold"]).standard_error for part in parts]
    whole = np.sqrt(share**2 @ np.square(errors))
    assert found.overall.total(["flu", "cold"]).standard_error == pytest.approx(whole, rel=0.02)


def test_a_tally_by_group_gives_the_same() -> None:
    mechanism = MECHANISMS["subsets"]
    reports = reports_of(mechanism)
    tallies = {r: mechanism.tally(reports.take(np.flatnonzero(r == REGION))) for r in ("east", "north", "south")}
    days = GroupedTally(("region",), {"east": tallies["east"]}) + GroupedTally(
        ("region",), {"south": tallies["south"], "north": tallies["north"]}
    )
    assert days.whole == mechanism.tally(reports)
    found = dc.estimate_groups(mechanism, days, shares=SHARES)
    alike = dc.estimate_groups(mechanism, reports, groups={"region": REGION}, shares=SHARES)
    assert found.to_pandas().equals(alike.to_pandas())
    assert np.array_equal(found.overall.frequencies, alike.overall.frequencies)
    with pytest.raises(MismatchError, match=r"groups\.other-columns"):
        days + GroupedTally(("sex",), {})


# Bad input


def refusal(**named: Any) -> str:
    mechanism = MECHANISMS["rr"]
    return refused(DataError, lambda: dc.estimate_groups(mechanism, reports_of(mechanism), **named))


def few() -> AnyArray:
    """Return groups of which two have few people."""
    groups = np.array(["many"] * PEOPLE, dtype=object)
    groups[:1], groups[1:20] = "Secretville", "Smalltown"
    return groups


def test_small_groups_are_counted_and_never_named() -> None:
    message = refusal(groups=few())
    assert "groups.too-small" in message
    assert "ville" not in message
    assert "town" not in message
    mechanism = MECHANISMS["rr"]
    found = dc.estimate_groups(mechanism, reports_of(mechanism), groups=few(), small="leave-out")
    assert (list(found), found.left_out, found.overall.n) == (["many"], (2, 20), PEOPLE)
    assert "2 groups with fewer than 20 reports are left out (20 reports)" in repr(found)
    assert "town" not in repr(found)
    assert list(dc.estimate_groups(mechanism, reports_of(mechanism), groups=few(), small="leave-out", minimum=19)) == [
        "Smalltown",
        "many",
    ]
    with pytest.raises(KeyError, match="the groups are many"):
        found["Secretville"]


@each(
    "named, words",
    [
        ({"weights": [1.0] * (PEOPLE - 1) + [0.0]}, r"1 of 600 are not \(first in row 599\)"),
        ({"weights": [-1.0] * PEOPLE}, "600 of 600 are not"),
        ({"weights": [1.0] * (PEOPLE - 1) + [np.nan]}, "1 of 600 weights are missing"),
        ({"weights": [1.0] * (PEOPLE - 1) + [np.inf]}, "1 of 600 are not"),
        ({"weights": [1.0, 2.0]}, r"weights.wrong-length"),
        ({"weights": ["1"] * PEOPLE}, "column.not-numbers"),
        ({"weights": WEIGHTS, "method": "mle"}, r"method.no-weights"),
        ({"groups": ["a", "b"]}, r"groups\.wrong-length"),
        ({"groups": [None] * PEOPLE}, "600 of 600 groups are missing"),
        ({"groups": WEIGHTS}, r"column\.not-categories"),
        ({"groups": REGION, "minimum": 1}, "minimum.not-integer"),
        ({"groups": REGION, "small": "drop"}, "small.not-among"),
        ({"groups": ["alone"] * 10 + ["b"] * 590, "small": "leave-out", "minimum": 700}, r"groups\.all-too-small"),
        ({"groups": REGION, "shares": {"east": 0.5, "north": 0.5}}, r"shares.missing-groups"),
        ({"groups": REGION, "shares": {**SHARES, "west": 0.1}}, r"shares.of-empty-groups"),
        ({"groups": REGION, "shares": {**SHARES, "south": 0.6}}, r"shares.sum-not-1"),
        ({"groups": REGION, "shares": {"east": 1.5, "north": -0.5, "south": 0.0}}, r"shares.sum-not-1"),
        ({"groups": REGION, "shares": [0.5, 0.5]}, r"shares\.wrong-type"),
        ({"groups": REGION, "shares": SHARES, "small": "leave-out"}, "small.needs-every-group"),
        ({"groups": REGION, "margins": {"region": SHARES}}, r"method.unused-options"),
        ({"groups": REGION, "method": "shrunk"}, r"method.not-among"),
        ({"groups": REGION, "shares": SHARES, "method": "mle"}, r"method.no-weights"),
        ({"shares": SHARES}, r"estimate.takes-no-groups"),
        ({"groups": REGION, "tolerance": 1.0}, r"method.unused-options"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(named: dict[str, Any], words: str) -> None:
    estimate = dc.estimate_groups if "groups" in named else dc.estimate
    with pytest.raises((DataError, ParameterError), match=words):
        estimate(MECHANISMS["rr"], reports_of(MECHANISMS["rr"]), **named)


TABLES = {
    **MECHANISMS,
    "two values": dc.RandomizedResponse(dc.Domain(["yes", "no"]), 1.0),
    "all bits": dc.UnaryEncoding(LDP, 0.5),
    "nothing sensitive": dc.RandomizedResponse(dc.Domain(["a", "b"], sensitive=[], allow_unprotected=True), 1.0),
    "design": dc.BlockDesign(ULDP, 0.4),
}


@each("simultaneous", [False, True])
@each("name", TABLES)
def test_the_table_of_all_groups_is_that_of_each(
    name: str, simultaneous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made of some groups at a time."""
    mechanism = TABLES[name]
    monkeypatch.setattr("discreet.results.groups.ENTRIES_AT_ONCE", 3 * mechanism.domain.size)
    sizes = [2, 3, 20, 21, 40, 40, 300, 30_000]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    # One group of people who all have one value.
    codes = np.where(groups == 4, 0, np.arange(len(groups)) % mechanism.domain.size)
    reports = mechanism.obfuscate_codes(codes, random=dc.SeededRandom(7))
    grouped = dc.estimate_groups(mechanism, reports, groups=groups, minimum=2)
    table = grouped.columns(0.9, simultaneous=simultaneous)
    assert table["n"].tolist() == np.repeat(sizes, mechanism.domain.size).tolist()
    for group in range(len(sizes)):
        rows = table["group"] == group
        alone = dc.estimate(mechanism, reports[groups == group])
        assert np.array_equal(grouped[group].frequencies, alone.frequencies)
        for column, numbers in alone.columns(0.9, simultaneous=simultaneous).items():
            if numbers.dtype.kind == "f":
                assert table[column][rows] == pytest.approx(numbers, rel=0, abs=1e-9), column
            else:
                assert np.array_equal(table[column][rows], numbers)


def test_groups_of_tallies_that_the_mechanism_cannot_make_are_refused_at_once() -> None:
    mechanism = MECHANISMS["rr"]
    tally = mechanism.tally(reports_of(mechanism))
    wrong = Tally(tally.fingerprint, tally.n, tally.support + 1, tally.clear)
    refused(DataError, lambda: dc.estimate_groups(mechanism, GroupedTally((), {"a": tally, "b": wrong})))
