"""Steps: coarser ways of writing a column."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.risk.generalisation import Step


def test_what_is_written_is_where_the_value_is() -> None:
    generator = np.random.default_rng(4)
    for step, width in (("0.1-degree", 0.1), ("5-year", 5), ("2.5-wide", 2.5), ("0.001-wide", 0.001)):
        values = np.concatenate([np.arange(-50, 50) * width, generator.normal(0, 100 * width, 200)]).round(9)
        for value, text in zip(values, Step(step).coarsen("x", pa.array(values)).to_pylist(), strict=True):
            low, high = map(float, text[1:-1].split(", "))
            assert low <= value < high
            assert high - low == pytest.approx(width)
    moments = pa.array(np.array(["2001-05-03T07:20", "1969-12-31T23:00", None], "M8[s]"))
    for step, starts in {
        "6-hour": ["2001-05-03T06", "1969-12-31T18"], "day": ["2001-05-03", "1969-12-31"],
        "week": ["2001-04-30", "1969-12-29"], "month": ["2001-05-01", "1969-12-01"],
        "year": ["2001-01-01", "1969-01-01"], "10-year": ["2000-01-01", "1960-01-01"],
    }.items():  # fmt: skip
        expected = pa.array(np.array([*starts, None], "M8[s]"))
        assert Step(step).coarsen("at", moments).equals(expected), step
    assert Step("*").coarsen("at", moments).to_pylist() == ["*"] * 3
    assert Step("5-digits").coarsen("zip", pa.array([2139, 94103])).to_pylist() == ["02139", "94103"]
    zoned = moments.cast(pa.timestamp("s", "Pacific/Auckland"))
    years = [moment and moment.year for moment in Step("year").coarsen("at", zoned).to_pylist()]
    assert years == [2001, 1970, None]
    with pytest.raises(ParameterError):
        Step("0-hour")
