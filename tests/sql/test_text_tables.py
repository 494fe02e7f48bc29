"""Reports in CSV files: columns in text, or the line of JSON that a device made, beside whatever else was exported."""

import base64
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import Domain, Plan, Sources, read_reports
from discreet.engines import LocalEngine, tally
from discreet.errors import DataError, MismatchError
from discreet.formats.json_reports import to_json
from discreet.mechanisms import BlockMechanism
from packing import each
from refusals import refused
from running import run

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")

DOMAIN = Domain(range(12), sensitive=[0, 1, 4, 6, 7, 8, 9, 11])
MECHANISMS: dict[str, BlockMechanism] = {
    "rr": dc.RandomizedResponse(DOMAIN, 1.0),
    "unary": dc.UnaryEncoding(DOMAIN, 1.0),
    "subset": dc.SubsetSelection(DOMAIN, 1.0, k=3),
    "hashing": dc.LocalHashing(DOMAIN, 1.0),
    "design": dc.BlockDesign(DOMAIN, 1.0),
}
N = 100


def reports_of(mechanism: BlockMechanism) -> dc.Reports:
    return mechanism.obfuscate_codes(np.random.default_rng(1).integers(0, 12, N), random=dc.SeededRandom(2))


TEXTS: dict[str, Callable[[Any], str]] = {
    "hex and spaces": lambda entry: entry.hex() if isinstance(entry, bytes) else " ".join(map(str, entry)),
    "base64 and JSON": lambda entry: (
        base64.b64encode(entry).decode() if isinstance(entry, bytes) else json.dumps(entry)
    ),
    "capitals and commas": lambda entry: entry.hex().upper() if isinstance(entry, bytes) else ",".join(map(str, entry)),
}


def saved(path: Path, rows: list[dict[str, Any]], separator: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def in_columns(mechanism: BlockMechanism, spell: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Return rows of text, with columns that a survey tool adds."""
    rows = [
        {name: spell(entry) if isinstance(entry, bytes | list) else entry for name, entry in row.items()}
        for row in reports_of(mechanism).to_arrow().to_pylist()
    ]
    marks = {"plan": mechanism.fingerprint, "simulated": "true"}
    return [
        {"ResponseId": f"R_{place}", "region": ["01", "NA"][place % 2], **row, **marks}
        for place, row in enumerate(rows)
    ]


@each(
    "name, form, separator",
    [(name, form, separator) for name in MECHANISMS for form, separator in zip(TEXTS, ",;\t", strict=True)],
)
def test_reports_in_columns(name: str, form: str, separator: str, tmp_path: Path) -> None:
    mechanism = MECHANISMS[name]
    path = saved(tmp_path / "export.csv", in_columns(mechanism, TEXTS[form]), separator)
    counted = tally(mechanism, path).tally
    assert (counted, counted.simulated) == (mechanism.tally(reports_of(mechanism)), True)
    by_region = LocalEngine().tally_by(mechanism, path, "region")
    assert [*by_region] == ["01", "NA"]
    assert by_region.whole == counted


@each("name", MECHANISMS)
def test_the_line_of_a_device_in_one_column(name: str, tmp_path: Path) -> None:
    mechanism = MECHANISMS[name]
    lines = to_json(mechanism, reports_of(mechanism))
    rows = [
        {"Dauer (Sekunden)": 71, "region": ["01", "NA"][place % 2], "report": line} for place, line in enumerate(lines)
    ]
    path = saved(tmp_path / "export.csv", rows)
    assert tally(mechanism, path).tally == mechanism.tally(reports_of(mechanism))
    assert [*LocalEngine().tally_by(mechanism, path, "region")] == ["01", "NA"]
    rows[3]["report"] = ""
    saved(path, rows)
    assert "reports.flawed-rows" in refused(DataError, lambda: tally(mechanism, path))
    assert tally(mechanism, Sources(path, bad_share=0.01)).tally.n == N - 1
    rows[3]["report"] = rows[4]["report"].replace(mechanism.fingerprint, "0" * 32)
    saved(path, rows)
    refused(MismatchError, lambda: tally(mechanism, path))


def test_cells_of_another_form_are_bad_rows_and_not_quoted(tmp_path: Path) -> None:
    for name, wrong in (
        ("unary", "8z"),
        ("unary", "1"),
        ("subset", "1 x 3"),
        ("subset", "3 2 1"),
        ("subset", "[1, 2]"),
    ):
        mechanism = MECHANISMS[name]
        rows, column = in_columns(mechanism, TEXTS["hex and spaces"]), mechanism.block_columns[0].name
        place = next(place for place, row in enumerate(rows) if row[column])
        rows[place][column] = wrong
        path = saved(tmp_path / "export.csv", rows)
        assert f"(first in row {place})" in refused(DataError, lambda m=mechanism, p=path: tally(m, p))
        assert tally(mechanism, Sources(path, bad_share=0.01)).tally.n == N - 1
    rows = in_columns(MECHANISMS["rr"], str)
    rows[7]["symbol"] = "x1"
    path = saved(tmp_path / "export.csv", rows)
    assert "row 7" in refused(DataError, lambda: tally(MECHANISMS["rr"], path), "x1")


def test_a_file_without_a_plan_needs_your_word(tmp_path: Path) -> None:
    mechanism = MECHANISMS["rr"]
    rows = [{name: entry for name, entry in row.items() if name != "plan"} for row in in_columns(mechanism, str)]
    path, plan = saved(tmp_path / "export.csv", rows), tmp_path / "plan.toml"
    Plan.of(mechanism).save(plan)
    assert "report-table.no-plan" in refused(DataError, lambda: tally(mechanism, path))
    assert tally(mechanism, Sources(path, trust_plan=True)).tally.n == N
    assert run("estimate", plan, path).exit_code == 2
    result = run("estimate", plan, path, "--trust-plan")
    assert result.exit_code == 0
    assert "ResponseId" in result.output


def test_other_tables_are_refused(tmp_path: Path) -> None:
    mechanism = MECHANISMS["rr"]
    path = saved(tmp_path / "export.csv", [{"answer": "7", "symbol": 3}])
    assert "report-table" in refused(DataError, lambda: tally(mechanism, Sources(path, trust_plan=True)))
    two = saved(tmp_path / "two.csv", [{"a": "{}", "b": "{}"}])
    assert "report-table" in refused(DataError, lambda: read_reports(Sources(two, trust_plan=True), mechanism))
    with pytest.raises(DataError, match=r"report-table\.wrong-columns|rows-of-other-plans|other-plan"):
        read_reports(saved(tmp_path / "other.csv", in_columns(MECHANISMS["unary"], TEXTS["hex and spaces"])), mechanism)
