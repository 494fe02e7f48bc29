"""Sources of reports: files, folders, URLs and tables, looked at before any is read, and their parts.

Every file's plan and columns are checked before any part is read; of JSON lines, each with a plan of its own, that of
the first. A part is a run of row groups (Parquet), a run of batches (Arrow), a run of rows of a table in memory or a
whole file (JSON lines): the one way from sources to `Reports`. No report counts twice.
"""

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from math import comb
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.core.checks import checked_share
from discreet.core.reports import DIGEST, PLAN, SEALED, STAMP, Reports, SealedBatch, batch_name, read_digest, spelled
from discreet.core.tally import GROUPS, MODULUS, Tally, digesting, equal_by_chance
from discreet.errors import DataError, EqualReportsWarning, ParameterError
from discreet.files.paths import (
    LINES,
    REPORTS,
    File,
    RemoteFile,
    checked,
    folder_columns,
    is_tally,
    lines_of,
    matched,
    opened_text,
)
from discreet.files.reading import Progress, digest, files_in, readable
from discreet.files.stored import FileState, HeldTable, StoredTable, look, no_rows, read_groups
from discreet.formats import json_reports
from discreet.formats.manifest import promised_rows
from discreet.formats.tallies import read_tally
from discreet.mechanisms import Mechanism
from discreet.mechanisms.report_tables import (
    Form,
    batch_reports,
    form_of,
    read_stamp,
    stamped_public,
    table_of,
    warn_of,
)
from discreet.mechanisms.row_checks import Checked


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The files, folders, URLs and tables of reports, and how they are read.

    Whatever takes sources takes what ``of`` may be, too.

    Attributes:
        of: files of reports or tallies (``.tally.parquet``, say), folders of such files, URLs of either, patterns of
            names (``2026-*.parquet``); tables of
            reports of pandas, polars, DuckDB, Arrow or anything else that has ``__arrow_c_stream__``; or several of
            these. A folder's manifest (``discreet manifest``) is compared, if it has one.
        bad_share: the share of rows, in 0..1, that may be nothing a device can have sent: they are left out and
            counted. By default the first one is refused.
        trust_plan: whether you vouch that sources which do not say their plan, because another tool wrote them, hold
            reports of this one; what they say of another plan is refused all the same
            (`discreet.mechanisms.report_tables`).
        progress: called now and then with the rows done and the rows in all; None if nobody wants to know.

    Raises:
        ParameterError: if a parameter is out of range, or a source is none of these.

    Example:
        >>> import discreet as dc, pyarrow as pa
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> table = pa.table({"symbol": [0, 0, 1, None]})
        >>> import warnings
        >>> from discreet.engines import tally
        >>> with warnings.catch_warnings(action="ignore"):
        ...     counted = tally(mechanism, Sources(table, trust_plan=True, bad_share=0.5))
        >>> counted.tally.n, counted.left_out
        (3, {'hold neither a whole block nor a value in clear': 1})
    """

    of: Any
    _: KW_ONLY
    bad_share: float = 0.0
    trust_plan: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        checked_share("bad_share", self.bad_share)
        is_single = isinstance(self.of, str) or _is_table(self.of) or not isinstance(self.of, Iterable)
        named = (self.of,) if is_single else tuple(self.of)
        wrong = [place for place in named if not isinstance(place, str | File) and not _is_table(place)]
        if wrong:
            raise ParameterError(
                "sources must be files, folders, URLs or tables of Arrow, pandas, polars or DuckDB, got "
                f"{type(wrong[0]).__name__}."
            )
        object.__setattr__(self, "of", named)

    @property
    def sift(self) -> bool:
        """True if bad rows are left out and counted."""
        return self.bad_share > 0

    @property
    def named(self) -> list[File]:
        """The files and folders, without tables; errors as for `matched`."""
        return [path for place in self.of if not _is_table(place) for path in matched(place)]

    @property
    def tables(self) -> list[Any]:
        """The tables."""
        return [place for place in self.of if _is_table(place)]

    @property
    def files(self) -> list[File]:
        """The files of reports and tallies, those in folders too; errors as for `files_in`."""
        return report_files(self.named)

    def without_sifting(self, why: str) -> "Sources":
        """Return these sources; refuse them if rows are to be left out.

        Raises:
            ParameterError: if it is so; ``why`` they cannot be.
        """
        if self.sift:
            raise ParameterError(f"bad_share must be 0 here: {why}.")
        return self


def _is_table(place: object) -> bool:
    return hasattr(place, "__arrow_c_stream__") or hasattr(place, "sparkSession")


def sources_of(reports: Any) -> Sources:
    """Return sources; files, folders, URLs and tables alone are read with the usual care."""
    return reports if isinstance(reports, Sources) else Sources(reports)


# Rows per part: enough work to be worth handing out. Rows and bytes per batch: what stays in the cache while it is
# checked and counted.
_PART_ROWS = 1 << 21
_BATCH_ROWS = 1 << 20
_BATCH_BYTES = 1 << 22
# Bytes of small files of services that are held until they are read.
_MOST_HELD = 1 << 28
_NAMES_SHOWN = 5
_LINES, _LETTERS = 1 << 16, 1 << 25

Place: TypeAlias = File | HeldTable
"""A file, or a table in memory."""


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
    """A part of a source of reports.

    Attributes:
        path: the file, or the table in memory.
        mechanism: what made the reports.
        groups: row groups, batches or stretches of the part; empty for a file of lines.
        rows: number of reports; None if they are not counted yet.
        state: identity and time of the file when it was inspected; None of a table in memory.
        table: the inspected table; None for a file of lines.
        form: the form of a table that another tool wrote; None for discreet's own format.
        public: names of the public columns beside the reports that are read too; see `public_rows`.
        seen: what the last reading has come through.
    """

    path: Place
    mechanism: Mechanism
    groups: Sequence[int]
    rows: int | None
    state: FileState | None
    table: StoredTable | HeldTable | None = None
    form: Form | None = None
    public: tuple[str, ...] = ()
    seen: Seen = field(default_factory=Seen, init=False)

    @property
    def content(self) -> tuple[int, int]:
        """The file's size and the CRC-32 of its footer (0 for lines): the same wherever the file is seen from."""
        return (0 if self.state is None else self.state.size), 0 if self.table is None else self.table.footer

    @property
    def bytes(self) -> int:
        """About how many bytes of the file belong to the part."""
        whole = 0 if self.table is None else sum(self.table.rows)
        size = 0 if self.state is None else self.state.size
        return size if not whole or self.rows is None else size * self.rows // whole

    @property
    def ticket(self) -> "Ticket":
        """The facts of a part of a file by which another machine reads it."""
        assert not isinstance(self.path, HeldTable)
        trusted = self.form is not None
        return Ticket(self.path, tuple(self.groups), self.rows, self.content, trusted, self.public)

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
        lines = self.table is None
        read = self._of_lines(sift, most or _LINES) if lines else self._of_table(sift, most or self._batch_rows)
        return (checked for checked, _ in self._through(read))

    def batches(self, *, sift: bool) -> Iterator[tuple[Any, Mapping[str, int]]]:
        """Yield batches for folds: reports, with the public columns where these are read too, and rows left out."""
        if not self.public:
            yield from self.reports(sift=sift)
            return
        for rows in self.public_rows():
            yield rows, {}

    def _through(self, read: Iterator[tuple[Checked, Any]]) -> Iterator[tuple[Checked, Any]]:
        with readable(self.path):
            self.seen.n = self.seen.digest = 0
            for checked, beside in read:
                self.seen.add(self.mechanism, checked[0])
                yield checked, beside
        if isinstance(self.path, RemoteFile):
            self.path.release()

    def _of_table(self, sift: bool, most: int, public: Sequence[str] = ()) -> Iterator[tuple[Checked, pa.RecordBatch]]:
        assert self.table is not None
        own_names = [column.name for column in self.mechanism.columns]
        names = own_names if self.form is None else self.form.names(self.mechanism)
        none = not public
        for batch in read_groups(self.table, self.groups, most, [*names, *public], labels=public):
            none = False
            yield batch_reports(self.mechanism, batch.select(names), self.form, sift=sift), batch
        if none:
            none_of = no_rows(self.table.schema, names)
            yield batch_reports(self.mechanism, none_of, self.form, sift=sift), none_of

    @property
    def _batch_rows(self) -> int:
        width = sum(column.bytes for column in self.mechanism.columns)
        return min(max(_BATCH_BYTES // width, 1), _BATCH_ROWS)

    @property
    def kept(self) -> list[str]:
        """The names of the public columns of which the stamp says that they are beside the reports."""
        return [] if self.table is None else stamped_public(self.table.schema)

    @property
    def folders(self) -> dict[str, str | None]:
        """The columns by which the file's folders are named, and which it has not itself, with their one cell."""
        if self.table is None or isinstance(self.path, HeldTable):
            return {}
        there = self.table.schema.names
        return {name: cell for name, cell in folder_columns(self.path).items() if name not in there}

    @property
    def unread(self) -> list[str]:
        """The names of the columns that are beside the reports, are not read, and which the stamp does not name."""
        if self.form is not None or self.table is None:
            return [] if self.form is None else list(self.form.extra)
        known = {*(column.name for column in self.mechanism.columns), *self.public, *self.kept}
        return [name for name in self.table.schema.names if name not in known]

    def public_rows(self) -> Iterator[tuple[Reports, pa.RecordBatch]]:
        """Yield the reports of the part, checked, with the public columns beside them; errors as for `reports`."""
        inside = [name for name in self.public if name not in self.folders]
        for (reports, _), rows in self._through(self._of_table(False, self._batch_rows, inside)):
            cells = {name: pa.repeat(pa.scalar(cell, pa.string()), reports.n) for name, cell in self.folders.items()}
            columns = [rows[name] if name in inside else cells[name] for name in self.public]
            yield reports, pa.record_batch(columns, list(self.public))

    def _of_lines(self, sift: bool, most: int) -> Iterator[tuple[Checked, None]]:
        count = 0
        assert self.state is not None
        assert not isinstance(self.path, HeldTable)
        self.state.check(self.path)
        with opened_text(self.path) as text:
            for texts in _some_lines(lines_of(text, json_reports.longest_line(self.mechanism)), most):
                if sift:
                    yield json_reports.sift_json(self.mechanism, texts, form=self.form), None
                else:
                    reports = json_reports.from_json(self.mechanism, texts, first=count, form=self.form)
                    yield (reports, Counter()), None
                count += len(texts)
        if self.rows is not None and count != self.rows:
            raise DataError(f"the file holds {count} lines where its manifest says {self.rows}.")
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


def stamped_plan(file: File) -> str:
    """Return the plan that a file of reports or a tally says it is of; empty if it says none.

    Raises:
        DataError: if it cannot be read; it names the file.
    """
    with readable(file):
        if checked(file, REPORTS, "reports") in LINES:
            with opened_text(file) as text:
                stamp: Any = text.readline(_LETTERS)
        else:
            stamp = (look(file).schema.metadata or {}).get(STAMP, "")
    with suppress(KeyError, TypeError, ValueError, RecursionError):
        return str(json.loads(stamp)[PLAN])
    return ""


def partitions_of(
    place: Place, mechanism: Mechanism, *, trust_plan: bool = False, public: Sequence[str] = ()
) -> list[Partition]:
    """Return the parts of a source of reports, after checks of its metadata.

    Args:
        place: the file, or the table in memory.
        mechanism: what made the reports.
        trust_plan: as for `Sources`.
        public: names of public columns beside the reports, which it must have then.

    Raises:
        DataError: if it is missing, truncated, does not say its plan, or has other columns than the plan's reports; it
            names the file.
        MismatchError: if it belongs to another plan.
    """
    with readable(place):
        if isinstance(place, HeldTable):
            form = form_of(mechanism, place.schema, trust_plan=trust_plan, public=public)
            return _runs(Partition(place, mechanism, (), 0, None, place, form, tuple(public)))
        if not place.exists():
            raise FileNotFoundError
        if isinstance(place, RemoteFile):
            place.hold()
        if checked(place, REPORTS, "reports") in LINES:
            refuse_public(public)
            state = FileState.of(place)
            with opened_text(place) as text:
                lines = lines_of(text, json_reports.longest_line(mechanism))
                form = json_reports.form_of_lines(mechanism, lines, trust_plan=trust_plan)
            with opened_text(place) as text:
                return [Partition(place, mechanism, (), None if text.read(1) else 0, state, None, form)]
        table = look(place)
        whole = Partition(place, mechanism, (), 0, table.state, table, None, tuple(public))
        inside = [name for name in public if name not in whole.folders]
        form = form_of(mechanism, table.schema, trust_plan=trust_plan, public=inside)
        return _runs(replace(whole, form=form))


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


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """The facts of a part by which another machine reads it.

    Attributes:
        path: the file.
        groups: as of the part.
        rows: as of the part.
        content: `Partition.content`.
        trust_plan: whether the file was let through on the caller's word.
        public: as of the part.
    """

    path: File
    groups: Sequence[int]
    rows: int | None
    content: tuple[int, int]
    trust_plan: bool
    public: tuple[str, ...] = ()

    def part(self, mechanism: Mechanism) -> Partition:
        """Return the part, after checking that the file here is the same.

        Raises:
            DataError: as for `partitions_of`, and if the file has not the `Partition.content` that it had.
            MismatchError: if it belongs to another plan.
        """
        # What a file says of itself is read again: it may be large, and another machine reads it now.
        whole, *_ = partitions_of(self.path, mechanism, trust_plan=self.trust_plan, public=self.public)
        if whole.content != self.content:
            raise DataError(
                f"{self.path} is not the file that was checked before; see that all machines see the same files."
            )
        return replace(whole, groups=self.groups, rows=self.rows)


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


_CERTAIN = 0.01
"""The chance that some two of the sources are equal, below which equal ones are a copy."""


@dataclass(frozen=True, slots=True, eq=False)
class SourceSurvey:
    """The sources of a run, looked at.

    Attributes:
        tallies: by their files, in order.
        parts: of all files of reports, in order.
    """

    tallies: Mapping[File, Tally]
    parts: Sequence[Partition]

    def refuse_tallies(self, why: str) -> None:
        """Refuse tallies where reports are needed.

        Raises:
            ParameterError: if there is one; ``why`` it is of no use.
        """
        if self.tallies:
            raise ParameterError(f"{why}; leave the {len(self.tallies)} tallies out.")

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the columns beside the reports, read or not."""
        return tuple(dict.fromkeys(name for part in self.parts for name in (*part.kept, *part.unread, *part.folders)))

    def whole(self, reports: Tally) -> Tally:
        """Return the tally of everything, which knows what it counted; errors as for `batches`.

        Args:
            reports: the tally of all parts, which were read.
        """
        sealed = self.batches()
        total = sum(part.seen.digest for part in self.parts) - sum(batch.digest for batch in sealed)
        known = replace(reports, batches=sealed, rest=total % MODULUS)
        return sum(self.tallies.values(), start=known)

    def beyond(self, counted: Tally) -> "SourceSurvey":
        """Return the sources without what a tally has counted, which is not read.

        Raises:
            DataError: if a batch has other reports than were counted under its name; it names the file.
            ParameterError: if a source is no sealed batch of a collection, so that nobody can tell whether it was
                counted; it names it.
        """
        parts, tallies = list[Partition](), dict[File, Tally]()
        known = {batch.name: batch for batch in counted.batches}

        def is_new(path: Place, batches: Sequence[SealedBatch]) -> bool:
            if not all(batch.name for batch in batches):
                raise ParameterError(f"{path} must be sealed batches of collections: no others are known again.")
            if any(known.get(batch.name, batch) != batch for batch in batches):
                raise DataError(
                    f"{path} holds other reports than were counted of the same epochs; take those out first."
                )
            return not batches or any(batch.name not in known for batch in batches)

        for path, some in _by_file(self.parts).items():
            if is_new(path, [] if rows_in(some) == 0 else [_sealed_as(some)]):
                parts += some
        for path, tally in self.tallies.items():
            others = [SealedBatch("", 0, tally.rest_n)] if tally.rest_n else []
            if is_new(path, [*tally.batches, *others]):
                tallies[path] = tally
        return replace(self, tallies=tallies, parts=parts)

    def batches(self) -> tuple[SealedBatch, ...]:
        """Return the sealed batches among the files of reports, after all parts were read.

        Raises:
            DataError: if reports are there twice: in two files, in a tally and a file, in one file and all others
                together; or a sealed file holds other reports than it says. It names the files.
        """
        sealed, others = list[tuple[Place, SealedBatch]](), list[tuple[Place, SealedBatch]]()
        for path, parts in _by_file(self.parts).items():
            n, checksum = sum(part.seen.n for part in parts), sum(part.seen.digest for part in parts) % MODULUS
            facts = _sealed_facts(parts[0])
            if facts is None:
                others.append((path, SealedBatch("", checksum, n)))
                continue
            if facts[DIGEST] not in {None, spelled(checksum)}:
                raise DataError(f"{path} holds other reports than it says; take the file once more from where it came.")
            sealed.append((path, SealedBatch(batch_name(facts), checksum, n)))
        for path, tally in self.tallies.items():
            others += [(path, batch) for batch in tally.batches]
            # Of a tally of an earlier version no more is known than its bytes.
            rest = int(digest(path), 16) % MODULUS if tally.rest is None else tally.rest
            others.append((path, SealedBatch("", rest, tally.rest_n)))
        self._refuse_twice([(path, batch) for path, batch in (*sealed, *others) if batch.n])
        return tuple(batch for _, batch in sealed if batch.n)

    def _refuse_twice(self, sources: Sequence[tuple[Place, SealedBatch]]) -> None:
        """Refuse reports that are there twice: in two sources, or in one and in all others together."""
        by_digest: dict[int, list[tuple[Place, SealedBatch]]] = {}
        alike = Counter(batch.n for _, batch in sources)
        for path, batch in sources:
            for first, other in by_digest.setdefault(batch.digest, []):
                if batch.is_same(other):
                    # One name that was signed for is one batch, however few reports it has.
                    signed = bool(batch.name) and batch.name == other.name
                    chance = 0.0 if signed else comb(alike[batch.n], 2) * self._equal_by_chance(path)
                    _judge(f"the same {batch.n:,} reports twice: {first} and {path}", "name one of them", chance)
            by_digest[batch.digest].append((path, batch))
        n, total = sum(batch.n for _, batch in sources), sum(batch.digest for _, batch in sources)
        for path, batch in sources:
            # Names that were signed for are of different batches, whatever their reports.
            both = 2 * batch.n == n and (2 * batch.digest - total) % MODULUS == 0
            if both and len(sources) > 2 and not all(sealed.name for _, sealed in sources):
                rest = ", ".join(str(other) for other, _ in sources if other is not path)
                what = f"the same {batch.n:,} reports twice: {path} and {rest} together"
                _judge(what, f"leave {path} out", self._equal_by_chance(path))

    def _equal_by_chance(self, path: Place) -> float:
        """Return an upper bound of the chance that a source equals another of as many reports."""
        if not isinstance(path, HeldTable) and path in self.tallies:
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


def _by_file(parts: Sequence[Partition]) -> dict[Place, list[Partition]]:
    by_path: dict[Place, list[Partition]] = {}
    for part in parts:
        by_path.setdefault(part.path, []).append(part)
    return by_path


def _sealed_facts(part: Partition) -> dict[str, Any] | None:
    """Return the facts of a sealed file, and the digest that it says it has, if any; None for every other file."""
    if not isinstance(part.table, StoredTable) or part.form is not None:
        return None
    facts = read_stamp(part.table.schema, "reports", part.mechanism.fingerprint)
    return {**facts, DIGEST: part.table.digest} if facts.get(SEALED) is True else None


def _sealed_as(parts: Sequence[Partition]) -> SealedBatch:
    """Return the batch that a sealed file says it holds; one without a name of other files."""
    facts, n = _sealed_facts(parts[0]), rows_in(parts)
    if facts is None or facts[DIGEST] is None or n is None:
        return SealedBatch("", 0, 0)
    return SealedBatch(batch_name(facts), read_digest(facts[DIGEST]), n)


def surveyed(mechanism: Mechanism, sources: Any, public: Sequence[str] = ()) -> SourceSurvey:
    """Return the tallies among the sources, and the parts of all reports, in order.

    Warns of what is taken on the caller's word, and of columns that are not read.

    Args:
        mechanism: what made the reports.
        sources: `Sources`, or what they may be of.
        public: names of columns beside the reports that all sources must have, and no tally has.

    Raises:
        DataError: if a file is missing, truncated, or not of this plan's reports, or a folder is not what its manifest
            says; it names the file.
        MismatchError: if a file belongs to another plan.
        ParameterError: if a parameter is out of range, or a file is named twice, by itself or with its folder.
    """
    read = sources_of(sources)
    files = read.files
    tallies = {path: read_tally(path, mechanism) for path in files if is_tally(path)}
    if tallies:
        refuse_public(public)
    held = [HeldTable(f"table {number}", table_of(table)) for number, table in enumerate(read.tables, start=1)]
    places: list[Place] = [*(path for path in files if path not in tallies), *held]
    parts, held_size = list[Partition](), 0
    for place in places:
        parts += partitions_of(place, mechanism, trust_plan=read.trust_plan, public=public)
        if isinstance(place, RemoteFile):
            held_size += place.held
            if held_size > _MOST_HELD:
                place.release()
    forms = {id(part.path): part.form for part in parts if part.form is not None}
    unread, kind = [name for part in parts for name in part.unread], "tables" if not files else "files"
    warn_of(forms.values(), len(places), mechanism.fingerprint, unread, kind=kind)
    folders = set(read.named).difference(files)
    return SourceSurvey(tallies, _promised(promised_rows(folders, files) if folders else {}, tallies, parts))


def _promised(rows: Mapping[Any, int], tallies: Mapping[File, Tally], parts: list[Partition]) -> list[Partition]:
    """Return parts that hold as many rows as their manifests state; lines are counted when they are read."""
    whole = [replace(part, rows=rows.get(part.path)) if part.rows is None else part for part in parts]
    counts = Counter[Place]({path: tally.n for path, tally in tallies.items()})
    for part in whole:
        counts[part.path] += part.rows or 0
    for path, wanted in rows.items():
        if counts[path] != wanted:
            raise DataError(f"{path} holds {counts[path]} reports where its manifest says {wanted}.")
    return whole


def rows_in(parts: Sequence[Partition]) -> int | None:
    """Return the number of rows in parts; None if some are not counted yet."""
    counts = [part.rows for part in parts]
    return None if None in counts else sum(count for count in counts if count)
