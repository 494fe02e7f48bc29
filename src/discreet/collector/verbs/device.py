"""The verbs ``device``: a person's device in a folder with its settings, and many simulated ones."""

import json
import os
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet.cli.commands import SubcommandGroup
from discreet.cli.options import Count, OptionGroup, PeopleColumns, at_a_terminal, option
from discreet.cli.output import (
    InputFile,
    OutputFolder,
    notes_on_errors,
    prints_json,
    read_as_record,
    read_as_table,
    say,
    show,
)
from discreet.collector.verbs.parameters import KEY, key_of, spelled_key
from discreet.core.labels.spaces import NUMBERS, TEXT, LabelSpace
from discreet.device import Device, Limits
from discreet.device.protocol.collection import Collection
from discreet.device.protocol.envelope import MOST_ENVELOPE_BYTES
from discreet.device.protocol.notice import notice
from discreet.device.sending import checked_proxy, fetch, post
from discreet.errors import DataError, ParameterError
from discreet.files.writing import replacing

DEFAULT = "~/.local/share/discreet"
_SETTINGS = "settings.json"


def _folder(_: click.Context, __: click.Parameter, store: Path | None) -> Path:
    """Return the folder of ``--store``, or the one of this user."""
    if store is not None:
        return store
    try:
        return Path(DEFAULT).expanduser()
    except RuntimeError:
        raise ParameterError("store.no-home", argument="store") from None


def opened_device(folder: Path, settings: dict[str, Any] | None = None, proxy: str | None = None) -> Device:
    """Return the device in a folder, with these settings or those that it was joined with."""
    kept_settings = _kept_settings(folder) if settings is None else settings
    try:
        trust = [key_of(key) for key in kept_settings["trust"]]
        limits = Limits(**kept_settings["limits"])
    except (KeyError, TypeError, click.BadParameter):
        raise ParameterError("device.damaged-settings", path=folder / _SETTINGS) from None
    simulated = kept_settings.get("simulated") is True
    return Device(folder, trust, limits, simulated=simulated, proxy=proxy)


def _kept_settings(folder: Path) -> dict[str, Any]:
    try:
        settings = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError("device.missing", folder=folder) from None
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise ParameterError("device.damaged-settings", path=folder / _SETTINGS)
    return settings


def refuse_another_kind(folder: Path, simulated: bool) -> None:
    """Refuse to make a person's device one of a simulation, or the other way round: budgets would mix."""
    try:
        settings = _kept_settings(folder)
    except ParameterError:
        # There is no device, or none whose settings can be read: joining writes them anew.
        return
    if (settings.get("simulated") is True) != simulated:
        kind = "people" if simulated else "a simulation"
        raise ParameterError("device.other-kind", argument="store", folder=folder, kind=kind)


def keep_settings(folder: Path, settings: dict[str, Any]) -> None:
    """Write the settings of a device, for its owner alone, in place of earlier ones."""
    beside = folder / f".{_SETTINGS}"
    with os.fdopen(os.open(beside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        json.dump(settings, file)
    beside.replace(folder / _SETTINGS)


def read_envelope(address: str, proxy: str | None) -> bytes:
    """Return the signed collection at an address, which is a file or a URL."""
    if "://" not in address:
        if proxy is not None:
            raise ParameterError("proxy.with-file", argument="proxy")
        try:
            with Path(address).open("rb") as file:
                return file.read(MOST_ENVELOPE_BYTES + 1)
        except FileNotFoundError:
            raise ParameterError("collection.not-found", address=address) from None
    return fetch(address, checked_proxy(proxy))


_STORE = click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="DISCREET_DEVICE",
    callback=_folder,
    help=f"Private folder of the device. [{DEFAULT}, or DISCREET_DEVICE]",
)
_PROXY = click.option(
    "--proxy",
    metavar="URL",
    help="HTTP proxy, as http://HOST:PORT, or '' for none. [from HTTPS_PROXY and NO_PROXY]",
)


@dataclass(frozen=True, slots=True)
class _Joining(OptionGroup):
    """The keys that a device trusts, and its limits."""

    trust: tuple[bytes, ...] = option(
        "--trust",
        required=True,
        multiple=True,
        **KEY,
        help="Trusted public key of a signer. May be repeated.",
    )
    report: float = option("--report", type=float, default=2.0, help="Largest epsilon of one report, in nats.")
    epoch: float = option("--epoch", type=float, default=4.0, help="Largest sum of epsilon in one epoch, in nats.")
    lifetime: float = option("--lifetime", type=float, default=20.0, help="Largest sum of epsilon, in nats.")
    simulated: bool = option("--simulated", is_flag=True, help="Make a device for simulated collections only.")

    def settings(self) -> dict[str, Any]:
        """Return the settings of the device."""
        limits = {"report": self.report, "epoch": self.epoch, "lifetime": self.lifetime}
        return {
            "trust": [spelled_key(key) for key in self.trust],
            "limits": limits,
            "simulated": self.simulated,
        }


@click.group(cls=SubcommandGroup)
def device() -> None:
    """Act as a device: join a collection, answer, and send.

    Nothing is sent without consent.
    """


@device.command(epilog="Example: discreet device join https://collect.example.org/v1/collections/habits --trust KEY")
@click.argument("address")
@_Joining.options
@click.option("--agree", is_flag=True, help="Agree without being asked.")
@_PROXY
@_STORE
def join(address: str, terms: _Joining, *, agree: bool, proxy: str | None, store: Path) -> None:
    """Check the collection at ADDRESS, show it, and ask for consent.

    ADDRESS is a URL or a file.

    The device's folder stores the keys and limits for the other commands. They replace earlier ones.
    """
    refuse_another_kind(store, terms.simulated)
    with opened_device(store, terms.settings()) as opened:
        collection = opened.accept(read_envelope(address, proxy), rebuild=True)
        keep_settings(store, terms.settings())
        lines = list(notice(collection))
        if not prints_json():
            say(lines, whole=True)
        if agreed := collection.state == "open" and (agree or (not prints_json() and _asked())):
            opened.agree(collection)
    facts = {
        "name": collection.name,
        "version": collection.version,
        "id": collection.id.hex(),
        "agreed": agreed,
        "notice": lines,
    }
    sentences = [f"{'Agreed to' if agreed else 'Not agreed to'} {collection.name}, version {collection.version}."]
    show(facts, [*sentences, values_to_type(collection)] if agreed else sentences, whole=True)


def _asked() -> bool:
    if not at_a_terminal():
        raise ParameterError("agree.no-terminal", argument="agree")
    return click.confirm("Do you agree?", default=False)


@device.command(
    context_settings={"ignore_unknown_options": True}, epilog="Example: discreet device answer habits daily"
)
@click.argument("name")
@click.argument("value", nargs=-1, required=True)
@_STORE
def answer(name: str, value: tuple[str, ...], *, store: Path) -> None:
    """Answer the collection NAME with VALUE, once in its epoch.

    `discreet device send` sends the answer.

    VALUE is a label. For several attributes it is a label of each, as age=30s marital=single; on a map it is a latitude
    and a longitude. With - it is read from standard input, so that no history of commands contains it. The exit code is
    2 if no report was made: you answered before, nobody agreed, the budget is spent, or the collection is closed. It is
    0 for a question of a survey that was not drawn for you.
    """
    with opened_device(store) as opened:
        collection = opened.collection(name)
        outcome = opened.answer(collection, typed_value(collection, value))
    words = {
        "recorded": "Your answer is recorded. To send the report: `discreet device send`.",
        "unasked": "This question of the survey was not drawn for you. No report was made.",
        "already": "You have already answered. No new report was made.",
        "exhausted": "Your privacy budget is spent. No report was made.",
        "closed": "The collection accepts no answers now. No report was made.",
        "declined": "You have not agreed. No report was made. To agree, join the collection again.",
    }
    show({"name": name, "outcome": str(outcome)}, [words[outcome]], whole=True)
    if outcome not in {"recorded", "unasked"}:
        raise click.exceptions.Exit(2)


@device.command(
    context_settings={"ignore_unknown_options": True}, epilog="Example: discreet device tag habits home=Berlin"
)
@click.argument("name")
@click.argument("places", nargs=-1)
@_STORE
def tag(name: str, places: tuple[str, ...], *, store: Path) -> None:
    """Store your secret values for the personalized collection NAME.

    Each of PLACES is TAG=VALUE, or VALUE if the plan has cells.

    VALUE is a label, LAT,LON or "age=30s sex=f". Leave PLACES out if you have no secret values. The values stay on this
    device. They cannot change after the first answer.
    """
    with opened_device(store) as opened:
        collection = opened.collection(name)
        opened.tag(collection, typed_places(collection, places))
    count = len(set(places))
    sentence = f"{count} secret {'value is' if count == 1 else 'values are'} stored on this device."
    show({"name": name, "places": count}, [sentence], whole=True)


@device.command(epilog="Example: discreet device send")
@_PROXY
@_STORE
def send(*, proxy: str | None, store: Path) -> None:
    """Send the reports that are due now."""
    with opened_device(store, proxy=proxy) as opened:
        outcome = opened.send()
    facts = {"sent": outcome.sent, "dropped": outcome.dropped, "waiting": outcome.waiting, "reason": outcome.reason}
    why = [] if outcome.reason is None else [f"Not sent yet. {outcome.reason}"]
    show(
        facts,
        [f"Reports: {outcome.sent} sent, {outcome.dropped} dropped, {outcome.waiting} waiting.", *why],
        whole=True,
    )


@device.command(epilog="Example: discreet device status")
@_STORE
def status(*, store: Path) -> None:
    """Show the collections that you joined, and the privacy budget."""
    with opened_device(store) as opened:
        budget, held = opened.budget(), opened.export()["collections"]
    facts = {"spent": budget.spent, "left": budget.left, "names": dict(budget.names), "collections": held}
    lines = [
        f"{survey['name']}, version {survey['version']}: "
        f"{'declined' if survey['declined'] else 'agreed' if survey['agreed'] else 'not agreed'}; "
        f"epsilon spent: {budget.names.get(survey['name'], 0.0):g}."
        for survey in held
    ]
    show(facts, [*lines, f"Total epsilon spent: {budget.spent:g}. Left: {budget.left:g}."], whole=True)


@device.command(epilog="Example: discreet device log")
@_STORE
def log(*, store: Path) -> None:
    """Show all reports, waiting, sent or dropped, with their bytes."""
    with opened_device(store) as opened:
        entries = opened.log()
    lines = [
        f"{entry.name}, version {entry.version}, epoch {entry.epoch}: {entry.record.hex()} {entry.state}"
        + (f" ({entry.status})" if entry.status else "")
        for entry in entries
    ]
    show({"reports": [entry.document() for entry in entries]}, lines or ["No reports."], whole=True)


@device.command(epilog="Example: discreet device decline habits")
@click.argument("name")
@_STORE
def decline(name: str, *, store: Path) -> None:
    """Stop answering the collection NAME.

    Reports that were not sent are erased.
    """
    with opened_device(store) as opened:
        opened.decline(name)
    show(
        {"name": name, "declined": True},
        [f"You no longer answer {name}. Reports that were not sent are erased."],
        whole=True,
    )


@device.command(epilog="Example: discreet device forget")
@_STORE
def forget(*, store: Path) -> None:
    """Erase everything except the spent privacy budget.

    The versions of collections stay too, so that no budget starts again.
    """
    with opened_device(store) as opened:
        opened.forget()
    show(
        {"forgotten": True},
        ["Everything is erased except the versions seen and the budget spent."],
        whole=True,
    )


@dataclass(frozen=True, slots=True)
class _Crowd(OptionGroup):
    """The simulated devices and their epoch."""

    devices: int | None = option(
        "--devices", type=Count(1), help="Number of devices, each with a random row. [one for each row]"
    )
    epoch: int | None = option("--epoch", type=Count(0), help="Epoch of the reports. [the current one]")
    seed: int = option("--seed", type=int, default=1, help="Seed. The same seed gives the same frames.")


@device.command(epilog="Example: discreet device simulate habits.json people.csv -o frames")
@click.argument("file", type=InputFile())
@click.argument("values", type=InputFile())
@_Crowd.options
@PeopleColumns.options
@click.option(
    "-o", "--output", type=OutputFolder(), help="Write the frames into this new folder instead of sending them."
)
def simulate(file: Path, values: Path, crowd: _Crowd, people: PeopleColumns, *, output: Path | None) -> None:
    """Draw and send reports of many simulated devices.

    FILE is a simulated collection. VALUES is a table with a row per person.

    The reports come from a seed and are marked as simulated. They protect nobody.
    """
    # A person's device needs none of this.
    from discreet.cli.verbs.obfuscate import secrets, value_columns, value_source
    from discreet.collector.documents.signing import plan_of
    from discreet.collector.simulated_devices import chosen, frames
    from discreet.collector.verbs.collection import opened_file
    from discreet.core.random import SeededRandom, fresh_words
    from discreet.engines.obfuscation import codes_of
    from discreet.tables.values import ReadAs

    collection, random, epoch = opened_file(file, ()), SeededRandom(crowd.seed), crowd.epoch
    if epoch is None and (epoch := collection.epoch_at(time.time())) is None:
        raise ParameterError("epoch.none-now", argument="epoch")
    plan = plan_of(collection)
    columns, read_as = value_columns(plan, people), ReadAs()
    with notes_on_errors():
        codes = codes_of(
            value_source(values), replace(columns, placeholders=secrets(plan, people.tags, columns)), read_as
        )
    drawn = codes if crowd.devices is None else chosen(codes, crowd.devices, random)
    if collection.survey is not None:
        # With the same seed, each person answers their own questions of all its collections.
        drawn = drawn[collection.survey.asked(collection.name, fresh_words(random, len(drawn)))]
    packed = frames(collection, drawn, epoch, random)
    count = _post_frames(collection, packed) if output is None else _write_frames(output, packed)
    where = ", ".join(collection.collectors) if output is None else str(output)
    facts = {"devices": len(drawn), "epoch": epoch, "frames": count, "to": where, "simulated": True}
    lines = [f"{len(drawn)} simulated reports of epoch {epoch} in {count} frames to {where}."]
    show(facts | read_as_record(read_as), [*read_as_table(read_as), *lines], whole=True)


def _post_frames(collection: Collection, packed: Iterable[bytes]) -> int:
    count = 0
    for frame in packed:
        for _ in range(10):
            reply = post(collection.collectors[0], frame)
            if reply.is_taken or reply.is_final:
                break
            time.sleep(max(reply.retry_after, 0.5))
        if not reply.is_taken:
            raise DataError("frame.not-taken", n=count, reply=reply.status or "nothing")
        count += 1
    return count


def _write_frames(folder: Path, packed: Iterable[bytes]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for frame in packed:
        with replacing(folder / f"frame-{count:06}.bin") as target:
            target.write_bytes(frame)
        count += 1
    return count


_LONGEST, _MOST_TYPED_DIGITS, _MOST_SHOWN = 1 << 16, 20, 20


def typed_value(collection: Collection, typed: Sequence[str]) -> Any:
    """Return the typed value; a value outside the domain is refused later, and nothing is quoted.

    Args:
        collection: the collection.
        typed: the words of a value; ``-`` alone to read them from standard input.

    Raises:
        ParameterError: if there is no standard input.
        DataError: if the words make no value.
    """
    if list(typed) == ["-"]:
        line = _line_of_input()
        typed = _words(line) if collection.domain.space.column_names else [line]
    return _value(collection.domain.space, typed)


def typed_places(collection: Collection, typed: Sequence[str]) -> Any:
    """Return secret values by tag, or a list of them if placeholders stand for cells; see `typed_value`."""
    space = collection.domain.space
    if collection.placeholders is not None and collection.placeholders.cell_of is not None:
        return [_value(space, text.split(",")) for text in typed]
    tagged: dict[str, list[Any]] = {}
    for text in typed:
        name, _, label = text.partition("=")
        words = _words(label) if space.parts else label.split(",") if space.column_names else [label]
        tagged.setdefault(name, []).append(_value(space, words))
    return tagged


def values_to_type(collection: Collection) -> str:
    """Return the sentences that explain how to type an answer."""
    space = collection.domain.space
    if space.parts:
        parts = ", ".join(f"{name}: {_shown(part)}" for name, part in space.parts.items())
        wanted = f"{' '.join(f'{name}=LABEL' for name in space.parts)} ({parts})"
    elif space.column_names:
        wanted = "a latitude and a longitude within the map"
    else:
        wanted = f"one of {_shown(space)}"
    return f"{_how_to_tag(collection)}To answer: `discreet device answer {collection.name} VALUE`. VALUE is {wanted}."


def _how_to_tag(collection: Collection) -> str:
    """Return the sentences about secret values, for personalized plans only."""
    if (placeholders := collection.placeholders) is None:
        return ""
    by_tag = placeholders.cell_of is None
    tags = f"TAG is one of {'; '.join(placeholders.tags)}. " if by_tag else ""
    verb = f"`discreet device tag {collection.name} {'TAG=' if by_tag else ''}VALUE...`"
    return f"First enter your own secret values: {verb}. Leave the values out if you have none. {tags}"


def _shown(space: LabelSpace) -> str:
    more = f"; and {space.size - _MOST_SHOWN} more" if space.size > _MOST_SHOWN else ""
    return "; ".join(space.names(np.arange(min(space.size, _MOST_SHOWN)))) + more


def _value(space: LabelSpace, typed: Sequence[str]) -> Any:
    if not space.column_names:
        return _label(space.holds, " ".join(typed))
    if not space.parts:
        return tuple(map(_number, typed))
    pairs = [text.partition("=")[::2] for text in typed]
    if len(dict(pairs)) < len(pairs):
        raise DataError("attribute.named-twice")
    return {name: _label(space.parts[name].holds if name in space.parts else "", label) for name, label in pairs}


def _line_of_input() -> str:
    """Return the one line of standard input; of a terminal the first."""
    if sys.stdin is None:
        raise ParameterError("standard-input.closed")
    try:
        text = sys.stdin.readline() if sys.stdin.isatty() else sys.stdin.read(_LONGEST)
    except UnicodeDecodeError:
        raise DataError("standard-input.not-utf-8") from None
    line = text.removesuffix("\n")
    if not text or "\n" in line:
        raise DataError("standard-input.not-one-line", n=text.count(chr(10)))
    return line


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        raise DataError("quotation.not-closed") from None


def _label(holds: str, typed: str) -> Any:
    if holds == NUMBERS:
        return _number(typed)
    if holds == TEXT or not typed.removeprefix("-").isdecimal() or len(typed) > _MOST_TYPED_DIGITS:
        return typed
    return int(typed)


def _number(typed: str) -> Any:
    try:
        return float(typed)
    except ValueError:
        return None
