"""Sources of reports: files and folders, looked at before any is read, and their parts.

Parts of files of reports, which can be read separately, several at a time: the one way from files to `Reports`.

A part is a run of row groups (Parquet), a run of batches (Arrow) or a whole file (JSON lines). Every file's plan and
columns are checked before any part is read; of JSON lines, each with a plan of its own, that of the first.

Manifests of folders of reports: files, numbers of reports, digests of bytes.

A manifest lies in its folder, where readers of reports ignore it as every name with a leading underscore. It shows what
files themselves cannot: that no file is missing, and that none was cut at the end of a line.

Sources of reports: files and folders, all looked at before any report is read; no report counts twice.
"""

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from discreet.core.reports import DIGEST, SEALED, Reports, SealedBatch, batch_name, spelled
from discreet.core.tally import GROUPS, MODULUS, Tally, digesting, equal_by_chance
from discreet.errors import DataError, EqualReportsWarning, ParameterError
from discreet.files.paths import (
    LINES,
    REPORTS,
    File,
    checked,
    file_of,
    is_lines,
    is_tally,
    lines_of,
    local_files,
    opened_text,
)
from discreet.files.reading import digest, files_in, readable
from discreet.files.stored import FileState, StoredTable, look, no_rows, read_groups
from discreet.files.writing import replacing
from discreet.formats import arrow, json_reports
from discreet.formats.arrow import Form, form_of, is_stamped, read_stamp, rewritten_reports, warn_of
from discreet.formats.tallies import read_tally
from discreet.mechanisms import Mechanism
from discreet.tables.values import RESERVED

# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
_PART_ROWS = 1 << 21
_BATCH_ROWS = 1 << 20
_BATCH_BYTES = 1 << 22
_NAMES_SHOWN = 5
_LINES, _LETTERS = 1 << 16, 1 << 25

Checked: TypeAlias = tuple[Reports, Counter[str]]
"""Reports, each of which a device can have sent, and the number of rows left out beside them by reason."""


@dataclass(slots=True, eq=False)
class Seen:
    """The reports that the last reading of a part has come through.

    Attributes:
        n: how many.
        digest: their order-free digest.
    """

    n: int = 0
    digest: int = 0

    def add(self, mechanism: Mechanism, reports: Reports) -> None:
        """Add reports."""
        self.n += reports.n
        self.digest += digesting(mechanism).of(reports)


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A part of a file of reports.

    Attributes:
        path: the file.
        mechanism: what made the reports.
        groups: row groups or batches of the part; empty for a file of lines.
        rows: number of reports; None if they are not counted yet.
        state: identity and time of the file when it was inspected.
        table: the inspected table; None for a file of lines.
        form: the form of a file that another tool rewrote; None for discreet's own format.
        public: names of the public columns beside the reports that are read too; see `public_rows`.
        seen: what the last reading has come through.
    """

    path: File
    mechanism: Mechanism
    groups: Sequence[int]
    rows: int | None
    state: FileState
    table: StoredTable | None = None
    form: Form | None = None
    public: tuple[str, ...] = ()
    seen: Seen = field(default_factory=Seen, init=False)

    @property
    def content(self) -> tuple[int, int]:
        """The file's size and the CRC-32 of its footer (0 for lines): the same wherever the file is seen from."""
        return self.state.size, 0 if self.table is None else self.table.footer

    def reports(self, *, sift: bool = False, most: int | None = None) -> Iterator[Checked]:
        """Yield the reports of the part, checked, in batches of 4 MB at most; at least one batch, perhaps empty.

        Args:
            sift: whether rows that no device can have sent are left out and counted; else the first is refused.
            most: rows of a batch; None for what is fast.

        Raises:
            DataError: if the file is damaged or not what it was, its columns are not those of the plan's reports, or a
                row is bad and none is to be left out; it names the file.
            MismatchError: if a row belongs to another plan.
        """
        with readable(self.path):
            self._begin()
            for checked in self._of_lines(sift, most or _LINES) if self.table is None else self._of_table(sift, most):
                self.seen.add(self.mechanism, checked[0])
                yield checked

    def _of_table(self, sift: bool, most: int | None) -> Iterator[Checked]:
        assert self.table is not None
        names, none = self._names, True
        for batch in read_groups(self.table, self.groups, most or self._batch_rows, names):
            none = False
            yield self._checked(batch, sift)
        if none:
            yield self._checked(no_rows(self.table.schema, names), sift)

    def _begin(self) -> None:
        self.seen.n = self.seen.digest = 0

    @property
    def _batch_rows(self) -> int:
        width = sum(column.bytes for column in self.mechanism.columns)
        return min(max(_BATCH_BYTES // width, 1), _BATCH_ROWS)

    @property
    def _names(self) -> list[str] | None:
        """The columns of reports, as far as they are not all that there are; None for all."""
        if self.form is not None:
            return self.form.names(self.mechanism)
        own = [column.name for column in self.mechanism.columns]
        return None if self.table is not None and self.table.schema.names == own else own

    @property
    def kept(self) -> list[str]:
        """The names of the public columns of which the stamp says that they are beside the reports."""
        return [] if self.table is None else arrow.stamped_public(self.table.schema)

    @property
    def unread(self) -> list[str]:
        """The names of the columns that are beside the reports, are not read, and which the stamp does not name."""
        if self.form is not None or self.table is None:
            return [] if self.form is None else list(self.form.extra)
        known = {*(column.name for column in self.mechanism.columns), *self.public, *self.kept}
        return [name for name in self.table.schema.names if name not in known]

    def public_rows(self) -> Iterator[tuple[Reports, pa.RecordBatch]]:
        """Yield the reports of the part, checked, with the public columns beside them; errors as for `reports`."""
        assert self.table is not None
        names = self._names or []
        with readable(self.path):
            self._begin()
            asked = [*names, *self.public]
            for batch in read_groups(self.table, self.groups, self._batch_rows, asked, labels=self.public):
                reports = self._checked(batch.select(names), False)[0]
                self.seen.add(self.mechanism, reports)
                yield reports, batch.select(list(self.public))

    def _checked(self, batch: pa.RecordBatch, sift: bool) -> Checked:
        if self.form is not None:
            return rewritten_reports(self.mechanism, batch, self.form, sift=sift)
        table = pa.Table.from_batches([batch])
        return arrow.sift_arrow(self.mechanism, table) if sift else (arrow.from_arrow(self.mechanism, table), Counter())

    def _of_lines(self, sift: bool, most: int) -> Iterator[Checked]:
        found = 0
        self.state.check(self.path)
        with opened_text(self.path) as text:
            for texts in _some_lines(lines_of(text, json_reports.longest_line(self.mechanism)), most):
                if sift:
                    yield json_reports.sift_json(self.mechanism, texts, form=self.form)
                else:
                    yield json_reports.from_json(self.mechanism, texts, first=found, form=self.form), Counter()
                found += len(texts)
        if self.rows is not None and found != self.rows:
            raise DataError(f"the file holds {found} lines where its manifest says {self.rows}.")
        self.state.check(self.path)


def _some_lines(lines: Iterable[str], most: int) -> Iterator[list[str]]:
    """Yield lines, some at a time; at least one list, perhaps empty."""
    letters, texts, none = 0, list[str](), True
    for line in lines:
        texts.append(line)
        letters += len(line)
        if len(texts) == most or letters > _LETTERS:
            yield texts
            letters, texts, none = 0, [], False
    if texts or none:
        yield texts


def report_files(sources: Iterable[str | File]) -> list[File]:
    """Return the files of reports and tallies that are named; arguments and errors as for `files_in`."""
    return files_in(sources, REPORTS, "reports")


def partitions_of(
    path: File, mechanism: Mechanism, *, trust_plan: bool = False, public: Sequence[str] = ()
) -> list[Partition]:
    """Return the parts of a file of reports, after checks of its metadata.

    Args:
        path: the file.
        mechanism: what made the reports.
        trust_plan: whether the caller vouches that files which do not say their plan, or are not as discreet writes
            them, hold reports of this plan; see `discreet.formats.arrow`.
        public: names of public columns beside the reports, which the file must have then.

    Raises:
        DataError: if it is missing, truncated, does not say its plan, or has other columns than the plan's reports; it
            names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(path):
        if not path.exists():
            raise FileNotFoundError
        if checked(path, REPORTS, "reports") in LINES:
            refuse_public(public)
            state = FileState.of(path)
            with opened_text(path) as text:
                lines = lines_of(text, json_reports.longest_line(mechanism))
                form = json_reports.form_of_lines(mechanism, lines, trust_plan=trust_plan)
            with opened_text(path) as text:
                return [Partition(path, mechanism, (), None if text.read(1) else 0, state, None, form)]
        table = look(path)
        own = _beside(table.schema, mechanism, public)
        form = form_of(mechanism, own, trust_plan=trust_plan)
        return _runs(Partition(path, mechanism, (), 0, table.state, table, form, tuple(public)))


def refuse_public(public: Sequence[str]) -> None:
    """Refuse public columns of a file that has none.

    Raises:
        DataError: if there are to be some.
    """
    if public:
        raise DataError(
            f"the public columns {', '.join(map(repr, public))} are read from Parquet and Arrow files of reports, not "
            "from lines of JSON or tallies."
        )


def _beside(schema: pa.Schema, mechanism: Mechanism, public: Sequence[str]) -> pa.Schema:
    """Return a schema without what is beside the reports, where the public columns must be, each once.

    That are the columns that the stamp says were kept there. Where public ones are read, it is every other column of a
    file that says its plan; else the public ones, and the form tells the others.
    """
    ours = {column.name for column in mechanism.columns}
    if ours & set(public):
        raise DataError(f"a public column must not be one of the reports' own, {', '.join(sorted(ours))}.")
    missing = [name for name in public if schema.names.count(name) != 1]
    if missing:
        others = [name for name in schema.names if name not in ours]
        there = ", ".join(repr(name[:40]) for name in others[:_NAMES_SHOWN]) or "none"
        raise DataError(f"the file must have the public column {missing[0]!r} once; beside the reports it has {there}.")
    beside = {*public, *(arrow.stamped_public(schema))} - RESERVED - ours
    if public and is_stamped(schema):
        beside |= {*schema.names} - ours
    return pa.schema([field for field in schema if field.name not in beside], schema.metadata)


def partition_elsewhere(
    path: File,
    groups: Sequence[int],
    rows: int | None,
    content: tuple[int, int],
    mechanism: Mechanism,
    *,
    trust_plan: bool = False,
    public: Sequence[str] = (),
) -> Partition:
    """Return a part on another machine, after checking that the file there is the same.

    Raises:
        DataError: as for `partitions_of`, and if the file has not the `Partition.content` that it had.
        MismatchError: if it belongs to another plan.
    """
    whole, *_ = partitions_of(path, mechanism, trust_plan=trust_plan, public=public)
    if whole.content != content:
        raise DataError(f"{path} is not the file that was checked before; see that all machines see the same files.")
    return replace(whole, groups=groups, rows=rows)


def _runs(whole: Partition) -> list[Partition]:
    """Return parts of neighbouring row groups; at least one part, which also carries the mark of simulation."""
    runs, groups, rows = list[Partition](), list[int](), 0
    for place, size in enumerate(() if whole.table is None else whole.table.rows):
        groups.append(place)
        rows += size
        if rows >= _PART_ROWS:
            runs.append(replace(whole, groups=tuple(groups), rows=rows))
            groups, rows = [], 0
    if groups or not runs:
        runs.append(replace(whole, groups=tuple(groups), rows=rows))
    return runs


NAME = "_manifest.json"
_LONGEST_LINE = 1 << 20


class ManifestEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of one file in a manifest.

    Attributes:
        path: relative to the folder, with slashes.
        bytes: size of the file.
        rows: number of reports in the file, or in its tally.
        sha256: digest of its bytes, in hexadecimal.

    Example:
        >>> ManifestEntry(path="monday.parquet", bytes=2048, rows=100, sha256="ab12").rows
        100
    """

    path: str
    bytes: int
    rows: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest of a folder of reports.

    Attributes:
        files: all files of reports and tallies in the folder, in order.
        kind: what it is.
        format: of manifests.

    Example:
        >>> Manifest((ManifestEntry("monday.parquet", 2048, 100, "ab12"),)).rows
        100
    """

    files: tuple[ManifestEntry, ...]
    kind: Literal["discreet manifest"] = "discreet manifest"
    format: Literal[1] = 1

    @property
    def rows(self) -> int:
        """Number of reports in all files."""
        return sum(entry.rows for entry in self.files)


def write_manifest(folder: str | Path, *, force: bool = False) -> Manifest:
    """Write the manifest of a folder of reports into the folder.

    Args:
        folder: with files of reports and tallies, and folders of them.
        force: whether a manifest that is there is replaced.

    Raises:
        DataError: if the folder holds anything else, or a file is damaged; it names the file.
        ParameterError: if this is no folder.
        OutputExistsError: if there is a manifest and ``force`` is not set.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.reports import write_reports
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> with TemporaryDirectory() as folder:
        ...     written = write_reports(f"{folder}/monday.parquet", mechanism, mechanism.obfuscate(["yes", "no"]))
        ...     write_manifest(folder).rows
        2
    """
    place = _checked_folder(folder)
    with replacing(place / NAME, force=force) as beside:
        found = Manifest(tuple(_entry(place, path) for path in local_files(report_files([place]), NAME)))
        text = msgspec.json.format(msgspec.json.encode(found), indent=1)
        beside.write_bytes(text + b"\n")
    return found


def _checked_folder(source: str | Path) -> Path:
    place = Path(source)
    if not place.is_dir():
        raise ParameterError(f"a manifest belongs to a folder, got {place}.")
    return place


def _entry(folder: Path, path: Path) -> ManifestEntry:
    with readable(path):
        rows = _lines_in(path) if is_lines(path) else _rows_in(path, look(path))
        return ManifestEntry(path.relative_to(folder).as_posix(), path.stat().st_size, rows, digest(path))


def _lines_in(path: Path) -> int:
    with opened_text(path) as text:
        return sum(1 for _ in lines_of(text, _LONGEST_LINE))


def _rows_in(path: Path, table: StoredTable) -> int:
    for place in range(len(table.rows)):
        table.check(place)
    if not is_tally(path):
        return sum(table.rows)
    try:
        counted = json.loads(table.schema.metadata[b"discreet"])["n"]
    except (KeyError, TypeError, ValueError, RecursionError):
        counted = None
    if type(counted) is not int or counted < 0:
        raise DataError("this is not a tally of discreet.")
    return counted


def read_manifest(folder: str | Path) -> Manifest:
    """Return the manifest of a folder, checked.

    Raises:
        DataError: if there is none, or it is not of this form.
        ParameterError: if this is no folder.

    Example:
        >>> import discreet as dc
        >>> from discreet.formats.tallies import write_tally
        >>> from tempfile import TemporaryDirectory
        >>> tally = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).empty_tally()
        >>> with TemporaryDirectory() as folder:
        ...     write_tally(f"{folder}/monday.tally.parquet", tally)
        ...     write_manifest(folder) == read_manifest(folder)
        True
    """
    path = _checked_folder(folder) / NAME
    with readable(path):
        try:
            return msgspec.json.decode(path.read_bytes(), type=Manifest)
        except (msgspec.DecodeError, RecursionError):
            raise DataError("this is no manifest of discreet; write it anew with discreet manifest.") from None


def promised_rows(folders: Iterable[str | Path], files: Sequence[Path]) -> Mapping[Path, int]:
    """Return the number of reports that each file must hold, after comparing files with their manifests.

    Args:
        folders: each with a manifest.
        files: all that were found in them.

    Raises:
        DataError: if a file is missing, not in a manifest, or has other bytes; it says how many and names the first.
        ParameterError: if a source is no folder.
    """
    expected = {folder / entry.path: entry for folder in map(Path, folders) for entry in read_manifest(folder).files}
    _refuse([path for path in expected if path not in set(files)], "in the manifest are not there")
    _refuse([path for path in files if path not in expected], "are not in the manifest", _ANEW)
    _refuse([path for path in files if not _is(path, expected[path])], "have other bytes than the manifest says")
    return {path: entry.rows for path, entry in expected.items()}


_ANEW = "see what they are, and list them anew with discreet manifest --force"


def _refuse(wrong: Sequence[Path], why: str, advice: str = "see what became of them") -> None:
    if wrong:
        raise DataError(f"{len(wrong)} files {why} ({wrong[0]} first); {advice}.")


def _is(path: Path, entry: ManifestEntry) -> bool:
    with readable(path):
        return path.stat().st_size == entry.bytes and digest(path) == entry.sha256


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
    listed = [one for one in named if (Path(one) / NAME).is_file()]
    if listed or manifest:
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
