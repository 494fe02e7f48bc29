"""Reports as Spark frames.

A frame of reports has the mechanism's columns (whole numbers as int or long, bits as binary, members as an array), a
column ``plan`` that holds the plan's fingerprint in every row, and perhaps ``simulated``. Spark has no place for what
belongs to a whole file, so every row says what it belongs to.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.reports import Column, Reports, check_same_plan
from discreet.errors import DataError, MismatchError
from discreet.io.untyped_arrow import check_untyped_schema, is_bits, sift_untyped
from discreet.mechanisms import Mechanism

PLAN, SIMULATED = "plan", "simulated"
_OURS = "belongs"


def spark_type(column: Column) -> pa.DataType:
    """Return the type of a column in Spark, which has no unsigned integers and no bytes of fixed length."""
    if is_bits(column):
        return pa.binary()
    number = pa.int32() if np.dtype(column.dtype).itemsize < np.dtype(np.int32).itemsize else pa.int64()
    return number if column.width is None else pa.list_(number)


def prepared(frame: Any, mechanism: Mechanism) -> Any:
    """Return the columns of a frame of reports that tasks read; the plan of every row is checked before.

    Raises:
        DataError: if a column is missing or of another kind.
    """
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import to_arrow_schema

    names = [column.name for column in mechanism.columns]
    if PLAN not in frame.columns:
        raise DataError(
            "a frame of reports needs a column 'plan' with the plan's fingerprint in every row; read files of reports "
            "with discreet.engines.spark.read_reports, or add the column if you know which plan they belong to."
        )
    check_untyped_schema(mechanism, to_arrow_schema(frame.schema))
    ours = (sql.col(PLAN).cast("string") == mechanism.fingerprint).alias(_OURS)
    marked = sql.col(SIMULATED).cast("boolean") if SIMULATED in frame.columns else sql.lit(False)
    return frame.select(*names, sql.coalesce(ours, sql.lit(False)).alias(_OURS), marked.alias(SIMULATED))


def reports_in(batch: pa.RecordBatch, mechanism: Mechanism) -> tuple[Reports, Counter[str]]:
    """Return the reports of a batch of a `prepared` frame, and the number of rows left out by reason.

    Raises:
        MismatchError: if a row belongs to another plan.
    """
    strangers = batch.num_rows - int(pc.sum(batch.column(_OURS)).as_py() or 0)
    if strangers:
        raise MismatchError(
            f"reports and mechanism must belong to one plan; {strangers} of {batch.num_rows} rows of a batch do not "
            f"belong to {mechanism.fingerprint[:12]}."
        )
    simulated = bool(pc.any(batch.column(SIMULATED)).as_py())
    return sift_untyped(mechanism, batch, simulated=simulated)


def to_spark(mechanism: Mechanism, reports: Reports) -> pa.RecordBatch:
    """Return reports as a batch of a frame: the mechanism's columns, ``plan`` and ``simulated``."""
    from discreet.io.arrow import to_arrow

    check_same_plan({mechanism.fingerprint, reports.fingerprint})
    table = to_arrow(mechanism, reports)
    named = {column.name: table[column.name].cast(spark_type(column)) for column in mechanism.columns}
    named[PLAN] = pa.array([mechanism.fingerprint]).take(pa.array(np.zeros(reports.n, np.int8)))
    named[SIMULATED] = pa.array(np.full(reports.n, reports.simulated))
    return pa.table(named).combine_chunks().to_batches()[0] if reports.n else _nothing(pa.table(named).schema)


def _nothing(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)


def frame_schema(mechanism: Mechanism) -> Any:
    """Return the Spark schema of a frame of reports."""
    from pyspark.sql.pandas.types import from_arrow_schema

    fields = [pa.field(column.name, spark_type(column)) for column in mechanism.columns]
    return from_arrow_schema(pa.schema([*fields, pa.field(PLAN, pa.string()), pa.field(SIMULATED, pa.bool_())]))
