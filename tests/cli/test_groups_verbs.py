"""The verbs that estimate by group and compare, on files with public columns."""

from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.mechanisms.report_tables import to_arrow
from json_rows import columns
from packing import each
from running import refusal, run, told

PLAN = """
epsilon = 1.0
[domain]
labels = ["flu", "hiv", "none"]
sensitive = ["hiv"]
[mechanism]
name = "rr"
"""
PEOPLE = 2000
RANDOM = np.random.default_rng(1)
REGION = RANDOM.choice(["north", "south", "tiny"], PEOPLE, p=[0.6, 0.397, 0.003])
AGE = RANDOM.integers(1, 3, PEOPLE)
SEX = RANDOM.choice(["f", "m"], PEOPLE)
WEIGHTS = RANDOM.uniform(1, 3, PEOPLE)
VALUES = np.where(REGION == "north", RANDOM.choice(["flu", "none"], PEOPLE), RANDOM.choice(["hiv", "none"], PEOPLE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plan, and reports with public columns."""
    path = tmp_path_factory.mktemp("groups")
    (path / "plan.toml").write_text(PLAN)
    mechanism = dc.Plan.load(path / "plan.toml").mechanism()
    reports = mechanism.obfuscate(VALUES, random=dc.SeededRandom(1))
    table = to_arrow(mechanism, reports)
    for name, column in (("region", REGION), ("sex", SEX), ("age", AGE), ("w", WEIGHTS)):
        table = table.append_column(name, pa.array(column))
    pq.write_table(table, path / "all.parquet")
    for name in ("north", "south"):
        dc.write_reports(path / f"{name}.parquet", mechanism, reports.take(np.flatnonzero(name == REGION)))
    (path / "copies").mkdir()
    copyfile(path / "north.parquet", path / "copies" / "copy.parquet")
    (path / "sexes.csv").write_text("sex,share\nf,0.25\nm,0.75\n")
    (path / "shares.csv").write_text("label,probability\nflu,0.5\nnone,0.5\n")
    return path


def placed(folder: Path, line: str) -> list[str]:
    return [str(folder / word) if "." in word and not word.startswith("0") else word for word in line.split()]


def reports_of(folder: Path) -> tuple[Any, Any]:
    mechanism = dc.Plan.load(folder / "plan.toml").mechanism()
    return mechanism, mechanism.obfuscate(VALUES, random=dc.SeededRandom(1))


@pytest.mark.filterwarnings("ignore:These columns are not read")
@pytest.mark.parametrize("method", ["linear", "mle"])
def test_groups_are_those_of_python(folder: Path, method: str) -> None:
    line = f"estimate plan.toml all.parquet --by region --small leave-out --method {method}"
    found = told(*placed(folder, line))
    mechanism, reports = reports_of(folder)
    groups = dc.estimate_groups(mechanism, reports, groups={"region": REGION}, small="leave-out", method=method)
    assert [group["region"] for group in found["groups"]] == ["north", "south"]
    for group in found["groups"]:
        estimate = groups[group["region"]]
        assert columns(group)["frequency"] == pytest.approx(estimate.frequencies.tolist(), rel=1e-12)
        assert group["n"] == estimate.n
    assert columns(found["overall"])["frequency"] == pytest.approx(groups.overall.frequencies.tolist(), rel=1e-12)
    tiny = int((REGION == "tiny").sum())
    assert found["left_out"] == {"groups": 1, "reports": tiny}
    printed = run(*placed(folder, line)).stdout
    assert f"Left out: 1 group with fewer than 20 reports ({tiny} reports)." in printed
    assert "tiny" not in printed


def test_two_collections_two_groups_and_known_shares_are_compared(folder: Path, tmp_path: Path) -> None:
    mechanism, reports = reports_of(folder)
    sides = [dc.estimate(mechanism, reports.take(np.flatnonzero(name == REGION))) for name in ("north", "south")]
    expected = dc.compare(*sides)
    for line in (
        "compare plan.toml north.parquet south.parquet",
        "compare plan.toml all.parquet --by region",
        "compare plan.toml all.parquet --by region --groups north south",
    ):
        found = told(*placed(folder, line))
        assert columns(found)["difference"] == pytest.approx(expected.differences.tolist(), rel=1e-12)
        assert columns(found)["p_value"] == pytest.approx(expected.p_values.tolist(), rel=1e-9, abs=1e-300)
        assert columns(found)["significant"] == expected.significant_values().tolist()
        assert found["overall"]["degrees"] == expected.overall.degrees if expected.overall else False
    given = told(*placed(folder, "compare plan.toml north.parquet --given shares.csv"))
    assert columns(given)["second"] == [0.5, 0.0, 0.5]
    forest = tmp_path / "forest.svg"
    printed = run(*placed(folder, "compare plan.toml north.parquet south.parquet"), "--plot", forest).stdout
    assert "2 of 3 values differ significantly (FDR at most 0.05)" in printed
    assert forest.read_text().startswith("<svg")


@pytest.mark.filterwarnings("ignore:These columns are not read")
def test_coefficients_are_those_of_python(folder: Path, tmp_path: Path) -> None:
    """Every option of the verb regress shows in what it prints or writes."""
    mechanism, reports = reports_of(folder)
    line = "regress plan.toml all.parquet --on age --on sex"
    found = told(*placed(folder, line))
    expected = dc.regress(mechanism, reports, {"age": AGE, "sex": SEX})
    assert [row["covariate"] for row in found["coefficients"][:3]] == ["intercept", "age", "sex=m"]
    for name in ("coefficient", "standard_error", "lower"):
        assert [row[name] for row in found["coefficients"]] == pytest.approx(expected.columns()[name].tolist())
    one = told(*placed(folder, f"{line} --value hiv --level 0.5"))
    assert {row["value"] for row in one["coefficients"]} == {"hiv"}
    assert one["coefficients"][0]["upper"] < found["coefficients"][3]["upper"]
    odds = told(*placed(folder, "regress plan.toml all.parquet --on sex --method logistic"))
    assert (odds["baseline"], len(odds["coefficients"])) == ("none", 4)
    asked = "regress plan.toml all.parquet --on sex --method logistic --reference sex=m --baseline flu --weights w"
    turned = told(*placed(folder, asked))
    same = dc.regress(
        mechanism, reports, {"sex": SEX}, method="logistic", reference={"sex": "m"}, baseline="flu", weights=WEIGHTS
    )
    assert (turned["baseline"], turned["coefficients"][1]["covariate"]) == ("flu", "sex=f")
    assert [row["odds_upper"] for row in turned["coefficients"]] == pytest.approx(same.columns()["odds_upper"].tolist())
    assert "odds ratio" in run(*placed(folder, asked)).stdout
    table = tmp_path / "r.csv"
    printed = run(*placed(folder, line), "-o", table).stdout
    assert "linear regression, 2,000 reports" in printed
    assert len(pd.read_csv(table)) == 9
    assert "output.exists" in refusal(*placed(folder, line), "-o", table)
    assert run(*placed(folder, line), "-o", table, "--force").exit_code == 0
    bare = tmp_path / "bare.parquet"
    pq.write_table(pq.read_table(folder / "all.parquet").replace_schema_metadata(None), bare)
    words = ["regress", folder / "plan.toml", bare, "--on", "age"]
    assert "--trust-plan" in refusal(*words)
    assert "because the caller states this" in run(*words, "--trust-plan").stdout


@pytest.mark.filterwarnings("ignore:These columns are not read")
@each(
    "line, words",
    [
        ("estimate plan.toml all.parquet --by region", "groups.too-small"),
        ("estimate plan.toml all.parquet --by planet", "public-column.missing"),
        ("estimate plan.toml all.parquet --by sex --shares shares.csv", "'sex'"),
        ("estimate plan.toml all.parquet --shares shares.csv", "option.not-here"),
        ("estimate plan.toml all.parquet --by sex --tally t.tally.parquet", "option.idle"),
        ("estimate plan.toml all.parquet --by sex --bad-rows 0.1", "option.idle"),
        ("estimate plan.toml - --by sex", "standard-input.without-columns"),
        ("regress plan.toml all.parquet --on sex --on sex", "on.twice"),
        ("regress plan.toml all.parquet --on sex --reference sex", "reference.not-column-and-label"),
        ("regress plan.toml all.parquet --on age --baseline flu", "baseline.unused"),
        ("regress plan.toml all.parquet --on sex --value gout", "values.not-in-domain"),
        ("compare plan.toml all.parquet", "reports.wrong-number"),
        (
            "compare plan.toml all.parquet --by age --groups 1 9",
            "Groups with enough reports: 1, 2. [groups.unknown]",
        ),
        ("compare plan.toml all.parquet --by sex --given shares.csv", "option.not-here"),
        ("compare plan.toml all.parquet --groups f m", "option.idle"),
        ("compare plan.toml all.parquet copies/copy.parquet --weights w", "public-column.missing"),
        ("compare plan.toml a.tally.parquet b.tally.parquet --trust-plan", "option.idle"),
        ("compare plan.toml north.parquet north.parquet", "sides.overlap"),
        ("estimate plan.toml all.parquet --weights w --always", "--always cannot be combined with weights"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, line: str, words: str) -> None:
    text = refusal(*placed(folder, line))
    assert words in text
    assert "tiny" not in text
