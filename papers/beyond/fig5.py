"""Beyond [ULDP, Fig. 5]: epsilon against total variation distance, with more mechanisms."""

from papers.beyond.sweeps import beyond
from papers.uldp import fig5
from papers.uldp.losses import TV

FIGURE = beyond(fig5.FIGURE, fig5.TITLE, TV, fig5.plan_epsilons, fig5.charts_of_epsilons)
