"""The verb ``manifest``."""

from pathlib import Path

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.output import show


@click.command(cls=Verb)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@options.force
@options.as_json
def manifest(folder: Path, *, force: bool, as_json: bool) -> None:
    """List the files of reports in FOLDER, with rows and digests, in FOLDER/_manifest.json.

    `discreet estimate --manifest` refuses the folder if a file is missing, new or has other bytes.
    """
    from discreet.io.manifest import NAME, write_manifest

    found = write_manifest(folder, force=force)
    result = {"manifest": str(folder / NAME), "files": len(found.files), "rows": found.rows}
    sentence = f"{found.rows:,} reports in {len(found.files):,} files, listed in {result['manifest']}."
    show(result, [sentence], as_json=as_json)
