"""Files of reports, and what may become of their bytes."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from discreet import Domain, RandomizedResponse, SeededRandom, Tally, write_reports
from discreet.engines import tally
from discreet.errors import DataError
from discreet.files.stored import footer_of, read_checksums

MECHANISM = RandomizedResponse(Domain(range(100), sensitive=list(range(50))), 1.0)
EACH, BATCHES = 700, 3
CHECKED = ["parquet", "arrow"]


def written(path: Path, seed: int = 0) -> tuple[bytes, Tally]:
    """Write a file of three row groups or batches; return its bytes and its tally."""
    codes = np.arange(EACH) % 100
    reports = [MECHANISM.obfuscate_codes(codes, random=SeededRandom(seed + batch)) for batch in range(BATCHES)]
    write_reports(path, MECHANISM, reports, force=True)
    return path.read_bytes(), sum((MECHANISM.tally(each) for each in reports), start=MECHANISM.empty_tally())


def bare_bytes(path: Path) -> bytes:
    """Return a file's bytes as a writer without checksums would have left them."""
    with path.open("rb") as file:
        checksums, _ = read_checksums(file)
        _, footer = footer_of(file)
        file.seek(0)
        assert checksums is not None
        return file.read(checksums.ends[-1]) + footer


def flipped(whole: bytes, bit: int) -> bytes:
    """Return bytes of which one bit is another."""
    changed = bytearray(whole)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def verdicts(path: Path, variants: Iterable[bytes], right: Tally) -> list[str]:
    """Tally each variant of a file: refused, same or other."""
    found = []
    for variant in variants:
        path.write_bytes(variant)
        try:
            found.append("same" if tally(MECHANISM, path, threads=1).tally == right else "other")
        except DataError:
            found.append("refused")
    return found
