"""The verb ``reproduce``."""

import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from census_file import write_census
from discreet.cli import main
from running import done, refusal, run, told

LIST_OPTIONS = {"--list", "--data", "--json", "--debug"}
GIVEN = {
    "--all": ["--all"],
    "--runs": ["--runs", 1],
    "--quick": ["--quick"],
    "--seed": ["--seed", 1],
    "--jobs": ["--jobs", 2],
    "--only": ["--only", "sizes"],
    "--output": ["-o", "elsewhere"],
}


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


def test_a_chosen_data_set_that_nothing_uses_is_named(tmp_path: Path) -> None:
    write_census(tmp_path)
    given = ("--only", "us-census-1990", "--only", "sizes", "-o", tmp_path / "out")
    assert "names sizes, which none of these figures uses" in refusal("reproduce", "uldp/fig5", "--quick", *given)


def verb() -> click.Command:
    found = main.get_command(click.Context(main), "reproduce")
    assert found is not None
    return found


def test_the_verb_is_the_one_of_the_papers() -> None:
    assert verb() is import_module("papers.command").reproduce


def test_every_option_is_entered() -> None:
    options = {max(one.opts, key=len) for one in verb().params if one.opts[0].startswith("-")}
    assert options == LIST_OPTIONS | set(GIVEN)


@pytest.mark.parametrize("option", GIVEN)
def test_an_option_that_a_list_has_no_use_for_is_named(option: str) -> None:
    assert option in refusal("reproduce", "--list", *GIVEN[option])


def test_the_list_looks_for_data_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "foursquare_nyc.parquet").write_text("not read")
    facts = {one["name"]: one["data"] for one in told("reproduce", "--list", "--data", tmp_path / "data")}
    assert facts["uldp/fig8"] == {"foursquare-tist2015": False, "foursquare-nyc": True}


def test_a_list_fits_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a table where there is room for one, and otherwise a line for each."""
    monkeypatch.setenv("COLUMNS", "120")
    table = [line for line in done("reproduce", "--list").splitlines() if set(line) & set("│┃─━")]
    assert len(table) > 30
    assert max(map(cell_len, table)) <= 120
    monkeypatch.setenv("COLUMNS", "60")
    assert not set(done("reproduce", "--list")) & set("│┃─━")


@pytest.mark.parametrize("package", ["altair", "vl_convert"])
def test_figures_without_what_draws_them(tmp_path: Path, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    text = refusal("reproduce", "none", "-o", tmp_path / "out")
    assert f"this needs {package}" in text
    assert "pip install 'discreet[plot]'" in text
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", [[], ["-o", "out"]])
def test_a_folder_that_cannot_be_is_refused_before_the_work(
    tmp_path: Path, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").write_text("in the way")
    assert "is no folder" in refusal("reproduce", "none", *named)
