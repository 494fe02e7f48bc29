"""Files of findings: a page, a picture and the numbers."""

from pathlib import Path

from discreet.errors import ParameterError
from discreet.io.atomic import replacing_all
from discreet.io.json_text import json_text
from discreet.simulation.findings import Findings
from discreet.simulation.page import page
from discreet.simulation.study import rows


def save_findings(findings: Findings, folder: Path, *, force: bool = False) -> list[Path]:
    """Write page.html, chart.png and results.json into a folder: all of them, or none.

    Args:
        findings: of a study.
        folder: where to; made if need be.
        force: whether files that exist are replaced.

    Returns:
        their paths.

    Raises:
        OutputExistsError: if one of the files exists and ``force`` is not set.
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
    with replacing_all(written, force=force) as (text, picture, numbers):
        text.write_text(page(findings), encoding="utf-8")
        findings.chart().save(str(picture), ppi=144)
        numbers.write_text(json_text(list(rows(findings.study, findings.outcomes)), indent=2) + "\n", encoding="utf-8")
    return written
