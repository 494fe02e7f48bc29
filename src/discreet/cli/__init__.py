"""The command line: parse, call one function below, print."""

from discreet.cli.collection import collection
from discreet.cli.commands import main
from discreet.cli.device import device

main.add_command(collection)
main.add_command(device)

__all__ = ["main"]
