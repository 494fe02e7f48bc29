"""A gateway between devices and a collector: every report arrives once, in another order, and nothing of it stays."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import EPOCH, Served, added_envelope, current, ids, kept, put_by, records, serving

from discreet.collector import housekeeping as forwarding
from discreet.collector.housekeeping import ForwardError, Gateway
from discreet.collector.keeper import Entry, Keeper
from discreet.collector.sealing import seal_batch
from discreet.collector.settings import load_settings
from discreet.collector.storage.inboxes import DataFolder
from discreet.device.outbox import Answer
from discreet.device.protocol.frames import Frame
from discreet.errors import ParameterError
from refusals import refused
from signed import PLAIN, envelope

LEAST = 50


@contextmanager
def kept_by(folder: Path, **terms: Any) -> Iterator[tuple[Keeper, Entry]]:
    """Hold the folder of a gateway with a collection; both collectors of a test have the same one."""
    entry = added_envelope(folder, envelope(PLAIN, epochs=current(), late=EPOCH // 4, least=LEAST, **terms))
    with Keeper(DataFolder(folder)) as keeper:
        yield keeper, entry


def rows_of(folder: Path) -> list[bytes]:
    """Return ids and records in the inbox of a folder, in order of their arrival."""
    return [row for _, _, row in kept(folder)]


def taking(answers: list[int], frames: list[bytes]) -> Any:
    """Return what stands for the way to the collector: it answers, and keeps what it took."""

    def post(origin: str, frame: bytes) -> Answer:
        status = answers.pop(0) if answers else 202
        if status == 202:
            frames.append(frame)
        return Answer(status)

    return post


def test_reports_arrive_once_and_in_another_order(tmp_path: Path) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    # As many as are sent: the gateway looks once a second, and nothing leaves before all are there.
    signed = envelope(PLAIN, epochs=current(), late=EPOCH // 4, least=2 * LEAST)
    entry = added_envelope(there, signed)
    added_envelope(here, signed)
    names, said = ids(2 * LEAST), records(entry, 2 * LEAST)
    with serving(there) as collector, serving(here, gateway=f"http://127.0.0.1:{collector.client.port}") as gateway:
        _send(gateway, entry, names, said)
        gateway.app.housekeeper.look()
        _send(gateway, entry, names[:5], said[:5])
        arrived = rows_of(there)
        # Re-sent by their devices afterwards: too few to leave, and the collector will know their ids.
        gateway.app.housekeeper.look()
        assert rows_of(there) == arrived
        assert len(rows_of(here)) == 5
        assert "gateway.seals-nothing" in refused(
            ParameterError, lambda: seal_batch(gateway.app.keeper, entry, [1], "test")
        )
        sent = [row.tobytes() for row in np.hstack([names, said])]
        assert arrived == sorted(sent) != sent
    stayed = b"".join(path.read_bytes() for path in here.rglob("*") if path.is_file())
    assert not any(name.tobytes() in stayed for name in names[5:])


def _send(served: Served, entry: Entry, names: np.ndarray, said: np.ndarray) -> None:
    """Send each report by itself, as devices do."""
    for place in range(len(names)):
        frame = Frame(entry.row.id, 1, names[place : place + 1], said[place : place + 1])
        assert served.client.post(frame.pack()).status == 202


def test_what_is_not_taken_is_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector fails behind the first of three frames; of what it has twice it will keep one."""
    n, frames = 9000, list[bytes]()
    monkeypatch.setattr(forwarding, "post", taking([202, 503], frames))
    with kept_by(tmp_path) as (keeper, entry):
        names, said = ids(n), records(entry, n)
        put_by(keeper, entry, [(names[:5000], said[:5000]), (names[4000:], said[4000:])])
        gateway = Gateway(keeper, "http://127.0.0.1:1")
        ((due, epoch),) = gateway.due()
        refused(ForwardError, lambda: gateway.forward(due, epoch))
        assert keeper.pending() == {(entry.key, 1): n + 1000}
        assert gateway.forward(due, epoch) == n
        assert keeper.pending() == {}
        assert gateway.due() == []
    parsed = [Frame.parse(frame, entry.codec.width) for frame in frames]
    assert [len(frame.ids) for frame in parsed] == [4096, 4096, 4096, n - 8192]
    sent = Counter(row.tobytes() for frame in parsed for row in np.hstack([frame.ids, frame.records]))
    assert sent.keys() == {row.tobytes() for row in np.hstack([names, said])}
    assert Counter(sent.values()) == {1: n - 4096, 2: 4096}


def test_what_comes_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = list[bytes]()
    with kept_by(tmp_path) as (keeper, entry):
        names, said = ids(LEAST + 1), records(entry, LEAST + 1)
        put_by(keeper, entry, [(names[:LEAST], said[:LEAST])])

        def post(origin: str, frame: bytes) -> Answer:
            put_by(keeper, entry, [(names[LEAST:], said[LEAST:])])
            frames.append(frame)
            return Answer(202)

        monkeypatch.setattr(forwarding, "post", post)
        assert Gateway(keeper, "http://127.0.0.1:1").forward(entry, 1) == LEAST
        assert keeper.pending() == {(entry.key, 1): 1}
    assert rows_of(tmp_path) == [np.hstack([names, said])[-1].tobytes()]


def test_few_reports_wait_until_the_epoch_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One device that sends its report a hundred times is one report."""
    frames, answers = list[bytes](), [404, 409]
    monkeypatch.setattr(forwarding, "post", taking(answers, frames))
    with kept_by(tmp_path) as (keeper, entry):
        put_by(keeper, entry, [(ids(1), records(entry, 1))] * 2 * LEAST)
        gateway = Gateway(keeper, "http://127.0.0.1:1")
        assert [epoch for _, epoch in gateway.due()] == [1]
        assert gateway.forward(entry, 1) == 0
        assert gateway.due() == []
        put_by(keeper, entry, [(ids(LEAST), records(entry, LEAST))])
        # Not known there yet: that may be mended.
        refused(ForwardError, lambda: gateway.forward(entry, 1))
        monkeypatch.setattr(keeper.clock, "now", lambda: entry.collection.window(1)[2] + 1.0)
        # The collector will never take them any more.
        assert gateway.forward(entry, 1) == LEAST + 1
        assert (frames, answers, keeper.pending()) == ([], [], {})
        put_by(keeper, entry, [(ids(3), records(entry, 3))])
        assert gateway.forward(entry, 1) == 3
    assert [Frame.parse(frame, entry.codec.width).ids.shape for frame in frames] == [(3, 16)]


def test_the_last_reports_leave_while_the_collector_takes_them(tmp_path: Path) -> None:
    """In the last tenth of an epoch's window the gateway takes no more, and sends on what it has, however little."""
    there, here, late = tmp_path / "there", tmp_path / "here", EPOCH // 4
    start = int(time.time()) - EPOCH - int(0.95 * (EPOCH + late))
    signed = envelope(PLAIN, epochs=current(start=start), late=late, least=LEAST)
    entry = added_envelope(there, signed)
    added_envelope(here, signed)
    names, said = ids(3), records(entry, 3)
    with serving(there) as collector, serving(here, gateway=f"http://127.0.0.1:{collector.client.port}") as gateway:
        assert gateway.client.post(Frame(entry.row.id, 1, ids(1), said[:1]).pack()).status == 409
        put_by(gateway.app.keeper, entry, [(names, said)])
        gateway.app.housekeeper.look()
        assert rows_of(there) == sorted(row.tobytes() for row in np.hstack([names, said]))
        assert rows_of(here) == []


def test_where_a_gateway_sends_to() -> None:
    assert load_settings(flags={"gateway": "https://collect.example.org"}).gateway == "https://collect.example.org"
    for wrong in ("http://collect.example.org", "https://collect.example.org/v1", "collect.example.org"):
        text = refused(ParameterError, lambda wrong=wrong: load_settings(flags={"gateway": wrong}))
        assert "gateway must be an origin" in text
