"""Block laws in SQL: the columns of a block, the checks of a block, and the counts of a tally that a block changes.

A query has three steps: ``dc_rows`` has the columns of the table, ``dc_read`` has integers and texts, and ``dc_judged``
has a column ``ok``. Names in them: ``g0``, ``g1`` for groups, ``c`` for the value in clear, ``b0``, ``b1`` for the
parts of a block, and ``w`` for the number of reports of a row.

A block law knows nothing of SQL. Each class of laws has a function here, which `blocks_of` finds by the class; a
package with a law of its own may register one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from discreet.arrays import AnyArray
from discreet.core.reports import Column
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import IndexedLaw
from discreet.mechanisms.channel import Channel
from discreet.mechanisms.laws.bits import IndependentBits
from discreet.mechanisms.laws.hashing import HashBuckets
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import MembersLaw, MixedSubsets
from discreet.sql.dialects import Dialect, numbers

_LARGEST = 1 << 63
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """The way in which a table of a database writes the columns of reports.

    Attributes:
        dialect: the spellings of the database.
        bits: ``"bytes"`` or ``"hex"``: whether bits are bytes or hexadecimal text.
        lists: ``"list"`` or ``"text"``: whether members are a list or text such as ``1 5 9``.
        upper: whether names of columns are written in capitals.
    """

    dialect: Dialect
    bits: str = "bytes"
    lists: str = "list"
    upper: bool = False

    def name(self, name: str) -> str:
        """Return the quoted name of a column of the table."""
        return self.dialect.name(name.upper() if self.upper else name)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSql:
    """The SQL expressions that read, check and count the blocks of a law.

    Attributes:
        read: the parts ``b0``, ``b1``, ... of a block as integers or text, from columns ``r0``, ``r1``, ...
        present: for each part, the condition that it is there.
        valid: the conditions on a block that a device can send.
        places: a function that returns a table of ``place`` and ``w``, from the leading columns and the rows that have
            a block. A row may have several places.
        is_few: whether few different blocks are possible, so that equal rows are grouped first.
    """

    read: Sequence[str]
    present: Sequence[str]
    valid: Sequence[str]
    places: Callable[[str, str], str]
    is_few: bool = False


def within(name: str, codes: AnyArray) -> str:
    """Return the condition that an integer is one of these ascending codes, as ranges."""
    ends = np.flatnonzero(np.diff(codes) != 1)
    starts, stops = codes[[0, *(ends + 1)]].tolist(), codes[[*ends, -1]].tolist()
    return " OR ".join(f"{name} BETWEEN {low} AND {high}" for low, high in zip(starts, stops, strict=True))


@singledispatch
def blocks_of(law: Any, columns: Sequence[Column], spelling: Spelling) -> BlockSql:
    """Return the SQL expressions for the blocks of a law.

    Args:
        law: a block law, or a channel.
        columns: the columns of a block.
        spelling: how the columns are written.

    Raises:
        ParameterError: if the law has no form in SQL.
    """
    del columns, spelling
    raise ParameterError("sql.unknown-law", kind=type(law).__name__)


@blocks_of.register(IndexedLaw)
@blocks_of.register(Singletons)
def _of_index(_: Any, columns: Sequence[Column], spelling: Spelling) -> BlockSql:
    return _of_numbers(columns, spelling, "b0")


@blocks_of.register
def _of_channel(law: Channel, columns: Sequence[Column], spelling: Spelling) -> BlockSql:
    possible = np.flatnonzero(law.matrix.max(axis=0))
    return _of_numbers(columns, spelling, "b0", [f"({within('b0', possible)})"])


def _of_numbers(
    columns: Sequence[Column], spelling: Spelling, place: str, more: Iterable[str] = (), *, is_few: bool = True
) -> BlockSql:
    """Return the expressions for blocks of numbers that change one count of a tally, with the index ``place``."""
    parts = range(len(columns))
    return BlockSql(
        read=[spelling.dialect.whole(f"r{part}") for part in parts],
        present=[f"b{part} IS NOT NULL" for part in parts],
        valid=[*(f"b{part} BETWEEN 0 AND {(columns[part].bound or 0) - 1}" for part in parts), *more],
        places=lambda keys, rows: f"SELECT {keys}{place} AS place, w FROM {rows}",
        is_few=is_few,
    )


@blocks_of.register
def _of_hashing(law: HashBuckets, columns: Sequence[Column], spelling: Spelling) -> BlockSql:
    prime, buckets = law.prime, law.buckets
    if prime * prime >= _LARGEST:
        raise ParameterError("sql.too-large", prime=prime)
    number = f"(b2 + {buckets} * k)"
    member = spelling.dialect.remainder.format(f"b0 * {number} + b1", prime)
    steps = numbers(-(-prime // buckets))

    def places(keys: str, rows: str) -> str:
        inside = f"SELECT {keys}{member} AS place, w FROM (SELECT * FROM {rows}) every_row CROSS JOIN {steps} steps"
        return f"SELECT * FROM ({inside} WHERE {number} < {prime}) every_member WHERE place < {law.size}"

    plain = _of_numbers(columns, spelling, "", ["b0 > 0"])
    return BlockSql(read=plain.read, present=plain.present, valid=plain.valid, places=places)


@blocks_of.register
def _of_bits(law: IndependentBits, columns: Sequence[Column], spelling: Spelling) -> BlockSql:
    width, last = columns[0].width or 0, law.size % 8
    digits = [f"substr(b0, {2 * width - 1}, 1)", f"substr(b0, {2 * width}, 1)"]
    # Of the last byte, the first digit has the bits of its upper half.
    free = [max(last - 4, 0), min(last, 4)] if last else [4, 4]
    some = [(digit, bits) for digit, bits in zip(digits, free, strict=True) if bits < 4]
    valid = [f"length(b0) = {2 * width}", *(f"{digit} IN ({_quoted(_DIGITS[: 1 << bits])})" for digit, bits in some)]
    text = "lower(r0)" if spelling.bits == "hex" else spelling.dialect.hex.format("r0")
    valid += [_only("b0", _DIGITS)] if spelling.bits == "hex" else []
    set_bits = " UNION ALL ".join(
        f"SELECT '{_DIGITS[digit]}' AS digit, {bit} AS bit"
        for digit in range(16)
        for bit in range(4)
        if digit >> bit & 1
    )

    def places(keys: str, rows: str) -> str:
        # Pairs of digits are grouped by their place before their bits are listed.
        pairs = f"SELECT {keys}k, substr(b0, 2 * k + 1, 2) AS pair, w FROM (SELECT * FROM {rows}) every_row "
        pairs += f"CROSS JOIN {numbers(width)} every_byte"
        grouped = f"SELECT {keys}k, pair, SUM(w) AS w FROM ({pairs}) every_pair GROUP BY {keys}k, pair"
        return (
            f"SELECT {keys}8 * k + bit + 4 - 4 * half AS place, w FROM ({grouped}) pairs "
            f"CROSS JOIN (SELECT 0 AS half UNION ALL SELECT 1) halves "
            f"JOIN ({set_bits}) set_bits ON set_bits.digit = substr(pair, half + 1, 1)"
        )

    return BlockSql(read=[text], present=["b0 IS NOT NULL"], valid=valid, places=places)


def _only(text: str, characters: str) -> str:
    """Return the condition that a text has no other characters than these."""
    for character in characters:
        text = f"replace({text}, '{character}', '')"
    return f"length({text}) = 0"


def _quoted(digits: str) -> str:
    return ", ".join(f"'{digit}'" for digit in digits)


@blocks_of.register
def _of_members(law: MembersLaw, columns: Sequence[Column], spelling: Spelling) -> BlockSql:
    dialect, width, bound = spelling.dialect, columns[0].width or 0, columns[0].bound
    is_text = spelling.lists == "text"
    read = "r0"
    if is_text:
        # Any other text becomes a list that no device can send, before a cast could fail.
        whole = f"{_only('r0', _DIGITS[:10] + ' ')} AND replace(r0, '  ', '') = r0 AND length(trim(r0)) > 0"
        read = dialect.split.format(f"CASE WHEN r0 IS NULL OR ({whole}) THEN r0 ELSE '-1' END")
    listed = [dialect.entry.format("b0", place) for place in range(width)]
    entries = [dialect.cast(entry) for entry in listed] if is_text else listed
    valid = [f"{dialect.length.format('b0')} = {width}", f"{entries[0]} >= 0", f"{entries[-1]} < {bound}"]
    valid += [f"{entries[place - 1]} < {entries[place]}" for place in range(1, width)]
    valid += [] if is_text else [f"{dialect.cast(entry)} = {entry}" for entry in listed]
    member, size = dialect.cast(dialect.entry.format("b0", "k")), law.size
    # Blocks of the smaller size have v in their last place, and are counted before the larger ones.
    place = "place"
    if isinstance(law, MixedSubsets):
        place = f"CASE WHEN {dialect.cast(listed[-1])} < {size} THEN place + {size} ELSE place END"

    def places(keys: str, rows: str) -> str:
        inside = f"SELECT {keys}b0, {member} AS place, w FROM (SELECT * FROM {rows}) every_row "
        inside += f"CROSS JOIN {numbers(width)} steps"
        return f"SELECT {keys}{place} AS place, w FROM ({inside}) every_member WHERE place < {size}"

    present = "b0 IS NOT NULL" if dialect.has_null_lists else f"{dialect.length.format('b0')} > 0"
    return BlockSql(read=[dialect.valid_list.format(f"({read})")], present=[present], valid=valid, places=places)
