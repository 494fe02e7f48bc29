"""Keystreams: the bytes of AES-256 in counter mode, whichever way they are made."""

import threading
from itertools import accumulate

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from discreet.core import random
from discreet.core.random import SEGMENT, Keystream, SecureRandom, SeededRandom, galois_is_faster
from packing import each

KEY = bytes(range(32))
LARGE = 1 << 15
SIZES = st.integers(0, 80) | st.sampled_from([LARGE - 8, LARGE, LARGE + 1, 3 * LARGE, 1 << 17, (1 << 18) + 40])


def expected(start: int, size: int) -> bytes:
    """The definition: counter blocks from 0 on, each encrypted under the key."""
    block, place = divmod(start, 16)
    stream = Cipher(algorithms.AES256(KEY), modes.CTR(block.to_bytes(16, "big"))).encryptor()
    return stream.update(bytes(place + size))[place:]


def filled(stream: Keystream, size: int) -> bytes:
    target = bytearray(size)
    stream.fill(memoryview(target))
    return bytes(target)


@pytest.fixture(params=[True, False], ids=["galois", "plain"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(random, "galois_is_faster", lambda: request.param)
    return bool(request.param)


@pytest.mark.parametrize("first", [0, 8, 16, 24, 32, 40, LARGE - 8, 1 << 20, (1 << 20) + 16])
def test_a_large_request_after_small_ones(first: int) -> None:
    stream = Keystream(KEY)
    assert filled(stream, first) == expected(0, first)
    assert filled(stream, 3 * LARGE) == expected(first, 3 * LARGE)
    assert filled(stream, 24) == expected(first + 3 * LARGE, 24)


@given(sizes=st.lists(SIZES, max_size=8))
def test_any_requests_are_pieces_of_one_stream(sizes: list[int]) -> None:
    stream = Keystream(KEY)
    for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
        assert filled(stream, size) == expected(start, size)


@each("segment", [1, 2, 5])
@each("sizes", [[200], [8, 8, 8, 16, 24, 100], [1, 30, 1, 70], [16, 16, LARGE]])
def test_a_segment_begins_where_the_one_before_it_ends(segment: int, sizes: list[int]) -> None:
    """Each has a nonce of its own, and the 32-bit counter never begins again."""
    stream = Keystream(KEY)
    stream._in_segments, stream._given = True, segment * SEGMENT - 48
    filled(stream, 48)
    for start, size in zip(accumulate(sizes, initial=segment * SEGMENT), sizes, strict=False):
        assert filled(stream, size) == expected(start, size)


def test_the_library_gives_no_more_than_a_segment() -> None:
    """Its limit is what guards the counter, should ours be wrong."""
    stream = random.galois_stream(KEY, 0)
    stream.update(bytes(LARGE))
    assert SEGMENT == 16 << 32
    assert stream.update(bytes(16)) == expected(32 + LARGE, 16)


def test_words_of_threads_differ(way: bool) -> None:
    del way
    random, found = SecureRandom(), []
    threads = [threading.Thread(target=lambda: found.append(random.words(1 << 13).tobytes())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({words[:64] for words in found}) == len(found) == 4


def test_seeded_words_are_the_same_either_way(monkeypatch: pytest.MonkeyPatch, way: bool) -> None:
    words = SeededRandom(3).words(1 << 14)
    monkeypatch.setattr(random, "galois_is_faster", lambda: not way)
    assert (SeededRandom(3).words(1 << 14) == words).all()


def test_the_faster_way_is_found_once() -> None:
    assert galois_is_faster() is galois_is_faster()
