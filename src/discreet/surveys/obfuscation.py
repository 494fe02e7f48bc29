"""Obfuscation of files with answers to surveys, in batches, into one file of reports for each question."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.arrays import IntArray
from discreet.core.domain import MOST_VALUES, Domain
from discreet.core.labels.products import Product
from discreet.core.random import RandomSource, SecureRandom, SeededRandom
from discreet.core.reports import Reports
from discreet.engines.obfuscation import MOST_ROWS, Values, add_read, batches, codes_of
from discreet.errors import ParameterError
from discreet.files.paths import COLUMNS
from discreet.files.reading import Progress
from discreet.files.writing import check_own_folder
from discreet.formats.reports import facts_of, report_file
from discreet.surveys.documents import Questionnaire, question_files
from discreet.surveys.rounds import ROUND
from discreet.surveys.survey import Survey
from discreet.tables.kept import check_writable, joined_schema
from discreet.tables.scan import table_files
from discreet.tables.values import ReadAs, ValueColumns


def survey_columns(questionnaire: Questionnaire, keep: Sequence[str] = (), **reading: Any) -> list[ValueColumns]:
    """Return the columns of a table with the answers to a survey, grouped into products with at most 2^63 codes.

    Args:
        questionnaire: the survey's document.
        keep: names of public columns to be kept beside the reports.
        reading: ``as_read``, ``float32`` and ``spelling``, as for `ValueColumns`.
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
        missing_label: Any = {name: spec.missing for name, spec in specs.items() if spec.missing is not None}
        cuts: Any = {name: spec.cuts for name, spec in specs.items() if spec.cuts is not None}
        more: Any = {"keep": () if columns else tuple(keep), **reading}
        columns.append(ValueColumns(domain, missing_label=missing_label or None, cuts=cuts or None, **more))
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
    """Write the reports of a survey into a folder with one file for each question; return the numbers of reports.

    A survey with rounds needs all rows in memory. The round is a column beside the reports.

    Args:
        survey: the survey.
        values: as for `obfuscate`.
        folder: the folder, which is made if need be; it must hold nothing else.
        columns: the columns of the tables, as `survey_columns` returns them.
        rounds: for a survey with rounds, the names of the columns of people and of rounds. Both columns must be kept in
            ``columns``.
        seed: as for `obfuscate`.
        force: whether files that exist are replaced.
        progress: as for `obfuscate`.
        read_as: receives the number of values that were read as a label that reads alike.

    Raises:
        DataError, OutputExistsError, ParameterError: as for `obfuscate`; nothing is written then.
    """
    names = question_files(question.name for question in survey.questions)
    files = {name: Path(folder) / file for name, file in names.items()}
    scans = [[part.of(source) for source in table_files(values)] for part in columns]
    public = joined_schema([table.scan.kept_schema() for table in scans[0]])
    beside, most = (public, MOST_ROWS) if rounds is None else (_beside(public, *rounds), sys.maxsize)
    for question in survey.questions:
        check_writable(beside.names, question.mechanism, COLUMNS[0])
    random, written = SecureRandom() if seed is None else SeededRandom(seed), dict.fromkeys(files, 0)
    done, total = 0, sum(table.rows for table in scans[0])
    check_own_folder(Path(folder), files.values())
    with ExitStack() as open_files:
        write = {}
        for question in survey.questions:
            columns_beside, path = beside if beside.names else None, files[question.name]
            opened = report_file(path, question.mechanism, facts=facts_of(None), public=columns_beside, force=force)
            write[question.name] = open_files.enter_context(opened)
        for parts in zip(*(batches(tables, most, public) for tables in scans), strict=True):
            codes = {
                name: code
                for (cells, _), part in zip(parts, columns, strict=True)
                for name, code in _by_attribute(part.domain.space, cells)
            }
            cells, read = parts[0]
            for name, rows, part in _answers(survey, codes, read, rounds, random):
                write[name](part, _public_of(read.take(rows), beside, rounds) if beside.names else None)
                written[name] += part.n
            done += len(cells)
            if progress is not None:
                progress(done, total)
    add_read(read_as, chain.from_iterable(scans))
    return written


def _beside(public: pa.Schema, person: str, when: str) -> pa.Schema:
    """Return the schema of public columns with a column of the round, and without the column of the person."""
    others = [field for field in public if field.name not in (person, when)]
    if ROUND in (field.name for field in others):
        raise ParameterError("column.named-round")
    return pa.schema([*others, public.field(when).with_name(ROUND)])


def _public_of(read: pa.Table, beside: pa.Schema, rounds: tuple[str, str] | None) -> pa.Table:
    if rounds is None:
        return read
    return pa.Table.from_arrays([read[rounds[1] if name == ROUND else name] for name in beside.names], schema=beside)


def _answers(
    survey: Survey, codes: Mapping[str, IntArray], read: pa.Table, rounds: tuple[str, str] | None, random: RandomSource
) -> Iterator[tuple[str, IntArray, Reports]]:
    """Yield the name of each question, the rows whose people answer it, and their reports."""
    if rounds is None:
        reports = survey.obfuscate_codes(codes, random=random)
        yield from ((name, (reports.rows or {})[name], part) for name, part in reports.items())
        return
    for _, name, rows, part in survey.answers_in_rounds(codes, *(read[name] for name in rounds), random=random):
        yield name, rows, part


def _by_attribute(space: Any, cells: IntArray) -> Iterator[tuple[str, IntArray]]:
    """Split the codes of a product, and yield the name and the codes of each attribute."""
    shape = [part.size for part in space.attributes.values()]
    yield from zip(space.attributes, np.unravel_index(cells, shape), strict=True)


def survey_codes(
    values: Values, columns: Sequence[ValueColumns], *, read_as: ReadAs | None = None
) -> dict[str, IntArray]:
    """Return the ``(n,)`` codes of people's values for each attribute; all codes are in memory.

    Args:
        values: the table or file of people's values, as for `obfuscate`.
        columns: the columns of the tables, as `survey_columns` returns them.
        read_as: receives the number of values read as a label that reads alike; None to read exact labels only.
    """
    parts = [(part.domain.space, codes_of(values, part, read_as)) for part in columns]
    return {name: codes for space, cells in parts for name, codes in _by_attribute(space, cells)}
