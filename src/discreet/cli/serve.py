"""The verb ``serve``: a collector, until it is told to end."""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.group import Verb
from discreet.cli.output import show_table
from discreet.cli.output_files import InputFile
from discreet.cli.parameters import Count
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from socket import socket

    from discreet.collector.settings import Settings

_NEEDED = ("starlette", "uvicorn", "httptools", "prometheus_client")


@click.command(cls=Verb)
@click.option("--config", type=InputFile(), help="Settings: a TOML file (docs/collector.md).")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Folder of all data. [collector-data]")
@click.option("--listen", metavar="HOST:PORT", help="Where to listen. [127.0.0.1:8080]")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front ends TLS and limits rates.")
@click.option("--insecure", is_flag=True, help="Let other machines send without TLS: in a network that you trust.")
@click.option("--log", type=click.Choice(["debug", "info", "warning", "error"]), help="Least level of logs. [info]")
@click.option("--demo", is_flag=True, help="A simulated collection, no tokens, this machine only, a temporary folder.")
@click.option("--devices", type=Count(0), help="With --demo: how many simulated devices answer it. [300]")
def serve(
    *,
    config: Path | None,
    data: Path | None,
    listen: str | None,
    behind_proxy: bool,
    insecure: bool,
    log: str | None,
    demo: bool,
    devices: int | None,
) -> None:
    """Take reports in, keep them safe, and seal them: a collector.

    Flags go over environment variables (DISCREET_COLLECTOR_LISTEN), and these over the file of --config. SIGTERM ends
    it: what was taken in is on disk.
    """
    from discreet.extras import optional

    for module in _NEEDED:
        optional(module)
    if devices is not None and not demo:
        raise ParameterError("--devices are those of a demonstration; leave them out, or add --demo.")
    flags: dict[str, str | bool | None] = {
        "data": None if data is None else str(data),
        "listen": listen,
        "behind_proxy": behind_proxy or None,
        "insecure": insecure or None,
        "log": log,
    }
    with ExitStack() as ending:
        if demo and data is None:
            flags["data"] = ending.enter_context(tempfile.TemporaryDirectory(prefix="discreet-demo-"))
        _run(config, flags, demo=demo, devices=devices)


def _run(config: Path | None, flags: dict[str, str | bool | None], *, demo: bool, devices: int | None) -> None:
    from discreet.collector.serving import bound, serve
    from discreet.collector.settings import is_loopback, load_settings

    settings = load_settings(config, flags=flags)
    if demo and (settings.behind_proxy or settings.tls or not is_loopback(settings.address[0])):
        raise ParameterError(
            "--demo shows everything to everybody, so it listens on this machine only; leave the rest out."
        )
    with bound(settings) as sockets:
        if demo:
            _demonstrate(settings, sockets, devices)
        else:
            serve(settings, sockets)


def _demonstrate(settings: "Settings", sockets: "Sequence[socket]", devices: int | None) -> None:
    """Make the collection of the demonstration, say where it is, and let simulated devices answer it."""
    from msgspec.structs import replace

    from discreet.cli.parameters import spelled_key
    from discreet.collector.crowd import DEVICES, Crowd
    from discreet.collector.demo import NAME, prepare
    from discreet.collector.folder import DataFolder
    from discreet.collector.serving import serve

    host, port = settings.address
    origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    folder = DataFolder(settings.folder)
    demo = prepare(folder, origin)
    click.echo(f"{demo.collection.title} Take part: {origin}/take/{NAME}")
    click.echo(f"Or: discreet device join {origin}/v1/collections/{NAME} --trust {spelled_key(demo.key)} --simulated")
    click.echo(f"Estimates, when enough have answered: {origin}/v1/collections/{NAME}/estimates")
    click.echo("Everything here is simulated and goes when this ends; press Ctrl-C to end it.")
    # All devices have one address.
    settings = replace(settings, limits=replace(settings.limits, rate=0.0))
    crowd = Crowd(demo.collection, demo.key, folder, _Terminal(), devices=DEVICES if devices is None else devices)
    crowd.start()
    try:
        serve(settings, sockets, demo=True)
    finally:
        crowd.stop()


class _Terminal:
    """The terminal, as a demonstration shows itself on it."""

    def say(self, text: str) -> None:
        """Show a sentence."""
        click.echo(text)

    def table(self, title: str, headings: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
        """Show a table, whose first two columns are text."""
        show_table(title, headings, cells, left=2)
