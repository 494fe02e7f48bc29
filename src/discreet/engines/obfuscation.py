"""Obfuscation of tables of values in files, streamed: some hundred thousand reports, or 64 MB, at a time."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet.arrays import AnyArray, IntArray
from discreet.core.domain import MOST_VALUES, Domain
from discreet.core.labels import Product
from discreet.core.random import RandomSource, SecureRandom, SeededRandom
from discreet.core.reports import Reports
from discreet.errors import ParameterError
from discreet.files.paths import COLUMNS, File
from discreet.files.reading import Progress, prefetched
from discreet.files.writing import check_own_folder
from discreet.formats.reports import report_file, reports_ending, write_beside, write_reports
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.obfuscation import CHUNK
from discreet.mechanisms.report_tables import schema_beside
from discreet.surveys.documents import Questionnaire, question_files
from discreet.surveys.rounds import ROUND
from discreet.surveys.survey import Survey
from discreet.tables.scan import table_files
from discreet.tables.values import CodedValues, ReadAs, ValueColumns, check_writable, joined_schema, recast

Values: TypeAlias = "str | File | Sequence[str | File]"

# Reports that are drawn and written together: so many, or so many bytes if that is less. A batch is also what is waited
# for where the work is interrupted.
_MOST_ROWS, _MOST_BYTES = 1 << 18, 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Obfuscated:
    """The reports of tables of values.

    Attributes:
        reports: how many were written.
        left_out: number of rows left out by reason.
        simulated: whether their noise is seeded, so that they protect nobody.
        read_as: number of values that were taken for the label that they read like, by attribute (or "") and label;
            a cluster gives their total among ``left_out`` alone.

    Example:
        >>> Obfuscated(reports=100, left_out={"have no value": 2}, simulated=False).reports
        100
    """

    reports: int
    left_out: Mapping[str, int]
    simulated: bool
    read_as: Mapping[tuple[str, str], int] = field(default_factory=dict)


def obfuscate(
    mechanism: BlockMechanism,
    values: Values,
    target: str | Path,
    columns: ValueColumns | None = None,
    *,
    seed: int | None = None,
    force: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Obfuscated:
    """Write a report for every value of tables, in order.

    Args:
        mechanism: what obfuscates them.
        values: a table in a file or on standard input, or files and folders of tables.
        target: the file of reports.
        columns: which columns hold the values; None for the only one that has a name.
        seed: makes a simulation; None for secure randomness.
        force: whether a file that exists is replaced.
        threads: as for `discreet.engines.tally`.
        progress: called now and then with the values done and the values in all.

    Raises:
        DataError: if a table is missing or broken, a column is not there, or values are missing or not in the domain:
            nothing is written then.
        OutputExistsError: if the file exists and ``force`` is not set.
        ParameterError: if tables are not read from such files, or reports not kept in such a one, or columns cannot be
            kept beside them (``ValueColumns.keep``).

    Example:
        >>> import discreet as dc
        >>> from importlib.resources import files
        >>> from tempfile import TemporaryDirectory
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["18-29", "30s", "40s", "50+"]), epsilon=1.0)
        >>> answers = files("discreet") / "examples" / "answers.csv"
        >>> with TemporaryDirectory() as folder:
        ...     columns = ValueColumns(mechanism.domain, "age")
        ...     obfuscate(mechanism, answers, f"{folder}/reports.parquet", columns).reports
        2000
    """
    columns = ValueColumns(mechanism.domain) if columns is None else columns
    check_writable(columns.keep, mechanism, reports_ending(target))
    tables = [columns.of(source) for source in table_files(values)]
    public = joined_schema([table.scan.kept_schema() for table in tables])
    random = SecureRandom() if seed is None else SeededRandom(seed)
    # Whole chunks, so that a seed gives the reports of the whole column.
    width = sum(column.bytes for column in mechanism.columns)
    rows = min(max(_MOST_BYTES // width // CHUNK, 1) * CHUNK, _MOST_ROWS)
    coded = _batches(tables, rows, public)
    drawn = ((mechanism.obfuscate_codes(codes, random=random), public_rows) for codes, public_rows in coded)
    done, total = 0, sum(table.rows for table in tables)

    def reports() -> Iterator[tuple[Reports, Any]]:
        nonlocal done
        for batch, public_rows in prefetched(drawn, threads):
            yield batch, public_rows
            done += batch.n
            if progress is not None:
                progress(done, total)

    if columns.keep:
        written = write_beside(target, mechanism, reports(), public, force=force)
    else:
        written = write_reports(target, mechanism, (batch for batch, _ in reports()), force=force)
    left_out = sum((table.left_out for table in tables), start=Counter[str]())
    read_as = sum((table.read_as for table in tables), start=ReadAs())
    return Obfuscated(written, dict(left_out), seed is not None, dict(read_as))


def survey_columns(
    questionnaire: Questionnaire, keep: Sequence[str] = (), *, as_read: bool = False
) -> list[ValueColumns]:
    """Return the columns of a table that hold the answers to a survey, as products whose codes numbers have room for.

    Args:
        questionnaire: the survey's document.
        keep: names of public columns to be kept beside the reports.
        as_read: as for `ValueColumns`.
    """
    groups, size = [list[str]()], 1
    for name, domain in questionnaire.attributes.items():
        size *= domain.size
        if size >= MOST_VALUES and groups[-1]:
            groups.append([])
            size = domain.size
        groups[-1].append(name)
    columns = list[ValueColumns]()
    for names in groups:
        specs = {name: questionnaire.document.attributes[name] for name in names}
        domain = Domain.over(Product({name: questionnaire.attributes[name].space for name in names}), None)
        stand: Any = {name: spec.missing for name, spec in specs.items() if spec.missing is not None}
        cuts: Any = {name: spec.cuts for name, spec in specs.items() if spec.cuts is not None}
        beside = () if columns else tuple(keep)
        columns.append(ValueColumns(domain, stand=stand or None, cuts=cuts or None, keep=beside, as_read=as_read))
    return columns


def obfuscate_survey(
    survey: Survey,
    values: Values,
    folder: str | Path,
    columns: Sequence[ValueColumns],
    *,
    rounds: tuple[str, str] | None = None,
    seed: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
    read_as: ReadAs | None = None,
) -> dict[str, int]:
    """Write the reports of people on a survey into a folder, a file for each question, and return how many they are.

    Of a survey with rounds all rows are read before one is obfuscated, and the round is kept beside each report.

    Args:
        survey: what is asked.
        values: as for `obfuscate`.
        folder: the folder, which is made if need be; it must hold nothing else.
        columns: of the tables, as `survey_columns` returns them.
        rounds: of a survey with rounds, the columns of people and of rounds, which `survey_columns` keeps at the end.
        seed: as for `obfuscate`.
        force: whether files that exist are replaced.
        progress: as for `obfuscate`.
        read_as: gets the number of values that were taken for the label that they read like.

    Raises:
        DataError, OutputExistsError, ParameterError: as for `obfuscate`; nothing is written then.
    """
    names = question_files(question.name for question in survey.questions)
    files = {name: Path(folder) / file for name, file in names.items()}
    scans = [[part.of(source) for source in table_files(values)] for part in columns]
    public = joined_schema([table.scan.kept_schema() for table in scans[0]])
    beside, most = (public, _MOST_ROWS) if rounds is None else (_beside(public, *rounds), sys.maxsize)
    for question in survey.questions:
        check_writable(beside.names, question.mechanism, COLUMNS[0])
    random, written = SecureRandom() if seed is None else SeededRandom(seed), dict.fromkeys(files, 0)
    done, total = 0, sum(table.rows for table in scans[0])
    check_own_folder(Path(folder), files.values())
    with ExitStack() as open_files:
        write = {}
        for question in survey.questions:
            schema = partial(schema_beside, question.mechanism, beside) if beside.names else None
            opened = report_file(files[question.name], question.mechanism, schema, force=force)
            write[question.name] = open_files.enter_context(opened)
        for batches in zip(*(_batches(tables, most, public) for tables in scans), strict=True):
            codes = {
                name: code
                for (cells, _), part in zip(batches, columns, strict=True)
                for name, code in _by_attribute(part.domain.space, cells)
            }
            cells, read = batches[0]
            for name, rows, part in _answers(survey, codes, read, rounds, random):
                write[name](part, _public_of(read.take(rows), beside, rounds) if beside.names else None)
                written[name] += part.n
            done += len(cells)
            if progress is not None:
                progress(done, total)
    _add_read(read_as, chain.from_iterable(scans))
    return written


def _add_read(read_as: ReadAs | None, tables: Iterable[CodedValues]) -> None:
    """Add the numbers of values that were taken for the label that they read like."""
    if read_as is not None:
        for table in tables:
            read_as.update(table.read_as)


def _beside(public: pa.Schema, person: str, when: str) -> pa.Schema:
    """Return the schema of what is kept beside reports of rounds: all but the person, and the round by one name."""
    others = [field for field in public if field.name not in (person, when)]
    if ROUND in (field.name for field in others):
        raise ParameterError(f"a kept column must not be named {ROUND!r}, as that of rounds is; rename it.")
    return pa.schema([*others, public.field(when).with_name(ROUND)])


def _public_of(read: pa.Table, beside: pa.Schema, rounds: tuple[str, str] | None) -> pa.Table:
    if rounds is None:
        return read
    return pa.Table.from_arrays([read[rounds[1] if name == ROUND else name] for name in beside.names], schema=beside)


def _answers(
    survey: Survey, codes: Mapping[str, IntArray], read: pa.Table, rounds: tuple[str, str] | None, random: RandomSource
) -> Iterator[tuple[str, IntArray, Reports]]:
    """Yield the questions, the rows that answer them, and their reports."""
    if rounds is None:
        reports = survey.obfuscate_codes(codes, random=random)
        yield from ((name, (reports.rows or {})[name], part) for name, part in reports.items())
        return
    for _, name, rows, part in survey.answers_in_rounds(codes, *(read[name] for name in rounds), random=random):
        yield name, rows, part


def _by_attribute(space: Any, cells: IntArray) -> Iterator[tuple[str, IntArray]]:
    """Yield the codes of each attribute of a product."""
    shape = [part.size for part in space.attributes.values()]
    yield from zip(space.attributes, np.unravel_index(cells, shape), strict=True)


def survey_codes(values: Values, questionnaire: Questionnaire, *, read_as: ReadAs | None = None) -> dict[str, IntArray]:
    """Return the ``(n,)`` codes of people's values by attribute, in memory.

    Args:
        values: as for `obfuscate`, which says what is raised.
        questionnaire: the survey's document.
        read_as: gets the number of values that are taken for the label that they read like; None to take none so.
    """
    columns = survey_columns(questionnaire, as_read=read_as is not None)
    parts = [(part.domain.space, codes_of(values, part, read_as)) for part in columns]
    return {name: codes for space, cells in parts for name, codes in _by_attribute(space, cells)}


def codes_of(values: Values, columns: ValueColumns, read_as: ReadAs | None = None) -> IntArray:
    """Return the ``(n,)`` codes of the values of tables, in memory.

    Args:
        values: as for `obfuscate`, which says what is raised.
        columns: of the values.
        read_as: gets the number of values that were taken for the label that they read like.
    """
    tables = [columns.of(source) for source in table_files(values)]
    batches = _batches(tables, _MOST_ROWS, pa.schema([]))
    codes = np.concatenate([np.empty(0, np.int64), *(codes for codes, _ in batches)])
    _add_read(read_as, tables)
    return codes


def _batches(tables: Sequence[CodedValues], rows: int, public: pa.Schema) -> Iterator[tuple[IntArray, Any]]:
    """Yield the codes of all tables and their kept columns, so many rows at a time, however they are stored."""
    waiting: list[AnyArray] = []
    beside, count = public.empty_table(), 0
    for table in tables:
        for codes, _, public_rows in table.batches():
            waiting.append(codes)
            beside = beside if public_rows is None else pa.concat_tables([beside, recast(public_rows, public)])
            count += len(codes)
            while count >= rows:
                whole = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                yield whole[:rows], beside.slice(0, rows)
                count -= rows
                waiting, beside = ([whole[rows:]] if count else []), beside.slice(rows)
    if count:
        yield np.concatenate(waiting), beside
