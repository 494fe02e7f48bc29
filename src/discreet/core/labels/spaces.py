"""Label spaces: the labels of values, and the codes of a column of values.

A label space knows its size, encodes values to codes 0..size - 1 (``OUTSIDE`` and ``MISSING`` mark the others), and
names codes. Flat spaces are lists of integers or of text, and numbers in bins (`discreet.core.labels.bins`). A product
has all combinations of the labels of several attributes, and a grid has the rectangular regions of a map. Neither
stores a list of all labels. `LabelSpace.holds` and `LabelSpace.column_names` depend on the kind of a space.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar
from unicodedata import is_normalized

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core import columns
from discreet.core.checks import is_flag, is_single
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.labels.text_forms import composed, match_keys, tidied
from discreet.errors import DataError, ParameterError

INTEGERS, TEXT, NUMBERS = "integers", "text", "numbers"
"""Contents of a column of values: `LabelSpace.holds`."""
# Labels that an error message lists.
_SHOWN = 5


class LabelSpace(ABC):
    """A label space: labels, their codes, and a description for fingerprints."""

    __slots__ = ()

    size: int
    """Number of labels."""
    is_ordered: ClassVar[bool] = True
    """Whether labels have one order, the order of their codes."""
    holds: ClassVar[str] = ""
    """Content of a column of values: `INTEGERS`, `TEXT`, or `NUMBERS` in bins; empty if values have several columns."""

    @abstractmethod
    def encode(self, values: Any) -> IntArray:
        """Return the ``(n,)`` codes of values: OUTSIDE for a value without a label, MISSING for a missing value."""

    @abstractmethod
    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return the labels of codes as named columns, each ``(n,)``."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return a description for JSON; label spaces with equal descriptions are the same."""

    @property
    def parts(self) -> Mapping[str, "LabelSpace"]:
        """The label space of each attribute of a product, by name; empty for any other space."""
        return {}

    @property
    def flat_parts(self) -> Mapping[str, "LabelSpace"]:
        """The label space of each attribute of a product, by name; any other space stands under an empty name."""
        return self.parts or {"": self}

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of a value's columns: attributes, or lat and lon; empty if a value has one column."""
        return tuple(self.parts)

    @property
    def alike(self) -> tuple[IntArray, ...]:
        """Groups of labels that read alike: an array of ascending codes for each group."""
        return ()

    @property
    def plain(self) -> "LabelSpace":
        """The label space before it was extended by placeholders."""
        return self

    def names(self, codes: IntArray) -> list[str]:
        """Return a readable name for the label of each code."""
        spelled = [column.tolist() for column in self.table(codes).values()]
        # Nine digits: the last digits of the centre of a cell are rounding errors.
        return [
            ", ".join(f"{part:.9g}" if isinstance(part, float) else str(part) for part in row)
            for row in zip(*spelled, strict=True)
        ]

    def as_read(self) -> "LabelSpace":
        """Return a label space with the same codes that also accepts other spellings of a label.

        Spaces of numbers, integers and grids are returned unchanged.

        Example:
            >>> flat(["gesund", "krank"]).as_read().encode(["Krank ", "krank", "Grippe"]).tolist()
            [1, 1, -1]
        """
        return self

    def quantities(self) -> AnyArray | None:
        """Return the ``(size,)`` numbers that the labels stand for; None for labels that are no numbers."""
        return None

    def as_float32(self, values: Any) -> Any:
        """Return a column or a table of values, with its numbers as float32.

        Raises:
            ParameterError: if the labels are no numbers.
        """
        raise ParameterError("float32.no-numbers", argument="float32")

    def bounded(self, chosen: BoolArray, numbers: Iterable[float] = ()) -> "LabelSpace":
        """Return labels that keep the upper bounds of sensitive ranges of numbers; see `Numbers.bounded` in `bins`."""
        return self

    def first_labels(self) -> str:
        """Return the first labels of a label space as one text, for error messages."""
        more = f" and {self.size - _SHOWN:,} more" if self.size > _SHOWN else ""
        return ", ".join(self.names(np.arange(min(self.size, _SHOWN)))) + more

    def mask_of(self, labels: Any, name: str, *, closed: bool = False) -> BoolArray:
        """Return the ``(size,)`` mask of the values that labels, or ranges of numbers, select.

        Args:
            labels: the labels.
            name: the argument's name in messages.
            closed: whether ranges of numbers include their upper bounds, and may be narrower than a bin.

        Raises:
            ParameterError: if these are no labels of the space, or an integer is there twice.
        """
        mask = np.zeros(self.size, dtype=np.bool_)
        if is_single(labels):
            raise ParameterError("argument.not-list", argument=name, kind=type(labels).__name__)
        listed = list(labels) if isinstance(labels, Set) else columns.sized(labels)
        if len(listed) == 0:
            return mask
        with columns.of_parameter(name):
            codes = self.encode(listed)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            raise ParameterError(
                "argument.unknown-labels",
                argument=name,
                names=self.first_labels(),
                count=len(unknown),
                total=len(codes),
                place=unknown[0],
            )
        mask[codes] = True
        if self.holds == INTEGERS and np.count_nonzero(mask) != len(codes):
            raise ParameterError("argument.repeated-labels", argument=name)
        return mask

    def codes_in(self, wanted: Any, where: str, *, closed: bool = False) -> IntArray:
        """Return the codes of the labels in one entry of a pattern: a label, or a list of labels.

        Args:
            wanted: the entry; for numbers, one number or ranges.
            where: the place of the entry, for messages.
            closed: as for `mask_of`.

        Raises:
            ParameterError: if the entry is empty, or holds anything but labels.
        """
        listed = [wanted] if is_single(wanted) else list(wanted)
        with columns.of_parameter(where):
            codes = self.encode(listed)
            if (codes < 0).any() or not len(codes):
                raise ParameterError("pattern.unknown-labels", names=self.first_labels(), given=listed)
        return codes


@dataclass(frozen=True, slots=True, eq=False)
class IntegerRange(LabelSpace):
    """A label space of the integers start..start + size - 1, which stores two numbers instead of a list."""

    start: int
    size: int
    holds: ClassVar[str] = INTEGERS

    def encode(self, values: Any) -> IntArray:
        """Return the ``(n,)`` codes of a column of integers."""
        codes = columns.integers(values, whole=True)
        if not len(codes):
            return codes
        low, high, stop = int(codes.min()), int(codes.max()), self.start + self.size
        if self.start <= low and high < stop:
            return codes - self.start if self.start else codes
        return np.where((codes < self.start) | (codes >= stop), OUTSIDE, codes - self.start)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return a column with the integer of each code."""
        return {"value": codes + self.start}

    def quantities(self) -> AnyArray:
        """Return the ``(size,)`` integers, in the order of the codes."""
        return np.arange(self.start, self.start + self.size)

    def mask_of(self, labels: Any, name: str, *, closed: bool = False) -> BoolArray:
        """Return the mask of the values that some integers select.

        A range may have millions of labels, so it is marked without a code for each.
        """
        if isinstance(labels, range) and labels.step == 1:
            first, last = labels.start - self.start, labels.stop - self.start
            if 0 <= first <= last <= self.size:
                mask = np.zeros(self.size, dtype=np.bool_)
                mask[first:last] = True
                return mask
        return LabelSpace.mask_of(self, labels, name, closed=closed)

    def describe(self) -> dict[str, Any]:
        """Return a description with the first integer and the integer after the last one."""
        return {"range": [self.start, self.start + self.size]}


@dataclass(frozen=True, slots=True, eq=False)
class Integers(LabelSpace):
    """A label space of a list of integers, in the order given."""

    labels: IntArray
    order: IntArray
    holds: ClassVar[str] = INTEGERS

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of integers that are labels."""
        return len(self.labels)

    def encode(self, values: Any) -> IntArray:
        """Return the ``(n,)`` codes of a column of integers."""
        wanted = columns.integers(values, whole=True)
        place = np.searchsorted(self.labels, wanted, sorter=self.order)
        codes = self.order[np.minimum(place, self.size - 1)]
        return np.where(self.labels[codes] == wanted, codes, OUTSIDE)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return a column with the integer of each code."""
        return {"value": self.labels[codes]}

    def quantities(self) -> AnyArray:
        """Return the ``(size,)`` integers, in the order of the codes."""
        return self.labels

    def describe(self) -> dict[str, Any]:
        """Return a description of integer labels: a digest and the number of the labels."""
        return {"integers": hashlib.sha256(self.labels.astype("<i8").tobytes()).hexdigest(), "size": self.size}


@dataclass(frozen=True, eq=False)
class Texts(LabelSpace):
    """A label space of a list of texts in normal form C, in the order given."""

    labels: AnyArray
    holds: ClassVar[str] = TEXT

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of texts that are labels."""
        return len(self.labels)

    def encode(self, values: Any) -> IntArray:
        """Return the ``(n,)`` codes of a column of texts.

        NumPy's texts of fixed width (dtype U) cannot end in NUL, because NumPy fills texts up with NUL.
        """
        plain = columns.listed(values)
        if plain is None:
            return self._encode_arrow(values)
        if self._ends_in_nul and isinstance(values, np.ndarray) and values.dtype.kind == "U":
            raise DataError("texts.ending-in-nul")
        try:
            codes = np.fromiter(map(self._codes.get, plain, repeat(OUTSIDE)), np.int64, len(plain))
        except TypeError:
            raise DataError("column.not-text", wanted="values", kind="other objects") from None
        outside = np.flatnonzero(codes == OUTSIDE)
        if len(outside):
            others = columns.texts_at(plain, outside.tolist())
            different = [text for text in dict.fromkeys(others) if text is not None]
            by_text = dict(zip(different, self._codes_of_others(different), strict=True))
            codes[outside] = [MISSING if text is None else by_text[text] for text in others]
        return codes

    def _encode_arrow(self, values: Any) -> IntArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        from discreet.core.arrow import arrow_numbers, flags_of, present

        texts = columns.text(values)
        indices_of = pc.index_in(texts, options=pc.SetLookupOptions(value_set=self._known))
        known = present(indices_of)
        codes = np.where(known, arrow_numbers(indices_of), np.int64(OUTSIDE))
        if indices_of.null_count > texts.null_count:
            unknown = ~known & present(texts)
            others = texts.filter(flags_of(unknown))
            different = others.unique()
            # Bytes that are no text are no label.
            code_of_each = self._codes_of_others(
                [text.decode(errors="replace") for text in different.cast(pa.large_binary()).to_pylist()]
            )
            places = pc.index_in(others, options=pc.SetLookupOptions(value_set=different))
            codes[unknown] = np.array(code_of_each, dtype=np.int64)[arrow_numbers(places)]
        return np.where(present(texts), codes, MISSING) if texts.null_count else codes

    def _codes_of_others(self, texts: Sequence[str]) -> list[int]:
        """Return the codes of distinct texts that are not labels.

        The code is the label's with the same normal form C, or OUTSIDE.
        """
        return [self._codes.get(composed(text), OUTSIDE) for text in texts]

    @cached_property
    def alike(self) -> tuple[IntArray, ...]:
        """Groups of labels that read alike: an array of ascending codes for each group."""
        read = match_keys(list(self._codes))
        groups = self._by_match_key.values() if len(set(read)) < len(read) else ()
        return tuple(np.array(codes) for codes in groups if len(codes) > 1)

    @cached_property
    def _by_match_key(self) -> dict[str, list[int]]:
        by_reading: dict[str, list[int]] = {}
        for code, read in enumerate(match_keys(list(self._codes))):
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
        """Return a label space of the same labels that also accepts other spellings of a label."""
        return ReadTexts(self.labels)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return a column with the text of each code."""
        return {"value": self.labels[codes]}

    def describe(self) -> dict[str, Any]:
        """Return a description of text labels: a digest and the number of the labels."""
        spelled = json.dumps(self.labels.tolist(), ensure_ascii=False).encode()
        return {"texts": hashlib.sha256(spelled).hexdigest(), "size": self.size}


class ReadTexts(Texts):
    """A label space of texts that also accepts other spellings of a label.

    A text that is no label gets the code of the one label that reads alike. If several labels read alike, the text gets
    the code of the one that differs from the text only by spaces and invisible characters.
    """

    def _codes_of_others(self, texts: Sequence[str]) -> list[int]:
        codes = super()._codes_of_others(texts)
        unknown = [place for place, code in enumerate(codes) if code == OUTSIDE]
        for place, read in zip(unknown, match_keys([texts[place] for place in unknown]), strict=True):
            alike = self._by_match_key.get(read, ())
            if len(alike) > 1:
                tidy = tidied(texts[place])
                alike = [code for code in alike if tidied(str(self.labels[code])) == tidy]
            if len(alike) == 1:
                codes[place] = alike[0]
        return codes


def flat(labels: Any, wanted: str = "labels") -> LabelSpace:
    """Make the label space of a list of integers or texts.

    Raises:
        ParameterError: if labels are empty, repeated, of mixed kinds, or neither integers nor text.
    """
    if isinstance(labels, range) and labels.step == 1:
        if labels.start < -(1 << 63) or labels.stop > 1 << 63:
            raise ParameterError("column.too-large", wanted=wanted)
        return IntegerRange(labels.start, _at_least_one(len(labels), wanted))
    if is_single(labels) or isinstance(labels, Mapping):
        raise ParameterError("column.not-labels", wanted=wanted, kind=type(labels).__name__)
    labels = columns.sized(labels)
    if isinstance(labels, set | frozenset):
        raise ParameterError("column.unordered", kind="set", wanted=wanted)
    with columns.of_parameter():
        spelled = _label_texts(labels, wanted) if _looks_like_text(labels) else columns.integers(labels, wanted)
    _at_least_one(len(spelled), wanted)
    return _integers(spelled, wanted) if isinstance(spelled, np.ndarray) else _texts(spelled, wanted)


def _looks_like_text(labels: Any) -> bool:
    if isinstance(labels, list | tuple):
        return any(isinstance(label, str | date) or is_flag(label) for label in labels)
    kind = getattr(getattr(labels, "dtype", None), "kind", None)
    if kind is not None and kind in "iuf":
        return False
    sample = np.asarray(labels[:1] if hasattr(labels, "__getitem__") else list(labels)[:1])
    return sample.dtype.kind in "UTObM"


def _at_least_one(count: int, wanted: str) -> int:
    if count < 1:
        raise ParameterError("column.empty", wanted=wanted)
    return count


def _integers(labels: IntArray, wanted: str) -> LabelSpace:
    # In Python's integers: a difference of 64-bit integers may wrap.
    if (np.diff(labels) == 1).all() and int(labels[-1]) - int(labels[0]) == len(labels) - 1:
        return IntegerRange(int(labels[0]), len(labels))
    order = np.argsort(labels, kind="stable")
    _refuse_repeated(len(labels) - 1 - int(np.count_nonzero(np.diff(labels[order]))), wanted)
    return Integers(labels.copy(), order)


def _label_texts(labels: Any, wanted: str) -> list[Any]:
    """Return labels as texts; a missing label is None."""
    plain = columns.listed(labels, wanted)
    if plain is None:
        return list(columns.text(labels, wanted).to_pylist())
    return columns.texts_at(plain, range(len(plain)), wanted)


def _texts(names: list[Any], wanted: str) -> LabelSpace:
    missing = names.count(None)
    if missing:
        raise ParameterError("labels.missing", count=missing, wanted=wanted)
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        raise ParameterError("labels.half-character", wanted=wanted) from None
    labels = names if is_normalized("NFC", "".join(names)) else [composed(name) for name in names]
    repeated = len(labels) - len(set(labels))
    if repeated and len(set(names)) == len(names):
        raise ParameterError("labels.same-normal-form", count=repeated, wanted=wanted)
    _refuse_repeated(repeated, wanted)
    return Texts(np.array(labels, dtype=np.dtypes.StringDType()))


def _refuse_repeated(count: int, wanted: str) -> None:
    if count:
        raise ParameterError("labels.repeated", wanted=wanted, count=count)
