"""`discreet tally` night after night: each sealed batch counts once, whatever it is run on, and can be taken out."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sealed_folders import EPOCHS, N, Sealed, sealed_of

import discreet as dc
from discreet import Tally, write_reports
from discreet.cli import main
from discreet.engines import LocalEngine
from discreet.errors import MismatchError
from discreet.formats.sealed_files import put_sealed
from discreet.formats.sealing import CanonicalOrder
from discreet.formats.tallies import read_tally
from refusals import refused
from reports_beside import write_sealed


@pytest.fixture
def sealed(tmp_path: Path) -> Sealed:
    return sealed_of(tmp_path / "collector", "rr")


def run(sealed: Sealed, year: Path, *sources: Any, code: int = 0) -> str:
    plan = sealed.place / "_plan.json"
    result = CliRunner().invoke(main, ["tally", str(plan), *map(str, sources), "-o", str(year), "--json"])
    assert result.exit_code == code, result.output
    return result.stdout if code == 0 else result.stderr


def files(sealed: Sealed) -> list[Path]:
    return sorted(sealed.place.glob("epoch-*.parquet"))


def counted(sealed: Sealed, year: Path) -> Tally:
    tally = read_tally(year, sealed.mechanism)
    assert tally.unnamed == 0
    return tally


def test_nights_add_up_to_the_year(sealed: Sealed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nights of one more epoch each, one of them run twice: the tally of all, and no file is read a second time."""
    year, read = tmp_path / "year.tally.parquet", list[int]()
    tallied = LocalEngine.fold

    def spy(engine: Any, fold: Any, scan: Any) -> Any:
        read.append(len(scan.parts))
        return tallied(engine, fold, scan)

    monkeypatch.setattr(LocalEngine, "fold", spy)
    for night in (1, 2, 2, 3):
        facts = json.loads(run(sealed, year, *files(sealed)[:night]))
    assert (facts["reports"], facts["batches"], facts["changed"]) == (EPOCHS * N, EPOCHS, 1)
    assert read == [1, 1, 0, 1]
    assert counted(sealed, year) == sealed.tally
    # The whole folder, and the tallies of the same epochs: nothing of it is new.
    before = year.read_bytes()
    assert json.loads(run(sealed, year, sealed.place))["changed"] == 0
    assert json.loads(run(sealed, year, sealed.place / "_tallies"))["changed"] == 0
    assert year.read_bytes() == before


def test_an_epoch_is_taken_out_and_added_again(sealed: Sealed, tmp_path: Path) -> None:
    year, first = tmp_path / "year.tally.parquet", files(sealed)[0]
    run(sealed, year, sealed.place)
    whole = year.read_bytes()
    facts = json.loads(run(sealed, year, first, "--retract"))
    assert (facts["reports"], facts["batches"], facts["changed"]) == ((EPOCHS - 1) * N, EPOCHS - 1, 1)
    assert counted(sealed, year) == sealed.mechanism.tally(sealed.sent.part(N, EPOCHS * N))
    assert "tally.not-counted" in run(sealed, year, first, "--retract", code=2)
    run(sealed, year, first)
    assert year.read_bytes() == whole


def test_ranges_are_merged(sealed: Sealed, tmp_path: Path) -> None:
    early, late, year = (tmp_path / f"{name}.tally.parquet" for name in ("early", "late", "year"))
    one, two, three = files(sealed)
    run(sealed, early, one, two)
    run(sealed, late, two, three)
    run(sealed, year, early)
    # Half of the second range is counted already, and nobody can halve a tally.
    assert "batch.too-many-reports" in run(sealed, year, late, code=2)
    run(sealed, year, three)
    assert counted(sealed, year) == sealed.tally
    assert json.loads(run(sealed, year, late))["changed"] == 0


def test_reports_that_would_not_be_recognised_are_refused(sealed: Sealed, tmp_path: Path) -> None:
    """Reports without a name and parts of batches: nothing is written. Other files have names, and count once too."""
    year, few = tmp_path / "year.tally.parquet", replace(sealed.sent.part(0, 50), batches=())
    write_reports(tmp_path / "loose.jsonl", sealed.mechanism, few)
    write_reports(tmp_path / "loose.parquet", sealed.mechanism, few)
    write_reports(
        tmp_path / "part.parquet", sealed.mechanism, dc.read_reports(tmp_path / "loose.parquet", sealed.mechanism)[:20]
    )
    for name in ("loose.jsonl", "part.parquet"):
        path = tmp_path / name
        assert "source.not-whole-batches" in run(sealed, year, path, code=2)
    assert not year.exists()
    write_sealed(tmp_path / "sealed.parquet", sealed.mechanism, few)
    for name in ("loose.parquet", "sealed.parquet"):
        assert [json.loads(run(sealed, year, tmp_path / name))["changed"] for _ in range(2)] == [1, 0]


def test_an_epoch_with_more_or_fewer_reports_is_refused(sealed: Sealed, tmp_path: Path) -> None:
    """A collector restored from a backup may seal an epoch anew."""
    year, changed = tmp_path / "year.tally.parquet", tmp_path / "changed.parquet"
    run(sealed, year, sealed.place)
    collection, epoch = counted(sealed, year).batches[1].name.split("/")
    with CanonicalOrder(sealed.mechanism) as order:
        order.add(sealed.sent.part(0, N - 1))
        facts = {"collection": collection, "epoch": int(epoch)}
        put_sealed(changed, sealed.mechanism, order.batches(), order.n, facts=facts)
    message = run(sealed, year, changed, code=2)
    assert str(changed) in message
    assert "batch.other-number" in message
    assert counted(sealed, year) == sealed.tally


def test_two_nights_at_once(sealed: Sealed, tmp_path: Path) -> None:
    """Processes that add different epochs at the same time wait for each other: none overwrites what another added."""
    year = tmp_path / "year.tally.parquet"
    plan = str(sealed.place / "_plan.json")
    given = [[sys.executable, "-m", "discreet", "tally", plan, str(one), "-o", str(year)] for one in files(sealed)]
    running = [subprocess.Popen(one, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for one in given]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert counted(sealed, year) == sealed.tally


def test_only_what_was_counted_is_taken_out(sealed: Sealed) -> None:
    batches = [LocalEngine().tally(sealed.mechanism, one).tally for one in files(sealed)]
    first, *others = batches
    whole = sum(others, start=first)
    assert whole.without(first) == sum(others[1:], start=others[0])
    for wrong in (sealed.mechanism.tally(sealed.sent.part(0, N)), whole + sealed.mechanism.tally(sealed.sent)):
        assert "tally.not-counted" in refused(MismatchError, lambda wrong=wrong: whole.without(wrong))
