"""Beyond [ULDP, Fig. 13]: the same as beyond Fig. 8, against summed squared error."""

from dataclasses import replace

from papers.beyond import fig8
from papers.figure import nothing
from papers.uldp.fig8 import charts_of_cases
from papers.uldp.losses import MSE

FIGURE = replace(
    fig8.FIGURE,
    name="beyond/fig13",
    title=fig8.TITLE.format(13),
    shows=fig8.SHOWS.format(13, MSE.name),
    charts=charts_of_cases(MSE, fig8.LINES),
    findings=nothing,
)
