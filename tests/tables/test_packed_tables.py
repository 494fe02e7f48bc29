"""Compressed tables of text: what their text is, and neither more nor less."""

import gzip
from pathlib import Path

import pytest

from discreet import Domain
from discreet.errors import DataError
from discreet.tables import text
from discreet.tables.values import read_values
from refusals import refused

ROWS = [("a", 3), ("b", 1), ("a", 2), ("é", 2)] * 500
CSV = "name,number\n" + "".join(f"{name},{number}\n" for name, number in ROWS)
DOMAIN = Domain(["a", "b", "é"])


def packed(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def test_other_encodings_are_seen_in_the_text(tmp_path: Path) -> None:
    path = packed(tmp_path / "t.csv.gz", CSV.encode("cp1252"))
    with pytest.warns(UserWarning, match="Windows-1252"):
        assert "é" in read_values(path, DOMAIN, "name").to_pylist()


def test_a_small_file_of_much_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.files.reading.FEW_BYTES", 1 << 10)
    path = packed(tmp_path / "bomb.csv.gz", b"name\n" + b"a\n" * 1_000_000)
    said = refused(DataError, lambda: read_values(path, DOMAIN, "name"))
    assert said.startswith(f"{path}: ")
    assert said.endswith(" [file.expands-too-much]")
    assert text.beginning(path, 5) == b"name\n"
