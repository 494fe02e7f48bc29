"""Texts that are compressed, and lines that are too long."""

import gzip
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Domain, SeededRandom, Sources, UnaryEncoding, write_reports
from discreet.engines import LocalEngine, TallyResult, tally
from discreet.errors import DataError
from discreet.files.paths import lines_of
from refusals import refused


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("length", [4, 5, 6, 9, 10, 11, 12, 100])
def test_lines_that_are_too_long(length: int, end: str) -> None:
    """They are counted as one line each, and nothing of them is handed on."""
    text = io.StringIO(f"ab\n{'x' * length}\ncd\n{'y' * length}{end}")
    long = length + 1 > 5
    first, second = ("" if long else "x" * length + "\n"), ("" if length + len(end) > 5 else "y" * length + end)
    assert list(lines_of(text, 5)) == ["ab\n", first, "cd\n", second]


BOMB = """
import resource, sys
from pathlib import Path
from discreet.files.paths import lines_of, opened_text, text_bytes
resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))
path = Path(sys.argv[1])
with opened_text(path) as text:
    print([len(line) for line in lines_of(text, 1 << 20)], text_bytes(path))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_compressed_line_of_256_megabytes_takes_no_memory(tmp_path: Path) -> None:
    """Less memory than the line alone would take is enough to see that it is none."""
    path, size = tmp_path / "bomb.jsonl.gz", 256 << 20
    path.write_bytes(gzip.compress(b" " * (1 << 20)) * (size >> 20) + gzip.compress(b"\n{}\n"))
    assert path.stat().st_size < size / 100
    said = subprocess.run([sys.executable, "-c", BOMB, path], capture_output=True, text=True, check=False)
    assert said.stdout == f"[0, 3] {size + 4}\n", said.stderr


REPORTING = UnaryEncoding(Domain(range(30)), 1.0)


@pytest.mark.parametrize("read", [tally, LocalEngine().evidence])
def test_a_long_line_is_one_bad_row(read: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl.gz"
    write_reports(path, REPORTING, REPORTING.obfuscate_codes(np.arange(30), random=SeededRandom(1)))
    long = gzip.compress(b"\n" + b"[" * (1 << 20) + b"\n")
    path.write_bytes(path.read_bytes() + long)
    assert "Report 30 is not valid JSON" in refused(DataError, lambda: read(REPORTING, path))
    found = read(REPORTING, Sources(path, bad_share=0.1))
    left_out = found.left_out if isinstance(found, TallyResult) else found[1]
    assert left_out == {"do not have the form of a report": 2}


def test_what_compressed_reports_take_in_memory_is_what_they_say(tmp_path: Path) -> None:
    reports = REPORTING.obfuscate_codes(np.zeros(20_000, np.int64), random=SeededRandom(1))
    for name in ("a.jsonl", "b.jsonl.gz"):
        write_reports(tmp_path / name, REPORTING, reports)
    plain, packed = (Sources(tmp_path / n).scan(REPORTING).memory for n in ("a.jsonl", "b.jsonl.gz"))
    assert plain == packed > 5 * (tmp_path / "b.jsonl.gz").stat().st_size
