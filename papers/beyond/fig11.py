"""Beyond [ULDP, Fig. 11]: the number of sensitive values against summed squared error, with more mechanisms."""

from papers.beyond.sweeps import beyond
from papers.uldp import fig6, fig11
from papers.uldp.losses import MSE

FIGURE = beyond(fig11.FIGURE, fig6.TITLE, MSE, fig6.plan_sizes, fig6.charts_of_sizes)
