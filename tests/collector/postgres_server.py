"""A server of PostgreSQL for tests: Debian's, of a user that is not root, in a temporary folder, at a socket there.

It shares no code with the project. Each folder of a collector has a schema of its own in it.
"""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import program

_SERVED: dict[Path, str] = {}


def server_of(folder: Path) -> str:
    """Return the URL under which a folder's collector finds its data; empty if they are in the folder."""
    return next((_SERVED[place] for place in (folder, *folder.parents) if place in _SERVED), "")


def rows_in_tables(server: str) -> list[tuple[int, int, list[bytes]]]:
    """Return collection, epoch and groups of rows of every table of reports; none of no server."""
    if not server:
        return []
    import psycopg

    with psycopg.connect(server) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        found = sorted(
            (int(at[1]), int(at[2])) for (name,) in names if (at := re.fullmatch(r"inbox_(\d+)_(\d+)", name))
        )
        return [
            (key, epoch, [row for (row,) in connection.execute(f"SELECT rows FROM inbox_{key}_{epoch} ORDER BY seq")])
            for key, epoch in found
        ]


class PostgresServer:
    """A server with a cluster of its own.

    Args:
        folder: for the cluster and its socket; the path must be short, and its user's.
        user: who runs it.
    """

    def __init__(self, folder: Path, user: str) -> None:
        self._folder, self._user, self._schemas = folder, user, 0
        self._run(
            "initdb", "--username=discreet", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync",
            "--no-instructions", "--pgdata", f"{folder}/data",
        )  # fmt: skip

    @staticmethod
    def tool(name: str) -> Path:
        """Return where a program of the server is."""
        return Path(program("initdb")).resolve().with_name(name)

    def _run(self, name: str, *words: str) -> None:
        given: dict[str, Any] = (
            {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid} if os.geteuid() == 0 else {}
        )
        # Not in a pipe, which the server would keep open.
        with (self._folder / "said").open("wb") as said:
            subprocess.run(
                [self.tool(name), *words],
                check=True,
                cwd=self._folder,
                stdout=said,
                stderr=said,
                timeout=120,
                **given,
            )

    def start(self) -> None:
        """Start it, after a crash too, and wait until it answers; commits are flushed, as they are in operation."""
        options = f"-c listen_addresses= -c unix_socket_directories={self._folder} -c shared_buffers=16MB"
        self._run("pg_ctl", "start", "-w", "-D", f"{self._folder}/data", "-l", f"{self._folder}/log", "-o", options)

    def stop(self, how: str = "fast") -> None:
        """Stop it; ``immediate`` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-D", f"{self._folder}/data", "-m", how)

    def crash(self) -> None:
        """Let it crash, and start it again."""
        self.stop("immediate")
        self.start()

    def url(self, schema: str = "public") -> str:
        """Return the URL of a schema."""
        return f"postgresql://discreet@/postgres?host={self._folder}&options=-csearch_path%3D{schema}"

    @contextmanager
    def serves(self, folder: Path) -> Iterator[str]:
        """Let the collectors of a folder have their data here within the body, and yield their URL."""
        import psycopg

        self._schemas += 1
        schema = f"s{self._schemas}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        _SERVED[folder] = self.url(schema)
        try:
            yield _SERVED[folder]
        finally:
            # What is in it goes with the server.
            del _SERVED[folder]


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """Run a server within the body."""
    for place in sorted(Path("/usr/lib/postgresql").glob("*/bin")):
        # Debian's are beside the path.
        os.environ["PATH"] = f"{os.environ['PATH']}{os.pathsep}{place}"
    program("initdb")
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    folder = Path(tempfile.mkdtemp(prefix="discreet-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, user)
        server = PostgresServer(folder, user)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder)
