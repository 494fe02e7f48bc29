"""Results as a notebook shows them: numbers in repr and in HTML, escaped, and tables for whatever reads Arrow."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.planning.compare import compare_mechanisms


class _Texts(HTMLParser):
    """The tags and the texts of a document."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(result: Any) -> list[str]:
    parsed = _Texts(result._repr_html_())
    assert "table" in parsed.tags
    assert "b" not in parsed.tags
    return parsed.texts


def test_comparisons_of_mechanisms_are_tables() -> None:
    found = compare_mechanisms(dc.Domain(range(20), sensitive=range(5)), 1.0, 10_000)
    lines = repr(found).splitlines()
    assert lines[0] == "Domain(20 values, 5 sensitive), epsilon = 1, 10,000 users"
    assert lines[-1].strip() == found.recommendation
    assert len(lines) == len(found.candidates) + 3
    starred = [line for line in lines if " *" in line]
    assert len(starred) == 1
    assert starred[0].split()[0] == found.best.name.split()[0]
    assert f"{found.best.worst_mse:.3e}" in starred[0]
    assert found.recommendation in shown(found)
    for table in (pl.DataFrame(found), pl.from_arrow(pa.table(found)), pl.from_pandas(found.to_pandas())):
        assert table["mechanism"].to_list() == [one.name for one in found.candidates]
        assert table["worst_mse"].to_numpy() == pytest.approx(np.array([one.worst_mse for one in found.candidates]))
