"""The engine that goes through the reports of a verb: this machine, or a cluster."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cli.group import given_options
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.engines import Engine


def refuse_idle(names: Sequence[str], why: str) -> None:
    """Refuse options that were given and do nothing.

    Raises:
        ParameterError: if one of them was given.
    """
    given = given_options()
    for name in names:
        if name in given:
            raise ParameterError(f"{given[name]} does nothing here: {why}; leave it out.")


@contextmanager
def running_engine(
    name: str, master: str | None, memory: int | None, temporary: Path | None, plain_parquet: bool = False
) -> Iterator["Engine"]:
    """Yield the engine of ``--engine``; a Spark session is stopped afterwards.

    Args:
        name: of the engine.
        master: where Spark runs.
        memory: megabytes that reports may take in memory.
        temporary: folder for the rest.
        plain_parquet: whether pyarrow decodes all of Parquet.

    Raises:
        ParameterError: if an option goes with the other engine.
    """
    if name == "local":
        from discreet.engines import LocalEngine

        refuse_idle(["master"], "it goes with --engine spark")
        most = None if memory is None else memory * 1_000_000
        yield LocalEngine(memory=most, folder=temporary, plain_parquet=plain_parquet)
        return
    from discreet.engines import spark

    refuse_idle(["memory", "temporary", "plain_parquet"], "it goes with --engine local")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    running = spark.session(master, **spark.QUIET)
    try:
        yield spark.SparkEngine(running)
    finally:
        running.stop()
