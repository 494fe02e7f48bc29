"""Proxies: which one is asked, what it sees, and that a report waits when it does not do its part."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from certificates import NAME, certificate
from proxy_double import MADE, Relay, proxy
from sender import Sender

import planted
from collector_double import Double, collector
from discreet.device import Device, Limits, SendResult
from discreet.device.sending import Answer, Proxy, ProxyError, post, proxy_for
from discreet.errors import ParameterError
from refusals import refused
from signed import TRUST

ORIGIN = f"https://{NAME}"


@pytest.fixture
def safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    """A collector over TLS that the system trusts, under a name that nothing here can look up."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate(tmp_path)))
    with collector(tmp_path / "both.pem") as made:
        yield made


@pytest.fixture
def relay(safe: Double) -> Iterator[Relay]:
    with proxy(safe.origin) as made:
        yield made


def test_a_proxy_sees_no_report(safe: Double, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told where to, and nothing else; who looks the name up is the proxy."""
    monkeypatch.setenv("HTTPS_PROXY", relay.address)
    asked: list[Any] = []
    found = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: asked.append(given[0]) or found(*given, **named))
    assert post(ORIGIN, b"a report") == Answer(202)
    assert NAME not in asked
    assert relay.heads == [f"CONNECT {NAME}:443 HTTP/1.1\r\nHost: {NAME}:443\r\n\r\n".encode()]
    assert safe.frames == [b"a report"]
    assert len(relay.passed) > 500
    assert b"a report" not in relay.passed
    assert b"/v1/reports" not in relay.passed


def test_a_proxy_that_reads_along_is_not_trusted(tmp_path: Path, safe: Double) -> None:
    """One with a certificate of its own for the collector's name."""
    (tmp_path / "other").mkdir()
    with collector(certificate(tmp_path / "other")) as middle, proxy(middle.origin) as relay:
        answer = post(ORIGIN, b"x", relay.address)
        assert (answer.status, middle.requests) == (0, [])
        assert "certificate" in answer.reason


def down(relay: Relay) -> None:
    relay.address = f"http://{planted.ADDRESS}:9"


def says(answer: bytes) -> Any:
    def change(relay: Relay) -> None:
        relay.says = answer

    return change


WRONG: dict[str, tuple[Any, str]] = {
    "down": (down, "cannot be reached"),
    "asks who it is": (says(b"HTTP/1.1 407 X\r\nProxy-Authenticate: Basic\r\nRetry-After: 9\r\n\r\n"), "407"),
    "forbids": (says(b"HTTP/1.1 403 No\r\nContent-Length: 3\r\n\r\nno."), "403"),
    "cannot either": (says(b"HTTP/1.1 502 Bad\r\n\r\n"), "502"),
    "redirects": (says(b"HTTP/1.1 302 Found\r\nLocation: https://a.example\r\n\r\n"), "302"),
    "rubbish": (says(b"\x00\xff" * 700), "did not answer with HTTP"),
    "a page": (says(b"<html>Welcome</html>"), "did not answer with HTTP"),
    "too many lines": (says(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5000 + b"\r\n"), "did not answer with HTTP"),
    "a line too long": (says(b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n"), "did not answer with HTTP"),
    "no status": (says(b"HTTP/1.1 abc\r\n\r\n"), "did not answer with HTTP"),
    "silence": (says(b""), "did not answer with HTTP"),
    "another protocol behind": (says(b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n"), "does not answer"),
    "202 by itself": (says(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"), "does not answer"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_reports_wait_for_the_proxy(
    tmp_path: Path, safe: Double, relay: Relay, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One clear sentence, without addresses; no status of a proxy is a collector's, and nothing is sent past it."""
    change, words = WRONG[wrong]
    right = relay.address
    change(relay)
    one = Sender(tmp_path / "device", ORIGIN, proxy=relay.address.replace("//", "//me:s3cret@"))
    found = one.device.send()
    assert found == SendResult(0, 0, 1)
    assert words in (found.reason or "")
    assert found.reason == found.reason.strip().splitlines()[0]
    for secret in (planted.ADDRESS, NAME, "s3cret", relay.address):
        assert secret not in found.reason + caplog.text + repr(one.device)
    assert safe.requests == []
    (before,) = one.device.log()
    one.device.close()
    relay.says = MADE
    with Device(tmp_path / "device", TRUST, Limits(2, 40, 40), clock=lambda: one.now + 3600, proxy=right) as later:
        assert later.send() == SendResult(1, 0, 0)
    (frame,) = safe.frames
    assert frame[60:] == before.record


# Which one


@pytest.mark.parametrize(
    ("settings", "host", "asked"),
    [
        ({}, "a.example", None),
        ({"HTTPS_PROXY": "http://p.example:3128"}, "a.example", ("p.example", 3128)),
        ({"HTTPS_PROXY": "http://p.example:1", "https_proxy": "http://q.example:2"}, "a.example", ("q.example", 2)),
        ({"HTTPS_PROXY": "p.example:3128"}, "a.example", ("p.example", 3128)),
        ({"HTTPS_PROXY": "http://p.example/"}, "a.example", ("p.example", 80)),
        ({"HTTPS_PROXY": "http://[2001:db8::1]:3128"}, "a.example", ("2001:db8::1", 3128)),
        ({"ALL_PROXY": "http://p.example:3128"}, "a.example", ("p.example", 3128)),
        ({"HTTP_PROXY": "http://p.example:3128"}, "a.example", None),
        ({"HTTPS_PROXY": "http://p.example:1", "NO_PROXY": "b.example,.example"}, "a.example", None),
        ({"HTTPS_PROXY": "http://p.example:1", "NO_PROXY": "a.example:443"}, "a.example", None),
        ({"HTTPS_PROXY": "http://p.example:1", "NO_PROXY": "a.example:444"}, "a.example", ("p.example", 1)),
        ({"HTTPS_PROXY": "http://p.example:1", "NO_PROXY": "*"}, "a.example", None),
        ({"HTTPS_PROXY": "http://p.example:1", "no_proxy": "other.example"}, "a.example", ("p.example", 1)),
        *(
            ({"HTTPS_PROXY": "http://p.example:1", "HTTP_PROXY": "http://p.example:1"}, host, None)
            for host in ("localhost", "127.0.0.1", "::1")
        ),
    ],
)
def test_what_the_system_says(settings: dict[str, str], host: str, asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    found = proxy_for(host, 443, None)
    assert (None if found is None else (found.host, found.port)) == asked
    assert proxy_for(host, 443, "") is None
    named = proxy_for(host, 443, "http://r.example:9")
    assert (named is None) == (host in {"localhost", "127.0.0.1", "::1"})


UNFIT = [
    "socks5://p.example:1080",
    "https://p.example:1",
    "http://",
    "http://p:x",
    "http://p:99999",
    "http://p/path",
    "http://p?q",
]


@pytest.mark.parametrize(
    "address", [*UNFIT, "http://me:s3cret@p.example/x#y", "http://p.example\r\n:1", 3, b"http://p"]
)
def test_what_is_no_proxy(tmp_path: Path, address: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(
        ParameterError, lambda: Device(tmp_path / "d", TRUST, Limits(2, 4, 20), proxy=address), "s3cret", "p.example"
    )
    if isinstance(address, str) and address.isprintable():
        monkeypatch.setenv("HTTPS_PROXY", address)
        refused(ProxyError, lambda: proxy_for("a.example", 443, None), "s3cret", "p.example")
        assert post("https://a.example", b"x").reason.startswith("The system's proxy")


def test_a_proxy_is_for_the_network(tmp_path: Path) -> None:
    refused(
        ParameterError,
        lambda: Device(tmp_path / "d", TRUST, Limits(2, 4, 20), proxy="http://p", post=lambda *_: Answer(202)),
    )


def test_a_proxy_does_not_show_its_password() -> None:
    assert "cret" not in repr(Proxy.parse("http://me:s3cret@p.example:1"))


@pytest.mark.parametrize("origin", [f"{ORIGIN}:8443", "https://[2001:db8::1]", "https://[2001:db8::1]:8443"])
def test_targets(relay: Relay, origin: str) -> None:
    relay.says = b"HTTP/1.1 503 X\r\n\r\n"
    assert post(origin, b"x", relay.address) == Answer(0)
    target = origin.removeprefix("https://")
    target += "" if target.endswith(":8443") else ":443"
    assert relay.heads[0].startswith(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n".encode())
