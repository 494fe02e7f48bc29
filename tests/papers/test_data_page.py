"""The pages on data and reproduction: the conversions work, and the verdicts agree with the thresholds of the code."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from papers.data import biometrics, censuses, places, sources, traces
from papers.uldp.comparisons import NEAR

EVIDENCE = Path(__file__).parent.parent.parent / "docs" / "evidence"


@pytest.fixture(scope="module")
def convert() -> dict[str, Any]:
    """The functions of the page."""
    pytest.importorskip("scipy")
    (block,) = re.findall(r"```python\n(.*?)```", (EVIDENCE / "data.md").read_text(encoding="utf-8"), re.DOTALL)
    functions: dict[str, Any] = {}
    exec(block, functions)
    return functions


def test_census_income_is_converted(convert: dict[str, Any], tmp_path: Path) -> None:
    cells = dict.fromkeys(range(42), "Not in universe")
    cells |= {0: "35", 7: "Divorced", 12: "Female", 15: "Full-time schedules", 36: "0", 38: "2", 39: "52"}
    published = tmp_path / "census-income.data"
    lines = [", ".join((cells | {41: income}).values()) for income in ("- 50000.", "50000+.")]
    published.write_text("\n".join(lines) + "\n")
    convert["census_income"]([published, published], tmp_path / censuses.KDD_FILE)
    population = sources.load("census-income+5", tmp_path)
    assert sorted(population.counts[population.counts > 0].tolist()) == [2, 2]


def test_foursquare_is_converted(convert: dict[str, Any], tmp_path: Path) -> None:
    line = "{}\tv{}\tc\t{}\t40.78\t-73.97\t-240\tTue Apr 03 18:00:{:02} +0000 2012\n"
    rows = [line.format(user, n, "Medical Center" if n % 2 else "Café", n) for user in range(12) for n in range(12)]
    (tmp_path / "nyc.txt").write_text("".join(rows), encoding="latin1")
    convert["foursquare"](tmp_path / "nyc.txt", tmp_path / places.NYC_FILE)
    assert sources.load("foursquare-nyc", tmp_path).people == 144
    assert sources.load("trails-nyc", tmp_path).traces.lengths.tolist() == [12] * 12


def test_check_ins_of_a_city_are_converted(convert: dict[str, Any], tmp_path: Path) -> None:
    from scipy.io import savemat

    rows = np.array([[user, 7, 100 + visit, 3] for visit in range(11) for user in (1, 2, 3)], dtype=float)
    savemat(tmp_path / "city.mat", {"selected_checkins": rows})
    convert["check_ins"](tmp_path / "city.mat", tmp_path / traces.NYC_FILE)
    found = sources.load("lbsn-nyc", tmp_path).traces
    assert (found.users, found.event_count, len(found)) == (3, 11, 33)


def test_the_page_lists_every_file_that_is_no_published_one() -> None:
    text = (EVIDENCE / "data.md").read_text(encoding="utf-8")
    files = {censuses.KDD_FILE, places.NYC_FILE, traces.KL_FILE, traces.NYC_FILE, traces.MOVIELENS_FILE}
    assert all(f"`{file}`" in text for file in (*files, biometrics.BSSR1_FILE))


def test_verdicts_on_being_near_agree_with_the_threshold() -> None:
    text = (EVIDENCE / "reproduction.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if f"at most {NEAR:g} times" in line]
    assert len(rows) == 3
    for row in rows:
        holds, _, fails = row.strip("| ").split("|")[-1].partition("**not**")
        numbers = [[float(number) for number in re.findall(r"\b\d+\.\d+\b", part)] for part in (holds, fails)]
        assert numbers[0] or numbers[1]
        assert all(number <= NEAR for number in numbers[0])
        assert all(number > NEAR for number in numbers[1])
