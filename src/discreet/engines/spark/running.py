"""Spark sessions: their start, progress, and errors as discreet's own."""

import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.engines.spark.vectors import REFUSALS
from discreet.errors import DiscreetError, EngineError, ParameterError
from discreet.extras import optional
from discreet.io.progress import Progress

_SECONDS_BETWEEN = 0.2
_REMOTE = "sc://"
_MASTERS = ("local", "spark://", "yarn", "k8s://", _REMOTE)
_LOGGING = Path(__file__).with_name("log4j2.properties")
QUIET = {
    "spark_ui_enabled": "false",
    "spark_ui_showConsoleProgress": "false",
    "spark_driver_extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING}",
}
"""Settings of a session of which nobody wants to see more than what goes wrong."""

_SAID = re.compile(r"discreet\.errors\.(\w+): (.+)")


def session(master: str | None = None, **settings: str) -> Any:
    """Return a Spark session, the current one if there is one.

    Args:
        master: where Spark runs: ``local[*]``, ``spark://host:7077``, ``yarn``, ``sc://host``; None for what Spark is
            set up for, or else all cores of this machine.
        settings: Spark's, with underscores for dots: ``spark_executor_memory="4g"``.

    Raises:
        MissingExtraError: if PySpark is not installed.
        ParameterError: if the master is none of Spark's.
        EngineError: if there is no Java, or Spark does not start.
    """
    if master is not None and not master.startswith(_MASTERS):
        raise ParameterError(f"master must begin with one of {', '.join(_MASTERS)}, got master={master!r}.")
    sql = optional("pyspark.sql")
    remote = master is not None and master.startswith(_REMOTE)
    if not remote:
        _check_java()
    # Workers would otherwise take whatever python3 is first on their path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("discreet")
    if master is not None:
        builder = builder.remote(master) if remote else builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        said = str(error).strip().splitlines()
        raise EngineError(f"Spark did not start ({said[0] if said else type(error).__name__}).") from None


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not (shutil.which("java") if home is None else shutil.which("java", path=str(Path(home) / "bin"))):
        raise EngineError(
            "Spark needs Java 17 or later, and there is none on the path; install it (Debian: openjdk-17-jre-headless, "
            "conda: openjdk) or let JAVA_HOME say where it is."
        )


@contextmanager
def working(spark: Any, progress: Progress | None = None) -> Iterator[None]:
    """Show the progress of tasks during work, and raise what executors refuse as if it were refused here.

    Raises:
        DataError, MismatchError: what an executor raised.
        EngineError: if Spark gave up for another reason.
    """
    stopped = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, progress, stopped), daemon=True)
    watcher.start()
    try:
        yield
    except DiscreetError:
        raise
    except KeyboardInterrupt:
        _cancel(spark)
        raise
    except Exception as error:
        raise _told(error) from None
    finally:
        stopped.set()
        watcher.join()


def _watch(spark: Any, progress: Progress | None, stopped: threading.Event) -> None:
    if progress is None or not hasattr(spark, "_jsc"):
        return
    tracker = spark.sparkContext.statusTracker()
    while not stopped.wait(_SECONDS_BETWEEN):
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
        if tasks:
            progress(sum(done for done, _ in tasks), sum(total for _, total in tasks))


def _cancel(spark: Any) -> None:
    if hasattr(spark, "_jsc"):
        spark.sparkContext.cancelAllJobs()


def _told(error: Exception) -> DiscreetError:
    """Return the message of a Spark error without its traces, which may hold values."""
    module = type(error).__module__
    if not module.startswith(("pyspark", "py4j")):
        raise error
    said = _SAID.search(str(error))
    if said is not None and said[1] in REFUSALS:
        return REFUSALS[said[1]](said[2])
    return EngineError(f"Spark gave up ({type(error).__name__}); its own log says why.")
