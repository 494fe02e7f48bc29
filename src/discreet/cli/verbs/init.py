"""The verb ``init``: it looks at a table, asks at a terminal what was not said, and proposes a plan."""

import csv
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import structs

from discreet.cli import options
from discreet.cli.commands import Verb
from discreet.cli.options import Count, OptionGroup, at_a_terminal, option
from discreet.cli.output import InputFile, OutputFile, prints_json, say, show
from discreet.cli.sensitive import SensitiveLabels, known_labels
from discreet.core.checks import meant
from discreet.core.domain import Domain
from discreet.core.guarantee import in_odds
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.files.paths import PLANS, spelled
from discreet.formats.plan import DomainSpec, Plan, plan_text, without_defaults
from discreet.planning.best import best
from discreet.surveys.documents import AskSpec, Questionnaire, SurveyDocument
from discreet.surveys.planning import plan_survey
from discreet.tables.labels import (
    DATES,
    INTEGERS,
    KINDS,
    LEAST,
    ColumnLabels,
    ColumnLook,
    Cut,
    labels_between,
    labels_in,
    look_at,
    proposed_cuts,
    proposed_ends,
)
from discreet.tables.spellings import SAME, Join

Answer = TypeVar("Answer")

_PUBLIC = (
    "A plan is public: the labels of {columns} were read from the table, so the plan tells that each of them occurs in "
    "it, in {least} rows or more. List them with --labels (ranges: --cuts) if that must not be told."
)
_MOST_SHOWN = 30
# Of rows with rare integers, before all are taken for numbers and not for codes.
_MOST_OTHERS = 0.05
_ALL, _NONE, _NO_ANSWER = "all", "-", "no answer"
_NO_LABELS = {"bins": "{} is about labels, and numbers in bins have none; leave it out."}


@dataclass(frozen=True, slots=True)
class _Columns(OptionGroup):
    """The columns, and their labels where these are said."""

    columns: tuple[str, ...] = option(
        "--column", multiple=True, help="Column of values; several make a plan of all combinations."
    )
    questions: tuple[str, ...] = option(
        "--question",
        multiple=True,
        metavar="COLUMN[,COLUMN]",
        bars={"columns": "{} makes a survey and --column one plan; give one of them."},
        help="Question of a survey: of a column, or of the combinations of some.",
    )
    labels: tuple[str, ...] = option(
        "--labels",
        multiple=True,
        metavar="[COLUMN=]A,B,...",
        help="Labels of a column, instead of those found in the table.",
    )
    cuts: tuple[str, ...] = option(
        "--cuts",
        multiple=True,
        metavar="[COLUMN=]18,40,...",
        help="Where ranges of a column of numbers or dates begin; else round ones are proposed.",
    )
    bins: int | None = option(
        "--bins",
        type=Count(2),
        bars={
            "questions": "--bins is for one column of numbers.",
            "labels": "--bins and --labels: say one of the two.",
            "cuts": "--bins and --cuts: say one of the two.",
        },
        help="A column of numbers in so many bins, between round ends; --sensitive LOW:HIGH,...",
    )
    least: int | None = option(
        "--least", type=Count(1), help="Leave out labels that fewer rows of the table hold. [20]"
    )
    merge: bool = option(
        "--merge",
        is_flag=True,
        bars=_NO_LABELS,
        help="Make one label of those that read alike, such as krank and Krank.",
    )
    exact: bool = option(
        "--exact",
        is_flag=True,
        bars={**_NO_LABELS, "merge": "--merge and --exact: say one of the two."},
        help="Keep labels that read alike apart, and protect only those that --sensitive names: AA, Aa, aa.",
    )

    @property
    def join(self) -> Join:
        """The texts that are one label."""
        return "reading" if self.merge else "exact" if self.exact else "spaces"

    @property
    def tables(self) -> list[list[str]]:
        """The names of the columns of each question of a survey."""
        return [[name.strip() for name in question.split(",")] for question in self.questions]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns that are asked for."""
        return self.columns or tuple(dict.fromkeys(name for table in self.tables for name in table))

    def said(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Return the labels and the cuts that are said, by column."""
        if len({*self.columns}) < len(self.columns):
            raise ParameterError("--column must name different columns, got one twice.")
        listed = dict(_by_column("--labels", self.labels, self.names))
        cut = dict(_by_column("--cuts", self.cuts, self.names))
        if twice := [name for name in cut if name in listed]:
            raise ParameterError(f"column {twice[0]!r} has --labels and --cuts; give one of them.")
        if self.least is not None and self.names and len(listed) + len(cut) == len(self.names):
            raise ParameterError("--least is for labels that are found in the table; all are said, so leave it out.")
        return listed, cut


@dataclass(frozen=True, slots=True)
class _Promise(OptionGroup):
    """Labels that are sensitive, and the promise."""

    sensitive: tuple[str, ...] = option(
        "--sensitive",
        multiple=True,
        metavar="[COLUMN=]A,B,...",
        help="Labels that are sensitive; nobody but you knows which.",
    )
    all_sensitive: bool = option(
        "--all-sensitive",
        is_flag=True,
        bars={"sensitive": "--sensitive and --all-sensitive: say one of the two: it is never guessed."},
        help="Every value is sensitive (plain LDP).",
    )
    epsilon: float | None = option("--epsilon", type=float, help="Privacy promise, in nats.")


@click.command(cls=Verb)
@click.argument("tables", nargs=-1, required=True, type=InputFile(urls=True), metavar="TABLE...")
@_Columns.options
@_Promise.options
@click.option("--title", default="", help="Title of the plan, for people.")
@click.option("-o", "--output", type=OutputFile("plans", PLANS), help=f"The plan: {spelled(PLANS)}. [printed]")
@options.force
def init(
    tables: tuple[str | Path, ...],
    of: _Columns,
    promise: _Promise,
    *,
    title: str,
    output: Path | None,
    force: bool,
) -> None:
    """Propose a plan for columns of TABLE: their labels, what you call sensitive, and the mechanism that errs least.

    Without --column the columns are listed. What is not said is asked for at a terminal. Numbers and dates are cut into
    ranges. Without -o the plan is printed, and nothing else on standard output. --question makes a survey, of whose
    questions each person answers some.

    A plan is public. Labels that are read from the table are those that many rows hold; columns with mostly different
    values, such as names, are refused. With --labels or --cuts nothing of the table gets into the plan.

    Labels that read like a sensitive one are sensitive too, such as Krank and krank. Texts that differ by spaces and
    invisible characters alone are one label.
    """
    listed, cut = of.said()
    asking = not prints_json() and at_a_terminal()
    enough = LEAST if of.least is None else of.least
    looks = look_at(tables, {name: listed.get(name) for name in of.names} if of.names else None)
    if not of.names:
        click.echo(_listing(looks, enough), err=True)
    _refuse_unsaid(of.names, promise, asking=asking)
    names = of.names or _asked("column of values (several, with commas, for all combinations)", _chooser(looks))
    way = _Way(enough, of.join, asking=asking)
    if of.bins is not None:
        _init_numbers(tables, _of_numbers(looks, names, promise, of.bins, enough, title), output, force=force)
        return
    proposals = {name: _proposal(looks[name], listed.get(name), cut.get(name), way) for name in names}
    for name, proposal in proposals.items() if asking else ():
        click.echo(f"{name}: {_few(proposal.labels.labels)}", err=True)
    sensitive, epsilon = _promised(proposals, promise, of.join)
    plan: Plan | Questionnaire
    if of.questions:
        plan, heading, missing = _planned(proposals, sensitive, epsilon, of.tables, title)
    else:
        plan = _with_cuts(Plan.of(best(_domain(proposals, sensitive), epsilon), title=title), proposals)
        heading, missing = list(_heading(plan)), "obfuscate --missing drop leaves them out"
    if output is not None:
        plan.save(output, force=force)
    where = f" written to {output}." if output else "."
    labels = {name: proposal.labels.labels for name, proposal in proposals.items()}
    words, named = sensitive.said(labels, {"": plan.domain} if isinstance(plan, Plan) else plan.attributes)
    sentences = [heading[0] + where, *heading[1:], *words, *_sentences(proposals, enough, missing)]
    if output is None and not prints_json():
        click.echo(plan.text if isinstance(plan, Questionnaire) else plan_text(plan))
        click.echo("\n".join(sentences), err=True)
        return
    show(_facts(plan, proposals, output) | named, sentences)
    if not prints_json():
        say(_next(tables, proposals, output, of_survey=bool(of.questions)), whole=True)


def _of_numbers(
    looks: Mapping[str, ColumnLook], names: Sequence[str], promise: _Promise, bins: int, least: int, title: str
) -> tuple[Plan, list[str]]:
    """Return a plan of numbers in bins, and sentences on it."""
    if len(names) != 1 or promise.epsilon is None or not (promise.sensitive or promise.all_sensitive):
        raise ParameterError("--bins needs one --column, --epsilon, and --sensitive LOW:HIGH or --all-sensitive.")
    look = looks[names[0]]
    low, high = proposed_ends(look, least=least)
    ranges = [text.split(":") for part in promise.sensitive for text in part.split(",")]
    try:
        pairs = [[float(first), float(last)] for first, last in ranges]
    except ValueError:
        raise ParameterError("--sensitive must name ranges of numbers as LOW:HIGH,... for --bins.") from None
    # What is said to be sensitive is in the range, whoever holds it.
    low, high = min([low, *(pair[0] for pair in pairs)]), max([high, *(pair[1] for pair in pairs)])
    domain = Domain.number(low, high, bins=bins, clip=True, sensitive=pairs if promise.sensitive else None)
    plan = Plan.of(best(domain, promise.epsilon), title=title)
    beyond = sum(count for value, count in look.counts.items() if not low <= value <= high)
    sentences = [
        *_heading(plan),
        f"Sensitive: {plan.mechanism().guarantee.sensitive_names}.",
        f"Numbers from {low:g} to {high:g}; beyond: {beyond:,} of {look.rows:,} rows, which count as the nearest end.",
        f"A plan is public: it tells that {least} rows or more of {look.name} reach about {low:g}, and about {high:g}.",
    ]
    if look.missing:
        sentences.append(f"No value of {look.name}: {look.missing:,} rows; obfuscate --missing drop leaves them out.")
    return plan, sentences


def _init_numbers(
    tables: Sequence[str | Path], proposed: tuple[Plan, list[str]], output: Path | None, *, force: bool
) -> None:
    """Write or print a plan of numbers."""
    plan, (first, *others) = proposed
    if output is not None:
        plan.save(output, force=force)
    sentences = [first + (f" written to {output}." if output else "."), *others]
    if output is None and not prints_json():
        click.echo(plan_text(plan))
        click.echo("\n".join(sentences), err=True)
        return
    show(_facts(plan, {}, output), sentences)
    if not prints_json():
        commands = _next(tables, {}, output, of_survey=True)
        say([*commands[:-1], f"  discreet estimate {output} reports --method smooth"], whole=True)


@dataclass(frozen=True, slots=True)
class _Found:
    """The labels of a column, and where its ranges begin, if it is cut."""

    labels: ColumnLabels
    cuts: list[Cut] | None = None


@dataclass(frozen=True, slots=True)
class _Way:
    """The fewest rows of a label that is found, the texts that are one label, and whether somebody is asked."""

    least: int
    join: Join
    asking: bool


def _asked(text: str, read: Callable[[str], Answer], default: str | None = None) -> Answer:
    """Return the answer of a person at a terminal, who is asked again until it can be used."""

    def checked(answer: str) -> Answer:
        try:
            return read(answer)
        except (ValueError, DiscreetError) as error:
            raise click.UsageError(str(error)) from None

    answer: Answer = click.prompt(text, value_proc=checked, default=default, err=True)
    return answer


def _promised(proposals: Mapping[str, _Found], promise: _Promise, join: Join) -> tuple[SensitiveLabels, float]:
    """Return the sensitive labels and epsilon; they are asked for if they are not said."""
    marks = [*_by_column("--sensitive", promise.sensitive, [*proposals])]
    marked = None if promise.all_sensitive else marks or _asked_sensitive(proposals, join)
    epsilon = promise.epsilon
    if epsilon is None:
        epsilon = _asked("epsilon, the privacy promise in nats", float)
    return SensitiveLabels(marked, join), epsilon


def _planned(
    proposals: Mapping[str, _Found],
    sensitive: SensitiveLabels,
    epsilon: float,
    tables: list[list[str]],
    title: str,
) -> tuple[Questionnaire, list[str], str]:
    """Return a survey, sentences on it, and one on rows without a value, which have a label of their own in it."""
    specs = {}
    for name, proposal in proposals.items():
        labels, missing = [*proposal.labels.labels], None
        if proposal.labels.missing and all(isinstance(label, str) for label in labels):
            missing = _NO_ANSWER
            same = SAME[sensitive.join]
            labels = [*(label for label in labels if same(str(label)) != same(missing)), missing]
        marks = sensitive.among(name, labels)
        about: dict[str, Any] = {"allow_unprotected": marks == [], "exact": sensitive.join == "exact"}
        specs[name] = DomainSpec(labels, sensitive=marks, missing=missing, cuts=proposal.cuts, **about)
    questionnaire = Questionnaire(SurveyDocument(2, epsilon, specs, "record", title, AskSpec(tables)))
    plan = plan_survey(questionnaire.attributes, **questionnaire.asked)
    survey = plan.survey
    head = (
        f"{len(survey.questions)} questions, of which each person answers {survey.answers}, at epsilon {epsilon:g} for "
        f"whole records; plan {survey.fingerprint[:12]}"
    )
    hint = f"they are {_NO_ANSWER!r} in the plan, or refused where labels are numbers"
    return questionnaire.asking(survey), [head, plan.reason, str(survey.guarantee)], hint


def _refuse_unsaid(columns: Sequence[str], promise: _Promise, *, asking: bool) -> None:
    """Refuse in one sentence all that is not said, where nobody can be asked."""
    unsaid = {
        "--column must name the column of values, or several of them": not columns,
        "--sensitive A,B or --all-sensitive must say which values are sensitive: it is never guessed": not (
            promise.sensitive or promise.all_sensitive
        ),
        "--epsilon must be given: the privacy promise, in nats": promise.epsilon is None,
    }
    if any(unsaid.values()) and not asking:
        raise ParameterError(f"{'; '.join(why for why, holds in unsaid.items() if holds)}.")


def _listing(looks: Mapping[str, ColumnLook], least: int) -> str:
    """Return the columns of a table with what they hold, a line each."""
    cells = [("column", "holds", "missing", "different", "proposed")]
    for name, look in looks.items():
        many = "very many" if look.thinned else f"{len(look.counts):,}"
        shown = name if name.isprintable() else repr(name)
        cells.append((shown, look.kind, f"{look.missing:,}", many, _in_short(look, least)))
    wide = [min(max(len(row[place]) for row in cells), 40) for place in range(4)]
    lines = (
        f"{row[0]:<{wide[0]}}  {row[1]:<{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]:>{wide[3]}}  {row[4]}" for row in cells
    )
    return "\n".join(lines)


def _in_short(look: ColumnLook, least: int) -> str:
    if look.kind not in {*KINDS, "null"}:
        return "nothing: neither text nor numbers nor dates"
    if not look.rows:
        return "nothing: it is empty"
    try:
        proposal = _proposal(look, None, None, _Way(least, "spaces", asking=False))
    except DataError:
        return f"nothing: {'mostly different' if look.is_different else 'most are rare'}"
    rare = f", {proposal.labels.others:,} rare ones not" if proposal.labels.others else ""
    return f"{len(proposal.labels.labels):,} {'ranges' if proposal.cuts else 'labels'}{rare}"


def _few(labels: Sequence[Any]) -> str:
    more = f", and {len(labels) - _MOST_SHOWN:,} more" if len(labels) > _MOST_SHOWN else ""
    return ", ".join(str(label) for label in labels[:_MOST_SHOWN]) + more


def _chooser(looks: Mapping[str, ColumnLook]) -> Callable[[str], tuple[str, ...]]:
    def choose(text: str) -> tuple[str, ...]:
        names = [text.strip()] if text.strip() in looks else [name.strip() for name in text.split(",")]
        for name in names:
            if name not in looks:
                raise ParameterError(f"there is no column {name!r}{meant(name, looks)}.")
        return tuple(dict.fromkeys(names))

    return choose


def _proposal(look: ColumnLook, listed: list[str] | None, cut: list[str] | None, way: _Way) -> _Found:
    """Return the labels of a column: as said; those found; or, of numbers and dates that are too many, ranges."""
    if cut is not None:
        cuts = _read_cuts(look, cut)
        return _Found(labels_between(look, cuts), cuts)
    if listed is not None:
        return _Found(labels_in(look, listed, join=way.join))
    cuts = proposed = proposed_cuts(look, least=way.least)
    try:
        labels = labels_in(look, least=way.least, join=way.join)
    except DataError:
        if not cuts:
            raise
    else:
        codes = labels.others <= len(labels.labels) and labels.other_rows <= _MOST_OTHERS * labels.rows
        if not cuts or codes:
            return _Found(labels)
    if way.asking:
        default = ",".join(str(place) for place in cuts)
        cuts = _asked(f"{look.name} holds {look.kind}; ranges begin at", lambda text: _cuts_of(look, text), default)
    return _Found(labels_between(look, cuts, found=cuts == proposed), cuts)


def _cuts_of(look: ColumnLook, text: str) -> list[Cut]:
    cuts = _read_cuts(look, text.split(","))
    labels_between(look, cuts)
    return cuts


def _read_cuts(look: ColumnLook, texts: Sequence[str]) -> list[Cut]:
    """Return the cuts of a column: dates, whole numbers or numbers, as it holds."""
    plain = [text.strip() for text in texts]
    if look.kind == DATES:
        return [*plain]
    try:
        numbers = [float(text) for text in plain]
    except ValueError:
        raise ParameterError(f"the cuts of column {look.name!r}, which holds {look.kind}, must be numbers.") from None
    whole = look.kind == INTEGERS and all(number.is_integer() for number in numbers)
    return [int(number) for number in numbers] if whole else [*numbers]


def _by_column(option: str, texts: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the column and the labels of each use of an option."""
    names = set()
    if texts and not columns:
        raise ParameterError(f"{option} is about columns, so --column must name them.")
    for text in texts:
        name, mark, rest = text.partition("=")
        if not (mark and name in columns):
            name, rest = columns[0], text
            if len(columns) > 1:
                raise ParameterError(f"{option} must say which column it is about, as in {option} {name}=A,B.")
        if option != "--sensitive" and name in names:
            raise ParameterError(f"{option} must list the {option[2:]} of column {name!r} once.")
        names.add(name)
        yield name, next(csv.reader([rest]), [])


def _asked_sensitive(proposals: Mapping[str, _Found], join: Join) -> list[tuple[str, list[str]]]:
    """Return the sensitive labels by column, as a person says them."""
    several = len(proposals) > 1

    def reader(name: str, labels: Sequence[Any]) -> Callable[[str], list[str]]:
        def read(text: str) -> list[str]:
            marks = next(csv.reader([text], skipinitialspace=True), [])
            texts = [str(label) for label in labels]
            if marks == [_ALL] and _ALL not in texts:
                return texts
            if several and marks == [_NONE]:
                return []
            known_labels(name, marks, labels, join)
            return marks

        return read

    how = f"with commas, or {_ALL}, or {_NONE} for none" if several else f"with commas, or {_ALL}"
    asked = [
        (name, _asked(f"sensitive labels of {name} ({how})", reader(name, proposal.labels.labels)))
        for name, proposal in proposals.items()
    ]
    return [(name, marks) for name, marks in asked if marks]


def _domain(proposals: Mapping[str, _Found], sensitive: SensitiveLabels) -> Domain:
    """Return the domain; every value is sensitive if nothing is marked."""
    labels = {name: proposal.labels.labels for name, proposal in proposals.items()}
    if sensitive.marks is not None and not sensitive.marks:
        raise ParameterError("some labels must be sensitive, and none were said to be.")
    marks = {name: sensitive.among(name, values) for name, values in labels.items()}
    exact = sensitive.join == "exact"
    if len(proposals) > 1:
        patterns = [{name: some} for name, some in marks.items() if some]
        return Domain.product(labels, sensitive=patterns or None, exact=exact)
    ((name, values),) = labels.items()
    if len(values) == 1:
        raise ParameterError("there must be at least two labels, got one, of which a report tells nothing.")
    some = marks[name]
    return Domain(values, sensitive=None if some is None else [label in some for label in values], exact=exact)


def _with_cuts(plan: Plan, proposals: Mapping[str, _Found]) -> Plan:
    """Return a plan that says where ranges begin; its fingerprint is the same."""
    cut = {name: proposal.cuts for name, proposal in proposals.items() if proposal.cuts is not None}
    if not cut:
        return plan
    cuts: Any = cut if len(proposals) > 1 else next(iter(cut.values()))
    document = plan.document
    return replace(plan, document=structs.replace(document, domain=structs.replace(document.domain, cuts=cuts)))


def _facts(plan: Plan | Questionnaire, proposals: Mapping[str, _Found], output: Path | None) -> dict[str, Any]:
    columns = [
        {"column": name, **{key: value for key, value in asdict(proposal.labels).items() if key != "labels"}}
        for name, proposal in proposals.items()
    ]
    if isinstance(plan, Plan):
        sizes = {"values": plan.domain.size, "sensitive": plan.domain.sensitive_count}
        document = without_defaults(plan.document)
    else:
        sizes, document = {"questions": len(plan.document.question)}, plan.fields()
    return {
        "plan": plan.fingerprint,
        "document": document,
        **sizes,
        "columns": columns,
        "output": output,
    }


def _heading(plan: Plan) -> Iterator[str]:
    domain, document = plan.domain, plan.document
    yield (
        f"{domain.size:,} values, {domain.sensitive_count:,} of them sensitive, under {plan.mechanism().name} at "
        f"epsilon {document.epsilon:g}; plan {plan.fingerprint[:12]}"
    )
    if odds := in_odds(document.epsilon):
        yield odds


def _sentences(proposals: Mapping[str, _Found], least: int, missing: str) -> Iterator[str]:
    for column, proposal in proposals.items():
        labels = proposal.labels
        if proposal.cuts is not None:
            cuts = ", ".join(str(cut) for cut in proposal.cuts)
            yield f"Cut into {len(labels.labels)} ranges: {column}, at {cuts}; --cuts says other ones."
        if labels.missing:
            yield f"No value of {column}: {labels.missing:,} of {labels.rows:,} rows; {missing}."
        if labels.read_rows:
            yield (
                f"Written differently than a label of {column}: {labels.read_rows:,} of {labels.rows:,} rows; "
                "obfuscate --as-read takes them for the label."
            )
        if labels.other_rows:
            yield (
                f"Not in the plan: {labels.others:,} different values of {column}, in {labels.other_rows:,} of "
                f"{labels.rows:,} rows; obfuscate --unknown drop leaves these rows out."
            )
    read = [column for column, proposal in proposals.items() if proposal.labels.found]
    if read:
        yield _PUBLIC.format(columns=", ".join(read), least=least)


def _next(
    tables: Sequence[str | Path], proposals: Mapping[str, _Found], output: Path | None, *, of_survey: bool
) -> list[str]:
    """Return the commands that lead on from a plan to an estimate."""
    of_one = {} if of_survey else proposals
    column = f"--column {shlex.quote(next(iter(proposals)))} " if len(of_one) == 1 else ""
    missing = "--missing drop " if any(proposal.labels.missing for proposal in of_one.values()) else ""
    unknown = "--unknown drop " if any(proposal.labels.other_rows for proposal in of_one.values()) else ""
    read = "--as-read " if any(proposal.labels.read_rows for proposal in proposals.values()) else ""
    table = shlex.quote(str(tables[0])) if len(tables) == 1 else "TABLE"
    plan, reports = shlex.quote(str(output)), "reports" if of_survey else "reports.parquet"
    return [
        "Next:",
        f"  discreet obfuscate {plan} {table} {column}{read}{missing}{unknown}-o {reports}",
        f"  discreet estimate {plan} {reports}",
    ]
