"""Tables of results, as text, HTML, files and columns of Arrow.

Tables of estimates and of other results as text and as HTML, for terminals and notebooks.

Results that are tables: printed, shown in notebooks, and handed to pandas, polars, Arrow, DuckDB and files.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.extras import optional

Cells = list[list[str]]

_LEAST_P_VALUE = 1e-14


def table_cells(names: Sequence[str], columns: Mapping[str, AnyArray]) -> Cells:
    """Return a heading and a row per value: its name, whether it is sensitive, and numbers to four places.

    Args:
        names: of the values.
        columns: of numbers, and ``sensitive``.
    """
    numbers = {name: column for name, column in columns.items() if name != "sensitive"}
    heading = ["value", "", *(name.replace("_", " ") for name in numbers)]
    marks = ["sensitive" if one else "" for one in columns["sensitive"]]
    rows = zip(names, marks, *([f"{number:.4f}" for number in column] for column in numbers.values()), strict=True)
    return [heading, *(list(row) for row in rows)]


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

    def columns(self, *asked: Any, **named: Any) -> dict[str, AnyArray]:
        """Return the named columns."""
        raise NotImplementedError

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
        import pyarrow as pa

        from discreet.core.arrow import column_of

        columns = self.columns(*asked, **named)
        return pa.Table.from_arrays([column_of(column) for column in columns.values()], list(columns))

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
    return {name: one.tolist() if one.dtype.kind == "T" else np.ascontiguousarray(one) for name, one in columns.items()}
