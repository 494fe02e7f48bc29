"""Tables that are shown: one noun for terminals, HTML, pages, JSON, CSV and Arrow.

A `ResultTable` has a title, columns and notes. The kind of a `ResultColumn` decides how its values are written and
aligned. A `TabularResult` is a result that makes such tables of itself.

Python and notebooks show the names of columns and shares as fractions (*plain*). Verbs and pages show headings and
percentages.

In JSON a number that is not finite is one of the texts "Infinity", "-Infinity" and "NaN", which most languages turn
back into the number; null says that there is no such number.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.extras import optional

Cells = list[list[str]]
Format = str | Callable[[Any], str]
Kind = Literal["text", "mark", "count", "share", "probability", "error", "number", "figure", "p-value"]

_LEAST_P_VALUE = 1e-14


def spelled_p_value(p_value: float, *, sign: bool = False) -> str:
    """Return a p-value as text; a very small one as less than the least that is computed.

    Args:
        p_value: the p-value.
        sign: whether it begins with "=" or "<" always.
    """
    if p_value < _LEAST_P_VALUE:
        return f"<{_LEAST_P_VALUE:g}"
    return f"{'=' if sign else ''}{p_value:.2g}"


def _yes_or_no(value: Any) -> str:
    return "yes" if value else "no"


_FORMATS: Mapping[Kind, Format] = {
    "text": "",
    "mark": _yes_or_no,
    "count": ",",
    "share": "%",
    "probability": ".4g",
    "error": ".3e",
    "number": ".4f",
    "figure": "",
    "p-value": spelled_p_value,
}
_PERCENTAGES: Mapping[Format, str] = {"%": "", "+%": "+"}
"""Formats of shares and of differences of shares, with their sign: a table chooses the decimals."""
_MOST_DECIMALS = 4
_LEFT = ("text", "mark")


@dataclass(frozen=True, slots=True, eq=False)
class ResultColumn:
    """A column of a table that is shown.

    Attributes:
        name: for programs, in files and in Python; empty if only readers of verbs and pages see it.
        values: ``(rows,)``; None for a missing value.
        kind: ``"text"``; ``"mark"``, true or false; ``"count"``; ``"share"``, of people; ``"probability"``;
            ``"error"``; ``"number"``; ``"figure"``, a number that is text already; ``"p-value"``.
        heading: with the unit, for readers; the name with spaces if empty.
        format: of a value, or a function that returns its text; by the kind if empty. ``"+%"`` is a signed percentage.
        shown: whether people see it; programs and files get every column.
    """

    name: str
    values: Sequence[Any] | AnyArray
    kind: Kind = "number"
    heading: str = ""
    format: Format = ""
    shown: bool = True

    @classmethod
    def of(
        cls,
        rows: Iterable[Any],
        name: str,
        attribute: str | Callable[[Any], Any],
        heading: str = "",
        format: Format = "",  # noqa: A002
        kind: Kind = "figure",
    ) -> "ResultColumn":
        """Return the column of an attribute of objects; without a heading only programs see it.

        Args:
            rows: the objects, one for each row.
            name: for programs; empty if only people see it.
            attribute: its name, such as ``central.among.upper``, or a function of an object.
            heading: for people.
            format: as the attribute.
            kind: as the attribute.
        """
        value = attrgetter(attribute) if isinstance(attribute, str) else attribute
        return cls(name, [value(row) for row in rows], kind, heading, format, bool(heading))

    def at(self, rows: IntArray | slice) -> "ResultColumn":
        """Return the column of some rows."""
        values: Any = self.values
        return replace(self, values=values[rows])

    @property
    def array(self) -> AnyArray:
        """The values as an array."""
        values = np.asarray(self.values)
        return values.astype(np.dtypes.StringDType()) if values.dtype.kind == "U" else values

    def cells(self, *, plain: bool = False, decimals: int = 4) -> list[str]:
        """Return the heading and a cell for each value; a missing value is a dash.

        Args:
            plain: whether shares are fractions, as in Python.
            decimals: of percentages.
        """
        name = self.name.replace("_", " ")
        if plain and self.kind == "mark":
            return ["", *(name if value else "" for value in self.values)]
        heading = name or self.heading if plain else self.heading or name
        form = self.format or _FORMATS[self.kind]
        if plain and self.kind == "share":
            form = ".4f"
        elif form in _PERCENTAGES:
            form = f"{_PERCENTAGES[form]}.{decimals}%"
        write = form if callable(form) else lambda value: format(value, form)
        return [heading, *("-" if value is None else write(value) for value in self.values)]


def text_column(name: str, texts: Iterable[str]) -> ResultColumn:
    """Return a column of texts."""
    return ResultColumn(name, np.array(list(texts), dtype=np.dtypes.StringDType()), "text")


def label_columns(labels: Mapping[str, AnyArray], columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """Return columns after the columns of labels; a label with the name of another column is called label_..."""
    reserved = {column.name for column in columns}
    named = ((f"label_{name}" if name in reserved else name, values) for name, values in labels.items())
    return [*(ResultColumn(name, values, shown=False) for name, values in named), *columns]


def number_of(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, in the plural (with an s unless given) but of 1."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


class TabularResult:
    """A result that is a table: printed in Python, shown in notebooks, and converted for libraries and files.

    Its conversions take the arguments of `table`.
    """

    __slots__ = ()

    def table(self, *asked: Any, **named: Any) -> "ResultTable":
        """Return all columns and rows."""
        raise NotImplementedError

    def view(self) -> "ResultTable":
        """Return the table that Python and notebooks show, with notes."""
        return self.table()

    def columns(self, *asked: Any, **named: Any) -> dict[str, AnyArray]:
        """Return the named columns."""
        return {column.name: column.array for column in self.table(*asked, **named).contents if column.name}

    def __repr__(self) -> str:
        return self.view().text()

    def _repr_html_(self) -> str:
        return self.view().html()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the columns as a stream of Arrow, which polars, pandas, DuckDB and Arrow read as a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_arrow(self, *asked: Any, **named: Any) -> Any:
        """Return a `pyarrow.Table` of `columns`, whose arguments it takes."""
        from discreet.core.arrow import table_of

        return table_of(self.columns(*asked, **named))

    def to_pandas(self, *asked: Any, **named: Any) -> Any:
        """Return a `pandas.DataFrame` of `columns`, whose arguments it takes."""
        columns = self.columns(*asked, **named).items()
        arrays = {
            name: cells.tolist() if cells.dtype.kind == "T" else np.ascontiguousarray(cells) for name, cells in columns
        }
        return optional("pandas").DataFrame(arrays)

    def to_polars(self, *asked: Any, **named: Any) -> Any:
        """Return a `polars.DataFrame` of `columns`, whose arguments it takes."""
        return optional("polars").from_arrow(self.to_arrow(*asked, **named))

    def to_csv(self, path: str | Path | BinaryIO, *asked: Any, **named: Any) -> None:
        """Write `columns`, whose arguments it takes too, as CSV with a header to a new or an open file."""
        from pyarrow import csv

        csv.write_csv(self.to_arrow(*asked, **named), path if hasattr(path, "write") else str(path))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ResultTable(TabularResult):
    """A table with a title, columns and notes.

    Attributes:
        title: above it.
        contents: the columns.
        notes: sentences below it.

    Example:
        >>> bits = ResultColumn("bits", np.array([2.0, 1.5]), heading="bits <=", format=".1f")
        >>> table = ResultTable("Two plans", [text_column("plan", ["a", "b"]), bits])
        >>> table
        Two plans
          plan  bits
          a      2.0
          b      1.5
        >>> table.cells()[0], table.records()[1]
        (['plan', 'bits <='], {'plan': 'b', 'bits': 1.5})
    """

    title: str
    contents: Sequence[ResultColumn]
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], *notes: str, left: int = 1
    ) -> "ResultTable":
        """Return the table of cells that are text already: the first ``left`` columns are text, the others figures."""
        columns = [
            ResultColumn("", [row[at] for row in rows], "text" if at < left else "figure", heading)
            for at, heading in enumerate(headings)
        ]
        return cls(title, columns, notes)

    @classmethod
    def joined(cls, title: str, tables: Sequence["ResultTable"]) -> "ResultTable":
        """Return tables with the same columns as one, one below the other."""
        columns = zip(*(table.contents for table in tables), strict=True)
        whole = [replace(parts[0], values=np.concatenate([part.array for part in parts])) for parts in columns]
        return cls(title, whole)

    @classmethod
    def of_figures(cls, title: str, figures: Mapping[str, str], *notes: str) -> "ResultTable":
        """Return the table of figures by name."""
        return cls.of(title, ["figure", "value"], list(figures.items()), *notes, left=2)

    def table(self) -> "ResultTable":
        """Return the table itself."""
        return self

    def without(self, *names: str) -> "ResultTable":
        """Return the table without some columns."""
        return replace(self, contents=[column for column in self.contents if column.name not in names])

    @property
    def shown(self) -> list[ResultColumn]:
        """The columns that people see; p-values stand last."""
        listed = [column for column in self.contents if column.shown]
        return sorted(listed, key=lambda column: column.kind == "p-value")

    @property
    def left(self) -> int:
        """Number of columns at the left that are text; wide tables are divided behind them."""
        texts = [column.kind in _LEFT for column in self.shown]
        return [*texts, False].index(False)

    def cells(self, *, plain: bool = False) -> Cells:
        """Return headings and rows as texts."""
        columns = (column.cells(plain=plain, decimals=self.decimals) for column in self.shown)
        return [list(row) for row in zip(*columns, strict=True)] or [[]]

    @property
    def decimals(self) -> int:
        """Decimals of percentages: two digits of the smallest standard error in the table; 4 without one."""
        shares = [column for column in self.contents if column.kind == "share"]
        arrays = {column.name: np.array(column.values, dtype=float) for column in shares}
        lower, upper = (arrays.get(name, np.empty(0)) for name in ("lower", "upper"))
        errors = arrays.get("standard_error", (upper - lower) / 4)
        least = min((float(error) for error in errors if error > 0), default=0.0)
        return min(max(-1 - math.floor(math.log10(least)), 0), _MOST_DECIMALS) if least else _MOST_DECIMALS

    def records(self) -> list[dict[str, Any]]:
        """Return one object for each row, for JSON."""
        named = {column.name: column.values for column in self.contents if column.name}
        lists = [values.tolist() if hasattr(values, "tolist") else values for values in named.values()]
        return [dict(zip(named, row, strict=True)) for row in zip(*lists, strict=True)]

    def text(self) -> str:
        """Return title, aligned columns and notes, as Python shows them."""
        cells = self.cells(plain=True)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        sides = [str.ljust if column.kind in _LEFT else str.rjust for column in self.shown]
        lines = [
            "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in cells
        ]
        below = [line for note in self.notes for line in note.splitlines()]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in [*lines, *below])])

    def html(self) -> str:
        """Return a table of HTML with notes, as notebooks show it; every text in it is escaped."""
        table = self._tagged(' style="text-align:left"', ' style="text-align:right"', plain=True)
        return table + "".join(f"<p>{escape(line)}</p>" for note in self.notes for line in note.splitlines())

    def __html__(self) -> str:
        """Return a table of a page, without notes; Jinja2 takes it as it is.

        A table that is wider than a phone is moved within a region, which the keyboard finds.
        """
        region = f'<div class="wide" role="region" tabindex="0" aria-label="{escape(self.title)}">'
        table = self._tagged("", ' class="number"', plain=False)
        return f"{region}{table}</div>"

    def _tagged(self, text: str, number: str, *, plain: bool) -> str:
        """Return a table of HTML, with the attributes of cells with text and with numbers."""
        sides = [text if column.kind in _LEFT else number for column in self.shown]

        def line(row: Iterable[str], tag: str, about: str = "") -> str:
            cells = (f"<{tag}{about}{side}>{escape(cell)}</{tag}>" for cell, side in zip(row, sides, strict=True))
            return f"<tr>{''.join(cells)}</tr>"

        head, *rows = self.cells(plain=plain)
        body = "".join(line(row, "td") for row in rows)
        # A column of marks has no heading in text, and every column has one for readers of screens.
        head = [cell or column.name for cell, column in zip(head, self.shown, strict=True)]
        title, heads = f"<caption><span>{escape(self.title)}</span></caption>", line(head, "th", ' scope="col"')
        return f"<table>{title}<thead>{heads}</thead><tbody>{body}</tbody></table>"


def json_text(facts: Any, *, indent: int | None = None) -> str:
    """Return facts as JSON that every parser accepts.

    Args:
        facts: mappings, sequences, texts, and numbers, also NumPy's; anything else stands as its text.
        indent: as for `json.dumps`.
    """
    return json.dumps(_plain(facts), indent=indent, allow_nan=False)


def _plain(fact: Any) -> Any:
    # NumPy's numbers and arrays.
    if hasattr(fact, "tolist"):
        return _plain(fact.tolist())
    if isinstance(fact, float) and not math.isfinite(fact):
        return "NaN" if math.isnan(fact) else "Infinity" if fact > 0 else "-Infinity"
    if isinstance(fact, Mapping):
        return {str(name): _plain(item) for name, item in fact.items()}
    if isinstance(fact, list | tuple | Set):
        return [_plain(item) for item in fact]
    # What has no form in JSON, such as a path or a fraction, stands as its text: nothing fails for its kind.
    return fact if fact is None or isinstance(fact, str | int | float) else str(fact)
