"""Steps: coarser ways of writing a column."""

import numpy as np
import pyarrow as pa
import pytest

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
    for step, texts in {
        "6-hour": ["2001-05-03T06", "1969-12-31T18"], "day": ["2001-05-03", "1969-12-31"],
        "week": ["2001-05-03", "1969-12-25"], "month": ["2001-05", "1969-12"], "year": ["2001", "1969"],
        "10-year": ["[2000, 2010)", "[1960, 1970)"], "*": ["*", "*"],
    }.items():  # fmt: skip
        assert Step(step).coarsen("at", moments).to_pylist() == [*texts, "*" if step == "*" else None]
    assert Step("5-digits").coarsen("zip", pa.array([2139, 94103])).to_pylist() == ["02139", "94103"]
    zoned = moments.cast(pa.timestamp("s", "Pacific/Auckland"))
    assert Step("year").coarsen("at", zoned).to_pylist() == ["2001", "1970", None]
