"""Settings of a collector: flags over environment over a file, each checked, none unknown."""

import base64
import ipaddress
import os
import tomllib
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import msgspec

from discreet.core.checks import suggestion
from discreet.device.protocol.collection import is_origin
from discreet.errors import ParameterError

_PREFIX = "DISCREET_COLLECTOR_"
_LIMITS = "limits__"
_KEY_BYTES = 32
_LISTS = ("trust", "embed_origins")


class ServiceLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of what one collector holds and bears at once.

    Attributes:
        connections: at once; requests on others are answered 503.
        frames: that may wait to be stored; others are answered 503.
        bytes: of frames that may wait.
        rate: requests a second from one address in the long run; 0 for any number. Off behind a proxy.
        burst: requests at once from one address.
    """

    connections: int = 2000
    frames: int = 4096
    bytes: int = 1 << 26
    rate: float = 50.0
    burst: float = 500.0

    def __post_init__(self) -> None:
        """Refuse numbers that are none, or below what works."""
        least = {"connections": 1, "frames": 1, "bytes": 1 << 20, "rate": 0, "burst": 1}
        for name in self.__struct_fields__:
            number, bound = getattr(self, name), least[name]
            if not (isfinite(number) and number >= bound):
                raise ValueError(f"{name} must be a finite number of at least {bound}")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of a collector.

    Attributes:
        listen: address and port, ``127.0.0.1:8080`` or ``[::]:443``.
        data: the folder of the database and of sealed files.
        trust: public keys, base64, of those who may sign collections that are added.
        behind_proxy: whether a proxy in front ends TLS and limits rates.
        insecure: whether other machines may send without TLS.
        limits: the limits of connections, requests and waiting frames.
        gather_ms: how long after the beginning of a group of frames the next one may begin.
        least_free_disk: bytes below which the collector says that it is not ready.
        embed_origins: of pages that may have surveys of this collector in them, ``https://www.example.org``.
        sealing: ``auto`` when an epoch is over, or ``manual`` by ``discreet collector seal``.
        log: the least level of log messages.
    """

    listen: str = "127.0.0.1:8080"
    data: str = "collector-data"
    trust: tuple[str, ...] = ()
    behind_proxy: bool = False
    insecure: bool = False
    limits: ServiceLimits = ServiceLimits()
    gather_ms: float = 2.0
    least_free_disk: int = 1 << 28
    embed_origins: tuple[str, ...] = ()
    sealing: Literal["auto", "manual"] = "auto"
    log: Literal["debug", "info", "warning", "error"] = "info"

    def __post_init__(self) -> None:
        """Refuse what would not work, or would send reports in clear over a network."""
        host, _ = self.address
        if not self.data:
            raise ValueError("data must name a folder")
        if not all(map(is_key, self.trust)):
            raise ValueError("trust must be public keys, 44 letters of base64 each")
        if not (isfinite(self.gather_ms) and 0 <= self.gather_ms <= 1000):
            raise ValueError("gather_ms must be a number of milliseconds in 0..1000")
        if self.least_free_disk < 0:
            raise ValueError("least_free_disk must be a number of bytes of at least 0")
        if not all(map(is_origin, self.embed_origins)):
            raise ValueError(
                "embed_origins must be origins such as https://www.example.org (http only on this machine)"
            )
        if not (is_loopback(host) or self.behind_proxy or self.insecure):
            raise ValueError(
                f"listen must be an address of this machine alone, got {host}, unless there is behind_proxy "
                "(or --insecure, for a network that you trust)"
            )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen at."""
        host, _, port = self.listen.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError("listen must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080")
        return host.removeprefix("[").removesuffix("]"), int(port)


def is_key(text: str) -> bool:
    """Return true if a text is a public key as `discreet collection key` prints it."""
    try:
        return len(base64.b64decode(text, validate=True)) == _KEY_BYTES
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return true if only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def load_settings(
    path: Path | None = None, *, flags: Mapping[str, Any] | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """Return settings: flags over environment over a file.

    Args:
        path: the file, TOML; None for none.
        flags: settings by name; None stands for one that was not given.
        environment: variables ``DISCREET_COLLECTOR_LISTEN``, ``DISCREET_COLLECTOR_LIMITS__RATE``, and so on.

    Raises:
        ParameterError: if there is no such file, a setting is unknown, or one cannot be used; it names the place.
    """
    table = _from_file(path)
    try:
        # Judged first, so that text is taken for a number from the environment only.
        msgspec.convert(table, Settings)
        table = _merged(table, _from_environment(environment))
        table = _merged(table, {name: flag for name, flag in (flags or {}).items() if flag is not None})
        return msgspec.convert(table, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise ParameterError("settings.wrong-value", reason=error) from None


def _from_file(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError("settings.missing", path=path) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ParameterError("settings.not-toml", path=path, reason=type(error).__name__) from None


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for variable, text in environment.items():
        if not variable.startswith(_PREFIX):
            continue
        name = variable.removeprefix(_PREFIX).lower()
        if name.startswith(_LIMITS):
            table.setdefault("limits", {})[name.removeprefix(_LIMITS)] = text
        elif name in Settings.__struct_fields__ and name != "limits":
            table[name] = [key.strip() for key in text.split(",") if key.strip()] if name in _LISTS else text
        else:
            raise ParameterError("setting.unknown", name=variable, near=suggestion(name, Settings.__struct_fields__))
    return table


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(under)
    for name, part in over.items():
        before = merged.get(name)
        merged[name] = {**before, **part} if isinstance(before, dict) and isinstance(part, dict) else part
    return merged
