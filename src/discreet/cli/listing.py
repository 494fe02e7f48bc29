"""The verb ``manifest``."""

from pathlib import Path

from discreet.cli.terminal import console, show_json
from discreet.io.manifest import NAME, write_manifest


def list_folder(folder: Path, *, force: bool, as_json: bool) -> None:
    """Write the manifest of a folder of reports, and print its numbers of files and rows."""
    found = write_manifest(folder, force=force)
    facts = {"manifest": str(folder / NAME), "files": len(found.files), "rows": found.rows}
    if as_json:
        show_json(facts)
        return
    console().print(f"{found.rows:,} reports in {len(found.files):,} files, listed in {facts['manifest']}.")
