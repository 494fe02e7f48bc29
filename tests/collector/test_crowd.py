"""The demonstration: simulated devices answer a collector."""

from pathlib import Path

import pytest
from collectors import serving
from loads import free_port

from discreet.collector.demo import NAME, Crowd, Demo, prepare
from discreet.collector.storage.folder import DataFolder

PEOPLE = 60


@pytest.fixture
def demo(tmp_path: Path) -> Demo:
    folder = DataFolder(tmp_path / "data")
    return prepare(folder, f"http://127.0.0.1:{free_port()}")


def test_a_demonstration_is_listed(demo: Demo, tmp_path: Path) -> None:
    with serving(tmp_path / "data", demo=True, listen=demo.collection.collectors[0].removeprefix("http://")) as served:
        assert [one["name"] for one in served.client.get("/v1/collections").json["collections"]] == [NAME]


def test_the_devices_answer(demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy the environment names: all of it is on this machine."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    said: list[str] = []
    crowd = Crowd(demo.collection, said.append, devices=PEOPLE)
    with serving(tmp_path / "data", demo=True, listen=demo.collection.collectors[0].removeprefix("http://")) as served:
        crowd.start()
        crowd.join(60)
        assert sum(served.app.keeper.pending().values()) == PEOPLE
    assert said[0].startswith(f"{PEOPLE} of {PEOPLE} simulated devices have answered. ")
    assert said[0].endswith(f"{demo.collection.collectors[0]}/collections/{NAME}/estimates")


def test_it_ends_at_once_when_it_is_told(demo: Demo) -> None:
    """Before the collector is ready."""
    said: list[str] = []
    crowd = Crowd(demo.collection, said.append, devices=PEOPLE)
    crowd.start()
    crowd.stop()
    assert not crowd.is_alive()
    assert said == []
