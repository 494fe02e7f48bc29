"""The verb ``estimate``: of all reports, or by group."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click

from discreet.cli import options
from discreet.cli.options import (
    GROUPS,
    NOT_WITH_GROUPS,
    Count,
    OptionGroup,
    Reading,
    Showing,
    Writing,
    allow_outside,
    load_plan,
    load_plan_or_survey,
    option,
    progress_bar,
    refuse_idle,
)
from discreet.cli.output import (
    STANDARD,
    InputFile,
    OutputFile,
    OutputPlace,
    SavedTable,
    Table,
    file_notes,
    left_out_sentences,
    notes_of,
    reports_here,
    save_picture,
    show,
    write_results,
    written,
)
from discreet.cli.statements import Ending, check_folders, statement_of, weighed_cells
from discreet.core.grouping import Grouping
from discreet.core.labels import Numbers
from discreet.core.reports import Reports
from discreet.core.result_table import number_of, objects, rows_of, text_column
from discreet.core.tally import Tally
from discreet.engines import LocalEngine
from discreet.engines.engine import Engine
from discreet.engines.folds import memory_limit
from discreet.errors import ParameterError
from discreet.estimators import Method
from discreet.estimators import estimate as estimated
from discreet.estimators.tags import DROP, IN_CLEAR, TagEstimate, estimate_personalized
from discreet.files.paths import ESTIMATES, PICTURES, TALLIES, checked_output, file_of, is_tally, spelled
from discreet.formats.plan import Plan
from discreet.formats.public_columns import read_public, read_shares
from discreet.formats.sources import Sources
from discreet.formats.tallies import put_tally
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.block_law import StoredBlocks
from discreet.mechanisms.personalized import Personalized
from discreet.results.estimate import Estimate, estimate_facts
from discreet.results.groups import GroupedEstimate
from discreet.results.groups import spelled as spelled_group
from discreet.surveys.answers import Answers
from discreet.surveys.documents import Questionnaire
from discreet.surveys.estimating import TOGETHER, estimate_survey
from discreet.surveys.rounds import ROUND
from discreet.surveys.sources import files_by_question
from discreet.surveys.survey import Survey
from discreet.surveys.verbs.surveys import OF_ONE, SurveyVerb, files_in_folder, protection_of
from discreet.tables.columns import read_distribution
from discreet.theory.binomial import DEFAULT_LEVEL

Data = Reports | Tally | StoredBlocks

METHODS = ("linear", "threshold", "norm-sub", "projected", "mle", "em", "smooth", "joint", "consistent")
_NEEDS_REPORTS = ("mle", "em", "smooth", "joint")
_OF_GROUPS = {"by": "{} says something of groups; name their columns with --by."}
_OF_ONE = ["shares", "background", "plot", "trust_plan"]
_UNNAMED = "Some of the reports belong to no batch with a name, so that a copy of them would not be recognised."
# Groups that are printed, those with most reports.
_GROUPS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class _How(OptionGroup):
    """The method, its options, and what is known of secret tags."""

    method: Method = option(
        "--method",
        type=click.Choice(METHODS),
        metavar="METHOD",
        default="linear",
        help=f"{', '.join(METHODS[:-1])} or {METHODS[-1]}. [linear]",
    )
    tolerance: float | None = option(
        "--tolerance", type=float, help="For mle, smooth and joint: certified gap, in nats per report."
    )
    smoothing: float | None = option("--smoothing", type=float, help="For smooth: weight of roughness. [1, or less]")
    significance: float | None = option(
        "--significance", type=float, help="For threshold and em: level of all tests together."
    )
    remainder: str | None = option(
        "--remainder", type=click.Choice(["uniform", "zero"]), help="For threshold: what becomes of the rest."
    )
    background: tuple[str, ...] = option(
        "--background",
        multiple=True,
        metavar="TAG=WHAT",
        bars={GROUPS: NOT_WITH_GROUPS},
        help="What is known behind secret tags: FILE, in-clear or drop. [in-clear]",
    )

    def asked(self, progress: Callable[..., None] | None = None) -> dict[str, Any]:
        """Return the method and the options that are given; it refuses those that it does not use."""
        named: dict[str, Any] = {"method": self.method, "tolerance": self.tolerance}
        named |= {"smoothing": self.smoothing, "significance": self.significance, "remainder": self.remainder}
        if progress is not None and self.method in _NEEDS_REPORTS:
            named["progress"] = lambda passes, gap: progress(f"pass {passes:g}, gap {gap:.1e}", 0, None)
        return {name: value for name, value in named.items() if value is not None}

    def reads_every(self, mechanism: BlockMechanism) -> bool:
        """Return true if a tally is not enough."""
        return self.method in _NEEDS_REPORTS and not mechanism.tally_suffices


@dataclass(frozen=True, slots=True)
class _Grouping(OptionGroup):
    """The groups and the weights."""

    by: tuple[str, ...] = option(
        "--by", multiple=True, metavar="COLUMN", help="Estimate by group: a public column beside the reports."
    )
    weights: str | None = option(
        "--weights", metavar="COLUMN", help="Weigh people by this public column beside the reports."
    )
    shares: Path | None = option(
        "--shares", type=InputFile(), needs=_OF_GROUPS, help="Known shares of groups: the columns of --by, and share."
    )
    minimum: int | None = option(
        "--minimum", type=Count(), needs=_OF_GROUPS, help="Reports in the smallest group that is estimated. [20]"
    )
    small: str | None = option(
        "--small",
        type=click.Choice(["refuse", "leave-out"]),
        metavar="WHAT",
        needs=_OF_GROUPS,
        help="What becomes of smaller ones: refuse or leave-out. [refuse]",
    )

    @property
    def wanted(self) -> bool:
        """True if there are some."""
        return bool(self.by) or self.weights is not None

    def about(self, data: Any, groups: Any) -> dict[str, Any]:
        """Return the options of groups, with the shares that files say."""
        if not self.by:
            return {}
        about: dict[str, Any] = {"minimum": self.minimum, "small": self.small}
        labels = list(data) if groups is None else Grouping.of(groups).labels
        if self.shares is not None:
            about["shares"] = read_shares(self.shares, self.by, labels)
        return {name: value for name, value in about.items() if value is not None}


@dataclass(frozen=True, slots=True)
class _Reading(Reading):
    """Reading of reports, with the memory of the methods that read each of them."""

    memory: int | None = option(
        "--memory",
        type=Count(0),
        metavar="MB",
        needs={"engine=local": "it goes with --engine local"},
        bars={GROUPS: NOT_WITH_GROUPS},
        help="For mle, em: reports beyond it go into files. [half of all]",
    )


@dataclass(frozen=True, slots=True)
class _Outputs(Writing):
    """Files to write; None for those that are not named."""

    output: Path | None = option(
        "-o",
        "--output",
        type=OutputFile("estimates", ESTIMATES, piped=True),
        help=f"To write: {spelled(ESTIMATES)}; - is CSV.",
    )
    plot: Path | None = option("--plot", type=options.PICTURE, help=f"Picture: {spelled(PICTURES)}.")
    tally_file: Path | None = option(
        "--tally",
        type=OutputFile("tallies", TALLIES, folders=True),
        bars={GROUPS: NOT_WITH_GROUPS},
        help=f"Tally: {spelled(TALLIES)}. Of a survey a folder.",
    )


@click.command(cls=SurveyVerb, of_one=_OF_ONE)
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile(urls=True))
@_How.options
@_Grouping.options
@Showing.options
@_Outputs.options
@_Reading.options
@allow_outside
def estimate(
    plan: Path,
    reports: tuple[Path, ...],
    how: _How,
    grouping: _Grouping,
    shown: Showing,
    out: _Outputs,
    read: _Reading,
) -> None:
    """Estimate the distribution behind REPORTS made under PLAN.

    REPORTS are files of reports or tallies, and folders of them, here or at URLs; - is JSON lines.

    Of a survey all questions are estimated; --plot and known shares are for one, SURVEY#QUESTION.
    """
    document = load_plan(plan) if grouping.wanted else load_plan_or_survey(plan)
    check_folders(reports if shown.statement else ())
    if isinstance(document, Questionnaire):
        _estimate_survey(document.survey(), reports, how, read, shown, out)
        return
    known = backgrounds(document, how.background)
    _check_files(reports, read.engine, out.tally_file)
    if grouping.wanted:
        _estimate_groups(document, reports, how, grouping, read, shown, out)
        return
    mechanism = document.mechanism()
    with progress_bar("reading") as progress, read.running(read.memory) as engine, reports_here(reports) as sources:
        with file_notes() as notes:
            data, left_out = _read(engine, mechanism, read.sources(sources, partial(progress, "reading")), how)
        result, tagged = _estimated(document, data, known, how.asked(progress))
        stated = _statement(document, data, left_out, read, sources, shown) if shown.statement else {}
    ending = Ending(document.maker.guarantee.brief, result.simulated, read.trust_plan, stated)
    limits = shown.level, shown.simultaneous

    def record() -> dict[str, Any]:
        bots = {} if tagged is None else _bots(tagged)
        read_from = {"left_out": dict(left_out), "trust_plan": read.trust_plan, "notes": tuple(notes)}
        more = {name: fact for name, fact in read_from.items() if fact}
        return {**_at(partial(estimate_facts, result), *limits)(), **ending.record(), **bots, **more}

    write_results(
        out.output,
        SavedTable(_at(result.to_arrow, *limits), record),
        {
            out.plot: save_picture(_at(result.plot, *limits)),
            out.tally_file: lambda path: put_tally(path, _tally_of(mechanism, data)),
        },
        force=out.force,
    )
    parts = chain(
        _table(result, shown),
        () if tagged is None else _bot_parts(tagged, shown.largest),
        [*left_out_sentences(left_out), *notes_of(notes), *written(out.output, out.plot, out.tally_file)],
        ending.lines(),
    )
    show(record, parts)


def _statement(
    document: Plan,
    data: Data,
    left_out: Mapping[str, int],
    read: _Reading,
    sources: Sequence[Path],
    shown: Showing,
) -> dict[str, Any]:
    """Return the publications of an estimate, from the batches that the tally of its reports knows."""
    from discreet.privacy.publication import published

    tally = _tally_of(document.mechanism(), data)
    publication = published(document.maker, tally, not_trusted=shown.not_trusted, shown="this estimate")
    if tally.rest_n:
        publication = replace(publication, remarks=(_UNNAMED,))
    return statement_of(
        publication, read.sources(sources), left_out=sum(left_out.values()), counted=read.engine == "local"
    )


def _at(method: Callable[..., Any], level: float | None, simultaneous: bool) -> Callable[[], Any]:
    """Return a function of no more than what is asked of intervals."""
    return partial(method, level, simultaneous=simultaneous)


def _check_files(reports: Sequence[Path], engine: str, tally: Path | None) -> None:
    """Refuse the name of a tally that no verb would read, and options that would do nothing, before reading."""
    if tally is not None:
        checked_output(tally, TALLIES, "tallies")
    if STANDARD in reports and engine != "local":
        raise ParameterError("- is read on this machine, and executors see files; name files, or use --engine local.")
    if all(is_tally(file_of(source)) for source in reports):
        refuse_idle(["bad_rows", "trust_plan"], "tallies have no rows of their own")


def _read(engine: Engine, mechanism: BlockMechanism, sources: Sources, how: _How) -> tuple[Data, Mapping[str, int]]:
    """Return the evidence or the tally that the method needs, and the number of rows left out, by reason."""
    if how.reads_every(mechanism):
        return engine.evidence(mechanism, sources)
    refuse_idle(["memory"], "this method needs no more than a tally")
    counted = engine.tally(mechanism, sources)
    return counted.tally, counted.left_out


def _estimated(plan: Plan, data: Data, known: Any, asked: dict[str, Any]) -> tuple[Estimate, TagEstimate | None]:
    if not plan.is_personalized:
        return estimated(plan.mechanism(), data, **asked), None
    tagged = estimate_personalized(plan.personalized(), data, background=known, **asked)
    return tagged.estimate, tagged


def _tally_of(mechanism: BlockMechanism, data: Data) -> Tally:
    if isinstance(data, Reports):
        return mechanism.tally(data)
    return data.tally if isinstance(data, StoredBlocks) else data


def _table(result: Estimate, shown: Showing, about: str = "") -> Iterator[str | Table]:
    """Yield the table of the largest values, and what holds of all of them."""
    codes = result.chosen(max(shown.largest, 1))
    columns = result.stated(shown.level, simultaneous=shown.simultaneous, shown=len(codes))
    names = text_column("value", result.domain.names(codes))
    headings, *cells = rows_of([names, *(column.at(codes) for column in columns)], "page")
    title = f"{about}{len(codes)} largest of {result.domain.size} values; {result.n:,} reports, method {result.method}"
    yield Table(title, headings, cells, left=2)
    yield from filter(
        None,
        (
            result.selected(len(codes), shown.level, simultaneous=shown.simultaneous),
            result.contradiction(shown.level, simultaneous=shown.simultaneous, shown=len(codes)),
            result.remark,
        ),
    )
    if isinstance(result.domain.space, Numbers) and result.n > 1:
        yield _of_numbers(result, shown.level)
    if result.gap is not None:
        yield f"Log-likelihood certified to {result.gap:.1e} nats per report."


def _of_numbers(result: Estimate, level: float | None) -> Table:
    """Return the table of the mean and the deciles of numbers."""
    named = result.mean_and_deciles()
    confidence = DEFAULT_LEVEL if level is None else level
    rows = [[each.name, *(f"{number:.5g}" for number in (each.estimate, *each.interval(confidence)))] for each in named]
    return Table("Mean and deciles", ["quantity", "estimate", f"{confidence * 100:g}% from", "to"], rows, left=1)


def backgrounds(plan: Plan, texts: tuple[str, ...]) -> Any:
    """Return the backgrounds of ``--background``, as `estimate_personalized` takes them."""
    if not plan.is_personalized:
        if texts:
            raise ParameterError("--background is for personalized plans; this one has no tags and no cells.")
        return None
    if len(texts) == 1 and texts[0] in (DROP, IN_CLEAR):
        return texts[0]
    known: dict[str, Any] = {}
    for text in texts:
        tag, what = _tag_and_rest(plan.personalized(), text)
        if tag in known:
            raise ParameterError(f"--background must be given once for a tag, got {tag!r} again.")
        known[tag] = what if what in (DROP, IN_CLEAR) else read_distribution(what, plan.domain)
    return known


def _tag_and_rest(personalized: Personalized, text: str) -> tuple[str, str]:
    # The longest: a tag may hold an equals sign.
    fitting = [tag for tag in personalized.tags if text.startswith(f"{tag}=")]
    if not fitting:
        tags = ", ".join(personalized.tags[:10])
        raise ParameterError(f"--background must be TAG=FILE with a tag of the plan, such as {tags}; got {text!r}.")
    tag = max(fitting, key=len)
    return tag, text[len(tag) + 1 :]


def _bots(tagged: TagEstimate) -> dict[str, Any]:
    """Return the frequencies and errors of the bots, an object per tag, and the worst case behind them."""
    errors = tagged.intermediate.standard_errors[tagged.estimate.domain.size :]
    columns = {"tag": list(tagged.bots), "frequency": list(tagged.bots.values()), "standard_error": errors.tolist()}
    return {"bots": objects(columns), "worst_case_l1": tagged.worst_case}


def _bot_parts(tagged: TagEstimate, largest: int) -> Iterator[str | Table]:
    """Yield the largest bots, and the error that wrong background knowledge of them can cause."""
    ranked = sorted(_bots(tagged)["bots"], key=lambda bot: -bot["frequency"])
    cells = [
        [bot["tag"], f"{bot['frequency']:.4%}", f"{bot['standard_error']:.4%}"] for bot in ranked[: max(largest, 1)]
    ]
    title = f"{len(cells)} largest of {len(ranked)} bots"
    yield Table(title, ["secret of its user", "estimate", "std. error"], cells)
    yield (
        f"What is behind the bots is assumed, not measured: at worst that misplaces {tagged.worst_case / 2:.4%} "
        "of the people."
    )


def _estimate_survey(
    survey: Survey, reports: Sequence[Path], how: _How, read: _Reading, shown: Showing, out: _Outputs
) -> None:
    """Estimate every question of a survey, write the table of all, and print how many people answered each."""
    refuse_idle(_OF_ONE, OF_ONE)
    parts, tallies, left_out, together = dict[str, Any](), {}, Counter[str](), how.method in TOGETHER
    files = files_by_question(survey, reports)
    with progress_bar("reading") as progress, read.running(read.memory) as engine, file_notes() as notes:
        for name, some in files.items():
            mechanism = survey.question(name).mechanism
            data, left = _read(engine, mechanism, read.sources(some, partial(progress, f"reading {name}")), how)
            tallies[name] = _tally_of(mechanism, data)
            left_out.update(left)
            if tallies[name].n:
                parts[name] = data if together else estimated(mechanism, data, **how.asked(progress))
        answers = estimate_survey(survey, parts, **how.asked(progress)) if together else Answers(survey, parts)
    simulated, stated = any(tally.simulated for tally in tallies.values()), {}
    if shown.statement:
        from discreet.privacy.publication import batches_of
        from discreet.surveys.guarantees import SurveyPublication

        batches = {name: batches_of(tally) for name, tally in tallies.items()}
        about = shown.not_trusted, simulated, "these estimates"
        stated = {"publication": SurveyPublication(survey, batches, *about)}
    ending = Ending(protection_of(survey), simulated, read.trust_plan, stated)
    limits = shown.level, shown.simultaneous

    def record() -> dict[str, Any]:
        facts = {name: _at(partial(estimate_facts, part), *limits)() for name, part in answers.items()}
        beside = {"left_out": dict(left_out), "notes": notes, **ending.record()}
        return {"plan": survey.fingerprint, "questions": facts, "unanswered": answers.unanswered, **beside}

    writers = dict[Path | None, Any]()
    if out.tally_file is not None:
        places = files_in_folder(survey, out.tally_file, OutputPlace("tallies", TALLIES), tallies)
        writers = {place: partial(put_tally, tally=tallies[name]) for name, place in places.items()}
    write_results(out.output, SavedTable(_at(answers.to_arrow, *limits), record), writers, force=out.force)
    tables = (part for name, result in answers.items() for part in _table(result, shown, f"{name}: "))
    lacking = [f"No reports on {'; '.join(answers.unanswered)}."] if answers.unanswered else []
    more = [*lacking, *left_out_sentences(left_out), *notes_of(notes), *written(out.output, out.tally_file)]
    show(record, chain(tables, more, ending.lines()))


def _estimate_groups(
    document: Plan,
    reports: Sequence[Path],
    how: _How,
    grouping: _Grouping,
    read: _Reading,
    shown: Showing,
    out: _Outputs,
) -> None:
    """Estimate by group, or with weights, write the outputs that are named, and print the rest."""
    mechanism, sources = document.mechanism(), read.sources(reports)
    with read.running() as engine, file_notes() as notes:
        data, groups, weights = _read_groups(engine, document, sources, how, grouping)
    about = grouping.about(data, groups)
    result = estimated(mechanism, data, groups=groups, weights=weights, **how.asked(), **about)
    if not isinstance(result, GroupedEstimate):
        result = GroupedEstimate((), {"everybody": result}, result, 1)
    stated = {}
    if shown.statement:
        columns = [] if weights is None else [weights, *([] if groups is None else groups.columns)]
        publication = _groups_publication(document, result, shown, columns)
        known = [*grouping.by, *filter(None, [grouping.weights])]
        stated = statement_of(publication, sources, known=known, counted=read.engine == "local")
    ending = Ending(mechanism.guarantee.brief, result.overall.simulated, read.trust_plan, stated)
    record = partial(_groups_record, result, shown, ending, notes)
    table = partial(result.to_arrow, shown.level, simultaneous=shown.simultaneous)
    picture = save_picture(partial(result.plot, shown.level))
    write_results(out.output, SavedTable(table, record), {out.plot: picture}, force=out.force)
    parts = chain(_groups_parts(result, shown), notes_of(notes), written(out.output, out.plot), ending.lines())
    show(record, parts)


def _groups_publication(document: Plan, result: GroupedEstimate, shown: Showing, columns: Sequence[Any]) -> Any:
    """Return the publication of estimates by group, or of weighted ones by the columns of weights and groups."""
    from discreet.privacy.publication import Publication, cells_of

    # People in one cell weigh alike.
    cells, beside = weighed_cells(columns) if columns else (cells_of(result), "")
    return Publication(
        document.maker,
        cells,
        not_trusted=shown.not_trusted,
        beside=beside,
        simulated=result.overall.simulated,
        shown="these estimates",
    )


def _read_groups(engine: Engine, plan: Plan, sources: Sources, how: _How, grouping: _Grouping) -> tuple[Any, Any, Any]:
    """Return the reports by group, or a tally of each group, with the columns of groups and of weights."""
    if plan.is_personalized:
        raise ParameterError("--by and --weights do not go with personalized plans, whose bots belong to all.")
    if STANDARD in sources.of:
        raise ParameterError("- has no public columns; name files of reports.")
    mechanism = plan.mechanism()
    if grouping.weights is None and not how.reads_every(mechanism):
        with progress_bar("reading") as progress:
            watched = replace(sources, progress=partial(progress, "reading"))
            return engine.tally_by(mechanism, watched, grouping.by), None, None
    if not isinstance(engine, LocalEngine):
        raise ParameterError("weights, and the methods mle and em by group, go with --engine local.")
    # A column of groups may be that of weights too.
    names = list(dict.fromkeys([*grouping.by, *filter(None, [grouping.weights])]))
    evidence, public = read_public(mechanism, sources, names, memory=memory_limit())
    groups = public.select(list(grouping.by)) if grouping.by else None
    return evidence, groups, None if grouping.weights is None else public[grouping.weights]


def _groups_record(estimates: GroupedEstimate, shown: Showing, ending: Ending, notes: Sequence[str]) -> dict[str, Any]:
    """Return the estimates ready for JSON: ``groups`` has an object for each, ``overall``, but of rounds, is all's."""
    names, facts = (
        estimates.names or ("group",),
        partial(estimate_facts, level=shown.level, simultaneous=shown.simultaneous),
    )
    groups = []
    for label, group in estimates.items():
        labels = label if isinstance(label, tuple) else (label,)
        groups.append({**dict(zip(names, labels, strict=True)), **ending.figures(group.n), **facts(group)})
    left_out = {"groups": estimates.left_out[0], "reports": estimates.left_out[1]}
    more = {"minimum": estimates.minimum, "left_out": left_out, "notes": notes}
    overall = {} if ROUND in estimates.names else {"overall": facts(estimates.overall)}
    return {"groups": groups, **overall, **ending.record(), **more}


def _groups_parts(estimates: GroupedEstimate, shown: Showing) -> Iterator[str | Table]:
    """Yield a table with a row for each value of each of the largest groups, and what holds of all groups."""
    everybody, codes = estimates.overall, estimates.overall.chosen(shown.largest)
    # Without columns of groups, everybody is the only one.
    chosen, cells = set(estimates.largest(_GROUPS_SHOWN)) if estimates.names else set(), []
    groups = [(label, estimates[label]) for label in estimates if label in chosen]
    # The same people answer in several rounds: reports of all rounds are not as many people's, and say less than those.
    rows_of_all = [] if ROUND in estimates.names else [("everybody", everybody)]
    for label, group in [*groups, *rows_of_all]:
        columns = group.stated(shown.level, simultaneous=shown.simultaneous, shown=len(codes))
        names = text_column("value", estimates.domain.names(codes))
        headings, *rows = rows_of([names, *(each.at(codes) for each in columns)], "groups")
        cells += [[spelled_group(label), f"{group.n:,}", *row] for row in rows]
    title = f"{len(codes)} of {estimates.domain.size} values; method {next(iter(estimates.values())).method}"
    title = f"{len(estimates)} groups, {title}" if groups else title
    yield Table(title, ["group", "reports", *headings], cells, left=3)
    if smaller := len(estimates) - len(groups) if groups else 0:
        yield f"{smaller:,} smaller {'group is' if smaller == 1 else 'groups are'} not shown; -o and --json give all."
    if rows_of_all:
        yield f"Everybody: {everybody.n:,} reports, method {everybody.method}."
        if noise := everybody.selected(len(codes), shown.level, simultaneous=shown.simultaneous):
            yield noise
    else:
        yield f"{everybody.n:,} reports, of people who answer in several rounds, which are not added up."
    if estimates.left_out[0]:
        few, people = estimates.left_out
        small, sent = number_of(few, "group"), number_of(people, "report")
        yield f"Left out: {small} with fewer than {estimates.minimum} reports ({sent})."
