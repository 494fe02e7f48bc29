"""The domain in a document: values by labels, ranges, attributes, a grid or a file, and which of them are sensitive."""

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
from discreet.core.labels.reading import composed, composed_names
from discreet.core.labels.spaces import NUMBERS, IntegerRange, LabelSpace
from discreet.errors import ParameterError

_MOST = 1 << 20


def described_domain(domain: Domain) -> dict[str, Any]:
    """Return the table of a domain in a plan.

    Raises:
        ParameterError: if a plan would have to spell out more than a million labels.

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
    """Return the entry of a domain's table that lists the labels, by the class of their space."""
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
    """Return some values as plans name them: labels, ranges of numbers, patterns of a product, or points of a grid.

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
    """Return labels of a flat space: all, or those that are chosen."""
    codes = np.arange(space.size) if chosen is None else np.flatnonzero(chosen)
    if len(codes) > _MOST:
        raise ParameterError("plan.too-many-labels", most=_MOST, n=len(codes))
    if space.plain is not space:
        raise ParameterError("plan.lists-placeholders")
    (column,) = space.table(codes).values()
    labels: list[Any] = column.tolist()
    return labels


def _patterns(space: Product, chosen: BoolArray) -> Iterator[dict[str, Any]]:
    """Yield patterns of the chosen combinations and no others: whole labels first, then single combinations."""
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
    """Return each value of an attribute as patterns name it by itself."""
    if part.holds != NUMBERS:
        return _plain_labels(part)
    return [described_values(part, single) for single in np.eye(part.size, dtype=np.bool_)]


Label = str | int
Cut = int | float | str
Pattern = dict[str, Label | float | list[Label | float | list[float]]]
Sensitive = list[str | int | bool | Pattern | list[float]]


class GridSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Regions of a map: borders in degrees, and how many rows and columns."""

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int


class NumberSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers from low to high, in bins.

    Attributes:
        low: the least number.
        high: the largest one.
        bins: how many bins.
        scale: "linear", or "log1p" for bins in which ln(1 + x) grows by as much.
        clip: whether numbers outside are taken for the nearest one inside; otherwise they are refused.
    """

    low: float
    high: float
    bins: int = 256
    scale: Literal["linear", "log1p"] = "linear"
    clip: bool = False


class FileSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels in a CSV or Parquet file beside the plan.

    Attributes:
        path: the file, relative to the plan.
        label: name of the column of labels.
        sensitive: name of a column of true and false; None if the plan lists the sensitive values.
    """

    path: str
    label: str = "label"
    sensitive: str | None = None


class CellsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Coarse cells of a grid, with a placeholder each: their numbers along the latitude and the longitude."""

    rows: int
    cols: int


class DomainSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values: exactly one of labels, range, number, product, grid and file; and which of them are sensitive.

    Attributes:
        labels: texts or integers.
        range: the first integer and the one after the last.
        number: numbers in bins.
        product: labels of each attribute, or its numbers.
        grid: regions of a map.
        file: labels in a file.
        sensitive: labels, a list of true and false, for products patterns, or for numbers ranges [low, high], both
            ends included, rounded outward to whole bins; every value if it is left out.
        allow_unprotected: accept that nothing is sensitive.
        missing: the label for missing values of a table; of a product, by attribute. It changes no fingerprint,
            because it is applied before a report is made.
        cuts: the begin of the range of each label but the first, ascending: numbers, or dates such as "2026-07"; of a
            product, by attribute. A table then holds numbers or dates. They change no fingerprint.
        attribute: the attribute of a survey that the values are of; it is in the fingerprint.
        exact: accept labels that read alike and differ in sensitivity, such as AA, Aa and aa. It changes no
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
        """Bring labels and names of attributes to Unicode's normal form C.

        Raises:
            ParameterError: if two attributes then have the same name.
        """
        for name in ("labels", "product", "sensitive", "missing", "cuts", "attribute"):
            msgspec.structs.force_setattr(self, name, all_composed(getattr(self, name)))

    def domain(self, folder: Path, *, allow_outside: bool = False) -> Domain:
        """Build the domain; files are looked up in ``folder``, and only there or below unless others are allowed.

        Raises:
            ParameterError: if a value is out of range, or a file is elsewhere.
        """
        kinds = ("labels", "range", "number", "product", "grid", "file")
        present = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(present) != 1:
            raise ParameterError("domain.not-one-kind", names=", ".join(kinds), present=", ".join(present) or "none")
        if self.exact and present[0] in ("number", "grid"):
            raise ParameterError("domain.exact-without-labels", kind=present[0])
        built = self._built(folder, allow_outside)
        if self.missing is not None:
            from discreet.tables.values import check_stand

            check_stand(built, self.missing)
        if self.cuts is not None:
            from discreet.tables.cuts import check_cuts

            check_cuts(built, self.cuts, self.missing)
        return built.about(self.attribute) if self.attribute else built

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
            # A device with a plan that spells its labels out needs no Arrow.
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
    """Return built-ins with all texts in Unicode's normal form C, the keys of tables too.

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
    """Return the path of a file that a document names, after a check of the place to which its links lead.

    Args:
        folder: the folder of the document.
        name: the path in the document, relative to the folder.
        allow_outside: whether the file may be anywhere.

    Raises:
        ParameterError: if it is neither beside the document nor below, or is no regular file.
    """
    place = folder / name
    if "\0" in name:
        raise ParameterError("path.has-nul")
    try:
        real = place.resolve()
        within = real.is_relative_to(folder.resolve())
        # Links in a loop are still links: Python 3.13 and newer do not raise.
        odd = real.is_symlink() or (real.exists() and not real.is_file())
    except (OSError, RuntimeError):
        raise ParameterError("path.broken-link", place=place) from None
    if not (within or allow_outside):
        raise ParameterError("path.outside", name=name)
    if odd:
        raise ParameterError("path.not-a-file", place=place)
    # The resolved path that was checked: a link that is changed afterwards has no effect.
    return real if within and real != place.absolute() else place


def moved_domain(domain: dict[str, Any], folder: Path, target: Path) -> dict[str, Any]:
    """Return the table of a domain, whose files are named from a folder, as a document elsewhere names them."""
    file = domain.get("file")
    if file is None:
        return domain
    moved = os.path.relpath(folder / file["path"], target.absolute().parent)
    return {**domain, "file": {**file, "path": Path(moved).as_posix()}}
