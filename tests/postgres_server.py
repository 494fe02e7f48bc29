"""A server of PostgreSQL for tests: Debian's, of a user that is not root, in a temporary folder, at a socket there."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import program


class PostgresServer:
    """A server with a cluster of its own.

    Args:
        folder: for the cluster and its socket; the path must be short, and its user's.
        user: who runs it.
    """

    def __init__(self, folder: Path, user: str) -> None:
        self._folder, self._user = folder, user
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
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses= -c unix_socket_directories={self._folder} -c shared_buffers=16MB -c fsync=off"
        self._run("pg_ctl", "start", "-w", "-D", f"{self._folder}/data", "-l", f"{self._folder}/log", "-o", options)

    def stop(self, how: str = "fast") -> None:
        """Stop it; ``immediate`` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-D", f"{self._folder}/data", "-m", how)

    @property
    def url(self) -> str:
        """The URL of the only database."""
        return f"postgresql://discreet@/postgres?host={self._folder}"


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
