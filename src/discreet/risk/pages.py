"""Self-contained HTML pages on identification risk: for an assessment of traces or reports."""

from collections.abc import Mapping
from math import log2
from pathlib import Path
from typing import Any

from discreet.core.result_table import ResultTable, json_text
from discreet.pictures.pages import PageFigure, render
from discreet.risk.assessment import Assessment
from discreet.risk.bounds.identification import NO_LIMIT, limit
from discreet.risk.rank_chart import rank_chart
from discreet.risk.scores.rates import Rate, rank_curve
from discreet.simulation.pages import written


def write_page(
    assessment: Assessment,
    knowledge: str,
    facts: Mapping[str, Any],
    folder: Path,
    *,
    force: bool = False,
) -> list[Path]:
    """Write ``risk.html`` and ``risk.json`` into a folder: both or none.

    Args:
        assessment: the answer.
        knowledge: a description of the attacker's knowledge.
        facts: the numbers.
        folder: the target folder; it is created if necessary.
        force: whether to replace existing files.

    Raises:
        OutputExistsError: if one of the files exists, unless ``force`` is set.
        ParameterError: if the folder cannot be created or written; then nothing is written.
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    texts = {
        "risk.html": risk_page(assessment, knowledge, facts),
        "risk.json": json_text(facts, indent=2) + "\n",
    }
    return written(folder, texts, force=force)


def risk_page(
    assessment: Assessment,
    knowledge: str,
    facts: Mapping[str, Any] | None = None,
) -> str:
    """Return the page of an assessment as HTML text.

    Raises:
        MissingExtraError: if the ``plot`` extra is not installed.
    """
    return render(
        "risk.html",
        found=assessment,
        knowledge=knowledge,
        measured=_measured(assessment),
        tried=tried_in_words(assessment),
        figures=[_ranks(assessment)],
        bounds=_bounds(assessment),
        conditions=(facts or {}).get("conditions", ()),
        evidence=_evidence(facts or {}),
    )


def tried_in_words(assessment: Assessment) -> list[str]:
    """Return the attacks tried on traces as text, with success and interval, the strongest first."""
    return [f"{attack.attack} {_with_interval(attack.success, assessment)}" for attack in assessment.tried]


def _with_interval(rate: Rate, assessment: Assessment) -> str:
    # As few digits as possible, so that the bound fits beside it on a phone.
    return f"{rate.value:.3g} ({rate.low:.3g} {assessment.upper(f'{rate.high:.3g}')})"


def measured(assessment: Assessment, title: str, *more: list[str]) -> ResultTable:
    """Return the table of measured figures and bounds for every attack, with more rows at its end."""
    bits = log2(assessment.users)
    unique, bound, bounds = assessment.unique, assessment.list_bound, assessment.bounds
    most = 1.0 if unique is None else unique.limit
    named = limit(most if bounds is None else bounds.identification.value)
    listed = NO_LIMIT if bound is None else limit(bound.value)
    rows = [
        ["right user identified", _with_interval(assessment.success, assessment), named],
        [f"right user among {assessment.largest_list}", _with_interval(assessment.listed, assessment), listed],
        ["information on the user (bits)", f"{assessment.certified:.4g} of {bits:.4g}", limit(assessment.alpha, bits)],
        ["traces whose own user alone is best", f"{assessment.singled_out:,} of {assessment.success.trials:,}", ""],
        ["equal error rate", f"{assessment.det.equal_error_rate:.4g}", ""],
    ]
    return ResultTable.of(title, ["figure", "measured", "at most"], [*rows, *more])


def _measured(assessment: Assessment) -> ResultTable:
    paper = assessment.pse.paper
    # A figure under its own name, because it is not a bound.
    more = [] if paper is None else [["D(f_G || f_I) of the paper, bits (no bound)", f"{paper.bits:.4g}", ""]]
    return measured(assessment, "The measured attack, and the bounds for every attack", *more)


def _ranks(assessment: Assessment) -> PageFigure:
    # The level is the table's, also if the attack was selected from several.
    level = assessment.success.level
    places = assessment.places
    ranks = rank_curve(places.greater, places.ties, users=assessment.users, level=level)
    points = [(k, rate.value, rate.low, rate.high) for k, rate in zip(ranks.ks, ranks.rates, strict=True)]
    return PageFigure.of(
        rank_chart(points, users=assessment.users, level=level),
        "How often the right user is among the k best, compared with guessing.",
        f"A curve that rises with k: the right user is the best of {assessment.users:,} in "
        f"{assessment.success.value:.1%} of the cases, and among the {assessment.largest_list} best in "
        f"{assessment.listed.value:.1%}.",
    )


def _evidence(facts: Mapping[str, Any]) -> list[str]:
    """Return sentences on the files, the command and the verdict; an empty list without such facts."""
    if "evidence" not in facts:
        return []
    evidence = facts["evidence"]
    seed = "without a seed, so that figures vary" if facts["seed"] is None else f"seed {facts['seed']}"
    sentences = [f"{evidence['command']} (discreet {evidence['version']}, {seed})"]
    sentences += [f"{file['file']}: {file['bytes']:,} bytes, SHA-256 {file['sha256']}" for file in evidence["files"]]
    sentences += [f"Rows read: {evidence['rows_read']:,}; left out: {facts['rows_left_out']:,}."]
    if facts["limit"] is not None and "risk" in facts:
        sentences += [f"The identification risk, {limit(facts['risk'])}, is {facts['verdict']} of {facts['limit']:g}."]
    return sentences


def _bounds(assessment: Assessment) -> list[str]:
    bounds = assessment.bounds
    if bounds is None:
        return []
    printed = (figure for figure in (bounds.paper_pie, bounds.paper_error) if figure is not None)
    return [str(figure) for figure in (*bounds.pies, *bounds.identifications, *printed)]
