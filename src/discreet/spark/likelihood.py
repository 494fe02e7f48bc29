"""Evidence on a cluster: blocks that executors store, and sums over the rows of these blocks.

The blocks of some thousand reports, laid out as the law's matrix reads them, are a row of a frame that Spark keeps.
Nothing as long as the reports ever leaves the executors, and nothing is kept of a report between jobs: every job starts
from the point, so that it does not matter which executor does it, or how often. A job is a pass: it makes the products
with the matrix and the transposed ones while the blocks are at hand.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, FloatArray
from discreet.core.reports import Blocks, block_count
from discreet.engines.folds import TallyFold
from discreet.errors import DiscreetError
from discreet.estimators.likelihood import RowLikelihood, Rows, RowSums
from discreet.files.reading import Progress
from discreet.formats.sources import RowCounts
from discreet.mechanisms.block_law import BlockLaw, BlockLayout
from discreet.mechanisms.evidence import Membership, StoredBlocks
from discreet.mechanisms.law import BlockMechanism
from discreet.spark.frames import Clustered, Task, one_thread
from discreet.spark.running import SCHEMA, blocks_of, collected, refused, working

# Reports that are laid out together: a multiple of what any law lays out together, small enough for what Spark keeps.
_BYTES = 1 << 22
_LEAST = 1 << 10
_SUMS = 2


def kept_blocks(
    spark: Any, source: Clustered, fold: TallyFold, account: RowCounts, progress: Progress | None
) -> StoredBlocks:
    """Return the tally and the blocks that Spark stores, and add the rows of all tasks to an account.

    The executors keep the blocks until the session is stopped, in memory where they fit and on disk where they do not.
    """
    from pyspark.sql import functions as sql

    mechanism: Any = fold.mechanism
    read = source.read

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        state, rows, layout = fold.zero(), RowCounts(mechanism), _Layout(mechanism)
        try:
            for batch in read(batches):
                rows.add(batch)
                fold.add(state, batch)
                yield from layout.add(mechanism.blocks_of_unknown(batch.reports))
        except DiscreetError as error:
            yield refused(error)
            return
        yield from layout.rest()
        yield from blocks_of(rows.before(state))

    with working(spark, progress):
        both = source.frame.mapInArrow(work, SCHEMA).persist()
        sums = collected(both.where(sql.col("kind") != _BLOCKS), RowCounts(mechanism).before(fold.zero()))
    blocks = both.where(sql.col("kind") == _BLOCKS)
    tally = fold.finish(account.split(sums), account).tally
    # Reports in clear may carry blocks of noise, which say nothing.
    extent = RemoteRows(tally.n - tally.clear_total, mechanism.law.size)
    return StoredBlocks(tally, extent, partial(RowsOnSpark, spark=spark, blocks=blocks, law=mechanism.law))


_BLOCKS = "blocks"


@dataclass(frozen=True, slots=True)
class RemoteRows(Membership):
    """The size of a membership matrix whose rows are on executors, with one row for each report."""

    is_here: ClassVar[bool] = False
    rows: int = field()
    size: int = field()

    def dot(self, values: Any) -> NoReturn:
        """Raise an error, because products with the matrix are computed on executors only."""
        raise NotImplementedError

    def transpose_dot(self, weights: Any) -> NoReturn:
        """Raise an error, because products with the matrix are computed on executors only."""
        raise NotImplementedError


class _Layout:
    """Collects blocks into rows of a frame; each row stores the matrix of many blocks."""

    def __init__(self, mechanism: BlockMechanism) -> None:
        self._law = mechanism.law
        each = max(sum(column.bytes for column in mechanism.block_columns), 1)
        self._most = max(_BYTES // each // _LEAST, 1) * _LEAST
        self._pending: list[Blocks] = []
        self._waiting = 0

    def add(self, blocks: Blocks) -> Iterator[pa.RecordBatch]:
        """Add blocks, and yield a row for every complete group of blocks."""
        for start in range(0, block_count(blocks), self._most):
            some = {name: column[start : start + self._most] for name, column in blocks.items()}
            if self._waiting + block_count(some) > self._most:
                yield from self.rest()
            self._pending.append(some)
            self._waiting += block_count(some)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield a row with the remaining blocks, if there are any."""
        if self._waiting:
            names = self._pending[0].keys()
            blocks = {name: np.concatenate([piece[name] for piece in self._pending]) for name in names}
            yield _packed(self._waiting, BlockLayout.for_law(self._law).columns_of(blocks))
            self._pending, self._waiting = [], 0


def _packed(rows: int, arrays: Mapping[str, AnyArray]) -> pa.RecordBatch:
    """Return a row with the number of blocks and the named arrays."""
    file, named = io.BytesIO(), {f"_{name}": array for name, array in arrays.items()}
    np.savez(file, allow_pickle=False, rows=np.array(rows), **named)
    entries = pa.array([file.getvalue()], pa.binary())
    return pa.record_batch(
        {"block": pa.array([0], pa.int32()), "kind": pa.array([_BLOCKS]), "entries": entries},
    )


def _unpacked(law: BlockLaw, entries: bytes) -> Membership:
    """Return the membership matrix that a row stores."""
    with np.load(io.BytesIO(entries), allow_pickle=False) as archive:
        rows = int(archive["rows"])
        arrays = {name[1:]: archive[name] for name in archive.files if name != "rows"}
    return BlockLayout.for_law(law).membership(arrays, rows)


class RowsOnSpark(Rows):
    """Sums over the rows of a matrix on executors; see `discreet.estimators.likelihood.Rows`.

    In double precision throughout. A length that is tried costs a pass, but it brings the sums there with it: where the
    first one will do, a step of the ascent is one job.

    Args:
        likelihood: the likelihood to which the rows belong.
        spark: the session.
        blocks: the frame of blocks.
        law: the block law.
    """

    def __init__(self, likelihood: RowLikelihood, *, spark: Any, blocks: Any, law: Any) -> None:
        self._spark, self._blocks, self._law = spark, blocks, law
        self._size = likelihood.membership.size
        self._least = 1.0 / likelihood.contrast
        self._point: FloatArray = np.zeros(self._size)
        self._step: FloatArray = np.zeros(self._size)
        self._tried: dict[float, RowSums] = {}

    def evaluate(self, members: FloatArray, *, keep: bool = True) -> RowSums:
        """Set the distribution to a point, and return the sum of z over all rows."""
        del keep
        self._point = members.copy()
        return self._sums(self._point)[0]

    def curvature(self) -> tuple[RowSums, float]:
        """Return the sum of z^2 over all rows; in double precision the sum needs no scaling."""
        return self._sums(self._point, squared=True)[0], 1.0

    def set_direction(self, step: FloatArray) -> None:
        """Set the direction of steps."""
        self._step, self._tried = step.copy(), {}

    def slope(self, length: float) -> tuple[float, float]:
        """Return the first derivative after a step of this length, and minus the second, as sums over all rows."""
        sums, bend = self._sums(self._point + length * self._step, self._step)
        self._tried[length] = sums
        return float(np.einsum("i,i->", sums.inside, self._step)), bend

    def advance(self, length: float, *, whole: bool) -> RowSums:
        """Move the distribution by a step of this length, and return the sum of z over all rows."""
        del whole
        self._point = self._point + length * self._step
        value = self._tried.get(length)
        return self._sums(self._point)[0] if value is None else value

    def _sums(
        self, point: FloatArray, step: FloatArray | None = None, *, squared: bool = False
    ) -> tuple[RowSums, float]:
        self.passes += 1
        task = _task(self._law, [point] if step is None else [point, step], self._least, squared=squared)
        with working(self._spark):
            sums = collected(self._blocks.mapInArrow(task, SCHEMA), np.zeros(_SUMS + self._size))
        return RowSums(float(sums[0]), sums[_SUMS:]), float(sums[1])


def _task(law: Any, values: Sequence[FloatArray], least: float, *, squared: bool) -> Task:
    """Return a function that sums z or z^2, (z B d)^2, and z or z^2 by value, over the blocks of a partition."""
    point, *steps = values

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        one_thread()
        total = np.zeros(_SUMS + len(point))
        for batch in batches:
            for entries in batch.column("entries"):
                matrix = _unpacked(law, entries.as_py())
                # 1/z is linear; no row falls below its least, whatever rounding says.
                z = 1.0 / np.maximum(least + np.asarray(matrix.dot(point), np.float64), least)
                often = 1.0 if matrix.multiplicity is None else matrix.multiplicity
                for step in steps:
                    total[1] += float((often * np.square(z * matrix.dot(step))).sum())
                weights = often * (z * z if squared else z)
                total[0] += float(weights.sum())
                total[_SUMS:] += matrix.transpose_dot(weights)
        yield from blocks_of(total)

    return work
