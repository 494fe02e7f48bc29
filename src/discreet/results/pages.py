"""The page of an estimate: self-contained HTML without scripts, whose bars and map follow the reader's theme."""

from collections.abc import Sequence
from typing import Any

from discreet.pictures.pages import render
from discreet.results.estimate import Estimate

_MOST_VALUES = 40


def estimate_page(estimate: Estimate, sentences: Sequence[str] = (), *, title: str = "", **limits: Any) -> str:
    """Return the page of an estimate: the largest shares with their limits, a map of a grid, and further sentences.

    Args:
        estimate: the estimate.
        sentences: the protection of people, in words.
        title: the heading of the page.
        limits: `level` and `simultaneous`, as for `Estimate.interval`.

    Raises:
        ParameterError: if the level is not in (0, 1).
        MissingExtraError: if Jinja2 is missing.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(["bus", "car"]), epsilon=2.0)
        >>> reports = mechanism.obfuscate(["bus"] * 600 + ["car"] * 400, random=dc.SeededRandom(1))
        >>> page = estimate_page(dc.estimate(mechanism, reports), ["Each answer is protected."])
        >>> page.startswith("<!doctype html>"), "<script" in page
        (True, False)
    """
    table = estimate.values_table(title, estimate.chosen(_MOST_VALUES), **limits)
    columns = {column.name: column for column in table.contents}
    return render("estimate.html", estimate=estimate, sentences=sentences, table=table, columns=columns)
