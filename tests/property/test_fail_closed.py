"""Hidden and missing entries are refused, never taken for harmless, and so are laws over other values."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import Domain
from discreet.errors import ParameterError
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import Subsets


@pytest.mark.parametrize(
    "marks",
    [
        pa.array([False, True, True, None]),
        pa.chunked_array([[False, True], [True, None]]),
        pl.Series([False, True, True, None]),
        pd.Series([False, True, True, pd.NA], dtype="boolean"),
        np.ma.array([False, True, True, True], mask=[False, False, False, True]),
        np.array([False, True, True, None], dtype=object),
    ],
    ids=lambda marks: type(marks).__module__.split(".")[0] + "-" + type(marks).__name__,
)
def test_a_missing_mark_is_not_taken_for_harmless(marks: Any) -> None:
    with pytest.raises(ParameterError, match="missing"):
        Domain(range(4), sensitive=marks)


def test_a_law_must_be_over_the_sensitive_values() -> None:
    with pytest.raises(ParameterError, match=r"block-law.wrong-size"):
        LawMechanism(Domain(range(10)), 1.0, Singletons(3))
    with pytest.raises(ParameterError, match=r"clear-blocks.dependent-values"):
        LawMechanism(Domain(range(9), sensitive=[1, 2, 3, 4]), 1.0, Subsets(4, 2), clear_blocks=True)
