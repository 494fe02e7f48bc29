"""Findings: statements that hold or do not, on numbers that are made up."""

from dataclasses import replace
from typing import Any

import pytest

from papers.beyond.sweeps import findings_on_bound
from papers.figure import Finding
from papers.results import Measurement, Results
from papers.uldp import fig5, fig10
from papers.uldp.losses import ESTIMATORS, LINEAR, LinearLoss, Loss, LowerBound
from papers.uldp.mechanisms import BEYOND, BOUND, DESIGN_AT, DROP_BITS, EMPIRICAL, NO_PRIVACY
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
