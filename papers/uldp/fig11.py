"""[ULDP, Fig. 11]: the number of sensitive values against summed squared error; the cells of Fig. 6."""

from dataclasses import replace

from papers.uldp import fig6
from papers.uldp.comparisons import on_each
from papers.uldp.losses import MSE

FIGURE = replace(
    fig6.FIGURE,
    name="uldp/fig11",
    title=f"[ULDP, Fig. 11] {fig6.TITLE.format(MSE.name)}",
    shows=fig6.SHOWS.format(MSE.name),
    charts=fig6.charts_of_sizes(MSE),
    findings=on_each(fig6.findings_on_sizes, MSE),
)
