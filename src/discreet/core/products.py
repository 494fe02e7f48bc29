"""Products of label spaces: every combination of the labels of several attributes, never spelled out."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.labels import LabelSpace
from discreet.core.named_columns import named_columns


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """Every combination of the attributes' labels; the last attribute varies fastest."""

    attributes: dict[str, LabelSpace]

    @property
    def size(self) -> int:
        """Number of combinations."""
        return prod(space.size for space in self.attributes.values())

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of a table with a column for every attribute, or of a list of tuples or mappings."""
        codes = np.zeros(1, dtype=np.int64)
        outside: Any = False
        missing: Any = False
        for name, column in named_columns(values, list(self.attributes)).items():
            space = self.attributes[name]
            part = space.encode(column)
            outside, missing = outside | (part == OUTSIDE), missing | (part == MISSING)
            codes = codes * space.size + part
        return np.where(missing, MISSING, np.where(outside, OUTSIDE, codes))

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return a column for every attribute."""
        columns: dict[str, AnyArray] = {}
        rest = np.asarray(codes)
        for name, space in reversed(self.attributes.items()):
            rest, part = np.divmod(rest, space.size)
            columns[name] = next(iter(space.table(part).values()))
        return dict(reversed(columns.items()))

    def describe(self) -> dict[str, Any]:
        """Return the attributes' descriptions, in order."""
        return {"product": [[name, space.describe()] for name, space in self.attributes.items()]}
