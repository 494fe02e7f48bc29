"""The demonstration: simulated devices answer a collector, and what each party saw is true."""

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from collectors import serving, wait_until
from loads import free_port

from discreet.collector.demo import NAME, Crowd, Demo, prepare
from discreet.collector.sealing import seal_batch
from discreet.collector.storage.folder import DataFolder
from discreet.core.result_table import Cells, ResultTable

PEOPLE = 60


class Shown:
    """What was shown."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.tables: list[ResultTable] = []

    def say(self, part: str | ResultTable) -> None:
        if isinstance(part, str):
            self.said.append(part)
        else:
            self.tables.append(part)


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    folder = DataFolder(tmp_path / "data")
    return prepare(folder, f"http://127.0.0.1:{free_port()}")


def test_a_demonstration_is_listed(demo: Demo, tmp_path: Path) -> None:
    with serving(tmp_path / "data", demo=True, listen=demo.collection.collectors[0].removeprefix("http://")) as served:
        assert [one["name"] for one in served.client.get("/v1/collections").json["collections"]] == [NAME]


def test_what_each_party_saw_is_true(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy the environment names: all of it is on this machine."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    folder, shown = DataFolder(tmp_path / "data"), Shown()
    crowd = Crowd(demo.collection, folder, shown.say, devices=PEOPLE)
    crowd.start()
    with serving(folder.path, demo=True, listen=demo.collection.collectors[0].removeprefix("http://")) as served:
        wait_until(lambda: shown.said, 60)
        entry = served.app.catalogue.newest[NAME]
        keeper = served.app.keeper
        epochs = [epoch for _, epoch in keeper.pending()]
        assert seal_batch(keeper, entry, epochs, "test") is not None
        crowd.join(30)
        assert not crowd.is_alive()
    assert f"{PEOPLE} simulated devices have answered. " in shown.said[0]
    assert "e^1 times likelier" in shown.said[1]
    (_, *parties), (_, *estimate) = (table.cells() for table in shown.tables)
    files = sorted((folder.sealed / NAME / "v1").glob("epoch-*.parquet"))
    clear = [code for file in files for code in pq.read_table(file).column("clear").drop_null().to_pylist()]
    assert f"{PEOPLE} requests of 62 bytes" in parties[1][1]
    assert f"{len(clear)} answers in clear" in parties[3][1]
    assert f"{PEOPLE - len(clear)} that may be noise" in parties[3][1]
    assert not demo.collection.sensitive[clear].any()
    assert all(f"sha256 {_digest(file)}" in parties[3][1] for file in files)
    _check_estimate(demo, estimate)


def _digest(file: Path) -> str:
    from hashlib import sha256

    return sha256(file.read_bytes()).hexdigest()[:8]


def _check_estimate(demo: Demo, cells: Cells) -> None:
    assert [row[0] for row in cells] == list(demo.collection.domain.names(range(demo.collection.domain.size)))
    assert [row[1] == "yes" for row in cells] == demo.collection.sensitive.tolist()
    answered = [float(row[2]) for row in cells]
    assert sum(answered) == pytest.approx(100, abs=0.5)
    assert all(re.fullmatch(r"-?\d+\.\d", number) for row in cells for number in row[2:])
    covered = sum(float(low) <= truth <= float(high) for truth, (*_, low, high) in zip(answered, cells, strict=True))
    assert covered >= len(cells) - 2


def test_it_ends_at_once_when_it_is_told(demo: Demo, tmp_path: Path) -> None:
    """Before the collector is ready, and while devices answer."""
    shown = Shown()
    crowd = Crowd(demo.collection, DataFolder(tmp_path / "data"), shown.say, devices=PEOPLE)
    crowd.start()
    crowd.stop()
    assert not crowd.is_alive()
    assert shown.said == shown.tables == []
