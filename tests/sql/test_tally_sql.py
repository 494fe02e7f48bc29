"""The query gives the tally of the library in every database, with rows among them that no device can send."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from warehouses import Warehouse, opened

from discreet import Channel, Domain, LocalHashing, Plan, SeededRandom, Sources, Tally, tally_sql
from discreet.core.tally import GroupedTally
from discreet.engines import tally
from discreet.errors import ParameterError
from discreet.mechanisms import Mechanism
from discreet.sql.counts import read_counts
from discreet.sql.dialects import DIALECTS
from laws import BUILDERS
from programs import packaged
from refusals import refused
from running import done, refusal

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.SourceWarning")

SIZE, SENSITIVE = 12, [0, 1, 4, 6, 7, 8, 9, 11]
REGION, PEOPLE = "the région", "how many"
# Laws that differ in parameters alone take the same way through the query, but two sizes of blocks do not.
LAWS = [name for name in BUILDERS if name not in {"unary-half", "hashing-g2", "windows-w3"}]
CHANNEL = Channel(np.array([[0.6, 0.2, 0.2, 0.0], [0.2, 0.6, 0.2, 0.0], [0.2, 0.2, 0.6, 0.0]]), Domain(["a", "b", "c"]))
FORMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "by group": {"by": REGION},
    "by count": {"count": PEOPLE},
    "by count in groups": {"by": [REGION], "count": PEOPLE},
}


EVERY_FORM = {"rr", "subset"}
FORM_ON_SPARK = {"ULDP": "by count in groups", "LDP": "whole"}
"""Other laws have one form for each notion on Spark, where a query of a few rows takes a third of a second."""


@cache
def mechanism_of(law: str, notion: str) -> Mechanism:
    if law == "channel":
        return CHANNEL
    return BUILDERS[law](Domain(range(SIZE), sensitive=SENSITIVE if notion == "ULDP" else None), 1.0)


KINDS = [(law, notion) for law in LAWS for notion in ("ULDP", "LDP") if (law, notion) not in {
    ("unary-clear-bits", "LDP"), ("design-mass", "LDP")
}] + [("channel", "LDP")]  # fmt: skip


@dataclass(frozen=True)
class Made:
    """Reports of a mechanism as rows, and rows that no device can have sent."""

    mechanism: Mechanism
    rows: list[dict[str, Any]]

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of columns."""
        wide = {"bits": "bytes", "members": "list"}
        named = {column.name: wide.get(column.name, "int") for column in self.mechanism.columns}
        return {**named, REGION: "text", PEOPLE: "float"}

    def counted(self, *, region: str | None = None, by_count: bool = False) -> tuple[Tally, int]:
        """Return the library's tally of the rows, and the number of other rows."""
        rows = [row for row in self.rows if region in {None, row[REGION]}]
        if by_count:
            usable = [row for row in rows if isinstance(row[PEOPLE], int) and row[PEOPLE] >= 0]
            # A row that is no report is one row, whatever its number of people.
            good = [tally_of(self.mechanism, [row])[1] == 0 for row in usable]
            repeated = [row for row, is_good in zip(usable, good, strict=True) if is_good for _ in range(row[PEOPLE])]
            return tally_of(self.mechanism, repeated)[0], len(rows) - sum(good)
        return tally_of(self.mechanism, rows)


def tally_of(mechanism: Mechanism, rows: list[dict[str, Any]]) -> tuple[Tally, int]:
    wide = {"bits": pa.binary(), "members": pa.list_(pa.int64())}
    schema = pa.schema([(column.name, wide.get(column.name, pa.int64())) for column in mechanism.columns])
    counted = tally(mechanism, Sources(pa.Table.from_pylist(rows, schema=schema), trust_plan=True, bad_share=1.0))
    return counted.tally, sum(counted.left_out.values())


def impossible(mechanism: Mechanism, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield rows that no device can have sent, made of a block that one has sent."""
    yield {}
    for column in mechanism.block_columns:
        entry = block[column.name]
        yield {**block, column.name: None}
        if column.width is None:
            yield from ({**block, column.name: wrong} for wrong in (-1, column.bound, 1 << 40))
        elif column.name == "bits":
            yield from ({column.name: wrong} for wrong in (b"", entry[:-1], entry + b"\0", entry[:-1] + b"\xff"))
            yield {column.name: entry[:-1] + bytes([entry[-1] | 16])}
        else:
            yield from ({column.name: wrong} for wrong in ([], entry[1:], [*entry, 11], [*entry[:-1], None]))
            yield from ({column.name: wrong} for wrong in ([-1, *entry[1:]], [*entry[:-1], SIZE + 1], entry[::-1]))
    if "alpha" in block:
        yield {**block, "alpha": 0}
    if "output" in block:
        yield {"output": 3}
    if any(column.name == "clear" for column in mechanism.columns):
        yield from ({"clear": wrong} for wrong in (0, 11, -1, SIZE, 1 << 40))
        yield from ({**block, "clear": code} for code in (2, 0, SIZE))
        yield {"clear": 2}


@cache
def made(law: str, notion: str) -> Made:
    mechanism = mechanism_of(law, notion)
    generator = np.random.default_rng(len(law))
    codes = generator.integers(0, mechanism.domain.size, 60)
    reports = mechanism.obfuscate_codes(codes, random=SeededRandom(3)).to_arrow().to_pylist()
    rows = reports + list(impossible(mechanism, next(row for row in reports if row.get("clear") is None)))
    people = [0, 1, 1, 2, 5, 70, -3, None, 2.5]
    places = generator.permutation(len(rows))
    return Made(mechanism, [
        {**rows[at], REGION: ["north", "south"][at % 3 % 2], PEOPLE: people[at % len(people)]} for at in places
    ])  # fmt: skip


@pytest.fixture(scope="module", params=["duckdb", "sqlite", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
def warehouse(request: pytest.FixtureRequest) -> Iterator[Warehouse]:
    """A database with a table of reports of every mechanism."""
    with opened(request.param) as running:
        for law, notion in KINDS:
            running.load(table_of(law, notion), made(law, notion).kinds, made(law, notion).rows)
        yield running


def table_of(law: str, notion: str) -> str:
    return f"{law}_{notion}".replace("-", "_").lower()


def flawed_in(answer: pa.Table) -> int:
    return sum(row["count"] for row in answer.to_pylist() if row["part"] == "flawed")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("law", [*LAWS, "channel"])
def test_the_query_gives_the_tally(law: str, form: str, warehouse: Warehouse) -> None:
    for notion in (notion for of, notion in KINDS if of == law):
        if warehouse.dialect == "spark" and law not in EVERY_FORM and form != FORM_ON_SPARK[notion]:
            continue
        case, asked = made(law, notion), FORMS[form]
        query = tally_sql(case.mechanism, warehouse.dialect, table=table_of(law, notion), **asked)
        answer = warehouse.answer(query)
        found = read_counts(case.mechanism, answer, bad_share=1.0)
        groups = ["north", "south"] if "by" in asked else [None]
        expected = {group: case.counted(region=group, by_count="count" in asked) for group in groups}
        assert flawed_in(answer) == sum(flawed for _, flawed in expected.values())
        assert min(flawed for _, flawed in expected.values()) > 0
        by = {group if "by" in asked else (): counts for group, (counts, _) in expected.items()}
        assert dict(found) == by
        assert isinstance(found, GroupedTally)
        assert min(counts.n for counts in by.values()) > 10


@pytest.mark.parametrize("law", ["unary", "subset", "design"])
def test_columns_in_text(law: str, warehouse: Warehouse) -> None:
    case, table = made(law, "ULDP"), f"text_{table_of(law, 'ULDP')}"
    (column,) = case.mechanism.block_columns
    # A gap in a list has no text.
    rows = [row for row in case.rows if None not in (row.get("members") or [])]
    texts = [{**row, column.name: as_text(row.get(column.name))} for row in rows]
    wrong = ["zz" * (column.width or 0), "0", ""] if law == "unary" else ["", "a", "1  2", "1.5 2 3", "1,2,3", "- 1"]
    warehouse.load(table, case.kinds | {column.name: "text"}, texts + [{column.name: text} for text in wrong])
    option = {"bits": "hex"} if law == "unary" else {"lists": "text"}
    answer = warehouse.answer(tally_sql(case.mechanism, warehouse.dialect, table=table, **option))
    counted, flawed = tally_of(case.mechanism, rows)
    assert read_counts(case.mechanism, answer, bad_share=1.0)[()] == counted
    assert flawed_in(answer) == flawed + len(wrong)


def as_text(entry: Any) -> str | None:
    """Return bytes as hexadecimal text, and a list as integers with spaces between them."""
    return entry.hex().upper() if isinstance(entry, bytes) else None if entry is None else " ".join(map(str, entry))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_text_parses_in_its_dialect(dialect: str) -> None:
    packaged("sqlglot")
    import sqlglot

    for law, notion in [*KINDS[::2], KINDS[-1]]:
        mechanism = made(law, notion).mechanism
        query = tally_sql(
            mechanism, dialect, table="s.reports", by=[REGION], count=PEOPLE, upper=dialect == "snowflake"
        )
        (parsed,) = sqlglot.parse(query, read=dialect)
        assert parsed is not None
        assert [part.alias for part in parsed.expressions[-3:]] == ["count", "of_rows", "plan"]


def test_names_in_capitals() -> None:
    query = tally_sql(mechanism_of("rr", "ULDP"), "snowflake", by="region", upper=True)
    assert '"REGION" AS g0, "CLEAR" AS rc, "SYMBOL" AS r0' in query
    assert 'g0 AS "region"' in query


RR, BITS = mechanism_of("rr", "ULDP"), mechanism_of("unary", "ULDP")
WRONG: dict[str, tuple[Callable[[], str], str]] = {
    "dialect": (lambda: tally_sql(RR, "oracle"), "dialect.not-among"),
    "bits": (lambda: tally_sql(RR, "duckdb", bits="hex"), "sql.no-bits"),
    "lists": (lambda: tally_sql(BITS, "duckdb", lists="text"), "sql.no-lists"),
    "kind of bits": (lambda: tally_sql(BITS, "duckdb", bits="base64"), "bits.not-among"),
    "kind of lists": (lambda: tally_sql(mechanism_of("subset", "LDP"), "duckdb", lists="json"), "lists.not-among"),
    "group twice": (lambda: tally_sql(RR, "duckdb", by=["a", "a"]), "by.not-column-names"),
    "group of the result": (lambda: tally_sql(RR, "duckdb", by=["Count"]), "by.reserved"),
    "group of reports": (lambda: tally_sql(RR, "duckdb", by=["symbol"]), "by.reserved"),
    "group that counts": (lambda: tally_sql(RR, "duckdb", by=["n"], count="n"), "by.reserved"),
    "quote": (lambda: tally_sql(RR, "duckdb", by=['a"b']), "sql.unsafe-name"),
    "quote of Spark": (lambda: tally_sql(RR, "spark", by=["a`b"]), "sql.unsafe-name"),
    "backslash": (lambda: tally_sql(RR, "duckdb", count="a\\b"), "sql.unsafe-name"),
    "control character": (lambda: tally_sql(RR, "duckdb", by=["a\nb"]), "sql.unsafe-name"),
    "large hash functions": (
        lambda: tally_sql(LocalHashing(Domain(range(9)), 1.0, g=(1 << 32) - 20), "duckdb"),
        "sql.too-large",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_no_query_can_have_is_refused(name: str) -> None:
    attempt, code = WRONG[name]
    assert code in refused(ParameterError, attempt)


def test_every_option_of_the_command_is_read(tmp_path: Path) -> None:
    for name, mechanism in {"rr": RR, "unary": BITS, "subset": mechanism_of("subset", "ULDP")}.items():
        Plan.of(mechanism).save(tmp_path / f"{name}.toml")
    tried = {
        "rr": ["", "--from lake.reports", "--by region", "--by region --by sex", "--count people", "--upper"],
        "unary": ["", "--bits hex"],
        "subset": ["", "--lists text"],
    }
    for name, options in tried.items():
        plan = tmp_path / f"{name}.toml"
        queries = [done("sql", plan, "--dialect", "postgres", *words.split()) for words in options]
        assert len(set(queries)) == len(options)
        assert queries[0] == tally_sql(Plan.load(plan), "postgres")
    assert "sql.no-bits" in refusal("sql", tmp_path / "rr.toml", "--dialect", "duckdb", "--bits", "hex")
    assert len({done("sql", tmp_path / "subset.toml", "--dialect", dialect) for dialect in DIALECTS}) == len(DIALECTS)
