"""Expected errors of numbers, and the verbs on a plan of numbers."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError
from discreet.planning.numbers import NumberPlan, mean_error
from refusals import refused
from running import run


def test_the_expected_error_of_the_mean_is_what_reports_have() -> None:
    domain, random = dc.Domain.number(0, 10, bins=12, sensitive=[[0, 4.9]]), np.random.default_rng(3)
    p = random.dirichlet(np.ones(12))
    mechanism, centres = dc.Windows(domain, 1.0), domain.table()["low"] + 5 / 12
    outputs = p @ mechanism.decoder.matrix
    worths = mechanism.decoder.inverse @ centres
    assert mean_error(mechanism, 100, p) ** 2 == pytest.approx((outputs @ worths**2 - (outputs @ worths) ** 2) / 100)
    plan = NumberPlan.of(domain, 1.0, 100_000, p)
    errors = plan.columns()
    assert [*errors["quantity"]] == ["mean", "0.1 quantile", "median", "0.9 quantile", "share of 0 to 5"]
    assert errors["value"][0] == pytest.approx(p @ centres)
    assert (errors["standard_error"] > 0).all()
    assert dc.best(domain, 1.0) == plan.mechanism
    refused(ParameterError, lambda: dc.best(domain, 1.0, target="worst-case"))
    refused(ParameterError, lambda: NumberPlan.of(dc.Domain(range(5)), 1.0, 100))


def test_every_verb_takes_a_plan_of_numbers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "age.toml").write_text(
        "epsilon = 2.0\n[domain]\nnumber = { low = 0, high = 90, bins = 30, clip = true }\nsensitive = [[0, 29]]\n"
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
    assert "from 0 up to below 30" in printed["verify"]
    result = run("plan", "age.toml", "--users", "10", "--target", "worst-case")
    assert result.exit_code == 2
    assert "--target" in result.output
