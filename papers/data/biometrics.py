"""Scores of biometric matchers: every probe against every template."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from discreet.arrays import FloatArray
from discreet.errors import DataError
from discreet.files.reading import readable
from papers.data.population import column_of, whole_numbers

BSSR1_FILE = "bssr1_set1_scores.parquet"
MATCHERS = {
    "face_C": "face, matcher C",
    "face_G": "face, matcher G",
    "finger_left": "left index finger",
    "finger_right": "right index finger",
}
FAILED = -1.0
_MOST = 1 << 15


@dataclass(frozen=True, eq=False, repr=False)
class Biometrics:
    """Score matrices of the experiments.

    Attributes:
        name: short, for files and tables.
        title: for people.
        scores: by matcher, ``(n, n)`` similarities, probes in rows, templates in columns, the genuine ones on the
            diagonal; -1 where enrolment failed.
        credit: where the data come from.
        cuts: how they were prepared; one sentence each.
        differs: how this differs from what the paper used; empty if it does not.
    """

    name: str
    title: str
    scores: Mapping[str, FloatArray]
    credit: str
    cuts: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Biometrics({self.name!r}, {self.users} users, {len(self.scores)} matchers)"

    @property
    def users(self) -> int:
        """The number of users."""
        return len(next(iter(self.scores.values())))

    @property
    def facts(self) -> str:
        """The size of the data, in a few words."""
        return f"{self.users:,} users, all {self.users**2:,} scores of {len(self.scores)} matchers"

    @property
    def fingerprint(self) -> str:
        """A digest of all scores."""
        digest = hashlib.sha256()
        for matcher, scores in self.scores.items():
            digest.update(matcher.encode() + scores.tobytes())
        return digest.hexdigest()[:16]


def load_bssr1(path: Path) -> Biometrics:
    """Read all scores of BSSR1 Set 1 from Parquet: row, col, and a column per matcher.

    Raises:
        DataError: if it cannot be read, a column is not there, or the scores are not all of n x n pairs.
    """
    with readable(path):
        table = pq.read_table(path)
    row, col = (whole_numbers(table, name, path, below=_MOST) for name in ("row", "col"))
    n = int(max(row.max(initial=-1), col.max(initial=-1))) + 1
    if n < 2 or len(row) != n * n or len(np.unique(row * n + col)) != n * n:
        raise DataError(f"{path}: {len(row)} scores are not all of {n} x {n} pairs, once each.")
    scores = {}
    for name, matcher in MATCHERS.items():
        matrix = np.empty((n, n))
        matrix[row, col] = np.asarray(column_of(table, name, path), dtype=np.float64)
        scores[matcher] = matrix
    return Biometrics(
        "bssr1",
        "NIST BSSR1, Set 1: two face matchers and two fingers",
        scores,
        "NIST Biometric Scores Set Release 1",
        ("failed enrolments (-1) are left out",),
        ("Set 1 with 517 users instead of Set 3 with 3,000; fingers of the same set instead of CASIA-FingerprintV5",),
    )
