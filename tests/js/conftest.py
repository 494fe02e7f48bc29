"""The JavaScript of the repository in Node and in a browser; see `programs`."""

import functools
import http.server
from collections.abc import Iterator
from typing import Any

import pytest

from collector_double import served
from programs import JS


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of a server, on this machine alone, of the files of js/."""
    handler = functools.partial(_Quiet, directory=JS)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, served(server):
        yield f"http://127.0.0.1:{server.server_port}"
