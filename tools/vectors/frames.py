"""Vectors of frames: parts and the bytes that they make; and bytes that are no frame, with the code of the refusal.

A device makes frames of one record; who takes frames in must refuse those with an ``error``, of records of ``width``
bytes. An error of "flawed" is of a frame whose ids are not all different.
"""

import struct
from typing import Any

import numpy as np

from discreet.device.protocol.frames import Frame


def files() -> dict[str, list[dict[str, Any]]]:
    """Return the lines of the file, by its name."""
    some = np.random.default_rng(20_261_122)
    lines: list[dict[str, Any]] = []
    for n, width, epoch in ((1, 2, 0), (1, 3, 1), (1, 13, 255), (1, 70, (1 << 32) - 1), (2, 3, 77), (5, 28, 1 << 31)):
        rows = some.integers(0, 256, (n, 48 + width), dtype=np.uint8)
        frame = Frame(rows[0, :32].tobytes(), epoch, rows[:, 32:48], rows[:, 48:])
        ids, records = ([one.tobytes().hex() for one in part] for part in (frame.ids, frame.records))
        parts = {"collection": frame.collection.hex(), "epoch": epoch, "ids": ids, "records": records}
        lines.append({**parts, "frame": frame.pack().hex()})
    good = Frame(bytes(range(32)), 3, np.arange(32, dtype=np.uint8).reshape(2, 16), np.ones((2, 3), np.uint8)).pack()
    for error, data in (
        ("structure", b""),
        ("structure", good[:43]),
        ("structure", b"DSC2" + good[4:]),
        ("records", good[:40] + struct.pack("<I", 0) + good[44:]),
        ("records", good[:40] + struct.pack("<I", 4097) + good[44:]),
        ("length", good[:40] + struct.pack("<I", 1) + good[44:]),
        ("length", good[:-1]),
        ("length", good + b"\0"),
        ("flawed", good[:63] + good[44:63]),
    ):
        lines.append({"frame": data.hex(), "width": 3, "error": error})
    return {"frames.jsonl": lines}
