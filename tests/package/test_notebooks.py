"""Results as a notebook shows them: numbers in repr and in HTML, escaped, and tables for whatever reads Arrow."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.planning.compare import compare_mechanisms
from discreet.risk.assessment import assess
from discreet.risk.bounds import identification_bounds
from discreet.risk.traces import Traces, by_half

DOMAIN = dc.Domain(["<b>clinic</b>", "park", "mall"], sensitive=["<b>clinic</b>"])
MECHANISM = dc.RandomizedResponse(DOMAIN, 2.0)


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


def test_guarantees() -> None:
    texts = shown(MECHANISM.guarantee)
    assert texts[:5] == ["Guarantee", "figure", "value", "notion", "ULDP"]
    assert {"realised epsilon", "2", "sensitive values", "1", str(MECHANISM.guarantee)} <= set(texts)
    assert "<b>clinic</b>" in str(MECHANISM.guarantee)
    assert texts.count("promised epsilon") == 1
    assert "inf" in shown(dc.RandomizedResponse(dc.Domain(["a"], sensitive=[], allow_unprotected=True), 1.0).guarantee)


def test_bounds() -> None:
    bounds = identification_bounds(MECHANISM, 1000, reports=2)
    assert repr(bounds).startswith("Bounds(rr, 1,000 users, t=2, epsilon=4, identification <= ")
    assert f"{bounds.pie.value:.4g} bits)" in repr(bounds)
    texts = shown(bounds)
    assert f"at most {bounds.identification.value:.4g}" in texts
    assert bounds.condition_sentence in texts[-1]


def test_assessments() -> None:
    found = assess(by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc"))), attack="markov")
    texts = shown(found)
    assert {"users", "2", "attack", "markov"} <= set(texts)
    assert any(text.startswith("100.00% (95% interval") for text in texts)


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
