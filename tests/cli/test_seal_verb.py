"""The verb ``seal``, and ``verify --sealed``: one sentence for what was done, and one for what is wrong."""

import json

from running import Files, done, flat, refusal, run


def test_reports_are_sealed_and_checked(files: Files) -> None:
    reports = files.obfuscated()
    sealed = files.folder / "sealed.parquet"
    text = flat(done("seal", files.plan, files.reports, "-o", sealed))
    assert f"600 reports of plan {reports.fingerprint[:12]} sealed in {sealed}, sorted by content." in text
    assert "each person has one report" in text
    assert f"discreet verify {files.plan} --sealed {sealed}" in text
    assert "simulated with a known seed" in text
    text = flat(done("verify", files.plan, "--sealed", sealed))
    assert "600 reports" in text
    assert "cannot show that each person has one report" in text
    found = json.loads(done("verify", files.plan, "--sealed", sealed, "--json"))
    assert (found["sealed"], found["flaw"]) == (True, None)
    assert [(one["n"], one["simulated"], one["compared"]) for one in found["files"]] == [(600, True, True)]
    estimates = [done("estimate", files.plan, one, "--json") for one in (files.reports, sealed)]
    assert estimates[0] == estimates[1]


def test_a_file_that_is_not_sealed_is_named_with_exit_code_1(files: Files) -> None:
    files.obfuscated()
    result = run("verify", files.plan, "--sealed", files.reports)
    assert result.exit_code == 1
    assert "do not say that the file is sealed" in flat(result.stdout)
    found = run("verify", files.plan, "--sealed", files.reports, "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["sealed"] is False
    done("seal", files.plan, files.reports, "-o", files.folder / "s.parquet")
    (files.folder / "other.toml").write_text(files.plan.read_text().replace("1.5", "2.5"))
    text = refusal("verify", files.folder / "other.toml", "--sealed", files.folder / "s.parquet")
    assert "plan.different" in text
