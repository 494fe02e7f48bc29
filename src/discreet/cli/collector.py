"""The verbs ``collector``: what operators do with a collector's data, whether it runs or not."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.group import VerbGroup
from discreet.cli.output import Table, show
from discreet.cli.output_files import InputFile
from discreet.cli.parameters import Count, PublicKey
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.collector.catalogue import Catalogue
    from discreet.collector.folder import DataFolder
    from discreet.collector.sqlite import SqliteStore

_ACTOR = "command line"
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


@contextmanager
def _opened(folder: "DataFolder", *, read_only: bool = False) -> Iterator["SqliteStore"]:
    from discreet.collector.sqlite import SqliteStore

    store = SqliteStore(folder.database, read_only=read_only)
    try:
        yield store
    finally:
        store.close()


def _catalogue(store: "SqliteStore") -> "Catalogue":
    from discreet.collector.catalogue import Catalogue

    found = Catalogue()
    found.load(store)
    return found


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
    from discreet.collector import adding
    from discreet.collector.settings import load_settings
    from discreet.io.envelope import MOST_ENVELOPE_BYTES

    keys = trust or adding.trusted(load_settings(config).trust)
    try:
        with collection.open("rb") as file:
            envelope = file.read(MOST_ENVELOPE_BYTES + 1)
    except OSError as error:
        raise ParameterError(
            f"{collection} must be a signed collection, and cannot be read ({error.strerror})."
        ) from None
    with _opened(_folder(data, config, make=True)) as store:
        row, fresh = adding.add(store, envelope, keys, actor=_ACTOR)
    what = "withdrawn" if row.state == "withdrawn" else "open"
    facts = {"name": row.name, "version": row.version, "id": row.id.hex(), "state": row.state, "new": fresh}
    sentence = f"{row.name} version {row.version} is {what}" + ("." if fresh else "; it was here already.")
    show(facts, [sentence], as_json=as_json, whole=True)


@collector.command("list")
@_places
@_JSON
def list_collections(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """List the collections, all versions."""
    with _opened(_folder(data, config), read_only=True) as store:
        rows = store.collections()
    facts = [
        {"name": row.name, "version": row.version, "state": row.state, "id": row.id.hex(), "added": row.added}
        for row in rows
    ]
    cells = [[row.name, str(row.version), row.state, row.id.hex()[:16]] for row in rows]
    table = Table("Collections", ["name", "version", "state", "id"], cells, left=4)
    show({"collections": facts}, [table], as_json=as_json)


@collector.command()
@_places
@_JSON
def status(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Show how many reports of each epoch wait or are sealed, and how many were refused, by reason."""
    with _opened(_folder(data, config), read_only=True) as store:
        names = {row.key: (row.name, row.version) for row in store.collections()}
        waiting, seals, refused = store.waiting(), store.seals(), store.refusals()
    epochs = [_epoch(names, key, epoch, waiting=n) for (key, epoch), n in sorted(waiting.items())]
    epochs += [
        _epoch(names, one.collection, one.epoch, sealed=one.n, duplicates=one.duplicates, conflicts=one.conflicts)
        for one in seals
    ]
    refusals: dict[str, int] = {}
    for (_, _, reason), count in refused.items():
        refusals[reason] = refusals.get(reason, 0) + count
    headings = ["name", "version", "epoch", "waiting", "sealed", "duplicates", "conflicts"]
    tables = [
        Table("Epochs", headings, [[str(row[name]) for name in headings] for row in epochs], left=2),
        Table("Refused", ["reason", "count"], [[reason, str(count)] for reason, count in sorted(refusals.items())]),
    ]
    show({"epochs": epochs, "refusals": refusals}, tables, as_json=as_json)


def _epoch(names: dict[int, tuple[str, int]], key: int, epoch: int, **counts: int) -> dict[str, Any]:
    name, version = names.get(key, ("?", 0))
    none = {"waiting": 0, "sealed": 0, "duplicates": 0, "conflicts": 0}
    return {"name": name, "version": version, "epoch": epoch, **none, **counts}


@collector.command()
@click.argument("name")
@click.option("--epoch", "epochs", multiple=True, type=Count(0), help="One that may not be over: it is closed.")
@click.option("--version", type=Count(1), help="Of the collection. [the newest]")
@_places
@_JSON
def seal(
    name: str, *, epochs: tuple[int, ...], version: int | None, data: Path | None, config: Path | None, as_json: bool
) -> None:
    """Seal the epochs of the collection NAME that are over, or those that are named."""
    from discreet.collector.catalogue import LATE
    from discreet.collector.sealing import Sealing

    folder = _folder(data, config)
    with _opened(folder) as store:
        found = [one for one in _catalogue(store).by_id.values() if one.row.name == name]
        entries = [one for one in found if version in {None, one.row.version}]
        if not entries:
            raise ParameterError(f"no collection is called {name!r}" + (f" in version {version}." if version else "."))
        entry = max(entries, key=lambda one: one.row.version)
        pending = [epoch for key, epoch in store.pending() if key == entry.key]
        over = [epoch for epoch in pending if entry.when(epoch, time.time()) == LATE]
        rows = [Sealing(store, folder, entry, epoch).run(_ACTOR) for epoch in epochs or over]
    facts = [
        {"epoch": row.epoch, "file": row.file, "n": row.n, "duplicates": row.duplicates, "conflicts": row.conflicts}
        for row in rows
        if row is not None
    ]
    sentences = [
        f"Epoch {one['epoch']}: {one['n']:,} reports sealed in {one['file']} ({one['duplicates']:,} duplicates and "
        f"{one['conflicts']:,} conflicts left out)."
        for one in facts
    ]
    show({"sealed": facts}, sentences or ["Nothing is to be sealed."], as_json=as_json, whole=True)


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
    from discreet.collector.tokens import new_token

    with _opened(_folder(data, config, make=True)) as store:
        made = new_token(store, name, role, days=days, actor=_ACTOR)
    show({"name": name, "role": role, "token": made}, [made], as_json=as_json, whole=True)


@token.command("list")
@_places
@_JSON
def list_tokens(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """List the tokens by name."""
    with _opened(_folder(data, config), read_only=True) as store:
        rows = store.tokens()
    now = time.time()
    tokens = [
        {"name": row.name, "role": row.role, "made": row.made, "ends": row.ends, "good": row.is_good(now)}
        for row in rows
    ]
    cells = [[row.name, row.role, "yes" if row.is_good(now) else "no"] for row in rows]
    show({"tokens": tokens}, [Table("Tokens", ["name", "role", "good"], cells, left=3)], as_json=as_json)


@token.command("end")
@click.argument("name")
@_places
@_JSON
def end_token(name: str, *, data: Path | None, config: Path | None, as_json: bool) -> None:
    """End the token of NAME."""
    from discreet.collector import tokens

    with _opened(_folder(data, config)) as store:
        tokens.end_token(store, name, actor=_ACTOR)
    show({"name": name, "ended": True}, [f"The token of {name} is ended."], as_json=as_json, whole=True)


@collector.command()
@click.argument("target", type=click.Path(path_type=Path))
@_places
@_JSON
def backup(target: Path, *, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Copy the database and the sealed files into the new folder TARGET, while the collector runs."""
    from discreet.collector import backup as backups

    files = backups.backup(_folder(data, config), target)
    show({"target": str(target), "files": files}, [f"{files} files are in {target}."], as_json=as_json, whole=True)


@collector.command()
@click.argument("source", type=InputFile())
@_places
@_JSON
def restore(source: Path, *, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Copy the backup SOURCE into a folder without data, and check it; exit with 1 if a check fails."""
    from discreet.collector import backup as backups

    # Before a folder is made for it.
    kept = backups.backup_in(source)
    _judged(backups.restore(kept, _folder(data, config, make=True)), as_json=as_json)


@collector.command()
@_places
@_JSON
def check(*, data: Path | None, config: Path | None, as_json: bool) -> None:
    """Check every invariant of the data, changing nothing; exit with 1 if one does not hold."""
    from discreet.collector import backup as backups

    _judged(backups.check(_folder(data, config)), as_json=as_json)


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
    from discreet.collector import adding

    folder = _folder(data, config)
    if not yes:
        click.confirm(f"Delete {name} with all of its reports, for good?", abort=True)
    with _opened(folder) as store:
        gone = adding.purge(store, folder, name, actor=_ACTOR)
    counts = ", ".join(f"{count:,} {what}" for what, count in gone.items())
    show({"name": name, **gone}, [f"{name} is deleted: {counts}."], as_json=as_json, whole=True)
