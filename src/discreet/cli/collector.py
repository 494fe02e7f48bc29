"""The verbs ``collector``: what operators do with a collector's data, whether it runs or not."""

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import VerbGroup
from discreet.cli.output import Table, show
from discreet.cli.output_files import InputFile
from discreet.cli.parameters import Count, PublicKey
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.collector.folder import DataFolder

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
_PLACES = (
    click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Folder of the collector's data."),
    click.option("--config", type=InputFile(), help="Settings of the collector, which name its folder."),
)


def _places(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whose data is meant."""
    for option in reversed(_PLACES):
        verb = option(verb)
    return verb


def _folder(data: Path | None, config: Path | None, *, make: bool = False) -> "DataFolder":
    from discreet.collector.folder import DataFolder
    from discreet.collector.settings import load_settings

    flags = {"data": None if data is None else str(data)}
    return DataFolder(load_settings(config, flags=flags).folder, make=make)


def _asked(
    data: Path | None, config: Path | None, operation: str, *, make: bool = False, **given: Any
) -> dict[str, Any]:
    """Return the answer of an operation, by the collector that runs on the folder, or by this process."""
    from discreet.collector.control import ask

    return ask(_folder(data, config, make=make), operation, **given)


@click.group(cls=VerbGroup)
def collector() -> None:
    """Operate a collector: add collections, seal epochs, make tokens, back up, check. It may run meanwhile."""


@collector.command()
@click.argument("collection", type=InputFile())
@click.option("--trust", multiple=True, type=PublicKey(), help="Public key that may have signed it; repeatable.")
@_places
@_JSON
def add(collection: Path, *, trust: tuple[bytes, ...], data: Path | None, config: Path | None, as_json: bool) -> None:
    """Add the signed COLLECTION, a higher version of one, or the notice that one is withdrawn.

    Everything that a device checks is checked, and the mechanism is rebuilt from the plan. Keys are those of --trust,
    or of the settings.
    """
    from discreet.cli.parameters import spelled_key
    from discreet.collector.settings import load_settings
    from discreet.io.envelope import MOST_ENVELOPE_BYTES

    keys = [spelled_key(key) for key in trust] or list(load_settings(config).trust)
    try:
        with collection.open("rb") as file:
            envelope = file.read(MOST_ENVELOPE_BYTES + 1)
    except OSError as error:
        raise ParameterError(
            f"{collection} must be a signed collection, and cannot be read ({error.strerror})."
        ) from None
    spelled = base64.b64encode(envelope).decode()
    facts = _asked(data, config, "add", make=True, envelope=spelled, trust=keys)
    what = "withdrawn" if facts["state"] == "withdrawn" else "open"
    sentence = f"{facts['name']} version {facts['version']} is {what}" + (
        "." if facts["new"] else "; it was here already."
    )
    show(facts, [sentence], as_json=as_json, whole=True)


@collector.command("list")
@_places
@_JSON
def list_collections(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """List the collections, all versions."""
    facts = _asked(data, config, "list")
    cells = [[row["name"], str(row["version"]), row["state"], row["id"][:16]] for row in facts["collections"]]
    table = Table("Collections", ["name", "version", "state", "id"], cells, left=4)
    show(facts, [table], as_json=as_json)


@collector.command()
@_places
@_JSON
def status(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Show how many reports of each epoch wait or are sealed, and how many were refused, by reason."""
    facts = _asked(data, config, "status")
    headings = ["name", "version", "epoch", "waiting", "sealed", "duplicates", "conflicts"]
    cells = [[str({**row, "epoch": _spelled(row)}[name]) for name in headings] for row in facts["epochs"]]
    counts = [[reason, str(count)] for reason, count in sorted(facts["refusals"].items())]
    tables = [Table("Epochs", headings, cells, left=2), Table("Refused", ["reason", "count"], counts)]
    show(facts, tables, as_json=as_json)


def _spelled(batch: dict[str, Any]) -> str:
    return f"{batch['epoch']}" if batch["epoch"] == batch["last"] else f"{batch['epoch']}-{batch['last']}"


@collector.command()
@click.argument("name")
@click.option("--epoch", "epochs", multiple=True, type=Count(0), help="One that may not be over: it is closed.")
@click.option("--version", type=Count(1), help="Of the collection. [the newest]")
@_places
@_JSON
def seal(
    name: str, *, epochs: tuple[int, ...], version: int | None, data: Path | None, config: Path | None, as_json: bool
) -> None:
    """Seal the epochs of the collection NAME that are over, or those that are named.

    An epoch with fewer reports than the collection's least number waits, and is sealed together with the next one.
    """
    facts = _asked(data, config, "seal", name=name, epochs=list(epochs), version=version)
    sentences = [
        f"{'Epoch' if one['epoch'] == one['last'] else 'Epochs'} {_spelled(one)}: {one['n']:,} reports sealed in "
        f"{one['file']} ({one['duplicates']:,} duplicates and {one['conflicts']:,} conflicts left out)."
        for one in facts["sealed"]
    ]
    if facts["few"]:
        few = ", ".join(str(epoch) for epoch in facts["few"])
        sentences.append(
            f"Not sealed: {few}. There are fewer than {facts['least']:,} different reports; they are sealed together "
            "with the next epoch."
        )
    show(facts, sentences or ["Nothing is to be sealed."], as_json=as_json, whole=True)


@collector.group()
def token() -> None:
    """Make, list and end tokens, by which programs and people see estimates."""


@token.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["analyst", "operator"]), required=True, help="What the holder may see.")
@click.option("--days", type=Count(1), help="How long it is good for. [until it is ended]")
@_places
@_JSON
def add_token(name: str, *, role: str, days: int | None, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Make a token for NAME; it is printed once and kept nowhere."""
    facts = _asked(data, config, "token add", make=True, name=name, role=role, days=days)
    show(facts, [facts["token"]], as_json=as_json, whole=True)


@token.command("list")
@_places
@_JSON
def list_tokens(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """List the tokens by name."""
    facts = _asked(data, config, "token list")
    cells = [[row["name"], row["role"], "yes" if row["good"] else "no"] for row in facts["tokens"]]
    show(facts, [Table("Tokens", ["name", "role", "good"], cells, left=3)], as_json=as_json)


@token.command("end")
@click.argument("name")
@_places
@_JSON
def end_token(name: str, *, data: Path | None, config: Path | None, as_json: bool) -> None:
    """End the token of NAME."""
    facts = _asked(data, config, "token end", name=name)
    show(facts, [f"The token of {name} is ended."], as_json=as_json, whole=True)


@collector.command()
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--sealed-only", is_flag=True, help="Leave out reports that are not sealed, with their ids and order.")
@_places
@_JSON
def backup(target: Path, *, sealed_only: bool, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Copy all data into the new folder TARGET, while the collector runs, which writes it."""
    facts = _asked(data, config, "backup", target=str(target.absolute()), sealed_only=sealed_only)
    show(facts, [f"{facts['files']} files are in {target}."], as_json=as_json, whole=True)


@collector.command()
@click.argument("source", type=InputFile())
@_places
@_JSON
def restore(source: Path, *, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Copy the backup SOURCE into a folder without data, and check it; exit with 1 if a check fails.

    Epochs that were sealed after the backup are open again there, with the reports that they had.
    """
    from discreet.collector import backup as backups

    # Before a folder is made for it.
    kept = backups.backup_in(source)
    _judged(backups.restore(kept, _folder(data, config, make=True)), as_json=as_json)


@collector.command()
@_places
@_JSON
def check(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Check every invariant of the data, changing nothing; exit with 1 if one does not hold."""
    _judged(_asked(data, config, "check")["flaws"], as_json=as_json)


def _judged(flaws: Sequence[str], *, as_json: bool) -> None:
    show({"holds": not flaws, "flaws": list(flaws)}, flaws or ["Everything holds."], as_json=as_json, whole=True)
    if flaws:
        raise click.exceptions.Exit(1)


@collector.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@_places
@_JSON
def purge(name: str, *, yes: bool, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Delete the collection NAME, all versions, with all reports, sealed files and tallies."""
    folder = _folder(data, config)
    if not yes:
        click.confirm(f"Delete {name} with all of its reports, for good?", abort=True)
    from discreet.collector.control import ask

    facts = ask(folder, "purge", name=name)
    counts = ", ".join(f"{facts[what]:,} {what}" for what in ("versions", "reports", "sealed"))
    show(facts, [f"{name} is deleted: {counts}."], as_json=as_json, whole=True)
