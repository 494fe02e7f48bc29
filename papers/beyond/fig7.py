"""Beyond [ULDP, Fig. 7]: the number of attributes against total variation distance, with more mechanisms."""

from papers.beyond.sweeps import beyond
from papers.uldp import fig7
from papers.uldp.losses import TV

FIGURE = beyond(fig7.FIGURE, fig7.TITLE, TV, fig7.plan_growth, fig7.charts_of_growth)
