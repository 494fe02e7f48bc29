"""Populations: a domain, the number of people with each value, and the source of both; reading of their columns."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.core.domain import Domain
from discreet.errors import DataError
from papers.data.drawn_tallies import checked_counts

VARIABLE = "DISCREET_DATA"
"""The environment variable that says where data sets are."""

HERE = Path("data")
"""Where data sets are unless the variable says otherwise: in the working folder."""


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """A population of people whose values are known.

    Attributes:
        name: short, for files and tables.
        title: for people.
        domain: the values, with what is sensitive.
        counts: ``(|X|,)`` how many people have each value.
        credit: where the data come from.
        cuts: how each attribute was cut, and what is sensitive; one sentence each.
        differs: how this differs from what the paper used; empty if it does not.
        behind: by tag, ``(|X|,)`` how many people hold their value secret as that; zero where it is sensitive anyway.
        points: by tag, ``(|X|,)`` how many points of interest carry it.
    """

    name: str
    title: str
    domain: Domain
    counts: IntArray
    credit: str
    cuts: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    behind: Mapping[str, IntArray] = field(default_factory=dict)
    points: Mapping[str, IntArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse counts that are not one per value, or of nobody.

        Raises:
            DataError: if they are so.
        """
        counts = checked_counts(self.counts, self.domain.size)
        if counts.sum() < 2:
            raise DataError(f"{self.name}: at least 2 people are needed, got {counts.sum()}.")
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        return f"Population({self.name!r}, {self.people} people, {self.domain!r})"

    @property
    def people(self) -> int:
        """The number of people."""
        return int(self.counts.sum())

    @property
    def truth(self) -> FloatArray:
        """``(|X|,)`` the distribution of the values of all people."""
        return self.counts / self.people

    @property
    def facts(self) -> str:
        """The size of the data, in a few words."""
        domain, mass = self.domain, float(self.truth[self.domain.sensitive].sum())
        return f"{self.people:,} people, |X| = {domain.size:,}, |X_S| = {domain.sensitive_count:,}, p(X_S) = {mass:.4f}"

    @property
    def fingerprint(self) -> str:
        """A digest of the domain and the counts."""
        digest = hashlib.sha256(self.domain.fingerprint.encode())
        digest.update(self.counts.tobytes())
        for tag in sorted(self.behind):
            digest.update(tag.encode() + self.behind[tag].tobytes() + self.points[tag].tobytes())
        return digest.hexdigest()[:16]


def data_folder(folder: Path | None = None) -> Path:
    """Return the folder of data sets: the one given, the one DISCREET_DATA names, or ``data``."""
    if folder is not None:
        return folder
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named) if named else HERE


def column_of(table: Any, name: str, source: Path) -> Any:
    """Return a column that has no missing values.

    Raises:
        DataError: if the column is missing, or some of its values are.
    """
    if table.column_names.count(name) != 1:
        raise DataError(f"{source}: there is no column {name!r}; it has {', '.join(table.column_names[:60])}.")
    column = table[name].combine_chunks()
    if column.null_count:
        first = 1 + int(np.flatnonzero(np.asarray(column.is_null()))[0])
        raise DataError(
            f"{source}: {column.null_count} of {len(column)} values of column {name!r} are missing "
            f"(first in row {first})."
        )
    return column


def whole_numbers(table: Any, name: str, source: Path, *, below: int) -> IntArray:
    """Return a column of integers in 0..below - 1.

    Raises:
        DataError: if some values are not such integers.
    """
    column = column_of(table, name, source)
    if not pa.types.is_integer(column.type):
        raise DataError(f"{source}: column {name!r} must hold whole numbers, got {column.type}.")
    numbers: IntArray = column.to_numpy(zero_copy_only=False).astype(np.int64)
    _refuse((numbers < 0) | (numbers >= below), f"whole numbers in 0..{below - 1}", name, source)
    return numbers


def recoded(table: Any, name: str, source: Path, *, groups: Sequence[Sequence[str]]) -> IntArray:
    """Return a column of text as the places of the groups that its values are in.

    Raises:
        DataError: if some values are in no group.
    """
    column = column_of(table, name, source)
    plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    if not pa.types.is_string(plain.type):
        raise DataError(f"{source}: column {name!r} must hold text, got {plain.type}.")
    listed = [text for group in groups for text in group]
    places = np.array([place for place, group in enumerate(groups) for _ in group])
    indices = pc.index_in(plain, value_set=pa.array(listed)).fill_null(-1).to_numpy(zero_copy_only=False)
    _refuse(indices < 0, f"among the {len(listed)} known categories", name, source)
    coded: IntArray = places[indices].astype(np.int64)
    return coded


def _refuse(wrong: AnyArray, wanted: str, name: str, source: Path) -> None:
    if wrong.any():
        count, first = np.count_nonzero(wrong), 1 + int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"{source}: {count} of {len(wrong)} values of column {name!r} are not {wanted} (first in row {first})."
        )


def count_product(attributes: Mapping[str, Sequence[str]], codes: Mapping[str, AnyArray]) -> IntArray:
    """Return the number of people with each combination of attributes, the last attribute varying fastest."""
    sizes = tuple(len(labels) for labels in attributes.values())
    flat = np.ravel_multi_index(tuple(codes[name] for name in attributes), sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))).astype(np.int64)
