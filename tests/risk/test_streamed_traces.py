"""Traces from files: those of the whole table in memory, whatever the files, the batches and the order of the rows."""

import datetime
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv

import discreet.tables.scan as reading
from discreet import Domain
from discreet.errors import DataError, ParameterError
from discreet.risk.events import read_traces
from discreet.risk.traces import Traces
from packing import each
from refusals import refused

SECRET = 8_675_309
COLUMNS = {"user": "who", "event": "what", "time": "when"}
UNTIMED = {"user": "who", "event": "what"}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
INTEGERS = st.one_of(st.integers(-3, 6), st.integers(-(2**63), 2**63 - 1))
EDGES = [-(2**63), 2**63 - 1]
# Few, so that there are ties; some that fit into 4 bytes by steps, some that do not.
TIMES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), st.integers(0, 3)),
    (pa.int16(), st.integers(-9, 9)),
    (pa.int64(), st.sampled_from([*EDGES, 0, 1, -(2**62)])),
    (pa.int64(), st.sampled_from([7, 7 + 2**32 - 1, 7 + 2**32])),
    (pa.float32(), st.sampled_from([float("-inf"), -0.0, 0.0, 0.5, float("inf")])),
    (pa.timestamp("s"), st.integers(-10, 10)),
    (pa.timestamp("ns", tz="UTC"), st.integers(10**18, 10**18 + 5)),
    (pa.date32(), st.integers(-40_000, 40_000)),
]


@contextmanager
def tiny(rows: int, room: int) -> Iterator[None]:
    """Make batches and tables of names so small that there are many of them and they grow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BATCH_ROWS", rows)
        patch.setattr("discreet.risk.events.UNIFIED_NAMES", room)
        yield


def same(found: Traces, expected: Traces, *, timed: bool = False) -> None:
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.events.tolist() == expected.events.tolist()
    assert found.events.dtype == expected.events.dtype == np.int32
    assert found.event_count == expected.event_count
    if not timed:
        assert found.times is None
        return
    assert found.times is not None
    assert expected.times is not None
    assert found.times.dtype == expected.times.dtype
    assert found.times.tolist() == expected.times.tolist()


def without_advice(message: str) -> str:
    """Return the message of a table in memory: readers of files can also leave rows out."""
    return message.replace("use `missing='drop'`", "filter them out")


def alike(expected: Callable[[], Traces], found: Callable[[], Traces]) -> str:
    """Compare results or refusals; return what the refusal says, if it is one."""
    try:
        traces = expected()
    except DataError as error:
        message = str(error)
    else:
        same(found(), traces)
        return ""
    assert without_advice(refused(DataError, found, SECRET, "secret")) == message
    return message


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Draw rows, mixed, grouped by user, or grouped and in order of time."""
    rows = draw(st.integers(0, 40))

    def names() -> pa.Array:
        values, dtype = draw(st.sampled_from([(TEXTS, pa.string()), (INTEGERS, pa.int64())]))
        few = draw(st.lists(values, min_size=1, max_size=8, unique=True))
        return pa.array(draw(st.lists(st.sampled_from(few), min_size=rows, max_size=rows)), dtype)

    dtype, times = draw(st.sampled_from(TIMES))
    whens = pa.array(draw(st.lists(times, min_size=rows, max_size=rows)), dtype)
    table = pa.table({"where": pa.nulls(rows), "who": names(), "when": whens, "what": names()})
    order = draw(st.sampled_from([[], ["when"], ["who"], ["who", "when"]]))
    return table.take(pa.compute.sort_indices(table, [(name, "ascending") for name in order])) if order else table


def as_parquet(table: pa.Table, path: Path, cut: int) -> None:
    pq.write_table(table, path.with_suffix(".parquet"), row_group_size=cut)


def as_arrow(table: pa.Table, path: Path, cut: int) -> None:
    with pa.ipc.new_file(str(path.with_suffix(".arrow")), table.schema) as sink:
        sink.write_table(table, max_chunksize=cut)


def in_dictionaries(table: pa.Table, path: Path, cut: int) -> None:
    """Write text as dictionaries, another one in each file, with entries that no row has."""
    for place, name in enumerate(table.column_names):
        if table[name].type == pa.string():
            column = table[name].cast(pa.large_string()).combine_chunks()
            entries = pa.concat_arrays([pa.array(["unused"], pa.large_string()), column.unique()[::-1]])
            column = pa.DictionaryArray.from_arrays(pa.compute.index_in(column, entries), entries)
            table = table.set_column(place, name, column)
    as_arrow(table, path, cut)


def spread(
    folder: Path, table: pa.Table, cuts: list[int], writers: list[Callable[[pa.Table, Path, int], None]]
) -> None:
    """Write the rows as files of a folder, in order."""
    edges = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    for place, (start, stop) in enumerate(pairwise(edges)):
        writers[place % len(writers)](table.slice(start, stop - start), folder / f"{place:03}", max(cuts[0], 1))


@settings(max_examples=50)
@given(
    tables(),
    st.lists(st.integers(0, 40), min_size=1, max_size=3),
    st.lists(st.sampled_from([as_parquet, as_arrow, in_dictionaries]), min_size=1, max_size=3),
    st.integers(1, 9),
    st.integers(1, 4),
)
def test_traces_are_those_of_the_whole_table(
    table: pa.Table, cuts: list[int], writers: list[Any], batch: int, room: int
) -> None:
    with tempfile.TemporaryDirectory() as place, tiny(batch, room):
        spread(Path(place), table, cuts, writers)
        expected = Traces.from_table(table, **COLUMNS)
        same(read_traces(place, **COLUMNS, keep_times=True), expected, timed=True)
        same(read_traces(place, **COLUMNS), expected)
        same(read_traces(place, **UNTIMED), Traces.from_table(table, **UNTIMED))


@settings(max_examples=50)
@given(tables(), st.integers(1, 9), st.booleans())
def test_a_domain_gives_its_codes(table: pa.Table, batch: int, whole: bool) -> None:
    labels = [*table["what"].unique().to_pylist()[::-1]] or ["none"]
    labels += ["another"] if isinstance(labels[0], str) and "another" not in labels else []
    domain = Domain(labels)
    with tempfile.TemporaryDirectory() as place, tiny(batch, 1):
        as_parquet(table, Path(place) / "all", len(table) + 1 if whole else 2)
        same(read_traces(place, **COLUMNS, domain=domain), Traces.from_table(table, **COLUMNS, domain=domain))


def test_times_in_a_text_file_are_what_all_of_them_look_like(tmp_path: Path) -> None:
    path, rows = tmp_path / "all.csv", 200_000
    rest = "".join(f"u,{rows - row},{row}\n" for row in range(rows))
    path.write_text("who,what,when\n" + rest + "u,x,0.5\n")
    traces = read_traces(path, **COLUMNS, keep_times=True)
    assert traces.times.dtype == np.float64
    assert traces.times[:3].tolist() == [0, 0.5, 1]
    path.write_text("who,what,when\n" + rest + "u,x,2026-01-01\n")
    assert "times.wrong-type" in refused(DataError, lambda: read_traces(path, **COLUMNS))


TABLE = pa.table(
    {
        "who": pa.array(["b", "a", "b", "c", "a", "b"]),
        "what": pa.array([5, 6, 6, 5, 7, 5]),
        "when": pa.array([3, 2, 1, 0, 2, 1]),
    }
)


def test_users_who_come_again_in_a_later_batch_are_noticed(tmp_path: Path) -> None:
    """Every order of five rows of two users, in batches of two rows."""
    for owners in product(range(2), repeat=5):
        table = pa.table({"who": owners, "what": range(5)})
        as_arrow(table, tmp_path / "all", 5)
        with tiny(2, 1):
            same(read_traces(tmp_path, **UNTIMED), Traces.from_table(table, **UNTIMED))


# What is wrong with a file


def with_column(name: str, values: Any) -> pa.Table:
    table = TABLE.slice(0, len(values))
    return table.set_column(
        table.column_names.index(name), name, pa.array(values) if isinstance(values, list) else values
    )


WRONG: list[tuple[pa.Table, dict[str, Any]]] = [
    (with_column("who", ["b", None, "c", None]), {}),
    (with_column("who", pa.DictionaryArray.from_arrays(pa.array([1, 1, 0, 1]), pa.array(["secret", None]))), {}),
    (with_column("who", [b"secret"]), {}),
    (with_column("who", pa.array([f"{SECRET}.5"]).cast(pa.decimal128(19, 1))), {}),
    (with_column("who", ["a", None, "b"]).set_column(1, "what", pa.array([1, None, None])), {}),
    (with_column("what", [SECRET, None, 3, None]), {}),
    (with_column("what", pa.nulls(3)), {}),
    (with_column("what", pa.array([1, 2**64 - 1], pa.uint64())), {}),
    (with_column("when", ["8675309", "secret"]), {}),
    (with_column("when", [3.0, None, float("nan")]), {}),
    (with_column("when", [True]), {}),
    (TABLE, {"domain": Domain([5, 6])}),
    (TABLE, {"domain": Domain(["5", "6", "7"])}),
    (with_column("what", ["a", "secret", "b"]), {"domain": Domain(["a", "b"])}),
]


@each("place", range(len(WRONG)))
def test_what_is_wrong_is_said_as_of_a_table_in_memory(place: int, tmp_path: Path) -> None:
    table, options = WRONG[place]
    path = tmp_path / "a.arrow"
    as_arrow(table, tmp_path / "a", 2)
    with tiny(1, 1):
        message = alike(
            lambda: Traces.from_table(table, **COLUMNS, **options), lambda: read_traces(path, **COLUMNS, **options)
        )
        assert message
        # Beside another file, this one is named.
        as_arrow(TABLE.slice(0, 0).cast(table.schema) if options else TABLE, tmp_path / "0", 2)
        told = refused(DataError, lambda: read_traces(tmp_path, **COLUMNS, **options), SECRET, "secret")
        assert told.startswith(str(tmp_path))
        assert without_advice(told) == f"{path}: {message}" or "different-types" in told or "column.not-text" in told


@pytest.mark.parametrize(
    ("name", "values", "told"),
    [
        ("who", [SECRET], "users are integers here and text in a.parquet"),
        ("when", [datetime.datetime(2020, 1, 1)], "times are dates here and integers in a.parquet"),
    ],
)
def test_files_of_different_kinds_do_not_go_together(name: str, values: list[Any], told: str, tmp_path: Path) -> None:
    as_parquet(TABLE, tmp_path / "a", 2)
    as_arrow(with_column(name, values), tmp_path / "b", 2)
    with pytest.raises(DataError, match=rf"b\.arrow: {told}.*trace-files.different-types"):
        read_traces(tmp_path, **COLUMNS)


# What is missing

GAPS = "who,what,when\na,x,1\n,x,2\nb,,3\na,y,\nb,y,5\nb,z,6\na,x,7\n,z,8\n"


def gaps(folder: Path) -> list[Path]:
    """The same rows, some with gaps, as CSV (empty cells), as Parquet (null), as empty text and as a dictionary."""
    path = folder / "gaps.csv"
    path.write_text(GAPS)
    table = csv.read_csv(path, convert_options=csv.ConvertOptions(strings_can_be_null=True))
    pq.write_table(table, folder / "gaps.parquet", row_group_size=2)
    empty = table.set_column(0, "who", pa.compute.fill_null(table["who"], ""))
    pq.write_table(empty, folder / "empty.parquet")
    coded = table.set_column(1, "what", table["what"].combine_chunks().dictionary_encode())
    with pa.ipc.new_file(str(folder / "coded.arrow"), coded.schema) as sink:
        sink.write_table(coded)
    return [path, folder / "gaps.parquet", folder / "empty.parquet", folder / "coded.arrow"]


@pytest.mark.parametrize("which", range(4))
def test_rows_with_gaps_are_refused_or_left_out_and_counted(which: int, tmp_path: Path) -> None:
    path = gaps(tmp_path)[which]
    line = ", line 3" if path.suffix == ".csv" else ""
    assert f"2 of 8 users are missing (first in row 1{line})" in refused(
        DataError, lambda: read_traces(path, **COLUMNS)
    )
    whole = [("a", "x", 1), ("b", "y", 5), ("b", "z", 6), ("a", "x", 7)]
    expected = Traces.of(*[[row[place] for row in whole] for place in range(3)])
    for rows in (1, 2, 100):
        with tiny(rows, 1):
            found = read_traces(path, **COLUMNS, missing="drop")
        same(found, expected)
        assert found.left_out == 4
        assert "4 rows left out" in repr(found)
    # The time is not asked for, so its gap is none.
    untimed = read_traces(path, **UNTIMED, missing="drop")
    assert (untimed.left_out, len(untimed)) == (3, 5)
    assert read_traces(path, **UNTIMED, missing="drop", domain=Domain(["x", "y", "z"])).left_out == 3


def test_floats_and_pairs_of_columns_are_events(tmp_path: Path) -> None:
    """Equal numbers are one event, pairs keep the labels of both columns, and nan is missing."""
    rows = pa.table({"who": [1, 1, 2, 2], "x": [0.5, 1.5, 0.5, float("nan")], "y": ["a", "b", "a", "b"]})
    pq.write_table(rows.slice(0, 3), tmp_path / "whole.parquet")
    pq.write_table(rows, tmp_path / "gaps.parquet")
    one = read_traces(tmp_path / "whole.parquet", user="who", event="x", keep_labels=True)
    assert (one.events.tolist(), one.labels.to_pylist()) == ([0, 1, 0], ["0.5", "1.5"])
    two = read_traces(tmp_path / "gaps.parquet", user="who", event=["y", "x"], missing="drop", keep_labels=True)
    assert [tuple(row.values()) for row in two.labels.to_pylist()] == [("a", "0.5"), ("b", "1.5")]
    assert (two.events.tolist(), two.left_out) == ([0, 1, 0], 1)
    refused(DataError, lambda: read_traces(tmp_path / "gaps.parquet", user="who", event="x"))
    refused(ParameterError, lambda: read_traces(tmp_path / "gaps.parquet", user="who", event=["x", "y", "who"]))
