"""Where words come from: fresh for every object, process and thread, reproducible from a seed."""

import hashlib
import os
import sys
import threading
import warnings

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet import SecureRandom, SeededRandom
from discreet.core.random import KEY_BYTES, KEY_CALLS
from evidence import binomial

KNOWN = [0x1A2D2344D7E6A72D, 0xDE5A39C4E86E0D32, 0x53B43F9F7985D79B]


def test_seeded_words_are_aes_in_counter_mode() -> None:
    """Recomputed block by block: AES-256 of the counter, key from the seed; and pinned, so that seeds keep meaning."""
    key = hashlib.sha256(b"discreet simulation 7").digest()
    counters = b"".join(number.to_bytes(16, "big") for number in range(2))
    blocks = Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(counters)
    expected = [int.from_bytes(blocks[start : start + 8], "little") for start in range(0, 32, 8)]
    assert SeededRandom(7).words(4).tolist() == SeededRandom(np.int64(7)).words(4).tolist() == expected
    assert SeededRandom(-7).words(1)[0] != expected[0]
    assert expected[:3] == KNOWN


def test_every_bit_of_a_word_is_fair() -> None:
    print("seed 21")
    for words in (SeededRandom(21).words(200_000), SecureRandom().words(200_000)):
        bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64)
        for place, count in enumerate(bits.sum(axis=0)):
            binomial(f"bit {place}", int(count), len(words), 0.5, rival=0.48)
        neighbours = int((words[1::2] & np.uint64(1) == words[::2] & np.uint64(1)).sum())
        binomial("last bits of neighbours agree", neighbours, len(words) // 2, 0.5, rival=0.47)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")
def test_a_child_with_its_parents_number_takes_a_new_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a namespace, where parent and child may both be process 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    source = SecureRandom()
    source.words(1)
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Threads of other tests may be there; the child needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(writer, source.words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 32), dtype="<u8")
    os.close(reader)
    os.close(writer)
    assert not (theirs == source.words(4)).any()


def test_threads_have_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, source = _keys_taken(monkeypatch), SecureRandom()
    found: list[int] = source.words(1000).tolist()
    gathered: list[list[int]] = []

    def work() -> None:
        gathered.append([word for _ in range(50) for word in source.words(20).tolist()])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found += [word for words in gathered for word in words]
    assert len(gathered) == 4
    assert len(set(found)) == len(found) == 5000
    assert len(taken) == 5


def _keys_taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    taken: list[int] = []
    urandom = os.urandom

    def counted(size: int) -> bytes:
        taken.append(size)
        return urandom(size)

    monkeypatch.setattr("discreet.core.random.os.urandom", counted)
    return taken


def test_a_secure_key_is_replaced_after_so_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads the memory later must not be able to work out earlier noise."""
    taken, source = _keys_taken(monkeypatch), SecureRandom()
    monkeypatch.setattr("discreet.core.random.KEY_CALLS", 10)
    words = [source.words(2).tolist() for _ in range(31)]
    assert taken == [32] * 4
    assert len({word for pair in words for word in pair}) == 62


def test_a_secure_key_is_replaced_after_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, source = _keys_taken(monkeypatch), SecureRandom()
    monkeypatch.setattr("discreet.core.random.KEY_BYTES", 1 << 10)
    words = [source.words(n) for n in (0, 100, 28, 1, 300)]
    # 128 words use a key up: the first three calls one, the last two three more, the first of them together.
    assert taken == [32] * 4
    assert len(np.unique(np.concatenate(words))) == 429
    assert (KEY_CALLS, KEY_BYTES) == (1 << 16, 1 << 30)
