"""Everything runs, every time, with the same seeds: of the order and of the examples of Hypothesis.

A file is run by one worker, so that what its tests share is made once.

No test may print or log what was planted of a person (see planted.py).
"""

import gc
import os
import sys
import warnings
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import planted
from compiled_once import share_kernels
from programs import CHROMIUM, program

# Modules are compiled once, and not by each worker and each of the many programs that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.differing_executors],
)
settings.load_profile("fixed")

# Three workers share two cores: several threads of a BLAS in each would wait for each other, a quarter of its time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Workers of pytest say how wide they are; programs that write into a pipe are told by nobody.
os.environ.pop("COLUMNS", None)

# Real data sets, where somebody has put them beside the sources.
_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("DISCREET_DATA", str(_BESIDE))


# Handed out before all others: the last tests to run should be short.
_FIRST = (
    "test_as_operated",
    "spark",
    "test_uldp_figures",
    "test_pie_figures",
    "cli/test_options",
    "test_uncertainty",
    "test_promises",
    "test_shuffling_chances",
    "test_survey",
    "test_rendering",
    "test_sampler_vectors",
    "js/test_devices",
    "test_self_contained",
    "test_device_audit",
    "test_own_law",
)


def pytest_configure(config: pytest.Config) -> None:
    """Fix the seed of the order and of global generators, and compile kernels once for all workers."""
    if getattr(config.option, "randomly_seed", None) == "default":
        config.option.randomly_seed = 28
    if hasattr(config, "workerinput") and os.name == "posix":
        share_kernels()


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Put first what is handed out first; sorting keeps the order of the others."""

    @cache
    def place(file: str) -> int:
        return next((i for i, name in enumerate(_FIRST) if name in file), len(_FIRST))

    items.sort(key=lambda item: place(item.nodeid.partition("::")[0]))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[Any], list[Any]]:
    """Look for examples in sources alone: tests have none, and what helps them need not be imported by each worker."""
    return [found for found in (yield) if type(found).__name__ != "DoctestModule"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage while tests are collected, nor ever among them: they are a million objects that stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test of whose output a part is a person's."""
    report = yield
    found = {what for _, text in report.sections for what in planted.leaks(text)}
    if found and report.outcome == "passed":
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid} printed or logged {', '.join(sorted(found))} of a person."
    return report


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cluster of one executor with two tasks at once, in processes of their own, for all tests that need it."""
    program("java")
    from discreet.spark import QUIET, session

    # Compiled once and lightly: no machine code is used long enough to pay for better. Spark's classes are believed.
    light = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    settings = {
        "spark_driver_extraJavaOptions": f"{QUIET['spark_driver_extraJavaOptions']} {light}",
        "spark_executor_extraJavaOptions": light,
        "spark_sql_shuffle_partitions": "2",
        "spark_default_parallelism": "2",
        # Once more where an executor was killed; what is refused is refused the second time too.
        "spark_task_maxFailures": "2",
        "spark_python_daemon_module": "spark_workers",
        "spark_executorEnv_PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]),
        # Queries of a few rows run once: to write and compile Java for each would take longer than they do.
        "spark_sql_codegen_wholeStage": "false",
        "spark_sql_codegen_factoryMode": "NO_CODEGEN",
        "spark_sql_warehouse_dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark_local_dir": str(tmp_path_factory.mktemp("local")),
        # A cluster within one machine needs no name that others could find.
        "spark_driver_host": "127.0.0.1",
        "spark_driver_bindAddress": "127.0.0.1",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = session("local-cluster[1,2,1200]", **QUIET | settings)
    yield running
    running.stop()


@pytest.fixture
def files(tmp_path: Path) -> Any:
    """A plan, a table of values and the reports that are made of them, in a folder."""
    from running import Files

    return Files(tmp_path)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A Chromium without windows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program("chromium"), args=CHROMIUM)
        yield chromium
        chromium.close()
