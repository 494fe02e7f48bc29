"""The verb ``risk``: the identification risk of traces, reports and plans."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.plans import load_plan
from discreet.cli.scoring import source_of
from discreet.cli.terminal import console, progress_bar, show_json, show_table
from discreet.core.checks import checked_choice
from discreet.core.domain import Domain
from discreet.core.guarantee import in_odds
from discreet.core.traces import Split, Traces, by_count, by_half, leave_out, maximum_knowledge
from discreet.engines import read_traces
from discreet.errors import ParameterError
from discreet.mechanisms import BLOCK_MECHANISMS, BlockMechanism, RandomizedResponse
from discreet.risk.assessment import Assessment, assess, sweep
from discreet.risk.bounds import Bounds, conditions, identification_bounds
from discreet.simulation.risk_page import check_page, tried_in_words, write_page

_MOST_DIGITS = 18


def assess_tables(paths: Sequence[Path], **options: Any) -> None:
    """Attack tables of events, print the assessment, write its page, and exit with 1 if the risk is above a limit."""
    if options["output"] is not None:
        check_page(options["output"])
    mechanism, domain = _mechanism(options)
    traces = _read(paths, options, domain)
    split, knowledge = _split(traces, options["split"], options["least"])
    if mechanism is None and options["epsilon"] is not None:
        mechanism = _named(options["mechanism"], Domain(range(split.target.event_count)), options["epsilon"])
    chosen = {name: options[name] for name in ("attack", "reports", "largest_list")}
    with progress_bar("comparing every trace with every user"):
        found = assess(split, mechanism=mechanism, random=source_of(options["seed"]), **chosen)
    facts = _facts(found, split, knowledge) | {"rows_left_out": traces.left_out}
    files = []
    if options["output"] is not None:
        swept = []
        plain = mechanism is not None and mechanism.name == RandomizedResponse.name and options["reports"] == 1
        if mechanism is not None and plain and not mechanism.domain.clear_count:
            swept = sweep(split, mechanism)
        files = write_page(found, knowledge, facts, options["output"], swept)
    if options["as_json"]:
        show_json(facts | {"files": [str(file) for file in files]})
    else:
        if traces.left_out:
            console().print(
                f"{traces.left_out:,} rows are left out, since a user, an event or a time is missing in them."
            )
        _show(found, split, knowledge, files)
    limit = options["fail_above"]
    if limit is not None and found.risk > limit:
        known = "" if found.bounds is not None else " (upper limit of what the strongest attack tried achieves)"
        click.echo(f"The identification risk, {found.risk:.4g}{known}, is above {limit:g}.", err=True)
        raise click.exceptions.Exit(1)


def _read(paths: Sequence[Path], options: dict[str, Any], domain: Domain | None) -> Traces:
    named = {column: options[column] for column in ("user", "event", "time")}
    with progress_bar("reading the events") as show:
        wanted = {"domain": domain, "missing": options["missing"]}
        return read_traces(paths, **named, **wanted, progress=partial(show, "reading the events"))


def compare_plans(paths: list[Path], **options: Any) -> None:
    """Rank plans by identification risk, with their errors, and exit with 1 if the risk of one is above a limit."""
    users, reports = options["users"], options["reports"]
    if users is None:
        raise ParameterError("--users must say among how many people a report's sender is to be found.")
    rows = []
    for path in paths:
        mechanism = load_plan(path).mechanism()
        bounds = identification_bounds(mechanism, users, reports=reports)
        rows.append((path, mechanism, bounds, mechanism.decoder.worst_case_mse(users)))
    rows.sort(key=lambda row: (row[2].identification.value, row[3]))
    if options["as_json"]:
        show_json({"users": users, "reports": reports, "plans": [_compared(*row) for row in rows]})
    else:
        _show_compared(rows, users, reports)
    limit = options["fail_above"]
    above = [row for row in rows if limit is not None and row[2].identification.value > limit]
    if above:
        most = above[-1][2].identification.value
        click.echo(
            f"The identification risk is above {limit:g} under {len(above)} of {len(rows)} plans, {most:.4g} at most.",
            err=True,
        )
        raise click.exceptions.Exit(1)


def _show_compared(rows: list[tuple[Path, BlockMechanism, Bounds, float]], users: int, reports: int) -> None:
    cells = [
        [
            str(path),
            mechanism.name,
            f"{bounds.identification.value:.4g}",
            f"{bounds.pie.value:.4g}",
            f"{bounds.total_epsilon:.4g}",
            f"{bounds.in_clear:.3g}",
            f"{mse:.3e}",
        ]
        for path, mechanism, bounds, mse in rows
    ]
    heads = ["plan", "mechanism", "identified <=", "PIE <= (bits)", "epsilon, together", "told in clear", "worst MSE"]
    each = f", {reports} reports each" if reports > 1 else ""
    show_table(f"Least identification risk first; {users:,} users{each}", heads, cells, left=2)
    console().print(
        "identified <=: probability that the right user is named, on average over users, whoever guesses.\n"
        "The two risks are different things: epsilon is about values, identification about users."
    )
    _show_conditions([bounds for _, _, bounds, _ in rows])


def _show_conditions(bounds: list[Bounds]) -> None:
    """Print the conditions of figures for several reports, and the odds behind a large epsilon."""
    odds = in_odds(max(one.total_epsilon for one in bounds))
    for sentence in (conditions(bounds), f"At the largest epsilon: {odds}" if odds else ""):
        if sentence:
            console().print(sentence)


def _compared(path: Path, mechanism: BlockMechanism, bounds: Bounds, mse: float) -> dict[str, Any]:
    """Return the risks and the error of a plan, ready for JSON."""
    return {
        "plan": str(path),
        "mechanism": mechanism.name,
        "epsilon": bounds.total_epsilon,
        "identification": asdict(bounds.identification),
        "pie": asdict(bounds.pie),
        "told_in_clear": bounds.in_clear,
        "worst_case_mse": mse,
    }


def _mechanism(options: dict[str, Any]) -> tuple[BlockMechanism | None, Domain | None]:
    if options["plan"] is None:
        return None, None
    plan = load_plan(options["plan"])
    if plan.is_personalized:
        raise ParameterError(
            "events under a personalized plan are attacked only with each user's secret values, which their table does "
            "not have; bound its risk with discreet risk compare instead."
        )
    mechanism = plan.mechanism()
    return mechanism, mechanism.domain


def _named(name: str, domain: Domain, epsilon: float) -> BlockMechanism:
    known = [one for one, made in BLOCK_MECHANISMS.items() if not made.needs_options()]
    return BLOCK_MECHANISMS[checked_choice("--mechanism", name, known)](domain, epsilon)


def _split(traces: Traces, how: str, least: int) -> tuple[Split, str]:
    """Return the split, and the attacker's knowledge in words."""
    kind, _, number = how.partition(":")
    # Not isdigit, which also takes what int does not, such as a superscript.
    count = int(number) if number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS else 0
    kept = traces.with_least(max(least, count + 1 if number else least))
    if kept.users < 2:
        raise ParameterError(
            f"at least 2 users must have {least} events, got {kept.users}; lower --least, or use other data."
        )
    if kind == "half" and not number:
        return by_half(kept), "the first half of each user's events; the second half is attributed"
    if kind == "all" and not number:
        return maximum_knowledge(kept), "each user's events themselves; only the names are unknown"
    if kind == "first" and count:
        return by_count(kept, count), f"the first {count} events of each user; the others are attributed"
    if kind == "rest" and count:
        return leave_out(kept, count), f"all but the first {count} events of each user, which are attributed"
    raise ParameterError(f"--split must be half, all, first:N or rest:N with N >= 1, got {how!r}.")


def _facts(found: Assessment, split: Split, knowledge: str) -> dict[str, Any]:
    bounds = found.bounds
    return {
        "users": found.users,
        "events": len(split.target),
        "different_events": split.target.event_count,
        "attack": found.attack,
        "attacks_tried": [asdict(one) for one in found.tried],
        "level": found.level,
        "attacker_knows": knowledge,
        "reports": found.reports,
        "success": asdict(found.success),
        "risk": found.risk,
        "list": found.largest_list,
        "success_of_list": asdict(found.listed),
        "singled_out": found.singled_out,
        "pie_at_least_bits": found.certified,
        "pie_at_most_bits": found.alpha,
        "lower_bounds": [asdict(one) for one in (found.pse.certified, found.rank_pse)],
        "divergence_of_the_paper": None if found.pse.paper is None else asdict(found.pse.paper),
        "equal_error_rate": found.det.equal_error_rate,
        "list_at_most": None if found.list_bound is None else asdict(found.list_bound),
        "identification_at_most": None if bounds is None else asdict(bounds.identification),
        "all_bounds": [] if bounds is None else [asdict(one) for one in (*bounds.pies, *bounds.identifications)],
        "epsilon_together": None if bounds is None else bounds.total_epsilon,
        "consistent": found.consistent,
        "in_words": list(found.sentences),
    }


def _show(found: Assessment, split: Split, knowledge: str, files: list[Path]) -> None:
    out, bounds = console(), found.bounds
    out.print(f"{split.target!r}; attack: {found.attack}; the attacker knows {knowledge}")
    least = max((found.pse.certified, found.rank_pse), key=lambda one: one.certified or 0.0)
    rows = [
        ["information on the user (bits)", f"{found.certified:.4g}", f"{found.alpha:.4g}", least.name],
        [
            "right user named",
            f"{found.success.value:.4g} ({found.success.low:.4g} to {found.success.high:.4g})",
            "1" if bounds is None else f"{bounds.identification.value:.4g}",
            found.attack,
        ],
        [
            f"right user among {found.largest_list}",
            f"{found.listed.value:.4g} ({found.listed.low:.4g} to {found.listed.high:.4g})",
            "1" if found.list_bound is None else f"{found.list_bound.value:.4g}",
            found.attack,
        ],
        ["singled out (users)", f"{found.singled_out:,}", f"{found.users:,}", found.attack],
        ["equal error rate", f"{found.det.equal_error_rate:.4g}", "", found.attack],
    ]
    show_table("Identification risk", ["what", "measured", "at most", "by"], rows, left=1)
    if len(found.tried) > 1:
        out.print("Right user named, by each attack: " + "; ".join(tried_in_words(found)) + ".")
    if found.pse.paper is not None:
        out.print(str(found.pse.paper))
    for sentence in found.sentences:
        out.print(sentence)
    if bounds is not None and bounds.condition_sentence:
        out.print(bounds.condition_sentence)
    if not found.consistent:
        out.print("What was measured is above what bounds it: do not trust these numbers, and please report this.")
    if files:
        out.print("Written: " + ", ".join(str(file) for file in files))
