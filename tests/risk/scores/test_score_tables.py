"""Tables of scores as matrices: pairs in any order, each once, and only numbers."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.risk.scores.tables import read_scores

USERS = ["ann", "bob", "cyd", "dee"]


def written(folder: Path, rows: list[tuple[str, str, str]]) -> Path:
    path = folder / "scores.csv"
    path.write_text("row,col,face\n" + "\n".join(",".join(row) for row in rows) + "\n")
    return path


def rows_of(matrix: np.ndarray) -> list[tuple[str, str, str]]:
    pairs = product(enumerate(USERS), enumerate(USERS))
    return [(probe, template, f"{matrix[i, j]:g}") for (i, probe), (j, template) in pairs]


def test_rows_in_any_order_are_one_matrix(tmp_path: Path) -> None:
    """Users are in the order of the probes; genuine pairs are on the diagonal."""
    matrix = np.arange(16.0).reshape(4, 4)
    rows = rows_of(matrix)
    assert read_scores(written(tmp_path, rows), "face").tolist() == matrix.tolist()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(16)
        mixed = [rows[place] for place in order]
        probes = [USERS.index(name) for name in dict.fromkeys(row[0] for row in mixed)]
        found = read_scores(written(tmp_path, mixed), "face")
        assert found.tolist() == matrix[np.ix_(probes, probes)].tolist()
        assert read_scores(written(tmp_path, mixed), "face", probe="col", template="row").diagonal().sum() == 30


def test_pairs_that_are_missing_or_twice(tmp_path: Path) -> None:
    rows = rows_of(np.ones((4, 4)))
    for broken in (rows[1:], [*rows, rows[0]], [("eve", "ann", "1"), *rows[1:]]):
        with pytest.raises(DataError, match=r"scores\.not-all-pairs"):
            read_scores(written(tmp_path, broken), "face")
    with pytest.raises(DataError, match=r"scores\.repeated-pairs"):
        read_scores(written(tmp_path, [rows[1], *rows[1:]]), "face")


@pytest.mark.parametrize("cell", ["inf", "-inf", "nan", ""])
def test_scores_that_are_none_have_to_be_named(tmp_path: Path, cell: str) -> None:
    rows = rows_of(np.ones((4, 4)))
    path = written(tmp_path, [(*rows[0][:2], cell), *rows[1:]])
    with pytest.raises(DataError, match="1 of 16 scores are"):
        read_scores(path, "face")
    failed = float(cell or "nan")
    assert read_scores(path, "face", failed=failed).shape == (4, 4)
