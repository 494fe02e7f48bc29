"""The domain in a document: labels, ranges, numbers, attributes, a grid or a file, and the sensitive values."""

import os
from collections.abc import Iterator
from functools import singledispatch
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from discreet.arrays import BoolArray
from discreet.core.domain import Domain
from discreet.core.labels.bins import Numbers
from discreet.core.labels.products import Grid, Product
from discreet.core.labels.spaces import NUMBERS, IntegerRange, LabelSpace
from discreet.core.labels.text_forms import composed, composed_names
from discreet.errors import ParameterError

_MOST = 1 << 20


def described_domain(domain: Domain) -> dict[str, Any]:
    """Return the domain as a dictionary, as plans describe it.

    Raises:
        ParameterError: if the plan would list more than a million labels.

    Example:
        >>> described_domain(Domain(range(100), sensitive=[3, 4]))
        {'range': [0, 100], 'sensitive': [3, 4]}
        >>> pairs = Domain.product({"sex": ["f", "m"], "age": ["<40", "40+"]}, sensitive={"age": "<40"})
        >>> described_domain(pairs)["sensitive"]
        [{'age': ['<40']}]
    """
    described = _labels(domain.space) | ({"attribute": domain.attribute} if domain.attribute else {})
    described |= {"exact": True} if domain.exact else {}
    if not domain.sensitive_count:
        return described | {"sensitive": [], "allow_unprotected": True}
    if not domain.clear_count:
        return described
    if domain.sensitive_count > _MOST:
        raise ParameterError("plan.too-many-labels", most=_MOST, n=domain.sensitive_count)
    return described | {"sensitive": described_values(domain.space, domain.sensitive)}


@singledispatch
def _labels(space: LabelSpace) -> dict[str, Any]:
    """Return the entry that lists the labels in a domain's dictionary. It depends on the class of the label space."""
    return {"labels": _plain_labels(space)}


@_labels.register
def _(space: IntegerRange) -> dict[str, Any]:
    return space.describe()


@_labels.register
def _(space: Grid) -> dict[str, Any]:
    return {"grid": {"lat": [*space.lat], "lon": [*space.lon], "rows": space.rows, "cols": space.cols}}


@_labels.register
def _(space: Numbers) -> dict[str, Any]:
    number = {"low": space.low, "high": space.high, "bins": space.bins, "scale": space.scale}
    return {"number": number | ({"clip": True} if space.clip else {})}


@_labels.register
def _(space: Product) -> dict[str, Any]:
    parts = space.attributes.items()
    return {
        "product": {
            name: _labels(part)["number"] if part.holds == NUMBERS else _plain_labels(part) for name, part in parts
        }
    }


@singledispatch
def described_values(space: LabelSpace, chosen: BoolArray) -> list[Any]:
    """Return the chosen values as plans write them: labels, ranges of numbers, patterns of a product, or grid points.

    Args:
        space: the labels.
        chosen: ``(|X|,)`` booleans: the values.
    """
    return _plain_labels(space, chosen)


@described_values.register
def _(space: Numbers, chosen: BoolArray) -> list[Any]:
    return [*space.closed_ranges(np.flatnonzero(chosen))]


@described_values.register
def _(space: Product, chosen: BoolArray) -> list[Any]:
    return [*_patterns(space, chosen)]


@described_values.register
def _(space: Grid, chosen: BoolArray) -> list[Any]:
    centres = space.table(np.flatnonzero(chosen))
    return [[*point] for point in zip(centres["lat"].tolist(), centres["lon"].tolist(), strict=True)]


def _plain_labels(space: LabelSpace, chosen: BoolArray | None = None) -> list[Any]:
    """Return all labels of a space without attributes, or the chosen ones."""
    codes = np.arange(space.size) if chosen is None else np.flatnonzero(chosen)
    if len(codes) > _MOST:
        raise ParameterError("plan.too-many-labels", most=_MOST, n=len(codes))
    if space.plain is not space:
        raise ParameterError("plan.lists-placeholders")
    (column,) = space.table(codes).values()
    labels: list[Any] = column.tolist()
    return labels


def _patterns(space: Product, chosen: BoolArray) -> Iterator[dict[str, Any]]:
    """Yield patterns that match exactly the chosen combinations: labels of one attribute first, then combinations."""
    labels = {name: _each(part) for name, part in space.attributes.items()}
    mask = chosen.reshape([part.size for part in space.attributes.values()])
    left = mask.copy()
    for axis, (name, part) in enumerate(space.attributes.items()):
        whole: Any = np.moveaxis(mask, axis, 0).reshape(part.size, -1).all(axis=1)
        if whole.any():
            yield {name: described_values(part, whole)}
            np.moveaxis(left, axis, 0)[whole] = False
    *names, last = labels
    for row in zip(*np.nonzero(left.any(axis=-1)), strict=True):
        fixed = {name: labels[name][place] for name, place in zip(names, row, strict=True)}
        yield fixed | {last: described_values(space.attributes[last], left[row])}


def _each(part: LabelSpace) -> list[Any]:
    """Return the values of an attribute, each as patterns write it."""
    if part.holds != NUMBERS:
        return _plain_labels(part)
    return [described_values(part, single) for single in np.eye(part.size, dtype=np.bool_)]


Label = str | int
Cut = int | float | str
Pattern = dict[str, Label | float | list[Label | float | list[float]]]
Sensitive = list[str | int | bool | Pattern | list[float]]


class GridSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A grid on a map: its borders in degrees, and the numbers of rows and columns."""

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int


class NumberSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers from low to high, in bins.

    Attributes:
        low: the smallest number.
        high: the largest number.
        bins: the number of bins.
        scale: "linear" for bins of equal width, or "log1p" for bins of equal width in ln(1 + x).
        clip: whether numbers outside the range count as the nearest number inside; otherwise they are errors.
    """

    low: float
    high: float
    bins: int = 256
    scale: Literal["linear", "log1p"] = "linear"
    clip: bool = False


class FileSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels in a CSV or Parquet file beside the plan.

    Attributes:
        path: the path of the file, relative to the plan.
        label: the name of the column of labels.
        sensitive: the name of a column of true and false; None if the plan lists the sensitive values.
    """

    path: str
    label: str = "label"
    sensitive: str | None = None


class CellsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Coarse cells of a grid, each with a placeholder: the numbers of cells along latitude and longitude."""

    rows: int
    cols: int


class DomainSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a domain: exactly one of labels, range, number, product, grid and file; and sensitive values.

    Attributes:
        labels: texts or integers.
        range: the first integer, and the integer after the last one.
        number: numbers in bins.
        product: the labels or numbers of each attribute.
        grid: the cells of a grid on a map.
        file: labels in a file.
        sensitive: a list of labels, or of true and false; for products a list of patterns; for numbers a list of ranges
            [low, high], with both ends, rounded outward to whole bins. Every value is sensitive if it is left out.
        allow_unprotected: accept that nothing is sensitive.
        missing: the label for missing values of a table; for a product, by attribute. It is applied before a report is
            made, so it does not change the fingerprint.
        cuts: the start of the range of each label except the first, ascending: numbers, or dates such as "2026-07"; for
            a product, by attribute. A table then holds numbers or dates. Cuts do not change the fingerprint.
        attribute: the survey's attribute to which the values belong. It is part of the fingerprint.
        exact: accept labels that read alike and differ in sensitivity, such as AA, Aa and aa. It does not change the
            fingerprint.
    """

    labels: list[Label] | None = None
    range: tuple[int, int] | None = None
    number: NumberSpec | None = None
    product: dict[str, list[Label] | NumberSpec] | None = None
    grid: GridSpec | None = None
    file: FileSpec | None = None
    sensitive: Sensitive | None = None
    allow_unprotected: bool = False
    missing: Label | dict[str, Label] | None = None
    cuts: list[Cut] | dict[str, list[Cut]] | None = None
    attribute: str = ""
    exact: bool = False

    def __post_init__(self) -> None:
        """Convert labels and names of attributes to Unicode's normal form C.

        Raises:
            ParameterError: if two attributes then have the same name.
        """
        for name in ("labels", "product", "sensitive", "missing", "cuts", "attribute"):
            msgspec.structs.force_setattr(self, name, all_composed(getattr(self, name)))

    def domain(self, folder: Path, *, allow_outside: bool = False) -> Domain:
        """Build the domain. Files must be in ``folder`` or below, unless other places are allowed.

        Raises:
            ParameterError: if a value is out of range, or a file is outside the folder.
        """
        kinds = ("labels", "range", "number", "product", "grid", "file")
        present = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(present) != 1:
            raise ParameterError("domain.not-one-kind", names=", ".join(kinds), present=", ".join(present) or "none")
        if self.exact and present[0] in ("number", "grid"):
            raise ParameterError("domain.exact-without-labels", kind=present[0])
        built = self._built(folder, allow_outside)
        if self.missing is not None:
            from discreet.tables.values import check_missing_label

            check_missing_label(built, self.missing)
        if self.cuts is not None:
            from discreet.tables.cuts import check_cuts

            check_cuts(built, self.cuts, self.missing)
        return built.for_attribute(self.attribute) if self.attribute else built

    def _built(self, folder: Path, allow_outside: bool) -> Domain:
        protection: dict[str, Any] = {"sensitive": self.sensitive, "allow_unprotected": self.allow_unprotected}
        if self.product is not None:
            parts = self.product.items()
            numbers = {name: Numbers(**msgspec.structs.asdict(p)) for name, p in parts if isinstance(p, NumberSpec)}
            return Domain.product({**self.product, **numbers}, **protection, exact=self.exact)
        if self.number is not None:
            return Domain.number(**msgspec.structs.asdict(self.number), **protection)
        if self.grid is not None:
            return Domain.grid(**msgspec.structs.asdict(self.grid), **protection)
        if self.file is not None:
            # It imports Arrow, which a device does not need if the plan lists its labels.
            from discreet.tables.columns import read_labels

            labels, marked = read_labels(
                inside(folder, self.file.path, allow_outside=allow_outside), self.file.label, self.file.sensitive
            )
            if marked is not None and self.sensitive is not None:
                raise ParameterError("domain.sensitive-twice")
            protection["sensitive"] = self.sensitive if marked is None else marked
            return Domain(labels, **protection, exact=self.exact)
        return Domain(range(*self.range) if self.range else self.labels, **protection, exact=self.exact)


def all_composed(content: Any) -> Any:
    """Return dictionaries, lists and texts with all texts and keys in Unicode's normal form C.

    Raises:
        ParameterError: if two keys of a table are then the same.

    Example:
        >>> all_composed({"Gro\u0308\u00dfe": ["gro\u00df", 1]})
        {'Größe': ['groß', 1]}
    """
    if isinstance(content, str):
        return composed(content)
    if isinstance(content, list):
        return [all_composed(item) for item in content]
    if not isinstance(content, dict):
        return content
    names = composed_names(content)
    return {name: all_composed(item) for name, item in zip(names, content.values(), strict=True)}


def inside(folder: Path, name: str, *, allow_outside: bool) -> Path:
    """Return the path of a file that a document names, after a check that its links do not leave the folder.

    Args:
        folder: the folder of the document.
        name: the path in the document, relative to the folder.
        allow_outside: whether the file may be anywhere.

    Raises:
        ParameterError: if the file is outside the folder of the document, or is not a regular file.
    """
    place = folder / name
    if "\0" in name:
        raise ParameterError("path.has-nul")
    try:
        real = place.resolve()
        within = real.is_relative_to(folder.resolve())
        # Links in a loop are still links: Python 3.13 and later raise no error for them.
        odd = real.is_symlink() or (real.exists() and not real.is_file())
    except (OSError, RuntimeError):
        raise ParameterError("path.broken-link", place=place) from None
    if not (within or allow_outside):
        raise ParameterError("path.outside", name=name)
    if odd:
        raise ParameterError("path.not-a-file", place=place)
    # The resolved path is returned, so that a link that changes after the check has no effect.
    return real if within and real != place.absolute() else place


def moved_domain(domain: dict[str, Any], folder: Path, target: Path) -> dict[str, Any]:
    """Return a domain's dictionary with the file's path relative to the folder of `target` instead of `folder`."""
    file = domain.get("file")
    if file is None:
        return domain
    moved = os.path.relpath(folder / file["path"], target.absolute().parent)
    return {**domain, "file": {**file, "path": Path(moved).as_posix()}}
