"""The contract of files: every kind, whatever became of the file, gives the right answer or one sentence.

A file with checksums never gives another answer. A file without them may, but only one that people could have sent.
"""

import gzip
import os
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from damage import BATCHES, EACH, MECHANISM, bare_bytes, written
from discreet import Domain, Plan, Reports, SeededRandom, Sources, read_reports, write_reports
from discreet.device.protocol.collection import open_envelope
from discreet.engines import LocalEngine, TallyFold, tally
from discreet.errors import DataError, DiscreetError, MismatchError
from discreet.formats.reports import iterate_reports, read_public
from discreet.formats.scanned import part_of_ticket
from discreet.formats.tallies import read_tally, write_tally
from discreet.mechanisms import BlockMechanism
from discreet.risk.events import read_traces
from discreet.tables.scan import scan
from discreet.tables.text import Cells
from discreet.tables.text import Kind as Cell
from discreet.tables.values import read_values
from laws import BUILDERS
from object_store import behind_urls
from packing import each
from refusals import refused
from reports_beside import write_beside, write_sealed
from signed import PLAIN, TRUST, envelope, plan_of
from table_files import save_table

pytestmark = pytest.mark.filterwarnings("ignore:.* is not in UTF-8:UserWarning")
HARMED, SECTOR, SECRET = 64, 512, "zanzibar"
STRANGER = type(MECHANISM)(MECHANISM.domain, 3.0)
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
    read: Callable[[Any], Any]
    fits: Callable[[Any], bool] | None = None


def counted(path: Path) -> Any:
    return tally(MECHANISM, path, threads=1).tally


def tallied(path: Path) -> None:
    write_tally(path, written(path.with_name("reports.parquet"))[1])


def made(path: Path) -> Reports:
    """Return the reports of such a file."""
    written(path.with_name("reports.parquet"))
    return read_reports(path.with_name("reports.parquet"), MECHANISM)


def kept(path: Path) -> None:
    reports = made(path)
    beside = pa.table({"mark": [f"{row:04}-landmark" for row in range(reports.n)]})
    write_beside(path, MECHANISM, [(reports, beside)], beside.schema)


def landmarks(path: Path) -> Any:
    return read_public(MECHANISM, path, ["mark"])[1]


def sealed(path: Path) -> None:
    write_sealed(path, MECHANISM, made(path), name="monday")


PEOPLE = pa.table({"who": [f"{SECRET} {row % 7}" for row in range(300)], "what": ["a", "b", "c"] * 100})


def valued(path: Path) -> Any:
    return read_values(path, Domain(["a", "b", "c"]), "what").to_pylist()


def traced(path: Path) -> Any:
    return len(read_traces(path, user="who", event="what"))


def planned(path: Path) -> None:
    plan_of(PLAIN).save(path)


def fingerprint(path: Path) -> str:
    return Plan.load(path).fingerprint


def signed(path: Path) -> Any:
    return open_envelope(path.read_bytes(), TRUST).fingerprint


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

    def read(path: Any) -> Any:
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
    Kind("r.jsonl", written, counted, lambda found: found.n <= 2 * BATCHES * EACH),
    Kind("gathered.jsonl.gz", written, lambda path: LocalEngine().evidence(MECHANISM, path)[0].n),
    *(Kind(f"t.tally.{suffix}", tallied, lambda path: read_tally(path, MECHANISM)) for suffix in ("parquet", "arrow")),
    Kind("sealed.parquet", sealed, counted),
    *(Kind(f"kept.{suffix}", kept, landmarks) for suffix in ("parquet", "arrow")),
    *(Kind(f"plan.{suffix}", planned, fingerprint, anything) for suffix in ("toml", "json")),
    *(bare(builder, suffix) for builder in LAWS for suffix in ("parquet", "arrow", "jsonl")),
    Kind("v.csv.gz", lambda path: save_table(path, PEOPLE), valued),
    *(
        Kind(f"{name}.{suffix}", lambda path: save_table(path, PEOPLE), read, anything)
        for suffix in ("csv", "jsonl", "parquet", "arrow")
        for name, read in (("v", valued), ("e", traced))
    ),
]
SIGNED = Kind("signed.json", lambda path: path.write_bytes(envelope()), signed)
every = pytest.mark.parametrize("kind", [*KINDS, SIGNED], ids=lambda kind: kind.name)


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


def same(found: Any, right: Any) -> bool:
    """Return whether two answers are equal, reports row for row."""
    is_table = isinstance(found, Reports | pa.Table)
    return pa.table(found) == pa.table(right) if is_table else bool(np.all(found == right))


def outcome(kind: Kind, path: Path, right: Any) -> str:
    """Return whether a file is refused, in one sentence that names it, or says what it said or what it may say."""
    try:
        found = kind.read(path)
    except DiscreetError as error:
        return f"other: {error}" if SECRET in str(error) else "refused"
    if kind.fits is None:
        return "same" if same(found, right) else "other"
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
    for end in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        path.write_bytes(whole[:end])
        taken += outcome(kind, path, right) != "refused"
    assert taken == 0 or kind.name.endswith((".jsonl", ".csv", ".toml"))


CONTENTS = [b"", b"\0" * 100, b"PAR1PAR1", b"ARROW1\0\0ARROW1", b"\xff\xfe{}", b"no\n1\n", b"[" * 100_000]


@each("content", CONTENTS)
@each("kind", KINDS)
def test_files_of_something_else_and_files_that_are_not_there_are_refused(
    kind: Kind, content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / kind.name
    assert " does not exist. [" in refused(DiscreetError, lambda: kind.read(path))
    path.write_bytes(content)
    if content or not kind.name.endswith((".jsonl", ".csv")):
        refused(DiscreetError, lambda: kind.read(path))


@each("kind", [kind for kind in KINDS if not kind.name.startswith("plan")])
def test_files_at_urls_are_those_of_this_machine(kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, put = tmp_path / kind.name, behind_urls(tmp_path, monkeypatch)
    kind.write(path)
    assert same(kind.read(put(path, kind.name)), kind.read(path))


@each("kind", [kind for kind in KINDS if kind.name.endswith((".csv", ".jsonl"))])
def test_compressed_text_is_what_it_was(kind: Kind, tmp_path: Path) -> None:
    path, packed = tmp_path / kind.name, tmp_path / f"packed-{kind.name}.gz"
    kind.write(path)
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert same(kind.read(packed), kind.read(path))


@each("kind", [kind for kind in KINDS if kind.read is counted or "tally" in kind.name])
def test_files_of_another_plan_are_refused(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / kind.name
    kind.write(path)
    read = read_tally if "tally" in kind.name else read_reports
    refused(MismatchError, lambda: read(path, STRANGER))


# Files that change between the check and the reading


def replace(path: Path) -> None:
    """Put a file of another plan, with the same columns, in the place of a file."""
    path.rename(path.with_name(f"old-{path.name}"))
    write_reports(path, STRANGER, STRANGER.obfuscate_codes(np.arange(100), random=SeededRandom(1)))


def append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + path.read_bytes()[-20:])


def touch(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def folded(path: Path) -> Callable[[], Any]:
    sources = Sources(path).scan(MECHANISM)
    return lambda: LocalEngine(threads=1).fold(TallyFold(MECHANISM), sources)


def begun(path: Path) -> Callable[[], Any]:
    batches = iterate_reports(path, MECHANISM, batch=10)
    next(batches)
    return lambda: list(batches)


def on_another_machine(path: Path) -> Callable[[], Any]:
    (part,) = Sources(path).scan(MECHANISM).parts
    ticket = part.ticket
    return lambda: part_of_ticket(MECHANISM, ticket)


def scanned(path: Path) -> Callable[[], Any]:
    asked = {"what": Cells(Cell.TEXT)}
    found = scan(path, lambda _: asked, list(asked))
    assert found.rows == PEOPLE.num_rows
    return lambda: list(found.batches(["what"]))


REPORTS = ["r.parquet", "r.arrow", "r.jsonl", "r.jsonl.gz"]
CHANGES: list[Callable[[Path], Any]] = [append, touch, Path.unlink]
CHECKS: list[Any] = [*product((folded, begun), REPORTS, [*CHANGES, replace])]
# Times may differ between machines: there the bytes decide.
CHECKS += product([on_another_machine], REPORTS, [append, Path.unlink, replace])
CHECKS += product([scanned], ["e.parquet", "e.arrow", "e.csv"], CHANGES)


@each("check, name, change", CHECKS)
def test_a_file_that_changes_after_the_check_is_refused(
    check: Callable[[Path], Callable[[], Any]], name: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / name
    next(kind for kind in KINDS if kind.name == name).write(path)
    read_on = check(path)
    change(path)
    refused(DataError, read_on)
