"""The folder of a person's device: its settings, the device in it, and the collections that it is given."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.parameters import PublicKey
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.client import Device

DEFAULT = "~/.local/share/discreet"
_SETTINGS = "settings.json"


def device_folder(store: Path | None) -> Path:
    """Return the folder of ``--store``, or the one of this user."""
    if store is not None:
        return store
    try:
        return Path(DEFAULT).expanduser()
    except RuntimeError:
        raise ParameterError("this user has no home directory; name a folder for the device with --store.") from None


def opened_device(folder: Path, settings: dict[str, Any] | None = None, proxy: str | None = None) -> "Device":
    """Return the device in a folder, with these settings or those that it was joined with."""
    from discreet.client import Device, Limits

    said = _kept_settings(folder) if settings is None else settings
    try:
        trust = [PublicKey().convert(key, None, None) for key in said["trust"]]
        limits = Limits(**said["limits"])
    except (KeyError, TypeError, click.BadParameter):
        raise ParameterError(f"{folder / _SETTINGS} is damaged; join again.") from None
    return Device(folder, trust, limits, simulated=said.get("simulated") is True, proxy=proxy)


def _kept_settings(folder: Path) -> dict[str, Any]:
    try:
        said = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(f"there is no device in {folder}; make one with `discreet device join`.") from None
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise ParameterError(f"{folder / _SETTINGS} is damaged; join again.")
    return said


def refuse_another_kind(folder: Path, simulated: bool) -> None:
    """Refuse to make a person's device one of a simulation, or the other way round: budgets would mix."""
    try:
        kept = _kept_settings(folder)
    except ParameterError:
        # There is no device, or none whose settings can be read: joining writes them anew.
        return
    if (kept.get("simulated") is True) != simulated:
        kind = "people" if simulated else "a simulation"
        raise ParameterError(f"the device in {folder} is one of {kind}; name another folder with --store.")


def keep_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings of a device, for its owner alone, in place of earlier ones."""
    beside = folder / f".{_SETTINGS}"
    with os.fdopen(os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump(settings, file)
    beside.replace(folder / _SETTINGS)


def read_envelope(address: str, proxy: str | None) -> bytes:
    """Return the signed collection at an address, which is a file or a URL."""
    from discreet.client.proxies import checked_proxy
    from discreet.io.envelope import MOST_ENVELOPE_BYTES

    if "://" not in address:
        if proxy is not None:
            raise ParameterError("--proxy is for a collection at an address, and this one is a file; leave it out.")
        try:
            with Path(address).open("rb") as file:
                return file.read(MOST_ENVELOPE_BYTES + 1)
        except FileNotFoundError:
            raise ParameterError(f"{address} is neither a file nor an address that begins with https://.") from None
    from discreet.client.sending import fetch

    return fetch(address, checked_proxy(proxy))
