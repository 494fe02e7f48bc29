"""Sending over the network: the same bytes until they are taken, to origins of the document alone, nothing followed."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from certificates import certificate
from sender import Sender

from collector_double import Double, collector
from discreet.device import Device, Limits, SendResult, sending
from discreet.device.protocol.frames import head
from discreet.device.sending import Answer, FetchError, fetch, post, seconds_of
from discreet.errors import ParameterError
from refusals import refused
from signed import TRUST

DAY = 86_400


@pytest.fixture
def double() -> Iterator[Double]:
    with collector() as made:
        yield made


def test_one_request_for_one_report(tmp_path: Path, double: Double) -> None:
    """No cookie, no agent, nothing that says who it is; each on a connection of its own."""
    one = Sender(tmp_path / "device", double.origin, epochs=2)
    assert one.device.send() == SendResult(2, 0, 0)
    assert one.device.send() == SendResult(0, 0, 0)
    assert len(double.requests) == 2
    for method, path, headers, body in double.requests:
        assert (method, path) == ("POST", "/v1/reports")
        assert set(headers) == {"Host", "Accept-Encoding", "Content-Length", "Content-Type"}
        assert headers["Content-Type"] == "application/vnd.discreet.reports"
        assert len(body) == 60 + 2
    assert double.frames[0][44:60] != double.frames[1][44:60]


@pytest.mark.parametrize("status", [0, 200, 204, 301, 302, 307, 308, 408, 425, 429, 500, 502, 503])
def test_the_same_bytes_again(tmp_path: Path, double: Double, status: int) -> None:
    one = Sender(tmp_path / "device", double.origin)
    headers = {"Location": f"{double.origin}/elsewhere"} if status // 100 == 3 else {}
    double.says = [(status or 599, headers, b""), (202, {}, b"")]
    assert one.device.send() == SendResult(0, 0, 1)
    assert one.device.send() == SendResult(0, 0, 1)
    one.now += 3601
    assert one.device.send() == SendResult(1, 0, 0)
    first, second = double.frames
    assert first == second
    assert {path for _, path, _, _ in double.requests} == {"/v1/reports"}


def test_origins_take_turns(tmp_path: Path, double: Double) -> None:
    with collector() as other:
        one = Sender(tmp_path / "device", double.origin, other.origin)
        double.says = [(503, {}, b"")]
        one.device.send()
        one.now += 10
        assert one.device.send() == SendResult(1, 0, 0)
        assert double.frames == other.frames


def test_retry_after(tmp_path: Path, double: Double) -> None:
    one = Sender(tmp_path / "device", double.origin)
    double.says = [(429, {"Retry-After": "1800"}, b""), (202, {}, b"")]
    assert one.device.send() == SendResult(0, 0, 1)
    one.now += 1799
    assert one.device.send() == SendResult(0, 0, 1)
    one.now += 2
    assert one.device.send() == SendResult(1, 0, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("30", 30),
        (" 30 ", 30),
        ("-30", 0),
        ("1e3", 0),
        ("9" * 400, 3600),
        ("x", 0),
        ("Fri, 15 Jan 2027 08:00:40 GMT", 40),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("Fri, 15 Jan 2099 07:00:00 GMT", 3600),
        ("٣", 0),
    ],
)
def test_seconds_of_retry_after(text: str | None, seconds: float) -> None:
    assert seconds_of(text, "Fri, 15 Jan 2027 08:00:00 GMT") == seconds
    if text and "GMT" in text:
        assert seconds_of(text) == 0


def _has_ipv6() -> bool:
    with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no address of IPv6.")
def test_an_address_of_ipv6() -> None:
    listening, origin = _serve(b"HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n", host="::1")
    with listening:
        assert post(origin, b"x") == Answer(202)


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        ("https://[2001:db8::1]", ("2001:db8::1", 443)),
        ("https://[2001:db8::1]:8443", ("2001:db8::1", 8443)),
        ("https://a.example", ("a.example", 443)),
        ("https://a.example:0", ("a.example", 0)),
        ("http://[::1]", ("::1", 80)),
        ("http://localhost", ("localhost", 80)),
    ],
)
def test_where_an_origin_is(origin: str, place: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The last part of an address of IPv6 is no port."""
    asked: list[Any] = []

    def dial(there: Any, *_: Any, **__: Any) -> socket.socket:
        asked.append(there)
        raise OSError

    monkeypatch.setattr(socket, "create_connection", dial)
    assert post(origin, b"x") == Answer(0)
    assert asked == [place]


def test_nobody_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert post(f"http://127.0.0.1:{port}", b"x") == Answer(0)
    assert post("https://collector.invalid", b"x") == Answer(0)
    refused(FetchError, lambda: fetch(f"http://127.0.0.1:{port}/v1/collections/habits"))


def _serve(
    answer: bytes, pieces: int = 1, pause_between: float = 0.0, host: str = "127.0.0.1"
) -> tuple[socket.socket, str]:
    listening = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)

    def run() -> None:
        with suppress(OSError), listening.accept()[0] as connection:
            connection.recv(65536)
            step = max(len(answer) // pieces, 1)
            for start in range(0, len(answer), step):
                connection.sendall(answer[start : start + step])
                time.sleep(pause_between)

    threading.Thread(target=run, daemon=True).start()
    written = f"[{host}]" if ":" in host else host
    return listening, f"http://{written}:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff" * 100,
        b"HTTP/1.1 202",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 202 OK\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
        b"HTTP/1.1 202 " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=lambda answer: answer[:20],
)
def test_no_answer_of_http(answer: bytes) -> None:
    """Whatever is no answer is none; a status line without headers is one that ends there."""
    listening, origin = _serve(answer)
    with listening:
        assert post(origin, b"x").status in ({0, 202} if answer == b"HTTP/1.1 202" else {0})


def test_a_collector_that_never_ends_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "DEADLINE", 0.4)
    listening, origin = _serve(b"HTTP/1.1 202 OK\r\nX: " + b"x" * 4000, pieces=4000, pause_between=0.02)
    started = time.monotonic()
    with listening:
        # The status is known; what would follow is not waited for.
        assert post(origin, b"x").status in {0, 202}
    assert time.monotonic() - started < 30


def test_a_certificate_that_nobody_has_signed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no answer, and nothing of the report leaves; trusted by the system, the same certificate will do."""
    path = certificate(tmp_path)
    with collector(path) as safe:
        answer = post(safe.origin, b"report")
        assert (answer.status, safe.requests) == (0, [])
        assert "certificate" in answer.reason
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        assert post(safe.origin, b"report") == Answer(202)
        assert safe.frames == [b"report"]


def test_a_handshake_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps no device waiting: the deadline is one for everything."""
    monkeypatch.setattr(sending, "DEADLINE", 0.4)
    listening, origin = _serve(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc" + b"x" * 8000, pieces=8000, pause_between=0.01)
    started = time.monotonic()
    with listening:
        assert post(origin.replace("http:", "https:"), b"x") == Answer(0)
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "said", [(1000, 0), (-1, 0), ("202", 0), (True, 0), (202.0, 0), (503, -1), (503, float("inf")), (503, float("nan"))]
)
def test_what_another_delivery_cannot_be_told(said: tuple[Any, Any]) -> None:
    refused(ParameterError, lambda: Answer(*said))


def test_a_delivery_of_another_author(tmp_path: Path, double: Double) -> None:
    """What is no answer is refused, what it raises passes, and the report waits."""

    def broken(_: str, __: bytes) -> Any:
        raise ZeroDivisionError

    one = Sender(tmp_path / "device", double.origin)
    one.deliver = lambda *_: 202  # type: ignore[assignment, return-value]
    refused(ParameterError, one.device.send)
    one.now += 100
    one.deliver = broken
    with pytest.raises(ZeroDivisionError):
        one.device.send()
    one.now += 100
    one.deliver = post
    assert one.device.send() == SendResult(1, 0, 0)


def test_two_processes_do_not_send_one_report_at_once(tmp_path: Path, double: Double) -> None:
    one = Sender(tmp_path / "device", double.origin)
    with Device(tmp_path / "device", TRUST, Limits(2, 40, 40), clock=lambda: one.now) as other:

        def meanwhile(origin: str, frame: bytes) -> Answer:
            assert other.send() == SendResult(0, 0, 1)
            return post(origin, frame)

        one.deliver = meanwhile
        assert one.device.send() == SendResult(1, 0, 0)
        assert other.send() == SendResult(0, 0, 0)
    assert len(double.frames) == 1


def test_sending_while_declining(tmp_path: Path) -> None:
    """What is erased while it is on its way does not come back."""
    erased: list[Any] = []

    def declining(_: str, frame: bytes) -> Answer:
        erased.append(frame)
        one.device.decline("habits")
        return Answer(503)

    one = Sender(tmp_path / "device", "https://collect.example.org")
    one.deliver = declining
    assert one.device.send() == SendResult(0, 0, 0)
    assert one.device.log() == []
    one.now += 3601
    assert one.device.send() == SendResult(0, 0, 0)
    assert len(erased) == 1


def test_the_end_of_late_comes_while_another_is_sent(tmp_path: Path) -> None:
    """The clock is looked at before every report."""
    one = Sender(tmp_path / "device", "https://collect.example.org", epochs=2)
    sent: list[bytes] = []

    def slow(_: str, frame: bytes) -> Answer:
        one.now += 7 * DAY
        sent.append(frame)
        return Answer(202)

    one.deliver = slow
    one.now += 1
    assert one.device.send() == SendResult(1, 1, 0)
    assert sorted(entry.status or "" for entry in one.device.log()) == ["202", "late"]
    assert len(sent) == 1


def test_a_clock_that_goes_back_while_a_report_is_sent(tmp_path: Path) -> None:
    """It waits, by the time at which sending began; it is not sent again and again."""
    one = Sender(tmp_path / "device", "https://collect.example.org")
    sent: list[bytes] = []

    def back(_: str, frame: bytes) -> Answer:
        assert len(sent) < 3
        one.now -= DAY
        sent.append(frame)
        return Answer(503)

    one.deliver = back
    one.now += 1
    assert one.device.send() == SendResult(0, 0, 1)
    assert len(sent) == 1


def test_slow_reports_are_not_sent_by_two_at_once(tmp_path: Path) -> None:
    """A report that is taken after others took their time is this process's for as long as any."""
    one = Sender(tmp_path / "device", "https://collect.example.org", epochs=4, late=7 * DAY)
    sent: list[bytes] = []

    def plain(_: str, frame: bytes) -> Answer:
        sent.append(frame)
        return Answer(202)

    def slow(origin: str, frame: bytes) -> Answer:
        one.now += 60
        before = len(sent)
        if before:
            other.send()
        assert frame not in sent[before:]
        return plain(origin, frame)

    one.deliver = slow
    one.now += 1
    with Device(tmp_path / "device", TRUST, Limits(2, 40, 40), clock=lambda: one.now, post=plain) as other:
        one.device.send()
    assert sorted(head(frame)[1] for frame in sent) == [0, 1, 2, 3]
