"""The command line: parse, call one function below, print."""

from discreet.cli.collection import collection
from discreet.cli.collector import collector
from discreet.cli.commands import main
from discreet.cli.device import device
from discreet.cli.registered import reproduce
from discreet.cli.serve import serve

main.add_command(collection)
main.add_command(collector)
main.add_command(device)
main.add_command(reproduce)
main.add_command(serve)

__all__ = ["main"]
