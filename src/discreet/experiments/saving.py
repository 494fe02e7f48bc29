"""Writes what a study found: a page, a picture and the numbers."""

from pathlib import Path

from discreet.errors import ParameterError
from discreet.experiments.findings import Findings
from discreet.experiments.page import page
from discreet.experiments.study import rows
from discreet.io.files import replacing
from discreet.io.json_text import json_text


def save_findings(findings: Findings, folder: Path) -> list[Path]:
    """Write page.html, chart.png and results.json into a folder, each whole or not at all.

    Returns:
        their paths.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
        ParameterError: if the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"{folder} cannot be made ({type(error).__name__}); choose another output folder."
        ) from None
    written = [folder / "page.html", folder / "chart.png", folder / "results.json"]
    with replacing(written[0], force=True) as beside:
        beside.write_text(page(findings), encoding="utf-8")
    with replacing(written[1], force=True) as beside:
        findings.chart().save(str(beside), ppi=144)
    with replacing(written[2], force=True) as beside:
        beside.write_text(json_text(list(rows(findings.study, findings.outcomes)), indent=2) + "\n", encoding="utf-8")
    return written
