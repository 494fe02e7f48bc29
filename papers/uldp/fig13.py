"""[ULDP, Fig. 13]: the personalized mechanism: epsilon against summed squared error; the cells of Fig. 8."""

from dataclasses import replace

from papers.uldp import fig8
from papers.uldp.comparisons import on_each
from papers.uldp.losses import MSE

FIGURE = replace(
    fig8.FIGURE,
    name="uldp/fig13",
    title=f"[ULDP, Fig. 13] {fig8.TITLE.format(MSE.name)}",
    shows=fig8.SHOWS.format(MSE.name),
    charts=fig8.charts_of_cases(MSE),
    findings=on_each(fig8.findings_on_cases, MSE),
)
