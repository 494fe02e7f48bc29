"""The verbs ``collector``, for operators and a collector's data, whether it runs or not, and the verb ``serve``."""

import base64
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.commands import Subcommand, SubcommandGroup
from discreet.cli.options import Count, OptionGroup, option
from discreet.cli.output import InputFile, OutputFile, say, show
from discreet.collector.control import ask
from discreet.collector.settings import Settings, is_loopback, load_settings
from discreet.collector.storage.folder import DataFolder
from discreet.collector.verbs.parameters import KEY, TRUST, opened_file, spelled_key
from discreet.core.result_table import ResultTable
from discreet.device.protocol.envelope import signers
from discreet.errors import ParameterError
from discreet.extras import optional
from discreet.formats.sealed_files import SEALED_REPORTS

if TYPE_CHECKING:
    from socket import socket


@dataclass(frozen=True, slots=True)
class _Place(OptionGroup):
    """The collector whose data is meant."""

    data: Path | None = option(
        "--data", type=click.Path(path_type=Path, file_okay=False), help="Folder of the collector's data."
    )
    config: Path | None = option("--config", type=InputFile(), help="Settings file of the collector, with its folder.")

    def folder(self, *, make: bool = False) -> DataFolder:
        """Return the folder of the data, made if need be."""
        flags = {"data": None if self.data is None else str(self.data)}
        settings = load_settings(self.config, flags=flags)
        return DataFolder(Path(settings.data), make=make)

    def asked(self, operation: str, *, make: bool = False, **given: Any) -> dict[str, Any]:
        """Return the answer of an operation, by the collector that runs on the folder, or by this process."""
        return ask(self.folder(make=make), operation, **given)


@dataclass(frozen=True, slots=True)
class _Outside(OptionGroup):
    """Reports that others keep, and the sealed file that is made of them."""

    source: Path | None = option(
        "--from", type=InputFile(), metavar="SOURCE", help="Reports that your own service keeps: frames or Parquet."
    )
    output: Path | None = option(
        "-o",
        "--output",
        type=OutputFile("sealed files", SEALED_REPORTS),
        help="With --from: the sealed file.",
    )
    trust: tuple[bytes, ...] = option(
        "--trust", multiple=True, **KEY, help="With --from: public key that may have signed the collection."
    )
    force: bool = option("--force", is_flag=True, help="With --from: replace a sealed file that exists.")

    def seal(self, collection: Path, epochs: list[int]) -> None:
        """Write the sealed file, and print its numbers."""
        from discreet.collector.intake import OpenCollection
        from discreet.collector.outside import file_rows, seal_rows

        if self.source is None or self.output is None or not epochs:
            raise ParameterError("seal.incomplete", argument="source")
        envelope = opened_file(collection, self.trust).envelope
        entry = OpenCollection.of(envelope, self.trust or signers(envelope))
        rows = file_rows(self.source, entry, range(epochs[0], epochs[-1] + 1))
        batch = seal_rows(rows, entry, self.output, epochs=range(epochs[0], epochs[-1] + 1), force=self.force)
        counts = {"n": batch.tally.n, "duplicates": batch.duplicates, "conflicts": batch.conflicts}
        sentence = (
            f"{batch.tally.n:,} reports sealed in {self.output} ({batch.duplicates:,} duplicates and "
            f"{batch.conflicts:,} conflicts left out)."
        )
        show({**counts, "output": str(self.output)}, [sentence], whole=True)


@click.group(cls=SubcommandGroup)
def collector() -> None:
    """Operate a collector: collections, tokens, seals, backups.

    The collector may be running.
    """


@collector.command(epilog="Example: discreet collector add habits.json --data collector-data")
@click.argument("collection", type=InputFile())
@TRUST
@_Place.options
def add(collection: Path, *, trust: tuple[bytes, ...], place: _Place) -> None:
    """Add a signed COLLECTION, or the notice of a withdrawal.

    COLLECTION may be a newer version of a collection that the collector has.

    The collector checks what a device checks, and rebuilds the mechanism from the plan. Without --trust, it uses
    the keys in its settings.
    """
    keys = [spelled_key(key) for key in trust] or list(load_settings(place.config).trust)
    spelled = base64.b64encode(opened_file(collection, trust).envelope).decode()
    facts = place.asked("add", make=True, envelope=spelled, trust=keys)
    what = "withdrawn" if facts["state"] == "withdrawn" else "open"
    here = "" if facts["new"] else "; it was here already"
    show(facts, [f"{facts['name']} version {facts['version']} is {what}{here}."], whole=True)


@collector.command(epilog="Example: discreet collector status --data collector-data")
@_Place.options
def status(*, place: _Place) -> None:
    """List the collections, and how many reports wait and are sealed, by epoch.

    An epoch with fewer reports than the collection's least has no number.
    """
    facts = place.asked("status")
    rows = [[row["name"], str(row["version"]), row["state"], row["id"][:16]] for row in facts["collections"]]
    headings = ["name", "version", "epoch", "waiting", "sealed", "duplicates", "conflicts"]
    spelled = [{**row, "epoch": _spelled(row), "waiting": _waiting(row["waiting"])} for row in facts["epochs"]]
    cells = [[str(row[name]) for name in headings] for row in spelled]
    known = ResultTable.of("Collections", ["name", "version", "state", "id"], rows, left=4)
    show(facts, [known, ResultTable.of("Epochs", headings, cells, left=2)])


def _waiting(n: int | None) -> str:
    return "too few" if n is None else str(n)


def _spelled(batch: dict[str, Any]) -> str:
    return f"{batch['epoch']}" if batch["epoch"] == batch["last"] else f"{batch['epoch']}-{batch['last']}"


@collector.command(epilog="Example: discreet collector seal habits --data collector-data")
@click.argument("name")
@click.option("--epoch", "epochs", multiple=True, type=Count(0), help="Seal up to this epoch, even if not over.")
@click.option("--version", type=Count(1), help="Version of the collection. [the newest]")
@_Outside.options
@_Place.options
def seal(name: str, *, epochs: tuple[int, ...], version: int | None, outside: _Outside, place: _Place) -> None:
    """Seal the epochs of the collection NAME that are over.

    With --from, NAME is the file of a signed collection, and the reports of the named epochs become one sealed file.

    With --epoch, that epoch and all before it are sealed, even if it is not over.

    An epoch with too few reports (the collection's least) waits, and is sealed together with the next one.
    """
    if outside.source is not None:
        outside.seal(Path(name), sorted(epochs))
        return
    facts = place.asked("seal", name=name, epochs=list(epochs), version=version)
    sentences = [
        f"{'Epoch' if batch['epoch'] == batch['last'] else 'Epochs'} {_spelled(batch)}: {batch['n']:,} reports sealed "
        f"in {batch['file']} ({batch['duplicates']:,} duplicates and {batch['conflicts']:,} conflicts left out)."
        for batch in facts["sealed"]
    ]
    if facts["few"]:
        few = ", ".join(str(epoch) for epoch in facts["few"])
        sentences.append(
            f"Not sealed: {few}. There are fewer than {facts['least']:,} different reports; they are sealed together "
            "with the next epoch."
        )
    show(facts, sentences or ["Nothing is to be sealed."], whole=True)


@collector.group()
def token() -> None:
    """Make, list and end tokens for programs and people.

    The owner of a token can see estimates.
    """


@token.command("add", epilog="Example: discreet collector token add ana --role analyst --data collector-data")
@click.argument("name")
@click.option("--role", type=click.Choice(["analyst", "operator"]), required=True, help="Role of the token.")
@click.option("--days", type=Count(1), help="Days until the token ends. [no end]")
@_Place.options
def add_token(name: str, *, role: str, days: int | None, place: _Place) -> None:
    """Make a token for NAME, and print it once."""
    facts = place.asked("token add", make=True, name=name, role=role, days=days)
    show(facts, [facts["token"]], whole=True)


@token.command("list", epilog="Example: discreet collector token list --data collector-data")
@_Place.options
def list_tokens(*, place: _Place) -> None:
    """List the tokens by name."""
    facts = place.asked("token list")
    cells = [[row["name"], row["role"], "yes" if row["good"] else "no"] for row in facts["tokens"]]
    show(facts, [ResultTable.of("Tokens", ["name", "role", "good"], cells, left=3)])


@token.command("end", epilog="Example: discreet collector token end ana --data collector-data")
@click.argument("name")
@_Place.options
def end_token(name: str, *, place: _Place) -> None:
    """End the token of NAME."""
    facts = place.asked("token end", name=name)
    show(facts, [f"The token of {name} is ended."], whole=True)


@collector.command(epilog="Example: discreet collector backup /backup/today --data collector-data")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--sealed-only", is_flag=True, help="Leave out reports that are not sealed, their ids and their order.")
@_Place.options
def backup(target: Path, *, sealed_only: bool, place: _Place) -> None:
    """Copy all data into the new folder TARGET.

    If the collector runs, it writes the copy itself.
    """
    facts = place.asked("backup", target=str(target.absolute()), sealed_only=sealed_only)
    show(facts, [f"{facts['files']} files are in {target}."], whole=True)


@collector.command(epilog="Example: discreet collector check --data collector-data")
@_Place.options
def check(*, place: _Place) -> None:
    """Check every invariant of the data, changing nothing.

    The exit code is 1 if one does not hold.
    """
    _judged(place.asked("check")["flaws"])


def _judged(flaws: Sequence[str]) -> None:
    show({"holds": not flaws, "flaws": list(flaws)}, flaws or ["Everything holds."], whole=True)
    if flaws:
        raise click.exceptions.Exit(1)


@collector.command(epilog="Example: discreet collector purge habits --data collector-data")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Delete without asking.")
@_Place.options
def purge(name: str, *, yes: bool, place: _Place) -> None:
    """Delete all versions of the collection NAME.

    All of its reports, sealed files and tallies are deleted too.
    """
    folder = place.folder()
    if not yes:
        click.confirm(f"Delete {name} with all of its reports, for good?", abort=True)
    facts = ask(folder, "purge", name=name)
    counts = ", ".join(f"{facts[what]:,} {what}" for what in ("versions", "reports", "sealed"))
    show(facts, [f"{name} is deleted: {counts}."], whole=True)


_NEEDED = ("starlette", "uvicorn", "httptools", "prometheus_client")


@dataclass(frozen=True, slots=True)
class _Flags(OptionGroup):
    """Settings of a collector that flags say; those that are not given stand elsewhere."""

    data: Path | None = option(
        "--data", type=click.Path(path_type=Path, file_okay=False), help="Folder of all data. [collector-data]"
    )
    listen: str | None = option("--listen", metavar="HOST:PORT", help="Address to listen at. [127.0.0.1:8080]")
    behind_proxy: bool = option("--behind-proxy", is_flag=True, help="Another proxy ends TLS and limits rates.")
    insecure: bool = option(
        "--insecure", is_flag=True, help="Accept reports without TLS from other machines, in a trusted network."
    )
    log: str | None = option(
        "--log", type=click.Choice(["debug", "info", "warning", "error"]), help="Lowest log level. [info]"
    )


@click.command(cls=Subcommand, has_result=False, epilog="Example: discreet serve --demo")
@click.option("--config", type=InputFile(), help="TOML file of settings (docs/reference/collector.md).")
@_Flags.options
@click.option("--demo", is_flag=True, help="Demonstrate with simulated devices, no tokens and a temporary folder.")
@click.option("--devices", type=Count(0), help="With --demo: number of simulated devices. [300]")
def serve(given: _Flags, *, config: Path | None, demo: bool, devices: int | None) -> None:
    """Run a collector: take reports in, and seal them.

    Options replace environment variables, such as DISCREET_COLLECTOR_LISTEN. These replace the file of --config.
    SIGTERM ends the collector. All accepted reports are then on disk.
    """
    for module in _NEEDED:
        optional(module)
    if devices is not None and not demo:
        raise ParameterError("devices.without-demo", argument="devices")
    flags: dict[str, Any] = {name: flag or None for name, flag in asdict(given).items()}
    with ExitStack() as ending:
        if demo and given.data is None:
            flags["data"] = ending.enter_context(tempfile.TemporaryDirectory(prefix="discreet-demo-"))
        _run(config, {**flags, "data": flags["data"] and str(flags["data"])}, demo=demo, devices=devices)


def _run(config: Path | None, flags: dict[str, Any], *, demo: bool, devices: int | None) -> None:
    from discreet.collector.serving import bound, serve

    settings = load_settings(config, flags=flags)
    if demo and (settings.behind_proxy or not is_loopback(settings.address[0])):
        raise ParameterError("demo.for-this-machine", argument="demo")
    with bound(settings) as listener:
        if demo:
            _demonstrate(settings, listener, devices)
        else:
            serve(settings, listener)


def _demonstrate(settings: Settings, listener: "socket", devices: int | None) -> None:
    """Make the collection of the demonstration, say where it is, and let simulated devices answer it."""
    from msgspec.structs import replace

    from discreet.collector.demo import DEVICES, NAME, Crowd, prepare
    from discreet.collector.serving import serve

    host, port = settings.address
    origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    folder = DataFolder(Path(settings.data))
    demo = prepare(folder, origin)
    click.echo(f"{demo.collection.title} Take part: {origin}/take/{NAME} (within another page: {origin}/embed/{NAME})")
    click.echo(
        f"Estimates, when enough have answered: {origin}/collections/{NAME}/estimates (no token is asked for here)"
    )
    click.echo("Everything here is simulated and goes when this ends; press Ctrl-C to end it.")
    # All devices have one address.
    settings = replace(settings, limits=replace(settings.limits, rate=0.0))
    many = DEVICES if devices is None else devices
    crowd = Crowd(demo.collection, lambda sentence: say([sentence]), devices=many)
    crowd.start()
    try:
        serve(settings, listener, demo=True)
    finally:
        crowd.stop()
