"""The domain: the values of a plan, their labels, and which of them are sensitive.

Sensitive subsets are given by labels, masks, predicates or patterns. The extended domain of a personalized mechanism
has the values, and then one placeholder per tag [ULDP, section 5]. Placeholders are public and sensitive. A user's
device replaces values by placeholders, and these values never leave the device.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, made_read_only
from discreet.core import columns
from discreet.core.checks import are_names, checked_flag, is_flag, is_real, real_number
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.labels.alike import AlikeLabels, alike_labels, refuse_alike
from discreet.core.labels.bins import Numbers
from discreet.core.labels.products import Grid, Product
from discreet.core.labels.spaces import LabelSpace, flat
from discreet.core.labels.text_forms import as_composed, composed, composed_names
from discreet.errors import DataError, DiscreetError, ParameterError

SIGN = "⊥"
"""The sign before a tag in the name of a placeholder."""


@dataclass(frozen=True, slots=True, eq=False)
class WithPlaceholders(LabelSpace):
    """A label space that is extended by one placeholder per tag.

    No value is encoded as a placeholder: devices replace codes by placeholders themselves.

    Attributes:
        space: the labels, with codes 0..space.size - 1.
        tags: different texts, stored as a tuple; the placeholder of the k-th tag has the code space.size + k.
    """

    space: LabelSpace
    tags: Sequence[str]
    is_ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise an error if tags repeat or look alike, or if the label space already has placeholders.

        Raises:
            ParameterError: if the tags are not at least one text, all different, or the space has placeholders already.
        """
        if self.space.plain is not self.space:
            raise ParameterError("placeholders.repeated")
        object.__setattr__(self, "tags", checked_tags(self.tags))

    @property
    def plain(self) -> LabelSpace:
        """The label space before it was extended by placeholders."""
        return self.space

    @property
    def size(self) -> int:  # type: ignore[override]
        """The number of labels and placeholders of a label space."""
        return self.space.size + len(self.tags)

    def encode(self, values: Any) -> IntArray:
        """Return ``(n,)`` codes of values, as the label space without placeholders encodes them."""
        return self.space.encode(values)

    def table(self, codes: IntArray) -> dict[str, AnyArray]:
        """Return one column of names: labels unchanged, and each placeholder as ⊥ followed by its tag."""
        codes = np.asarray(codes)
        placeholders = codes >= self.space.size
        spelled = np.empty(len(codes), dtype=object)
        spelled[~placeholders] = self.space.names(codes[~placeholders])
        spelled[placeholders] = [SIGN + self.tags[code - self.space.size] for code in codes[placeholders]]
        return {"value": spelled.astype(np.dtypes.StringDType())}

    def describe(self) -> dict[str, Any]:
        """Return the description of a label space, with the tags of its placeholders."""
        return {"extended": self.space.describe(), "tags": list(self.tags)}


def checked_tags(tags: Any) -> tuple[str, ...]:
    """Return tags as a tuple; raise an error unless they are different texts.

    Raises:
        ParameterError: if the tags are not at least one text, all different.
    """
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise ParameterError("tags.not-list", argument="tags", kind=type(tags).__name__)
    names = tuple(map(as_composed, tags))
    if not names or not are_names(names):
        raise ParameterError("tags.not-different", argument="tags", count=len(names))
    return names


Sensitivity: TypeAlias = "Sequence[Any] | AnyArray | Callable[..., bool] | Mapping[str, Any] | None"
"""Labels, a boolean mask, a predicate, or for products one pattern or a list of them; None means every value."""


def sensitive_mask(space: LabelSpace, sensitive: Any) -> BoolArray | None:
    """Return the ``(|X|,)`` mask of the sensitive values; None if all values are sensitive.

    Args:
        space: the labels.
        sensitive: see `Sensitivity`. A predicate is called with a label (for products and grids, with a mapping
            from attribute to label) and a pattern maps attributes to a label or a list of labels.

    Returns:
        ``(|X|,)`` booleans, or None if every value is sensitive.

    Raises:
        ParameterError: if a value is not in the domain.
    """
    if sensitive is None:
        return None
    mask = value_mask(space, sensitive, closed=True)
    return None if mask.all() else mask


def value_mask(space: LabelSpace, values: Any, name: str = "sensitive", *, closed: bool = False) -> BoolArray:
    """Return the ``(|X|,)`` mask of the values that labels, a mask, a predicate or patterns select.

    Args:
        space: the labels.
        values: as for `sensitive_mask`, but never None.
        name: the argument's name in messages.
        closed: whether ranges of numbers are sensitive ranges, which include their upper bounds and may be narrower
            than a bin.

    Raises:
        ParameterError: if a value is not in the domain.
    """
    if callable(values):
        return _by_predicate(space, values)
    if isinstance(values, Mapping):
        values = [values]
    if isinstance(values, list | tuple) and values and all(isinstance(item, Mapping) for item in values):
        return _by_patterns(space, values, name, closed=closed)
    if isinstance(values, str | bytes):
        raise ParameterError("argument.single-text", argument=name)
    if _is_mask(values):
        return _by_mask(space, values, name)
    return space.mask_of(values, name, closed=closed)


def _is_mask(sensitive: Any) -> bool:
    if isinstance(sensitive, list | tuple):
        return bool(sensitive) and all(map(is_flag, sensitive))
    kind = str(getattr(sensitive, "dtype", getattr(sensitive, "type", ""))).lower()
    if kind == "object" and isinstance(getattr(sensitive, "shape", None), tuple):
        return any(map(is_flag, sensitive))
    return kind in ("bool", "boolean")


def _by_mask(space: LabelSpace, marks: Any, name: str) -> BoolArray:
    if getattr(marks, "ndim", 1) != 1:
        raise ParameterError("argument.wrong-mask-shape", argument=name, shape=marks.shape, size=space.size)
    with columns.of_parameter():
        mask = columns.marks(marks, "marks of sensitive values")
    if mask.shape != (space.size,):
        raise ParameterError("argument.wrong-mask-shape", argument=name, size=space.size, shape=mask.shape)
    return mask.copy()


def _by_predicate(space: LabelSpace, predicate: Callable[..., bool]) -> BoolArray:
    table = space.table(np.arange(space.size))
    names, spelled = list(table), [column.tolist() for column in table.values()]
    if names == ["value"]:
        answers = [predicate(label) for label in spelled[0]]
    else:
        answers = [predicate(dict(zip(names, row, strict=True))) for row in zip(*spelled, strict=True)]
    try:
        return np.array([bool(answer) for answer in answers], dtype=np.bool_)
    except (TypeError, ValueError):
        raise ParameterError("predicate.not-boolean") from None


def _by_patterns(space: LabelSpace, patterns: Sequence[Mapping[str, Any]], name: str, *, closed: bool) -> BoolArray:
    if not space.parts:
        raise ParameterError("argument.needs-product", argument=name)
    mask = np.zeros(tuple(part.size for part in space.parts.values()), dtype=np.bool_)
    for place, pattern in enumerate(patterns):
        mask[np.ix_(*_selection(space, pattern, f"{name} pattern {place}", closed=closed))] = True
    return mask.reshape(-1)


def _selection(space: LabelSpace, pattern: Mapping[str, Any], where: str, *, closed: bool) -> list[IntArray]:
    pattern = {as_composed(name): wanted for name, wanted in pattern.items()}
    unknown = [name for name in pattern if name not in space.parts]
    if unknown or not pattern:
        error = ParameterError("pattern.unknown-attribute", names=list(space.parts), given=list(pattern))
        raise error.at(where)
    return [
        part.codes_in(pattern[name], f"{where}, attribute {name!r}", closed=closed)
        if name in pattern
        else np.arange(part.size)
        for name, part in space.parts.items()
    ]


def numbers_in(sensitive: Any) -> Iterator[float]:
    """Yield the numbers in the argument ``sensitive``: bounds of ranges, single numbers, and labels."""
    are_numbers = getattr(getattr(sensitive, "dtype", None), "kind", "O") in "iuf"
    if is_real(sensitive):
        yield real_number(sensitive)
    elif are_numbers or isinstance(sensitive, list | tuple | Mapping):
        for entry in sensitive.values() if isinstance(sensitive, Mapping) else sensitive:
            yield from numbers_in(entry)


MOST_VALUES = 1 << 31
"""Upper limit on the number of values; every domain has fewer."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Domain:
    """The values of a plan: labels, codes 0..|X| - 1, and the sensitive subset X_S.

    No list of labels is stored for integers, products and grids, so |X| may be ten million.

    Args:
        labels: integers (a range costs nothing) or text, all different.
        sensitive: the sensitive values: labels, a ``(|X|,)`` boolean mask, a predicate on labels, or for products
            one pattern or a list of patterns; None means every value (plain LDP).
        allow_unprotected: accept that no value is sensitive, so that everything is reported in clear.
        exact: accept labels that read alike and differ in sensitivity, such as AA, Aa and aa.

    Text labels are stored in Unicode's normal form C. Labels read alike if they differ only by case, width, spaces,
    invisible characters, kinds of dashes and quotes, or compatibility forms. Combinations of a product read alike if
    they do in every attribute.

    Attributes:
        space: the label space.
        size: |X|.
        exact: whether alike labels may differ in sensitivity. The fingerprint does not depend on it.
        attribute: the survey's attribute to which the values belong; empty outside surveys. Two attributes with the
            same labels are different domains, so that reports on one never count as reports on the other.

    Raises:
        ParameterError: if there are no labels, a label repeats, a sensitive value is no label, no value is sensitive
            without ``allow_unprotected``, or labels that read alike differ in sensitivity.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(["clinic", "court", "park"], sensitive=["clinic", "court"])
        >>> domain
        Domain(3 values, 2 sensitive)
        >>> domain.encode(["park", "clinic"]).tolist()
        [2, 0]
        >>> dc.Domain(range(10_000_000), sensitive=lambda age: age < 18).sensitive_count
        18
    """

    space: LabelSpace
    size: int
    _mask: BoolArray | None = field()
    attribute: str = ""
    exact: bool = False

    def __init__(
        self, labels: Any, *, sensitive: Any = None, allow_unprotected: bool = False, exact: bool = False
    ) -> None:
        self._set(flat(labels), sensitive, allow_unprotected, exact)

    def _set(self, space: LabelSpace, sensitive: Any, allow_unprotected: bool, exact: bool) -> None:
        if space.size >= MOST_VALUES:
            raise ParameterError("domain.too-large", most=MOST_VALUES, size=space.size)
        unprotected = checked_flag("allow_unprotected", allow_unprotected)
        mask = sensitive_mask(space, sensitive)
        if mask is not None and not mask.any() and not unprotected:
            raise ParameterError("sensitive.empty", argument="sensitive")
        if not checked_flag("exact", exact) and mask is not None:
            plain = space.plain
            refuse_alike(plain, mask[: plain.size])
        object.__setattr__(self, "space", space if mask is None else space.bounded(mask, numbers_in(sensitive)))
        object.__setattr__(self, "size", space.size)
        object.__setattr__(self, "_mask", None if mask is None else made_read_only(mask))
        object.__setattr__(self, "exact", exact)

    @classmethod
    def _of(cls, space: LabelSpace, sensitive: Any, allow_unprotected: bool, exact: bool = False) -> Self:
        domain = cls.__new__(cls)
        domain._set(space, sensitive, allow_unprotected, exact)
        return domain

    @classmethod
    def over(cls, space: LabelSpace, sensitive: BoolArray | None, *, exact: bool | Collection[str] = False) -> Self:
        """Return the domain of a label space and a mask of its sensitive values.

        Args:
            space: the labels.
            sensitive: ``(|X|,)`` booleans, which may all be false; None if all values are sensitive.
            exact: as for `Domain`; or the attributes of a product whose labels may read alike.
        """
        if isinstance(exact, bool):
            return cls._of(space, sensitive, True, exact)
        if sensitive is not None:
            refuse_alike(space, sensitive, exact)
        return cls._of(space, sensitive, True, bool(exact))

    @classmethod
    def product(
        cls,
        attributes: Mapping[str, Any],
        *,
        sensitive: Any = None,
        allow_unprotected: bool = False,
        exact: bool = False,
    ) -> Self:
        """Make a domain of all combinations of the labels of several attributes.

        Args:
            attributes: name of each attribute and its labels; the last one varies fastest in the codes.
            sensitive: as for `Domain`; a pattern such as ``{"marital": "divorced", "age": ["30s", "40s"]}`` stands
                for all the combinations that fit it.
            allow_unprotected: as for `Domain`.
            exact: as for `Domain`.

        Example:
            >>> domain = Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]}, sensitive={"age": "<40"})
            >>> domain.names(domain.sensitive_codes)
            ['f, <40', 'm, <40']
        """
        if not isinstance(attributes, Mapping):
            raise ParameterError("attributes.not-mapping", argument="attributes", kind=type(attributes).__name__)
        if not attributes:
            raise ParameterError("attributes.empty", argument="attributes")
        if len({str(name) for name in attributes}) < len(attributes):
            raise ParameterError("attributes.same-name", argument="attributes")
        parts: dict[str, LabelSpace] = {
            name: part if isinstance(part, Numbers) else flat(part, f"labels of {name!r}")
            for name, part in zip(composed_names(map(str, attributes)), attributes.values(), strict=True)
        }
        return cls._of(Product(parts), sensitive, allow_unprotected, exact)

    @classmethod
    def grid(
        cls,
        *,
        lat: tuple[float, float],
        lon: tuple[float, float],
        rows: int,
        cols: int,
        sensitive: Any = None,
        allow_unprotected: bool = False,
    ) -> Self:
        """Make a domain of the cells of a map between two latitudes and two longitudes.

        Args:
            lat: lowest and highest latitude, in degrees.
            lon: lowest and highest longitude, in degrees.
            rows: number of regions along the latitude.
            cols: number of regions along the longitude.
            sensitive: as for `Domain`; labels are (lat, lon) points, each standing for its region.
            allow_unprotected: as for `Domain`.

        Example:
            >>> domain = Domain.grid(lat=(40.0, 41.0), lon=(-74.0, -73.0), rows=10, cols=10)
            >>> domain.encode([(40.05, -73.95), (40.95, -73.05)]).tolist()
            [0, 99]
        """
        try:
            borders = [(real_number(low), real_number(high)) for low, high in (lat, lon)]
        except (TypeError, ValueError):
            raise ParameterError("grid.not-pairs", lat=type(lat).__name__, lon=type(lon).__name__) from None
        return cls._of(Grid(borders[0], borders[1], rows, cols), sensitive, allow_unprotected)

    def for_attribute(self, attribute: str) -> Self:
        """Return a copy of the domain that stores the name of a survey's attribute."""
        domain = self._of(self.space, self._mask, True, self.exact)
        object.__setattr__(domain, "attribute", composed(attribute))
        return domain

    @classmethod
    def from_column(cls, column: Any, **more: Any) -> Self:
        """Make a domain of the different values of a column, in ascending order.

        The labels become public. So take them from a column whose values are known anyway, or list them yourself.

        Args:
            column: text, booleans, dates or whole numbers. Missing texts are omitted.
            more: by name, as for `Domain`.

        Example:
            >>> Domain.from_column(["no", "yes", "no", None], sensitive=["yes"]).labels
            ['no', 'yes']
        """
        with suppress(DataError):
            return cls(sorted(set(columns.text(column).drop_null().to_pylist())), **more)
        return cls(sorted(set(columns.integers(column, whole=True).tolist())), **more)

    @classmethod
    def number(
        cls,
        low: float,
        high: float,
        bins: int = 256,
        *,
        scale: str = "linear",
        clip: bool = False,
        sensitive: Any = None,
        allow_unprotected: bool = False,
    ) -> Self:
        """Make a domain of the numbers from ``low`` to ``high``, divided into bins.

        Args:
            low: the least number.
            high: the largest number.
            bins: number of bins, 2 to 4,096.
            scale: ``"linear"``, or ``"log1p"`` for bins in which ln(1 + x) grows by as much.
            clip: whether a number outside the range counts as the nearest bound; otherwise it raises an error.
            sensitive: ranges ``[low, high]`` of numbers, both included, rounded outward to whole bins: from low's bin
                to high's bin. Or as for `Domain`, single numbers standing for their bins.
            allow_unprotected: as for `Domain`.

        Example:
            >>> domain = Domain.number(0, 100, bins=20, sensitive=[[0, 10], [90, 100]])
            >>> domain, domain.encode([0, 4.99, 5.0, 100.0]).tolist(), domain.names()[:2]
            (Domain(20 values, 5 sensitive), [0, 0, 1, 19], ['0 to 5', '5 to 10'])
        """
        return cls._of(Numbers(low, high, bins, scale, clip), sensitive, allow_unprotected)

    def __repr__(self) -> str:
        return f"Domain({self.size} values, {self.sensitive_count} sensitive)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __contains__(self, value: Any) -> bool:
        with suppress(KeyError):
            return bool(len(self.code_of(value)))
        return False

    @property
    def labels(self) -> list[Any]:
        """The labels in the order of the codes; tuples for products, bounds for bins, and (lat, lon) for grids.

        Example:
            >>> domain = Domain.product({"sex": ["f", "m"], "age": [20, 30]})
            >>> domain.labels[1], ("m", 30) in domain, ("m", 40) in domain
            (('f', 30), True, False)
        """
        table = self.table()
        columns = [table[name].tolist() for name in self.space.column_names or table]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    @property
    def numbers(self) -> Numbers | None:
        """The bins of a domain of numbers; None if the domain has other values."""
        return self.space if isinstance(self.space, Numbers) else None

    @property
    def grid_cells(self) -> Grid | None:
        """The cells of a map whose places are the values of a domain; None for other values."""
        return self.space if isinstance(self.space, Grid) else None

    @cached_property
    def sensitive_count(self) -> int:
        """|X_S|, the number of sensitive values of a domain."""
        return self.size if self._mask is None else int(np.count_nonzero(self._mask))

    @property
    def clear_count(self) -> int:
        """|X_N|, the number of values of a domain that may be reported in clear."""
        return self.size - self.sensitive_count

    @property
    def size_text(self) -> str:
        """A text with the number of values and of protected values: "5 values, 2 protected"."""
        protected = f"{self.sensitive_count:,}" if self.clear_count else "all"
        return f"{self.size:,} values, {protected} protected"

    @cached_property
    def sensitive(self) -> BoolArray:
        """``(|X|,)`` booleans, one for each value of a domain: true if the value is sensitive."""
        return made_read_only(np.ones(self.size, dtype=np.bool_) if self._mask is None else self._mask)

    @cached_property
    def sensitive_codes(self) -> IntArray:
        """``(|X_S|,)`` codes of a domain's sensitive values, in ascending order."""
        return made_read_only(np.flatnonzero(self.sensitive))

    @cached_property
    def clear_codes(self) -> IntArray:
        """``(|X_N|,)`` codes of a domain's values that are not sensitive, in ascending order."""
        return made_read_only(np.flatnonzero(~self.sensitive))

    @cached_property
    def signed_ranks(self) -> AnyArray | None:
        """``(|X|,)`` int32: rank of a value in X_S, or ~rank of a value in X_N; None if all values are sensitive."""
        if self._mask is None:
            return None
        slots = np.empty(self.size, dtype=np.int32)
        slots[self.sensitive_codes] = np.arange(self.sensitive_count, dtype=np.int32)
        slots[self.clear_codes] = ~np.arange(self.clear_count, dtype=np.int32)
        return made_read_only(slots)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 digest of the labels, the sensitive subset, and the survey's attribute, if there is one."""
        mask = "all" if self._mask is None else hashlib.sha256(np.packbits(self._mask).tobytes()).hexdigest()
        about = [self.attribute] if self.attribute else []
        spelled = json.dumps([self.space.describe(), mask, *about], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(spelled.encode()).hexdigest()

    def encode(self, values: Any, *, float32: bool = False, as_read: bool = False) -> IntArray:
        """Return the codes of a column of values of a domain.

        Args:
            values: ``(n,)`` values in NumPy, pandas, polars, Arrow or a plain sequence; for products a table with a
                column per attribute or a sequence of tuples; for grids (lat, lon) pairs or a table with both.
            float32: whether to read numbers as float32, because they were float32 before they became float64.
            as_read: whether a text that is no label counts as the one label that reads alike. If several labels read
                alike, it counts as the one that differs only by spaces and invisible characters, if there is one.

        Returns:
            ``(n,)`` int64 codes.

        Raises:
            DataError: if values are missing, not in the domain or of the wrong kind; the message says how many and
                where. Also if ``float32`` is set and a number is no float32.
            ParameterError: if ``float32`` is set and the domain has no numbers.

        Example:
            >>> domain = Domain(["gesund", "krank"], sensitive=["krank"])
            >>> domain.encode(["Krank ", "gesund"], as_read=True).tolist()
            [1, 0]
        """
        if checked_flag("float32", float32):
            values = self.space.as_float32(values)
        if checked_flag("as_read", as_read):
            return self._checked(self.space_as_read.encode(values))
        return self._checked(self.space.encode(values), values)

    @cached_property
    def space_as_read(self) -> LabelSpace:
        """The label space without placeholders, in the form that also accepts other spellings of a label."""
        return self.space.plain.as_read()

    def _checked(self, codes: IntArray, values: Any = None) -> IntArray:
        """Return codes if none of them marks a missing or unknown value, and raise an error otherwise.

        If ``values`` are passed, the error counts the unknown values that read like a label.
        """
        if len(codes) and codes.min() < 0:
            columns.refuse_missing(codes == MISSING)
            outside = np.flatnonzero(codes == OUTSIDE)
            # An iterator is used up now, so its values cannot be encoded again.
            read = self.space_as_read.encode(values)[outside] >= 0 if isinstance(values, Sized) else outside < 0
            raise columns.outside_error(len(outside), len(codes), int(outside[0]), int(np.count_nonzero(read)))
        return codes

    def code_of(self, value: Any) -> IntArray:
        """Return the code of one value of a domain as a ``(1,)`` array.

        Raises:
            KeyError: if the value is not in the domain; the message does not quote the value.
        """
        try:
            return self.encode([value])
        except DiscreetError:
            raise KeyError("this value is not in the domain") from None

    @cached_property
    def alike(self) -> tuple[AlikeLabels, ...]:
        """The groups of a domain's labels that read alike, attribute by attribute."""
        plain = self.space.plain
        return tuple(alike_labels(plain, self.sensitive[: plain.size]))

    def check_codes(self, codes: Any) -> IntArray:
        """Return ``codes`` as ``(n,)`` integers; raise an error unless all are in 0..|X| - 1.

        Raises:
            DataError: if an entry is not an integer in this range.
        """
        plain = isinstance(codes, np.ndarray) and codes.dtype.kind in "iu"
        checked = columns.unmasked(codes, "codes") if plain else columns.integers(codes, "codes")
        if checked.ndim != 1:
            raise DataError("column.not-one", wanted="codes", shape=checked.shape)
        if not columns.all_below(checked, self.size):
            wrong = np.flatnonzero((checked < 0) | (checked >= self.size))
            raise DataError(
                "codes.out-of-range",
                argument="codes",
                largest=self.size - 1,
                count=len(wrong),
                total=len(checked),
                row=wrong[0],
            )
        # uint64 and int64 have no common integer type.
        return checked.astype(np.int64) if checked.dtype == np.uint64 else checked

    def table(self, codes: IntArray | None = None) -> dict[str, AnyArray]:
        """Return the labels of ``codes`` as named columns; the labels of all values if ``codes`` is None."""
        return self.space.table(np.arange(self.size) if codes is None else self.check_codes(codes))

    def names(self, codes: IntArray | None = None) -> list[str]:
        """Return a readable name for each code; for each value if ``codes`` is None."""
        return self.space.names(np.arange(self.size) if codes is None else self.check_codes(codes))

    def with_placeholders(self, tags: Sequence[str]) -> Self:
        """Return the domain extended by one sensitive placeholder per tag: Z = X + ⊥, Z_S = X_S + ⊥.

        Args:
            tags: different texts.

        Raises:
            ParameterError: if tags repeat, or the domain has placeholders already.
        """
        space = WithPlaceholders(self.space, tags)
        mask = None if self._mask is None else np.append(self._mask, np.ones(len(space.tags), dtype=np.bool_))
        return self._of(space, mask, False, self.exact).for_attribute(self.attribute)

    def distribution(self, values: Any, probabilities: Any) -> FloatArray:
        """Return the ``(|X|,)`` distribution with the given probabilities of some values, and 0 for all others.

        Args:
            values: ``(n,)`` different values; see `encode`.
            probabilities: ``(n,)`` numbers that sum to 1.

        Raises:
            DataError: if a value is not in the domain.
            ParameterError: if a value is listed twice, or the probabilities are no distribution.
        """
        codes, shares = self._checked(self.space.encode(values)), columns.numbers(probabilities, "probabilities")
        if len(shares) != len(codes) or len(np.unique(codes)) != len(codes):
            raise ParameterError(
                "distribution.not-one-each", n=len(codes), distinct=len(np.unique(codes)), shares=len(shares)
            )
        whole = np.zeros(self.size)
        whole[codes] = shares
        return self.check_distribution(whole)

    def arrange(self, sensitive: FloatArray, clear: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` numbers in the order of the codes, from ``(v,)`` for X_S and ``(N,)`` for X_N.

        Rows are arranged in the same way: ``(g, |X|)`` from ``(g, v)`` and ``(g, N)``.
        """
        if self.clear_count == 0:
            return sensitive
        whole = np.empty((*np.shape(clear)[:-1], self.size))
        whole[..., self.sensitive_codes] = sensitive
        whole[..., self.clear_codes] = clear
        return whole

    def check_distribution(self, p: Any) -> FloatArray:
        """Return ``p`` as a ``(|X|,)`` probability distribution over the domain.

        Args:
            p: ``(|X|,)`` probabilities, or a mapping from values to probabilities; other values then have 0.

        Raises:
            ParameterError: if ``p`` is no distribution (entries at least 0 that sum to 1 within 1e-6).
            DataError: if a value of a mapping is not in the domain.
        """
        if isinstance(p, Mapping):
            return self.distribution(list(p), list(p.values()))
        array = columns.reals(p, "p")
        if (
            array.shape != (self.size,)
            or not np.isfinite(array).all()
            or array.min() < 0
            or abs(array.sum() - 1) > 1e-6
        ):
            raise ParameterError(
                "distribution.not-1", argument="p", total=array.sum(), size=self.size, shape=array.shape
            )
        return array


def checked_domain(argument: object) -> Domain:
    """Return a domain unchanged; raise an error for any other object.

    Raises:
        ParameterError: if the object is no domain.
    """
    if not isinstance(argument, Domain):
        raise ParameterError("domain.wrong-type", argument="domain", kind=type(argument).__name__)
    return argument
