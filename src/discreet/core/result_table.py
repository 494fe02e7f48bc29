"""Results that are tables, whose columns are stated once: printed, shown in notebooks, handed to libraries and files.

A `ResultColumn` states its name, heading, unit, formats and values; text, HTML, JSON, CSV, Arrow, data frames and the
tables of verbs read that.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.extras import optional

Cells = list[list[str]]

EVERYWHERE, NOWHERE = ("text", "page", "groups"), ()
"""Tables for people that have a column."""

_LEAST_P_VALUE = 1e-14


@dataclass(frozen=True, slots=True, eq=False)
class ResultColumn:
    """A column of a result.

    Attributes:
        name: for programs and in files.
        values: ``(rows,)``.
        heading: in tables of text and HTML; the name with spaces if empty.
        unit: of the values: ``"text"``; ``"mark"``, true or false; ``"share"``, of people; ``"p-value"``; or another
            number.
        format: of a number in tables of text and HTML, or a function that spells it.
        page_heading: in tables of verbs; as elsewhere if empty.
        page_format: in tables of verbs; as elsewhere if empty, and of shares percentages.
        shown: where people see it: in ``"text"`` and HTML, on the ``"page"`` of a verb, and that of ``"groups"``;
            data frames, Arrow and files have every column.
    """

    name: str
    values: AnyArray
    heading: str = ""
    unit: Literal["text", "mark", "share", "p-value", "number"] = "number"
    format: str | Callable[[Any], str] = ".4f"
    page_heading: str = ""
    page_format: str = ""
    shown: Collection[str] = EVERYWHERE

    def at(self, rows: IntArray | slice) -> "ResultColumn":
        """Return the column of some rows."""
        return replace(self, values=self.values[rows])

    def cells(self) -> list[str]:
        """Return heading and cells for tables of text and HTML."""
        if self.unit == "mark":
            return ["", *(self.name if value else "" for value in self.values)]
        return [self._heading, *(self._spelled(value, self.format) for value in self.values)]

    def page_cells(self) -> list[str]:
        """Return heading and cells for tables of verbs."""
        heading = self.page_heading or self._heading
        if self.unit == "mark":
            return [heading, *("yes" if value else "no" for value in self.values)]
        spec = self.page_format or (".4%" if self.unit == "share" else self.format)
        return [heading, *(self._spelled(value, spec) for value in self.values)]

    @property
    def _heading(self) -> str:
        return self.heading or self.name.replace("_", " ")

    def _spelled(self, value: Any, spec: str | Callable[[Any], str]) -> str:
        if self.unit == "p-value":
            return spelled_p_value(value)
        if self.unit == "text":
            return str(value)
        return spec(value) if callable(spec) else format(value, spec)


def text_column(name: str, texts: Iterable[str], *, shown: Collection[str] = EVERYWHERE) -> ResultColumn:
    """Return a column of texts."""
    return ResultColumn(name, np.array(list(texts), dtype=np.dtypes.StringDType()), unit="text", shown=shown)


def label_columns(labels: Mapping[str, AnyArray], columns: Sequence[ResultColumn]) -> dict[str, AnyArray]:
    """Return named columns, those of labels first; one of these that bears the name of another is called label_..."""
    named = {column.name: column.values for column in columns}
    return {f"label_{name}" if name in named else name: column for name, column in labels.items()} | named


def objects(columns: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return columns as one object per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def rows_of(columns: Iterable[ResultColumn], place: str = "text") -> Cells:
    """Return a heading and rows of the columns that are shown in a place; p-values stand last on pages."""
    here = [column for column in columns if place in column.shown]
    if place == "text":
        listed = [column.cells() for column in here]
    else:
        listed = [column.page_cells() for column in sorted(here, key=lambda column: column.unit == "p-value")]
    return [list(row) for row in zip(*listed, strict=True)]


def as_text(cells: Cells, below: str) -> str:
    """Return cells in aligned columns, texts to the left and numbers to the right, and lines below them."""
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    sides = [str.ljust, str.ljust, *[str.rjust] * (len(widths) - 2)]
    lines = ["  ".join(side(cell, wide) for side, cell, wide in zip(sides, row, widths, strict=True)) for row in cells]
    return "\n".join(f"  {line}".rstrip() for line in [*lines, *below.splitlines()])


def as_html(title: str, cells: Cells, below: str) -> str:
    """Return cells as a table of HTML under a title; every text in it is escaped."""
    head, *rows = [[escape(cell) for cell in row] for row in cells]

    def line(row: Sequence[str], tag: str) -> str:
        sides = ["left" if at < 2 else "right" for at in range(len(row))]
        inner = "".join(
            f'<{tag} style="text-align:{side}">{cell}</{tag}>' for cell, side in zip(row, sides, strict=True)
        )
        return f"<tr>{inner}</tr>"

    body = "".join(line(row, "td") for row in rows)
    foot = "".join(f"<p>{escape(line)}</p>" for line in below.splitlines())
    return (
        f"<table><caption>{escape(title)}</caption><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>{foot}"
    )


def facts_as_html(title: str, facts: Mapping[str, str], below: str) -> str:
    """Return figures by name as a table of HTML under a title; every text in it is escaped."""
    return as_html(title, [["figure", "value"], *([name, value] for name, value in facts.items())], below)


def number_of(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, in the plural (with an s unless given) but of 1."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def spelled_p_value(p_value: float, *, sign: bool = False) -> str:
    """Return a p-value as it is shown; below what is worked out, as less than that.

    Args:
        p_value: the p-value.
        sign: whether it begins with "=" or "<" always.
    """
    if p_value < _LEAST_P_VALUE:
        return f"<{_LEAST_P_VALUE:g}"
    return f"{'=' if sign else ''}{p_value:.2g}"


class ResultTable:
    """A result with named columns, of which some rows are printed under a heading.

    The methods that hand the columns over take the arguments of `columns`.
    """

    __slots__ = ()

    @property
    def heading(self) -> str:
        """The kind of result and its size, in a line."""
        raise NotImplementedError

    def stated(self, *asked: Any, **named: Any) -> Sequence[ResultColumn]:
        """Return the columns, beside those of labels: the one place where they are stated."""
        raise NotImplementedError

    def columns(self, *asked: Any, **named: Any) -> dict[str, AnyArray]:
        """Return the named columns."""
        return {column.name: column.values for column in self.stated(*asked, **named)}

    def _shown(self) -> tuple[Cells, str]:
        """Return the rows that are printed, and lines below them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.heading}\n{as_text(*self._shown())}"

    def _repr_html_(self) -> str:
        return as_html(self.heading, *self._shown())

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the columns as a stream of Arrow, which polars, pandas, DuckDB and Arrow read as a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_arrow(self, *asked: Any, **named: Any) -> Any:
        """Return a `pyarrow.Table` of `columns`, whose arguments it takes."""
        from discreet.core.arrow import table_of

        return table_of(self.columns(*asked, **named))

    def to_pandas(self, *asked: Any, **named: Any) -> Any:
        """Return a `pandas.DataFrame` of `columns`, whose arguments it takes."""
        return optional("pandas").DataFrame(_plain(self.columns(*asked, **named)))

    def to_polars(self, *asked: Any, **named: Any) -> Any:
        """Return a `polars.DataFrame` of `columns`, whose arguments it takes."""
        return optional("polars").from_arrow(self.to_arrow(*asked, **named))

    def to_csv(self, path: str | Path, *asked: Any, **named: Any) -> None:
        """Write `columns`, whose arguments it takes too, as a CSV file with a header; an existing file is replaced."""
        from pyarrow import csv

        csv.write_csv(self.to_arrow(*asked, **named), str(path))


def _plain(columns: Mapping[str, AnyArray]) -> dict[str, Any]:
    return {
        name: cells.tolist() if cells.dtype.kind == "T" else np.ascontiguousarray(cells)
        for name, cells in columns.items()
    }
