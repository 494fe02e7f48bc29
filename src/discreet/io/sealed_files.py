"""Sealed files: reports in canonical order, with nothing of their arrival and nothing beside them.

One form and one writer, for files of reports as for the epochs of a collector: the same reports are the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from discreet.core.batches import NUMBER, SEALED, spelled
from discreet.core.checks import checked_whole
from discreet.core.digests import MODULUS, digesting
from discreet.core.reports import Reports
from discreet.errors import DataError
from discreet.io import arrow
from discreet.io.atomic import check_free
from discreet.io.remote import output_of
from discreet.io.reports import NO_FACTS, write_batches
from discreet.io.sealing import CanonicalOrder
from discreet.io.stored import DIGEST_KEY
from discreet.io.suffixes import checked_output
from discreet.mechanisms import Mechanism

SEALED_REPORTS = (".parquet",)
"""How names of sealed files end: one form, so that the same reports are the same bytes."""

LEAST = 2
"""How many reports a sealed file holds at least, unless more are asked for: one report hides among no others."""


def write_sealed(
    path: str | Path,
    mechanism: Mechanism,
    batches: Reports | Iterable[Reports],
    *,
    least: int = LEAST,
    force: bool = False,
) -> int:
    """Write reports in canonical order into a Parquet file that says nothing of their arrival.

    The same reports give the same bytes, in whatever order and batches they come. One report per person is for the
    caller to see to: reports bear no names.

    Args:
        path: the file.
        mechanism: what made the reports.
        batches: the reports, in any order.
        least: how many there must be.
        force: whether a file that exists is replaced.

    Returns:
        How many were written.

    Raises:
        DataError: if they are fewer than ``least``, or some are simulated and others are not.
        MismatchError: if reports are of another plan.
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if sealed reports are not kept under such a name.

    Example:
        >>> import discreet as dc
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car", "walk"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     write_sealed(f"{folder}/sealed.parquet", mechanism, mechanism.obfuscate(["bus", "walk"] * 100))
        200
    """
    checked_sealed(path, force=force)
    with CanonicalOrder(mechanism) as order:
        for batch in [batches] if isinstance(batches, Reports) else batches:
            order.add(batch)
        refuse_fewer(order.n, least)
        return put_sealed(path, mechanism, order.batches(), order.n, force=force)


def refuse_fewer(n: int, least: int) -> None:
    """Refuse a batch of too few reports.

    Raises:
        DataError: if there are fewer.
        ParameterError: if ``least`` is no whole number >= 1.
    """
    if n < checked_whole("least", least):
        raise DataError(
            f"a sealed batch must have at least {least} reports, got {n}; wait for more, or lower --least (least=...)."
        )


def checked_sealed(path: str | Path, *, force: bool) -> Path:
    """Return the place of a new sealed file.

    Raises:
        OutputExistsError: if it exists and ``force`` is not set.
        ParameterError: if it cannot be written, or sealed reports are not kept under such a name.
    """
    target = output_of(path, "sealed reports")
    checked_output(target, SEALED_REPORTS, "sealed reports")
    check_free(target, force=force)
    return target


def put_sealed(
    path: str | Path,
    mechanism: Mechanism,
    batches: Iterable[Reports],
    n: int,
    *,
    force: bool = False,
    facts: Mapping[str, Any] = NO_FACTS,
) -> int:
    """Write reports that are in canonical order into a sealed file, whose metadata say so, how many, and their digest.

    Args:
        path: the file, Parquet.
        mechanism: what made the reports.
        batches: the reports, in the batches of `CanonicalOrder.batches`.
        n: how many there are.
        force: whether a file that exists is replaced.
        facts: what the metadata say besides.

    Returns:
        How many were written.

    Raises:
        DataError: if they are not as many; then there is no file.
    """
    said, written, digest, digests = {**facts, SEALED: True, NUMBER: n}, 0, 0, digesting(mechanism)

    def passed() -> Iterator[tuple[Reports, None]]:
        nonlocal written, digest
        for batch in batches:
            yield batch, None
            written, digest = written + batch.n, digest + digests.of(batch)
        if written != n:
            raise DataError("the rows changed while they were read; leave the files alone and start again.")

    def last() -> dict[bytes, bytes]:
        return {DIGEST_KEY: spelled(digest % MODULUS).encode()}

    schema_of = partial(arrow.schema, mechanism, facts=said)
    return write_batches(path, mechanism, passed(), schema_of, force=force, last=last)
