"""One list of endings: what is accepted in one place is accepted in all, and messages name all of them."""

from dataclasses import replace
from pathlib import Path

import pytest

import discreet as dc
from discreet import SeededRandom, read_reports, write_reports
from discreet.engines import LocalEngine, tally
from discreet.errors import DataError, ParameterError
from discreet.files import paths
from discreet.formats.tallies import read_tally, write_tally
from discreet.risk.events import read_traces
from discreet.tables.columns import read_distribution, read_labels, read_table
from discreet.tables.values import read_owned, read_values
from refusals import refused
from table_files import save_table

DOMAIN = dc.Domain(["a", "b", "c"], sensitive=["c"])
MECHANISM = dc.UnaryEncoding(DOMAIN, 1.0)
REPORTS = MECHANISM.obfuscate(["a", "b", "c", "c"] * 50, random=SeededRandom(3))


@pytest.mark.parametrize("ending", paths.TABLES)
def test_tables_of_every_ending(tmp_path: Path, ending: str) -> None:
    """Values, distributions, labels, owned values and events."""
    values = save_table(tmp_path / f"v{ending}", {"x": ["a", "c", "c"]})
    assert read_table(values).num_rows == 3
    assert DOMAIN.encode(read_values(values, DOMAIN)).tolist() == [0, 2, 2]
    known = save_table(tmp_path / f"p{ending}", {"label": ["a", "c"], "probability": [0.25, 0.75]})
    assert read_distribution(known, DOMAIN).tolist() == [0.25, 0, 0.75]
    labels = save_table(tmp_path / f"l{ending}", {"what": ["a", "b"], "secret": ["x", "y"]})
    assert read_labels(labels, "what", None)[0].to_pylist() == ["a", "b"]
    owned = save_table(tmp_path / f"o{ending}", {"x": ["a", "b"], "who": ["u", "v"]})
    assert read_owned(owned, DOMAIN, "who")[1].to_pylist() == ["u", "v"]
    events = save_table(tmp_path / f"e{ending}", {"user": ["u", "v", "u"], "event": ["a", "b", "b"]})
    assert read_traces(events, user="user", event="event").users == 2
    folder = tmp_path / "folder"
    folder.mkdir()
    save_table(folder / f"e{ending}", {"user": ["u", "v", "u"], "event": ["a", "b", "b"]})
    assert len(read_traces(folder, user="user", event="event")) == 3


@pytest.mark.parametrize("ending", paths.REPORTS)
def test_reports_of_every_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"r{ending}"
    assert write_reports(path, MECHANISM, REPORTS) == 200
    assert MECHANISM.tally(read_reports(path, MECHANISM)) == MECHANISM.tally(REPORTS)
    assert tally(MECHANISM, tmp_path).tally == MECHANISM.tally(REPORTS)
    assert LocalEngine().evidence(MECHANISM, tmp_path)[0].n == 200


@pytest.mark.parametrize("ending", paths.TALLIES)
def test_reports_are_not_named_as_tallies_are(tmp_path: Path, ending: str) -> None:
    """They would be read as a tally."""
    path = tmp_path / f"r{ending}"
    assert "output.named-as-tally" in refused(ParameterError, lambda: write_reports(path, MECHANISM, REPORTS))
    assert not path.exists()


@pytest.mark.parametrize("ending", paths.TALLIES)
def test_tallies_of_every_ending_join_reports(tmp_path: Path, ending: str) -> None:
    path, whole, others = tmp_path / f"t{ending}", MECHANISM.tally(REPORTS), replace(REPORTS[1:], batches=())
    write_tally(path, whole)
    assert read_tally(path, MECHANISM) == whole
    write_reports(tmp_path / f"r{Path(ending).suffix}", MECHANISM, others)
    assert tally(MECHANISM, tmp_path).tally == whole + MECHANISM.tally(others)
    # Reports under the name of a tally are refused as such.
    path.write_bytes((tmp_path / f"r{Path(ending).suffix}").read_bytes())
    assert "has no tally" in refused(DataError, lambda: read_tally(path, MECHANISM))
