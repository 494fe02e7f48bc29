"""The verb ``reproduce``."""

from pathlib import Path

import pytest

from running import done, refusal, run, told


@pytest.fixture(autouse=True)
def _no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))


def test_the_list_says_what_is_at_hand() -> None:
    listed = done("reproduce", "--list")
    assert "uldp/fig5" in listed
    assert "USCensus1990.data.txt" in listed
    facts = {one["name"]: one["data"] for one in told("reproduce", "--list")}
    assert facts["uldp/fig5"]["acs-and"]
    assert not facts["uldp/fig5"]["us-census-1990"]


def test_a_family_is_made_as_far_as_there_are_data(tmp_path: Path) -> None:
    for more in ([], ["--all"]):
        result = run("reproduce", "pie", *more, "--quick", "--only", "sizes", "-o", tmp_path / "out", "--json")
        assert result.exit_code == 0, result.output
        assert result.stderr.startswith("Note: no data at hand for pie/fig5, pie/users, pie/fig6,")
        assert (tmp_path / "out" / "pie-fig4.csv").is_file()
    assert "figures are" in refusal("reproduce", "vldp", "-o", tmp_path / "out")
