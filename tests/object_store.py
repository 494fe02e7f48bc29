"""Files at URLs: a folder that is behind URLs, and an S3-compatible server that a test starts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from uuid import uuid4

import pytest
from pyarrow import fs

from discreet.files import paths

Put: TypeAlias = Callable[[Path, str], str]
"""Puts a file of this machine to a name, and returns its URL."""
SECRET = "hunter2"
"""A part of the credentials."""


def behind_urls(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Let URLs lead to files in a folder."""
    store = folder / "store"
    (store / "bucket").mkdir(parents=True)
    system = fs.SubTreeFileSystem(str(store), fs.LocalFileSystem())
    monkeypatch.setattr(paths, "file_system", lambda root: (system, paths.urlsplit(root).netloc))

    def put(file: Path, name: str) -> str:
        target = store / "bucket" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
        return f"test://bucket/{name}"

    return put


def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Yield what puts files into a bucket of a server of their own."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with object_store() as store:
        yield store.put


@dataclass(frozen=True)
class ObjectStore:
    """A bucket of a server.

    Attributes:
        system: the service.
        bucket: a new one.
        options: of URLs, that name the server.
    """

    system: fs.FileSystem
    bucket: str
    options: str

    def url(self, name: str, credentials: str = "") -> str:
        """Return the URL of a name."""
        return f"s3://{credentials}{self.bucket}/{name}{self.options}"

    def put(self, file: Path, name: str) -> str:
        """Put a file of this machine to a name, and return its URL."""
        with self.system.open_output_stream(f"{self.bucket}/{name}", compression=None) as out:
            out.write(file.read_bytes())
        return self.url(name)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Start a server, which takes any credentials, and make a bucket."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    options = f"?endpoint_override={host}:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    # The server keeps what it holds for the whole process.
    bucket = f"bucket-{uuid4().hex}"
    system, _ = fs.FileSystem.from_uri(f"s3://nobody:nothing@{bucket}{options}")
    system.create_dir(bucket)
    try:
        yield ObjectStore(system, bucket, options)
    finally:
        paths.file_system.cache_clear()
        server.stop()
