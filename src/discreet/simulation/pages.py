"""Pages of studies and of risk, and how they are saved.

A self-contained HTML page of a study: sentences, table, guarantee and an interactive chart.

Files of findings: a page, a picture and the numbers.

A self-contained HTML page of an assessment of identification risk, and its numbers as JSON.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import log2
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from discreet.errors import ParameterError
from discreet.extras import optional
from discreet.files.writing import check_free, json_text, replacing_all
from discreet.pictures.charts import DRAWN, Panel
from discreet.pictures.curves import Curves, curve_chart
from discreet.pictures.det import det_chart, rank_chart
from discreet.pictures.pages import PageFigure, PageTable, render
from discreet.risk.assessment import Assessment
from discreet.risk.bounds.identification import NO_LIMIT, limit
from discreet.risk.scores.rates import Rate, rank_curve
from discreet.simulation.study import Findings, rows, table


def page(findings: Findings) -> str:
    """Return the page as one HTML text.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    document, outcomes = findings.study.document, findings.outcomes
    headings, cells = table(findings)
    marks = [run.protects.lower() for run in outcomes]
    panels = [_numbers(panel) for row in findings.panels() for panel in row]
    caption = f"Truth and estimates by {document.show}, of the best mechanism under each notion."
    return render(
        "study.html",
        title=document.title or "Study",
        about=document.about,
        simulated=any(run.estimates["linear"].simulated for run in outcomes),
        sentences=findings.sentences(),
        runs=PageTable("Each mechanism, and how far its estimates are from the truth", headings, cells, 2, marks),
        shaded=any(run.protects == "ULDP" for run in outcomes),
        caption=caption,
        picture=f"{caption} The same numbers are in the tables below.",
        panels=panels,
        guarantees=[(run.mechanism.name, str(run.mechanism.guarantee)) for run in findings.compared],
        credit=document.credit,
        library=_library(),
        # "<" would let a label end the script.
        chart=json.dumps(findings.chart().to_dict()).replace("<", "\\u003c"),
    )


def _numbers(panel: Panel) -> PageTable:
    """Return the truth and the estimates of a panel as a table."""
    columns = {"truth": panel.truth, **{name: panel.columns[name] for name in DRAWN}}
    known = {name: column for name, column in columns.items() if column is not None}
    rows = [
        [str(name), *(f"{column[place]:.4%}" for column in known.values())] for place, name in enumerate(panel.names)
    ]
    return PageTable(panel.title, ["value", *known], rows)


def _library() -> str:
    version = ".".join(optional("altair").SCHEMA_VERSION.split(".")[:2])
    bundle: str = optional("vl_convert").javascript_bundle(vl_version=version)
    return bundle


def save_findings(findings: Findings, folder: Path, *, force: bool = False) -> list[Path]:
    """Write page.html, chart.png and results.json into a folder: all of them, or none.

    Args:
        findings: of a study.
        folder: where to; made if need be.
        force: whether files that exist are replaced.

    Returns:
        their paths.

    Raises:
        OutputExistsError: if one of the files exists and ``force`` is not set.
        MissingExtraError: if the ``plot`` extra is not installed.
        ParameterError: if the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"{folder} cannot be made ({type(error).__name__}); choose another output folder."
        ) from None
    written = [folder / "page.html", folder / "chart.png", folder / "results.json"]
    with replacing_all(written, force=force) as (text, picture, numbers):
        text.write_text(page(findings), encoding="utf-8")
        findings.chart().save(str(picture), ppi=144)
        numbers.write_text(json_text(list(rows(findings.study, findings.outcomes)), indent=2) + "\n", encoding="utf-8")
    return written


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
    texts = risk_page(found, knowledge, sweep), json_text(facts, indent=2) + "\n"
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


def risk_page(found: Assessment, knowledge: str, sweep: Sweep = ()) -> str:
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
    return [f"{one.attack} {_with_interval(one.success, found)}" for one in found.tried]


def _with_interval(rate: Rate, found: Assessment) -> str:
    # As few digits as leave room for the bound beside it on a phone.
    upper = "and more" if found.is_mostly_blind else f"to {rate.high:.3g}"
    return f"{rate.value:.3g} ({rate.low:.3g} {upper})"


def measured(found: Assessment) -> tuple[list[str], list[list[str]]]:
    """Return headings and cells of what was measured, beside what bounds every attack."""
    users, bits = found.users, log2(found.users)
    chances = (None if found.bounds is None else found.bounds.identification, found.list_bound)
    named, listed = (NO_LIMIT if one is None else limit(one.value) for one in chances)
    rows = [
        ["right user named", _with_interval(found.success, found), named],
        [f"right user among {found.largest_list}", _with_interval(found.listed, found), listed],
        ["information on the user (bits)", f"{found.certified:.4g} of {bits:.4g}", limit(found.alpha, bits)],
    ]
    if found.unlearned:
        rows += [["nothing learned of (traces)", f"{found.unlearned:.2%}", ""]]
        rows += [["identification risk, these counted as named", limit(found.risk), ""]]
    rows += [["singled out (users)", f"{found.singled_out:,} of {users:,}", ""]]
    return ["", "measured", "at most"], [*rows, ["equal error rate", f"{found.det.equal_error_rate:.4g}", ""]]


def _measured(found: Assessment) -> PageTable:
    headings, rows = measured(found)
    if found.pse.paper is not None:
        # A figure under its own name: it bounds nothing.
        rows += [["D(f_G || f_I) of the paper, bits (no bound)", f"{found.pse.paper.bits:.4g}", ""]]
    return PageTable("The attack that was measured, beside what bounds every attack", headings, rows)


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
        f"Two rising curves, what no attack exceeds and this attack: at epsilon = {first[0]:g} the limit is "
        f"{limit(first[2])} and this attack names {first[1]:.4g}; at epsilon = {last[0]:g} {limit(last[2])} and "
        f"{last[1]:.4g}."
    )
    return PageFigure.of(chart, f"How often the right user is named: {caption}.", text)


def _bounds(found: Assessment) -> list[str]:
    if found.bounds is None:
        return []
    bounds = found.bounds
    printed = (one for one in (bounds.paper_pie, bounds.paper_error) if one is not None)
    return [str(one) for one in (*bounds.pies, *bounds.identifications, *printed)]
