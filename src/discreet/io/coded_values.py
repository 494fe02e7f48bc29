"""Codes of people's values in a table, a batch at a time; what cannot be coded is refused for the table as a whole."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core import columns
from discreet.core.columns import OUTSIDE
from discreet.core.domain import Domain
from discreet.errors import DataError
from discreet.io.cuts import Cuts, cut
from discreet.io.kept_columns import checked_keep
from discreet.io.missing import UNKNOWN, Stand, absent_rows, filled, left_out, without
from discreet.io.piped import Source
from discreet.io.values import ValueScan

BATCH_ROWS = 1 << 18
"""Rows of a batch of codes, at most."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueColumns:
    """The columns of a table that hold people's values.

    Attributes:
        domain: of the values.
        column: which column; None if there is only one that has a name, or for products and grids.
        user: which column says whose value it is, if any.
        stand: the label that a missing value stands for, if any.
        drop: whether rows without a value (or a user) are left out; otherwise they are refused.
        cuts: where ranges begin of which the labels are names, if the table holds numbers or dates.
        known: whether rows with a value that is not in the domain are left out; otherwise they are refused.
        keep: names of public columns that are written beside the reports, in clear: nothing protects them, and many
            of them together may make people recognisable.
    """

    domain: Domain
    column: str | None = None
    user: str | None = None
    stand: Stand | None = None
    drop: bool = False
    keep: tuple[str, ...] = ()
    cuts: Cuts | None = None
    known: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", checked_keep(self.keep))

    def of(self, source: str | Source) -> "CodedValues":
        """Inspect a table.

        Raises:
            DataError: if it is missing or broken, or a column is not there, or cannot be told.
            ParameterError: if tables are not read from such files, or a column is named where there are several, or
                one is to be kept that holds values or users.
        """
        found = ValueScan.of(source, self.domain, user=self.user, column=self.column, keep=self.keep, cuts=self.cuts)
        return CodedValues(found, self)


@dataclass(frozen=True, eq=False)
class CodedValues:
    """The codes of values in a table.

    Attributes:
        scan: the table.
        columns: those of the values.
        left_out: number of rows left out by reason, as far as the table was read.
    """

    scan: ValueScan
    columns: ValueColumns
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """Number of rows of the table."""
        return self.scan.table.rows

    def batches(self) -> Iterator[tuple[IntArray, Any, Any]]:
        """Yield the ``(m,)`` codes of some rows after the other, their users, and their kept columns; None without.

        Raises:
            DataError: if a value, a user or a kept cell is missing, or a value is not in the domain; it says how many
                of the whole table, and where the first is. And if the table cannot be read.
        """
        self.left_out.clear()
        for found in self.scan.batches(BATCH_ROWS):
            rows, counts = self._whole(*found)
            self.left_out.update(counts)
            codes = self._codes(rows)
            if codes is None:
                raise self._refusal()
            yield codes, rows.get("user"), rows.get("kept")

    def _whole(self, values: Any, users: Any, kept: Any) -> tuple[dict[str, Any], dict[str, int]]:
        """Return columns by noun, without the rows to be left out, and the number of these by reason."""
        asked = self.columns
        read = filled(cut(values, asked.cuts, asked.domain), asked.stand)
        needed = {"value": read} | ({} if users is None else {"user": users})
        rows, counts = needed | ({} if kept is None else {"kept": kept}), dict[str, int]()
        if asked.drop:
            rows, counts = left_out(rows, list(needed))
        if asked.known:
            outside = ~absent_rows(rows["value"])
            outside[outside] = asked.domain.space.encode(without(rows["value"], ~outside)) == OUTSIDE
            if outside.any():
                rows = {name: without(column, outside) for name, column in rows.items()}
                counts[UNKNOWN] = int(np.count_nonzero(outside))
        return rows, counts

    def _codes(self, rows: dict[str, Any]) -> IntArray | None:
        if any(noun in rows and absent_rows(rows[noun]).any() for noun in ("user", "kept")):
            return None
        try:
            return self.columns.domain.encode(rows["value"])
        except DataError:
            return None

    def _refusal(self) -> DataError:
        """Return the error of the whole table, after reading all of it; its batches know their own rows only."""
        done, ownerless, missing, outside = 0, Defect(), Defect(), Defect()
        kept = {name: Defect() for name in self.columns.keep}
        for found in self.scan.batches(BATCH_ROWS):
            rows, _ = self._whole(*found)
            for name, defect in kept.items():
                defect.add(np.flatnonzero(absent_rows(rows["kept"][name])), done)
            gone = absent_rows(rows["value"])
            if "user" in rows:
                ownerless.add(np.flatnonzero(absent_rows(rows["user"])), done)
            missing.add(np.flatnonzero(gone), done)
            if not missing.count:
                # What is no value of this kind at all is refused here.
                outside.add(
                    np.flatnonzero(self.columns.domain.space.encode(without(rows["value"], gone)) == OUTSIDE), done
                )
            done += len(gone)
        if ownerless.count:
            return DataError(f"{self.scan.source}: {ownerless.as_missing(done, 'users')}")
        if missing.count:
            return DataError(f"{self.scan.source}: {missing.as_missing(done, 'values')}")
        if not outside.count and (lacking := next((name for name in kept if kept[name].count), None)) is not None:
            return DataError(f"{self.scan.source}: {kept[lacking].as_missing(done, f'cells of {lacking!r}')}")
        return DataError(f"{self.scan.source}: {columns.outside_message(outside.count, done, outside.first)}")


@dataclass(slots=True, eq=False)
class Defect:
    """The number of rows with a defect, and the first one."""

    count: int = 0
    first: int = 0

    def add(self, rows: AnyArray, before: int) -> None:
        """Add the rows of a batch that begins after ``before`` rows."""
        if len(rows) and not self.count:
            self.first = before + int(rows[0])
        self.count += len(rows)

    def as_missing(self, total: int, wanted: str) -> str:
        """Return the message that these rows lack something."""
        return columns.missing_message(self.count, total, self.first, wanted)
