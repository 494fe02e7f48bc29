"""Results that are tables: printed, shown in notebooks, and handed to pandas, polars, Arrow, DuckDB and files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.estimate_table import Cells, as_html, as_text
from discreet.extras import optional


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

        from discreet.core.arrow_memory import column_of

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
