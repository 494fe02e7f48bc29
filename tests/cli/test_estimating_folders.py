"""``estimate`` on folders of reports, with bad rows among them, and with reports kept on disk."""

import shutil
from pathlib import Path

import pytest

from discreet import write_reports
from running import Files, refusal, told


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
    assert "batch.read-twice" in said
    (folder / "c.parquet").unlink()
    whole = refusal("estimate", files.plan, folder, files.reports, "--method", method)
    assert f"and 1,200 were found in {one} and {other} and {files.reports}. " in whole
    assert "b.parquet is given twice" in refusal("estimate", files.plan, folder, other, "--method", method)
    (folder / "notes.txt").write_text("x")
    assert "notes.txt first" in refusal("estimate", files.plan, folder, "--method", method)
