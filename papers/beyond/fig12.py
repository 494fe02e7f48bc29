"""Beyond [ULDP, Fig. 12]: the number of attributes against summed squared error, with more mechanisms."""

from papers.beyond.sweeps import beyond
from papers.uldp import fig7, fig12
from papers.uldp.losses import MSE

FIGURE = beyond(fig12.FIGURE, fig7.TITLE, MSE, fig7.plan_growth, fig7.charts_of_growth)
