"""The query that counts reports in a warehouse, in the SQL of its database.

No library writes the SQL. The parts that differ between databases are seven expressions (`discreet.sql.dialects`).
SQLGlot, when it was tried, translated a third of the queries wrongly, some of them without an error.
"""

from collections.abc import Sequence

from discreet import __version__
from discreet.core.checks import are_names, checked_choice
from discreet.core.reports import CLEAR, COUNTS
from discreet.errors import ParameterError
from discreet.formats.plan import Plan
from discreet.mechanisms import Mechanism
from discreet.mechanisms.personalized import common_of
from discreet.mechanisms.report_tables import is_bits
from discreet.sql.blocks import BlockSql, Spelling, blocks_of, within
from discreet.sql.dialects import DIALECTS

_BITS, _LISTS = ("bytes", "hex"), ("list", "text")
_TO_READ = "-- Save the whole result with its header. Then: discreet estimate PLAN RESULT.csv"


def tally_sql(
    mechanism: Mechanism | Plan,
    dialect: str,
    *,
    table: str = "reports",
    by: str | Sequence[str] = (),
    count: str | None = None,
    bits: str = "bytes",
    lists: str = "list",
    upper: bool = False,
) -> str:
    """Return a SELECT that counts the reports in a table of a warehouse. `discreet.estimate` reads its result.

    The counts are equal to the counts of `Mechanism.tally`. Rows that no device can have sent are counted separately.
    The result has the columns of groups, and part, place, count, of_rows and plan, one row for each count.

    Args:
        mechanism: the mechanism that made the reports, or its plan.
        dialect: one of `DIALECTS`, such as ``"duckdb"``.
        table: the table of reports, as it is written in SQL after FROM.
        by: the names of public columns, to count each group.
        count: the column with the number of reports of each row; None for one report in each row.
        bits: ``"bytes"``, or ``"hex"`` if bits are hexadecimal text.
        lists: ``"list"``, or ``"text"`` if members are text such as ``1 5 9``.
        upper: whether the columns of the table have names in capitals.

    Raises:
        ParameterError: if the dialect is unknown, a name cannot be written in SQL or has a meaning in the result, an
            option has no effect for this mechanism, or its block law has no form in SQL.

    Example:
        >>> import discreet as dc, sqlite3
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
        >>> database = sqlite3.connect(":memory:")
        >>> _ = database.execute("CREATE TABLE reports (symbol INTEGER)")
        >>> _ = database.executemany("INSERT INTO reports VALUES (?)", [[0], [0], [1], [7]])
        >>> [row[:3] for row in database.execute(dc.tally_sql(mechanism, "sqlite"))]
        [('block', 0, 2), ('block', 1, 1), ('flawed', 0, 1), ('n', 0, 3)]
    """
    maker = common_of(mechanism.mechanism() if isinstance(mechanism, Plan) else mechanism)
    columns = maker.block_columns
    spelling = Spelling(
        dialect=DIALECTS[checked_choice("dialect", dialect, DIALECTS)],
        bits=checked_choice("bits", bits, _BITS),
        lists=checked_choice("lists", lists, _LISTS),
        upper=upper,
    )
    if bits != _BITS[0] and not is_bits(columns[0]):
        raise ParameterError("sql.no-bits", argument="bits")
    if lists != _LISTS[0] and (columns[0].width is None or is_bits(columns[0])):
        raise ParameterError("sql.no-lists", argument="lists")
    groups = _checked_groups((by,) if isinstance(by, str) else tuple(by), maker, count)
    blocks = blocks_of(getattr(maker, "law", maker), columns, spelling)
    keys = "".join(f"g{place}, " for place in range(len(groups)))
    judged = _judged(maker, blocks, spelling, (table, groups, count))
    parts = _parts(maker, blocks, keys, count)
    named = "".join(f"g{place} AS {spelling.dialect.name(name)}, " for place, name in enumerate(groups))
    order = ", ".join(str(place + 1) for place in range(len(groups) + 2))
    total, plan = spelling.dialect.cast("n"), spelling.dialect.name("plan")
    return (
        f"-- Counts of reports of plan {maker.fingerprint[:12]} in {dialect}, by discreet {__version__}.\n{_TO_READ}\n"
        f"WITH {judged},\ndc_counted AS (\n  " + "\n  UNION ALL\n  ".join(parts) + "\n)\n"
        f"SELECT {named}part, place, {total} AS {spelling.dialect.name('count')}, COUNT(*) OVER () AS of_rows, "
        f"'{maker.fingerprint}' AS {plan}\nFROM dc_counted\nORDER BY {order}\n"
    )


def _checked_groups(by: tuple[str, ...], maker: Mechanism, count: str | None) -> tuple[str, ...]:
    """Return the names of groups, or raise an error for names that no query can have."""
    if not are_names(by):
        raise ParameterError("by.not-column-names", argument="by")
    reserved = COUNTS | {column.name for column in maker.columns}
    for name in by:
        if name.lower() in reserved or name == count:
            raise ParameterError("by.reserved", argument="by", name=name)
    for name in (*by, *filter(None, [count])):
        if not name.isprintable() or {*name} & {'"', "`", "'", "\\"}:
            raise ParameterError("sql.unsafe-name", name=name)
    return by


def _judged(
    maker: Mechanism, blocks: BlockSql, spelling: Spelling, source: tuple[str, Sequence[str], str | None]
) -> str:
    """Return the first steps of the query: read rows, convert their columns, and mark the valid reports."""
    dialect, (table, groups, count) = spelling.dialect, source
    has_clear = any(column.name == CLEAR for column in maker.columns)
    names = [f"g{place}" for place in range(len(groups))]
    raw = {f"g{place}": spelling.name(name) for place, name in enumerate(groups)}
    raw |= {"rc": spelling.name(CLEAR)} if has_clear else {}
    raw |= {f"r{place}": spelling.name(column.name) for place, column in enumerate(maker.block_columns)}
    number = {} if count is None else {"rw": spelling.name(count)}
    rows = f"SELECT {', '.join(f'{part} AS {name}' for name, part in (raw | number).items())} FROM {table}"
    if blocks.is_few and count is None:
        # Few different rows: they are grouped before they are checked, which takes half the time.
        rows = f"SELECT {', '.join(raw)}, COUNT(*) AS w FROM ({rows}) every_row GROUP BY {', '.join(raw)}"
    weight = "w" if blocks.is_few and count is None else "1 AS w"
    read = [*names, *([f"{dialect.whole('rc')} AS c"] if has_clear else [])]
    read += [f"{part} AS b{place}" for place, part in enumerate(blocks.read)]
    read += [weight if count is None else f"{dialect.whole('rw')} AS w"]
    fits = _fits(maker, blocks, has_clear=has_clear)
    fits = fits if count is None else f"w >= 0 AND ({fits})"
    return (
        f"dc_rows AS (\n  {rows}\n),\ndc_read AS (\n  SELECT {', '.join(read)} FROM dc_rows\n),\n"
        f"dc_judged AS (\n  SELECT dc_read.*, CASE WHEN {fits} THEN 1 ELSE 0 END AS ok FROM dc_read\n)"
    )


def _fits(maker: Mechanism, blocks: BlockSql, *, has_clear: bool) -> str:
    """Return the condition that a device can have sent a row: the rules of `discreet.mechanisms.row_checks`."""
    block = " AND ".join([*blocks.present, *blocks.valid])
    if not has_clear:
        return block
    in_clear = within("c", maker.domain.clear_codes)
    if maker.clear_blocks:
        return f"{block} AND (c IS NULL OR {in_clear})"
    absent = " AND ".join(f"NOT ({part})" for part in blocks.present)
    return f"(c IS NULL AND {block}) OR (({in_clear}) AND {absent})"


def _parts(maker: Mechanism, blocks: BlockSql, keys: str, count: str | None) -> list[str]:
    """Return the parts of the result: reports and other rows, values in clear, and blocks."""
    # With a column of counts, the number of a row that is no report may be missing. Such rows are counted as rows.
    weights = {"n": "WHEN ok = 1 THEN w ELSE 0", "flawed": f"WHEN ok = 1 THEN 0 ELSE {'w' if count is None else '1'}"}
    grouped = f" GROUP BY {keys.removesuffix(', ')}" if keys else ""
    parts = [
        f"SELECT {keys}'{part}' AS part, 0 AS place, COALESCE(SUM(CASE {weight} END), 0) AS n FROM dc_judged{grouped}"
        for part, weight in weights.items()
    ]
    places = {"block": blocks.places(keys, f"dc_judged WHERE ok = 1 AND {' AND '.join(blocks.present)}")}
    if maker.tally_sizes[1]:
        places["clear"] = f"SELECT {keys}c AS place, w FROM dc_judged WHERE ok = 1 AND c IS NOT NULL"
    return parts + [
        f"SELECT {keys}'{part}' AS part, place, SUM(w) AS n FROM ({rows}) {part}_places GROUP BY {keys}place"
        for part, rows in places.items()
    ]
