"""Connections: whoever is slow is ended, whoever sends ahead is refused, and little is held of anybody."""

import signal
import socket
import threading
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from collectors import Served, added, frame, kept, serving, total, wait_until
from loads import HEAD

from discreet.collector.access import Rates, Tokens, TooManyTriesError
from discreet.collector.settings import ServiceLimits
from discreet.collector.working import JobError, Workers

BIG = 1 << 23


def whole(data: bytes) -> bytes:
    return HEAD + b"%d\r\n\r\n" % len(data) + data


def connected(served: Served, *, room: int | None = None) -> socket.socket:
    """Return a connection; ``room``: of what it takes without reading."""
    made = socket.socket()
    if room is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    made.settimeout(20)
    made.connect(("127.0.0.1", served.client.port))
    return made


def status(connection: socket.socket) -> int:
    """Return the status of an answer, read to its end."""
    with connection.makefile("rb") as file:
        line, length = file.readline(), 0
        while (header := file.readline().lower()) != b"\r\n":
            length = int(header.partition(b": ")[2]) if header.startswith(b"content-length") else length
        file.read(length)
    return int(line.split()[1])


def rest(connection: socket.socket) -> bytes:
    """Return what comes until the other side ends the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            found += piece
    connection.close()
    return found


async def sized(scope: Any, receive: Any, send: Any) -> None:
    """Answer with as many bytes as the path says."""
    del receive
    size = int(scope["path"][1:])
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % size)]})
    await send({"type": "http.response.body", "body": bytes(size)})


def test_who_does_not_read_is_ended_by_the_deadline(tmp_path: Path) -> None:
    """However little is left of the answer, also where the server has ended the connection for its part."""
    entry = added(tmp_path)
    with serving(tmp_path, limits=ServiceLimits(rate=0, burst=1, seconds=0.5)) as served:
        served.app.pages = sized  # type: ignore[assignment]
        began, deaf = time.monotonic(), [connected(served, room=4096) for _ in range(80)]
        for place, connection in enumerate(deaf):
            # What a system holds of an answer is its own affair: one of these is a little more.
            connection.sendall(b"GET /%d HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" % (50_000 * place))
        wait_until(lambda: total(served.app.measures.connections_ended) > 0)
        wait_until(lambda: not served.connections, seconds=20)
        assert time.monotonic() - began > 0.4
        assert served.client.post(frame(entry)).status == 202
        for connection in deaf:
            connection.close()


def test_who_reads_slowly_gets_the_whole_answer(tmp_path: Path) -> None:
    """The deadline is that of a piece, and begins anew whenever everything was taken."""
    added(tmp_path)
    with serving(tmp_path, limits=ServiceLimits(rate=0, burst=1, seconds=20.0)) as served:
        served.app.pages = sized  # type: ignore[assignment]
        connection = connected(served, room=4096)
        connection.sendall(b"GET /%d HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" % BIG)
        time.sleep(0.3)
        assert len(rest(connection)) > BIG
        assert total(served.app.measures.connections_ended) == 0


def test_what_is_sent_ahead_is_refused_and_what_waits_is_served(tmp_path: Path) -> None:
    entry = added(tmp_path)
    with serving(tmp_path) as served:
        connection = connected(served)
        for _ in range(3):
            connection.sendall(whole(frame(entry)))
            assert status(connection) == 202
        # Its end comes after the answer to the one before it.
        sent = whole(frame(entry))
        connection.sendall(whole(frame(entry)) + sent[:30])
        assert status(connection) == 202
        connection.sendall(sent[30:])
        assert status(connection) == 202
        connection.sendall(whole(frame(entry)) * 3)
        found = rest(connection)
    assert [line[9:12] for line in found.split(b"\r\n") if line.startswith(b"HTTP/1.1 ")] == [b"202", b"400"]
    assert b"pipelined" in found
    assert len(kept(tmp_path)) == 6


def test_what_is_not_whole_at_its_answer_ends_the_connection(tmp_path: Path) -> None:
    """Otherwise the rest of it would be taken for the next request."""
    added(tmp_path)
    with serving(tmp_path, limits=ServiceLimits(rate=0, burst=1, requests=1)) as served:
        held = connected(served)
        held.sendall(HEAD + b"62\r\n\r\n")
        wait_until(lambda: b" 503 " in _asked(served))
        assert b"connection: close" in _asked(served).lower()
        held.close()


def _asked(served: Served) -> bytes:
    connection = connected(served)
    connection.sendall(b"POST /v1/collections HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n" + bytes(50))
    return rest(connection)


def test_a_page_that_reads_no_body_is_answered_when_the_body_has_come(tmp_path: Path) -> None:
    """Its sender may use the connection again."""
    added(tmp_path)
    with serving(tmp_path) as served:
        connection = connected(served)
        for _ in range(2):
            connection.sendall(b"POST /v1/collections HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n")
            connection.sendall(bytes(300_000))
            assert status(connection) == 405
        connection.close()


def test_little_is_held_of_who_sends_requests_without_end(tmp_path: Path) -> None:
    """The server makes an object of each request that it finds in what was read at once: hence little is read."""
    added(tmp_path)
    with serving(tmp_path) as served:
        held = [connected(served) for _ in range(8)]
        tracemalloc.start()
        try:
            for connection in held:
                connection.settimeout(2)
                with suppress(OSError):
                    connection.sendall(b"GET /health/live HTTP/1.1\r\n\r\n" * 20_000)
            for connection in held:
                connection.settimeout(20)
                assert rest(connection).count(b"HTTP/1.1 ") <= 2
            assert tracemalloc.get_traced_memory()[1] < len(held) * (2 << 20)
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("address", "other", "alike"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:0db8:0001:0002:0000:0000:0000:0001", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:c000:201", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("no: address", "no: other", False),
        ("", "192.0.2.1", False),
    ],
)
def test_who_has_many_addresses_has_one_bucket(address: str, other: str, alike: bool) -> None:
    """Those of a network of IPv6 count as one, and IPv4 as itself however it is written."""
    rates = Rates(0.001, 2, clock=lambda: 5.0)
    assert [rates.allows(address) for _ in range(3)] == [True, True, False]
    assert rates.allows(other) is not alike
    assert (rates.mark(address) == rates.mark(other)) is alike


def test_tokens_that_are_none_are_counted_by_network() -> None:
    tokens = Tokens(clock=lambda: 5.0)
    assert [tokens.holder(f"dsc_{last}", f"2001:db8::{last}") for last in range(5)] == [None] * 5
    with pytest.raises(TooManyTriesError):
        tokens.holder("dsc_x", "2001:db8::ffff")
    assert tokens.holder("dsc_x", "2001:db8:0:1::1") is None


def test_a_signal_ends_pictures_and_estimates_before_requests_are_waited_for(tmp_path: Path) -> None:
    def drawn(workers: Workers) -> None:
        with pytest.raises(JobError, match=r"job.failed"):
            workers.run(time.sleep, 600)

    with serving(tmp_path) as served:
        thread = threading.Thread(target=drawn, args=(served.app.workers,))
        thread.start()
        wait_until(lambda: served.app.workers.running)
        served.server.handle_exit(signal.SIGTERM, None)
        thread.join(60)
        assert not thread.is_alive()
        with pytest.raises(JobError, match="shutting down"):
            served.app.workers.run(time.sleep, 0)
