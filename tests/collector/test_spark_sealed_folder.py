"""The sealed folder as it is, read on a cluster: tallies, and so estimates, of one machine to the last digit."""

from pathlib import Path
from typing import Any

import pytest
from collectors import PLANS
from sealed_folders import EPOCHS, N, sealed_of

from discreet.engines import spark as engine
from discreet.estimators import estimate

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_the_engine_reads_it(spark: Any, tmp_path: Path, plan: str) -> None:
    sealed = sealed_of(tmp_path, plan)
    found = engine.tally_files(spark, sealed.mechanism, sealed.place)
    assert (found.tally, found.left_out) == (sealed.tally, {})
    said = sealed.estimated()
    assert estimate(sealed.mechanism, found.tally, method="linear").frequencies.tolist() == said["columns"]["frequency"]
    gathered, _ = engine.gather_files(spark, sealed.mechanism, sealed.place)
    likeliest = estimate(sealed.mechanism, gathered, method="mle")
    # Sums over executors have an order of their own.
    assert likeliest.frequencies == pytest.approx(sealed.estimated("mle")["columns"]["frequency"], abs=1e-12)


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_spark_itself_reads_it(spark: Any, tmp_path: Path, plan: str) -> None:
    """Without the library, whose plan and mark are then said by hand; underscored names are passed over."""
    sealed = sealed_of(tmp_path, plan)
    read = spark.read.parquet(str(sealed.place))
    assert read.count() == EPOCHS * N
    marked = read.selectExpr("*", f"'{sealed.mechanism.fingerprint}' AS plan", "false AS simulated")
    assert engine.tally(marked, sealed.mechanism).tally == sealed.tally
