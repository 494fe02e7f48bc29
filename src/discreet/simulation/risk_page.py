"""A self-contained HTML page of an assessment of identification risk, and its numbers as JSON."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from discreet.errors import ParameterError
from discreet.extras import optional
from discreet.io.atomic import check_free, replacing_all
from discreet.io.json_text import json_text
from discreet.pages.rendering import PageFigure, PageTable, render
from discreet.plots.curves import Curves, curve_chart
from discreet.plots.det import det_chart, rank_chart
from discreet.risk.assessment import Assessment
from discreet.risk.bounds.bound import Bound
from discreet.risk.scores.rates import Rate, rank_curve

_FILES = ("risk.html", "risk.json")

Sweep = Sequence[tuple[float, float, float]]


def write_page(
    found: Assessment, knowledge: str, facts: Mapping[str, Any], folder: Path, sweep: Sweep = (), *, force: bool = False
) -> list[Path]:
    """Write ``risk.html`` and ``risk.json`` into a folder: both of them, or none.

    Args:
        found: the answer.
        knowledge: what the attacker knows, in words.
        facts: the numbers.
        folder: where to; made if need be.
        sweep: epsilon, success and bound of other epsilons, if there are any.
        force: whether files that exist are replaced.

    Raises:
        OutputExistsError: if one of the files exists and ``force`` is not set.
        ParameterError: if the folder cannot be made or written to; nothing is written then.
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    texts = page(found, knowledge, sweep), json_text(facts, indent=2) + "\n"
    _make(folder)
    files = [folder / name for name in _FILES]
    with replacing_all(files, force=force) as besides:
        for beside, text in zip(besides, texts, strict=True):
            beside.write_text(text, encoding="utf-8")
    return files


def check_page(folder: Path, *, force: bool = False) -> None:
    """Refuse a page that could not be drawn or written, before the work; no file and no new folder is left.

    Raises:
        OutputExistsError: if one of the files exists and ``force`` is not set.
        ParameterError: if the folder cannot be made or written to.
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    for module in ("altair", "vl_convert", "jinja2"):
        optional(module)
    new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        _make(folder)
        for name in _FILES:
            check_free(folder / name, force=force)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ParameterError(f"{folder} cannot be written to ({type(error).__name__}); choose another.") from None
    finally:
        for parent in new:
            with suppress(OSError):
                parent.rmdir()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{folder} cannot be made ({type(error).__name__}); choose another folder.") from None


def page(found: Assessment, knowledge: str, sweep: Sweep = ()) -> str:
    """Return the page as one HTML text.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    return render(
        "risk.html",
        found=found,
        knowledge=knowledge,
        measured=_measured(found),
        tried=tried_in_words(found),
        figures=[_ranks(found), _det(found)],
        swept=_swept(sweep),
        bounds=_bounds(found),
    )


def tried_in_words(found: Assessment) -> list[str]:
    """Return each attack that was tried with its success and interval, the strongest first."""
    return [f"{one.attack} {_with_interval(one.success)}" for one in found.tried]


def _with_interval(rate: Rate) -> str:
    return f"{rate.value:.4g} ({rate.low:.4g} to {rate.high:.4g})"


def _measured(found: Assessment) -> PageTable:
    identified = None if found.bounds is None else found.bounds.identification
    rows = [
        ("information on the user, bits", f"{found.certified:.4g}", f"{found.alpha:.4g}"),
        ("the right user is named", _with_interval(found.success), _most(identified)),
        (f"the right user is among {found.largest_list}", f"{found.listed.value:.4g}", _most(found.list_bound)),
        ("equal error rate of the attack", f"{found.det.equal_error_rate:.4g}", ""),
    ]
    if found.pse.paper is not None:
        # A figure under its own name: it bounds nothing.
        rows.append(("D(f_G || f_I) of the paper, bits (no bound)", f"{found.pse.paper.bits:.4g}", ""))
    return PageTable("The attack that was measured, beside what bounds every attack", ("", "measured", "at most"), rows)


def _ranks(found: Assessment) -> PageFigure:
    # As sure as the table beside it, where the attack was chosen among several.
    level = found.success.level
    ranks = rank_curve(found.scores.greater, found.scores.ties, users=found.users, level=level)
    return PageFigure.of(
        rank_chart([ranks.line(found.attack)], users=found.users),
        "How often the right user is among the k best, with what guessing finds.",
        f"A curve that rises with k: the right user is the best of {found.users:,} in {found.success.value:.1%} of the "
        f"cases, and among the {found.largest_list} best in {found.listed.value:.1%}.",
    )


def _det(found: Assessment) -> PageFigure:
    return PageFigure.of(
        det_chart([found.det.line(found.attack)]),
        "How often other users' traces are taken for a user's own, against how often a user's own is missed.",
        f"A falling curve, both of whose errors are {found.det.equal_error_rate:.2%} where they are equal.",
    )


def _swept(sweep: Sweep) -> PageFigure | None:
    if not sweep:
        return None
    lines = ("what no attack exceeds", "this attack")
    points = [
        {"x": epsilon, "y": y, "low": y, "high": y, "line": line, "column": "", "row": ""}
        for epsilon, success, bound in sweep
        for line, y in zip(lines, (bound, success), strict=True)
    ]
    caption = "one report of randomized response; all epsilons from one pass"
    axes = ("epsilon", "the right user is named")
    chart = curve_chart(
        Curves("At another epsilon", [caption], *axes, points, lines, [""], [""], {}, even=True), width=420
    )
    first, last = sweep[0], sweep[-1]
    text = (
        f"Two rising curves: at epsilon = {first[0]:g} this attack names the right user in {first[1]:.2%} of "
        f"the cases and none in more than {first[2]:.2%}; at epsilon = {last[0]:g} in {last[1]:.2%}, and none in more "
        f"than {last[2]:.2%}."
    )
    return PageFigure.of(chart, f"How often the right user is named: {caption}.", text)


def _most(bound: Bound | None) -> str:
    return "1" if bound is None else f"{bound.value:.4g}"


def _bounds(found: Assessment) -> list[str]:
    if found.bounds is None:
        return []
    bounds = found.bounds
    printed = (one for one in (bounds.paper_pie, bounds.paper_error) if one is not None)
    return [str(one) for one in (*bounds.pies, *bounds.identifications, *printed)]
