"""Sealing: reports in canonical order, sorted by what they say, so that nothing of their arrival is left.

The order is that of the columns of a file of reports, nulls first: what ``ORDER BY clear NULLS FIRST, symbol`` gives in
SQL. Sorting needs no randomness, and whoever has the file can check it (`discreet.io.sealed_files`). Reports that are
one number among few are counted; all others are sorted, through temporary files where they are many.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.reports import Reports, check_same_plan
from discreet.errors import DataError
from discreet.io.atomic import check_free
from discreet.io.content_counts import ContentCounts
from discreet.io.records import RecordCodec
from discreet.io.remote import output_of
from discreet.io.reports import NO_FACTS, write_reports
from discreet.io.row_sort import RowSort
from discreet.io.suffixes import checked_output
from discreet.mechanisms import Mechanism

MEMORY = 1 << 27
"""How many bytes sorting holds at once, roughly."""

SEALED_REPORTS = (".parquet",)
"""How names of sealed files end: one form, so that the same reports are the same bytes."""

LEAST = 2
"""How many reports a sealed file holds at least, unless more are asked for: one report hides among no others."""

SEALED, NUMBER = "sealed", "n"
"""Names of what the stamp of a sealed file says besides."""

# Rows of the batches that are handed out: a file must not show in which order its reports came.
_BATCH = 1 << 18


class CanonicalOrder:
    """Reports that are taken in any order and handed out in canonical order.

    Args:
        mechanism: what made them.
        simulated: whether they are simulated; None for what the first of them say.
        memory: how many bytes may be held at once, roughly.
        folder: where the rest goes; None for the system's place for temporary files.

    Attributes:
        mechanism: what made the reports.
    """

    def __init__(
        self, mechanism: Mechanism, *, simulated: bool | None = None, memory: int = MEMORY, folder: Path | None = None
    ) -> None:
        self.mechanism, self._simulated = mechanism, simulated
        # The highest byte first, so that rows of bytes compare as their numbers do.
        self._wire = RecordCodec.of(mechanism)
        self._codec = RecordCodec(mechanism.columns, mechanism.clear_blocks, order=">")
        self._contents = ContentCounts.of(mechanism)
        self._counts = np.zeros(0, np.int64) if self._contents is None else self._contents.zero()
        self._rows = RowSort(self.width, memory=memory, folder=folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._rows.__exit__(kind, error, at)

    @property
    def width(self) -> int:
        """Bytes of a key."""
        return self._codec.width

    @property
    def n(self) -> int:
        """Number of reports taken."""
        return self._rows.taken + int(self._counts.sum())

    def refuse_fewer(self, least: int) -> None:
        """Refuse too few reports.

        Raises:
            DataError: if there are fewer.
            ParameterError: if ``least`` is no whole number >= 1.
        """
        if self.n < checked_whole("least", least, 1):
            raise DataError(
                f"a sealed batch must have at least {least} reports, got {self.n}; wait for more, or lower --least "
                "(least=...)."
            )

    def keys(self, reports: Reports) -> AnyArray:
        """Return ``(n, width)`` bytes that say what the reports say, and compare as they do.

        Raises:
            MismatchError: if they are of another plan.
        """
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        return self._codec.encode(reports)

    def add(self, reports: Reports) -> None:
        """Take reports.

        Raises:
            DataError: if they are simulated and others are not.
            MismatchError: if they are of another plan.
        """
        if reports.n and self._simulated is None:
            self._simulated = reports.simulated
        if reports.n and reports.simulated != self._simulated:
            raise DataError("simulated and real reports must not be sealed together; seal them apart.")
        if self._contents is None:
            self._rows.add(self.keys(reports))
            return
        check_same_plan({self.mechanism.fingerprint, reports.fingerprint})
        self._contents.add(self._counts, reports)

    def add_counts(self, counts: IntArray, *, simulated: bool) -> None:
        """Take reports by their `ContentCounts`."""
        self._counts += counts
        self._simulated = simulated

    def add_records(self, records: AnyArray) -> None:
        """Take reports by their records, as devices send them.

        Raises:
            FlawedRowsError: if no device can have sent one of them; of those that are sorted, when they are handed out.
        """
        if self._contents is None:
            self._rows.add(self._wire.turned(records))
        else:
            self._contents.add(self._counts, self._wire.reports(self.mechanism, records, simulated=self._marked))

    @property
    def _marked(self) -> bool:
        return bool(self._simulated)

    def batches(self) -> Iterator[Reports]:
        """Yield all reports in canonical order, checked; to be called once.

        Raises:
            FlawedRowsError: if no device can have sent one of them.
        """
        if self._contents is not None:
            yield from self._contents.batches(self._counts, _BATCH, simulated=self._marked)
            return
        for rows in _even(self._rows.batches(), _BATCH):
            yield self._codec.reports(self.mechanism, rows, simulated=self._marked)


def _even(batches: Iterable[AnyArray], size: int) -> Iterator[AnyArray]:
    """Yield rows in batches of one size, but for the last."""
    held: list[AnyArray] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        while rows >= size:
            whole = np.concatenate(held)
            yield whole[:size]
            held, rows = [whole[size:]], rows - size
    if rows:
        yield np.concatenate(held)


def canonical(
    mechanism: Mechanism, batches: Iterable[Reports], *, memory: int = MEMORY, folder: Path | None = None
) -> Iterator[Reports]:
    """Yield reports in canonical order, in batches that depend on nothing but their number.

    Args:
        mechanism: what made them.
        batches: the reports, in any order.
        memory: how many bytes may be held at once, roughly; what exceeds it goes through temporary files.
        folder: where these are; None for the system's place for them.

    Raises:
        MismatchError: if reports are of another plan.
        DataError: if some are simulated and others are not.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "walk", "car"] * 2, random=dc.SeededRandom(1))
        >>> [batch.blocks["symbol"].tolist() for batch in canonical(mechanism, [reports])]
        [[0, 2, 2, 2, 2, 2]]
    """
    with CanonicalOrder(mechanism, memory=memory, folder=folder) as order:
        for batch in batches:
            order.add(batch)
        yield from order.batches()


def write_sealed(
    path: str | Path,
    mechanism: Mechanism,
    batches: Reports | Iterable[Reports],
    *,
    least: int = LEAST,
    force: bool = False,
) -> int:
    """Write reports in canonical order into a Parquet file that says nothing of their arrival.

    The same reports give the same bytes, in whatever order and batches they come. One report per person is for the
    caller to see to: reports bear no names.

    Args:
        path: the file.
        mechanism: what made the reports.
        batches: the reports, in any order.
        least: how many there must be.
        force: whether a file that exists is replaced.

    Returns:
        How many were written.

    Raises:
        DataError: if they are fewer than ``least``, or some are simulated and others are not.
        MismatchError: if reports are of another plan.
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if sealed reports are not kept under such a name.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     write_sealed(f"{folder}/sealed.parquet", mechanism, mechanism.obfuscate(["bus", "walk"] * 100))
        200
    """
    checked_sealed(path, force=force)
    with CanonicalOrder(mechanism) as order:
        for batch in [batches] if isinstance(batches, Reports) else batches:
            order.add(batch)
        order.refuse_fewer(least)
        return put_sealed(path, order, force=force)


def checked_sealed(path: str | Path, *, force: bool) -> Path:
    """Return the place of a new sealed file.

    Raises:
        OutputExistsError: if it exists and ``force`` is not set.
        ParameterError: if it cannot be written, or sealed reports are not kept under such a name.
    """
    target = output_of(path, "sealed reports")
    checked_output(target, SEALED_REPORTS, "sealed reports")
    check_free(target, force=force)
    return target


def put_sealed(
    path: str | Path,
    order: CanonicalOrder,
    *,
    force: bool = False,
    facts: Mapping[str, Any] = NO_FACTS,
    seen: Callable[[Reports], None] | None = None,
) -> int:
    """Write all reports of an order into a sealed file, whose metadata say so, and how many there are.

    Args:
        path: the file, Parquet.
        order: the reports; it is empty afterwards.
        force: whether a file that exists is replaced.
        facts: what the metadata say besides.
        seen: called with each batch that is written.

    Returns:
        How many were written.
    """
    said = {**facts, SEALED: True, NUMBER: order.n}
    batches = order.batches() if seen is None else _shown(order.batches(), seen)
    return write_reports(path, order.mechanism, batches, force=force, facts=said)


def _shown(batches: Iterable[Reports], seen: Callable[[Reports], None]) -> Iterator[Reports]:
    for batch in batches:
        seen(batch)
        yield batch


def is_canonical(mechanism: Mechanism, batches: Iterable[Reports]) -> bool:
    """Return true if reports are in canonical order.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=1.0)
        >>> reports = mechanism.obfuscate(["bus", "car"] * 50, random=dc.SeededRandom(1))
        >>> is_canonical(mechanism, [reports]), is_canonical(mechanism, canonical(mechanism, [reports]))
        (False, True)
    """
    order = CanonicalOrder(mechanism)
    last = np.empty((0, order.width), dtype=np.uint8)
    for batch in batches:
        keys = np.concatenate([last, order.keys(batch)])
        # As texts of one length, which compare as their bytes do.
        texts = keys.view(f"S{order.width}").ravel()
        if (texts[1:] < texts[:-1]).any():
            return False
        last = keys[-1:]
    return True
