"""The verb ``stamp``."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from discreet.cli.plans import load_plan
from discreet.cli.terminal import console, progress_bar, said_of_files, show_json
from discreet.engines import stamp


def stamp_files(plan: Path, sources: Sequence[Path], output: Path, **options: Any) -> None:
    """Write files of reports anew with the plan's stamp, and print their numbers of rows."""
    mechanism = load_plan(plan).mechanism()
    with progress_bar("checking") as progress, said_of_files() as said:
        told = partial(progress, "checking")
        found = stamp(mechanism, sources, output, bad_share=options["bad_rows"], force=options["force"], progress=told)
    if options["as_json"]:
        files = [
            {"output": str(path), "reports": count, "simulated": path in found.simulated}
            for path, count in found.files.items()
        ]
        facts = {"plan": mechanism.fingerprint, "reports": found.reports, "files": files}
        show_json({**facts, "left_out": dict(found.left_out), "notes": said})
        return
    where = f"{output}" if list(found.files) == [output] else f"{len(found.files)} files in {output}"
    console().print(f"{found.reports:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.")
    for reason, count in found.left_out.items():
        console().print(f"Left out: {count:,} rows that {reason}.")
    for note in said:
        console().print(f"Note: {note}")
    if found.simulated:
        console().print(
            f"Simulated with a known seed, so that they protect nobody: {len(found.simulated)} of the files."
        )
