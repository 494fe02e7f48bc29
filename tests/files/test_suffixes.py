"""One list of endings: what is accepted in one place is accepted in all, and messages name all of them."""

import gzip
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import discreet as dc
from discreet import SeededRandom, read_reports, write_reports
from discreet.engines import gather, tally
from discreet.errors import DataError, MismatchError, ParameterError
from discreet.files import paths
from discreet.formats.tallies import read_tally, write_tally
from discreet.risk.events import read_traces
from discreet.tables.columns import read_distribution, read_labels, read_table
from discreet.tables.values import read_owned, read_values
from refusals import refused

DOMAIN = dc.Domain(["a", "b", "c"], sensitive=["c"])
MECHANISM = dc.UnaryEncoding(DOMAIN, 1.0)
REPORTS = MECHANISM.obfuscate(["a", "b", "c", "c"] * 50, random=SeededRandom(3))


def written(path: Path, columns: dict[str, list[object]]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".gz":
        plain = written(path.with_suffix(""), columns)
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{row}\n".replace("'", '"').replace("True", "true") for row in table.to_pylist()))
    else:
        with pa.ipc.new_file(str(path), table.schema) as sink:
            sink.write_table(table)
    return path


@pytest.mark.parametrize("ending", paths.TABLES)
def test_tables_of_every_ending(tmp_path: Path, ending: str) -> None:
    """Values, distributions, labels, owned values and events."""
    values = written(tmp_path / f"v{ending}", {"x": ["a", "c", "c"]})
    assert read_table(values).num_rows == 3
    assert DOMAIN.encode(read_values(values, DOMAIN)).tolist() == [0, 2, 2]
    known = written(tmp_path / f"p{ending}", {"label": ["a", "c"], "probability": [0.25, 0.75]})
    assert read_distribution(known, DOMAIN).tolist() == [0.25, 0, 0.75]
    labels = written(tmp_path / f"l{ending}", {"what": ["a", "b"], "secret": ["x", "y"]})
    assert read_labels(labels, "what", None)[0].to_pylist() == ["a", "b"]
    owned = written(tmp_path / f"o{ending}", {"x": ["a", "b"], "who": ["u", "v"]})
    assert read_owned(owned, DOMAIN, "who")[1].to_pylist() == ["u", "v"]
    events = written(tmp_path / f"e{ending}", {"user": ["u", "v", "u"], "event": ["a", "b", "b"]})
    assert read_traces(events, user="user", event="event").users == 2
    folder = tmp_path / "folder"
    folder.mkdir()
    written(folder / f"e{ending}", {"user": ["u", "v", "u"], "event": ["a", "b", "b"]})
    assert len(read_traces(folder, user="user", event="event")) == 3


@pytest.mark.parametrize("ending", paths.REPORTS)
def test_reports_of_every_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    assert write_reports(path, MECHANISM, REPORTS) == 200
    assert MECHANISM.tally(read_reports(path, MECHANISM)) == MECHANISM.tally(REPORTS)
    assert tally(MECHANISM, tmp_path).tally == MECHANISM.tally(REPORTS)
    assert gather(MECHANISM, tmp_path)[0].n == 200


@pytest.mark.parametrize("ending", paths.TALLIES)
def test_tallies_of_every_ending(tmp_path: Path, ending: str) -> None:
    path, whole = tmp_path / f"t{ending}", MECHANISM.tally(REPORTS)
    write_tally(path, whole)
    assert read_tally(path, MECHANISM) == whole
    others = replace(REPORTS[1:], batches=())
    write_reports(tmp_path / f"r{Path(ending).suffix}", MECHANISM, others)
    assert tally(MECHANISM, tmp_path).tally == whole + MECHANISM.tally(others)
    other = dc.UnaryEncoding(DOMAIN, 2.0)
    refused(MismatchError, lambda: read_tally(path, other))
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    assert str(path) in refused(DataError, lambda: read_tally(path, MECHANISM))
    # Reports under the name of a tally are refused as such.
    path.write_bytes((tmp_path / f"r{Path(ending).suffix}").read_bytes())
    assert "does not hold tally" in refused(DataError, lambda: read_tally(path, MECHANISM))


@pytest.mark.parametrize("ending", paths.TALLIES)
def test_reports_are_not_named_as_tallies_are(tmp_path: Path, ending: str) -> None:
    """They would be read as a tally."""
    path = tmp_path / f"r{ending}"
    assert "output.named-as-tally" in refused(ParameterError, lambda: write_reports(path, MECHANISM, REPORTS))
    assert not path.exists()
