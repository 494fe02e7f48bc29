"""Frames: packed and read back; what is none is refused by a code."""

import os
import struct
from typing import Any

import numpy as np
import pytest

from discreet import Domain, RandomizedResponse, SeededRandom
from discreet.device.protocol.frames import Frame
from discreet.errors import DataError
from discreet.formats.records import RecordCodec
from discreet.mechanisms.row_checks import FlawedRowsError
from refusals import refused

COLLECTION = bytes(range(32))
MECHANISM = RandomizedResponse(Domain(range(1000), sensitive=range(100)), 1.0)
CODEC = RecordCodec.of(MECHANISM)


def ids(n: int) -> Any:
    return np.frombuffer(os.urandom(16 * n), dtype=np.uint8).reshape(n, 16)


def frame(n: int = 3, epoch: int = 7) -> Frame:
    reports = MECHANISM.obfuscate_codes(np.arange(n) * 7 % 1000, random=SeededRandom(1))
    return Frame(COLLECTION, epoch, ids(n), CODEC.encode(reports))


GOOD = frame(3).pack()


def test_an_id_is_there_once() -> None:
    sent = frame(50)
    for left, right in ((0, 1), (3, 49)):
        repeated = sent.ids.copy()
        repeated[right] = repeated[left]
        data = GOOD[:40] + struct.pack("<I", 50) + np.hstack([repeated, sent.records]).tobytes()
        with pytest.raises(FlawedRowsError, match="1 of 50 reports have the id of another") as caught:
            Frame.parse(data, CODEC.width)
        assert caught.value.rows is not None
        assert caught.value.rows.tolist() == [right]
    alike = sent.ids.copy()
    alike[4, :8] = alike[5, :8]
    assert len(Frame(COLLECTION, 0, alike, sent.records).ids) == 50


@pytest.mark.parametrize(
    "parts",
    [
        (COLLECTION[:31], 0, ids(1), np.zeros((1, 3), np.uint8)),
        (COLLECTION, 0, ids(2), np.zeros((1, 3), np.uint8)),
        (COLLECTION, 0, ids(1)[:, :15], np.zeros((1, 3), np.uint8)),
        (COLLECTION, 0, ids(1), np.zeros((1, 3), np.int64)),
        (COLLECTION, -1, ids(1), np.zeros((1, 3), np.uint8)),
        (COLLECTION, 1 << 32, ids(1), np.zeros((1, 3), np.uint8)),
        (COLLECTION, 0, ids(0), np.zeros((0, 3), np.uint8)),
        ("x" * 32, 0, ids(1), np.zeros((1, 3), np.uint8)),
        (COLLECTION, 0, ids(1), np.zeros((1, 1 << 20), np.uint8)),
    ],
    ids=range(9),
)
def test_parts_that_make_no_frame(parts: Any) -> None:
    refused(DataError, lambda: Frame(*parts))
