"""A census of a few hundred people in UCI's format, on which every figure can be made in a moment."""

from pathlib import Path

import numpy as np

HEADER = ["caseid", "dAge", "dIncome1", "iMarital", "iSex", "iSept80", "iMay75880", "iVietnam", "iFeb55", "iKorean"]
SIZES = [8, 5, 5, 2, 2, 2, 2, 2, 2]


def write_census(folder: Path, people: int = 600) -> Path:
    """Write USCensus1990.data.txt and return its folder."""
    generator = np.random.default_rng(20261120)
    columns = [np.minimum(generator.geometric(0.4, people) - 1, size - 1) for size in SIZES]
    rows = [",".join(map(str, [10_000 + row, *values])) for row, values in enumerate(zip(*columns, strict=True))]
    (folder / "USCensus1990.data.txt").write_text("\n".join([",".join(HEADER), *rows]) + "\n")
    return folder
