"""A self-contained HTML page of a study: sentences, table, guarantee and an interactive chart."""

import json

from discreet.charts.frequencies import DRAWN, Panel
from discreet.extras import optional
from discreet.pages.rendering import PageTable, render
from discreet.simulation.findings import Findings, table


def page(findings: Findings) -> str:
    """Return the page as one HTML text.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    document, outcomes = findings.study.document, findings.outcomes
    headings, cells = table(findings)
    marks = [run.protects.lower() for run in outcomes]
    panels = [_numbers(panel) for row in findings.panels() for panel in row]
    caption = f"Truth and estimates by {document.show}, of the best mechanism under each notion."
    return render(
        "study.html",
        title=document.title or "Study",
        about=document.about,
        simulated=any(run.estimates["linear"].simulated for run in outcomes),
        sentences=findings.sentences(),
        runs=PageTable("Each mechanism, and how far its estimates are from the truth", headings, cells, 2, marks),
        shaded=any(run.protects == "ULDP" for run in outcomes),
        caption=caption,
        picture=f"{caption} The same numbers are in the tables below.",
        panels=panels,
        guarantees=[(run.mechanism.name, str(run.mechanism.guarantee)) for run in findings.compared],
        credit=document.credit,
        library=_library(),
        # "<" would let a label end the script.
        chart=json.dumps(findings.chart().to_dict()).replace("<", "\\u003c"),
    )


def _numbers(panel: Panel) -> PageTable:
    """Return the truth and the estimates of a panel as a table."""
    columns = {"truth": panel.truth, **{name: panel.columns[name] for name in DRAWN}}
    known = {name: column for name, column in columns.items() if column is not None}
    rows = [
        [str(name), *(f"{column[place]:.4%}" for column in known.values())] for place, name in enumerate(panel.names)
    ]
    return PageTable(panel.title, ["value", *known], rows)


def _library() -> str:
    version = ".".join(optional("altair").SCHEMA_VERSION.split(".")[:2])
    bundle: str = optional("vl_convert").javascript_bundle(vl_version=version)
    return bundle
