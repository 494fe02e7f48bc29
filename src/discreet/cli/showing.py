"""The verb ``examples``."""

from pathlib import Path

from discreet.cli.terminal import console, show_json
from discreet.simulation.shipped import copy_examples


def copy(folder: Path, *, force: bool, as_json: bool) -> None:
    """Copy the examples, and print their names and a first command."""
    files = copy_examples(folder, force=force)
    if as_json:
        show_json({"files": [str(file) for file in files]})
        return
    console().print(f"Copied {len(files)} files to {folder}: {', '.join(file.name for file in files)}.")
    console().print(f"For a start: discreet simulate {folder / 'census.toml'}")
