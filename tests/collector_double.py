"""A collector of a few lines, on loopback: it keeps what it is sent, and answers as it is told."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import BaseServer


@dataclass
class Double:
    """What was sent to it, and what it says.

    Attributes:
        origin: where it is.
        requests: method, path, headers and body of every request, in order.
        says: answers in turn, (status, headers, body); the last one for good.
    """

    origin: str = ""
    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    says: list[tuple[int, dict[str, str], bytes]] = field(default_factory=lambda: [(202, {}, b"")])

    @property
    def frames(self) -> list[bytes]:
        """What was posted."""
        return [body for method, _, _, body in self.requests if method == "POST"]


@contextmanager
def collector(certificate: Path | None = None) -> Iterator[Double]:
    """Run a collector on a free port, over TLS with a certificate and its key."""
    double = Double()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            double.requests.append((self.command, self.path, dict(self.headers.items()), body))
            status, headers, content = double.says[0] if len(double.says) == 1 else double.says.pop(0)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    double.origin = f"http{'s' * (certificate is not None)}://127.0.0.1:{server.server_port}"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with served(server):
        yield double


@contextmanager
def served(server: BaseServer) -> Iterator[None]:
    """Serve in a thread of its own, and close."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
