"""Data sets by name, and the files that each needs."""

import os
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

from discreet.errors import DataError, ParameterError
from papers.data import biometrics, censuses, places, traces
from papers.data.made_up import TOWN, WORLD
from papers.data.population import VARIABLE, Population, data_folder

Loader = Callable[[Path], Any]


def _acs_path(folder: Path) -> Path:
    """Return the table in the package, or the one in the folder if the package was installed without examples."""
    path = Path(str(resources.files("discreet"))) / "examples" / censuses.ACS_FILE
    return path if path.is_file() else folder / censuses.ACS_FILE


def _us_census(folder: Path, added: int) -> Population:
    return censuses.load_us_census(folder / censuses.CENSUS_FILE, added)


def _census_income(folder: Path, added: int) -> Population:
    return censuses.load_census_income(folder / censuses.KDD_FILE, added)


def _checkins(folder: Path, source: Any, file: str) -> Any:
    return traces.load_checkins(source, folder / file)


def _added(name: str, load: Callable[[Path, int], Population]) -> dict[str, Loader]:
    return {f"{name}+{added}" if added else name: partial(load, added=added) for added in range(6)}  # type: ignore[call-arg]


_LOADERS: dict[str, tuple[tuple[str, ...], Loader]] = {
    "acs-and": ((censuses.ACS_FILE,), lambda folder: censuses.load_acs("and", _acs_path(folder))),
    "acs-or": ((censuses.ACS_FILE,), lambda folder: censuses.load_acs("or", _acs_path(folder))),
    **{name: ((censuses.CENSUS_FILE,), load) for name, load in _added("us-census-1990", _us_census).items()},
    **{name: ((censuses.KDD_FILE,), load) for name, load in _added("census-income", _census_income).items()},
    "foursquare-nyc": ((places.NYC_FILE,), lambda folder: places.load_foursquare_nyc(folder / places.NYC_FILE)),
    "foursquare-tist2015": (
        (places.TIST_CHECKINS, places.TIST_POINTS),
        lambda folder: places.load_tist(folder / places.TIST_CHECKINS, folder / places.TIST_POINTS),
    ),
    **{
        source.name: ((file,), partial(_checkins, source=source, file=file))
        for source, file in (
            (traces.KL, traces.KL_FILE),
            (traces.NYC, traces.NYC_FILE),
            (traces.FOURSQUARE, traces.FOURSQUARE_FILE),
        )
    },
    "sizes": ((), lambda _: traces.Sizes()),
    TOWN.name: ((), lambda _: TOWN),
    WORLD.name: ((), lambda _: WORLD),
    "lbsn-world": ((traces.WWW_FILE,), lambda folder: traces.load_www(folder / traces.WWW_FILE)),
    "movielens-1m": ((traces.MOVIELENS_FILE,), lambda folder: traces.load_ratings(folder / traces.MOVIELENS_FILE)),
    "movielens": ((traces.RATINGS_CSV,), lambda folder: traces.load_ratings(folder / traces.RATINGS_CSV)),
    "movielens-dat": ((traces.RATINGS_DAT,), lambda folder: traces.load_ratings(folder / traces.RATINGS_DAT)),
    "bssr1": ((biometrics.BSSR1_FILE,), lambda folder: biometrics.load_bssr1(folder / biometrics.BSSR1_FILE)),
}

NAMES = tuple(_LOADERS)


def missing_files(name: str, folder: Path | None = None) -> list[str]:
    """Return the files of a data set that are not in the folder; empty if it can be loaded."""
    here = data_folder(folder)
    places = {file: _acs_path(here) if file == censuses.ACS_FILE else here / file for file in _files(name)}
    return [file for file, path in places.items() if not path.is_file()]


def _files(name: str) -> tuple[str, ...]:
    if name not in _LOADERS:
        raise ParameterError(f"data sets are {', '.join(NAMES)}, got {name!r}.")
    return _LOADERS[name][0]


@lru_cache(maxsize=16)
def load(name: str, folder: Path | None = None) -> Any:
    """Return the data set of a name.

    Args:
        name: one of `NAMES`.
        folder: where its files are; None for the folder that DISCREET_DATA names.

    Raises:
        DataError: if a file is missing or not in its published format.
    """
    missing = missing_files(name, folder)
    if missing:
        raise DataError(
            f"{name} needs {', '.join(missing)} in {os.fspath(data_folder(folder))}; put the files there, or name "
            f"their folder with --data or {VARIABLE}."
        )
    return _LOADERS[name][1](data_folder(folder))
