"""``discreet device``.

The folder of a person's device: its settings, the device in it, and the collections that it is given.

The verbs ``device``: a person's device in a folder, and many simulated ones.
"""

import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import VerbGroup
from discreet.cli.options import Count, PublicKey, spelled_key
from discreet.cli.output import InputFile, OutputFolder, print_lines, show
from discreet.errors import DataError, ParameterError

if TYPE_CHECKING:
    from discreet.device import Device
    from discreet.protocol.collection import Collection

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
    from discreet.device import Device, Limits

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
    from discreet.device.sending import checked_proxy
    from discreet.protocol.envelope import MOST_ENVELOPE_BYTES

    if "://" not in address:
        if proxy is not None:
            raise ParameterError("--proxy is for a collection at an address, and this one is a file; leave it out.")
        try:
            with Path(address).open("rb") as file:
                return file.read(MOST_ENVELOPE_BYTES + 1)
        except FileNotFoundError:
            raise ParameterError(f"{address} is neither a file nor an address that begins with https://.") from None
    from discreet.device.sending import fetch

    return fetch(address, checked_proxy(proxy))


_STORE = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="DISCREET_DEVICE",
    help=f"Folder of the device, for its owner alone. [{DEFAULT}, or DISCREET_DEVICE]",
)
_PROXY = click.option(
    "--proxy",
    metavar="URL",
    help="HTTP proxy on the way, as http://HOST:PORT; '' for none. [what HTTPS_PROXY and NO_PROXY say]",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")


@click.group(cls=VerbGroup)
def device() -> None:
    """Answer: join a collection, answer, send, and see what was sent; nothing leaves without consent."""


@device.command()
@click.argument("address")
@click.option("--trust", required=True, multiple=True, type=PublicKey(), help="Public key of who may ask; repeatable.")
@click.option("--report", type=float, default=2.0, show_default=True, help="Most nats of one report.")
@click.option("--epoch", type=float, default=4.0, show_default=True, help="Most nats of reports whose epochs overlap.")
@click.option("--lifetime", type=float, default=20.0, show_default=True, help="Most nats of all reports ever.")
@click.option("--agree", is_flag=True, help="Agree without being asked.")
@click.option("--simulated", is_flag=True, help="For simulated collections alone, such as those of a demonstration.")
@_PROXY
@_STORE
@_JSON
def join(
    address: str,
    *,
    trust: tuple[bytes, ...],
    report: float,
    epoch: float,
    lifetime: float,
    agree: bool,
    simulated: bool,
    proxy: str | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """Check the collection at ADDRESS (a URL or a file), show what it asks, and agree to it.

    Keys and limits are kept in the device's folder for the other verbs; those of an earlier join are replaced.
    """
    from discreet.cli.typed_values import values_to_type
    from discreet.protocol.collection import notice

    folder = device_folder(store)
    settings = {
        "trust": [spelled_key(key) for key in trust],
        "limits": {"report": report, "epoch": epoch, "lifetime": lifetime},
        "simulated": simulated,
    }
    refuse_another_kind(folder, simulated)
    with opened_device(folder, settings) as opened:
        found = opened.accept(read_envelope(address, proxy), rebuild=True)
        keep_settings(folder, settings)
        lines = list(notice(found))
        if not as_json:
            print_lines(lines)
        if agreed := found.state == "open" and (agree or (not as_json and _asked())):
            opened.agree(found)
    facts = {"name": found.name, "version": found.version, "id": found.id.hex(), "agreed": agreed, "notice": lines}
    said = [f"{'Agreed to' if agreed else 'Not agreed to'} {found.name}, version {found.version}."]
    show(facts, [*said, values_to_type(found)] if agreed else said, as_json=as_json, whole=True)


def _asked() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise ParameterError("somebody must be there to agree; pass --agree if the person has.")
    return click.confirm("Do you agree?", default=False)


@device.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("value", nargs=-1, required=True)
@_STORE
@_JSON
def answer(name: str, value: tuple[str, ...], *, store: Path | None, as_json: bool) -> None:
    """Answer the collection NAME with VALUE, once in its epoch; send it with `discreet device send`.

    VALUE is a label, or a label of each attribute as age=30s marital=single, or a latitude and a longitude, or - to
    read it from standard input, so that it stands in no list of commands. The exit code is 2 if there is no answer
    afterwards: nobody agreed, the budget is spent, or the collection is closed.
    """
    from discreet.cli.typed_values import typed_value

    with opened_device(device_folder(store)) as opened:
        found = opened.collection(name)
        outcome = opened.answer(found, typed_value(found, value))
    said = {
        "recorded": "Recorded; it leaves with `discreet device send`.",
        "already": "There was an answer already; nothing was drawn.",
        "exhausted": "Nothing is left of a budget; nothing was drawn.",
        "closed": "The collection takes no answers now; nothing was drawn.",
        "declined": "You have not agreed; nothing was drawn.",
    }
    show({"name": name, "outcome": str(outcome)}, [said[outcome]], as_json=as_json, whole=True)
    if outcome not in {"recorded", "already"}:
        raise click.exceptions.Exit(2)


@device.command(context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("places", nargs=-1)
@_STORE
@_JSON
def tag(name: str, places: tuple[str, ...], *, store: Path | None, as_json: bool) -> None:
    """Keep secret PLACES under the personalized collection NAME: TAG=VALUE each, or VALUE where cells are bots.

    VALUE is a label, LAT,LON or "age=30s sex=f". Without any place there are none. They stay on this device, and are
    fixed by the first answer.
    """
    from discreet.cli.typed_values import typed_places

    with opened_device(device_folder(store)) as opened:
        found = opened.collection(name)
        opened.tag(found, typed_places(found, places))
    kept = len(set(places))
    said = f"{kept} secret {'place is' if kept == 1 else 'places are'} kept here."
    show({"name": name, "places": kept}, [said], as_json=as_json, whole=True)


@device.command()
@_PROXY
@_STORE
@_JSON
def send(*, proxy: str | None, store: Path | None, as_json: bool) -> None:
    """Send what is due; safe to call at any time."""
    with opened_device(device_folder(store), proxy=proxy) as opened:
        found = opened.send()
    facts = {"sent": found.sent, "dropped": found.dropped, "waiting": found.waiting, "reason": found.reason}
    why = [] if found.reason is None else [f"Not sent yet: {found.reason}"]
    show(
        facts, [f"Sent {found.sent}, dropped {found.dropped}; {found.waiting} wait.", *why], as_json=as_json, whole=True
    )


@device.command()
@_STORE
@_JSON
def status(*, store: Path | None, as_json: bool) -> None:
    """Show the collections that were joined, and what was spent."""
    with opened_device(device_folder(store)) as opened:
        budget, held = opened.budget(), opened.export()["collections"]
    facts = {"spent": budget.spent, "left": budget.left, "names": dict(budget.names), "collections": held}
    lines = [
        f"{one['name']}, version {one['version']}: "
        f"{'declined' if one['declined'] else 'agreed' if one['agreed'] else 'not agreed'}; "
        f"{budget.names.get(one['name'], 0.0):g} nats spent."
        for one in held
    ]
    show(facts, [*lines, f"In all {budget.spent:g} nats are spent, {budget.left:g} left."], as_json=as_json, whole=True)


@device.command()
@_STORE
@_JSON
def log(*, store: Path | None, as_json: bool) -> None:
    """Show the reports that wait, were sent or were dropped: the very bytes."""
    with opened_device(device_folder(store)) as opened:
        entries = opened.log()
    lines = [
        f"{one.name}, version {one.version}, epoch {one.epoch}: {one.record.hex()} {one.state}"
        + (f" ({one.status})" if one.status else "")
        for one in entries
    ]
    show({"reports": [one.document() for one in entries]}, lines or ["No reports."], as_json=as_json, whole=True)


@device.command()
@click.argument("name")
@_STORE
@_JSON
def decline(name: str, *, store: Path | None, as_json: bool) -> None:
    """Answer the collection NAME no more; what was not sent is erased."""
    with opened_device(device_folder(store)) as opened:
        opened.decline(name)
    show(
        {"name": name, "declined": True},
        [f"Declined {name}; what was not sent is erased."],
        as_json=as_json,
        whole=True,
    )


@device.command()
@_STORE
@_JSON
def forget(*, store: Path | None, as_json: bool) -> None:
    """Erase everything but the versions seen and what was spent, so that no budget begins anew."""
    with opened_device(device_folder(store)) as opened:
        opened.forget()
    show(
        {"forgotten": True},
        ["Everything but the versions seen and what was spent is erased."],
        as_json=as_json,
        whole=True,
    )


@device.command()
@click.argument("file", type=InputFile())
@click.argument("values", type=InputFile())
@click.option("--devices", type=Count(1), help="Devices, each with the value of a random row. [one for each row]")
@click.option("--epoch", type=Count(0), help="Epoch of the reports. [the one that runs]")
@click.option("--column", help="Column that holds the values, if there are several.")
@click.option("--user", help="For personalized plans: column that says whose value it is.")
@click.option("--tags", type=InputFile(), help="For personalized plans: table of users' secret values.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same frames.")
@click.option("-o", "--output", type=OutputFolder(), help="Write the frames into this new folder; else they are sent.")
@_JSON
def simulate(
    file: Path,
    values: Path,
    *,
    devices: int | None,
    epoch: int | None,
    column: str | None,
    user: str | None,
    tags: Path | None,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Draw a report for each of many devices under the simulated collection in FILE, and send them in frames.

    VALUES is a table with a row per person. Seeded and marked: such reports protect nobody.
    """
    from discreet.cli.output import notes_on_errors
    from discreet.cli.values import secrets, value_columns, value_source
    from discreet.cli.verbs.collection import opened_file
    from discreet.core.random import SeededRandom
    from discreet.engines.obfuscation import codes_of
    from discreet.formats.signing import plan_of
    from discreet.simulation.devices import chosen, frames

    found, random = opened_file(file, ()), SeededRandom(seed)
    if epoch is None and (epoch := found.epoch_at(time.time())) is None:
        raise ParameterError("no epoch of this collection runs now; name one with --epoch.")
    plan = plan_of(found)
    columns = value_columns(plan, column=column, user=user, tags=tags, missing="refuse")
    with notes_on_errors():
        codes = codes_of(value_source(values), columns, secrets(plan, tags, columns))
    people = codes if devices is None else chosen(codes, devices, random)
    packed = frames(found, people, epoch, random)
    count = _post_frames(found, packed) if output is None else _write_frames(output, packed)
    where = ", ".join(found.collectors) if output is None else str(output)
    facts = {"devices": len(people), "epoch": epoch, "frames": count, "to": where, "simulated": True}
    lines = [f"{len(people)} simulated reports of epoch {epoch} in {count} frames to {where}."]
    show(facts, lines, as_json=as_json, whole=True)


def _post_frames(found: "Collection", packed: Iterable[bytes]) -> int:
    from discreet.device.sending import post

    count = 0
    for frame in packed:
        for _ in range(10):
            said = post(found.collectors[0], frame)
            if said.is_taken or said.is_final:
                break
            time.sleep(max(said.retry_after, 0.5))
        if not said.is_taken:
            raise DataError(f"the collector must take frame {count}, and answers {said.status or 'nothing'}.")
        count += 1
    return count


def _write_frames(folder: Path, packed: Iterable[bytes]) -> int:
    from discreet.files.writing import replacing

    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for frame in packed:
        with replacing(folder / f"frame-{count:06}.bin") as target:
            target.write_bytes(frame)
        count += 1
    return count
