"""Keystreams: the bytes of AES-256 in counter mode from block 0 on, made in the faster of two ways.

With a nonce N of 96 bits, the ciphertext of zeros in Galois/counter mode is the keystream of the counter blocks (N, 2),
(N, 3), ... [NIST SP 800-38D, section 7.1], and OpenSSL makes it with wider instructions than those of plain counter
mode where the machine has them. So segment j, 2^36 bytes, is two blocks of plain counter mode from block 2^32 j on, and
then Galois/counter mode under the nonce j, as far as it goes before its 32-bit counter would repeat. The tag is never
asked for. The bytes are the same either way; only their making is timed, once per process.
"""

from functools import cache
from time import perf_counter

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

KEY_SIZE = 32
"""Bytes of a key."""

SEGMENT = 1 << 36
"""Bytes under one nonce."""

_BLOCK, _NONCE = 16, 12
# The two blocks of a segment that Galois/counter mode does not hand out.
_HEAD = 2 * _BLOCK
_ZEROS = memoryview(bytes(1 << 17))
# From so many bytes at once the faster way is looked for, unless more than so many would be made again.
_LARGE, _CATCH_UP = 1 << 15, 1 << 20
_TRIALS = 3


def counter_stream(key: bytes, block: int = 0) -> CipherContext:
    """Return the encryptor of plain counter mode from a block on."""
    return Cipher(algorithms.AES256(key), modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()


def galois_stream(key: bytes, segment: int) -> CipherContext:
    """Return the encryptor whose ciphertext of zeros is a segment of the keystream but for its first two blocks."""
    return Cipher(algorithms.AES256(key), modes.GCM(segment.to_bytes(_NONCE, "big"))).encryptor()


class Keystream:
    """The bytes that follow from a key, in order.

    Args:
        key: 32 bytes.
    """

    __slots__ = ("_given", "_in_segments", "_key", "_stream")

    def __init__(self, key: bytes) -> None:
        self._key, self._given, self._in_segments = key, 0, False
        self._stream = counter_stream(key)

    def fill(self, target: memoryview) -> None:
        """Write the next bytes over a writable view of bytes."""
        if 0 < len(target) < _LARGE and not self._in_segments:
            # What devices and small batches ask for.
            self._stream.update_into(_ZEROS[: len(target)], target)
            self._given += len(target)
            return
        if not self._in_segments and len(target) >= _LARGE and self._given <= _CATCH_UP and galois_is_faster():
            self._go_on_in_segments()
        while target:
            part = target[: self._room()]
            if self._in_segments and self._given % SEGMENT < _HEAD:
                part[:] = self._block()[self._given % _BLOCK :][: len(part)]
            else:
                _write(self._stream, part)
            self._given += len(part)
            target = target[len(part) :]

    def _room(self) -> int:
        """Return the number of bytes that follow from the stream in use; a new one is opened where a segment begins."""
        if not self._in_segments:
            return SEGMENT
        segment, place = divmod(self._given, SEGMENT)
        if place < _HEAD:
            return _BLOCK - place % _BLOCK
        if place == _HEAD:
            self._stream = galois_stream(self._key, segment)
        return SEGMENT - place

    def _block(self) -> bytes:
        """Return the block of plain counter mode in which the next byte lies."""
        return counter_stream(self._key, self._given // _BLOCK).update(bytes(_BLOCK))

    def _go_on_in_segments(self) -> None:
        """Change to the other way, within the first segment."""
        self._in_segments = True
        if self._given > _HEAD:
            self._stream = galois_stream(self._key, 0)
            _write(self._stream, memoryview(bytearray(self._given - _HEAD)))


def _write(stream: CipherContext, target: memoryview) -> None:
    for start in range(0, len(target), len(_ZEROS)):
        part = target[start : start + len(_ZEROS)]
        stream.update_into(_ZEROS[: len(part)], part)


@cache
def galois_is_faster() -> bool:
    """Return true if this machine makes a keystream faster in Galois/counter mode: timed once, in some 50 us."""
    target = memoryview(bytearray(1 << 16))
    plain, galois = counter_stream(bytes(KEY_SIZE)), galois_stream(bytes(KEY_SIZE), 0)
    return min(_seconds(galois, target) for _ in range(_TRIALS)) < min(_seconds(plain, target) for _ in range(_TRIALS))


def _seconds(stream: CipherContext, target: memoryview) -> float:
    start = perf_counter()
    _write(stream, target)
    return perf_counter() - start
