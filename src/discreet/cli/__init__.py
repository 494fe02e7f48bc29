"""The command line: parse, call one function below, print."""

from discreet.cli.commands import main

__all__ = ["main"]
