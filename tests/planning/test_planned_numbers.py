"""Expected errors of numbers, and the verbs on a plan of numbers."""

from json import loads
from math import comb
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.planning.numbers import NumberPlan, OrderPlan, mean_error
from refusals import refused
from running import run


def test_the_expected_error_of_the_mean_is_what_reports_have() -> None:
    domain, random = dc.Domain.number(0, 10, bins=12, sensitive=[[0, 5]]), np.random.default_rng(3)
    p = random.dirichlet(np.ones(12))
    mechanism, centres = dc.Windows(domain, 1.0), domain.table()["low"] + 5 / 12
    outputs = p @ mechanism.decoder.matrix
    worths = mechanism.decoder.inverse @ centres
    assert mean_error(mechanism, 100, p) ** 2 == pytest.approx((outputs @ worths**2 - (outputs @ worths) ** 2) / 100)
    plan = NumberPlan.of(domain, 1.0, 100_000, p)
    assert [row.name for row in plan.errors] == ["mean", "0.1 quantile", "median", "0.9 quantile", "share of 0 to 5"]
    assert plan.errors[0].value == pytest.approx(p @ centres)
    assert all(row.error > 0 for row in plan.errors)
    assert dc.best(domain, 1.0) == plan.mechanism
    refused(ParameterError, lambda: dc.best(domain, 1.0, target="worst-case"))
    refused(ParameterError, lambda: NumberPlan.of(dc.Domain(range(5)), 1.0, 100))


def test_every_verb_takes_a_plan_of_numbers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "age.toml").write_text(
        "epsilon = 2.0\n[domain]\nnumber = { low = 0, high = 90, bins = 30, clip = true }\nsensitive = [[0, 30]]\n"
        '[mechanism]\nname = "rr"\n'
    )
    values = np.random.default_rng(1).normal(40, 12, 4000)
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(f"{value:.1f}" for value in values))
    commands = (
        "plan age.toml --users 4000 -o plan.toml --plot errors.svg",
        "obfuscate plan.toml people.csv -o reports.parquet --seed 1",
        "estimate plan.toml reports.parquet --method smooth -o out.csv --plot out.svg",
        "verify plan.toml",
    )
    printed = {}
    for command in commands:
        result = run(*command.split())
        assert result.exit_code == 0, result.output
        printed[command.split()[0]] = result.output
    assert "std. error" in printed["plan"]
    assert "Mean and deciles" in printed["estimate"]
    assert "0.9 quantile" in printed["estimate"]
    assert "Single bins" in run("estimate", "plan.toml", "reports.parquet").output
    assert (tmp_path / "out.csv").read_text().startswith('"low","high","sensitive"')
    assert "share of people per bin of 3" in (tmp_path / "out.svg").read_text()
    assert 'name = "windows"' in (tmp_path / "plan.toml").read_text()
    assert "0 to 30" in printed["verify"]
    result = run("plan", "age.toml", "--users", "10", "--target", "worst-case")
    assert result.exit_code == 2
    assert "--target" in result.output


def test_ordered_categories_are_planned_by_the_distance_of_their_distribution() -> None:
    """By simulation: the distances are those that are expected."""
    p = np.array([comb(11, rank) * 0.35**rank * 0.65 ** (11 - rank) for rank in range(12)])
    plan = OrderPlan.of(dc.Domain([f"level {rank}" for rank in range(12)]), 1.0, 20_000, p)
    measured = []
    for option in plan.options:
        mechanism, away = option.mechanism, []
        for seed in range(12):
            random = np.random.default_rng(seed)
            if mechanism.name == "windows":
                counts = random.multinomial(20_000, p @ mechanism.decoder.matrix)
                reports = dc.Tally(mechanism.fingerprint, 20_000, counts, np.zeros(0, int), simulated=True)
            else:
                reports = mechanism.obfuscate_codes(random.choice(12, 20_000, p=p), random=dc.SeededRandom(seed))
            found = dc.estimate(mechanism, reports, method=option.method).frequencies
            away.append(abs(np.cumsum(found - p)[:-1]).sum())
        measured.append(np.mean(away))
        assert np.mean(away) == pytest.approx(option.distance, rel=0.35)
    assert [option.mechanism.name for option in plan.options][-1] == "rr"
    assert plan.options[0].mechanism.name == "windows"
    assert measured[0] < 0.6 * measured[-1]
    assert plan.to_arrow().column_names == ["mechanism", "options", "method", "distance"]
    # Of few categories what is made for labels is better.
    assert OrderPlan.of(dc.Domain(range(4)), 2.0, 20_000).options[0].mechanism.name == "rr"
    refused(ParameterError, lambda: OrderPlan.of(dc.Domain(range(501)), 1.0, 100))
    refused(ParameterError, lambda: OrderPlan.of(dc.Domain.product({"a": [1, 2], "b": [1, 2]}), 1.0, 100))


def test_the_verb_plans_values_in_order(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    labels = ", ".join(f'"level {rank}"' for rank in range(12))
    (tmp_path / "scale.toml").write_text(f"[domain]\nlabels = [{labels}]\n")
    result = run("plan", "scale.toml", "--epsilon", "1", "--users", "20000", "--target", "order", "-o", "plan.toml")
    assert result.exit_code == 0, result.output
    assert "steps of the scale" in result.output
    assert 'name = "windows"' in (tmp_path / "plan.toml").read_text()
    record = loads(
        run("plan", "scale.toml", "--epsilon", "1", "--users", "20000", "--target", "order", "--json").output
    )
    assert record["mechanisms"][0]["mechanism"] == "windows"
    for refused_with in (["--within", "0"], ["--rounds", "3"], ["--plot", "a.svg"]):
        result = run("plan", "scale.toml", "--epsilon", "1", "--users", "9", "--target", "order", *refused_with)
        assert result.exit_code == 2
        assert refused_with[0] in result.output
    central = run(
        "plan-central", "scale.toml", "--users", "9", "--central", "1", "--local-at-most", "4", "--target", "order"
    )
    assert central.exit_code == 2
    assert "target must be" in central.output
