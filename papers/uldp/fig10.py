"""[ULDP, Fig. 10]: epsilon against summed squared error; the cells of Fig. 5."""

from dataclasses import replace

from papers.uldp import fig5
from papers.uldp.comparisons import on_each
from papers.uldp.losses import MSE

FIGURE = replace(
    fig5.FIGURE,
    name="uldp/fig10",
    title=f"[ULDP, Fig. 10] {fig5.TITLE.format(MSE.name)}",
    shows=fig5.SHOWS.format(MSE.name),
    charts=fig5.charts_of_epsilons(MSE),
    findings=on_each(fig5.findings_on_epsilons, MSE),
)
