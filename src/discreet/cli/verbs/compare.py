"""The command ``compare``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import (
    Count,
    OptionGroup,
    ReadOptions,
    TableOptions,
    WriteOptions,
    allow_outside,
    load_plan,
    option,
    refuse_idle,
)
from discreet.cli.output import (
    InputFile,
    OutputFile,
    file_notes,
    notes_of,
)
from discreet.cli.results import CommandResult, Ending, check_folders, publication_of, statement_of
from discreet.cli.verbs.estimate import read_with_columns
from discreet.core.grouping import MINIMUM, Grouping
from discreet.core.result_table import ResultColumn, ResultTable, p_value_text
from discreet.engines import LocalEngine
from discreet.errors import ParameterError
from discreet.estimators import estimate
from discreet.estimators.differences import compare as compared
from discreet.estimators.groups import estimate_groups
from discreet.files.paths import ESTIMATES, PICTURES, any_of, file_of, is_tally
from discreet.formats.plan import Plan
from discreet.formats.sources import Sources, report_files
from discreet.mechanisms import BlockMechanism
from discreet.results.comparison import Comparison
from discreet.results.estimate import Estimate
from discreet.tables.columns import read_distribution
from discreet.theory.binomial import Control

_PAIR = 2
_WITH_BY = {"by": "it needs --by"}


@dataclass(frozen=True, slots=True)
class Sides(OptionGroup):
    """Options for the two sides of a comparison."""

    by: str | None = option(
        "--by", metavar="COLUMN", help="Compare two groups by this public column of the file of reports."
    )
    groups: tuple[str, str] | None = option(
        "--groups",
        nargs=2,
        metavar="LABEL LABEL",
        needs=_WITH_BY,
        help="The two groups to compare. [the only two]",
    )
    given: Path | None = option(
        "--given",
        type=InputFile(),
        bars={"by": "{} has shares for all reports. Leave --by out, or estimate the group alone."},
        help="Table of known shares to compare with: columns label, probability.",
    )
    weights: str | None = option("--weights", metavar="COLUMN", help="Public column with the weight of each person.")
    minimum: int = option(
        "--minimum",
        type=Count(),
        default=MINIMUM,
        needs=_WITH_BY,
        help="With --by: smallest number of reports of a group.",
    )


@dataclass(frozen=True, slots=True)
class Tests(OptionGroup):
    """Options for tests: which error rate is controlled, and its largest value."""

    rate: float = option("--rate", type=float, default=0.05, help="Largest error rate that is allowed; see --control.")
    control: Control = option(
        "--control",
        type=click.Choice(["fdr", "fwer"]),
        default="fdr",
        help="Which error rate: expected share of false discoveries (fdr), or probability of any (fwer).",
    )


@dataclass(frozen=True, slots=True)
class DifferenceFiles(WriteOptions):
    """Options for output files; None for files that are not named."""

    output: Path | None = option(
        "-o", "--output", type=OutputFile("estimates", ESTIMATES), help=f"File of results: {any_of(ESTIMATES)}."
    )
    plot: Path | None = option("--plot", type=options.PICTURE, help=f"File for a forest plot: {any_of(PICTURES)}.")


@click.command(cls=Subcommand, epilog="Example: discreet compare plan.toml north.parquet south.parquet")
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@Sides.options
@Tests.options
@TableOptions.options
@DifferenceFiles.options
@ReadOptions.only("trust_plan")
@allow_outside
def compare(
    plan: Path,
    reports: tuple[Path, ...],
    asked: Sides,
    tests: Tests,
    shown: TableOptions,
    out: DifferenceFiles,
    *,
    trust_plan: bool,
) -> None:
    """Compare two groups of people, or one with known shares.

    The groups are two collections of REPORTS made under PLAN, or two groups of one collection.

    REPORTS are two files or folders of reports or tallies, of different people. With --by or --given, name only one.
    """
    check_folders(reports if shown.statement else ())
    sides = [Side(source.name or str(source), [source]) for source in reports]
    result = compared_sides(load_plan(plan), sides, asked, tests, shown, trust_plan=trust_plan)
    result.finish(out.output, out.plot, force=out.force)


class Side(NamedTuple):
    """One side of a comparison: a title, and the files of its reports.

    Attributes:
        title: the title of the side.
        sources: the files and folders of its reports.
    """

    title: str
    sources: Sequence[Any]


def compared_sides(
    document: Plan, reports: Sequence[Side], asked: Sides, tests: Tests, shown: TableOptions, *, trust_plan: bool
) -> CommandResult:
    """Return the comparison of two collections or two groups, or of one collection with known shares."""
    if document.is_personalized:
        raise ParameterError("compare.personalized")
    _check(reports, asked)
    mechanism = document.mechanism()
    with file_notes() as notes:
        if asked.by is not None:
            sides = _groups(mechanism, reports[0].sources, asked.by, asked, trust_plan=trust_plan)
        else:
            sides = [_side(mechanism, side, asked.weights, trust_plan=trust_plan) for side in reports]
    second: Any = sides[-1].estimate if asked.given is None else read_distribution(asked.given, mechanism.domain)
    comparison = compared(
        sides[0].estimate,
        second,
        **shown.limits,
        titles=(sides[0].title, sides[-1].title if asked.given is None else asked.given.name),
    )
    stated = {}
    if shown.statement:
        sources = Sources([file for side in reports for file in side.sources], trust_plan=trust_plan)
        known = [name for name in (asked.by, asked.weights) if name is not None]
        weighed = [] if asked.weights is None else [[side.weights] for side in sides]
        about: dict[str, Any] = {"weighed": weighed, "not_trusted": shown.not_trusted}
        publication = publication_of(mechanism, comparison, "this comparison", **about)
        stated = statement_of(publication, sources, known=known)
    ending = Ending(lambda: mechanism.guarantee.brief, comparison.simulated, trust_plan, stated)
    parts = [*_parts(comparison, tests, shown.largest), *notes_of(notes)]
    picture = partial(comparison.plot, shown.largest)
    return CommandResult(partial(_record, comparison, tests, notes), parts, comparison.to_arrow, picture, ending)


def _record(comparison: Comparison, tests: Tests, notes: Sequence[str]) -> dict[str, Any]:
    """Return the comparison as a dictionary for JSON."""
    table = comparison.table()
    significant = ResultColumn("significant", comparison.significant_values(tests.rate, control=tests.control), "mark")
    return {
        "sides": [{"title": title, "n": n} for title, n in zip(comparison.titles, comparison.sizes, strict=True)],
        "methods": comparison.methods,
        "level": comparison.level,
        "simultaneous": comparison.simultaneous,
        "rate": tests.rate,
        "control": tests.control,
        "overall": None if comparison.overall is None else comparison.overall._asdict(),
        "simulated": comparison.simulated,
        "remark": comparison.remark or None,
        "notes": notes,
        "values": replace(table, contents=[*table.contents, significant]).records(),
    }


def _parts(comparison: Comparison, tests: Tests, largest: int) -> Iterator[str | ResultTable]:
    """Yield the table of the clearest differences, and a sentence for each test."""
    codes = comparison.clearest_values(largest)
    significant = comparison.significant_values(tests.rate, control=tests.control)
    sizes = [
        f"{title} ({n:,} reports)" if n else title for title, n in zip(comparison.titles, comparison.sizes, strict=True)
    ]
    methods = " and ".join(dict.fromkeys(comparison.methods))
    title = f"{sizes[0]} minus {sizes[1]}: {len(codes)} of {comparison.domain.size} values; method {methods}"
    mark = ResultColumn("significant", significant, "mark")
    yield comparison.values_table(title, codes, [mark]).without("sensitive")
    some = f"{np.count_nonzero(significant)} of {comparison.domain.size} values differ significantly"
    yield f"{some} ({tests.control.upper()} at most {tests.rate:g})."
    if comparison.overall is not None:
        statistic, degrees, p_value = comparison.overall
        p = p_value_text(p_value, sign=True)
        yield f"Test of no difference: chi-square {statistic:.2f}, {degrees} degrees of freedom, p {p[0]} {p[1:]}."


def _check(reports: Sequence[Side], asked: Sides) -> None:
    """Raise an error for a wrong number of sides, a file on both sides, or an option without effect."""
    if (
        asked.by is None
        and asked.weights is None
        and all(is_tally(file_of(file)) for side in reports for file in side.sources)
    ):
        refuse_idle(["trust_plan"], "all files are tallies, which hold only counts")
    wanted = 1 if asked.by is not None or asked.given is not None else _PAIR
    if len(reports) != wanted:
        which = (
            "With --by or --given, name one of REPORTS"
            if wanted == 1
            else "Name two of REPORTS, or use --by or --given"
        )
        raise ParameterError("reports.wrong-number", which=which, n=len(reports))
    if wanted == _PAIR:
        files, others = ({str(file.resolve()) for file in report_files(side.sources)} for side in reports)
        if both := sorted(files & others):
            raise ParameterError("sides.overlap", path=both[0])


class _Estimated(NamedTuple):
    """The estimate of one side, its title, and the weights of its people, if any."""

    estimate: Estimate
    title: str
    weights: Any = None


def _side(mechanism: BlockMechanism, side: Side, weights: str | None, *, trust_plan: bool) -> _Estimated:
    sources = Sources(side.sources, trust_plan=trust_plan)
    data, _, column = read_with_columns(LocalEngine(), mechanism, sources, (), weights, every=False)
    return _Estimated(estimate(mechanism, data, weights=column), side.title, column)


def _groups(
    mechanism: BlockMechanism, sources: Sequence[Any], by: str, asked: Sides, *, trust_plan: bool
) -> list[_Estimated]:
    """Return the estimates of two groups as the two sides of a comparison."""
    least, read = asked.minimum, Sources(sources, trust_plan=trust_plan)
    data, columns, weights = read_with_columns(LocalEngine(), mechanism, read, (by,), asked.weights, every=False)
    grouping = None if columns is None else Grouping.of(columns)
    estimates = estimate_groups(mechanism, data, grouping, weights=weights, minimum=least, small="leave-out")
    known, groups = {str(label): label for label in estimates}, asked.groups
    if groups is None:
        if len(known) != _PAIR:
            raise ParameterError("groups.missing", n=len(known), names=_listed(known))
        first, second = known
        groups = first, second
    sides = []
    for label in groups:
        if label not in known:
            raise ParameterError("groups.unknown", label=label, least=least, names=_listed(known))
        side = _Estimated(estimates[known[label]], f"{by} {label}")
        if grouping is not None:
            side = side._replace(weights=weights.filter(grouping.codes == grouping.labels.index(known[label])))
        sides.append(side)
    return sides


def _listed(known: Any, most: int = 12) -> str:
    shown = ", ".join(list(known)[:most])
    return shown if len(known) <= most else f"{shown} and {len(known) - most} others"
