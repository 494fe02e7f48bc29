"""Loaders: published formats written to the letter, the paper's own numbers, and real files where they are at hand."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Domain
from discreet.errors import DataError, ParameterError
from papers.data import censuses, places, sources

# US Census 1990 (UCI)

UCI_HEADER = "caseid,dAge,dAncstry1,iFeb55,dIncome1,iKorean,iMarital,iMay75880,iSept80,iSex,iVietnam"
UCI_ROWS = [
    "10000,5,0,0,1,0,2,0,0,1,0",
    "10001,6,1,0,1,0,0,0,1,0,0",
    "10002,3,1,0,2,0,4,1,0,1,0",
    "10003,4,2,0,0,0,0,0,0,1,1",
    "10004,1,1,0,0,0,2,0,0,0,0",
    "10005,4,1,0,0,0,0,0,0,1,0",
]


def uci(folder: Path, rows: list[str] = UCI_ROWS, header: str = UCI_HEADER) -> Path:
    path = folder / "USCensus1990.data.txt"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_the_rule_of_the_paper_makes_76_of_400_values_sensitive(tmp_path: Path) -> None:
    population = censuses.load_us_census(uci(tmp_path))
    assert (population.domain.size, population.domain.sensitive_count, population.people) == (400, 76, 6)
    assert population.differs == ()
    sensitive = population.domain.sensitive.reshape(8, 5, 5, 2)
    for age, income, marital in np.ndindex(8, 5, 5):
        expected = (marital == 2 and age >= 2) or (income == 0 and age in (4, 5))
        assert sensitive[age, income, marital].tolist() == [expected, expected]


@pytest.mark.parametrize("added", [0, 1, 5])
def test_service_attributes_are_added_in_the_papers_order(tmp_path: Path, added: int) -> None:
    population = censuses.load_us_census(uci(tmp_path), added)
    assert (population.domain.size, population.domain.sensitive_count) == (400 * 2**added, 76 * 2**added)
    order = ["age", "income", "marital", "sex", "iSept80", "iMay75880", "iVietnam", "iFeb55", "iKorean"]
    assert list(population.domain.table()) == order[: 4 + added]
    counts = population.counts.reshape(8, 5, 5, 2, *[2] * added)
    place = [(4, 0, 0, 1), (4, 0, 0, 1, 0), (4, 0, 0, 1, 0, 0)][min(added, 2)]
    assert counts[place].sum() == 2


# Census-income (KDD)

KDD = {
    "age": [0, 12, 13, 39, 45, 90],
    "weeks_worked": [0, 0, 26, 27, 0, 52],
    "income": ["- 50000.", "- 50000.", "- 50000.", "- 50000.", "50000+.", "- 50000."],
    "marital_status": ["Never married"] * 2 + ["Divorced", "Married-A F spouse present", "Separated", "Widowed"],
    "sex": ["Male", "Female", "Male", "Female", "Male", "Female"],
    "veterans_benefits": [0, 2, 2, 1, 2, 1],
    "veterans_admin_questionnaire": ["Not in universe"] * 3 + ["No", "Not in universe", "Yes"],
    "own_business": [0, 1, 2, 0, 0, 0],
    "labor_union": ["Not in universe", "No", "Yes", "Not in universe", "Not in universe", "No"],
    "full_part_time": ["Children or Armed Forces"] * 5 + ["Full-time schedules"],
}  # fmt: skip


def kdd(folder: Path, **changed: list[object]) -> Path:
    path = folder / "census_income_kdd.parquet"
    table = pa.table({**KDD, **changed})
    marital = table.column_names.index("marital_status")
    pq.write_table(table.set_column(marital, "marital_status", table["marital_status"].dictionary_encode()), path)
    return path


def test_census_income_is_cut_like_the_paper(tmp_path: Path) -> None:
    population = censuses.load_census_income(kdd(tmp_path))
    assert (population.domain.size, population.domain.sensitive_count) == (400, 76)
    found = np.argwhere(population.counts.reshape(8, 5, 5, 2))
    assert found.tolist() == [[0, 0, 4, 0], [1, 0, 4, 1], [2, 1, 2, 0], [4, 2, 0, 1], [5, 4, 3, 0], [7, 3, 1, 1]]


# Foursquare

CORNER = (40.7580, -73.9855)
HOSPITAL, HOME, OFFICE = (40.7644, -73.9546), (40.7900, -73.9750), (40.7620, -73.9770)
VISITORS = 10


def tist(folder: Path, visitors: int = VISITORS) -> tuple[Path, Path]:
    """Write the two files as published: tab-separated, no header, times with spaces."""
    points = {
        "3fd66200f964a52000e71ee3": (*CORNER, "Jazz Club", "US"),
        "4b0000000000000000000001": (*HOSPITAL, "Hospital", "US"),
        "4b0000000000000000000002": (*HOME, "Home (private)", "US"),
        "4b0000000000000000000003": (*OFFICE, "Office", "US"),
        "4b0000000000000000000004": (52.52, 13.405, 'Café "Berlin"', "DE"),
    }
    names = list(points)
    visits = [(f"{u}", names[1]) for u in range(visitors)] + [("7", names[1]), ("1", names[0]), ("2", names[4])]
    visits += [("3", names[2]), ("3", names[2]), ("4", names[3]), ("4", names[3]), ("5", names[3])]
    checkins, places_ = folder / "dataset_TIST2015_Checkins.txt", folder / "dataset_TIST2015_POIs.txt"
    checkins.write_text("".join(f"{u}\t{v}\tTue Apr 03 18:00:06 +0000 2012\t-240\n" for u, v in visits))
    places_.write_text("".join(f"{p}\t{a}\t{o}\t{c}\t{k}\n" for p, (a, o, c, k) in points.items()), encoding="utf-8")
    return checkins, places_


def region(point: tuple[float, float]) -> int:
    grid = Domain.grid(lat=places.LATITUDES, lon=places.LONGITUDES, rows=25, cols=25)
    return int(grid.encode([point])[0])


def test_tist_is_read_and_only_manhattan_is_kept(tmp_path: Path) -> None:
    population = places.load_tist(*tist(tmp_path))
    assert population.domain.size == 625
    assert population.domain.sensitive_codes.tolist() == [region(HOSPITAL)]
    assert population.people == 11 + 1 + 2 + 3
    assert population.counts[[region(HOSPITAL), region(CORNER), region(HOME), region(OFFICE)]].tolist() == [11, 1, 2, 3]
    assert (population.behind["home"][region(HOME)], population.behind["workplace"][region(OFFICE)]) == (2, 3)
    assert (population.points["home"].sum(), population.points["workplace"][region(OFFICE)]) == (1, 1)


def nyc(folder: Path, borough: str = "Manhattan") -> Path:
    rows = [(user, "clinic", "Medical Center", *HOSPITAL, borough) for user in range(10)]
    rows += [(1, "mine", "Home (private)", *HOME, borough), (2, "desk", "Office", *OFFICE, borough)]
    rows += [(3, "far", "Office", 40.6, -73.9, "Brooklyn"), (3, "island", "Office", 40.689, -74.044, borough)]
    names = ["user", "venue_id", "category_name", "lat", "lon", "borough"]
    columns = dict(zip(names, (list(column) for column in zip(*rows, strict=True)), strict=True))
    table = pa.table(columns)
    for name in ("venue_id", "category_name", "borough"):
        table = table.set_column(names.index(name), name, table[name].dictionary_encode())
    pq.write_table(table, folder / "foursquare_nyc.parquet")
    return folder / "foursquare_nyc.parquet"


def test_new_york_is_restricted_to_the_grid(tmp_path: Path) -> None:
    population = places.load_foursquare_nyc(nyc(tmp_path))
    assert population.people == 12
    assert population.domain.sensitive_codes.tolist() == [region(HOSPITAL)]
    assert "1 check-ins of Manhattan outside were left out" in population.cuts[0]
    assert {tag: int(counts.sum()) for tag, counts in population.behind.items()} == {"home": 1, "workplace": 1}
    with pytest.raises(DataError, match="none of the check-ins is in Manhattan"):
        places.load_foursquare_nyc(nyc(tmp_path, "Queens"))


# What is shipped, and what is at hand


def test_the_survey_of_the_repository() -> None:
    both = sources.load("acs-and"), sources.load("acs-or")
    assert [(one.domain.size, one.domain.sensitive_count) for one in both] == [(277, 35), (277, 253)]
    assert {one.people for one in both} == {1_732_343}
    assert [round(float(one.truth[one.domain.sensitive].sum()), 4) for one in both] == [0.0457, 0.5903]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert sources.missing_files("foursquare-tist2015", tmp_path) == [places.TIST_CHECKINS, places.TIST_POINTS]
    assert sources.missing_files("acs-or", tmp_path) == []
    with pytest.raises(DataError, match=r"^us-census-1990\+2 needs USCensus1990.data.txt in .*DISCREET_DATA\.$"):
        sources.load("us-census-1990+2", tmp_path)
    with pytest.raises(ParameterError, match=r"^data sets are acs-and,"):
        sources.load("atlantis", tmp_path)
