"""Label spaces: the names of values, and the codes of a column of values.

A label space knows its size, encodes values to codes 0..size - 1 (``OUTSIDE`` and ``MISSING`` mark the others), and
names codes. Here are the flat ones, integers and text; others are `discreet.core.products` and `discreet.core.grids`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from discreet.arrays import AnyArray, IntArray
from discreet.core import columns
from discreet.core.columns import MISSING, OUTSIDE
from discreet.errors import DataError, ParameterError


class LabelSpace(Protocol):
    """The interface of label spaces: labels, their codes, and a description for fingerprints."""

    @property
    def size(self) -> int:
        """Number of labels."""
        ...

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes; OUTSIDE for values without a label, MISSING for missing ones."""
        ...

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return named columns, each ``(n,)``, that spell the codes out."""
        ...

    def describe(self) -> dict[str, Any]:
        """Return a JSON-ready description that determines the space."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRange:
    """The integers start..start + size - 1, kept as two numbers."""

    start: int
    size: int

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes."""
        codes = columns.integers(values)
        if not len(codes):
            return codes
        low, high, stop = int(codes.min()), int(codes.max()), self.start + self.size
        if self.start <= low and high < stop:
            return codes - self.start
        return np.where((codes < self.start) | (codes >= stop), OUTSIDE, codes - self.start)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the integers."""
        return {"value": codes + self.start}

    def describe(self) -> dict[str, Any]:
        """Return the two numbers."""
        return {"range": [self.start, self.start + self.size]}


@dataclass(frozen=True, slots=True, eq=False)
class Integers:
    """A list of integer labels in the order given."""

    labels: IntArray
    order: IntArray

    @property
    def size(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes."""
        wanted = columns.integers(values)
        place = np.searchsorted(self.labels, wanted, sorter=self.order)
        codes = self.order[np.minimum(place, self.size - 1)]
        return np.where(self.labels[codes] == wanted, codes, OUTSIDE)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the labels."""
        return {"value": self.labels[codes]}

    def describe(self) -> dict[str, Any]:
        """Return a digest of the labels."""
        return {"integers": hashlib.sha256(self.labels.astype("<i8").tobytes()).hexdigest(), "size": self.size}


@dataclass(frozen=True, eq=False)
class Texts:
    """A list of text labels in the order given; an array of variable-length strings."""

    labels: AnyArray

    @property
    def size(self) -> int:
        """Number of labels."""
        return len(self.labels)

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes.

        NumPy's texts of fixed width (dtype U) cannot end in NUL: it is taken for what fills them up.
        """
        plain = columns.listed(values)
        if plain is None:
            return self._encode_arrow(values)
        if self._ends_in_nul and isinstance(values, np.ndarray) and values.dtype.kind == "U":
            raise DataError("texts of fixed width lose a NUL at their end, as some labels have; give a list of texts.")
        try:
            codes = np.fromiter(map(self._codes.get, plain, repeat(OUTSIDE)), np.int64, len(plain))
        except TypeError:
            raise DataError("values must all be text, as the labels are, got lists or the like.") from None
        outside = np.flatnonzero(codes == OUTSIDE)
        if len(outside):
            codes[columns.places_of_other(plain, outside.tolist())] = MISSING
        return codes

    def _encode_arrow(self, values: Any) -> IntArray:
        import pyarrow as pa

        from discreet.core.arrow_memory import numbers, present

        column, known = columns.text(values), self._known
        if pa.types.is_dictionary(column.type):
            of_dictionary = _index_in(column.dictionary.cast(pa.large_string()), known)
            indices = np.where(present(column.indices), numbers(column.indices), 0)
            codes = of_dictionary[indices] if len(of_dictionary) else np.full(len(column), OUTSIDE, dtype=np.int64)
        else:
            codes = _index_in(column, known)
        if column.null_count:
            codes = np.where(present(column), codes, MISSING)
        return codes

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels.tolist())}

    @cached_property
    def _ends_in_nul(self) -> bool:
        return any(label.endswith("\0") for label in self.labels.tolist())

    @cached_property
    def _known(self) -> Any:
        from discreet.core.arrow_memory import texts_of

        return texts_of(self.labels.tolist(), large=True)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the labels."""
        return {"value": self.labels[codes]}

    def describe(self) -> dict[str, Any]:
        """Return a digest of the labels."""
        spelled = json.dumps(self.labels.tolist(), ensure_ascii=False).encode()
        return {"texts": hashlib.sha256(spelled).hexdigest(), "size": self.size}


def _index_in(column: Any, known: Any) -> IntArray:
    import pyarrow.compute as pc

    from discreet.core.arrow_memory import numbers, present

    codes = pc.index_in(column, options=pc.SetLookupOptions(value_set=known))
    return np.where(present(codes), numbers(codes), np.int64(OUTSIDE))


def names(space: LabelSpace, codes: IntArray) -> list[str]:
    """Return one readable name per code."""
    spelled = [column.tolist() for column in space.table(codes).values()]
    # Without the last digits of a centre of a cell, which are rounding.
    return [
        ", ".join(f"{part:.9g}" if isinstance(part, float) else str(part) for part in row)
        for row in zip(*spelled, strict=True)
    ]


def flat(labels: Any, wanted: str = "labels") -> LabelSpace:
    """Make a flat label space of integers or text.

    Raises:
        ParameterError: if labels are empty, repeated, of mixed kinds, or neither integers nor text.
    """
    if isinstance(labels, range) and labels.step == 1:
        if labels.start < -(1 << 63) or labels.stop > 1 << 63:
            raise ParameterError(f"{wanted} must fit into 64 signed bits.")
        return IntegerRange(labels.start, _at_least_one(len(labels), wanted))
    if not isinstance(labels, Iterable) or isinstance(labels, str | bytes | Mapping):
        raise ParameterError(f"{wanted} must be a sequence of integers or text, got {type(labels).__name__}.")
    labels = labels if isinstance(labels, Sized) else list(labels)
    if isinstance(labels, set | frozenset):
        raise ParameterError(
            f"{wanted} must have an order, so that codes do not change; got a set: sort it into a list."
        )
    try:
        spelled = _spelled(labels, wanted) if _looks_like_text(labels) else columns.integers(labels, wanted)
    except DataError as error:
        raise ParameterError(str(error)) from None
    _at_least_one(len(spelled), wanted)
    return _integers(spelled, wanted) if isinstance(spelled, np.ndarray) else _texts(spelled, wanted)


def _looks_like_text(labels: Any) -> bool:
    if isinstance(labels, list | tuple):
        return any(isinstance(label, str) for label in labels)
    kind = getattr(getattr(labels, "dtype", None), "kind", None)
    if isinstance(labels, range) or (kind is not None and kind in "iufb"):
        return False
    sample = np.asarray(labels[:1] if hasattr(labels, "__getitem__") else list(labels)[:1])
    return sample.dtype.kind in "UTO"


def _at_least_one(count: int, wanted: str) -> int:
    if count < 1:
        raise ParameterError(f"{wanted} must hold at least one value, got none.")
    return count


def _integers(labels: IntArray, wanted: str) -> LabelSpace:
    # In Python's integers: a difference of 64-bit integers may wrap.
    if (np.diff(labels) == 1).all() and int(labels[-1]) - int(labels[0]) == len(labels) - 1:
        return IntegerRange(int(labels[0]), len(labels))
    order = np.argsort(labels, kind="stable")
    _refuse_repeated(len(labels) - 1 - int(np.count_nonzero(np.diff(labels[order]))), wanted)
    return Integers(labels.copy(), order)


def _spelled(labels: Any, wanted: str) -> list[Any]:
    """Return labels as texts; None where one is missing."""
    plain = columns.listed(labels, wanted)
    if plain is None:
        return list(columns.text(labels, wanted).to_pylist())
    # Joined, a text of a class of its own, as NumPy's, becomes a plain one as it is; NumPy's own way drops a NUL.
    texts = ["".join((one,)) if isinstance(one, str) else one for one in plain]
    for row in columns.places_of_other(texts, range(len(texts)), wanted):
        texts[row] = None
    return texts


def _texts(names: list[Any], wanted: str) -> LabelSpace:
    missing = names.count(None)
    if missing:
        raise ParameterError(f"{wanted} must not hold missing values, got {missing}.")
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{wanted} must be text that can be written down, got half of a character.") from None
    _refuse_repeated(len(names) - len(set(names)), wanted)
    return Texts(np.array(names, dtype=np.dtypes.StringDType()))


def _refuse_repeated(count: int, wanted: str) -> None:
    if count:
        raise ParameterError(f"{wanted} must be different from each other, got {count} repeated.")
