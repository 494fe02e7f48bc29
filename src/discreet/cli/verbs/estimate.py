"""The command ``estimate``, for all reports or by group."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np

from discreet.cli import options
from discreet.cli.commands import Subcommand
from discreet.cli.options import (
    GROUPS,
    NOT_WITH_GROUPS,
    Count,
    OptionGroup,
    ReadOptions,
    TableOptions,
    WriteOptions,
    allow_outside,
    load_plan,
    option,
    progress_bar,
    refuse_idle,
)
from discreet.cli.output import (
    STANDARD,
    InputFile,
    OutputFile,
    file_notes,
    left_out_sentences,
    notes_of,
    reports_here,
)
from discreet.cli.results import CommandResult, Ending, check_folders, publication_of, statement_of
from discreet.core.grouping import MINIMUM, SMALL, Grouping
from discreet.core.reports import Reports
from discreet.core.result_table import ResultColumn, ResultTable, number_of, text_column
from discreet.core.tally import Tally
from discreet.engines import LocalEngine
from discreet.engines.engine import Engine
from discreet.errors import ParameterError
from discreet.estimators import METHODS
from discreet.estimators import estimate as estimated
from discreet.estimators.groups import estimate_groups as estimated_groups
from discreet.estimators.linear import PROGRESS, Method, MethodOption
from discreet.estimators.tags import DROP, IN_CLEAR, TagEstimate, estimate_personalized
from discreet.files.paths import ESTIMATES, PAGES, PICTURES, TALLIES, any_of, checked_output, file_of, is_tally
from discreet.formats.plan import Plan
from discreet.formats.reports import read_public
from discreet.formats.sources import Sources
from discreet.formats.tallies import put_tally
from discreet.kernels.parallel import memory_limit
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.evidence import StoredBlocks
from discreet.mechanisms.personalized import Personalized
from discreet.results.estimate import Estimate, estimate_facts
from discreet.results.groups import GroupedEstimate
from discreet.results.groups import spelled as spelled_group
from discreet.results.pages import estimate_page
from discreet.tables.columns import read_distribution, read_shares

Data = Reports | Tally | StoredBlocks

_NOT_BY_GROUP = {GROUPS: NOT_WITH_GROUPS}
_OF_GROUPS = {"by": "{} needs groups. Name their columns with --by."}
_UNNAMED = "Some reports belong to no named batch, so a copy of these reports would not be recognised."
# The number of groups that are printed, the largest ones first.
_GROUPS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class MethodOptions:
    """The estimation method and its options, checked.

    Attributes:
        estimator: the chosen method.
        options: the options that were given, by name.
    """

    estimator: Method[Any]
    options: Mapping[str, Any] = field(default_factory=dict)

    def asked(self, progress: Callable[..., None] | None = None) -> dict[str, Any]:
        """Return the keyword arguments of the estimator, with a progress bar if the method can report its progress."""
        named: dict[str, Any] = {"method": self.estimator.name, **self.options}
        if progress is not None and PROGRESS in self.estimator.options:
            named["progress"] = lambda passes, gap: progress(f"pass {passes:g}, gap {gap:.1e}", 0, None)
        return named

    def reads_every(self, mechanism: Any) -> bool:
        """Return true if the method needs the reports, because a tally is not enough for the mechanism."""
        return self.estimator.needs_reports and not mechanism.tally_suffices


def method_options(
    methods: Iterable[Method[Any]], together: Iterable[Method[Any]] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds ``--method`` and the options of methods to a command, as argument ``method``.

    Args:
        methods: the methods that users can choose.
        together: methods for all questions of a survey together; the help lists them separately.
    """
    named = {method.name: method for method in (*methods, *together)}
    takers: dict[MethodOption, list[str]] = {}
    for method in named.values():
        for each in method.options:
            if each.help:
                takers.setdefault(each, []).append(method.name)
    last = " or ".join(method.name for method in together)
    first = ", ".join(name for name, method in named.items() if method not in together)
    listed = (
        f"Estimation method: {first}; for all questions together: {last}." if last else f"Estimation method: {first}."
    )

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def called(*args: Any, method: str, **options: Any) -> Any:
            asked = {each.name: options.pop(each.name) for each in takers}
            passed = {name: argument for name, argument in asked.items() if argument is not None}
            return verb(*args, method=MethodOptions(named[method], named[method].checked(passed)), **options)

        decorated: Any = called
        for each, names in reversed(takers.items()):
            about = f"For {', '.join(names)}: {each.help}"
            kind = click.Choice(each.choices) if each.choices else float
            decorated = click.option(f"--{each.name}", type=kind, help=about)(decorated)
        choice: Any = {"type": click.Choice(list(named)), "metavar": "METHOD", "default": "linear"}
        return click.option("--method", **choice, help=listed)(decorated)  # type: ignore[no-any-return]

    return decorate


@dataclass(frozen=True, slots=True)
class GroupOptions(OptionGroup):
    """Options for groups and weights."""

    by: tuple[str, ...] = option(
        "--by", multiple=True, metavar="COLUMN", help="Estimate each group by this public column. May be repeated."
    )
    weights: str | None = option("--weights", metavar="COLUMN", help="Public column with the weight of each person.")
    shares: Path | None = option(
        "--shares",
        type=InputFile(),
        needs=_OF_GROUPS,
        help="Table of the known shares of groups: the columns of --by, and share.",
    )
    minimum: int = option(
        "--minimum",
        type=Count(),
        default=MINIMUM,
        needs=_OF_GROUPS,
        help="Smallest number of reports of a group.",
    )
    small: str = option(
        "--small",
        type=click.Choice(SMALL),
        default="refuse",
        metavar="WHAT",
        needs=_OF_GROUPS,
        help="Smaller groups: refuse (stop with an error) or leave-out.",
    )

    @property
    def wanted(self) -> bool:
        """True if groups or weights are asked for."""
        return bool(self.by) or self.weights is not None

    def about(self, data: Any, groups: Any) -> dict[str, Any]:
        """Return the keyword arguments of the estimator by group, with the known shares of groups from their file."""
        labels = list(data) if groups is None else Grouping.of(groups).labels
        shares = None if self.shares is None else read_shares(self.shares, self.by, labels)
        return {"minimum": self.minimum, "small": self.small, "shares": shares}


@dataclass(frozen=True, slots=True)
class MemoryOptions(ReadOptions):
    """Options for reading reports, with a memory limit for methods that need every report."""

    memory: int | None = option(
        "--memory",
        type=Count(0),
        metavar="MB",
        needs={"engine=local": "it needs --engine local"},
        bars=_NOT_BY_GROUP,
        help="For mle, em: memory for reports, in megabytes. More reports go to temporary files. [half of all]",
    )


@dataclass(frozen=True, slots=True)
class EstimateFiles(WriteOptions):
    """Options for output files; None for files that are not named."""

    output: Path | None = option(
        "-o",
        "--output",
        type=OutputFile("estimates", ESTIMATES, piped=True),
        help=f"File for the estimate: {any_of(ESTIMATES)}; - for CSV on standard output.",
    )
    plot: Path | None = option("--plot", type=options.PICTURE, help=f"File for a picture: {any_of(PICTURES)}.")
    page: Path | None = option(
        "--page", type=OutputFile("pages", PAGES), bars=_NOT_BY_GROUP, help="File for a page: .html."
    )
    tally_file: Path | None = option(
        "--tally",
        type=OutputFile("tallies", TALLIES),
        bars=_NOT_BY_GROUP,
        help=f"File for the tally (the counts of the reports): {any_of(TALLIES)}.",
    )


@dataclass(frozen=True, slots=True)
class EstimateOptions(OptionGroup):
    """Options of ``discreet estimate`` that ``discreet survey estimate`` does not have.

    Attributes:
        always: whether intervals hold at all looks at growing reports at once.
        background: for each tag the distribution of values behind it, as ``TAG=WHAT``.
    """

    always: bool = option(
        "--always",
        is_flag=True,
        help="Make intervals valid however often you look while reports arrive. They are longer.",
    )
    background: tuple[str, ...] = option(
        "--background",
        multiple=True,
        metavar="TAG=WHAT",
        bars={GROUPS: NOT_WITH_GROUPS},
        help="Distribution of the values behind a tag: a FILE, in-clear (as the values in clear) or drop. [in-clear]",
    )


@click.command(cls=Subcommand, epilog="Example: discreet estimate plan.toml reports.parquet -o estimate.csv")
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@method_options(METHODS.values())
@EstimateOptions.options
@GroupOptions.options
@TableOptions.options
@EstimateFiles.options
@MemoryOptions.options
@allow_outside
def estimate(
    plan: Path,
    reports: tuple[Path, ...],
    method: MethodOptions,
    grouping: GroupOptions,
    shown: TableOptions,
    out: EstimateFiles,
    read: MemoryOptions,
    asked: EstimateOptions,
) -> None:
    """Estimate the distribution behind REPORTS made under PLAN.

    REPORTS are files of reports or tallies, and folders of such files, on this machine or at URLs. - reads JSON lines
    from standard input.
    """
    document = load_plan(plan)
    if asked.always:
        method = replace(method, options={**method.options, "limits": "always"})
    check_folders(reports if shown.statement else ())
    known = backgrounds(document, asked.background)
    check_files(reports, read.engine, out.tally_file)
    if grouping.wanted:
        result = estimate_groups(document, reports, method, grouping, read, shown)
        result.write(out.output, out.plot, force=out.force)
    else:
        result, tally = estimate_reports(document, reports, method, read, shown, known)
        writers = {out.tally_file: lambda path: put_tally(path, tally()), out.page: result.save_page}
        result.write(out.output, out.plot, writers, force=out.force)
    result.show(out.output, out.plot, out.page, out.tally_file)


def estimate_reports(
    plan: Plan, reports: Any, method: MethodOptions, read: MemoryOptions, shown: TableOptions, known: Any = None
) -> tuple[CommandResult, Callable[[], Tally]]:
    """Return the estimate of reports, and a function that returns their tally.

    Args:
        plan: the plan.
        reports: files and folders.
        method: the method and its options.
        read: how reports are read.
        shown: options for the output.
        known: the distributions of `backgrounds`: the values behind secret tags.
    """
    mechanism = plan.mechanism()
    with progress_bar("reading") as progress, read.running(read.memory) as engine, reports_here(reports) as sources:
        with file_notes() as notes:
            data, left_out = read_for(engine, mechanism, read.sources(sources, partial(progress, "reading")), method)
        result, tagged = _estimated(plan, data, known, method.asked(progress))
        stated = _statement(plan, data, sum(left_out.values()), read, sources, shown) if shown.statement else {}
    ending = Ending(lambda: plan.maker.guarantee.brief, result.simulated, read.trust_plan, stated)
    limits = shown.limits

    def record() -> dict[str, Any]:
        tags = () if tagged is None else _placeholders(tagged).records()
        worst = {} if tagged is None else {"placeholders": tags, "worst_case_l1": tagged.worst_case}
        read_from = {"left_out": dict(left_out), "trust_plan": read.trust_plan, "notes": tuple(notes)}
        more = {name: fact for name, fact in read_from.items() if fact}
        return {**estimate_facts(result, **limits), **worst, **more}

    parts = chain(
        estimate_parts(result, shown),
        () if tagged is None else _placeholder_parts(tagged, shown.largest),
        [*left_out_sentences(left_out), *notes_of(notes)],
    )
    table, picture = partial(result.to_arrow, **limits), partial(result.plot, **limits)
    page = partial(estimate_page, result, title=plan.document.title, **limits)
    return CommandResult(record, parts, table, picture, ending, page), partial(tally_of, mechanism, data)


def _statement(
    plan: Plan, data: Data, left_out: int, read: MemoryOptions, sources: Sequence[Path], shown: TableOptions
) -> dict[str, Any]:
    """Return the privacy statement of an estimate, from the batches in the tally of its reports."""
    tally = tally_of(plan.mechanism(), data)
    publication = publication_of(plan.maker, tally, "this estimate", not_trusted=shown.not_trusted)
    if tally.unnamed:
        publication = replace(publication, remarks=(_UNNAMED,))
    return statement_of(publication, read.sources(sources), left_out=left_out, counted=read.engine == "local")


def check_files(reports: Sequence[Path], engine: str, tally: Path | None) -> None:
    """Raise an error for a tally's file name with a wrong ending, or for an option without effect on these files."""
    if tally is not None:
        checked_output(tally, TALLIES, "tallies")
    if STANDARD in reports and engine != "local":
        raise ParameterError("standard-input.with-cluster")
    if all(is_tally(file_of(source)) for source in reports):
        refuse_idle(["bad_share", "trust_plan", "count"], "all files are tallies, which hold only counts")


def read_for(engine: Engine, mechanism: Any, sources: Sources, method: MethodOptions) -> tuple[Data, Mapping[str, int]]:
    """Return the reports or the tally that the method needs, and the number of rows left out by reason."""
    if method.reads_every(mechanism):
        return engine.evidence(mechanism, sources)
    refuse_idle(["memory"], "this method needs only a tally")
    counted = engine.tally(mechanism, sources)
    return counted.tally, counted.left_out


def _estimated(plan: Plan, data: Data, known: Any, asked: dict[str, Any]) -> tuple[Estimate, TagEstimate | None]:
    if not plan.is_personalized:
        return estimated(plan.mechanism(), data, **asked), None
    tagged = estimate_personalized(plan.personalized(), data, background=known, **asked)
    return tagged.estimate, tagged


def tally_of(mechanism: BlockMechanism, data: Data) -> Tally:
    """Return the tally of the reports, or of the stored blocks."""
    if isinstance(data, Reports):
        return mechanism.tally(data)
    return data.tally if isinstance(data, StoredBlocks) else data


def estimate_parts(result: Estimate, shown: TableOptions, about: str = "") -> Iterator[str | ResultTable]:
    """Yield the table of the most frequent values, and sentences on the whole estimate."""
    codes = result.chosen(shown.largest)
    size = result.domain.size
    values = number_of(size, "value") if len(codes) == size else f"{len(codes)} largest of {size:,} values"
    title = f"{about}{values}; {result.n:,} reports, method {result.method}"
    yield result.values_table(title, codes, **shown.limits)
    if (quantities := result.mean_and_deciles(shown.level)) is not None:
        yield quantities
    if result.gap is not None:
        yield f"The log-likelihood is within {result.gap:.1e} nats per report of its maximum (certified)."


def backgrounds(plan: Plan, texts: tuple[str, ...]) -> Any:
    """Return the distributions that ``--background`` names, in the form that `estimate_personalized` accepts."""
    if not plan.is_personalized:
        if texts:
            raise ParameterError("background.not-personalized")
        return None
    if len(texts) == 1 and texts[0] in (DROP, IN_CLEAR):
        return texts[0]
    known: dict[str, Any] = {}
    for text in texts:
        tag, what = _tag_and_rest(plan.personalized(), text)
        if tag in known:
            raise ParameterError("background.twice", tag=tag)
        known[tag] = what if what in (DROP, IN_CLEAR) else read_distribution(what, plan.domain)
    return known


def _tag_and_rest(personalized: Personalized, text: str) -> tuple[str, str]:
    # The longest tag that fits is taken, because a tag may contain an equals sign.
    fitting = [tag for tag in personalized.tags if text.startswith(f"{tag}=")]
    if not fitting:
        tags = ", ".join(personalized.tags[:10])
        raise ParameterError("background.unknown-tag", tags=tags, text=text)
    tag = max(fitting, key=len)
    return tag, text[len(tag) + 1 :]


def _placeholders(tagged: TagEstimate, title: str = "") -> ResultTable:
    """Return a table with the frequencies and standard errors of the placeholders."""
    errors = tagged.intermediate.standard_errors[tagged.estimate.domain.size :]
    columns = [
        replace(text_column("tag", tagged.placeholders), heading="secret of its user"),
        ResultColumn("frequency", np.array(list(tagged.placeholders.values())), "share", "estimate"),
        ResultColumn("standard_error", errors, "share", "std. error"),
    ]
    return ResultTable(title, columns)


def _placeholder_parts(tagged: TagEstimate, largest: int) -> Iterator[str | ResultTable]:
    """Yield the most frequent placeholders, and the largest error from wrong background distributions."""
    shares = np.array(list(tagged.placeholders.values()))
    ranked = np.argsort(-shares, kind="stable")[:largest]
    table = _placeholders(tagged, f"{len(ranked)} largest of {len(shares)} placeholders")
    yield replace(table, contents=[column.at(ranked) for column in table.contents])
    yield (
        "The values behind placeholders are assumed, not measured. A wrong assumption puts at most "
        f"{tagged.worst_case / 2:.4%} of the people on wrong values."
    )


def estimate_groups(
    document: Plan,
    reports: Sequence[Any],
    method: MethodOptions,
    grouping: GroupOptions,
    read: MemoryOptions,
    shown: TableOptions,
    *,
    same_people: bool = False,
) -> CommandResult:
    """Return the estimates by group, or the estimate with weights.

    Args:
        document: the plan.
        reports: files and folders.
        method: the method and its options.
        grouping: the groups and the weights.
        read: how reports are read.
        shown: options for the output.
        same_people: whether groups hold reports of the same people; then there is no overall estimate.
    """
    mechanism, sources = document.mechanism(), read.sources(reports)
    with read.running() as engine, file_notes() as notes:
        data, groups, weights = _read_groups(engine, document, sources, method, grouping)
    if grouping.by:
        about = grouping.about(data, groups)
        result = estimated_groups(mechanism, data, groups, weights=weights, **method.asked(), **about)
    else:
        everybody = estimated(mechanism, data, weights=weights, **method.asked())
        result = GroupedEstimate((), {"everybody": everybody}, everybody, 1)
    stated = {}
    if shown.statement:
        weighed = [] if weights is None else [[weights, *([] if groups is None else groups.columns)]]
        about = {"weighed": weighed, "not_trusted": shown.not_trusted}
        publication = publication_of(mechanism, result, "these estimates", **about)
        known = [*grouping.by, *filter(None, [grouping.weights])]
        stated = statement_of(publication, sources, known=known, counted=read.engine == "local")
    ending = Ending(lambda: mechanism.guarantee.brief, result.overall.simulated, read.trust_plan, stated)
    return CommandResult(
        partial(_groups_record, result, shown, ending, notes, same_people=same_people),
        chain(_groups_parts(result, shown, same_people=same_people), notes_of(notes)),
        partial(result.to_arrow, **shown.limits),
        partial(result.plot, shown.level),
        ending,
    )


def _read_groups(engine: Engine, plan: Plan, sources: Sources, method: MethodOptions, grouping: GroupOptions) -> Any:
    """Return the reports or tallies by group, the columns of groups and the column of weights."""
    if plan.is_personalized:
        raise ParameterError("by.personalized")
    if STANDARD in sources.of:
        raise ParameterError("standard-input.without-columns")
    mechanism = plan.mechanism()
    every = method.reads_every(mechanism)
    if (every or grouping.weights is not None) and not isinstance(engine, LocalEngine):
        raise ParameterError("engine.not-local")
    with progress_bar("reading") as progress:
        watched = replace(sources, progress=partial(progress, "reading"))
        return read_with_columns(engine, mechanism, watched, grouping.by, grouping.weights, every=every)


def read_with_columns(
    engine: Engine, mechanism: BlockMechanism, sources: Sources, by: Sequence[str], weights: str | None, *, every: bool
) -> tuple[Any, Any, Any]:
    """Return a tally or tallies by group. If the reports are needed, return the reports and their public columns.

    Args:
        engine: the engine that counts the tallies.
        mechanism: the mechanism that made the reports.
        sources: the files of the reports.
        by: the names of the columns of groups.
        weights: the name of the column of weights; None for equal weights.
        every: whether the reports are needed, because tallies are not enough.
    """
    if weights is None and not every:
        data: Any = engine.tally_by(mechanism, sources, by) if by else engine.tally(mechanism, sources).tally
        return data, None, None
    # The column of weights may also be a column of groups.
    names = list(dict.fromkeys([*by, *filter(None, [weights])]))
    evidence, public = read_public(mechanism, sources, names, memory=memory_limit())
    return evidence, public.select(list(by)) if by else None, None if weights is None else public[weights]


def _groups_record(
    estimates: GroupedEstimate, shown: TableOptions, ending: Ending, notes: Sequence[str], *, same_people: bool
) -> dict[str, Any]:
    """Return the estimates for JSON: ``groups`` has an object for each group, ``overall`` the overall estimate."""
    names, groups = estimates.names or ("group",), []
    facts: Callable[[Estimate], dict[str, Any]] = partial(estimate_facts, **shown.limits)
    for label, group in estimates.items():
        labels = label if isinstance(label, tuple) else (label,)
        groups.append({**dict(zip(names, labels, strict=True)), **ending.figures(group.n), **facts(group)})
    left_out = {"groups": estimates.left_out[0], "reports": estimates.left_out[1]}
    more = {"minimum": estimates.minimum, "left_out": left_out, "notes": notes}
    overall = {} if same_people else {"overall": facts(estimates.overall)}
    return {"groups": groups, **overall, **more}


def _groups_parts(estimates: GroupedEstimate, shown: TableOptions, *, same_people: bool) -> Iterator[str | ResultTable]:
    """Yield a table of values for each of the largest groups, and sentences on all groups."""
    everybody, codes = estimates.overall, estimates.overall.chosen(shown.largest)
    # Without columns of groups, the only group is everybody.
    chosen = set(estimates.largest(_GROUPS_SHOWN)) if estimates.names else set()
    groups = [(spelled_group(label), estimates[label]) for label in estimates if label in chosen]
    # Several reports of one person hold less information than reports of different people.
    rows_of_all = [] if same_people else [("everybody", everybody)]
    tables = []
    for label, group in [*groups, *rows_of_all]:
        columns = group.value_columns(**shown.limits, shown=len(codes))
        names = text_column("group", [label] * len(codes)), text_column("value", estimates.domain.names(codes))
        reports = ResultColumn("reports", [group.n] * len(codes), "count")
        tables.append(ResultTable("", [*names, reports, *(each.at(codes) for each in columns)]))
    title = f"{len(codes)} of {estimates.domain.size} values; method {next(iter(estimates.values())).method}"
    title = f"{len(estimates)} groups, {title}" if groups else title
    yield ResultTable.joined(title, tables).without("sensitive", "standard_error")
    if smaller := len(estimates) - len(groups) if groups else 0:
        yield f"{smaller:,} smaller {'group is' if smaller == 1 else 'groups are'} not shown; -o and --json give all."
    if rows_of_all:
        yield f"Everybody: {everybody.n:,} reports, method {everybody.method}."
        if noise := everybody.selected(len(codes), **shown.limits):
            yield noise
    else:
        yield f"{everybody.n:,} reports, several of each person. They are not pooled."
    if estimates.left_out[0]:
        few, people = estimates.left_out
        small, sent = number_of(few, "group"), number_of(people, "report")
        yield f"Left out: {small} with fewer than {estimates.minimum} reports ({sent})."
