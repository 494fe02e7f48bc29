"""The sealed folder as it is, read on a cluster: tallies, and so estimates, of one machine to the last digit."""

from pathlib import Path
from typing import Any

import pytest
from collectors import PLANS
from sealed_folders import EPOCHS, N, sealed_of

from discreet.engines import spark as engine
from discreet.estimators import estimate
from json_rows import columns

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_tallies_and_estimates_are_those_of_one_machine(spark: Any, tmp_path: Path, plan: str) -> None:
    """By the library's engine; and by Spark alone, to which plan and mark are then said by hand."""
    sealed = sealed_of(tmp_path, plan)
    found = engine.tally_files(spark, sealed.mechanism, sealed.place)
    assert (found.tally, found.left_out) == (sealed.tally, {})
    linear = estimate(sealed.mechanism, found.tally, method="linear")
    assert linear.frequencies.tolist() == columns(sealed.estimated())["frequency"]
    # What Spark reads by itself passes over underscored names too: each report once, and no tally.
    read = spark.read.parquet(str(sealed.place))
    marked = read.selectExpr("*", f"'{sealed.mechanism.fingerprint}' AS plan", "false AS simulated")
    assert engine.tally(marked, sealed.mechanism).tally == sealed.tally
    assert sealed.tally.n == EPOCHS * N


def test_the_likeliest_distribution_is_that_of_one_machine(spark: Any, tmp_path: Path) -> None:
    sealed = sealed_of(tmp_path, "unary")
    gathered, _ = engine.gather_files(spark, sealed.mechanism, sealed.place)
    found = estimate(sealed.mechanism, gathered, method="mle")
    # Sums over executors have an order of their own.
    assert found.frequencies == pytest.approx(columns(sealed.estimated("mle"))["frequency"], abs=1e-12)
