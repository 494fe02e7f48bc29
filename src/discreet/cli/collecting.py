"""The verbs ``obfuscate`` and ``estimate``."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from discreet.cli.lazily import given_options
from discreet.cli.personalizing import backgrounds, bot_facts, codes_of, notes, show_bots
from discreet.cli.piping import STANDARD, reports_here, sent
from discreet.cli.plans import load_plan
from discreet.cli.terminal import console, progress_bar, said_of_files, show_json, show_table
from discreet.core.estimate import DEFAULT_LEVEL, Estimate
from discreet.core.random import SecureRandom, SeededRandom
from discreet.core.reports import Reports
from discreet.core.tally import Tally
from discreet.engines import Counted, Progress, gather, tally
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.estimators.methods import NO_INTERVALS
from discreet.estimators.tags import TagEstimate, estimate_personalized
from discreet.io.atomic import replacing_all
from discreet.io.endings import ending
from discreet.io.estimates import estimate_facts, write_columns
from discreet.io.json_text import json_text
from discreet.io.plan import Plan
from discreet.io.reports import write_reports
from discreet.io.suffixes import is_tally
from discreet.io.tallies import put_tally
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.evidence import StoredBlocks
from discreet.mechanisms.personalized import Personalized
from discreet.plots.pictures import picture_options

_BATCH = 1 << 18
_NEEDS_REPORTS = ("mle", "em")


def obfuscate_file(plan: Path, values: Path, output: Path, **options: Any) -> None:
    """Obfuscate a table of values and print the guarantee."""
    document, seed = load_plan(plan), options["seed"]
    mechanism = document.mechanism()
    asked = {name: options[name] for name in ("column", "user", "tags", "missing")}
    codes, gone = codes_of(document, values, **asked)
    random = SecureRandom() if seed is None else SeededRandom(seed)
    with progress_bar("obfuscating") as progress:

        def batches() -> Iterator[Reports]:
            done = 0
            for reports in mechanism.obfuscate_batches(codes, size=_BATCH, random=random):
                yield reports
                done += reports.n
                progress("obfuscating", done, len(codes))

        with sent(output, ".jsonl") as target:
            written = write_reports(target, mechanism, batches(), force=options["force"])
    facts = {"reports": written, "output": str(output), "plan": mechanism.fingerprint, "simulated": seed is not None}
    if options["as_json"]:
        show_json(facts | ({"left_out": gone} if gone else {}))
        return
    for reason, count in gone.items():
        console().print(f"Left out: {count:,} rows that {reason}.")
    where = "standard output" if output == STANDARD else output
    console().print(f"{written:,} reports of plan {mechanism.fingerprint[:12]} written to {where}.")
    console().print(str(_promising(document).guarantee))
    if seed is not None:
        console().print("These reports are simulated with a known seed: they protect nobody.")


def _promising(plan: Plan) -> BlockMechanism | Personalized:
    return plan.personalized() if plan.is_personalized else plan.mechanism()


def estimate_files(plan: Path, sources: Sequence[Path], **options: Any) -> None:
    """Estimate from files of reports or tallies, write the outputs that are named, and show the largest values."""
    document = load_plan(plan)
    mechanism, known = document.mechanism(), backgrounds(document, options["background"])
    method = options["method"]
    _check_intervals(options)
    if STANDARD in sources and options["engine"] != "local":
        raise ParameterError("- is read on this machine, and executors see files; name files, or use --engine local.")
    if all(is_tally(source) for source in sources):
        _refuse_given(["bad_rows", "trust_plan"], "tallies have no rows of their own")
    with progress_bar("reading") as progress, _engine(options) as engine, reports_here(sources) as here:
        with said_of_files() as said:
            data, left_out = _gathered(engine, mechanism, here, options, partial(progress, "reading"))
        given = {"method": method, **_given(options, progress)}
        found, tagged = _estimated(document, data, known, given)
    _write(mechanism, data, found, options)
    level, together = options["level"], options["simultaneous"]
    if options["as_json"]:
        bots = {} if tagged is None else bot_facts(tagged)
        show_json(
            {**estimate_facts(found, level, simultaneous=together), **bots, **_reading_facts(options, left_out, said)}
        )
        return
    _show(_promising(document), found, level, simultaneous=together, largest=options["largest"])
    for reason, count in left_out.items():
        console().print(f"Left out: {count:,} rows that {reason}.")
    for note in said:
        console().print(f"Note: {note}")
    if tagged is not None:
        show_bots(tagged, options["largest"])


def _reading_facts(options: dict[str, Any], left_out: Mapping[str, int], said: Sequence[str]) -> dict[str, Any]:
    """Return the rows left out, the trust in the plan and the notes on files, ready for JSON, where there are any."""
    facts = {"left_out": dict(left_out), "trust_plan": options["trust_plan"], "notes": list(said)}
    return {name: fact for name, fact in facts.items() if fact}


def _estimated(
    plan: Plan, data: Reports | Tally | StoredBlocks, known: Any, given: dict[str, Any]
) -> tuple[Estimate, TagEstimate | None]:
    if not plan.is_personalized:
        return estimate(plan.mechanism(), data, **given), None
    with notes():
        tagged = estimate_personalized(plan.personalized(), data, background=known, **given)
    return tagged.estimate, tagged


def _write(
    mechanism: BlockMechanism, data: Reports | Tally | StoredBlocks, found: Estimate, options: dict[str, Any]
) -> None:
    """Write the outputs that are named: all of them, or none."""
    if options["output"] is None:
        _write_files(mechanism, data, found, options)
        return
    with sent(options["output"], ".csv") as output:
        _write_files(mechanism, data, found, options | {"output": output})


def _write_files(
    mechanism: BlockMechanism, data: Reports | Tally | StoredBlocks, found: Estimate, options: dict[str, Any]
) -> None:
    names = [name for name in ("output", "plot", "tally_file") if options[name] is not None]
    with replacing_all([options[name] for name in names], force=options["force"]) as besides:
        for name, beside in zip(names, besides, strict=True):
            if name == "output":
                _write_estimate(beside, found, options["level"], simultaneous=options["simultaneous"])
            elif name == "plot":
                found.plot(options["level"], simultaneous=options["simultaneous"]).save(
                    str(beside), **picture_options(beside)
                )
            else:
                put_tally(beside, _tally_of(mechanism, data))


def _check_intervals(options: dict[str, Any]) -> None:
    """Refuse options of intervals for a method that has none, before anything is read."""
    why = NO_INTERVALS.get(options["method"])
    if why is not None and (options["level"] is not None or options["simultaneous"]):
        name = "--simultaneous" if options["level"] is None else "--level"
        raise ParameterError(f"{name} does nothing here: {why}")


def _given(options: dict[str, Any], progress: Callable[..., None]) -> dict[str, Any]:
    """Return the estimator's options that were given; the method refuses those that it does not use."""
    given = {name: options[name] for name in ("tolerance", "significance", "remainder") if options[name] is not None}
    if options["method"] in _NEEDS_REPORTS:
        given["progress"] = lambda passes, gap: progress(f"pass {passes:g}, gap {gap:.1e}", 0, None)
    return given


@dataclass(frozen=True)
class _Engine:
    """The functions that read reports: for a tally, or for the evidence of a likelihood."""

    tally: Callable[..., Counted]
    gather: Callable[..., tuple[Reports | Tally | StoredBlocks, Mapping[str, int]]]


@contextmanager
def _engine(options: dict[str, Any]) -> Iterator[_Engine]:
    """Yield the engine of ``--engine``; a Spark session is stopped afterwards."""
    if options["engine"] == "local":
        _refuse_given(["master"], "it goes with --engine spark")
        memory = None if options["memory"] is None else options["memory"] * 1_000_000
        yield _Engine(tally, partial(gather, memory=memory, folder=options["temporary"]))
        return
    from discreet.engines import spark

    _refuse_given(["memory", "temporary"], "it goes with --engine local")
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    running = spark.session(options["master"], **spark.QUIET)
    try:
        yield _Engine(partial(spark.tally_files, running), partial(spark.gather_files, running))
    finally:
        running.stop()


def _refuse_given(names: Sequence[str], why: str) -> None:
    given = given_options()
    for name in names:
        if name in given:
            raise ParameterError(f"{given[name]} does nothing here: {why}; leave it out.")


def _gathered(
    engine: _Engine, mechanism: BlockMechanism, sources: Sequence[Path], options: dict[str, Any], told: Progress
) -> tuple[Reports | Tally | StoredBlocks, Mapping[str, int]]:
    """Return the evidence or the tally that the method needs, and the number of rows left out, by reason."""
    given = {"bad_share": options["bad_rows"], "progress": told}
    given |= {name: options[name] for name in ("trust_plan", "allow_copies", "manifest")}
    if options["method"] in _NEEDS_REPORTS and not mechanism.tally_suffices:
        return engine.gather(mechanism, sources, **given)
    _refuse_given(["memory", "temporary"], "this method needs no more than a tally")
    counted = engine.tally(mechanism, sources, **given)
    return counted.tally, counted.left_out


def _tally_of(mechanism: BlockMechanism, data: Reports | Tally | StoredBlocks) -> Tally:
    if isinstance(data, Reports):
        return mechanism.tally(data)
    return data.tally if isinstance(data, StoredBlocks) else data


def _write_estimate(path: Path, found: Estimate, level: float | None, *, simultaneous: bool) -> None:
    if ending(path) == ".csv":
        found.to_csv(path, level, simultaneous=simultaneous)
    elif ending(path) == ".json":
        text = json_text(estimate_facts(found, level, simultaneous=simultaneous))
        path.write_text(text + "\n", encoding="utf-8")
    else:
        write_columns(path, found.to_arrow(level, simultaneous=simultaneous))


def _show(
    mechanism: BlockMechanism | Personalized,
    found: Estimate,
    level: float | None,
    *,
    simultaneous: bool,
    largest: int,
) -> None:
    _show_values(found, level, simultaneous=simultaneous, largest=largest)
    if found.no_intervals is not None:
        console().print(found.no_intervals[0].upper() + found.no_intervals[1:])
    if found.gap is not None:
        console().print(f"Log-likelihood certified to {found.gap:.1e} nats per report.")
    console().print(str(mechanism.guarantee))
    if found.simulated:
        console().print("These reports are simulated with a known seed: they protect nobody.")


def _show_values(found: Estimate, level: float | None, *, simultaneous: bool, largest: int) -> None:
    columns = found.columns(level, simultaneous=simultaneous)
    numbers = [name for name in ("frequency", "standard_error", "lower", "upper") if name in columns]
    codes = found.largest(max(largest, 1))
    cells = [
        [name, "yes" if columns["sensitive"][code] else "no", *(f"{columns[field][code]:.4%}" for field in numbers)]
        for code, name in zip(codes, found.domain.names(codes), strict=True)
    ]
    kind, confidence = "simultaneous " if simultaneous else "", DEFAULT_LEVEL if level is None else level
    title = f"{len(codes)} largest of {found.domain.size} values; {found.n:,} reports, method {found.method}"
    headings = ["value", "sensitive", "estimate", "std. error", f"{kind}{confidence * 100:g}% from", "to"]
    show_table(title, headings[: 2 + len(numbers)], cells, left=2)
