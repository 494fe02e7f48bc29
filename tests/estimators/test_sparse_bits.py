"""Bits of which few are set go through the likelihood as lists: the estimate is that of tiles, wherever they lie."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.core.domain import Domain
from discreet.core.random import SeededRandom
from discreet.core.reports import Reports
from discreet.engines import observe
from discreet.engines.spark import likelihood
from discreet.estimators import estimate
from discreet.formats.reports import write_reports
from discreet.mechanisms import PerValueEncoding, UnaryEncoding
from discreet.mechanisms.bits import BitTiles, ListedBits

SIZE, N = 600, 3000
SOME = [{"values": np.arange(SIZE) % 3 == rest, "epsilon": (6.0, 5.0, 4.5)[rest]} for rest in range(3)]
SPARSE = {
    "all sensitive": UnaryEncoding(Domain(range(SIZE)), 6.0),
    "some in clear": UnaryEncoding(Domain(range(SIZE + 90), sensitive=list(range(SIZE))), 5.0, theta=0.5),
    "promises of their own": PerValueEncoding(Domain(range(SIZE)), 6.0, epsilons=SOME),
}
sparse = pytest.mark.parametrize("mechanism", SPARSE.values(), ids=list(SPARSE))


def reports_of(mechanism: Any, n: int = N) -> Reports:
    size = mechanism.domain.size
    codes = np.random.default_rng(2).choice(size, n, p=np.arange(size, 0, -1) / np.arange(size + 1).sum())
    return mechanism.obfuscate_codes(codes, random=SeededRandom(4))


def membership_of(mechanism: Any, n: int = 40) -> Any:
    return mechanism.law.membership(mechanism.blocks_of_unknown(reports_of(mechanism, n)))


@sparse
def test_sparse_bits_are_listed(mechanism: Any) -> None:
    assert isinstance(membership_of(mechanism), ListedBits)


def test_other_bits_are_in_tiles() -> None:
    dense = UnaryEncoding(Domain(range(SIZE)), 1.0)
    assert isinstance(membership_of(dense), BitTiles)
    assert isinstance(membership_of(UnaryEncoding(Domain(range(500)), 6.0)), BitTiles)


@pytest.mark.parametrize("method", ["mle", "em"])
@sparse
def test_the_estimate_is_that_of_tiles(mechanism: Any, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reports, options = reports_of(mechanism), {"tolerance": 1e-10} if method == "mle" else {}
    listed = estimate(mechanism, reports, method=method, **options)
    monkeypatch.setattr("discreet.mechanisms.bits.LISTED_SHARE", 0.0)
    assert isinstance(membership_of(mechanism), BitTiles)
    tiled = estimate(mechanism, reports, method=method, **options)
    np.testing.assert_allclose(listed.frequencies, tiled.frequencies, rtol=0, atol=1e-5 if method == "mle" else 1e-11)


@sparse
def test_on_disk_they_give_the_same_bits(mechanism: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports = reports_of(mechanism)
    for place, start in enumerate(range(0, N, 701)):
        write_reports(tmp_path / f"{place}.parquet", mechanism, reports.part(start, start + 701))
    monkeypatch.setattr("discreet.estimators.likelihood._STRETCH", 1024)
    data, _ = observe(mechanism, tmp_path)
    inside, outside = (estimate(mechanism, found, method="mle") for found in (reports, data))
    np.testing.assert_array_equal(outside.frequencies, inside.frequencies)
    assert (outside.gap, outside.passes) == (inside.gap, inside.passes)


@sparse
def test_many_small_matrices_are_the_whole_one(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As executors of Spark hold them."""
    monkeypatch.setattr(likelihood, "_BYTES", 1)
    layout, blocks = likelihood._Layout(mechanism), mechanism.blocks_of_unknown(reports_of(mechanism))
    laid = [*layout.add(blocks), *layout.rest()]
    assert len(laid) == -(-len(blocks["bits"]) // 1024)
    matrices = [likelihood._unpacked(mechanism.law, row["entries"][0].as_py()) for row in laid]
    values = np.random.default_rng(1).random(SIZE)
    whole = mechanism.law.membership(blocks).dot(values)
    np.testing.assert_array_equal(np.concatenate([matrix.dot(values) for matrix in matrices]), whole)


def test_reports_with_all_bits_set_are_estimated_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = SPARSE["all sensitive"]
    bits = reports_of(mechanism).blocks["bits"].copy()
    bits[1000:2100] = 255
    reports = Reports(mechanism.fingerprint, N, None, np.empty(0, np.uint8), {"bits": bits}, simulated=True)
    listed = estimate(mechanism, reports, method="em")
    monkeypatch.setattr("discreet.mechanisms.bits.LISTED_SHARE", 0.0)
    np.testing.assert_allclose(
        listed.frequencies, estimate(mechanism, reports, method="em").frequencies, rtol=0, atol=1e-11
    )
