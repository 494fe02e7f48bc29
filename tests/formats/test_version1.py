"""Files of version 1 are read by every later version: plans, reports, tallies, estimates, sealed files."""

import hashlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet import Sources
from discreet.errors import DataError, SourceWarning
from discreet.formats.tallies import read_tally
from packing import each
from running import done, refusal, told
from version1_files import FACTS, FOLDER, digest_of, estimate_of, lines_of, plain

REPORTS, TALLIES, SEALED = FACTS["reports"], FACTS["tallies"], FACTS["sealed"]
UNSTAMPED = "reports/rr-unstamped.parquet"
OF_RR = {"real-0", "real-1", "grouped", "rr-unstamped", "rr-marked", "rr-mle"}
PLANS = {path.stem: path for path in sorted((FOLDER / "plans").iterdir())}


def plan_of(name: str) -> str:
    """Return the name of a file's plan, which most files are called by."""
    stem = Path(name).name.split(".")[0]
    return "rr" if stem in OF_RR else stem


def mechanism_of(name: str) -> Any:
    return dc.Plan.load(PLANS[plan_of(name)]).mechanism()


def rows_of(reports: Any) -> list[Any]:
    return [{name: plain(cell) for name, cell in row.items()} for row in pa.table(reports).to_pylist()]


def test_nothing_was_written_anew() -> None:
    """Not by the tests either: they copy what they change."""
    found = {name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:16] for name in FACTS["sha256"]}
    assert found == FACTS["sha256"]
    assert sum((FOLDER / name).stat().st_size for name in found) < 300_000
    assert {path.suffix for path in PLANS.values()} == {".toml", ".json"}


@pytest.mark.parametrize("name", PLANS)
def test_plans_have_their_fingerprints(name: str) -> None:
    plan = dc.Plan.load(PLANS[name])
    assert plan.fingerprint == TALLIES[f"tallies/{name}.tally.parquet"]["plan"]
    assert plan.document.title == f"Version 1: {PLANS[name].name}"
    assert 0.9 < plan.mechanism().guarantee.realised <= plan.document.epsilon == 1.0


@each("name", sorted(REPORTS))
def test_reports_have_their_rows(name: str) -> None:
    mechanism, unmarked = mechanism_of(name), name == UNSTAMPED
    if unmarked:
        with pytest.raises(DataError, match=r"report-table\.no-plan"):
            dc.read_reports(FOLDER / name, mechanism)
    with pytest.warns(SourceWarning) if unmarked else nullcontext():
        found = dc.read_reports(Sources(FOLDER / name, trust_plan=unmarked), mechanism)
    assert found.n == REPORTS[name]["n"] == 60
    assert found.simulated is (name.startswith("reports/") and not unmarked)
    assert found.fingerprint == REPORTS[name].get("plan", mechanism.fingerprint)
    rows = rows_of(found)
    if name.endswith("real-1.jsonl"):
        said = [{"clear": None, "symbol": None, **row} for row in lines_of(FOLDER / name)]
        assert rows == [{column: row[column] for column in rows[0]} for row in said]
    else:
        # Whatever the format: drawn of the same values from the same seed.
        same = name if name.startswith("folder/") else f"reports/{plan_of(name)}.parquet"
        assert digest_of(rows) == REPORTS[same]["rows"]
    if name.startswith("reports/"):
        tally = mechanism.tally(found)
        assert [*tally.support, *tally.clear] == TALLIES[f"tallies/{plan_of(name)}.tally.parquet"]["counts"]


@pytest.mark.parametrize("name", sorted(TALLIES))
def test_tallies_have_their_counts(name: str) -> None:
    found = read_tally(FOLDER / name, mechanism_of(name))
    assert [*found.support, *found.clear] == TALLIES[name]["counts"]
    assert (found.n, found.simulated, len(found.support)) == (60, True, TALLIES[name]["support"])


@pytest.mark.parametrize("name", sorted(SEALED))
def test_sealed_files_have_their_rows_and_hold_under_every_check(name: str) -> None:
    said = told("verify", PLANS[plan_of(name)], "--sealed", FOLDER / name)
    assert (said["sealed"], said["flaw"], said["files"][0]["n"]) == (True, None, 60)
    found = dc.read_reports(FOLDER / name, mechanism_of(name))
    assert digest_of(rows_of(found)) == SEALED[name]["rows"]
    tally = mechanism_of(name).tally(found)
    assert [*tally.support, *tally.clear] == TALLIES[f"tallies/{plan_of(name)}.tally.parquet"]["counts"]


@pytest.mark.parametrize("name", sorted(name for name in FACTS["sha256"] if name.startswith("estimates/")))
def test_estimates_are_those_of_their_reports(name: str, tmp_path: Path) -> None:
    """Estimates and errors to all digits but the last; limits to the seventh, but values behind placeholders."""
    stem, again = Path(name).stem, tmp_path / Path(name).name
    more = {
        "rr-mle": ["--method", "mle"],
        "grouped-0": ["--by", "region"],
        "grouped-1": ["--weights", "w"],
        "grouped-2": ["--by", "region", "--weights", "w"],
    }
    plan = "rr" if "grouped" in stem else plan_of(name)
    reports = FOLDER / "reports" / ("grouped.parquet" if "grouped" in stem else f"{plan}.parquet")
    done("estimate", PLANS[plan], reports, *more.get(stem, []), "-o", again)
    wanted, found = estimate_of(FOLDER / name), estimate_of(again)
    assert len(found) == len(wanted) >= 4
    for row, old in zip(found, wanted, strict=True):
        for column in old.keys() & {"value", "label", "region", "sensitive"}:
            assert row[column] == old[column]
        numbers = old.keys() & {"frequency", "standard_error", "lower", "upper"}
        assert len(numbers) == 4
        for column in numbers:
            # Limits of values that people may have as secrets follow from what is in clear and what is not, since.
            far = 0.0 if column in {"frequency", "standard_error"} else 0.02 if stem == "personal" else 1e-7
            np.testing.assert_allclose(float(row[column]), float(old[column]), rtol=1e-9 + far, atol=1e-12)


def test_a_folder_with_a_manifest_is_refused_by_name_and_read_without_it(tmp_path: Path) -> None:
    folder = FOLDER / "folder"
    assert "_manifest.json" in refusal("estimate", PLANS["rr"], folder)
    bare = tmp_path / "folder"
    bare.mkdir()
    for name in ("real-1.jsonl", "real-0.parquet"):
        (bare / name).write_bytes((folder / name).read_bytes())
    assert told("estimate", PLANS["rr"], bare)["n"] == 120
