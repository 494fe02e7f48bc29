"""[ULDP, Fig. 12]: the number of attributes against summed squared error; the cells of Fig. 7, without findings."""

from dataclasses import replace

from papers.figure import nothing
from papers.uldp import fig7
from papers.uldp.losses import MSE

FIGURE = replace(
    fig7.FIGURE,
    name="uldp/fig12",
    title=f"[ULDP, Fig. 12] {fig7.TITLE.format(MSE.name)}",
    shows=fig7.SHOWS.format(MSE.name),
    charts=fig7.charts_of_growth(MSE),
    findings=nothing,
)
