"""A self-contained HTML page of a study: sentences, table, guarantee and an interactive chart."""

import json
from html import escape

from discreet.extras import optional
from discreet.simulation.findings import Findings, table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1260px; margin: 2rem auto; padding: 0 1rem; color: #1c1917; }
h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
table { display: block; overflow-x: auto; }
th, td { padding: 3px 8px; text-align: right; border-bottom: 1px solid #e7e5e4; white-space: nowrap; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; }
tr.uldp td { background: #fff7ed; }
.mark { background: #fef3c7; padding: .6rem 1rem; border-left: 4px solid #d97706; }
footer { margin-top: 2.5rem; color: #57534e; font-size: 14px; }
#chart { overflow-x: auto; }
"""


def page(findings: Findings) -> str:
    """Return the page as one HTML text.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    document = findings.study.document
    title = document.title or "Study"
    simulated = any(run.estimates["linear"].simulated for run in findings.outcomes)
    warning = "<p class='mark'>Simulated with a seeded source: such reports protect nobody.</p>" if simulated else ""
    guarantees = "".join(
        f"<li><b>{escape(run.mechanism.name)}</b>: {escape(str(run.mechanism.guarantee))}</li>"
        for run in findings.compared
    )
    some = any(run.protects == "ULDP" for run in findings.outcomes)
    shaded = " Shaded: only the sensitive values are protected." if some else ""
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in findings.sentences())
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}: private estimates against the truth</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}: private estimates against the truth</h1>
<p>{escape(document.about)}</p>{warning}
<ul>{told}</ul>
<h2>Every mechanism</h2>
{_html_table(findings)}
<p>MSE / expected: squared error of the linear estimate over its exact expectation, near 1 when all is well. Worst s.e.:
the largest standard error of the linear estimate. TV: total variation distance to the truth, the share of the people
that the estimate puts in the wrong place, by estimator.{shaded}</p>
<h2>Truth and estimates</h2>
<div id="chart"></div>
<h2>The guarantee</h2><ul>{guarantees}</ul>
<footer>{escape(document.credit)}</footer>
{_scripts(findings)}
</body></html>
"""


def _html_table(findings: Findings) -> str:
    headings, cells = table(findings)
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = ""
    for run, row in zip(findings.outcomes, cells, strict=True):
        body += f"<tr class='{run.protects.lower()}'>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _scripts(findings: Findings) -> str:
    version = ".".join(optional("altair").SCHEMA_VERSION.split(".")[:2])
    bundle = optional("vl_convert").javascript_bundle(vl_version=version)
    # "<" would let a label end the script.
    spec = json.dumps(findings.chart().to_dict()).replace("<", "\\u003c")
    return f"<script>{bundle}</script><script>vegaEmbed('#chart', {spec}, {{actions: false}});</script>"
