"""Sensitive subsets: from labels, masks, predicates or patterns to one boolean per code."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, TypeAlias

import numpy as np

from discreet.arrays import AnyArray, BoolArray, IntArray
from discreet.core import columns
from discreet.core.labels import IntegerRange, Integers, LabelSpace, names
from discreet.core.products import Product
from discreet.errors import DataError, ParameterError

# Labels that a refusal lists.
_SHOWN = 5

Sensitivity: TypeAlias = "Sequence[Any] | AnyArray | Callable[..., bool] | Mapping[str, Any] | None"
"""Labels, a boolean mask, a predicate, or for products one pattern or a list of them; None means every value."""


def sensitive_mask(space: LabelSpace, sensitive: Any) -> BoolArray | None:
    """Return the ``(|X|,)`` mask of the sensitive values; None if all are.

    Args:
        space: the labels.
        sensitive: see `Sensitivity`. A predicate is called with a label (for products and grids, with a mapping
            from attribute to label) and a pattern maps attributes to a label or a list of labels.

    Returns:
        ``(|X|,)`` booleans, or None if every value is sensitive.

    Raises:
        ParameterError: if it names what is not in the domain.
    """
    if sensitive is None:
        return None
    mask = value_mask(space, sensitive)
    return None if mask.all() else mask


def value_mask(space: LabelSpace, values: Any, name: str = "sensitive") -> BoolArray:
    """Return the ``(|X|,)`` mask of some values.

    Args:
        space: the labels.
        values: as for `sensitive_mask`, but never None.
        name: of the argument, in refusals.

    Raises:
        ParameterError: if it names what is not in the domain.
    """
    if callable(values):
        return _by_predicate(space, values)
    if isinstance(values, Mapping):
        values = [values]
    if isinstance(values, list | tuple) and values and all(isinstance(item, Mapping) for item in values):
        return _by_patterns(space, values, name)
    if isinstance(values, str | bytes):
        raise ParameterError(f"{name} must be a list of labels, not a single text; put it in a list.")
    if _is_mask(values):
        return _by_mask(space, values, name)
    return _by_labels(space, values, name)


def _is_mask(sensitive: Any) -> bool:
    if isinstance(sensitive, list | tuple):
        return bool(sensitive) and all(isinstance(item, bool | np.bool_) for item in sensitive)
    if isinstance(sensitive, set | frozenset | range):
        return False
    kind = str(getattr(sensitive, "dtype", getattr(sensitive, "type", ""))).lower()
    if kind == "object" and isinstance(getattr(sensitive, "shape", None), tuple):
        return any(isinstance(item, bool | np.bool_) for item in sensitive)
    return kind in ("bool", "boolean")


def _by_mask(space: LabelSpace, marks: Any, name: str) -> BoolArray:
    if getattr(marks, "ndim", 1) != 1:
        raise ParameterError(f"a {name} mask must have one entry per value ({space.size}), got {marks.ndim} axes.")
    try:
        mask = columns.marks(marks, "marks of what is sensitive")
    except DataError as error:
        raise ParameterError(str(error)) from None
    if mask.shape != (space.size,):
        raise ParameterError(f"a {name} mask must have one entry per value ({space.size}), got shape {mask.shape}.")
    return mask.copy()


def _by_labels(space: LabelSpace, labels: Any, name: str) -> BoolArray:
    mask = np.zeros(space.size, dtype=np.bool_)
    if not isinstance(labels, Iterable):
        raise ParameterError(f"{name} must be a list of labels, got {type(labels).__name__}.")
    if isinstance(labels, range) and isinstance(space, IntegerRange) and labels.step == 1:
        # Without a code for every label: domains have millions of values.
        first, last = labels.start - space.start, labels.stop - space.start
        if 0 <= first <= last <= space.size:
            mask[first:last] = True
            return mask
    listed = labels if isinstance(labels, Sized) and not isinstance(labels, set | frozenset) else list(labels)
    if len(listed) == 0:
        return mask
    try:
        codes = space.encode(listed)
    except DataError as error:
        raise ParameterError(f"{name}: {error}") from None
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        raise ParameterError(
            f"{name} must name values of the domain, such as {known_labels(space)}; {len(unknown)} of {len(codes)} are "
            f"not in it (first at position {unknown[0]})."
        )
    mask[codes] = True
    if isinstance(space, IntegerRange | Integers) and np.count_nonzero(mask) != len(codes):
        raise ParameterError(
            f"{name} must name each label once; to mark values by position, give true and false, not 1 and 0."
        )
    return mask


def _by_predicate(space: LabelSpace, predicate: Callable[..., bool]) -> BoolArray:
    table = space.table(np.arange(space.size))
    names, spelled = list(table), [column.tolist() for column in table.values()]
    if names == ["value"]:
        said = [predicate(label) for label in spelled[0]]
    else:
        said = [predicate(dict(zip(names, row, strict=True))) for row in zip(*spelled, strict=True)]
    try:
        return np.array([bool(answer) for answer in said], dtype=np.bool_)
    except (TypeError, ValueError):
        raise ParameterError("a predicate of what is sensitive must answer true or false for every value.") from None


def _by_patterns(space: LabelSpace, patterns: Sequence[Mapping[str, Any]], name: str) -> BoolArray:
    if not isinstance(space, Product):
        raise ParameterError(f"{name} patterns need a product domain; list the labels instead.")
    mask = np.zeros(tuple(part.size for part in space.attributes.values()), dtype=np.bool_)
    for place, pattern in enumerate(patterns):
        mask[np.ix_(*_selection(space, pattern, f"{name} pattern {place}"))] = True
    return mask.reshape(-1)


def _selection(space: Product, pattern: Mapping[str, Any], where: str) -> list[IntArray]:
    unknown = [name for name in pattern if name not in space.attributes]
    if unknown or not pattern:
        raise ParameterError(f"{where} must name attributes among {list(space.attributes)}, got {list(pattern)}.")
    chosen = []
    for name, part in space.attributes.items():
        if name not in pattern:
            chosen.append(np.arange(part.size))
            continue
        wanted = pattern[name]
        wanted = list(wanted) if isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes) else [wanted]
        chosen.append(_codes(part, wanted, f"{where}, attribute {name!r}"))
    return chosen


def _codes(part: LabelSpace, wanted: list[Any], where: str) -> IntArray:
    try:
        codes = part.encode(wanted)
    except DataError as error:
        raise ParameterError(f"{where}: {error}") from None
    if (codes < 0).any() or not len(codes):
        raise ParameterError(f"{where} must name its labels, which are {known_labels(part)}; got {wanted!r}.")
    return codes


def known_labels(space: LabelSpace) -> str:
    """Return the first labels of a space, as refusals list them."""
    shown = names(space, np.arange(min(space.size, _SHOWN)))
    return ", ".join(shown) + (f" and {space.size - _SHOWN:,} more" if space.size > _SHOWN else "")
