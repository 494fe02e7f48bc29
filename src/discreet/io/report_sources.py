"""Sources of reports: files and folders that are looked at, all of them, before any report is read."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from discreet.core.tally import Tally
from discreet.errors import DataError
from discreet.io.folders import refuse_copies
from discreet.io.manifest import promised_rows
from discreet.io.partitions import Partition, partitions_of, refuse_public, report_files
from discreet.io.remote import File, file_of, local_files
from discreet.io.rewritten import warn_of
from discreet.io.suffixes import is_tally
from discreet.io.tallies import read_tally
from discreet.mechanisms import Mechanism


def surveyed(
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    *,
    trust_plan: bool = False,
    allow_copies: bool = False,
    manifest: bool = False,
    public: Sequence[str] = (),
) -> tuple[list[Tally], list[Partition]]:
    """Return the tallies among the sources, and the parts of all reports, in order.

    Arguments and errors as for `discreet.engines.tally`. Warns of what is taken on the caller's word, and of columns
    that are not read. ``public`` names columns beside the reports that all files must have, and no tally has.
    """
    named = [sources] if isinstance(sources, str | Path) else sources
    files = report_files(named, allow_copies=allow_copies)
    tallies = {path: read_tally(path, mechanism) for path in files if is_tally(path)}
    if tallies:
        refuse_public(public)
    reports = [path for path in files if path not in tallies]
    parts = [part for path in reports for part in partitions_of(path, mechanism, trust_plan=trust_plan, public=public)]
    if manifest:
        folders = local_files(map(file_of, named), "folders with manifests")
        rows = promised_rows(folders, local_files(files, "files of manifests"))
        parts = _promised(dict[File, int](rows.items()), tallies, parts)
    if not allow_copies:
        # Files without reports are alike, and count for nothing.
        counting = [part.path for part in parts if part.rows != 0]
        refuse_copies(dict.fromkeys([*(path for path, one in tallies.items() if one.n), *counting]))
    forms = {part.path: part.form for part in parts if part.form is not None}
    warn_of(forms, len(reports), mechanism.fingerprint, [name for part in parts for name in part.unread])
    return [tallies[path] for path in files if path in tallies], parts


def _promised(rows: Mapping[File, int], tallies: Mapping[File, Tally], parts: list[Partition]) -> list[Partition]:
    """Return parts that hold as many rows as their manifests state; lines are counted when they are read."""
    found = Counter({path: one.n for path, one in tallies.items()})
    for part in parts:
        found[part.path] += rows[part.path] if part.rows is None else part.rows
    for path, count in found.items():
        if count != rows[path]:
            raise DataError(f"{path} holds {count} reports where its manifest says {rows[path]}.")
    return [replace(part, rows=rows[part.path]) if part.rows is None else part for part in parts]


def rows_in(parts: Sequence[Partition]) -> int | None:
    """Return the number of rows in parts; None if some are not counted yet."""
    counts = [part.rows for part in parts]
    return None if None in counts else sum(count for count in counts if count)
