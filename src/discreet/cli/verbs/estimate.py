"""The verb ``estimate``."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.groups import IDLE_WITH_GROUPS, Groups, Sources, grouping_options
from discreet.cli.options import Count, allow_outside, load_plan, progress_bar, refuse_idle, running_engine
from discreet.cli.output import STANDARD, InputFile, OutputFile, file_notes, reports_here, sent, show, written
from discreet.cli.publications import Publishing, Statement, no_central_option, not_trusted_option
from discreet.errors import ParameterError
from discreet.files.paths import ESTIMATES, PICTURES, TALLIES, is_tally, spelled

if TYPE_CHECKING:
    from discreet.cli.views.estimates import EstimateView
    from discreet.core.reports import Reports
    from discreet.core.tally import Tally
    from discreet.engines import Engine
    from discreet.estimators import Method
    from discreet.estimators.tags import TagEstimate
    from discreet.formats.plan import Plan
    from discreet.mechanisms import BlockMechanism
    from discreet.mechanisms.evidence import StoredBlocks
    from discreet.results.estimate import Estimate

    Data = Reports | Tally | StoredBlocks

METHODS = ("linear", "threshold", "norm-sub", "projected", "mle", "em", "shrunk")
_NEEDS_REPORTS = ("mle", "em")


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Files to write; None for those that are not named."""

    estimate: Path | None
    picture: Path | None
    tally: Path | None
    force: bool


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option("--method", type=click.Choice(METHODS), default="linear", show_default=True, help="Estimator.")
@grouping_options
@click.option("--tolerance", type=float, help="For mle: certified gap, in nats per report.")
@click.option("--significance", type=float, help="For threshold and em: level of all tests together.")
@click.option("--remainder", type=click.Choice(["uniform", "zero"]), help="For threshold: what becomes of the rest.")
@click.option("--level", type=float, help="Confidence of the intervals. [0.95]")
@click.option("--simultaneous", is_flag=True, help="Let all intervals hold at once.")
@click.option(
    "-o",
    "--output",
    type=OutputFile("estimates", ESTIMATES, piped=True),
    help=f"Estimate: {spelled(ESTIMATES)}; - for CSV on standard output.",
)
@click.option("--plot", type=options.PICTURE, help=f"Picture: {spelled(PICTURES)}.")
@click.option(
    "--tally",
    "tally_file",
    type=OutputFile("tallies", TALLIES),
    help=f"Keep the tally of the reports: {spelled(TALLIES)}.",
)
@click.option("--largest", type=Count(1), default=15, show_default=True, help="How many values to show.")
@click.option(
    "--background",
    multiple=True,
    help="For personalized plans, what is known of a tag: TAG=FILE (columns label, probability), TAG=in-clear or "
    "TAG=drop; one of these words alone is for all tags. [in-clear]",
)
@options.engine
@options.master
@options.bad_rows
@options.trust_plan
@click.option(
    "--memory",
    type=Count(0),
    metavar="MB",
    help="For mle and em: keep reports that need more in temporary files. [half of what there is]",
)
@click.option(
    "--temporary", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Folder for these. [TMPDIR]"
)
@options.manifest
@not_trusted_option
@no_central_option
@options.force
@allow_outside
@options.as_json
def estimate(
    plan: Path,
    reports: tuple[Path, ...],
    *,
    method: "Method",
    by: tuple[str, ...],
    weights: str | None,
    shares: Path | None,
    margins: Path | None,
    minimum: int | None,
    small: str | None,
    tolerance: float | None,
    significance: float | None,
    remainder: str | None,
    level: float | None,
    simultaneous: bool,
    output: Path | None,
    plot: Path | None,
    tally_file: Path | None,
    largest: int,
    background: tuple[str, ...],
    engine: str,
    master: str | None,
    bad_rows: float,
    trust_plan: bool,
    memory: int | None,
    temporary: Path | None,
    manifest: bool,
    not_trusted: int,
    no_central: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Estimate the distribution behind REPORTS made under PLAN.

    REPORTS are files of reports (.parquet, .arrow, .feather, .ipc, .jsonl, .jsonl.gz) or tallies (.tally.parquet and so
    on), and folders of such files, here or at URLs (s3://bucket/reports/); - is JSON lines of reports on standard
    input.
    """
    from discreet.cli.values import backgrounds
    from discreet.cli.views.estimates import EstimateView

    document = load_plan(plan)
    mechanism, known = document.mechanism(), backgrounds(document, background)
    _check_sources(reports, engine)
    # The method refuses those that it does not use.
    asked = _named(tolerance=tolerance, significance=significance, remainder=remainder)
    grouping = Groups(by, weights, shares, margins, minimum, small)
    if no_central:
        refuse_idle(["not_trusted"], "--no-central leaves out what is said of a person")
    publishing = None if no_central else Publishing(document, reports, not_trusted, trust_plan, engine == "local")
    if grouping.named:
        refuse_idle(IDLE_WITH_GROUPS, "it does not go with --by or --weights")
        read = {"trust_plan": trust_plan, "manifest": manifest}
        with running_engine(engine, master, memory, temporary) as running:
            given = Sources(running, document, reports, read, publishing)
            shown = grouping.view(given, method, asked, (level, simultaneous))
        grouping.write(shown, output, plot, force=force)
        record = shown.record() if as_json else None
        show(record, chain(shown.parts(largest), written(output, plot)), as_json=as_json)
        return
    with (
        progress_bar("reading") as progress,
        running_engine(engine, master, memory, temporary) as running,
        reports_here(reports) as sources,
    ):
        with file_notes() as notes:
            read_all = partial(_read, running, mechanism, sources, method, progress=partial(progress, "reading"))
            data, left_out = read_all(bad_share=bad_rows, trust_plan=trust_plan, manifest=manifest)
        found, tagged = _estimated(document, data, known, {"method": method, **asked, **_passes(method, progress)})
        said = None if publishing is None else _said(replace(publishing, sources=sources), data, found, left_out)
        found = found if said is None else replace(found, publication=said.alone)
    view = EstimateView(document, found, tagged, level, simultaneous, dict(left_out), tuple(notes), trust_plan, said)
    _write(view, _Outputs(output, plot, tally_file, force), partial(_tally_of, mechanism, data))
    show(view.record(), chain(view.parts(largest), written(output, plot, tally_file)), as_json=as_json)


def _said(publishing: Publishing, data: "Data", found: "Estimate", left_out: Mapping[str, int]) -> Statement:
    """Return the statement on an estimate, by the batches that its tally knows of."""
    from discreet.core.tally import Tally
    from discreet.privacy.publication import batches_of

    tally = data if isinstance(data, Tally) else None
    forgotten = tally is not None and tally.rest is None
    asked = replace(publishing, left_out=sum(left_out.values()), forgotten=forgotten)
    sizes = (found.n,) if tally is None else batches_of(tally)
    return asked.of(sizes, "this estimate", simulated=found.simulated)


def _named(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _check_sources(reports: Sequence[Path], engine: str) -> None:
    """Refuse options that would do nothing, before anything is read."""
    from discreet.files.paths import file_of

    if STANDARD in reports and engine != "local":
        raise ParameterError("- is read on this machine, and executors see files; name files, or use --engine local.")
    if all(is_tally(file_of(source)) for source in reports):
        refuse_idle(["bad_rows", "trust_plan"], "tallies have no rows of their own")


def _read(
    engine: "Engine", mechanism: "BlockMechanism", sources: Sequence[Path], method: str, **reading: Any
) -> tuple["Data", Mapping[str, int]]:
    """Return the evidence or the tally that the method needs, and the number of rows left out, by reason."""
    if method in _NEEDS_REPORTS and not mechanism.tally_suffices:
        return engine.evidence(mechanism, sources, **reading)
    refuse_idle(["memory", "temporary"], "this method needs no more than a tally")
    counted = engine.tally(mechanism, sources, **reading)
    return counted.tally, counted.left_out


def _passes(method: str, progress: Callable[..., None]) -> dict[str, Any]:
    if method not in _NEEDS_REPORTS:
        return {}
    return {"progress": lambda passes, gap: progress(f"pass {passes:g}, gap {gap:.1e}", 0, None)}


def _estimated(
    plan: "Plan", data: "Data", known: Any, asked: dict[str, Any]
) -> tuple["Estimate", "TagEstimate | None"]:
    from discreet.estimators import estimate as estimated
    from discreet.estimators.tags import estimate_personalized

    if not plan.is_personalized:
        return estimated(plan.mechanism(), data, **asked), None
    tagged = estimate_personalized(plan.personalized(), data, background=known, **asked)
    return tagged.estimate, tagged


def _tally_of(mechanism: "BlockMechanism", data: "Data") -> "Tally":
    from discreet.core.reports import Reports
    from discreet.mechanisms.evidence import StoredBlocks

    if isinstance(data, Reports):
        return mechanism.tally(data)
    return data.tally if isinstance(data, StoredBlocks) else data


def _write(view: "EstimateView", outputs: _Outputs, tally: Callable[[], "Tally"]) -> None:
    """Write the outputs that are named: all of them, or none."""
    from discreet.files.writing import replacing_all
    from discreet.formats.tallies import put_tally
    from discreet.pictures.curves import picture_options

    with ExitStack() as stack:
        output = None if outputs.estimate is None else stack.enter_context(sent(outputs.estimate, ".csv"))
        writers: dict[Path | None, Callable[[Path], None]] = {
            output: view.write,
            outputs.picture: lambda path: view.picture().save(str(path), **picture_options(path)),
            outputs.tally: lambda path: put_tally(path, tally()),
        }
        named = [(path, write) for path, write in writers.items() if path is not None]
        besides = stack.enter_context(replacing_all([path for path, _ in named], force=outputs.force))
        for (_, write), beside in zip(named, besides, strict=True):
            write(beside)
