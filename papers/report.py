"""One self-contained HTML page: a section per figure, with its figures, settings, data and findings."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from papers.data.dataset import Dataset
from papers.figure import Figure, Finding, Table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1180px; margin: 2rem auto; padding: 0 1rem; color: #1c1917; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid #d6d3d1; padding-top: 1rem; }
img { max-width: 100%; display: block; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 4px 10px; text-align: left; border-bottom: 1px solid #e7e5e4; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
tr.no td { background: #fef2f2; } tr.no td.verdict { color: #b91c1c; font-weight: 600; }
tr.yes td.verdict { color: #15803d; font-weight: 600; }
.mark { background: #fef3c7; padding: .6rem 1rem; border-left: 4px solid #d97706; }
small, footer { color: #57534e; } li { margin: .2rem 0; }
"""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """The section of the report on one figure.

    Attributes:
        figure: which.
        said: settings of this run, one sentence each.
        datasets: the data used, by name.
        lacking: the data sets not at hand, with the files that are not there.
        pictures: SVG texts, by name of the data set.
        tables: numbers to be read.
        findings: the paper's, checked.
        files: names of files written.
    """

    figure: Figure
    said: Sequence[str]
    datasets: Mapping[str, Dataset]
    lacking: Mapping[str, Sequence[str]]
    pictures: Mapping[str, str]
    tables: Sequence[Table]
    findings: Sequence[Finding]
    files: Sequence[str]

    def html(self) -> str:
        """Return the section as HTML."""
        figure = self.figure
        return f"""<section id="{escape(figure.slug)}"><h2>{escape(figure.title)}</h2>
<p>{escape(figure.shows)}</p>
{"".join(_picture(name, svg) for name, svg in self.pictures.items())}{"".join(_table(one) for one in self.tables)}
{_findings(self.findings)}
<h3>Settings</h3>{_list([*self.said, *figure.settings])}
<h3>Data</h3>{"".join(_dataset(dataset) for dataset in self.datasets.values())}{_lacking(self.lacking)}
<p><small>Files: {escape(", ".join(self.files))}</small></p></section>
"""


def page(sections: Sequence[str]) -> str:
    """Return the whole report as HTML."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>discreet: the papers' experiments</title><style>{_STYLE}</style></head><body>
<h1>The papers' experiments, made again</h1>
<p class="mark">Everything here is simulated: reports from seeded sources protect nobody. A finding that does not hold
on these data is reported as such; thresholds were chosen before the data were seen.</p>
{"".join(sections)}
<footer><p>[ULDP] Murakami and Kawamoto, Utility-Optimized Local Differential Privacy Mechanisms for Distribution
Estimation, USENIX Security 2019.</p></footer></body></html>
"""


def _picture(name: str, svg: str) -> str:
    coded = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(name)}" src="data:image/svg+xml;base64,{coded}">'


def _list(sentences: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _table(table: Table) -> str:
    heads = _cells("th", table.heads, table.left)
    rows = "".join(f"<tr>{_cells('td', row, table.left)}</tr>" for row in table.rows)
    return f"<h3>{escape(table.caption)}</h3><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(tag: str, texts: Sequence[str], left: int) -> str:
    kinds = ["" if place < left else " class='number'" for place in range(len(texts))]
    return "".join(f"<{tag}{kind}>{escape(text)}</{tag}>" for kind, text in zip(kinds, texts, strict=True))


def _findings(findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    rows = ""
    for finding in findings:
        verdict = ("yes", "holds") if finding.holds else ("no", "does not hold")
        detail = f"<br><small>{escape(finding.detail)}</small>" if finding.detail else ""
        rows += (
            f"<tr class='{verdict[0]}'><td>{escape(finding.data)}</td><td>{escape(finding.claim)}</td>"
            f"<td class='verdict'>{verdict[1]}</td><td class='number'>{finding.number:.4g}</td>"
            f"<td class='number'>{escape(finding.relation)} {finding.threshold:.4g}</td>"
            f"<td>{escape(finding.measured)}{detail}</td></tr>"
        )
    heads = ("data", "finding", "", "number", "threshold", "what the number is")
    heading = "".join(f"<th>{head}</th>" for head in heads)
    return (
        f"<h3>Findings, checked on these data</h3><table><thead><tr>{heading}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _dataset(dataset: Dataset) -> str:
    differs = [f"differs from the paper: {sentence}" for sentence in dataset.differs] or ["the paper's own data"]
    return (
        f"<p><b>{escape(dataset.title)}</b> ({escape(dataset.name)}): {escape(dataset.facts)}.</p>"
        f"{_list([*dataset.cuts, *differs])}<p><small>{escape(dataset.credit)}</small></p>"
    )


def _lacking(lacking: Mapping[str, Sequence[str]]) -> str:
    if not lacking:
        return ""
    told = [f"{name} (needs {', '.join(files)})" for name, files in lacking.items()]
    return f"<p>Not at hand, so not used: {escape('; '.join(told))}.</p>"
