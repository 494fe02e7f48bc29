"""The figures of [PIE], on small files in the published formats."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from papers import making
from papers.data import biometrics, sources, traces
from papers.figure import Figure, Settings
from papers.making import Environment, Made, make
from papers.pie.attacks import HALF, MAXIMUM, split_of
from papers.pie.fig12 import epsilon_of
from papers.pie.utility import hashing_loss
from papers.registry import family, figure

GENERATOR = np.random.default_rng(20261120)


def visits(users: int, events: int, places: int) -> tuple[np.ndarray, np.ndarray]:
    who = np.repeat(np.arange(users), events)
    mine = GENERATOR.integers(0, places, (users, 4))[who, GENERATOR.integers(0, 4, len(who))]
    return who, np.where(GENERATOR.random(len(who)) < 0.8, mine, GENERATOR.integers(0, places, len(who)))


def write_world(folder: Path, users: int = 60, events: int = 220) -> None:
    who, where = visits(users, events, 40)
    rows = [f"{u}\t4b{p:022d}\tTue Apr 03 18:00:06 +0000 2012\t-240\n" for u, p in zip(who, where, strict=True)]
    (folder / traces.WWW_FILE).write_text("".join(rows))


def write_ratings(folder: Path, users: int = 30) -> None:
    lines = ["userId,movieId,rating,timestamp"]
    for user in range(users):
        for time, movie in enumerate(GENERATOR.permutation(400)[:120]):
            lines.append(f"{user},{movie},{4.5 if time % 12 else 1.0},{1_000_000 + time}")
    (folder / traces.RATINGS_CSV).write_text("\n".join(lines) + "\n")
    dat = [line.replace(",", "::").replace("4.5", "5").replace("1.0", "1") for line in lines[1:]]
    (folder / traces.RATINGS_DAT).write_text("\n".join(dat) + "\n")


def write_matchers(folder: Path, users: int = 25) -> None:
    row, col = np.divmod(np.arange(users * users), users)
    own = np.where(row == col, 4.0, 0.0)
    columns = {name: own + GENERATOR.normal(size=len(row)) for name in biometrics.MATCHERS}
    columns["face_C"][row == 3] = -1.0
    table = pa.table({"row": row.astype(np.int16), "col": col.astype(np.int16), "genuine": row == col, **columns})
    pq.write_table(table, folder / biometrics.BSSR1_FILE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    write_world(folder)
    write_ratings(folder)
    write_matchers(folder)
    return folder


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of output: cells that figures share are measured once."""
    return tmp_path_factory.mktemp("output")


def made(name: str, folder: Path, output: Path, *names: str) -> Made:
    return make(figure(name), Settings(runs=1, quick=True), Environment(output, 1, folder, names))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts are made, and not turned into pictures: another test has turned them."""
    monkeypatch.setattr(making, "pictures", lambda chart: ("<svg></svg>", b"") if chart.to_dict() else None)


NAMES = ("lbsn-world", "movielens", "bssr1", "sizes")


@pytest.mark.parametrize("one", family("pie"), ids=lambda one: one.name)
def test_every_figure_is_made(folder: Path, output: Path, one: Figure) -> None:
    found = made(one.name, folder, output, *NAMES)
    assert found.results.points
    pictures = [file for file in found.files if file.suffix == ".png"]
    assert pictures
    assert one.title.split("]")[0] in (output / "report.html").read_text()


@pytest.mark.usefixtures("undrawn")
def test_bounds_are_those_that_the_paper_prints(folder: Path, output: Path) -> None:
    assert all(finding.holds for finding in made("pie/fig4", folder, output, "sizes").findings)


@pytest.mark.usefixtures("undrawn")
def test_nothing_found_exceeds_a_bound(folder: Path, output: Path) -> None:
    for name in ("pie/fig8", "pie/fig9"):
        found = made(name, folder, output, "lbsn-world")
        bounded = [
            one for one in found.findings if "above the exact bound" in one.claim or "exact bound says" in one.claim
        ]
        assert len(bounded) == 2
        assert all(one.holds for one in bounded)


def test_published_formats_are_read(folder: Path) -> None:
    world = sources.load("lbsn-world", folder)
    assert (world.traces.users, len(world.traces), world.differs) == (60, 60 * 220, ())
    ratings, dat = sources.load("movielens", folder), sources.load("movielens-dat", folder)
    assert ratings.traces.users == dat.traces.users == 30
    # Ten of 120 ratings have one star.
    assert len(ratings.traces) == len(dat.traces) == 30 * 110
    assert (ratings.traces.events == dat.traces.events).all()
    matchers = sources.load("bssr1", folder)
    assert (matchers.users, len(matchers.scores)) == (25, 4)
    assert "25 users" in matchers.facts
    assert sources.load("sizes", folder).facts == "1,370,637 users, 10,500,393 values"


def test_what_the_attacker_knows(folder: Path) -> None:
    world = sources.load("lbsn-world", folder).traces
    assert split_of(world, MAXIMUM, 3).training.lengths.tolist() == [3] * 60
    halves = split_of(world, HALF, None)
    assert (halves.training.lengths == 110).all()
    assert (halves.target.lengths == 110).all()


def test_printed_loss_of_hashing() -> None:
    """Eq. 23 tends to p(1 - theta)/(n theta) as g grows [PIE, Thm 17], and falls on the way."""
    p = np.array([0.01, 0.2])
    losses = [hashing_loss(p, 1000, g, epsilon_of(0.5, g)) for g in (10, 1000, 10**6, 10**9)]
    assert (np.diff(losses, axis=0) < 0).all()
    assert losses[-1] == pytest.approx(p / 1000, rel=1e-5)
