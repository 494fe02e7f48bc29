"""The verb ``compare``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from discreet.cli import options
from discreet.cli.group import Verb
from discreet.cli.groups import weighed_cells
from discreet.cli.options import Count, allow_outside, load_plan, refuse_idle
from discreet.cli.output import InputFile, OutputFile, file_notes, show
from discreet.cli.publications import Publishing, no_central_option, not_trusted_option
from discreet.errors import ParameterError
from discreet.files.paths import ESTIMATES, PICTURES, is_tally, spelled

if TYPE_CHECKING:
    from discreet.mechanisms import BlockMechanism
    from discreet.results.estimate import Estimate
    from discreet.theory.binomial import Control

_PAIR = 2


@click.command(cls=Verb)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@click.option("--by", metavar="COLUMN", help="Compare two groups: a public column beside the reports.")
@click.option("--groups", nargs=2, metavar="LABEL LABEL", help="Which two. [the only two that there are]")
@click.option("--given", type=InputFile(), help="Compare with known shares: columns label, probability.")
@click.option("--weights", metavar="COLUMN", help="Weigh people by this public column beside the reports.")
@click.option("--minimum", type=Count(), help="With --by, reports in the smallest group that is compared. [20]")
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Let all intervals hold at once.")
@click.option(
    "--rate", type=float, default=0.05, show_default=True, help="Bound on the errors among significant values."
)
@click.option(
    "--control",
    type=click.Choice(["fdr", "fwer"]),
    default="fdr",
    show_default=True,
    help="Of what: the expected share of false ones among them, or the probability of any.",
)
@click.option("-o", "--output", type=OutputFile("estimates", ESTIMATES), help=f"Differences: {spelled(ESTIMATES)}.")
@click.option("--plot", type=options.PICTURE, help=f"Forest plot: {spelled(PICTURES)}.")
@click.option("--largest", type=Count(1), default=15, show_default=True, help="How many values to show.")
@click.option(
    "--trust-plan", is_flag=True, help="Read files that no longer say their plan: you vouch that all are of PLAN."
)
@not_trusted_option
@no_central_option
@options.force
@allow_outside
@options.as_json
def compare(
    plan: Path,
    reports: tuple[Path, ...],
    *,
    by: str | None,
    groups: tuple[str, str] | None,
    given: Path | None,
    weights: str | None,
    minimum: int | None,
    level: float,
    simultaneous: bool,
    rate: float,
    control: "Control",
    output: Path | None,
    plot: Path | None,
    largest: int,
    trust_plan: bool,
    not_trusted: int,
    no_central: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Compare two collections of reports made under PLAN, two groups of one, or one with known shares.

    REPORTS are two files or folders of reports or tallies, each of other people; or with --by or --given one.
    """
    from discreet.cli.output import write_results, write_table
    from discreet.cli.views.estimates import ComparisonView
    from discreet.estimators.differences import compare as compared
    from discreet.pictures.curves import picture_options
    from discreet.tables.columns import read_distribution

    document = load_plan(plan)
    if document.is_personalized:
        raise ParameterError("compare does not go with personalized plans, whose bots are no values.")
    _check(reports, by, groups, given, weights, minimum)
    mechanism = document.mechanism()
    with file_notes() as notes:
        if by is not None:
            sides = _groups(mechanism, reports[0], (by, weights), groups, minimum, trust_plan)
        else:
            sides = [_side(mechanism, source, weights, trust_plan) for source in reports]
    second: Any = sides[-1].estimate if given is None else read_distribution(given, mechanism.domain)
    pair = (sides[0].title, sides[-1].title if given is None else given.name)
    found = compared(sides[0].estimate, second, level=level, simultaneous=simultaneous, titles=pair)
    if no_central:
        refuse_idle(["not_trusted"], "--no-central leaves out what is said of a person")
        said = None
    else:
        cells, beside = [n for side in sides for n in side.cells], max(side.beside for side in sides)
        known = [name for name in (by, weights) if name is not None]
        publishing = Publishing(document, reports, not_trusted, trust_plan)
        said = publishing.of(cells, "this comparison", simulated=found.simulated, beside=beside, known=known)
    view = ComparisonView(found, rate, control, tuple(notes), said)
    record = view.record()

    def picture(path: Path) -> None:
        found.plot(largest).save(str(path), **picture_options(path))

    write_results(
        output, {plot: picture}, lambda path: write_table(path, found.to_arrow(), lambda: record), force=force
    )
    show(record, view.parts(largest), as_json=as_json)


def _check(
    reports: Sequence[Path],
    by: str | None,
    groups: tuple[str, str] | None,
    given: Path | None,
    weights: str | None,
    minimum: int | None,
) -> None:
    """Refuse sides that are not two, or hold one file, and options that would do nothing."""
    from discreet.files.paths import file_of
    from discreet.formats.sources import report_files

    if by is None and weights is None and all(is_tally(file_of(source)) for source in reports):
        refuse_idle(["trust_plan"], "tallies have no rows of their own")
    if by is not None and given is not None:
        raise ParameterError(
            "--given is compared with all the reports; leave --by out, or estimate the group by itself."
        )
    for name, one in (("groups", groups), ("minimum", minimum)):
        if one is not None and by is None:
            raise ParameterError(f"--{name} does nothing here: it goes with --by; leave it out.")
    wanted = 1 if by is not None or given is not None else _PAIR
    if len(reports) != wanted:
        which = "with --by or --given one" if wanted == 1 else "without --by and --given two"
        raise ParameterError(
            f"{which} of REPORTS must be named, got {len(reports)}; put files of one side into a folder."
        )
    if wanted == _PAIR:
        files, others = ({str(file.resolve()) for file in report_files([side])} for side in reports)
        if both := sorted(files & others):
            raise ParameterError(f"the sides must be of different people, and {both[0]} is on both.")


class _Side(NamedTuple):
    """One side: its estimate and title, the number of reports of each of its batches, and why these are none, if so."""

    estimate: "Estimate"
    title: str
    cells: tuple[int, ...]
    beside: str


def _side(mechanism: "BlockMechanism", source: Path, weights: str | None, trust_plan: bool) -> _Side:
    from discreet.engines import LocalEngine
    from discreet.engines.evidence import memory_limit
    from discreet.estimators import estimate
    from discreet.formats.public_columns import read_public

    title = source.name or str(source)
    if weights is None:
        found = estimate(mechanism, LocalEngine().tally(mechanism, source, trust_plan=trust_plan).tally)
        return _Side(found, title, (found.n,), "")
    reports, public = read_public(mechanism, [source], [weights], memory=memory_limit(), trust_plan=trust_plan)
    return _Side(estimate(mechanism, reports, weights=public[weights]), title, *weighed_cells([public[weights]]))


def _groups(
    mechanism: "BlockMechanism",
    source: Path,
    columns: tuple[str, str | None],
    groups: tuple[str, str] | None,
    minimum: int | None,
    trust_plan: bool,
) -> list[_Side]:
    """Return the sides of two groups; the columns are those of groups and of weights."""
    from discreet.core.grouping import MINIMUM, Grouping
    from discreet.engines import LocalEngine
    from discreet.engines.evidence import memory_limit
    from discreet.estimators import estimate
    from discreet.formats.public_columns import read_public

    (by, weights), least = columns, MINIMUM if minimum is None else minimum
    data: Any
    if weights is None:
        data, about = LocalEngine().tally_by(mechanism, source, by, trust_plan=trust_plan), {}
    else:
        names = list(dict.fromkeys((by, weights)))
        data, public = read_public(mechanism, [source], names, memory=memory_limit(), trust_plan=trust_plan)
        about = {"groups": Grouping.of(public.select([by])), "weights": public[weights]}
    found = estimate(mechanism, data, minimum=least, small="leave-out", **about)
    known = {str(label): label for label in found}
    if groups is None:
        if len(known) != _PAIR:
            raise ParameterError(f"--groups must say which two of {len(known)} groups are compared: {_listed(known)}.")
        one, other = known
        groups = one, other
    sides = []
    for label in groups:
        if label not in known:
            raise ParameterError(f"{label!r} is no group of at least {least} reports; there are {_listed(known)}.")
        estimated = found[known[label]]
        cells: tuple[tuple[int, ...], str] = (estimated.n,), ""
        if weights is not None:
            grouping = about["groups"]
            cells = weighed_cells([about["weights"].filter(grouping.codes == grouping.labels.index(known[label]))])
        sides.append(_Side(estimated, f"{by} {label}", *cells))
    return sides


def _listed(known: Any, most: int = 12) -> str:
    shown = ", ".join(list(known)[:most])
    return shown if len(known) <= most else f"{shown} and {len(known) - most} others"
