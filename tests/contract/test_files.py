"""The contract of files: every kind, whatever became of its bytes, gives the right answer or one sentence.

A file with checksums never gives another answer. A file without them may, but only one that people could have sent.
"""

import gzip
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from damage import MECHANISM, bare_bytes, written
from discreet import Domain, SeededRandom, Sources, read_reports, write_reports
from discreet.engines import gather, tally
from discreet.errors import DataError
from discreet.formats.sealed_files import write_sealed
from discreet.formats.tallies import read_tally, write_tally
from discreet.mechanisms import BlockMechanism
from discreet.risk.events import read_traces
from discreet.tables.values import read_values
from laws import BUILDERS
from packing import each
from refusals import refused

pytestmark = pytest.mark.filterwarnings("ignore:.* is not in UTF-8:UserWarning")
HARMED, SECTOR, SECRET = 112, 512, "zanzibar"
Harm = Callable[[bytearray, np.random.Generator], bytearray]


@dataclass(frozen=True)
class Kind:
    """A kind of file: how it is written, what is read of it, and what an answer must be.

    Attributes:
        name: of the file.
        write: writes a sound one.
        read: returns what the file says.
        fits: returns whether an answer is allowed; where it is None, only the answer of the sound file is.
    """

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], Any]
    fits: Callable[[Any], bool] | None = None


def counted(path: Path) -> Any:
    return tally(MECHANISM, path, threads=1).tally


def tallied(path: Path) -> None:
    write_tally(path, written(path.with_name("reports.parquet"))[1])


def sealed(path: Path) -> None:
    written(path.with_name("reports.parquet"))
    write_sealed(path, MECHANISM, read_reports(path.with_name("reports.parquet"), MECHANISM), name="monday")


PEOPLE = pa.table({"who": [f"{SECRET} {row % 7}" for row in range(300)], "what": ["a", "b", "c"] * 100})


def as_text(path: Path) -> None:
    rows = "".join(f"{who},{what}\n" for who, what in zip(*PEOPLE.to_pydict().values(), strict=True))
    text = f"who,what\n{rows}".encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def valued(path: Path) -> Any:
    return read_values(path, Domain(["a", "b", "c"]), "what").to_pylist()


def traced(path: Path) -> Any:
    return len(read_traces(path, user="who", event="what"))


def anything(_: Any) -> bool:
    return True


def bare(builder: str, suffix: str) -> Kind:
    """Return the kind of a file of reports without checksums, as other programs write it."""
    mechanism: BlockMechanism = BUILDERS[builder](Domain(range(9), sensitive=[0, 3, 4, 7]), 1.0)
    reports = mechanism.obfuscate_codes(np.arange(40) % 9, random=SeededRandom(1))

    def write(path: Path) -> None:
        write_reports(path, mechanism, [reports.part(0, 25), reports.part(25, 40)])
        if suffix in ("parquet", "arrow"):
            path.write_bytes(bare_bytes(path))

    def read(path: Path) -> Any:
        # What is left out must not hide a length that leads out of the file.
        assert tally(mechanism, Sources(path, bad_share=1.0)).tally.n <= 2 * reports.n
        return read_reports(path, mechanism)

    def could_be_sent(found: Any) -> bool:
        mechanism.tally(found)
        in_clear = mechanism.domain.sensitive[found.clear.astype(np.int64)]
        return found.n <= 2 * reports.n and not in_clear.any() and not mechanism.flaws(found.blocks).any()

    return Kind(f"{builder}.{suffix}", write, read, could_be_sent)


LAWS = ("rr", "unary", "unary-clear-bits", "subset-k2", "hashing", "hadamard")
KINDS = [
    *(Kind(f"r.{suffix}", written, counted) for suffix in ("parquet", "arrow", "jsonl.gz")),
    Kind("gathered.jsonl.gz", written, lambda path: gather(MECHANISM, path)[0].n),
    *(Kind(f"t.tally.{suffix}", tallied, lambda path: read_tally(path, MECHANISM)) for suffix in ("parquet", "arrow")),
    Kind("sealed.parquet", sealed, counted),
    *(bare(builder, suffix) for builder in LAWS for suffix in ("parquet", "arrow", "jsonl")),
    Kind("v.csv.gz", as_text, valued),
    *(Kind(f"{name}.csv", as_text, read, anything) for name, read in (("v", valued), ("e", traced))),
    *(
        Kind(f"{name}.parquet", lambda path: pq.write_table(PEOPLE, path), read, anything)
        for name, read in (("v", valued), ("e", traced))
    ),
    *(
        Kind(
            f"{name}.arrow",
            lambda path: feather.write_feather(PEOPLE, path, compression="uncompressed"),
            read,
            anything,
        )
        for name, read in (("v", valued), ("e", traced))
    ),
]
every = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def flip(whole: bytearray, random: np.random.Generator) -> bytearray:
    whole[random.integers(len(whole))] ^= 1 << random.integers(8)
    return whole


def spell(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Put a number that often breaks readers into some place."""
    place, number = random.integers(len(whole) - 8), random.choice([0, 41, 127, 255, 2**31, 2**62, -1])
    whole[place : place + 8] = struct.pack("<q", int(number))
    return whole


def blank(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Lose a sector of the disk."""
    start = SECTOR * random.integers(-(-len(whole) // SECTOR))
    whole[start : start + SECTOR] = bytes(len(whole[start : start + SECTOR]))
    return whole


def cut(whole: bytearray, random: np.random.Generator) -> bytearray:
    return whole[: random.integers(len(whole))]


def lose(whole: bytearray, random: np.random.Generator) -> bytearray:
    start, stop = sorted(random.integers(len(whole), size=2))
    return whole[:start] + whole[stop + 1 :]


def repeat(whole: bytearray, random: np.random.Generator) -> bytearray:
    start, stop = sorted(random.integers(len(whole), size=2))
    return whole[: stop + 1] + whole[start:]


def swap(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Let two stretches of one length change places."""
    length = int(random.integers(1, len(whole) // 3))
    first = int(random.integers(len(whole) - 2 * length))
    second = int(random.integers(first + length, len(whole) - length + 1))
    one, other = whole[first : first + length], whole[second : second + length]
    whole[first : first + length], whole[second : second + length] = other, one
    return whole


def at_the_end(whole: bytearray, random: np.random.Generator) -> bytearray:
    """Change one byte of what says where everything lies."""
    place = len(whole) - int(random.integers(1, min(700, len(whole))))
    whole[place] = (whole[place] + int(random.integers(1, 256))) % 256
    return whole


HARMS: tuple[Harm, ...] = (flip, spell, blank, cut, lose, repeat, swap, at_the_end)


def outcome(kind: Kind, path: Path, right: Any) -> str:
    """Return whether a file is refused, in one sentence that names it, or says what it said or what it may say."""
    try:
        found = kind.read(path)
    except DataError as error:
        return f"other: {error}" if SECRET in str(error) else "refused"
    if kind.fits is None:
        return "same" if np.all(found == right) else "other"
    return "same" if kind.fits(found) else "other"


@every
def test_harmed_files_give_the_right_answer_or_none(kind: Kind, tmp_path: Path) -> None:
    path, random, found = tmp_path / kind.name, np.random.default_rng(3), Counter[str]()
    kind.write(path)
    whole, right = path.read_bytes(), kind.read(path)
    for number in range(HARMED):
        harm = HARMS[number % len(HARMS)]
        harmed = bytes(harm(bytearray(whole), random))
        path.write_bytes(harmed)
        found[f"{outcome(kind, path, right)} {'' if harmed == whole else harm.__name__}"] += 1
    assert not {name for name in found if name.startswith("other")}
    refusals = sum(count for name, count in found.items() if name.startswith("refused"))
    assert refusals > (0.9 if kind.fits is None else 0 if kind.fits is anything else 0.2) * HARMED


@every
def test_a_file_that_ends_early_is_refused_or_ends_behind_a_whole_row(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / kind.name
    kind.write(path)
    whole, right, taken = path.read_bytes(), kind.read(path), 0
    for end in range(0, len(whole) - 1, max(1, len(whole) // 60)):
        path.write_bytes(whole[:end])
        taken += outcome(kind, path, right) != "refused"
    assert taken == 0 or kind.name.endswith((".jsonl", ".csv"))


@each("content", [b"", b"\0" * 100, b"PAR1PAR1", b"ARROW1\0\0ARROW1", b"\xff\xfe{}", b"no\n1\n"])
@each("kind", KINDS)
def test_files_of_something_else_and_files_that_are_not_there_are_refused(
    kind: Kind, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / kind.name
    assert refused(DataError, lambda: kind.read(path)).startswith(f"{path} does not exist.")
    path.write_bytes(content)
    if content or kind.name.endswith((".parquet", ".arrow", ".gz")):
        refused(DataError, lambda: kind.read(path))
