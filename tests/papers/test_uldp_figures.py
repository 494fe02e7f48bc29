"""Figures from end to end, on a small census in the paper's own format."""

import csv
import json
from pathlib import Path

import pytest

from census_file import write_census
from papers import making
from papers.figure import Settings
from papers.making import Environment, Made, make
from papers.registry import figure
from papers.uldp.mechanisms import PAPER

QUICK = Settings(runs=1, quick=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A census and one folder of output: cells that figures share are measured once."""
    return write_census(tmp_path_factory.mktemp("census"))


def made(name: str, folder: Path, *names: str, drawn: bool = True) -> Made:
    """Make a figure; what is not drawn is a chart all the same, of a kind that another test turns into pictures."""
    with pytest.MonkeyPatch.context() as patch:
        if not drawn:
            patch.setattr(making, "pictures", lambda chart: ("<svg></svg>", b"") if chart.to_dict() else None)
        return make(figure(name), QUICK, Environment(folder / "out", 1, folder, names or ("us-census-1990",)))


def test_figure_5_from_the_papers_own_file(tmp_path: Path) -> None:
    found = made("uldp/fig5", write_census(tmp_path))
    out = tmp_path / "out"
    assert {file.name for file in found.files} == {
        "uldp-fig5.csv",
        "uldp-fig5-findings.json",
        "uldp-fig5-us-census-1990.svg",
        "uldp-fig5-us-census-1990.png",
        "report.html",
    }
    with (out / "uldp-fig5.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    # Four epsilons, four mechanisms, three estimators; and no privacy.
    assert len(lines) == 4 * 4 * 3 + 1
    report = (out / "report.html").read_text()
    assert "600 people, |X| = 400, |X_S| = 76" in report
    assert "the paper&#39;s own data" in report
    assert "where the paper has 100" in report
    assert report.count("data:image/svg+xml;base64,") == 1
    assert "http" not in report.replace("http://www.w3.org", "")
    told = json.loads((out / "uldp-fig5-findings.json").read_text())
    assert [one["holds"] for one in told] == [finding.holds for finding in found.findings]
    assert len(told) == 8


@pytest.mark.parametrize("name", ["uldp/fig6", "uldp/fig10", "uldp/fig11"])
def test_other_figures_are_made(name: str, folder: Path) -> None:
    assert made(name, folder, drawn=False).results.points


def test_tables_of_the_worst_cases(folder: Path) -> None:
    for number, unlike in ((3, {"RAPPOR", "uRR"}), (4, {"RAPPOR", "uRR"})):
        found = made(f"uldp/table{number}", folder)
        (table,) = found.figure.tables(found.results)
        assert len(table.cells()) == 1 + 9
        assert f"<caption><span>{table.title}" in (folder / "out" / "report.html").read_text()
        entries, (agreement,) = found.findings[:9], found.findings[9:]
        at_small = [one for one in entries if "0.0001" in one.claim]
        assert [one.holds for one in at_small] == [True] * 4
        assert {
            name for name in PAPER if any(f"for {name} " in one.claim and not one.holds for one in entries)
        } == unlike
        assert agreement.claim == "simulated losses agree with the closed forms"
