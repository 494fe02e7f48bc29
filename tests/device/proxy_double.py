"""A proxy of a few lines, on loopback: it keeps what passes, and answers as it is told."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer
from urllib.parse import urlsplit

import planted
from collector_double import served

MADE = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 here\r\n\r\n"


@dataclass
class Relay:
    """What it was asked, what passed through it, and what it says.

    Attributes:
        address: where it is.
        target: origin to which every tunnel leads, whatever was asked for.
        says: its answer to CONNECT; a tunnel follows if that is `MADE`.
        pause: seconds between two bytes of its answer.
        heads: what it was asked.
        passed: the bytes of all tunnels, both ways.
    """

    target: str = ""
    address: str = ""
    says: bytes = MADE
    pause: float = 0.0
    heads: list[bytes] = field(default_factory=list)
    passed: bytearray = field(default_factory=bytearray)


@contextmanager
def proxy(target: str = "") -> Iterator[Relay]:
    """Run a proxy on a free port of an address that must be in no output."""
    relay = Relay(target)

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                relay.heads.append(_head(self.request))
                for place in range(len(relay.says)) if relay.pause else ():
                    self.request.sendall(relay.says[place : place + 1])
                    time.sleep(relay.pause)
                if not relay.pause:
                    self.request.sendall(relay.says)
                if relay.says == MADE:
                    there = urlsplit(relay.target)
                    with socket.create_connection((there.hostname, there.port)) as beyond:
                        _pass(relay.passed, self.request, beyond)

    class Server(ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    server = Server((planted.ADDRESS, 0), Handler)
    relay.address = f"http://{planted.ADDRESS}:{server.server_address[1]}"
    with served(server):
        yield relay


def _head(connection: socket.socket) -> bytes:
    came = b""
    while b"\r\n\r\n" not in came and (more := connection.recv(4096)):
        came += more
    return came


def _pass(passed: bytearray, *ends: socket.socket) -> None:
    while True:
        for one in select.select(ends, [], [], 10)[0]:
            data = one.recv(65536)
            if not data:
                return
            passed += data
            ends[ends[0] is one].sendall(data)
