"""Beyond [ULDP, Fig. 10]: epsilon against summed squared error, with more mechanisms."""

from papers.beyond.sweeps import beyond
from papers.uldp import fig5, fig10
from papers.uldp.losses import MSE

FIGURE = beyond(fig10.FIGURE, fig5.TITLE, MSE, fig5.plan_epsilons, fig5.charts_of_epsilons)
