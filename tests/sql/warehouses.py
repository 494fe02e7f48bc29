"""Databases that run queries in tests: each loads a table of Python's values, and returns the rows of a query."""

import json
import sqlite3
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from postgres_server import postgres_server
from programs import packaged, program

Rows = Sequence[Mapping[str, Any]]
"""Rows by column; an entry may be missing."""


def arrow_of(kinds: Mapping[str, str], rows: Rows) -> pa.Table:
    types = {"int": pa.int64(), "float": pa.float64(), "text": pa.string(), "bytes": pa.binary()}
    schema = pa.schema([(name, types.get(kind, pa.list_(pa.int64()))) for name, kind in kinds.items()])
    return pa.Table.from_pylist(list(rows), schema=schema)


class Warehouse(ABC):
    """A database. Kinds of columns are int, float, text, bytes and list."""

    dialect: str

    @abstractmethod
    def load(self, table: str, kinds: Mapping[str, str], rows: Rows) -> None:
        """Make a table."""

    @abstractmethod
    def answer(self, query: str) -> pa.Table:
        """Return the rows of a query."""


class DuckDB(Warehouse):
    dialect = "duckdb"

    def __init__(self) -> None:
        import duckdb

        self.connection = duckdb.connect()

    def load(self, table: str, kinds: Mapping[str, str], rows: Rows) -> None:
        self.connection.register(table, arrow_of(kinds, rows))

    def answer(self, query: str) -> pa.Table:
        return self.connection.sql(query).to_arrow_table()


class Cursors(Warehouse):
    """A database behind Python's interface of cursors."""

    connection: Any
    types: Mapping[str, str]
    mark: str

    def load(self, table: str, kinds: Mapping[str, str], rows: Rows) -> None:
        columns = ", ".join(f'"{name}" {self.types[kind]}' for name, kind in kinds.items())
        self.connection.execute(f"CREATE TABLE {table} ({columns})")
        marks = ", ".join([self.mark] * len(kinds))
        entries = [tuple(self.entry(row.get(name)) for name in kinds) for row in rows]
        self.connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", entries)

    def entry(self, value: Any) -> Any:
        """Return a value in the form that the database takes."""
        return value

    def answer(self, query: str) -> pa.Table:
        cursor = self.connection.execute(query)
        names, rows = [column[0] for column in cursor.description], cursor.fetchall()
        return pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})


class SQLite(Cursors):
    dialect, mark = "sqlite", "?"
    types = {"int": "INTEGER", "float": "REAL", "text": "TEXT", "bytes": "BLOB", "list": "TEXT"}  # noqa: RUF012

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def entry(self, value: Any) -> Any:
        return json.dumps(value) if isinstance(value, list) else value


class PostgreSQL(Cursors):
    dialect, mark = "postgres", "%s"
    types = {"int": "bigint", "float": "float8", "text": "text", "bytes": "bytea", "list": "bigint[]"}  # noqa: RUF012

    def __init__(self, url: str) -> None:
        import psycopg

        self.connection = psycopg.connect(url, autocommit=True)


class Spark(Warehouse):
    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def load(self, table: str, kinds: Mapping[str, str], rows: Rows) -> None:
        self.session.createDataFrame(arrow_of(kinds, rows)).coalesce(1).createOrReplaceTempView(table)

    def answer(self, query: str) -> pa.Table:
        return self.session.sql(query).toArrow()


@contextmanager
def opened(dialect: str) -> Iterator[Warehouse]:
    """Run a database within the body."""
    if dialect == "duckdb":
        packaged("duckdb")
        yield DuckDB()
    elif dialect == "sqlite":
        yield SQLite()
    elif dialect == "postgres":
        packaged("psycopg")
        with postgres_server() as server:
            warehouse = PostgreSQL(server.url)
            yield warehouse
            warehouse.connection.close()
    else:
        yield from _spark()


def _spark() -> Iterator[Warehouse]:
    program("java")
    from discreet.spark import QUIET, session

    few = {"spark_sql_shuffle_partitions": "1", "spark_ui_enabled": "false", "spark_driver_host": "127.0.0.1"}
    few |= {"spark_sql_adaptive_enabled": "false"}
    light = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    # Queries of a few rows run once: to write and compile Java for each would take longer than they do.
    once = {"spark_sql_codegen_wholeStage": "false", "spark_sql_codegen_factoryMode": "NO_CODEGEN"}
    java = {"spark_driver_extraJavaOptions": f"{QUIET['spark_driver_extraJavaOptions']} {light}"}
    with warnings.catch_warnings(action="ignore"):
        running = session("local[1]", **QUIET | few | once | java)
    yield Spark(running)
    running.stop()
