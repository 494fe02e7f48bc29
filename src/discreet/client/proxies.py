"""Proxies: which one stands between this device and a collector.

A device asks an HTTP proxy for a tunnel to the collector (CONNECT), and speaks TLS through it: the proxy learns the
collector's name, when, and how many bytes, and no report. An address of this machine is never asked of a proxy, which
would take it for its own.
"""

from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote_to_bytes, urlsplit

from discreet.errors import DiscreetError, ParameterError
from discreet.io.collection_fields import LOOPBACK

_PORT = 80
_UNFIT = "a proxy must be given as http://HOST:PORT or http://NAME:PASSWORD@HOST:PORT, and this is none of these."


class ProxyError(DiscreetError, RuntimeError):
    """A proxy that makes no tunnel to the collector."""


@dataclass(frozen=True, slots=True, repr=False)
class Proxy:
    """An HTTP proxy.

    Attributes:
        host: its name or address.
        port: its port.
        credentials: name and password as it takes them; empty if it asks for none.

    Example:
        >>> proxy = Proxy.parse("http://proxy.example.org:3128")
        >>> proxy.host, proxy.port
        ('proxy.example.org', 3128)
    """

    host: str
    port: int
    credentials: str

    @classmethod
    def parse(cls, address: str) -> "Proxy":
        """Return the proxy at an address.

        Raises:
            ParameterError: if it is none of an HTTP proxy; it is not quoted, as it may hold a password.
        """
        try:
            parts = urlsplit(address if "://" in address else f"http://{address}")
            host, port = parts.hostname, _PORT if parts.port is None else parts.port
        except (ValueError, TypeError):
            raise ParameterError(_UNFIT) from None
        beside = parts.path not in {"", "/"} or parts.query or parts.fragment
        if parts.scheme != "http" or not host or not address.isascii() or not address.isprintable() or beside:
            raise ParameterError(_UNFIT)
        return cls(host, port, _credentials(parts))


def _credentials(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    pair = unquote_to_bytes(parts.username) + b":" + unquote_to_bytes(parts.password or "")
    return f"Basic {b64encode(pair).decode()}"


def checked_proxy(proxy: object) -> str | None:
    """Return the proxy of a setting: an address, an empty text for none, or None for the system's.

    Raises:
        ParameterError: if it is none of these.
    """
    if proxy is None or proxy == "":
        return None if proxy is None else ""
    if not isinstance(proxy, str):
        raise ParameterError(_UNFIT)
    Proxy.parse(proxy)
    return proxy


def proxy_for(host: str, port: int, said: str | None) -> Proxy | None:
    """Return the proxy on the way to a collector; None if there is none.

    Args:
        host: of the collector.
        port: of the collector.
        said: see `checked_proxy`; the system says it by ``HTTPS_PROXY`` (or ``ALL_PROXY``) and ``NO_PROXY``, or by its
            settings where it has some.

    Raises:
        ProxyError: if the system names one that a device cannot use; nothing is sent past it.
    """
    if host in LOOPBACK:
        return None
    if said is not None:
        return Proxy.parse(said) if said else None
    # It is dear to import.
    from urllib.request import getproxies, proxy_bypass

    systems = getproxies()
    address = systems.get("https", systems.get("all", ""))
    if not address or proxy_bypass(f"{host}:{port}"):
        return None
    try:
        return Proxy.parse(address)
    except ParameterError as error:
        raise ProxyError(str(error)) from None
