"""Files of few reports that are equal by chance: told, and taken; a copy of many is refused."""

import itertools
import warnings
from math import factorial, prod
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.tally import GROUPS, digesting, equal_by_chance
from discreet.engines import tally
from discreet.errors import DataError, EqualReportsWarning
from discreet.formats.reports import write_reports
from discreet.formats.tallies import write_tally

BINARY = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
BITS = dc.UnaryEncoding(dc.Domain(range(40)), epsilon=1.0)


def reports_of(mechanism: dc.RandomizedResponse | dc.UnaryEncoding, n: int, seed: int) -> dc.Reports:
    return mechanism.obfuscate_codes(np.arange(n) % mechanism.domain.size, random=dc.SeededRandom(seed))


@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (2, 2, 2), (4, 0, 1)])
def test_no_people_make_counts_likelier_than_the_bound(counts: tuple[int, ...]) -> None:
    """Over a grid of all probabilities; where these are the counts' own shares it is attained."""
    n, ways = sum(counts), factorial(sum(counts)) / prod(map(factorial, counts))
    bound = equal_by_chance(np.array(counts))
    grid = [p for p in itertools.product(np.arange(0, n + 1) / n, repeat=len(counts)) if abs(sum(p) - 1) < 1e-12]
    chances = [ways * prod(float(one) ** c for one, c in zip(p, counts, strict=True)) for p in grid]
    assert max(chances) == pytest.approx(bound, rel=1e-12)


def test_groups_are_those_of_contents_whatever_the_order() -> None:
    reports = reports_of(BITS, 500, 1)
    found = digesting(BITS).groups(reports)
    assert (found.sum(), len(found)) == (500, GROUPS)
    assert found.tolist() == digesting(BITS).groups(reports.sealed()).tolist()
    assert equal_by_chance(found) < 1e-9
    # Two contents: two groups, or one if they meet.
    assert np.count_nonzero(digesting(BINARY).groups(reports_of(BINARY, 500, 1))) <= 2


def test_days_of_few_answers_that_are_equal_by_chance_are_counted_and_told(tmp_path: Path) -> None:
    """Thirty days of a thousand answers to a question of two: by chance always two are equal."""
    for day in range(30):
        write_reports(tmp_path / f"{day:02}.parquet", BINARY, reports_of(BINARY, 1000, day))
    with pytest.warns(EqualReportsWarning, match=r"the same 1,000 reports twice: .* often are by chance"):
        assert tally(BINARY, tmp_path).tally.n == 30_000


@pytest.mark.parametrize("as_tally", [False, True])
def test_a_copy_of_many_is_refused(tmp_path: Path, as_tally: bool) -> None:
    reports = reports_of(BITS, 200, 1)
    write_reports(tmp_path / "a.parquet", BITS, reports)
    if as_tally:
        write_tally(tmp_path / "b.tally.parquet", BITS.tally(reports))
    else:
        write_reports(tmp_path / "b.jsonl", BITS, reports.sealed())
    with pytest.raises(DataError, match="the same 200 reports twice"):
        tally(BITS, tmp_path)


def test_tallies_of_few_answers_are_told_too(tmp_path: Path) -> None:
    reports = reports_of(BINARY, 10, 1)
    for name in ("a", "b"):
        write_tally(tmp_path / f"{name}.tally.parquet", BINARY.tally(reports))
    with pytest.warns(EqualReportsWarning, match="the same 10 reports twice"):
        assert tally(BINARY, tmp_path).tally.n == 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tally(BINARY, tmp_path / "a.tally.parquet").tally.n == 10


@pytest.mark.parametrize(("files", "refused"), [(2, True), (30, False)])
def test_how_many_files_there_are_decides_what_chance_can_do(tmp_path: Path, files: int, refused: bool) -> None:
    """Two files of 20,000 answers are equal by chance once in two hundred times; of thirty, some two now and then."""
    for day in range(files):
        write_reports(tmp_path / f"{day:02}.parquet", BINARY, reports_of(BINARY, 20_000, max(day, 1)))
    expected = pytest.raises(DataError) if refused else pytest.warns(EqualReportsWarning)
    with expected:
        tally(BINARY, tmp_path)
