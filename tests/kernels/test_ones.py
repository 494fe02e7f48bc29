"""Lists of ones against unpacked matrices."""

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.kernels import ones
from discreet.kernels.ones import PIECE, list_ones, ones_dot, ones_dot_transposed, split_pieces

SHAPES = [(0, 600), (1, 512), (31, 513), (1023, 600), (1024, 600), (1025, 601), (2500, 2047), (1100, 2048), (40, 4099)]


def drawn(m: int, size: int, share: float, seed: int = 1) -> NDArray[np.bool_]:
    """Return random bits, with the first and the last one of every row where a list could lose them."""
    matrix = np.random.default_rng(seed).random((m, size)) < share
    matrix[::2, 0] = matrix[1::3, -1] = True
    return matrix


def packed(matrix: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return bits as reports hold them."""
    return np.packbits(matrix, axis=1, bitorder="little")


def check(pieces: list[NDArray[np.uint16]], matrix: NDArray[np.bool_]) -> None:
    """Compare both products, of whole numbers without and of others with rounding."""
    m, size = matrix.shape
    random = np.random.default_rng(2)
    assert ones_dot(pieces, np.arange(size, dtype=float), m).tolist() == (matrix @ np.arange(size)).tolist()
    assert ones_dot_transposed(pieces, np.arange(m, dtype=float), size).tolist() == (np.arange(m) @ matrix).tolist()
    values, weights = random.normal(size=size), random.normal(size=m)
    np.testing.assert_allclose(ones_dot(pieces, values, m), matrix @ values, rtol=0, atol=1e-11)
    np.testing.assert_allclose(ones_dot_transposed(pieces, weights, size), weights @ matrix, rtol=0, atol=1e-11)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.062, 0.3, 1.0])
@pytest.mark.parametrize(("m", "size"), SHAPES)
def test_products_equal_the_matrix_products(m: int, size: int, share: float) -> None:
    matrix = drawn(m, size, share)
    pieces = list_ones(packed(matrix), size)
    assert len(pieces) == -(-m // PIECE)
    check(pieces, matrix)
    check(split_pieces(np.concatenate([np.empty(0, np.uint16), *pieces])), matrix)


def test_a_piece_of_dense_reports_is_no_longer_than_its_tiles() -> None:
    """Whoever sends reports with all bits set costs no more memory than their bits, and no one else anything."""
    matrix = drawn(4 * PIECE, 700, 0.04)
    usual = [piece.size for piece in list_ones(packed(matrix), 700)]
    matrix[PIECE : 2 * PIECE] = True
    matrix[2 * PIECE : 2 * PIECE + 60] = True
    pieces = list_ones(packed(matrix), 700)
    check(pieces, matrix)
    tiles = PIECE * 700 // 8
    assert [2 * piece.size <= 1.02 * tiles for piece in pieces] == [True] * 4
    assert [pieces[0].size, pieces[3].size] == [usual[0], usual[3]]
    assert pieces[1].size > 1.3 * usual[1]


@pytest.mark.parametrize("size", [512, 2100])
def test_every_number_of_ones_fits_or_goes_into_tiles(size: int) -> None:
    """Around the limit a list is whole, or there is none."""
    for extra in (-1, 0, 1):
        matrix = np.zeros((64, size), np.bool_)
        matrix.reshape(-1)[: 64 * size // 16 + extra] = True
        check(list_ones(packed(matrix), size), matrix)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ones, "_WORDS_PER_TASK", 1)
    monkeypatch.setattr(ones, "_MOST_TASKS", 4)
    matrix = drawn(7 * PIECE + 5, 520, 0.05)
    listed = [list_ones(packed(matrix), 520, threads=threads) for threads in (1, 2, 3)]
    assert len({b"".join(piece.tobytes() for piece in pieces) for pieces in listed}) == 1
    values, weights = np.random.default_rng(3).random(520), np.random.default_rng(4).random(len(matrix))
    assert len({ones_dot(listed[0], values, len(matrix), threads=t).tobytes() for t in (1, 2, 3)}) == 1
    assert len({ones_dot_transposed(listed[0], weights, 520, threads=t).tobytes() for t in (1, 2, 3)}) == 1


def test_views_are_listed_like_copies() -> None:
    matrix = drawn(300, 600, 0.03)
    rows = packed(matrix)
    rows.flags.writeable = False
    check(list_ones(rows[::2], 600), matrix[::2])


def test_what_does_not_fit_is_refused() -> None:
    pieces = list_ones(packed(drawn(1500, 600, 0.03)), 600)
    with pytest.raises(ValueError, match="must be uint8 with shape"):
        list_ones(np.zeros((5, 2), np.uint8), 600)
    with pytest.raises(ValueError, match="2 pieces of 1024 reports cannot be those of 1000"):
        ones_dot(pieces, np.zeros(600), 1000)
    with pytest.raises(ValueError, match="cannot be those of 2049"):
        ones_dot_transposed(pieces, np.zeros(2049), 600)
