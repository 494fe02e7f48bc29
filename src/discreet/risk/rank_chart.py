"""Charts of the success of an attack by the length of the list of candidates."""

from collections.abc import Sequence
from typing import Any

from discreet.extras import optional
from discreet.pictures.charts import records_of, self_contained
from discreet.pictures.curves import COLOURS

# Wide enough to be legible in a scrolling region, and wider than a phone.
_SIZE = 380


@self_contained
def rank_chart(points: Sequence[tuple[int, float, float, float]], *, users: int, level: float) -> Any:
    """Return a chart of the probability that the right user is among the k best, against k.

    Args:
        points: k, the probability, and its lower and upper limit.
        users: the number of users, for the line of guesses.
        level: confidence level of the limits.

    Returns:
        An Altair layer chart.
    """
    alt = optional("altair")
    records = [dict(zip(("k", "value", "low", "high"), point, strict=True)) for point in points]
    x = alt.X("k:Q").scale(type="log", domain=[1, max(points[-1][0], 2)], nice=False)
    x = x.axis(alt.Axis(format="~s", tickCount=6)).title("k, the length of the list")
    y = alt.Y("value:Q").scale(domain=[0, 1]).axis(alt.Axis(format="~%")).title("right user among the k best")
    tips = [alt.Tooltip("k:Q"), alt.Tooltip("value:Q", format=".3%")]
    base = alt.Chart(records_of(records))
    chance = alt.Chart(records_of([{"k": point[0], "value": min(point[0] / users, 1.0)} for point in points]))
    layers = [
        chance.mark_line(strokeDash=[4, 4], color="#999", strokeWidth=1).encode(x=x, y=y),
        base.mark_rule(opacity=0.5, strokeWidth=2, color=COLOURS[0]).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(point=alt.OverlayMarkDef(size=30), color=COLOURS[0]).encode(x=x, y=y, tooltip=tips),
    ]
    legend = f"bars: {level * 100:.4g}% confidence intervals; dashed: guessing among {users:,}"
    heading = alt.TitleParams("Among the k best", subtitle=legend, anchor="start", fontSize=14, subtitleFontSize=11)
    return alt.layer(*layers, width=_SIZE, height=_SIZE * 3 // 4, title=heading)
