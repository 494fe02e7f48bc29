"""Sealing of reports that a team keeps by itself: folders of frames, Parquet files and Arrow tables."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray
from discreet.collector.intake import OpenCollection, check_records
from discreet.collector.sealing import WrittenBatch, write_first_reports
from discreet.device.protocol.frames import HEAD_BYTES, ID_BYTES, FrameError, head
from discreet.errors import DataError

_COLUMNS = ("id", "record")


def seal_rows(
    batches: Iterable[AnyArray],
    collection: OpenCollection,
    output: str | Path,
    *,
    epochs: Sequence[int],
    force: bool = False,
) -> WrittenBatch:
    """Write the sealed file of a batch: of each id the first report, in canonical order, without ids.

    Args:
        batches: ``(n, 16 + W)`` uint8 rows, each an id and its record, in order of arrival; see `arrow_rows`.
        collection: the collection of the reports.
        output: the sealed file, Parquet.
        epochs: the epochs of the reports, ascending.
        force: whether a file that exists is replaced.

    Returns:
        The numbers of the batch.

    Raises:
        DataError: if there are fewer different reports than the collection's least.
        FlawedRowsError: if there is a report that no device can have sent; it says how many, and where the first is.
        OutputExistsError: if the file exists and `force` is not set.

    Example:
        >>> import time
        >>> import discreet as dc
        >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        >>> from discreet.collector.documents.signing import Terms, sign
        >>> from discreet.device.protocol.collection import Epochs
        >>> from discreet.device.protocol.envelope import public_key
        >>> plan = dc.Plan.of(dc.RandomizedResponse(dc.Domain(["never", "daily"]), epsilon=1.0))
        >>> texts = {"title": "Habits", "purpose": "To know", "contact": "us@example.org"}
        >>> when = {"answers": "once", "epochs": Epochs(int(time.time()), 3600, 24)}
        >>> terms = Terms(name="habits", **texts, **when, collectors=("https://example.org",), least=60)
        >>> key = Ed25519PrivateKey.generate()
        >>> habits = OpenCollection.of(sign(plan, terms, [key]), [public_key(key)])
        >>> rows = np.random.default_rng(1).integers(0, 256, (100, 18), dtype=np.uint8)
        >>> rows[:, 16:] = [1, 0]
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     batch = seal_rows([rows, rows[:5]], habits, f"{folder}/batch.parquet", epochs=[0])
        >>> batch.tally.n, batch.duplicates
        (100, 5)
    """

    def checked() -> Iterator[AnyArray]:
        for rows in batches:
            check_records(collection, rows[:, ID_BYTES:])
            yield rows

    target = Path(output)
    batch = write_first_reports(target, collection, checked(), epochs, folder=target.absolute().parent, force=force)
    if batch is None:
        raise DataError("reports.too-few", argument="source", least=collection.collection.least)
    return batch


def arrow_rows(table: Any, collection: OpenCollection) -> Iterator[AnyArray]:
    """Yield rows of reports from anything that exports an Arrow stream: DuckDB, ADBC, polars, pyarrow.

    Args:
        table: has the binary columns ``id`` and ``record``.
        collection: the collection of the reports.

    Raises:
        DataError: if a column is missing, or a value has another length.

    Example:
        >>> import time
        >>> import discreet as dc
        >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        >>> from discreet.collector.documents.signing import Terms, sign
        >>> from discreet.device.protocol.collection import Epochs
        >>> from discreet.device.protocol.envelope import public_key
        >>> plan = dc.Plan.of(dc.RandomizedResponse(dc.Domain(["never", "daily"]), epsilon=1.0))
        >>> texts = {"title": "Habits", "purpose": "To know", "contact": "us@example.org"}
        >>> when = {"answers": "once", "epochs": Epochs(int(time.time()), 3600, 24)}
        >>> terms = Terms(name="habits", **texts, **when, collectors=("https://example.org",))
        >>> key = Ed25519PrivateKey.generate()
        >>> habits = OpenCollection.of(sign(plan, terms, [key]), [public_key(key)])
        >>> table = pa.table({"id": [bytes(16)] * 3, "record": [bytes([1, 0])] * 3})
        >>> [rows.shape for rows in arrow_rows(table, habits)]
        [(3, 18)]
    """
    reader = pa.RecordBatchReader.from_stream(table)
    if missing := [name for name in _COLUMNS if name not in reader.schema.names]:
        raise DataError("source.without-columns", argument="source", names=" and ".join(missing))
    for batch in reader:
        parts = [
            _bytes_of(batch.column(name), width)
            for name, width in zip(_COLUMNS, (ID_BYTES, collection.codec.width), strict=True)
        ]
        if len(batch):
            yield np.hstack(parts)


def _bytes_of(column: Any, width: int) -> AnyArray:
    """Return ``(n, width)`` bytes of a binary column."""
    try:
        fixed = column.cast(pa.large_binary()).cast(pa.binary(width))
    except pa.ArrowInvalid:
        raise DataError("source.wrong-length", argument="source", width=width) from None
    if fixed.null_count:
        raise DataError("source.wrong-length", argument="source", width=width)
    start = fixed.offset * width
    return np.frombuffer(fixed.buffers()[1], dtype=np.uint8)[start : start + len(fixed) * width].reshape(-1, width)


def file_rows(source: Path, collection: OpenCollection, epochs: Sequence[int]) -> Iterator[AnyArray]:
    """Yield rows of reports from a Parquet file, a file of a frame, or a folder of them, in order of their names.

    Frames of other epochs are left out; the reports of Parquet files are taken to be of these epochs.

    Raises:
        DataError: if a file is neither, or a frame belongs to another collection.
    """
    from pyarrow import parquet

    files = sorted(path for path in source.rglob("*") if path.is_file()) if source.is_dir() else [source]
    for path in files:
        if path.suffix == ".parquet":
            with parquet.ParquetFile(path) as opened:
                schema = pa.schema(
                    [opened.schema_arrow.field(name) for name in _COLUMNS if name in opened.schema_arrow.names]
                )
                batches = opened.iter_batches(columns=list(schema.names))
                yield from arrow_rows(pa.RecordBatchReader.from_batches(schema, batches), collection)
            continue
        data = path.read_bytes()
        try:
            id_, epoch, n = head(data)
        except FrameError as error:
            raise error.at(path) from None
        if id_ != collection.collection.id or len(data) != HEAD_BYTES + n * collection.width:
            raise DataError("frame.other-collection", path=path)
        if epoch in epochs:
            yield np.frombuffer(data, dtype=np.uint8, offset=HEAD_BYTES).reshape(n, -1)
