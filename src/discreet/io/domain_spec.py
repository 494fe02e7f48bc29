"""The domain of a plan as its file describes it, and where files may lie that it names."""

from pathlib import Path
from typing import Any

import msgspec

from discreet.core.domain import Domain
from discreet.errors import ParameterError

Label = str | int
Cut = int | float | str
Sensitive = list[str | int | bool | dict[str, Label | list[Label]] | list[float]]


class GridSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Regions of a map: borders in degrees, and how many rows and columns."""

    lat: tuple[float, float]
    lon: tuple[float, float]
    rows: int
    cols: int


class FileSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Labels in a CSV or Parquet file beside the plan.

    Attributes:
        path: the file, relative to the plan.
        label: name of the column of labels.
        sensitive: name of a column of true and false; None if the plan says itself what is sensitive.
    """

    path: str
    label: str = "label"
    sensitive: str | None = None


class CellsSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Coarse cells of a grid, with a bot each: how many along the latitude and along the longitude."""

    rows: int
    cols: int


class DomainSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The values: exactly one of labels, range, product, grid and file; and which of them are sensitive.

    Attributes:
        labels: texts or integers.
        range: the first integer and the one after the last.
        product: labels of each attribute.
        grid: regions of a map.
        file: labels in a file.
        sensitive: labels, a list of true and false, or for products patterns; every value if it is left out.
        allow_unprotected: accept that nothing is sensitive.
        missing: the label that a missing value of a table stands for; of a product, by attribute. It changes no
            fingerprint: it says what is done before a report is made, and reports do not show it.
        cuts: where the ranges begin that the labels but the first name, ascending: numbers, or dates such as
            "2026-07"; of a product, by attribute. A table then holds numbers or dates. They change no fingerprint.
    """

    labels: list[Label] | None = None
    range: tuple[int, int] | None = None
    product: dict[str, list[Label]] | None = None
    grid: GridSpec | None = None
    file: FileSpec | None = None
    sensitive: Sensitive | None = None
    allow_unprotected: bool = False
    missing: Label | dict[str, Label] | None = None
    cuts: list[Cut] | dict[str, list[Cut]] | None = None

    def domain(self, folder: Path, *, allow_outside: bool = False) -> Domain:
        """Build the domain; files are looked up in ``folder``, and only there or below unless others are allowed.

        Raises:
            ParameterError: if a value is out of range, or a file is elsewhere.
        """
        kinds = ("labels", "range", "product", "grid", "file")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ParameterError(
                f"domain must have exactly one of {', '.join(kinds)}, got {', '.join(given) or 'none'}."
            )
        built = self._built(folder, allow_outside)
        if self.missing is not None:
            from discreet.io.missing import check_stand

            check_stand(built, self.missing)
        if self.cuts is not None:
            from discreet.io.cuts import check_cuts

            check_cuts(built, self.cuts)
        return built

    def _built(self, folder: Path, allow_outside: bool) -> Domain:
        said: dict[str, Any] = {"sensitive": self.sensitive, "allow_unprotected": self.allow_unprotected}
        if self.product is not None:
            return Domain.product(self.product, **said)
        if self.grid is not None:
            grid = self.grid
            return Domain.grid(lat=grid.lat, lon=grid.lon, rows=grid.rows, cols=grid.cols, **said)
        if self.file is not None:
            # A device with a plan that spells its labels out needs no Arrow.
            from discreet.io.tables import read_labels

            labels, marked = read_labels(
                inside(folder, self.file.path, allow_outside=allow_outside), self.file.label, self.file.sensitive
            )
            if marked is not None and self.sensitive is not None:
                raise ParameterError("sensitive must be said once, in the domain or in its file, not in both.")
            return Domain(
                labels, sensitive=self.sensitive if marked is None else marked, allow_unprotected=self.allow_unprotected
            )
        return Domain(range(*self.range) if self.range else self.labels, **said)


def inside(folder: Path, name: str, *, allow_outside: bool) -> Path:
    """Return the place of a file that a document names; links are followed before it is judged.

    Args:
        folder: where the document is.
        name: what it says.
        allow_outside: whether the file may be anywhere.

    Raises:
        ParameterError: if it is neither beside the document nor below, or no file but a device, say.
    """
    place = folder / name
    if "\0" in name:
        raise ParameterError("the path of a file must not hold a NUL.")
    try:
        real = place.resolve()
        within = real.is_relative_to(folder.resolve())
        # Links in a loop are still links: Python 3.13 and newer do not raise.
        odd = real.is_symlink() or (real.exists() and not real.is_file())
    except (OSError, RuntimeError):
        raise ParameterError(f"{place} cannot be followed to a file; mend its links.") from None
    if not (within or allow_outside):
        raise ParameterError(
            f"the file {name!r} must lie beside the document that names it or below, and it does not; "
            "move it there, or pass --allow-outside (allow_outside=True) if you trust the document."
        )
    if odd:
        raise ParameterError(f"{place} must be a file, and it is none; name another.")
    # What was judged is what is read, whatever becomes of the links; in place of them it is named as it was.
    return real if within and real != place.absolute() else place
