"""Hostile frames and requests: good ones, bent by their structure, and what a plain reference says of them."""

import random
import socket
from collections import Counter
from contextlib import suppress

import numpy as np
from collectors import frame
from loads import HEAD

from discreet.collector.storage.catalogue import Entry
from discreet.device.protocol.frames import Frame
from discreet.errors import DataError

_PIECES = [b"GET ", b"POST ", b"/v1/reports", b"/v1/collections/x", b" HTTP/1.1\r\n", b" HTTP/0.9\r\n"]
_PIECES += [b"Host: h\r\n", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"\r\n", b"\0", b"\xff"]
_PIECES += [b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Content-Encoding: br\r\n"]
_PIECES += [b"Content-Type: application/vnd.discreet.reports\r\n", b"5\r\nhello\r\n0\r\n\r\n"]
_PIECES += [b"Upgrade: websocket\r\nConnection: Upgrade\r\n", b"CONNECT a:1 HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n"]
_PIECES += [b"GET http://[::1 HTTP/1.1\r\nHost: h\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"]


_SECONDS = 3.0


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return a frame with a few bytes bent, mostly in records; sometimes none."""
    made = bytearray(data)
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        place = chance.randrange(44, len(made)) if chance.random() < 0.95 else chance.randrange(len(made))
        made[place] = chance.choice((0, 1, 2, 3, 255, chance.randrange(256)))
    if chance.random() < 0.05 and len(made) > 44 + 32:
        width = (len(made) - 44) // int.from_bytes(data[40:44], "little")
        made[44 + width : 44 + width + 16] = made[44:60]
    return bytes(made)


def judged_by_reference(entry: Entry, data: bytes) -> bool:
    """Return whether a frame is one that devices can send, report by report."""
    try:
        parsed = Frame.parse(data, entry.codec.width)
        for at in range(len(parsed.records)):
            record = np.ascontiguousarray(parsed.records[at : at + 1])
            entry.codec.reports(entry.mechanism, record, simulated=False)
    except DataError:
        return False
    return True


def request(entry: Entry, chance: random.Random) -> bytes:
    """Return a request: a good one, one with a bent frame, or pieces of HTTP in any order."""
    kind = chance.random()
    if kind < 0.35:
        return b"".join(chance.choice(_PIECES) for _ in range(chance.randrange(1, 9)))
    data = frame(entry, chance.choice((1, 3)), seed=chance.randrange(20))
    data = data if kind < 0.5 else mutated(data, chance)
    if kind > 0.85:
        data = data[: chance.randrange(len(data))]
    # Its length is that of what is sent: what is shorter than it says only waits for the deadline.
    whole = HEAD + b"%d\r\n\r\n" % len(data) + data
    if kind > 0.92:
        place = chance.randrange(len(whole))
        whole = whole[:place] + bytes([chance.randrange(256)]) + whole[place + 1 :]
    return whole


def answers_of_requests(port: int, entry: Entry, number: int, *, seed: int) -> Counter[int]:
    """Send hostile requests, each on a connection of its own, and count the statuses; 0 for no answer."""
    chance, found = random.Random(seed), Counter[int]()
    for _ in range(number):
        with socket.create_connection(("127.0.0.1", port), timeout=_SECONDS) as connection:
            answer = b""
            with suppress(OSError):
                sent = request(entry, chance)
                # What is not whole gets no answer before the deadline.
                connection.settimeout(_SECONDS if sent.startswith(HEAD) else _SECONDS / 60)
                connection.sendall(sent)
                while piece := connection.recv(1 << 16):
                    answer += piece
                    if answer.startswith(b"HTTP/1.1 ") and b"\r\n\r\n" in answer:
                        break
            status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") and answer[9:12].isdigit() else 0
            found[status] += 1
    return found
