"""Domains as plans describe them: labels, and what is sensitive in few words."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.bots import WithBots
from discreet.core.domain import Domain
from discreet.core.grids import Grid
from discreet.core.labels import IntegerRange, LabelSpace
from discreet.core.products import Product
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
    said = _labels(domain.space)
    if not domain.sensitive_count:
        return said | {"sensitive": [], "allow_unprotected": True}
    if not domain.clear_count:
        return said
    if domain.sensitive_count > _MOST:
        raise ParameterError(
            f"a plan spells out at most {_MOST:,} sensitive labels, got {domain.sensitive_count:,}; write them into a "
            "file beside it, with the table domain.file."
        )
    return said | {"sensitive": described_values(domain, domain.sensitive)}


def described_values(domain: Domain, chosen: BoolArray) -> list[Any]:
    """Return some values as plans name them: labels, patterns of a product, or points of a grid."""
    if isinstance(domain.space, Product):
        return list(_patterns(domain.space, chosen))
    return _points(domain.space, chosen) if isinstance(domain.space, Grid) else _spelled(domain.space, chosen)


def _labels(space: LabelSpace) -> dict[str, Any]:
    if isinstance(space, IntegerRange):
        return space.describe()
    if isinstance(space, Grid):
        return {"grid": {"lat": [*space.lat], "lon": [*space.lon], "rows": space.rows, "cols": space.cols}}
    if isinstance(space, Product):
        return {"product": {name: _spelled(part) for name, part in space.attributes.items()}}
    return {"labels": _spelled(space)}


def _spelled(space: LabelSpace, chosen: BoolArray | None = None) -> list[Any]:
    """Return labels of a flat space: all, or those that are chosen."""
    codes = np.arange(space.size) if chosen is None else np.flatnonzero(chosen)
    if len(codes) > _MOST:
        raise ParameterError(
            f"a plan spells out at most {_MOST:,} labels, got {len(codes):,}; write them into a file beside it, with "
            "the table domain.file."
        )
    if isinstance(space, WithBots):
        raise ParameterError("a plan says tags in place of bots; make the mechanism with Personalized.")
    (column,) = space.table(codes).values()
    labels: list[Any] = column.tolist()
    return labels


def _patterns(space: Product, chosen: BoolArray) -> Iterator[dict[str, Any]]:
    """Yield patterns of the chosen combinations and no others: whole labels first, then single combinations."""
    labels = {name: _spelled(part) for name, part in space.attributes.items()}
    mask = chosen.reshape([part.size for part in space.attributes.values()])
    left = mask.copy()
    for axis, (name, part) in enumerate(space.attributes.items()):
        whole: Any = np.moveaxis(mask, axis, 0).reshape(part.size, -1).all(axis=1)
        if whole.any():
            yield {name: _spelled(part, whole)}
            np.moveaxis(left, axis, 0)[whole] = False
    *names, last = labels
    for row in zip(*np.nonzero(left.any(axis=-1)), strict=True):
        fixed = {name: labels[name][place] for name, place in zip(names, row, strict=True)}
        yield fixed | {last: [labels[last][place] for place in np.flatnonzero(left[row])]}


def _points(grid: Grid, chosen: BoolArray) -> list[list[float]]:
    """Return the middle of each chosen region."""
    rows, columns = np.divmod(np.flatnonzero(chosen), grid.cols)
    lat = grid.lat[0] + (rows + 0.5) * (grid.lat[1] - grid.lat[0]) / grid.rows
    lon = grid.lon[0] + (columns + 0.5) * (grid.lon[1] - grid.lon[0]) / grid.cols
    return [[*point] for point in zip(lat.tolist(), lon.tolist(), strict=True)]
