"""The check of sealed files, for people and programs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.output import SIMULATED_REPORTS, show
from discreet.cli.publications import Statement

if TYPE_CHECKING:
    from discreet.io.sealed_checks import SealedFile
    from discreet.mechanisms import Mechanism


def verify_sealed(mechanism: "Mechanism", source: str | Path, *, as_json: bool) -> None:
    """Check sealed files and print what was found; exit with 1 if one is not sealed.

    Args:
        mechanism: what made the reports.
        source: a file, or a folder of sealed files alone.
        as_json: whether JSON is printed.

    Raises:
        DataError: if a file cannot be read.
        MismatchError: if one belongs to another plan.
    """
    from discreet.io.partitions import report_files
    from discreet.io.sealed_checks import UnsealedError, check_sealed

    files: list[SealedFile] = []
    flaw = ""
    try:
        files += [check_sealed(path, mechanism) for path in report_files([source])]
    except UnsealedError as error:
        flaw = str(error)
    result = {"plan": mechanism.fingerprint, "sealed": not flaw, "flaw": flaw or None, "files": files}
    said = None if flaw else _statement(mechanism, files)
    record = {} if said is None else said.record()
    show({**result, **record}, [flaw] if flaw else _parts(files, mechanism.fingerprint, said), as_json=as_json)
    if flaw:
        raise click.exceptions.Exit(1)


def _statement(mechanism: "Mechanism", files: Sequence["SealedFile"]) -> Statement | None:
    """Return the statement on a person in the files; None of files without reports."""
    from discreet.privacy.publication import Publication

    batches = tuple(file.n for file in files if file.n)
    simulated = any(file.simulated for file in files)
    shown = "these files, or anything made of them"
    return Statement(Publication(mechanism, batches, simulated=simulated, shown=shown)) if batches else None


def _parts(files: Sequence["SealedFile"], plan: str, said: Statement | None) -> Iterator[str]:
    for file in files:
        yield (
            f"{file.path}: {file.n:,} reports of plan {plan[:12]}, sealed: sorted by what they say, with nothing "
            "beside them."
        )
        if not file.compared:
            yield (
                f"Note: its bytes were not compared with those that its reports give, since {file.writer} wrote it and "
                "another version is installed here; to have them compared, seal the file again."
            )
        if file.simulated:
            yield SIMULATED_REPORTS
    yield from () if said is None else said.parts()
    yield "No check of a sealed file can show that each person has one report in it."
