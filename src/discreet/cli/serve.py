"""The verb ``serve``: a collector, until it is told to end."""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from discreet.cli.lazily import Verb
from discreet.cli.outputs import InputFile
from discreet.errors import ParameterError

_NEEDED = ("starlette", "uvicorn", "httptools", "prometheus_client")


@click.command(cls=Verb)
@click.option("--config", type=InputFile(), help="Settings: a TOML file (docs/collector.md).")
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), help="Folder of all data. [collector-data]")
@click.option("--listen", metavar="HOST:PORT", help="Where to listen. [127.0.0.1:8080]")
@click.option("--behind-proxy", is_flag=True, help="A proxy in front ends TLS and limits rates.")
@click.option("--insecure", is_flag=True, help="Let other machines send without TLS: in a network that you trust.")
@click.option("--log", type=click.Choice(["debug", "info", "warning", "error"]), help="Least level of logs. [info]")
@click.option("--demo", is_flag=True, help="A simulated collection, no tokens, this machine only, a temporary folder.")
def serve(
    *,
    config: Path | None,
    data: Path | None,
    listen: str | None,
    behind_proxy: bool,
    insecure: bool,
    log: str | None,
    demo: bool,
) -> None:
    """Take reports in, keep them safe, and seal them: a collector.

    Flags go over environment variables (DISCREET_COLLECTOR_LISTEN), and these over the file of --config. SIGTERM ends
    it: what was taken in is on disk.
    """
    from discreet.extras import optional

    for module in _NEEDED:
        optional(module)
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
        _run(config, flags, demo=demo)


def _run(config: Path | None, flags: dict[str, str | bool | None], *, demo: bool) -> None:
    from discreet.collector.serving import serve
    from discreet.collector.settings import is_loopback, load_settings

    settings = load_settings(config, flags=flags)
    if demo:
        if settings.behind_proxy or not is_loopback(settings.address[0]):
            raise ParameterError(
                "--demo shows everything to everybody, so it listens on this machine only; leave the rest out."
            )
        _show_demo(settings.folder, settings.address, tls=settings.tls is not None)
    serve(settings, demo=demo)


def _show_demo(folder: Path, address: tuple[str, int], *, tls: bool) -> None:
    """Make the collection of the demonstration, and say where it is."""
    from discreet.cli.moments import spelled_key
    from discreet.collector.demo import NAME, prepare
    from discreet.collector.folder import DataFolder

    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    origin = f"{'https' if tls else 'http'}://{host}:{address[1]}"
    place = DataFolder(folder)
    with place.serving():
        demo = prepare(place, origin)
    click.echo(f"{demo.collection.title} Take part: {origin}/take/{NAME}")
    click.echo(f"Or: discreet device join {origin}/v1/collections/{NAME} --trust {spelled_key(demo.key)}")
    click.echo(f"Estimates, when enough have answered: {origin}/v1/collections/{NAME}/estimates")
    click.echo("Everything here is simulated and goes when this ends; press Ctrl-C to end it.")
