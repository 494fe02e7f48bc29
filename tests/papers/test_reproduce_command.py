"""The verb ``reproduce``."""

from pathlib import Path

import click
import pytest

from census_file import write_census
from discreet.cli import main
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


def test_a_figure_is_made_and_made_again(tmp_path: Path) -> None:
    write_census(tmp_path)
    arguments = ("reproduce", "uldp/fig5", "--quick", "--runs", 1, "--only", "us-census-1990", "-o", tmp_path / "out")
    shown = done(*arguments)
    assert "uRR at epsilon = ln|X| is about as good as no privacy" in shown
    assert "report.html" in shown
    (facts,) = told(*arguments)
    assert facts["figure"] == "uldp/fig5"
    assert all(Path(file).is_file() for file in facts["files"])
    assert len(facts["findings"]) == 8


def test_what_is_asked_for_must_be_clear(tmp_path: Path) -> None:
    assert "name at least one figure, or pass --all instead" in refusal("reproduce")
    assert "leave out one of the two" in refusal("reproduce", "uldp/fig5", "--all")
    assert "--list goes alone" in refusal("reproduce", "uldp/fig5", "--list")
    assert "got 'uldp/fig0'" in refusal("reproduce", "uldp/fig0", "-o", tmp_path / "out")
    assert "runs must be at least 1, got runs=0" in refusal("reproduce", "uldp/fig5", "--runs", 0)
    assert "jobs must be at least 1" in refusal("reproduce", "uldp/fig5", "--jobs", 0, "-o", tmp_path / "out")
    assert "data sets are" in refusal("reproduce", "uldp/fig5", "--only", "x", "-o", tmp_path / "out")


def test_a_family_is_made_as_far_as_there_are_data(tmp_path: Path) -> None:
    for more in ([], ["--all"]):
        result = run("reproduce", "pie", *more, "--quick", "--only", "sizes", "-o", tmp_path / "out", "--json")
        assert result.exit_code == 0, result.output
        assert result.stderr.startswith("Note: no data at hand for pie/fig5, pie/users, pie/fig6,")
        assert (tmp_path / "out" / "pie-fig4.csv").is_file()
    assert "figures are" in refusal("reproduce", "vldp", "-o", tmp_path / "out")


@pytest.mark.parametrize("more", [["uldp/fig5"], ["uldp"], ["--all"], ["--all", "--only", "sizes"]])
def test_a_chosen_data_set_that_is_not_at_hand_is_named(tmp_path: Path, more: list[str]) -> None:
    text = refusal("reproduce", *more, "--quick", "--only", "foursquare-nyc", "-o", tmp_path / "out")
    assert "--only names foursquare-nyc, whose files are not at hand (foursquare_nyc.parquet)" in text
    assert not (tmp_path / "out").exists()


def verb() -> click.Command:
    found = main.get_command(click.Context(main), "reproduce")
    assert found is not None
    return found
