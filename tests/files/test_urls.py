"""Files at URLs are read like files of this machine; a URL that cannot be opened gives one sentence without secrets."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import discreet as dc
from discreet import read_reports, write_reports
from discreet.engines import LocalEngine
from discreet.errors import DataError, ParameterError
from discreet.files import paths
from discreet.formats.tallies import read_tally, write_tally
from discreet.risk.events import read_traces
from discreet.tables.columns import read_table
from object_store import Put, object_store
from refusals import refused
from running import done, refusal, told

MECHANISM = dc.UnaryEncoding(dc.Domain(range(9), sensitive=range(4)), 1.0)
PLAN = 'epsilon = 1.0\n[domain]\nrange = [0, 9]\nsensitive = [0, 1, 2, 3]\n[mechanism]\nname = "unary"\n'
SECRET = "hunter2"


@pytest.fixture(params=["folder", "s3"])
def put(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """A service: a folder behind URLs, or an S3-compatible server that is started here."""
    if request.param == "s3":
        yield from s3(monkeypatch)
    else:
        yield behind_urls(tmp_path, monkeypatch)


def behind_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    store = tmp_path / "store"
    (store / "bucket").mkdir(parents=True)
    system = fs.SubTreeFileSystem(str(store), fs.LocalFileSystem())
    monkeypatch.setattr(paths, "file_system", lambda root: (system, paths.urlsplit(root).netloc))

    def copy(file: Path, name: str) -> str:
        target = store / "bucket" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
        return f"test://bucket/{name}"

    return copy


def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with object_store() as store:
        yield store.put


def above(url: str) -> str:
    """Return the URL of the folder of a file."""
    path, mark, options = url.partition("?")
    return path.rpartition("/")[0] + "/" + mark + options


def reports(folder: Path, name: str, seed: int, n: int = 300) -> Path:
    codes = [row % 9 for row in range(n)]
    write_reports(folder / name, MECHANISM, MECHANISM.obfuscate_codes(codes, random=dc.SeededRandom(seed)))
    return folder / name


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "jsonl", "jsonl.gz"])
def test_reports_in_a_folder_at_a_url(put: Put, suffix: str, tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    urls = [put(reports(here, f"{day}.{suffix}", day), f"reports/{day}.{suffix}") for day in (1, 2)]
    write_tally(here / "3.tally.parquet", MECHANISM.tally(read_reports(here / f"1.{suffix}", MECHANISM)))
    tally = put(here / "3.tally.parquet", "tallies/3.tally.parquet")
    engine = LocalEngine(threads=2)
    expected = engine.tally(MECHANISM, [here / f"{day}.{suffix}" for day in (1, 2)]).tally
    assert engine.tally(MECHANISM, above(urls[0])).tally == engine.tally(MECHANISM, urls).tally == expected
    assert read_reports(urls[0], MECHANISM).n == 300
    assert read_tally(tally, MECHANISM).n == 300
    observed, _ = engine.evidence(MECHANISM, above(urls[0]))
    assert MECHANISM.tally(observed) == expected


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "jsonl"])
def test_tables_at_a_url(put: Put, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"v.{suffix}"
    table = pa.table({"user": [1, 1, 2, 2], "event": [5, 6, 5, 7]})
    if suffix == "parquet":
        pq.write_table(table, path)
    elif suffix == "arrow":
        with pa.ipc.new_file(str(path), table.schema) as sink:
            sink.write_table(table)
    else:
        rows = table.to_pylist()
        lines = "".join(f'{{"user": {one["user"]}, "event": {one["event"]}}}\n' for one in rows)
        cells = "user,event\n" + "".join(f"{one['user']},{one['event']}\n" for one in rows)
        path.write_text(lines if suffix == "jsonl" else cells)
    url = put(path, path.name)
    assert read_table(url).to_pydict() == table.to_pydict()
    traces = read_traces(url, user="user", event="event")
    assert (len(traces.events), traces.users) == (4, 2)


def test_the_verbs_take_urls(put: Put, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    pq.write_table(pa.table({"x": [row % 9 for row in range(200)]}), tmp_path / "v.parquet")
    values = put(tmp_path / "v.parquet", "values/v.parquet")
    done("obfuscate", tmp_path / "plan.toml", values, "-o", tmp_path / "r.parquet", "--seed", 1)
    url = put(tmp_path / "r.parquet", "reports/r.parquet")
    facts = told("estimate", tmp_path / "plan.toml", above(url))
    here = told("estimate", tmp_path / "plan.toml", tmp_path / "r.parquet")
    assert facts == here
    assert facts["n"] == 200


def test_a_url_that_cannot_be_opened_gives_one_sentence(put: Put, tmp_path: Path) -> None:
    url = put(reports(tmp_path, "a.parquet", 1), "reports/a.parquet")
    gone = url.replace("a.parquet", "b.parquet")
    message = refused(DataError, lambda: read_reports(gone, MECHANISM))
    assert message == f"{paths.shown(gone)} does not exist. [file.not-found]"
    (tmp_path / "plan.toml").write_text(PLAN)
    assert "does not exist" in refusal("estimate", tmp_path / "plan.toml", gone)
    other = put(tmp_path / "a.parquet", "mixed/a.txt")
    assert "must hold reports" in refused(DataError, lambda: LocalEngine().tally(MECHANISM, above(other)))
    twice = refused(ParameterError, lambda: LocalEngine().tally(MECHANISM, [url, above(url)]))
    assert "file.twice" in twice


def test_a_folder_at_a_url_that_has_a_list_of_its_files_is_refused(put: Put, tmp_path: Path) -> None:
    put(reports(tmp_path, "a.parquet", 1), "reports/more/a.parquet")
    (tmp_path / "_manifest.json").write_text("{}")
    folder = above(put(tmp_path / "_manifest.json", "reports/_manifest.json"))
    assert "a list of its files, _manifest.json" in refused(DataError, lambda: LocalEngine().tally(MECHANISM, folder))


@pytest.mark.parametrize("host", ["127.0.0.1:9", "127.0.0.1:9&no_such_option=1"])
def test_no_message_holds_credentials(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    options = f"?endpoint_override={host}&scheme=http&region=us-east-1"
    url = f"s3://somebody:{SECRET}@bucket/reports/a.parquet{options}"
    message = refused(DataError, lambda: read_reports(url, MECHANISM))
    assert message.startswith("s3://bucket/reports/a.parquet")
    assert SECRET not in message
    assert "somebody" not in message
    assert SECRET not in f"{paths.RemoteFile(url)} {paths.RemoteFile(url)!r}"
