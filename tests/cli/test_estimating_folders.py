"""``estimate`` on folders of reports, with bad rows among them, and with reports kept on disk."""

import errno
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.formats.reports import write_reports
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
    assert f"the same 200 reports twice: {folder / 'c.parquet'} and {other}; name one of them." in said
    (folder / "c.parquet").unlink()
    whole = refusal("estimate", files.plan, folder, files.reports, "--method", method)
    assert f"{files.reports} and {one}, {other} together; leave {files.reports} out." in whole
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


def test_memory_is_for_methods_that_need_reports(files: Files) -> None:
    files.obfuscated()
    assert "--memory does nothing here" in refusal("estimate", files.plan, files.reports, "--memory", 1)


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


def test_what_the_system_refuses_is_one_sentence(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.obfuscated()

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "estimate.csv")

    monkeypatch.setattr("pyarrow.csv.write_csv", full)
    output = files.folder / "estimate.csv"
    message = refusal("estimate", files.plan, files.reports, "-o", output)
    assert "No space left on device (estimate.csv)" in message
    assert not output.exists()


def test_files_that_other_tools_rewrote(files: Files) -> None:
    files.obfuscated()
    expected = told("estimate", files.plan, files.reports)
    rewritten = files.folder / "rewritten.PARQUET"
    table = pq.read_table(files.reports).replace_schema_metadata(None)
    pq.write_table(table.append_column("region", pa.array(["x"] * table.num_rows)), rewritten)
    for method in ("linear", "mle"):
        options = (files.plan, rewritten, "--method", method)
        assert "pass --trust-plan" in refusal("estimate", *options)
        facts = told("estimate", *options, "--trust-plan")
        assert (facts["n"], facts["trust_plan"], len(facts["notes"])) == (600, True, 3)
        if method == "linear":
            assert columns(facts) == columns(expected)
        shown = done("estimate", *options, "--trust-plan")
        assert "Note: 1 of 1 files: nothing in them says which plan" in shown
        assert "is the caller's word (trust_plan)." in shown
        assert "are not read: 'region'." in shown
        assert "simulated with a known seed" not in shown
    assert "notes" not in expected
    assert "notes" not in told("estimate", files.plan, files.reports, "--trust-plan")
    other = files.folder / "other.toml"
    other.write_text(files.plan.read_text().replace("1.5", "1.6"))
    assert "must belong to one plan" in refusal("estimate", other, files.reports, "--trust-plan")


def test_a_manifest_is_written_and_checked(files: Files) -> None:
    files.obfuscated()
    folder = files.folder / "reports"
    folder.mkdir()
    shutil.copy(files.reports, folder / "a.parquet")
    unlisted = told("estimate", files.plan, folder)
    facts = told("manifest", folder)
    assert facts == {"manifest": str(folder / "_manifest.json"), "files": 1, "rows": 600}
    assert "600 reports in 1 files" in done("manifest", folder, "--force")
    assert "exists already" in refusal("manifest", folder)
    assert told("estimate", files.plan, folder) == unlisted
    shutil.copy(files.reports, folder / "new.parquet")
    assert "discreet manifest --force" in refusal("estimate", files.plan, folder)
    (folder / "new.parquet").unlink()
    (folder / "a.parquet").rename(folder / "b.parquet")
    assert "a.parquet first" in refusal("estimate", files.plan, folder)
    assert "a.parquet first" in refusal("estimate", files.plan, folder, "--method", "mle")


def test_stamped_files_need_no_word(files: Files) -> None:
    files.obfuscated()
    expected = told("estimate", files.plan, files.reports)
    rewritten, output = files.folder / "rewritten.parquet", files.folder / "stamped.parquet"
    pq.write_table(pq.read_table(files.reports).replace_schema_metadata(None), rewritten)
    shown = done("stamp", files.plan, rewritten, "-o", output)
    assert f"600 reports of plan {files.mechanism.fingerprint[:12]} written to {output}." in shown.replace("\n", "")
    assert shown.count("Note: 1 of 1 files: nothing in them says") == 2
    assert columns(told("estimate", files.plan, output)) == columns(expected)
    assert "exists already" in refusal("stamp", files.plan, rewritten, "-o", output)
    facts = told("stamp", files.plan, files.reports, "-o", files.folder / "folder")
    written = {"output": str(files.folder / "folder" / "reports.parquet"), "reports": 600, "simulated": True}
    assert facts == {
        "plan": files.mechanism.fingerprint,
        "reports": 600,
        "files": [written],
        "left_out": {},
        "notes": [],
    }
    bad = pq.read_table(rewritten).set_column(0, "clear", pa.array([1.5] * 600))
    pq.write_table(bad, rewritten)
    assert "are no reports of this form" in refusal("stamp", files.plan, rewritten, "-o", output, "--force")
    assert "more than the share" in refusal("stamp", files.plan, rewritten, "-o", output, "--force", "--bad-rows", 0.5)
    shown = done("stamp", files.plan, rewritten, "-o", output, "--force", "--bad-rows", 1)
    assert "Rows left out that are no reports of this form: 600." in shown
