"""The verb ``examples``."""

from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import show


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.force
@options.as_json
def examples(folder: Path, *, force: bool, as_json: bool) -> None:
    """Copy the examples of the documentation into FOLDER: plans, a study of real people, and small tables."""
    from discreet.simulation.shipped import copy_examples

    files = copy_examples(folder, force=force)
    sentences = [
        f"Copied {len(files)} files to {folder}: {', '.join(file.name for file in files)}.",
        f"For a start: discreet simulate {folder / 'census.toml'}",
    ]
    show({"files": files}, sentences, as_json=as_json)
