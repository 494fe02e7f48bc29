"""Compressed tables of text: what their text is, and neither more nor less."""

import gzip
import json
from pathlib import Path

import pytest

from discreet import Domain
from discreet.errors import DataError
from discreet.risk.events import read_traces
from discreet.tables import text
from discreet.tables.columns import read_table
from discreet.tables.values import read_values
from refusals import refused

ROWS = [("a", 3), ("b", 1), ("a", 2), ("é", 2)] * 500
CSV = "name,number\n" + "".join(f"{name},{number}\n" for name, number in ROWS)
LINES = "".join(json.dumps({"name": name, "number": number}) + "\n" for name, number in ROWS)
DOMAIN = Domain(["a", "b", "é"])


def packed(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


@pytest.mark.parametrize(
    ("ending", "content"),
    [(".csv.gz", CSV.encode()), (".CSV.GZ", CSV.encode("utf-16")), (".jsonl.gz", LINES.encode())],
    ids=["csv", "utf-16", "lines"],
)
def test_tables_are_those_of_the_text(ending: str, content: bytes, tmp_path: Path) -> None:
    path = packed(tmp_path / f"t{ending}", content)
    assert list(zip(*read_table(path).to_pydict().values(), strict=True)) == ROWS
    assert read_values(path, DOMAIN, "name").to_pylist() == [name for name, _ in ROWS]
    traces = read_traces(path, user="name", event="number")
    assert (traces.users, len(traces)) == (3, len(ROWS))


def test_other_encodings_are_seen_in_the_text(tmp_path: Path) -> None:
    path = packed(tmp_path / "t.csv.gz", CSV.encode("cp1252"))
    with pytest.warns(UserWarning, match="Windows-1252"):
        assert "é" in read_values(path, DOMAIN, "name").to_pylist()


def test_folders_hold_both(tmp_path: Path) -> None:
    packed(tmp_path / "a.csv.gz", CSV.encode())
    (tmp_path / "b.csv").write_text(CSV)
    assert len(read_traces(tmp_path, user="name", event="number")) == 2 * len(ROWS)


def test_a_small_file_of_much_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.files.reading.FEW_BYTES", 1 << 10)
    path = packed(tmp_path / "bomb.csv.gz", b"name\n" + b"a\n" * 1_000_000)
    said = refused(DataError, lambda: read_values(path, DOMAIN, "name"))
    assert said.startswith(f"{path}: ")
    assert said.endswith(" [file.expands-too-much]")
    assert text.beginning(path, 5) == b"name\n"
