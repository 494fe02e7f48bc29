"""Beyond [ULDP, Fig. 6]: the number of sensitive values against total variation distance, with more mechanisms."""

from papers.beyond.sweeps import beyond
from papers.uldp import fig6
from papers.uldp.losses import TV

FIGURE = beyond(fig6.FIGURE, fig6.TITLE, TV, fig6.plan_sizes, fig6.charts_of_sizes)
