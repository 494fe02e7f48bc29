"""Label spaces: the names of values, and the codes of a column of values.

A label space knows its size, encodes values to codes 0..size - 1 (``OUTSIDE`` and ``MISSING`` mark the others), and
names codes. Flat ones are lists of integers or text, and numbers in bins; products are all combinations of the labels
of several attributes, and grids the rectangular regions of a map. Products and grids are never spelled out.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from math import ceil, log10, prod
from sys import float_info
from typing import Any, ClassVar
from unicodedata import is_normalized
from warnings import warn

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core import columns
from discreet.core.checks import checked_choice, checked_finite, checked_flag, checked_whole
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.reading import composed, readings, tidied
from discreet.errors import DataError, ParameterError


class LabelSpace(ABC):
    """A label space: labels, their codes, and a description for fingerprints."""

    __slots__ = ()

    size: int
    """Number of labels."""
    is_ordered: ClassVar[bool] = True
    """Whether labels are in one order, that of their codes."""

    @abstractmethod
    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes; OUTSIDE for values without a label, MISSING for missing ones."""

    @abstractmethod
    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return named columns, each ``(n,)``, that spell the codes out."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return a JSON-ready description that determines the space."""

    @property
    def parts(self) -> Mapping[str, "LabelSpace"]:
        """The attributes of a product, by name; none elsewhere."""
        return {}

    @property
    def plain(self) -> "LabelSpace":
        """The labels without placeholders."""
        return self

    def names(self, codes: IntArray) -> list[str]:
        """Return one readable name per code."""
        spelled = [column.tolist() for column in self.table(codes).values()]
        # Without the last digits of a centre of a cell, which are rounding.
        return [
            ", ".join(f"{part:.9g}" if isinstance(part, float) else str(part) for part in row)
            for row in zip(*spelled, strict=True)
        ]

    def as_read(self) -> "LabelSpace":
        """Return a space with the same codes that also encodes texts which read like exactly one label.

        Numbers, integers and grids are as they were.

        Example:
            >>> flat(["gesund", "krank"]).as_read().encode(["Krank ", "krank", "Grippe"]).tolist()
            [1, 1, -1]
        """
        return self


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRange(LabelSpace):
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
            return codes - self.start if self.start else codes
        return np.where((codes < self.start) | (codes >= stop), OUTSIDE, codes - self.start)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the integers."""
        return {"value": codes + self.start}

    def describe(self) -> dict[str, Any]:
        """Return the two numbers."""
        return {"range": [self.start, self.start + self.size]}


@dataclass(frozen=True, slots=True, eq=False)
class Integers(LabelSpace):
    """A list of integer labels in the order given."""

    labels: IntArray
    order: IntArray

    @property
    def size(self) -> int:  # type: ignore[override]
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
class Texts(LabelSpace):
    """A list of text labels in the order given, in normal form C; an array of variable-length strings."""

    labels: AnyArray

    @property
    def size(self) -> int:  # type: ignore[override]
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
            missing = columns.places_of_other(plain, outside.tolist())
            codes[missing] = MISSING
            unknown = outside if not missing else np.flatnonzero(codes == OUTSIDE)
            others = [plain[row] for row in unknown.tolist()]
            different = list(dict.fromkeys(others))
            by_text = dict(zip(different, self._others(different), strict=True))
            codes[unknown] = [by_text[text] for text in others]
        return codes

    def _encode_arrow(self, values: Any) -> IntArray:
        import pyarrow as pa

        from discreet.core.arrow import arrow_numbers, present

        column = columns.text(values)
        if pa.types.is_dictionary(column.type):
            of_dictionary = self._places(column.dictionary.cast(pa.large_string()))
            indices = np.where(present(column.indices), arrow_numbers(column.indices), 0)
            codes = of_dictionary[indices] if len(of_dictionary) else np.full(len(column), OUTSIDE, dtype=np.int64)
        else:
            codes = self._places(column)
        if column.null_count:
            codes = np.where(present(column), codes, MISSING)
        return codes

    def _places(self, texts: Any) -> IntArray:
        """Return the codes of Arrow's texts, those that are missing among OUTSIDE."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from discreet.core.arrow import arrow_numbers, flags_of, present

        indices_of = pc.index_in(texts, options=pc.SetLookupOptions(value_set=self._known))
        known = present(indices_of)
        codes = np.where(known, arrow_numbers(indices_of), np.int64(OUTSIDE))
        if indices_of.null_count > texts.null_count:
            unknown = ~known & present(texts)
            others = texts.filter(flags_of(unknown))
            different = others.unique()
            # Bytes that are no text are no label.
            code_of_each = self._others(
                [text.decode(errors="replace") for text in different.cast(pa.large_binary()).to_pylist()]
            )
            places = pc.index_in(others, options=pc.SetLookupOptions(value_set=different))
            codes[unknown] = np.array(code_of_each, dtype=np.int64)[arrow_numbers(places)]
        return codes

    def _others(self, texts: Sequence[str]) -> list[int]:
        """Return the codes of different texts that are no labels as they are: of labels in normal form C."""
        return [self._codes.get(composed(text), OUTSIDE) for text in texts]

    @cached_property
    def alike(self) -> tuple[IntArray, ...]:
        """The codes of labels whose readings are equal, ascending, an array for each such reading."""
        read = readings(list(self._codes))
        groups = self._by_reading.values() if len(set(read)) < len(read) else ()
        return tuple(np.array(codes) for codes in groups if len(codes) > 1)

    @cached_property
    def _by_reading(self) -> dict[str, list[int]]:
        by_reading: dict[str, list[int]] = {}
        for code, read in enumerate(readings(list(self._codes))):
            by_reading.setdefault(read, []).append(code)
        return by_reading

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels.tolist())}

    @cached_property
    def _ends_in_nul(self) -> bool:
        return any(label.endswith("\0") for label in self.labels.tolist())

    @cached_property
    def _known(self) -> Any:
        from discreet.core.arrow import texts_of

        return texts_of(self.labels.tolist(), large=True)

    def as_read(self) -> "ReadTexts":
        """Return the labels, which also stand for the texts that read like them."""
        return ReadTexts(self.labels)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the labels."""
        return {"value": self.labels[codes]}

    def describe(self) -> dict[str, Any]:
        """Return a digest of the labels."""
        spelled = json.dumps(self.labels.tolist(), ensure_ascii=False).encode()
        return {"texts": hashlib.sha256(spelled).hexdigest(), "size": self.size}


class ReadTexts(Texts):
    """Text labels that also stand for the texts that read like one of them.

    A text that is no label stands for the only label that reads alike. Where several labels do, it stands for the only
    one of them from which it differs by spaces and invisible characters alone.
    """

    def _others(self, texts: Sequence[str]) -> list[int]:
        codes = super()._others(texts)
        unknown = [place for place, code in enumerate(codes) if code == OUTSIDE]
        for place, read in zip(unknown, readings([texts[place] for place in unknown]), strict=True):
            alike = self._by_reading.get(read, ())
            if len(alike) > 1:
                tidy = tidied(texts[place])
                alike = [code for code in alike if tidied(str(self.labels[code])) == tidy]
            if len(alike) == 1:
                codes[place] = alike[0]
        return codes


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
    with columns.of_parameter(""):
        spelled = _spelled(labels, wanted) if _looks_like_text(labels) else columns.integers(labels, wanted)
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
    texts = ["".join((text,)) if isinstance(text, str) else text for text in plain]
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
    labels = names if is_normalized("NFC", "".join(names)) else [composed(name) for name in names]
    repeated = len(labels) - len(set(labels))
    if repeated and len(set(names)) == len(names):
        raise ParameterError(
            f"{wanted} must be different from each other, and {repeated} differ only in how their accents are stored "
            "(Unicode normalization); leave them out."
        )
    _refuse_repeated(repeated, wanted)
    return Texts(np.array(labels, dtype=np.dtypes.StringDType()))


def _refuse_repeated(count: int, wanted: str) -> None:
    if count:
        raise ParameterError(f"{wanted} must be different from each other, got {count} repeated.")


def named_columns(values: Any, names: list[str]) -> dict[str, Any]:
    """Return the columns of these names, all of one length.

    Args:
        values: a table with these columns, or a list of rows: tuples of as many entries, or mappings.
        names: of the columns.

    Raises:
        DataError: if a column is not there or is none, a row does not fit, or lengths differ.
    """
    if isinstance(values, list | tuple):
        rows = [tuple(_entry(row, name) for name in names) if isinstance(row, Mapping) else row for row in values]
        if not all(isinstance(row, tuple | list) and len(row) == len(names) for row in rows):
            raise DataError(f"every value must give {len(names)} attributes: {names}.")
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}
    columns = {name: _column(values, name, names) for name in names}
    wrong = [
        n for n, c in columns.items() if not hasattr(c, "__len__") or isinstance(c, str) or getattr(c, "ndim", 1) != 1
    ]
    if wrong:
        raise DataError(f"every attribute must be one column of values; {wrong} are not.")
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"the columns of values must be of one length, got lengths {sorted(lengths)}.")
    return columns


def _entry(row: Mapping[Any, Any], name: str) -> Any:
    """Return the entry of a row by its name in normal form C; None where there is none."""
    if name in row or name.isascii():
        return row.get(name)
    return next((entry for key, entry in row.items() if isinstance(key, str) and composed(key) == name), None)


def _column(values: Any, name: str, names: list[str]) -> Any:
    try:
        return columns.named(values, name)
    except DataError:
        raise DataError(f"values must have the columns {names}; {name!r} is not there.") from None


@dataclass(frozen=True, slots=True, eq=False)
class Product(LabelSpace):
    """Every combination of the attributes' labels; the last attribute varies fastest."""

    attributes: dict[str, LabelSpace]
    is_ordered: ClassVar[bool] = False

    @property
    def parts(self) -> Mapping[str, LabelSpace]:
        """The attributes, by name."""
        return self.attributes

    def as_read(self) -> "Product":
        """Return the product of the attributes, each as it is read."""
        return Product({name: part.as_read() for name, part in self.attributes.items()})

    @property
    def size(self) -> int:  # type: ignore[override]
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


@dataclass(frozen=True, slots=True, eq=False)
class Grid(LabelSpace):
    """Regions of a map: rows x columns cells between two latitudes and two longitudes, in degrees.

    Cells are numbered row by row from the lowest latitude and longitude; the upper borders belong to the last cells.
    """

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int
    is_ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse a map without extent."""
        for name, (low, high) in {"lat": self.lat, "lon": self.lon}.items():
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ParameterError(f"{name} must be two finite numbers, low < high, got {name}=({low!r}, {high!r}).")
        for name in ("rows", "cols"):
            object.__setattr__(self, name, checked_whole(name, getattr(self, name)))
        # One map, one description: plain numbers, and no -0.0.
        for name, pair in {"lat": self.lat, "lon": self.lon}.items():
            object.__setattr__(self, name, (float(pair[0]) + 0.0, float(pair[1]) + 0.0))

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of cells."""
        return self.rows * self.cols

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of an ``(n, 2)`` array of (lat, lon), or of a table with columns lat and lon."""
        lat, lon = self.coordinates(values)
        row, col = _cells(lat, self.lat, self.rows), _cells(lon, self.lon, self.cols)
        codes = row * self.cols + col
        codes[(row < 0) | (col < 0)] = OUTSIDE
        codes[np.isnan(lat) | np.isnan(lon)] = MISSING
        return codes

    def coordinates(self, values: Any) -> tuple[AnyArray, AnyArray]:
        """Return ``(n,)`` latitudes and longitudes, each in floats of the type of its column."""
        if isinstance(values, list | tuple):
            values = np.asarray(values, dtype=object).reshape(len(values), -1) if values else np.empty((0, 2))
        if isinstance(values, np.ndarray) and values.dtype.names is None:
            if values.ndim != 2 or values.shape[1] != 2:
                raise DataError(f"values must be (n, 2): latitude and longitude, got shape {values.shape}.")
            whole = columns.unmasked(values, "values")
            return columns.floats(whole[:, 0]), columns.floats(whole[:, 1])
        pair = named_columns(values, ["lat", "lon"])
        return columns.floats(pair["lat"]), columns.floats(pair["lon"])

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return row and column of each cell with the coordinates of its centre."""
        row, col = np.divmod(np.asarray(codes), self.cols)
        lat = self.lat[0] + (row + 0.5) * (self.lat[1] - self.lat[0]) / self.rows
        lon = self.lon[0] + (col + 0.5) * (self.lon[1] - self.lon[0]) / self.cols
        return {"row": row, "col": col, "lat": lat, "lon": lon}

    def describe(self) -> dict[str, Any]:
        """Return the borders and the counts."""
        return {"grid": [list(self.lat), list(self.lon), self.rows, self.cols]}


def _cells(coordinates: AnyArray, ends: tuple[float, float], count: int) -> IntArray:
    """Return the rows, or the columns, of a map in which coordinates lie; OUTSIDE elsewhere.

    A coordinate at a border, rounded to its type, lies in the cell above.
    """
    (low, high), kind = ends, coordinates.dtype
    first, last = np.asarray(ends).astype(kind)
    inside = (coordinates >= first) & (coordinates <= last)
    # Clipped first: what is far outside must not overflow.
    scaled = (np.clip(np.where(inside, coordinates, low), low, high, dtype=np.float64) - low) / (high - low) * count
    cells = np.minimum(scaled.astype(np.int64), count - 1)
    # The borders that rounding may have moved a coordinate across.
    step = 4 * float(np.spacing(np.abs(np.asarray(ends)).max().astype(kind))) / (high - low) * count
    if step >= 0.5 and kind != np.float64:
        raise DataError(f"coordinates must be of a wider type than {kind}, which is too coarse for cells of this map.")
    near = np.flatnonzero(np.abs(scaled - np.rint(scaled)) <= step)
    places = np.rint(scaled[near]).astype(np.int64)
    at = coordinates[near] >= borders_at(low, high, count, places).astype(kind)
    cells[near] = np.clip(np.where(at, places, places - 1), 0, count - 1)
    return np.where(inside, cells, OUTSIDE)


def borders_at(low: float, high: float, count: int, places: IntArray) -> FloatArray:
    """Return borders between parts of one width, by their places, each as it is written.

    0.3 must not lie below the border 0.1 + 0.1 + 0.1.
    """
    first, last = Fraction(repr(low)), Fraction(repr(high))
    each = (last - first) / count
    parts, whole = first.numerator * each.denominator, first.denominator * each.denominator
    width = each.numerator * first.denominator
    different, back = np.unique(places, return_inverse=True)
    # A quotient of integers of Python is the nearest float.
    return np.array([(parts + width * place) / whole for place in different.tolist()], dtype=np.float64)[back]


SCALES = ("linear", "log1p")
MOST_BINS = 4096
CLIPPED = "lie outside the range, and count as its nearest end"
"""What is said of numbers that are clipped."""
READ = "are taken for the label that they read like"
"""What is said of texts that are no labels."""
_WIDENED = (
    "these numbers were float32 before they were float64, and a float32 may lie below the border that it was written "
    "as; --float32 (float32=True) reads them as float32."
)
# Of a bin: a range may be thinner by so much.
_ON_BORDER = 1e-9


@dataclass(frozen=True, eq=False)
class Numbers(LabelSpace):
    """The numbers from low to high, in bins; a border belongs to the bin above it, and high to the last bin.

    Borders, low and high are rounded to the type of a column (float16, float32), so that a number of this type lies at
    or above a border if some real number at or above the border is stored as it.

    Attributes:
        low: the least number.
        high: the largest one.
        bins: how many bins; at most 4,096.
        scale: ``"linear"`` for bins of one width, ``"log1p"`` for bins in which ln(1 + x) grows by as much.
        clip: whether numbers outside belong to the first and the last bin; otherwise they have no label.
        ends: where sensitive ranges end: the largest numbers that are surely sensitive. They change no fingerprint; a
            number of a narrow type that may be one of them is never in a bin above it.
        starts: the borders at which sensitive ranges of other combinations of a product begin.
    """

    low: float
    high: float
    bins: int = 256
    scale: str = "linear"
    clip: bool = False
    ends: tuple[float, ...] = ()
    starts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a range without extent, and bins that are none.

        Raises:
            ParameterError: if they are such.
        """
        for name in ("low", "high"):
            # No -0.0: one range, one description.
            object.__setattr__(self, name, checked_finite(name, getattr(self, name), -float_info.max) + 0.0)
        if not self.low < self.high:
            raise ParameterError(f"low must be below high, got low={self.low!r} and high={self.high!r}.")
        object.__setattr__(self, "bins", checked_whole("bins", self.bins, 2, MOST_BINS))
        checked_choice("scale", self.scale, SCALES)
        object.__setattr__(self, "clip", checked_flag("clip", self.clip))
        if self.scale == "log1p" and self.low <= -1:
            raise ParameterError(f"scale log1p needs numbers above -1, got low={self.low!r}.")
        if not (np.diff(self.borders) > 0).all():
            raise ParameterError(f"bins must be wide enough for a number in each, got {self.bins} bins.")

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of bins."""
        return self.bins

    @cached_property
    def borders(self) -> FloatArray:
        """``(bins + 1,)`` borders, ascending."""
        if self.scale == "linear":
            return borders_at(self.low, self.high, self.bins, np.arange(self.bins + 1))
        scaled = np.expm1(np.linspace(np.log1p(self.low), np.log1p(self.high), self.bins + 1))
        borders: FloatArray = np.array([float(f"{border:.15g}") for border in scaled])
        borders[0], borders[-1] = self.low, self.high
        return borders

    @property
    def centres(self) -> FloatArray:
        """``(bins,)`` middles of the bins."""
        centres: FloatArray = (self.borders[:-1] + self.borders[1:]) / 2
        return centres

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of a column of numbers.

        Raises:
            DataError: if the values are no numbers, or of a type that is too coarse for the ranges of a product.
        """
        numbers = columns.floats(values)
        if numbers.dtype == np.float64 and columns.were_float32(numbers):
            warn(_WIDENED, UserWarning, stacklevel=2)
        codes = np.searchsorted(self._steps(numbers.dtype), numbers, side="right").astype(np.int64)
        away = self._unknown(numbers) if self.clip else self.outside(numbers)
        codes[away] = OUTSIDE
        codes[np.isnan(numbers)] = MISSING
        return codes

    def outside(self, numbers: AnyArray) -> BoolArray:
        """Return ``(n,)`` booleans: which floats of any type are below low or above high."""
        low, high = self._rounded((self.low, self.high), numbers.dtype)
        away: BoolArray = (numbers < low) | (numbers > high) | self._unknown(numbers)
        return away

    def _unknown(self, numbers: AnyArray) -> BoolArray:
        """Return ``(n,)`` booleans: infinite floats of a type that does not hold all numbers of the range."""
        is_small = np.isinf(self._rounded((self.low, self.high), numbers.dtype)).any()
        return np.isinf(numbers) if is_small else np.zeros(len(numbers), dtype=np.bool_)

    @staticmethod
    def _rounded(numbers: Any, kind: np.dtype[Any]) -> AnyArray:
        with np.errstate(over="ignore"):
            return np.asarray(numbers, dtype=np.float64).astype(kind)

    def _steps(self, kind: np.dtype[Any]) -> AnyArray:
        """Return ``(bins - 1,)`` the least number of each bin but the first, in a type of floats."""
        steps = self._rounded(self.borders[1:-1], kind)
        ends, bins = self._rounded(self.ends, kind), self._bins(self.ends)
        inner = bins < self.bins - 1
        # What may be the end of a sensitive range is not above it. In float64 no border is so near to an end.
        np.maximum.at(steps, bins[inner], np.nextafter(ends[inner], kind.type(np.inf)))
        steps = np.maximum.accumulate(steps)
        starts = np.searchsorted(steps, self._rounded(self.starts, kind), side="right")
        if (starts < self._bins(self.starts)).any():
            raise DataError(
                f"values must be of a wider type than {kind}, in which the end of one sensitive range and the "
                "beginning of another are the same number; read them again from where they are stored with more digits."
            )
        return steps

    def _bins(self, numbers: Any) -> IntArray:
        """Return the bins of float64 numbers from low to high."""
        return np.searchsorted(self.borders[1:-1], np.asarray(numbers, dtype=np.float64), side="right")

    def ranges(self, ranges: Any, name: str = "sensitive", *, closed: bool = False, narrow: bool = True) -> BoolArray:
        """Return the ``(bins,)`` mask of the bins that ranges of numbers reach into: whole bins, rounded outward.

        Args:
            ranges: pairs of numbers, no two of them overlapping.
            name: of the argument, in refusals.
            closed: whether a range includes its upper end, as sensitive ranges do; otherwise an end that is a border
                belongs to the bin above.
            narrow: whether a range may be narrower than a bin.

        Raises:
            ParameterError: if they are none, or one does not lie between low and high.
        """
        pairs = columns.reals(ranges, f"{name}, ranges [low, high],")
        if pairs.ndim != 2 or pairs.shape[1] != 2 or not (pairs[:, 0] < pairs[:, 1]).all():
            raise ParameterError(f"{name} must be ranges [low, high], low < high, got another list.")
        if pairs.min() < self.low or pairs.max() > self.high:
            raise ParameterError(f"{name} must lie between {self.low:g} and {self.high:g}, and some of it does not.")
        ordered = pairs[np.argsort(pairs[:, 0])]
        if (ordered[1:, 0] < ordered[:-1, 1]).any():
            raise ParameterError(f"{name} must be ranges that do not overlap, and some do.")
        places = np.interp(pairs, self.borders, np.arange(self.bins + 1.0))
        if not narrow and (np.diff(places) < 1 - 2 * _ON_BORDER * self.bins).any():
            raise ParameterError(f"{name} must be ranges that are each as wide as a bin at least, and one is thinner.")
        lasts = self._bins(pairs[:, 1]) if closed else np.searchsorted(self.borders, pairs[:, 1]) - 1
        mask = np.zeros(self.bins, dtype=np.bool_)
        for first, last in zip(self._bins(pairs[:, 0]), lasts, strict=True):
            mask[first : last + 1] = True
        return mask

    def ending(self, chosen: BoolArray, numbers: Iterable[float] = ()) -> "Numbers":
        """Return the same bins that know where sensitive ranges end.

        Args:
            chosen: ``(bins,)`` or ``(bins, m)`` booleans: the sensitive bins, of a product for each of m combinations
                of the other attributes.
            numbers: the ends, as far as they are known.
        """
        marks, known = chosen.reshape(self.bins, -1), sorted({*self.ends, *map(float, numbers)})
        last = {int(code): number for code, number in zip(self._bins(known), known, strict=True)}
        closing = np.flatnonzero((marks[:-1] & ~marks[1:]).any(axis=1)).tolist()
        opening = (~marks[:-1] & marks[1:]).any(axis=1) & (marks.shape[1] > 1)
        ends = tuple(last[code] if code in last else self._within(code) for code in closing)
        return replace(self, ends=ends, starts=tuple(self.borders[1:-1][opening].tolist()))

    def _within(self, code: int) -> float:
        """Return the number with the fewest digits in the middle half of a bin."""
        low, high = self.borders[code : code + 2].tolist()
        edge = (high - low) / 4
        texts = (f"{(low + high) / 2:.{digits}g}" for digits in range(1, 18))
        return next((float(text) for text in texts if low + edge <= float(text) <= high - edge), (low + high) / 2)

    def names(self, codes: IntArray) -> list[str]:
        """Return readable ranges, with as many digits as tell the borders apart."""
        largest = max(abs(self.low), abs(self.high))
        digits = min(max(ceil(log10(largest / float(np.diff(self.borders).min()))) + 1, 3), 17)
        spelled = [f"{border:.{digits}g}" for border in self.borders.tolist()]
        return [f"{spelled[code]} to {spelled[code + 1]}" for code in np.asarray(codes).tolist()]

    def runs(self, codes: IntArray) -> IntArray:
        """Return ``(r, 2)`` first and last of the runs of successive bins that some make up, given ascending."""
        starts = np.flatnonzero(np.diff(codes, prepend=-2) > 1)
        return np.column_stack([codes[starts], codes[np.append(starts[1:], len(codes)) - 1]])

    def closed_ranges(self, codes: IntArray) -> list[list[float]]:
        """Return ranges of numbers that are read as some bins again, given ascending.

        The upper end of a range lies within its last bin, and only the last one of all ends at a border, high: the
        ranges are the same whether an end belongs to its range or not.
        """
        known = dict(zip(self._bins(self.ends).tolist(), self.ends, strict=True))
        ranges = []
        for first, last in self.runs(codes).tolist():
            end = known.get(last, self.low)
            inside = end if end > self.borders[last] else self._within(last)
            ranges.append([float(self.borders[first]), self.high if last == self.bins - 1 else inside])
        return ranges

    def spelled_ranges(self, codes: IntArray) -> list[str]:
        """Return the ranges that some bins make up, in words."""
        low, high = self.borders[:-1].tolist(), self.borders[1:].tolist()
        return [
            f"from {low[first]:.9g} up to {'' if last == self.bins - 1 else 'below '}{high[last]:.9g}"
            for first, last in self.runs(codes).tolist()
        ]

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the borders of each bin."""
        codes = np.asarray(codes)
        return {"low": self.borders[codes], "high": self.borders[codes + 1]}

    def describe(self) -> dict[str, Any]:
        """Return the numbers of low, high and bins, the scale and the clipping."""
        return {"number": [self.low, self.high, self.bins, self.scale, self.clip]}
