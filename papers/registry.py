"""All figures and tables by name, in the order of the report."""

from discreet.errors import ParameterError
from papers.beyond import fig5 as beyond_fig5
from papers.beyond import fig6 as beyond_fig6
from papers.beyond import fig7 as beyond_fig7
from papers.beyond import fig8 as beyond_fig8
from papers.beyond import fig10 as beyond_fig10
from papers.beyond import fig11 as beyond_fig11
from papers.beyond import fig12 as beyond_fig12
from papers.beyond import fig13 as beyond_fig13
from papers.beyond import stopping
from papers.figure import Figure
from papers.pie import fig4 as pie_fig4
from papers.pie import fig5 as pie_fig5
from papers.pie import fig6 as pie_fig6
from papers.pie import fig7 as pie_fig7
from papers.pie import fig8 as pie_fig8
from papers.pie import fig9 as pie_fig9
from papers.pie import fig10 as pie_fig10
from papers.pie import fig11 as pie_fig11
from papers.pie import fig12 as pie_fig12
from papers.pie import growth as pie_growth
from papers.uldp import (
    fig5,
    fig6,
    fig7,
    fig8,
    fig9,
    fig10,
    fig11,
    fig12,
    fig13,
    running_time,
    table1,
    table3,
    table4,
)

_ULDP = (fig5, fig6, fig7, fig8, fig9, fig10, fig11, fig12, fig13, table1, table3, table4, running_time)
_SWEEPS = (beyond_fig5, beyond_fig6, beyond_fig7, beyond_fig10, beyond_fig11, beyond_fig12)
_BEYOND = (*_SWEEPS, beyond_fig8, beyond_fig13, stopping)
_PIE = (pie_fig4, pie_fig5, pie_growth, pie_fig6, pie_fig7, pie_fig8, pie_fig9, pie_fig10, pie_fig11, pie_fig12)

FIGURES: dict[str, Figure] = {
    module.FIGURE.name: module.FIGURE for family in (_ULDP, _BEYOND, _PIE) for module in family
}


def figure(name: str) -> Figure:
    """Return a figure by name.

    Raises:
        ParameterError: if there is none of that name.
    """
    if name not in FIGURES:
        raise ParameterError(f"figures are {', '.join(FIGURES)}, got {name!r}.")
    return FIGURES[name]


def family(name: str) -> list[Figure]:
    """Return every figure of a family (``uldp``, ``beyond``, ``pie``), or the one of that name.

    Raises:
        ParameterError: if there is none.
    """
    return [member for key, member in FIGURES.items() if key.split("/")[0] == name] or [figure(name)]
