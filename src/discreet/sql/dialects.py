"""SQL dialects: the few expressions that differ between databases.

All other parts of a query are SQL of 1992 and common table expressions. Templates have the places {0}, and {1} for an
index that begins with 0.
"""

from dataclasses import dataclass

_TEN = "(SELECT 0 AS d" + "".join(f" UNION ALL SELECT {digit}" for digit in range(1, 10)) + ")"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The SQL expressions of one database.

    Attributes:
        entry: an entry of a list by its index; null beyond the end of the list.
        length: the number of entries of a list.
        split: a list from the text of integers with spaces between them.
        hex: the hexadecimal text of bytes, in lower case.
        integer: the type of integers of 64 bits that may be null.
        quote: the character around names; in a name it stands twice.
        remainder: the remainder of a division of integers.
        valid_list: a list for anything in a column of lists, if the database has no type for lists.
        has_null_lists: whether a list can be null; otherwise an empty list stands for a missing one.
    """

    entry: str
    length: str
    split: str
    hex: str = "lower(hex({0}))"
    integer: str = "BIGINT"
    quote: str = '"'
    remainder: str = "({0}) % {1}"
    valid_list: str = "{0}"
    has_null_lists: bool = True

    def name(self, name: str) -> str:
        """Return a quoted name."""
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def cast(self, expression: str) -> str:
        """Return an expression as an integer of 64 bits."""
        return f"CAST({expression} AS {self.integer})"

    def whole(self, column: str) -> str:
        """Return a column of numbers as integers of 64 bits: -1 for a number with decimals, and null stays null."""
        cast = self.cast(column)
        return f"CASE WHEN {column} IS NULL THEN NULL WHEN {cast} = {column} THEN {cast} ELSE -1 END"


def numbers(count: int) -> str:
    """Return a table with a column k of the integers 0..count - 1."""
    digits = range(len(str(max(count - 1, 1))))
    value = " + ".join(f"t{place}.d * {10**place}" for place in digits)
    tables = " CROSS JOIN ".join(f"{_TEN} t{place}" for place in digits)
    return f"(SELECT k FROM (SELECT {value} AS k FROM {tables}) all_k WHERE k < {count})"


DIALECTS = {
    "duckdb": Dialect(entry="{0}[{1} + 1]", length="len({0})", split="string_split(trim({0}), ' ')"),
    "sqlite": Dialect(
        # A name in double quotes that is no column would be a text here.
        quote="`",
        entry="json_extract({0}, '$[' || ({1}) || ']')",
        length="json_array_length({0})",
        split="'[' || replace(trim({0}), ' ', ',') || ']'",
        # The hexadecimal text of null is an empty text here.
        hex="CASE WHEN {0} IS NOT NULL THEN lower(hex({0})) END",
        integer="INTEGER",
        valid_list="CASE WHEN {0} IS NULL OR json_valid({0}) THEN {0} ELSE '[]' END",
    ),
    "postgres": Dialect(
        entry="({0})[{1} + 1]",
        length="cardinality({0})",
        split="string_to_array(trim({0}), ' ')",
        hex="encode({0}, 'hex')",
    ),
    "spark": Dialect(entry="get({0}, CAST({1} AS INT))", length="size({0})", split="split(trim({0}), ' ')", quote="`"),
    "bigquery": Dialect(
        entry="{0}[SAFE_OFFSET({1})]",
        length="array_length({0})",
        split="split(trim({0}), ' ')",
        hex="to_hex({0})",
        integer="INT64",
        quote="`",
        remainder="MOD({0}, {1})",
        has_null_lists=False,
    ),
    "snowflake": Dialect(
        entry="get({0}, {1})",
        length="array_size({0})",
        split="split(trim({0}), ' ')",
        hex="lower(hex_encode({0}))",
        remainder="MOD({0}, {1})",
    ),
    "clickhouse": Dialect(
        entry="{0}[{1} + 1]",
        length="length({0})",
        split="splitByChar(' ', trim({0}))",
        integer="Nullable(Int64)",
        has_null_lists=False,
    ),
}
"""The dialects by name. Tests run queries of the first four, and only parse queries of the others."""
