"""Reports in a folder of an object store, from tables to an estimate; one sentence without secrets where it fails."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet import Plan, read_reports
from discreet.engines import LocalEngine
from discreet.errors import DataError, ParameterError
from discreet.files import paths
from discreet.formats.tallies import read_tally, write_tally
from object_store import SECRET, Put, s3
from refusals import refused
from running import done, refusal, told

PLAN = 'epsilon = 1.0\n[domain]\nrange = [0, 9]\nsensitive = [0, 1, 2, 3]\n[mechanism]\nname = "unary"\n'


def above(url: str) -> str:
    """Return the URL of the folder of a file."""
    path, mark, options = url.partition("?")
    return path.rpartition("/")[0] + "/" + mark + options


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    yield from s3(monkeypatch)


def test_from_values_at_urls_to_an_estimate(put: Put, tmp_path: Path) -> None:
    plan, values = tmp_path / "plan.toml", tmp_path / "v.parquet"
    plan.write_text(PLAN)
    mechanism, engine = Plan.load(plan).mechanism(), LocalEngine(threads=2)
    pq.write_table(pa.table({"x": [row % 9 for row in range(200)]}), values)
    here, urls = [tmp_path / f"{day}.parquet" for day in (1, 2)], list[str]()
    for file in here:
        done("obfuscate", plan, put(values, "values/v.parquet"), "-o", file, "--seed", 1)
        urls.append(put(file, f"reports/{file.name}"))
    folder, whole = above(urls[0]), engine.tally(mechanism, here).tally
    assert engine.tally(mechanism, folder).tally == engine.tally(mechanism, urls).tally == whole
    assert mechanism.tally(engine.evidence(mechanism, folder)[0]) == whole
    assert told("estimate", plan, folder) == told("estimate", plan, *here)
    write_tally(tmp_path / "kept.tally.parquet", whole)
    assert read_tally(put(tmp_path / "kept.tally.parquet", "tallies/kept.tally.parquet"), mechanism) == whole
    assert "file.twice" in refused(ParameterError, lambda: engine.tally(mechanism, [urls[0], folder]))
    gone = urls[0].replace("1.parquet", "3.parquet")
    assert f"{paths.shown(gone)} does not exist." in refused(DataError, lambda: read_reports(gone, mechanism))
    assert "does not exist" in refusal("estimate", plan, gone)
    (tmp_path / "_manifest.json").write_text("{}")
    put(tmp_path / "_manifest.json", "reports/_manifest.json")
    assert "folder.has-list" in refused(DataError, lambda: engine.tally(mechanism, folder))


def test_no_message_holds_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    url = f"s3://somebody:{SECRET}@bucket/a.parquet?endpoint_override=127.0.0.1:9&scheme=http&no_such_option=1"
    message = refused(DataError, lambda: paths.RemoteFile(url).stat(), SECRET, "somebody")
    assert message.startswith("s3://bucket/a.parquet")
    assert SECRET not in f"{paths.RemoteFile(url)} {paths.RemoteFile(url)!r}"
