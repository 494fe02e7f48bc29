"""HTML pages of studies, and the files of their findings (page, picture and numbers)."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.core.result_table import ResultColumn, ResultTable, json_text, text_column
from discreet.extras import optional
from discreet.files.writing import make_folder, replacing_all
from discreet.pictures.charts import DRAWN, Panel
from discreet.pictures.pages import render
from discreet.simulation.study import Findings


def page(findings: Findings) -> str:
    """Return the page of a study as HTML text.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    document, outcomes = findings.study.document, findings.outcomes
    version = optional("altair").SCHEMA_VERSION
    panels = [_numbers(panel) for row in findings.panels() for panel in row]
    caption = f"Truth and estimates by {document.show}, of the best mechanism under each notion."
    return render(
        "study.html",
        title=document.title or "Study",
        about=document.about,
        simulated=any(run.linear.simulated for run in outcomes),
        sentences=findings.sentences(),
        runs=replace(findings.table(), title="The errors of each mechanism"),
        caption=caption,
        picture=f"{caption} The same numbers are in the tables below.",
        panels=panels,
        guarantees=[(run.mechanism.name, str(run.mechanism.guarantee)) for run in findings.compared],
        credit=document.credit,
        library=optional("vl_convert").javascript_bundle(vl_version=".".join(version.split(".")[:2])),
        # An unescaped "<" in a label could end the script.
        chart=json.dumps(findings.chart().to_dict()).replace("<", "\\u003c"),
    )


def _numbers(panel: Panel) -> ResultTable:
    """Return the truth and the estimates of a panel as a table."""
    columns = {"truth": panel.truth, **{name: panel.columns[name] for name in DRAWN}}
    shares = [ResultColumn(name, column, "share") for name, column in columns.items() if column is not None]
    return ResultTable(panel.title, [text_column("value", map(str, panel.names)), *shares])


def save_findings(findings: Findings, folder: Path, *, force: bool = False) -> list[Path]:
    """Write page.html, chart.png and results.json into a folder, or none of them if one fails.

    Args:
        findings: the findings of a study.
        folder: the target folder; it is created if necessary.
        force: whether to replace existing files.

    Returns:
        The paths of the files.

    Raises:
        OutputExistsError: if one of the files exists, unless ``force`` is set.
        MissingExtraError: if the ``plot`` extra is not installed.
        ParameterError: if the folder cannot be created.
    """
    facts = json_text(findings.table().records(), indent=2) + "\n"
    contents = {
        "page.html": page(findings),
        "chart.png": lambda path: findings.chart().save(str(path), ppi=144),
        "results.json": facts,
    }
    return written(folder, contents, force=force)


def written(folder: Path, contents: Mapping[str, Any], *, force: bool) -> list[Path]:
    """Write files into a folder, or none of them if one fails, and return their paths."""
    make_folder(folder)
    files = [folder / name for name in contents]
    with replacing_all(files, force=force) as besides:
        for beside, content in zip(besides, contents.values(), strict=True):
            if isinstance(content, str):
                beside.write_text(content, encoding="utf-8")
            else:
                content(beside)
    return files
