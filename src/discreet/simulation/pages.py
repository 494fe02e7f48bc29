"""A self-contained HTML page of a study, and the files of its findings: a page, a picture and the numbers."""

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
    """Return the page as one HTML text.

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
        runs=replace(findings.table(), title="Each mechanism, and how far its estimates are from the truth"),
        caption=caption,
        picture=f"{caption} The same numbers are in the tables below.",
        panels=panels,
        guarantees=[(run.mechanism.name, str(run.mechanism.guarantee)) for run in findings.compared],
        credit=document.credit,
        library=optional("vl_convert").javascript_bundle(vl_version=".".join(version.split(".")[:2])),
        # "<" would let a label end the script.
        chart=json.dumps(findings.chart().to_dict()).replace("<", "\\u003c"),
    )


def _numbers(panel: Panel) -> ResultTable:
    """Return the truth and the estimates of a panel as a table."""
    columns = {"truth": panel.truth, **{name: panel.columns[name] for name in DRAWN}}
    shares = [ResultColumn(name, column, "share") for name, column in columns.items() if column is not None]
    return ResultTable(panel.title, [text_column("value", map(str, panel.names)), *shares])


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
    facts = json_text(findings.table().records(), indent=2) + "\n"
    contents = {
        "page.html": page(findings),
        "chart.png": lambda path: findings.chart().save(str(path), ppi=144),
        "results.json": facts,
    }
    return written(folder, contents, force=force)


def written(folder: Path, contents: Mapping[str, Any], *, force: bool) -> list[Path]:
    """Write files into a folder, texts or functions of a path: all of them, or none; return their paths."""
    make_folder(folder)
    files = [folder / name for name in contents]
    with replacing_all(files, force=force) as besides:
        for beside, content in zip(besides, contents.values(), strict=True):
            if isinstance(content, str):
                beside.write_text(content, encoding="utf-8")
            else:
                content(beside)
    return files
