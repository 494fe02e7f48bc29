"""``estimate`` on folders of reports, with bad rows among them, and with reports kept on disk."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import write_reports
from discreet.mechanisms import report_tables
from json_rows import columns
from running import Files, done, refusal, told


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def halves(files: Files) -> Path:
    folder = files.folder / "reports"
    (folder / "more").mkdir(parents=True)
    reports = files.obfuscated()
    for name, part in (("a.parquet", reports[:400]), ("more/b.parquet", reports[400:])):
        write_reports(folder / name, files.mechanism, part)
    return folder


@pytest.mark.parametrize("method", ["linear", "mle", "em"])
def test_a_folder_is_its_files(files: Files, method: str) -> None:
    folder = halves(files)
    one, other = folder / "a.parquet", folder / "more" / "b.parquet"
    expected = told("estimate", files.plan, one, other, "--method", method)
    assert expected["n"] == 600
    assert told("estimate", files.plan, folder, "--method", method, "--engine", "local") == expected
    shutil.copy(other, folder / "c.parquet")
    said = refusal("estimate", files.plan, folder, "--method", method)
    assert f"{folder / 'c.parquet'} and {other}" in said.replace(f"{one} and ", "")
    assert "reports of batch" in said
    (folder / "c.parquet").unlink()
    whole = refusal("estimate", files.plan, folder, files.reports, "--method", method)
    assert f"{one} and {other} and {files.reports} hold 1,200 reports of batch" in whole
    assert "b.parquet is named twice" in refusal("estimate", files.plan, folder, other, "--method", method)
    (folder / "notes.txt").write_text("x")
    assert "notes.txt first" in refusal("estimate", files.plan, folder, "--method", method)


@pytest.mark.parametrize("method", ["mle", "em"])
def test_reports_on_disk_give_the_same(files: Files, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files.obfuscated()
    temporary = files.folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    kept = files.folder / "kept.tally.parquet"
    on_disk = ("--memory", 0, "--tally", kept)
    found = told("estimate", files.plan, files.reports, "--method", method, *on_disk)
    expected = told("estimate", files.plan, files.reports, "--method", method)
    assert columns(found)["frequency"] == pytest.approx(columns(expected)["frequency"], abs=1e-12)
    assert list(temporary.iterdir()) == []
    linear = columns(told("estimate", files.plan, kept))["frequency"]
    assert linear == columns(told("estimate", files.plan, files.reports))["frequency"]


def test_bad_rows_are_said(files: Files) -> None:
    table = report_tables.to_arrow(files.mechanism, files.obfuscated())
    row = pa.Table.from_pylist([{"clear": 2, "bits": None}], schema=table.schema)
    pq.write_table(pa.concat_tables([table, row, row]), files.reports)
    for method in ("linear", "mle"):
        options = (files.plan, files.reports, "--method", method)
        reason = "give a sensitive value in clear"
        assert reason in refusal("estimate", *options)
        assert f"2 of 602 rows are no reports of this plan, more than the share of 0.001 that may be: 2 {reason}" in (
            refusal("estimate", *options, "--bad-rows", 0.001)
        )
        facts = told("estimate", *options, "--bad-rows", 0.01)
        assert (facts["n"], facts["left_out"]) == (600, {reason: 2})
        assert f"Rows left out that {reason}: 2." in done("estimate", *options, "--bad-rows", 0.01)
