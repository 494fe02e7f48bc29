"""Findings: statements that hold or do not, on numbers that are made up."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from papers.beyond.stopping import findings_on_stopping
from papers.beyond.sweeps import findings_on_bound
from papers.figure import Finding
from papers.results import Measurement, Results
from papers.uldp import fig5, fig6, fig7, fig10, fig12
from papers.uldp.losses import ENDS, ESTIMATORS, LINEAR, STOPPED, LinearLoss, Loss, LowerBound
from papers.uldp.mechanisms import BEYOND, BOUND, DESIGN_AT, DROP_BITS, EMPIRICAL, NO_PRIVACY, PAPER
from papers.uldp.running_time import FIGURE as TIMES
from papers.uldp.sweep import log_size

LINE = log_size(400)


def row(mechanism: str, estimator: str, epsilon: float | None, tv: float, **more: Any) -> Measurement:
    place = {name: more.pop(name, usual) for name, usual in (("population", "people"), ("drawn", None), ("run", 0))}
    facts = {"mechanism": mechanism, "values": 400, "sensitive": 76, "n": 1000, "estimator": estimator}
    losses = {"tv": tv, "mse": tv * tv, "seconds": tv}
    kind = LinearLoss if "expected_mse" in more else Loss
    return Measurement(**place, epsilon=epsilon, row=kind(**facts | losses | more))


def bound(epsilon: float, mse: float) -> Measurement:
    least = LowerBound(mechanism=BOUND, values=400, sensitive=76, n=1000, mse=mse)
    return Measurement("people", epsilon, None, 0, least)


def altered(one: Measurement, **changes: Any) -> Measurement:
    return replace(one, row=replace(one.row, **changes))


def swept(losses: dict[tuple[str, float], float], rough: float = 5.0) -> Results:
    rows = [row(NO_PRIVACY, EMPIRICAL, None, 0.01)]
    for (mechanism, epsilon), tv in losses.items():
        rows += [row(mechanism, e, epsilon, tv * (rough if e == "emp" else 1)) for e in ESTIMATORS]
    return Results(rows)


GOOD = {
    ("RR", 0.1): 1.0, ("RAPPOR", 0.1): 0.9, ("uRR", 0.1): 0.08, ("uRAP", 0.1): 0.05,
    ("RR", LINE): 0.05, ("RAPPOR", LINE): 0.06, ("uRR", LINE): 0.012, ("uRAP", LINE): 0.02,
}  # fmt: skip


def verdicts(findings: Any) -> list[bool]:
    return [finding.holds for finding in findings]


def test_what_the_paper_found_holds_where_it_holds() -> None:
    for module in (fig5, fig10):
        assert verdicts(module.FIGURE.findings(swept(GOOD))) == [True] * 8
    numbers = [finding.number for finding in fig5.FIGURE.findings(swept(GOOD))]
    assert numbers == pytest.approx([18, 50 / 12, 1.2, 5, 1.6, 20 / 12, 1, 1])


@pytest.mark.parametrize(
    ("changed", "failing"),
    [
        ({("uRR", 0.1): 0.5, ("uRAP", 0.1): 0.4}, [0]),
        ({("uRR", LINE): 0.06, ("uRAP", LINE): 0.07}, [1, 2, 5]),
        ({("uRR", LINE): 0.019}, [2]),
        ({("uRAP", 0.1): 0.081}, [4]),
        ({("uRAP", LINE): 0.011}, [5]),
    ],
)
def test_what_does_not_hold_is_said_not_to(changed: dict[tuple[str, float], float], failing: list[int]) -> None:
    found = verdicts(fig5.FIGURE.findings(swept({**GOOD, **changed})))
    assert [place for place, holds in enumerate(found) if not holds] == failing
    assert verdicts(fig5.FIGURE.findings(swept(GOOD, rough=1.5)))[3] is False


def test_estimators_are_compared() -> None:
    """EM loses half of what emp+thr loses, and then twice as much."""
    for factor, wanted in ((0.5, [False, True]), (2.0, [False, False]), (0.8, [True, True])):
        rows = swept(GOOD).measurements
        halved = [altered(one, tv=one.row.tv * factor) if one.row.estimator == "EM" else one for one in rows]
        assert verdicts(fig5.FIGURE.findings(Results(halved)))[-2:] == wanted


def test_findings_on_sizes() -> None:
    rows = [row(NO_PRIVACY, EMPIRICAL, None, 0.01)]
    for epsilon in (0.1, LINE):
        for estimator in ESTIMATORS:
            rows += [row(name, estimator, epsilon, 0.4) for name in ("RR", "RAPPOR")]
            for name in ("uRR", "uRAP"):
                rows += [row(name, estimator, epsilon, tv, drawn=k) for k, tv in ((1, 0.012), (19, 0.014), (400, 0.41))]
    found = fig6.FIGURE.findings(Results(rows))
    assert verdicts(found) == [True] * 6
    assert [finding.number for finding in found][-1] == pytest.approx(1.4)
    worse = [altered(each, tv=0.3) if each.drawn in (1, 19) else each for each in rows]
    assert verdicts(fig6.FIGURE.findings(Results(worse))) == [False] * 6


def test_findings_on_growth_are_of_the_largest() -> None:
    rows = [row(NO_PRIVACY, EMPIRICAL, None, 0.01, population=name) for name in ("people", "people+1")]
    for name, tv in (("people", 0.2), ("people+1", 0.95)):
        for epsilon in (0.1, 6.0):
            for e in ESTIMATORS:
                rows += [row(m, e, epsilon, 0.09 if m == "uRAP" else tv, population=name) for m in PAPER]
    found = fig7.FIGURE.findings(Results(rows))
    assert fig12.FIGURE.findings(Results(rows)) == []
    assert {finding.data for finding in found} == {"people+1"}
    assert verdicts(found) == [True] * 5


def test_findings_on_times() -> None:
    seconds = {"RR": 3.0, "RAPPOR": 9.0, "uRR": 1.0, "uRAP": 10.0}
    names = [*ESTIMATORS, STOPPED]
    rows = [row(m, e, 6.0, s if e == STOPPED else 2.0 if e == "EM" else 0.1) for m, s in seconds.items() for e in names]
    results = Results(rows)
    # Plain EM takes longer than the maximum for all but uRR; longer for RR than uRR, but not for RAPPOR than uRAP.
    assert verdicts(TIMES.findings(results)) == [True, True, True, False, True, True, False]
    (table,) = TIMES.tables(results)
    assert table.rows[0] == ("people", "RR", "1,000", "400", "76", "0.1", "0.1", "2", "3", "")
    longer = [replace(altered(each, seconds=each.row.seconds * 3), population="people+2") for each in rows]
    growth = TIMES.findings(Results([*rows, *longer]))[-1]
    assert (growth.number, growth.holds) == (pytest.approx(2.0), False)
    assert "from 4 to 6 attributes" in growth.measured
    (largest,) = TIMES.tables(Results([altered(each, values=12_800) for each in rows]))
    assert [line[-1] for line in largest.rows] == ["3,121", "5,225", "1,258", "1,073"]


def test_findings_on_where_em_stops() -> None:
    rows = [row(NO_PRIVACY, EMPIRICAL, None, 0.01)]
    for (mechanism, epsilon), tv in GOOD.items():
        worse = {LINEAR: 5.0, STOPPED: 1.4 if epsilon == 0.1 else 0.6}
        rows += [row(mechanism, e, epsilon, tv * worse.get(e, 1.0)) for e in ENDS]
    found = findings_on_stopping(Results(rows))
    assert verdicts(found)[:2] == [True, False]
    assert [finding.number for finding in found[:2]] == pytest.approx([1.4, 1 / 0.6])
    assert len(found) == 10
    assert all(finding.claim.endswith("(EM stopped early)") for finding in found[2:])


def test_findings_beyond_the_paper() -> None:
    excess = dict.fromkeys(BEYOND, 1.3) | {DESIGN_AT: 1.0005, DROP_BITS: 1.2}
    rows = [bound(epsilon, 2.0) for epsilon in (0.1, LINE)]
    rows += [row(m, LINEAR, e, 9.0, expected_mse=2.0 * over) for m, over in excess.items() for e in (0.1, LINE)]
    assert verdicts(findings_on_bound(Results(rows))) == [True] * 3
    better = [altered(each, expected_mse=1.9) if each.row.mechanism == "hashing" else each for each in rows]
    assert verdicts(findings_on_bound(Results(better))) == [False, True, True]
    worse = [altered(each, expected_mse=2.8) if each.row.mechanism in (DROP_BITS, DESIGN_AT) else each for each in rows]
    assert verdicts(findings_on_bound(Results(worse))) == [True, False, False]


def test_a_number_that_is_none_does_not_hold() -> None:
    for relation in (">=", "<="):
        finding = Finding("claim", "data", "measure", float("nan"), relation, 1.0)  # type: ignore[arg-type]
        assert not finding.holds
        assert "DOES NOT HOLD" in str(finding)
    assert str(Finding("c", "d", "m", 2, ">=", 1.5)) == "d: c: holds (m = 2, wanted >= 1.5)"


def test_means_and_their_file(tmp_path: Path) -> None:
    results = Results([row("RR", "emp", 0.1, tv, run=run) for run, tv in enumerate((1.0, 2.0, 3.0))])
    (point,) = results.of(Loss)
    assert (point.mean.tv, point.runs) == (2.0, 3)
    assert point.error.tv == pytest.approx(1 / 3**0.5)
    (alone,) = Results(results.measurements[:1]).of(Loss)
    assert (alone.mean.tv, alone.error.tv, alone.runs) == (1.0, 0.0, 1)
    results.write_csv(tmp_path / "means.csv")
    with (tmp_path / "means.csv").open(newline="") as file:
        (line,) = csv.DictReader(file)
    assert (line["mechanism"], float(line["tv"]), line["runs"], line["drawn"]) == ("RR", 2.0, "3", "")
    Results([*results.measurements, bound(0.1, 0.0)]).write_csv(tmp_path / "more.csv")
    with (tmp_path / "more.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert (first["tv"], second["tv"], second["mse"]) == ("2.0", "", "0.0")
    with pytest.raises(LookupError):
        results.one(Loss, mechanism="uRR")
