"""What the path of reports answers: the table of statuses, limits of requests, and that nothing refused is kept."""

import errno
import os
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from collectors import (
    EPOCH,
    PLANS,
    Served,
    added,
    frame,
    ids,
    kept,
    records,
    serving,
    total,
    wait_until,
)

from discreet.collector.keeper import Keeper
from discreet.collector.logs import Measures
from discreet.collector.settings import ServiceLimits
from discreet.collector.storage.folder import DataFolder
from discreet.collector.storage.inboxes import packed
from discreet.collector.writer import Writer
from discreet.device.protocol.frames import LARGEST_FRAME, MEDIA_TYPE, Frame


@pytest.fixture
def served(tmp_path: Path) -> Any:
    added(tmp_path)
    with serving(tmp_path) as running:
        yield running


def entry_of(served: Served) -> Any:
    return served.app.catalogue.newest["habits"]


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_every_kind_of_report_is_stored_as_it_came(tmp_path: Path, plan: str) -> None:
    entry = added(tmp_path, plan)
    frames = [frame(entry, n, seed=n) for n in (1, 2, 300)]
    with serving(tmp_path) as served:
        assert [served.client.post(one).status for one in frames] == [202] * 3
    assert b"".join(row for _, _, row in kept(tmp_path, entry.width)) == b"".join(one[44:] for one in frames)


def test_an_answer_is_empty_and_may_be_read_by_any_page(served: Served) -> None:
    answer = served.client.post(frame(entry_of(served)))
    assert (answer.status, answer.body) == (202, b"")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "set-cookie" not in answer.headers
    assert "access-control-allow-credentials" not in answer.headers


def altered(data: bytes, at: int, *new: int) -> bytes:
    return data[:at] + bytes(new) + data[at + len(new) :]


def flawed_frames(entry: Any) -> dict[str, bytes]:
    """Frames of three reports, of which the second is flawed each time, under its reason."""
    good = records(entry, 3)
    flaws = {
        "have an unknown tag byte, or a tag that this collection does not use": [7, 0],
        "have a symbol outside 0..1": [1, 2],
        "have a clear outside 0..3": [2, 4],
        "have a sensitive value in clear": [2, 3],
    }
    made = {}
    for reason, record in flaws.items():
        bad = good.copy()
        bad[1] = record
        made[reason] = Frame(entry.row.id, 1, ids(3), bad).pack()
    whole = bytearray(Frame(entry.row.id, 1, ids(3), good).pack())
    whole[44 + 18 : 44 + 18 + 16] = whole[44 : 44 + 16]
    made["have the id of another report in their frame"] = bytes(whole)
    return made


def test_bad_frames_of_a_group_name_themselves_and_cost_the_others_nothing(tmp_path: Path) -> None:
    """Frames are gathered for so long that all of them are one group, with every reason several times in it."""
    entry = added(tmp_path)
    sent = [(frame(entry, 2, seed=place), 202, None) for place in range(20)]
    for reason, bad in flawed_frames(entry).items():
        sent += [(bad, 422, reason)] * 2
    found: dict[int, Any] = {}
    with serving(tmp_path, gather_ms=500.0) as served:

        def post(place: int) -> None:
            found[place] = served.client.post(sent[place][0])

        threads = [threading.Thread(target=post, args=(place,)) for place in range(len(sent))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        groups = total(served.app.measures.groups, "_count")
    for place, (_, status, reason) in enumerate(sent):
        assert found[place].status == status
        if reason is not None:
            said = found[place].json
            assert (said["error"], said["reports"], said["first"], said["reason"]) == ("reports", 1, 1, reason)
    assert len(kept(tmp_path)) == 40
    assert groups <= 6


def test_the_clock_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From 300 s before an epoch to its end and what may be late; then never again."""
    entry = added(tmp_path)
    start, end, until = entry.collection.window(1)
    assert until - end == EPOCH // 4
    assert [entry.when(1, now) for now in (start - 301, start - 300, end, until - 1, until)] == [
        "early",
        None,
        None,
        None,
        "late",
    ]
    assert entry.when(3, start + 2 * EPOCH) == "late"
    # Epochs that the collection does not have.
    assert entry.when(3, start) == entry.when(2**32 - 1, 2**33) == "late"


# Requests


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "application/json"}, 415, "media-type"),
        ({"Content-Type": MEDIA_TYPE + "; charset=utf-8"}, 415, "media-type"),
        ({"Content-Type": MEDIA_TYPE, "Content-Encoding": "gzip"}, 415, "encoding"),
        ({"Content-Type": MEDIA_TYPE, "Content-Encoding": "identity"}, 415, "encoding"),
    ],
)
def test_headers_that_are_refused(served: Served, headers: dict[str, str], status: int, code: str) -> None:
    answer = served.client.request("POST", "/v1/reports", frame(entry_of(served)), **headers)
    assert (answer.status, answer.json["error"]) == (status, code)


@pytest.mark.parametrize("size", [LARGEST_FRAME + 1, 2 * LARGEST_FRAME - 1])
def test_too_long_a_body_is_refused_with_an_answer(served: Served, size: int) -> None:
    answer = served.client.post(bytes(size))
    assert (answer.status, answer.json["error"]) == (413, "length")


def raw(
    served: Served, *pieces: bytes, wait: float = 0.05, one: bool = False, closed: bool = False, patience: float = 30.0
) -> bytes:
    """Send bytes as they are, and return what comes back until the other side closes or is silent.

    A connection stays open after most answers: where one whole answer is enough, no silence is waited for. A machine
    that is busy with other things has time for the first bytes, and to close where it must.
    """
    with socket.create_connection(("127.0.0.1", served.client.port), timeout=5) as connection:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(wait)
        connection.settimeout(patience)
        found = b""
        try:
            while piece := connection.recv(1 << 16):
                found += piece
                if one and _is_whole(found):
                    return found
                if not one and not closed:
                    connection.settimeout(1.0)
        except TimeoutError:
            return found
        except ConnectionResetError:
            return found + b"!"
    return found + b"$"


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.rpartition(b"\r\n\r\n")
    said = re.search(rb"content-length: ([0-9]+)", head)
    return bool(end) and said is not None and len(body) >= int(said[1])


HEAD = b"POST /v1/reports HTTP/1.1\r\nHost: h\r\nContent-Type: " + MEDIA_TYPE.encode() + b"\r\n"


def statuses(found: bytes) -> list[int]:
    return [int(line.split()[1]) for line in found.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")]


def whole(data: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(data) + data


def test_hostile_requests_are_refused(served: Served, tmp_path: Path) -> None:
    data = frame(entry_of(served))
    length = b"Content-Length: %d\r\n" % len(data)
    requests = {
        "chunked": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(data) + data + b"\r\n0\r\n\r\n", 411),
        "no length": (HEAD + b"\r\n", 411),
        "two lengths": (HEAD + length * 2 + b"\r\n" + data, 400),
        "other lengths": (HEAD + length + b"Content-Length: 5\r\n\r\n" + data, 400),
        "both": (HEAD + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        "two types": (HEAD + length + b"Content-Type: text/plain\r\n\r\n" + data, 400),
        "negative": (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        "huge": (HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n", 400),
        "not HTTP": (b"\x16\x03\x01\x00\xff hello\r\n\r\n", 400),
        "method": (b"PUT /v1/reports HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 405),
    }
    # At once: most connections stay open, and each has its own silence.
    with ThreadPoolExecutor(len(requests)) as clients:
        found = dict(
            zip(requests, clients.map(lambda request: raw(served, request[0]), requests.values()), strict=True)
        )
    assert {name: statuses(said) for name, said in found.items()} == {
        name: [status] for name, (_, status) in requests.items()
    }
    assert statuses(raw(served, HEAD + b"Content-Length: 9999999999\r\n\r\n", one=True)) == [413]
    assert kept(tmp_path) == []


@pytest.mark.parametrize("way", [b"Expect: 100-continue\r\n", b"Connection: close\r\n", b"Upgrade: h2c\r\n"])
def test_reports_are_answered_alike_whatever_is_asked_of_the_connection(
    served: Served, tmp_path: Path, way: bytes
) -> None:
    entry = entry_of(served)
    bodies = [
        frame(entry, 3),
        b"DSC2" * 20,
        altered(frame(entry), 4, entry.row.id[0] ^ 1),
        altered(frame(entry), 36, 2),
    ]
    for body in [*bodies, *flawed_frames(entry).values()]:
        usual = raw(served, whole(body), wait=0, one=True)
        other = raw(served, whole(body).replace(b"Host: h\r\n", b"Host: h\r\n" + way), wait=0, one=True)
        assert _said(other) == _said(usual)
    assert len(kept(tmp_path)) == 6


def _said(answer: bytes) -> list[bytes]:
    """Return an answer but for what hangs on the connection and the time."""
    changing = (b"date:", b"connection:", b"Connection:", b"HTTP/1.1 100")
    said = [line for line in answer.rstrip(b"$!").split(b"\r\n") if line and not line.startswith(changing)]
    return [*said[:-1], re.sub(rb"[0-9]{10}", b"NOW", said[-1])]


# Limits


def test_requests_beyond_the_connections_are_refused_for_now(tmp_path: Path) -> None:
    added(tmp_path)
    with serving(tmp_path, limits=ServiceLimits(rate=0, burst=1, connections=5)) as served:
        held = [socket.create_connection(("127.0.0.1", served.client.port)) for _ in range(6)]
        wait_until(lambda: served.client.get("/health/live").status == 503)
        for connection in held:
            connection.close()
        wait_until(lambda: served.client.get("/health/live").status == 200)


def test_one_address_may_not_send_too_often(tmp_path: Path) -> None:
    entry = added(tmp_path)
    paths = ["/", "/take/habits", "/static/index.js", "/v1/collections/habits", "/metrics", "/nothing"]
    paths += [
        f"/collections/habits{end}" for end in ("", "/about", "/estimates", "/estimates.json", "/estimates/1.csv")
    ]
    with serving(tmp_path, limits=ServiceLimits(rate=0.01, burst=3)) as served:
        answers = [served.client.post(frame(entry)) for _ in range(5)]
        others = {path: served.client.get(path).status for path in paths}
        health = served.client.get("/health/live").status
    assert [answer.status for answer in answers] == [202] * 3 + [429] * 2
    assert answers[-1].headers["retry-after"] == "5"
    assert others == dict.fromkeys(paths, 429)
    assert health == 200


def _writer(tmp_path: Path, **limits: int) -> tuple[Writer, Any, list[Any]]:
    entry = added(tmp_path)
    told: list[Any] = []
    return Writer(Keeper(DataFolder(tmp_path)), Measures(), answer=told.extend, **limits), entry, told


def _submission(entry: Any, n: int = 1) -> Any:
    from discreet.collector.intake import Submission

    return Submission(entry, 1, n, frame(entry, n), 44)


def test_more_bytes_than_can_wait_are_refused(tmp_path: Path) -> None:
    writer, entry, _ = _writer(tmp_path, size=3 * (44 + 1000 * 18))
    assert [writer.submit(_submission(entry, 1000)) for _ in range(4)] == [True, True, True, False]
    writer.start()
    writer.stop()
    assert len(kept(tmp_path)) == 3000


def test_a_full_queue_is_answered_with_503(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = added(tmp_path)
    with serving(tmp_path) as served:
        monkeypatch.setattr(Writer, "submit", lambda *_: False)
        answer = served.client.post(frame(entry))
    assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (503, "busy", "2")
    assert answer.headers["access-control-expose-headers"] == "retry-after, date"


def test_frames_that_wait_are_written_before_the_end(tmp_path: Path) -> None:
    entry = added(tmp_path)
    with serving(tmp_path, gather_ms=1000.0) as served:
        found = [served.client.post(frame(entry)).status]
        thread = threading.Thread(target=lambda: found.append(served.client.post(frame(entry)).status))
        thread.start()
        wait_until(lambda: served.app.intake.writer.waiting)
    thread.join()
    assert found == [202, 202]
    assert len(kept(tmp_path)) == 2


def test_a_store_that_fails_is_answered_with_503_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk is there again, nothing has to be started anew; also where nobody sends meanwhile."""
    from discreet.collector import writer

    monkeypatch.setattr(writer, "IDLE_SECONDS", 0.05)
    entry = added(tmp_path)
    with serving(tmp_path) as served:
        assert served.client.post(frame(entry)).status == 202
        with monkeypatch.context() as patched:
            patched.setattr(os, "fdatasync", _failing)
            patched.setattr(served.app.keeper.inboxes, "probe", lambda: False)
            answer = served.client.post(sent := frame(entry))
            assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (503, "store", "10")
            assert served.client.get("/health/ready").status == 503
        wait_until(lambda: served.client.get("/health/ready").status == 200)
        assert served.client.post(sent).status == 202
    # What failed to be flushed may be there all the same; its id tells that it is one report.
    assert {row[:16] for _, _, row in kept(tmp_path)} >= {sent[44:60]}


def _failing(_: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("part", ["check", "reading"])
def test_what_breaks_down_is_a_defect_and_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """A device keeps what is answered by 500 and sends it again; 400 would drop it."""
    from discreet.collector import writer

    def broken(*_: Any) -> Any:
        raise RuntimeError("secret of somebody")

    entry = added(tmp_path)
    with serving(tmp_path) as served:
        with monkeypatch.context() as patched:
            if part == "check":
                patched.setattr(writer, "check_frames", broken)
            else:
                patched.setattr(served.app.keeper.catalogue, "by_id", SimpleNamespace(get=broken))
            answer = served.client.post(frame(entry))
        assert (answer.status, answer.json["error"]) == (500, "defect")
        assert b"secret" not in answer.body
        assert served.client.post(frame(entry)).status == 202
    assert len(kept(tmp_path)) == 1


def test_what_waits_holds_neither_times_nor_addresses(served: Served, tmp_path: Path) -> None:
    entry = entry_of(served)
    served.client.post(sent := frame(entry, 2))
    assert [path.name for path in (tmp_path / "inbox").iterdir()] == [f"{entry.key}-1.log"]
    assert (tmp_path / "inbox" / f"{entry.key}-1.log").read_bytes() == packed(sent[44:])
