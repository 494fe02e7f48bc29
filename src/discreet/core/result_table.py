"""Tables of results, for terminals, HTML, web pages, JSON, CSV and Arrow.

A `ResultTable` has a title, columns and notes. The kind of a `ResultColumn` decides how its values are written and
aligned. A `TabularResult` is a result that can be shown as such tables.

Python and notebooks show the names of columns, and shares as fractions (*plain*). The command line and web pages show
headings and percentages.

In JSON a number that is not finite is one of the texts "Infinity", "-Infinity" and "NaN", which most languages turn
back into the number; null means a missing number.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from html import escape
from operator import attrgetter
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.other_names import OtherNames
from discreet.extras import optional

Cells = list[list[str]]
Format = str | Callable[[Any], str]
Kind = Literal["text", "mark", "count", "share", "probability", "error", "number", "figure", "p-value"]

_LEAST_P_VALUE = 1e-14


def p_value_text(p_value: float, *, sign: bool = False) -> str:
    """Return a p-value as text; below 1e-14, the least p-value that is computed, "<1e-14".

    Args:
        p_value: the p-value.
        sign: whether the text always begins with "=" or "<".
    """
    if p_value < _LEAST_P_VALUE:
        return f"<{_LEAST_P_VALUE:g}"
    return f"{'=' if sign else ''}{p_value:.2g}"


def rounded_by(value: float, error: float) -> str:
    """Return a number with two significant digits of its error; five digits if the error is 0 or infinite.

    Example:
        >>> rounded_by(0.0000123456, 0.0000021), rounded_by(1234.5, 310.0), rounded_by(2.0, 0.0)
        ('0.0000123', '1230', '2')
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return f"{value:.5g}"
    places = _places(error)
    if places <= _MOST_PLACES and abs(value) < _LARGE:
        # Adding 0.0 removes the minus of -0.0.
        return f"{round(value, places) + 0.0:.{max(places, 0)}f}"
    digits = 1 + places + (math.floor(math.log10(abs(value))) if value else 0)
    return f"{value:.{max(digits, 1)}g}"


def _places(error: float) -> int:
    """Return the number of decimals with which an error has two significant digits; negative for large errors."""
    return 1 - math.floor(math.log10(error))


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
    "p-value": p_value_text,
}
_PERCENTAGES: Mapping[Format, str] = {"%": "", "+%": "+"}
"""Formats of shares and of differences of shares, with their sign: a table chooses the decimals."""
_DECIMALS, _MOST_DECIMALS = 2, 4
# Longer numbers are written with an exponent.
_MOST_PLACES, _LARGE = 8, 1e6
_LEFT = ("text", "mark")


@dataclass(frozen=True, slots=True, eq=False)
class ResultColumn:
    """A column of a result table.

    Attributes:
        name: name for programs, in files and in Python; empty if only people see the column.
        values: ``(rows,)``; None for a missing value.
        kind: ``"text"``; ``"mark"``, true or false; ``"count"``; ``"share"``, of people; ``"probability"``;
            ``"error"``; ``"number"``; ``"figure"``, a number that is text already; ``"p-value"``.
        heading: heading with the unit, for people; if empty, the name with spaces.
        format: format of a value, or a function that returns its text; if empty, the kind's. ``"+%"`` is a signed
            percentage.
        shown: whether people see it; programs and files get every column.
        errors: ``(rows,)`` standard errors, by which numbers are rounded; None if the format decides.
    """

    name: str
    values: Sequence[Any] | AnyArray
    kind: Kind = "number"
    heading: str = ""
    format: Format = ""
    shown: bool = True
    errors: AnyArray | None = None

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
        """Return the column with an attribute of each object; without a heading, only programs see the column.

        Args:
            rows: the objects, one for each row.
            name: name for programs; empty if only people see the column.
            attribute: name of the attribute, such as ``central.among.upper``, or a function of an object.
            heading: heading for people.
            format: as for `ResultColumn`.
            kind: as for `ResultColumn`.
        """
        value = attrgetter(attribute) if isinstance(attribute, str) else attribute
        return cls(name, [value(row) for row in rows], kind, heading, format, bool(heading))

    def at(self, rows: IntArray | slice) -> "ResultColumn":
        """Return some rows of a result column as a result column."""
        values: Any = self.values
        return replace(self, values=values[rows], errors=None if self.errors is None else self.errors[rows])

    @property
    def array(self) -> AnyArray:
        """The values of a result column as a NumPy array."""
        values = np.asarray(self.values)
        return values.astype(np.dtypes.StringDType()) if values.dtype.kind == "U" else values

    def cells(self, *, plain: bool = False, decimals: int = _DECIMALS) -> list[str]:
        """Return the heading and the values of a result column as texts; a missing value is a dash.

        Args:
            plain: whether shares are fractions, as in Python.
            decimals: decimals of percentages; fractions have two more.
        """
        name = self.name.replace("_", " ")
        if plain and self.kind == "mark":
            return ["", *(name if value else "" for value in self.values)]
        heading = name or self.heading if plain else self.heading or name
        if self.errors is not None:
            return [heading, *map(rounded_by, np.asarray(self.values, float), self.errors)]
        form = self.format or _FORMATS[self.kind]
        if plain and self.kind == "share":
            form = f".{decimals + 2}f"
        elif form in _PERCENTAGES:
            form = f"{_PERCENTAGES[form]}.{decimals}%"
        write = form if callable(form) else lambda value: format(value, form)
        return [heading, *("-" if value is None else write(value) for value in self.values)]


def text_column(name: str, texts: Iterable[str]) -> ResultColumn:
    """Return a result column of texts."""
    return ResultColumn(name, np.array(list(texts), dtype=np.dtypes.StringDType()), "text")


def label_columns(labels: Mapping[str, AnyArray], columns: Sequence[ResultColumn]) -> list[ResultColumn]:
    """Return columns of labels before other columns; a label column whose name is taken is called label_..."""
    reserved = {column.name for column in columns}
    named = ((f"label_{name}" if name in reserved else name, values) for name, values in labels.items())
    return [*(ResultColumn(name, values, shown=False) for name, values in named), *columns]


def number_of(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun, such as "1 row" or "2 rows"; ``nouns`` is the plural if it does not end in s."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


class TabularResult(OtherNames):
    """A result that can be shown as a table in Python and notebooks, and converted for libraries and files.

    All conversions take the arguments of `table`.

    Attributes:
        about: a text on the people or values of the table; empty if the columns say everything.
    """

    about: str = ""
    other_names: ClassVar[Mapping[str, str]] = {
        "to_dict": "to_pandas().to_dict(), or table().records() for a dictionary of each row",
        "to_frame": "to_pandas or to_polars",
        "loc": "[value] for one value, or to_pandas().loc",
        "conf_int": "interval",
        "confidence_interval": "interval",
        "std_err": "standard_errors",
        "shares": "frequencies",
    }

    __slots__ = ()

    def table(self, *asked: Any, **named: Any) -> "ResultTable":
        """Return all columns and rows of a result as a table."""
        raise NotImplementedError

    def view(self) -> "ResultTable":
        """Return the table that Python and notebooks show, with notes."""
        return self.table()

    def columns(self, *asked: Any, **named: Any) -> dict[str, AnyArray]:
        """Return the columns of a result's table as arrays, by name."""
        return {column.name: column.array for column in self.table(*asked, **named).contents if column.name}

    def __repr__(self) -> str:
        return self.view().text()

    def _repr_html_(self) -> str:
        return self.view().html()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the columns as an Arrow stream, which polars, pandas, DuckDB and Arrow read as a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_arrow(self, *asked: Any, **named: Any) -> Any:
        """Return the columns as a `pyarrow.Table`, with `about` in its metadata; arguments are as for `columns`."""
        from discreet.core.arrow import table_of

        table = table_of(self.columns(*asked, **named))
        return table.replace_schema_metadata({"about": self.about}) if self.about else table

    def to_pandas(self, *asked: Any, **named: Any) -> Any:
        """Return the columns as a `pandas.DataFrame`; arguments are as for `columns`."""
        columns = self.columns(*asked, **named).items()
        arrays = {
            name: cells.tolist() if cells.dtype.kind == "T" else np.ascontiguousarray(cells) for name, cells in columns
        }
        return optional("pandas").DataFrame(arrays)

    def to_polars(self, *asked: Any, **named: Any) -> Any:
        """Return the columns as a `polars.DataFrame`; arguments are as for `columns`."""
        return optional("polars").from_arrow(self.to_arrow(*asked, **named))

    def to_csv(self, path: str | Path | BinaryIO, *asked: Any, **named: Any) -> None:
        """Write the columns as CSV with a header to a new or an open file; other arguments are as for `columns`."""
        from pyarrow import csv

        csv.write_csv(self.to_arrow(*asked, **named), path if hasattr(path, "write") else str(path))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ResultTable(TabularResult):
    """A table with a title, columns and notes.

    Attributes:
        title: text above the table.
        contents: the columns.
        notes: sentences below the table.

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
        """Return a table of cells that are already text; the first ``left`` columns are text, the others numbers."""
        columns = [
            ResultColumn("", [row[at] for row in rows], "text" if at < left else "figure", heading)
            for at, heading in enumerate(headings)
        ]
        return cls(title, columns, notes)

    @classmethod
    def joined(cls, title: str, tables: Sequence["ResultTable"]) -> "ResultTable":
        """Return one table with the rows of several tables that have the same columns."""
        columns = zip(*(table.contents for table in tables), strict=True)
        whole = [
            replace(
                parts[0],
                values=np.concatenate([part.array for part in parts]),
                errors=None if parts[0].errors is None else np.concatenate([part.errors for part in parts]),
            )
            for parts in columns
        ]
        return cls(title, whole)

    @classmethod
    def of_figures(cls, title: str, figures: Mapping[str, str], *notes: str) -> "ResultTable":
        """Return a table of named figures, one per row."""
        return cls.of(title, ["figure", "value"], list(figures.items()), *notes, left=2)

    def table(self) -> "ResultTable":
        """Return this result table."""
        return self

    def without(self, *names: str) -> "ResultTable":
        """Return a result table without the columns of the given names."""
        return replace(self, contents=[column for column in self.contents if column.name not in names])

    @property
    def visible(self) -> list[ResultColumn]:
        """The columns that people see; columns of p-values come last."""
        listed = [column for column in self.contents if column.shown]
        return sorted(listed, key=lambda column: column.kind == "p-value")

    @property
    def text_columns(self) -> int:
        """Number of text columns at the left; a wide table is divided after these columns."""
        texts = [column.kind in _LEFT for column in self.visible]
        return [*texts, False].index(False)

    def cells(self, *, plain: bool = False) -> Cells:
        """Return the headings and the rows of a result table as texts."""
        columns = (column.cells(plain=plain, decimals=self.decimals) for column in self.visible)
        return [list(row) for row in zip(*columns, strict=True)] or [[]]

    @property
    def decimals(self) -> int:
        """Number of decimals of percentages, so that the smallest standard error has two digits; 2 without errors."""
        arrays = {share.name: np.array(share.values, dtype=float) for share in self.contents if share.kind == "share"}
        lower, upper = (arrays.get(name, np.empty(0)) for name in ("lower", "upper"))
        errors = arrays.get("standard_error", (upper - lower) / 4)
        least = min((float(error) for error in errors if 0 < error < math.inf), default=0.0)
        return min(max(_places(least) - 2, 0), _MOST_DECIMALS) if least else _DECIMALS

    def records(self) -> list[dict[str, Any]]:
        """Return a dictionary for each row of a result table, for JSON."""
        named = {column.name: column.values for column in self.contents if column.name}
        lists = [values.tolist() if hasattr(values, "tolist") else values for values in named.values()]
        return [dict(zip(named, row, strict=True)) for row in zip(*lists, strict=True)]

    def text(self) -> str:
        """Return the title, the aligned columns and the notes as text, as Python shows a table."""
        cells = self.cells(plain=True)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        sides = [str.ljust if column.kind in _LEFT else str.rjust for column in self.visible]
        lines = [
            "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in cells
        ]
        below = [line for note in self.notes for line in note.splitlines()]
        return "\n".join([self.title, *(f"  {line}".rstrip() for line in [*lines, *below])])

    def html(self) -> str:
        """Return the table as HTML with notes, as notebooks show it; every text in it is escaped."""
        table = self._tagged(' style="text-align:left"', ' style="text-align:right"', plain=True)
        return table + "".join(f"<p>{escape(line)}</p>" for note in self.notes for line in note.splitlines())

    def __html__(self) -> str:
        """Return the table as HTML for a web page, without notes; Jinja2 inserts it unescaped.

        A wide table scrolls within a region that the keyboard can focus.
        """
        region = f'<div class="wide" role="region" tabindex="0" aria-label="{escape(self.title)}">'
        table = self._tagged("", ' class="number"', plain=False)
        return f"{region}{table}</div>"

    def _tagged(self, text: str, number: str, *, plain: bool) -> str:
        """Return a result table as HTML with the given attributes of cells.

        ``text`` and ``number`` are the HTML attributes of cells with text and with numbers.
        """
        sides = [text if column.kind in _LEFT else number for column in self.visible]

        def line(row: Iterable[str], tag: str, about: str = "") -> str:
            cells = (f"<{tag}{about}{side}>{escape(cell)}</{tag}>" for cell, side in zip(row, sides, strict=True))
            return f"<tr>{''.join(cells)}</tr>"

        head, *rows = self.cells(plain=plain)
        body = "".join(line(row, "td") for row in rows)
        # A column of marks has no heading in text, but screen readers need a heading for every column.
        head = [cell or column.name for cell, column in zip(head, self.visible, strict=True)]
        title, heads = f"<caption><span>{escape(self.title)}</span></caption>", line(head, "th", ' scope="col"')
        return f"<table>{title}<thead>{heads}</thead><tbody>{body}</tbody></table>"


def json_text(facts: Any, *, indent: int | None = None) -> str:
    """Return facts as JSON that every parser accepts; nan and infinities become texts.

    Args:
        facts: mappings, sequences, texts, and numbers, also NumPy's; anything else becomes its text.
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
    # An object without a form in JSON, such as a path or a fraction, becomes its text.
    return fact if fact is None or isinstance(fact, str | int | float) else str(fact)
