"""A self-contained HTML page of an assessment of identification risk, and its numbers as JSON."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from discreet.errors import ParameterError
from discreet.extras import optional
from discreet.io.atomic import check_free, replacing_all
from discreet.io.json_text import json_text
from discreet.plots.curves import Curves, curve_chart
from discreet.plots.det import det_chart, rank_chart
from discreet.risk.assessment import Assessment
from discreet.risk.bounds.bound import Bound
from discreet.risk.scores.rates import rank_curve

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 980px; margin: 2rem auto; padding: 0 1rem; color: #1c1917; }
h1 { line-height: 1.2; } h2 { margin-top: 2.2rem; } img { max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 4px 10px; text-align: left; border-bottom: 1px solid #e7e5e4; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; }
.answer { background: #f0f9ff; padding: .6rem 1rem; border-left: 4px solid #0369a1; }
small { color: #57534e; }
"""
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
    for module in ("altair", "vl_convert"):
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
    """Return the page as one HTML text."""
    answer = "".join(f"<p>{escape(sentence)}</p>" for sentence in found.sentences)
    ranks = rank_curve(found.scores.greater, found.scores.ties, users=found.users)
    tried = f"<p>How often each attack names the right user: {escape('; '.join(tried_in_words(found)))}.</p>"
    charts = [rank_chart([ranks.line(found.attack)], users=found.users), det_chart([found.det.line(found.attack)])]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Identification risk</title><style>{_STYLE}</style></head><body>
<h1>How surely can someone tell whose data these are?</h1>
<div class="answer">{answer}</div>
<h2>Measured and bounded</h2>{_sandwich(found)}
<p>Measured: what this attack achieves on these data; another one may do better. At most: what no attack exceeds,
whatever it knows. Lower bounds on the information are certified: they hold with the confidence of their interval.</p>
<h2>The attack</h2>
<p>Every trace is compared with what is known of every user ({escape(found.attack)}); the attacker knows
{escape(knowledge)}. {found.singled_out:,} of {found.users:,} users are singled out: they score best for their own, and
nobody else as well.</p>
{tried if len(found.tried) > 1 else ""}{"".join(_picture(chart) for chart in charts)}
{_swept(sweep)}{_bounds(found)}
</body></html>
"""


def tried_in_words(found: Assessment) -> list[str]:
    """Return each attack that was tried with its success and interval, the strongest first."""
    return [
        f"{one.attack} {one.success.value:.4g} ({one.success.low:.4g} to {one.success.high:.4g})" for one in found.tried
    ]


def _sandwich(found: Assessment) -> str:
    success = found.success
    interval = f"{success.value:.4g} ({success.low:.4g} to {success.high:.4g})"
    rows = [
        ("information on the user, bits", f"{found.certified:.4g}", f"{found.alpha:.4g}"),
        ("the right user is named", interval, _most(None if found.bounds is None else found.bounds.identification)),
        (f"the right user is among {found.largest_list}", f"{found.listed.value:.4g}", _most(found.list_bound)),
        ("equal error rate of the attack", f"{found.det.equal_error_rate:.4g}", ""),
    ]
    if found.pse.paper is not None:
        # A figure under its own name: it bounds nothing.
        rows.append(("D(f_G || f_I) of the paper, bits (no bound)", f"{found.pse.paper.bits:.4g}", ""))
    body = "".join(
        f"<tr><td>{escape(what)}</td><td class='number'>{escape(low)}</td><td class='number'>{escape(high)}</td></tr>"
        for what, low, high in rows
    )
    heads = "<tr><th></th><th class='number'>measured</th><th class='number'>at most</th></tr>"
    return f"<table><thead>{heads}</thead><tbody>{body}</tbody></table>"


def _swept(sweep: Sweep) -> str:
    if not sweep:
        return ""
    lines = ("what no attack exceeds", "this attack")
    points = [
        {"x": epsilon, "y": y, "low": y, "high": y, "line": line, "column": "", "row": ""}
        for epsilon, success, bound in sweep
        for line, y in zip(lines, (bound, success), strict=True)
    ]
    told = ["one report of randomized response; all epsilons from one pass"]
    axes = ("epsilon", "the right user is named")
    chart = curve_chart(Curves("At another epsilon", told, *axes, points, lines, [""], [""], {}, even=True), width=420)
    return f"<h2>At another epsilon</h2>{_picture(chart)}"


def _most(bound: Bound | None) -> str:
    return "1" if bound is None else f"{bound.value:.4g}"


def _bounds(found: Assessment) -> str:
    if found.bounds is None:
        return ""
    bounds = found.bounds
    printed = (one for one in (bounds.paper_pie, bounds.paper_error) if one is not None)
    figures = "".join(f"<li>{escape(str(one))}</li>" for one in (*bounds.pies, *bounds.identifications, *printed))
    return f"<h2>All bounds</h2><ul>{figures}</ul>"


def _picture(chart: Any) -> str:
    written = StringIO()
    chart.save(written, format="svg")
    coded = base64.b64encode(written.getvalue().encode()).decode()
    return f'<img alt="" src="data:image/svg+xml;base64,{coded}">'
