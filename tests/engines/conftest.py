"""A Spark cluster of two executors with processes of their own, started once for all tests that need it."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from programs import program


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    program("java")
    from discreet.engines.spark import QUIET, session

    # Compiled once and lightly: no machine code is used long enough to pay for better.
    light = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark_driver_extraJavaOptions": f"{QUIET['spark_driver_extraJavaOptions']} {light}",
        "spark_executor_extraJavaOptions": light,
        "spark_sql_shuffle_partitions": "4",
        "spark_default_parallelism": "4",
        "spark_sql_warehouse_dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark_local_dir": str(tmp_path_factory.mktemp("local")),
        # A cluster within one machine needs no name that others could find.
        "spark_driver_host": "127.0.0.1",
        "spark_driver_bindAddress": "127.0.0.1",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = session("local-cluster[2,1,1200]", **QUIET | settings)
    yield running
    running.stop()
