"""Sources of reports: files and folders, all looked at before any report is read; no report counts twice."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.batches import DIGEST, SEALED, SealedBatch, batch_name, spelled
from discreet.core.digests import GROUPS, MODULUS, digesting, equal_by_chance
from discreet.core.tally import Tally
from discreet.errors import DataError, EqualReportsWarning
from discreet.io.arrow import read_stamp
from discreet.io.folders import digest
from discreet.io.manifest import promised_rows
from discreet.io.partitions import Partition, partitions_of, refuse_public, report_files
from discreet.io.remote import File, file_of, local_files
from discreet.io.rewritten import warn_of
from discreet.io.suffixes import is_tally
from discreet.io.tallies import read_tally
from discreet.mechanisms import Mechanism

_CERTAIN = 0.01
"""The chance that some two of the sources are equal, below which equal ones are a copy."""


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """The sources of a run, looked at.

    Attributes:
        tallies: by their files, in order.
        parts: of all files of reports, in order.
    """

    tallies: Mapping[File, Tally]
    parts: Sequence[Partition]

    def whole(self, reports: Tally) -> Tally:
        """Return the tally of everything, which knows what it counted; errors as for `batches`.

        Args:
            reports: the tally of all parts, which were read.
        """
        sealed = self.batches()
        total = sum(part.seen.digest for part in self.parts) - sum(batch.digest for batch in sealed)
        known = replace(reports, batches=sealed, rest=total % MODULUS)
        return sum(self.tallies.values(), start=known)

    def batches(self) -> tuple[SealedBatch, ...]:
        """Return the sealed batches among the files of reports, after all parts were read.

        Raises:
            DataError: if reports are there twice: in two files, in a tally and a file, in one file and all others
                together; or a sealed file holds other reports than it says. It names the files.
        """
        sealed, others = list[tuple[File, SealedBatch]](), list[tuple[File, SealedBatch]]()
        for path, parts in _by_file(self.parts).items():
            n, found = sum(part.seen.n for part in parts), sum(part.seen.digest for part in parts) % MODULUS
            facts = _sealed_facts(parts[0])
            if facts is None:
                others.append((path, SealedBatch("", found, n)))
                continue
            if facts[DIGEST] not in {None, spelled(found)}:
                raise DataError(f"{path} holds other reports than it says; take the file once more from where it came.")
            sealed.append((path, SealedBatch(batch_name(facts), found, n)))
        for path, tally in self.tallies.items():
            others += [(path, batch) for batch in tally.batches]
            # Of a tally of an earlier version no more is known than its bytes.
            rest = int(digest(path), 16) % MODULUS if tally.rest is None else tally.rest
            others.append((path, SealedBatch("", rest, tally.rest_n)))
        self._refuse_twice([(path, batch) for path, batch in (*sealed, *others) if batch.n])
        return tuple(batch for _, batch in sealed if batch.n)

    def _refuse_twice(self, sources: Sequence[tuple[File, SealedBatch]]) -> None:
        """Refuse reports that are there twice: in two sources, or in one and in all others together."""
        seen: dict[int, list[tuple[File, SealedBatch]]] = {}
        alike = Counter(batch.n for _, batch in sources)
        for path, batch in sources:
            for first, other in seen.setdefault(batch.digest, []):
                if batch.is_same(other):
                    # One name that was signed for is one batch, however few reports it has.
                    signed = bool(batch.name) and batch.name == other.name
                    chance = 0.0 if signed else comb(alike[batch.n], 2) * self._equal_by_chance(path)
                    _judge(f"the same {batch.n:,} reports twice: {first} and {path}", "name one of them", chance)
            seen[batch.digest].append((path, batch))
        n, total = sum(batch.n for _, batch in sources), sum(batch.digest for _, batch in sources)
        for path, batch in sources:
            # Names that were signed for are of different batches, whatever their reports.
            both = 2 * batch.n == n and (2 * batch.digest - total) % MODULUS == 0
            if both and len(sources) > 2 and not all(one.name for _, one in sources):
                rest = ", ".join(str(other) for other, _ in sources if other is not path)
                what = f"the same {batch.n:,} reports twice: {path} and {rest} together"
                _judge(what, f"leave {path} out", self._equal_by_chance(path))

    def _equal_by_chance(self, path: File) -> float:
        """Return an upper bound of the chance that a source equals another of as many reports."""
        if path in self.tallies:
            tally = self.tallies[path]
            counts = np.concatenate([tally.support.ravel(), tally.clear.ravel()])
            # Where every report counts once; else no more is known than that they are alike.
            return equal_by_chance(counts) if int(counts.sum()) == tally.n else 0.0
        counts = np.zeros(GROUPS, np.int64)
        for part in _by_file(self.parts)[path]:
            # Read once more; what a part has seen is that of its last reading, and the same.
            for reports, _ in part.reports(sift=True):
                counts += digesting(part.mechanism).groups(reports)
        return equal_by_chance(counts)


def _judge(what: str, advice: str, chance: float) -> None:
    """Refuse reports that are there twice, or warn of them where so few are equal by chance now and then."""
    if chance < _CERTAIN:
        raise DataError(f"{what}; {advice}.")
    note = f"{what}, as so few of other people's often are by chance; {advice}, if they are a copy."
    warnings.warn(note, EqualReportsWarning, stacklevel=3)


def _by_file(parts: Sequence[Partition]) -> dict[File, list[Partition]]:
    found: dict[File, list[Partition]] = {}
    for part in parts:
        found.setdefault(part.path, []).append(part)
    return found


def _sealed_facts(part: Partition) -> dict[str, Any] | None:
    """Return the facts of a sealed file, and the digest that it says it has, if any; None for every other file."""
    if part.table is None or part.form is not None:
        return None
    facts = read_stamp(part.table.schema, "reports", part.mechanism.fingerprint)
    return {**facts, DIGEST: part.table.digest} if facts.get(SEALED) is True else None


def surveyed(
    mechanism: Mechanism,
    sources: str | Path | Sequence[str | Path],
    *,
    trust_plan: bool = False,
    manifest: bool = False,
    public: Sequence[str] = (),
) -> Survey:
    """Return the tallies among the sources, and the parts of all reports, in order.

    Arguments and errors as for `discreet.engines.tally`. Warns of what is taken on the caller's word, and of columns
    that are not read. ``public`` names columns beside the reports that all files must have, and no tally has.
    """
    named = [sources] if isinstance(sources, str | Path) else sources
    files = report_files(named)
    tallies = {path: read_tally(path, mechanism) for path in files if is_tally(path)}
    if tallies:
        refuse_public(public)
    reports = [path for path in files if path not in tallies]
    parts = [part for path in reports for part in partitions_of(path, mechanism, trust_plan=trust_plan, public=public)]
    if manifest:
        folders = local_files(map(file_of, named), "folders with manifests")
        rows = promised_rows(folders, local_files(files, "files of manifests"))
        parts = _promised(dict[File, int](rows.items()), tallies, parts)
    forms = {part.path: part.form for part in parts if part.form is not None}
    warn_of(forms, len(reports), mechanism.fingerprint, [name for part in parts for name in part.unread])
    return Survey(tallies, parts)


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
