"""Domains: the values of a plan, and its sensitive values."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray, sealed
from discreet.core import columns
from discreet.core.bots import WithBots
from discreet.core.checks import checked_flag, real_number
from discreet.core.columns import MISSING, OUTSIDE
from discreet.core.grids import Grid
from discreet.core.labels import LabelSpace, flat, names
from discreet.core.products import Product
from discreet.core.sensitivity import sensitive_mask
from discreet.errors import DataError, ParameterError

_LARGEST = 1 << 31


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Domain:
    """The values of a plan: labels, codes 0..|X| - 1, and the sensitive subset X_S.

    Integers, products and grids are never spelled out, so |X| may be ten million.

    Args:
        labels: integers (a range costs nothing) or text, all different.
        sensitive: the sensitive values: labels, a ``(|X|,)`` boolean mask, a predicate on labels, or for products
            one pattern or a list of patterns; None means every value (plain LDP).
        allow_unprotected: accept that no value is sensitive, so that everything is reported in clear.

    Attributes:
        space: the label space.
        size: |X|.

    Raises:
        ParameterError: if there are no labels, some repeat, something sensitive is not among them, or nothing is
            sensitive and that was not allowed by name.

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

    def __init__(self, labels: Any, *, sensitive: Any = None, allow_unprotected: bool = False) -> None:
        self._set(flat(labels), sensitive, allow_unprotected)

    def _set(self, space: LabelSpace, sensitive: Any, allow_unprotected: bool) -> None:
        if space.size >= _LARGEST:
            raise ParameterError(f"a domain must have fewer than {_LARGEST} values, got {space.size}.")
        unprotected = checked_flag("allow_unprotected", allow_unprotected)
        mask = sensitive_mask(space, sensitive)
        if mask is not None and not mask.any() and not unprotected:
            raise ParameterError(
                "sensitive must name at least one value: otherwise nobody is protected; "
                "pass allow_unprotected=True if that is what you want."
            )
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "size", space.size)
        object.__setattr__(self, "_mask", None if mask is None else sealed(mask))

    @classmethod
    def _of(cls, space: LabelSpace, sensitive: Any, allow_unprotected: bool) -> Self:
        domain = cls.__new__(cls)
        domain._set(space, sensitive, allow_unprotected)
        return domain

    @classmethod
    def over(cls, space: LabelSpace, sensitive: BoolArray) -> Self:
        """Return the domain of a label space, of which by a mask any values are sensitive, or none."""
        return cls._of(space, sensitive, True)

    @classmethod
    def product(cls, attributes: Mapping[str, Any], *, sensitive: Any = None, allow_unprotected: bool = False) -> Self:
        """Make a domain of every combination of the attributes' labels.

        Args:
            attributes: name of each attribute and its labels; the last one varies fastest in the codes.
            sensitive: as for `Domain`; a pattern such as ``{"marital": "divorced", "age": ["30s", "40s"]}`` stands
                for all the combinations that fit it.
            allow_unprotected: as for `Domain`.

        Example:
            >>> domain = Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]}, sensitive={"age": "<40"})
            >>> domain.names(domain.sensitive_codes)
            ['f, <40', 'm, <40']
        """
        if not isinstance(attributes, Mapping):
            raise ParameterError(f"attributes must be labels by name, got {type(attributes).__name__}.")
        if not attributes:
            raise ParameterError("attributes must name at least one attribute, got none.")
        if len({str(name) for name in attributes}) < len(attributes):
            raise ParameterError("attributes must have different names.")
        parts = {str(name): flat(given, f"labels of {name!r}") for name, given in attributes.items()}
        return cls._of(Product(parts), sensitive, allow_unprotected)

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
        """Make a domain of the rectangular regions of a map.

        Args:
            lat: lowest and highest latitude, in degrees.
            lon: lowest and highest longitude, in degrees.
            rows: how many regions along the latitude.
            cols: how many regions along the longitude.
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
            raise ParameterError(
                f"lat and lon must be two numbers each, got {type(lat).__name__} and {type(lon).__name__}."
            ) from None
        return cls._of(Grid(borders[0], borders[1], rows, cols), sensitive, allow_unprotected)

    def __repr__(self) -> str:
        return f"Domain({self.size} values, {self.sensitive_count} sensitive)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domain) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @cached_property
    def sensitive_count(self) -> int:
        """|X_S|."""
        return self.size if self._mask is None else int(np.count_nonzero(self._mask))

    @property
    def clear_count(self) -> int:
        """|X_N|, the number of values that may go in clear."""
        return self.size - self.sensitive_count

    @cached_property
    def sensitive(self) -> BoolArray:
        """``(|X|,)`` booleans: which values are sensitive."""
        return sealed(np.ones(self.size, dtype=np.bool_) if self._mask is None else self._mask)

    @cached_property
    def sensitive_codes(self) -> IntArray:
        """``(|X_S|,)`` codes of the sensitive values, ascending."""
        return sealed(np.flatnonzero(self.sensitive))

    @cached_property
    def clear_codes(self) -> IntArray:
        """``(|X_N|,)`` codes of the other values, ascending."""
        return sealed(np.flatnonzero(~self.sensitive))

    @cached_property
    def slots(self) -> AnyArray | None:
        """``(|X|,)`` int32: rank among the sensitive values, or ~rank among the others; None if all are sensitive."""
        if self._mask is None:
            return None
        slots = np.empty(self.size, dtype=np.int32)
        slots[self.sensitive_codes] = np.arange(self.sensitive_count, dtype=np.int32)
        slots[self.clear_codes] = ~np.arange(self.clear_count, dtype=np.int32)
        return sealed(slots)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the labels and of the sensitive subset."""
        mask = "all" if self._mask is None else hashlib.sha256(np.packbits(self._mask).tobytes()).hexdigest()
        spelled = json.dumps([self.space.describe(), mask], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(spelled.encode()).hexdigest()

    def encode(self, values: Any) -> IntArray:
        """Return the codes of a column of values.

        Args:
            values: ``(n,)`` values in NumPy, pandas, polars, Arrow or a plain sequence; for products a table with a
                column per attribute or a sequence of tuples; for grids (lat, lon) pairs or a table with both.

        Returns:
            ``(n,)`` int64 codes.

        Raises:
            DataError: if some are missing, not in the domain or of the wrong kind; it says how many and where.
        """
        codes = self.space.encode(values)
        if len(codes) and codes.min() < 0:
            missing, outside = np.flatnonzero(codes == MISSING), np.flatnonzero(codes == OUTSIDE)
            if len(missing):
                raise DataError(columns.missing_message(len(missing), len(codes), int(missing[0])))
            raise DataError(columns.outside_message(len(outside), len(codes), int(outside[0])))
        return codes

    def check_codes(self, codes: Any) -> IntArray:
        """Return ``codes`` as ``(n,)`` integers if all are in 0..|X| - 1.

        Raises:
            DataError: otherwise.
        """
        plain = isinstance(codes, np.ndarray) and codes.dtype.kind in "iu"
        checked = columns.unmasked(codes, "codes") if plain else columns.integers(codes, "codes")
        if checked.ndim != 1:
            raise DataError(f"codes must be one column, got an array of shape {checked.shape}.")
        if not columns.all_below(checked, self.size):
            wrong = np.flatnonzero((checked < 0) | (checked >= self.size))
            raise DataError(
                f"codes must lie in 0..{self.size - 1}; {len(wrong)} of {len(checked)} do not "
                f"(first at row {wrong[0]})."
            )
        # uint64 and int64 have no common integer type.
        return checked.astype(np.int64) if checked.dtype == np.uint64 else checked

    def table(self, codes: IntArray | None = None) -> dict[str, AnyArray]:
        """Return named label columns for ``codes`` (every value if None)."""
        return self.space.table(np.arange(self.size) if codes is None else self.check_codes(codes))

    def names(self, codes: IntArray | None = None) -> list[str]:
        """Return one readable name per code (every value if None)."""
        return names(self.space, np.arange(self.size) if codes is None else self.check_codes(codes))

    def with_bots(self, tags: Sequence[str]) -> Self:
        """Return the domain extended by one bot per tag, all of them sensitive: Z = X + bots, Z_S = X_S + bots.

        Args:
            tags: different texts.

        Raises:
            ParameterError: if they are not, or the domain has bots already.
        """
        space = WithBots(self.space, tags)
        mask = None if self._mask is None else np.append(self._mask, np.ones(len(space.tags), dtype=np.bool_))
        return self._of(space, mask, False)

    def distribution(self, values: Any, probabilities: Any) -> FloatArray:
        """Return the ``(|X|,)`` distribution that gives the listed values their probabilities, and 0 to the others.

        Args:
            values: ``(n,)`` different values; see `encode`.
            probabilities: ``(n,)`` numbers that sum to 1.

        Raises:
            DataError: if a value is not in the domain.
            ParameterError: if a value is listed twice, or this is no distribution.
        """
        codes, shares = self.encode(values), columns.numbers(probabilities, "probabilities")
        if len(shares) != len(codes) or len(np.unique(codes)) != len(codes):
            raise ParameterError(
                f"a distribution must give every value that it lists one probability, once, got {len(codes)} values, "
                f"{len(np.unique(codes))} of them different, and {len(shares)} probabilities."
            )
        whole = np.zeros(self.size)
        whole[codes] = shares
        return self.check_distribution(whole)

    def arrange(self, sensitive: FloatArray, clear: FloatArray) -> FloatArray:
        """Return ``(|X|,)`` numbers in the order of the codes, from ``(v,)`` of X_S and ``(N,)`` of the others.

        So are rows of them: ``(g, |X|)`` from ``(g, v)`` and ``(g, N)``.
        """
        if self.clear_count == 0:
            return sensitive
        whole = np.empty((*np.shape(clear)[:-1], self.size))
        whole[..., self.sensitive_codes] = sensitive
        whole[..., self.clear_codes] = clear
        return whole

    def check_distribution(self, p: Any) -> FloatArray:
        """Return ``p`` as a ``(|X|,)`` probability distribution over the domain.

        Raises:
            ParameterError: if it is not one (entries at least 0 that sum to 1 within 1e-6).
        """
        array = columns.reals(p, f"p, {self.size} probabilities,")
        if (
            array.shape != (self.size,)
            or not np.isfinite(array).all()
            or array.min() < 0
            or abs(array.sum() - 1) > 1e-6
        ):
            raise ParameterError(
                f"p must be {self.size} probabilities that sum to 1, got shape {array.shape} and sum {array.sum():.9g}."
            )
        return array


def checked_domain(argument: object) -> Domain:
    """Return a domain, or refuse any other object.

    Raises:
        ParameterError: if not.
    """
    if not isinstance(argument, Domain):
        raise ParameterError(f"domain must be a Domain, got {type(argument).__name__}; make one with Domain(labels).")
    return argument
