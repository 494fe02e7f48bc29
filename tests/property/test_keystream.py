"""Keystreams: the bytes of AES-256 in counter mode, in whatever pieces they are asked for."""

from itertools import accumulate

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.random import Keystream

KEY = bytes(range(32))
SIZES = st.integers(0, 80) | st.sampled_from([(1 << 17) - 8, 1 << 17, (1 << 17) + 8, (1 << 18) + 40])


def expected(start: int, size: int) -> bytes:
    """The definition: counter blocks from 0 on, each encrypted under the key in electronic codebook mode."""
    blocks = range(start // 16, (start + size) // 16 + 1)
    cipher = Cipher(algorithms.AES256(KEY), modes.ECB()).encryptor()
    text = cipher.update(b"".join(block.to_bytes(16, "big") for block in blocks))
    return text[start % 16 :][:size]


def filled(stream: Keystream, size: int) -> bytes:
    target = bytearray(size)
    stream.fill(memoryview(target))
    return bytes(target)


@given(sizes=st.lists(SIZES, max_size=5))
def test_any_requests_are_pieces_of_one_stream(sizes: list[int]) -> None:
    stream = Keystream(KEY)
    for start, size in zip(accumulate(sizes, initial=0), sizes, strict=False):
        assert filled(stream, size) == expected(start, size)
