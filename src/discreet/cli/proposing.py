"""A proposed plan: labels of columns, sensitive labels and epsilon. They come from options, tables and the user."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from discreet.cli.options import Count, OptionGroup, Written, at_a_terminal, option
from discreet.cli.output import prints_json, say, show
from discreet.cli.sensitive import SensitiveLabels, known_labels
from discreet.core.checks import suggestion
from discreet.errors import DataError, DiscreetError, ParameterError
from discreet.tables.cuts import Cut
from discreet.tables.labels import (
    DATES,
    INTEGERS,
    KINDS,
    LEAST,
    ColumnLabels,
    ColumnSummary,
    labels_between,
    labels_in,
    proposed_cuts,
    summarize_columns,
)
from discreet.tables.spellings import Join

Answer = TypeVar("Answer")
_PUBLIC = (
    "The plan is public and lists every label of {columns} found in at least {least} rows. To keep the labels private, "
    "pass your own with --labels or --cuts."
)
_MOST_SHOWN = 30
# Largest share of rows with rare integers in a column of codes. Above it the column holds numbers.
_MOST_OTHERS = 0.05
_ALL, _NONE = "all", "-"
_NO_LABELS = {"bins": "{} is for labels, and numbers in bins have no labels. Leave it out."}


@dataclass(frozen=True, slots=True)
class Labels(Written):
    """Options for the labels of columns, and for labels that look the same."""

    labels: tuple[str, ...] = option(
        "--labels",
        multiple=True,
        metavar="[COLUMN=]A,B,...",
        help="Labels of a column. [labels found in the table]",
    )
    cuts: tuple[str, ...] = option(
        "--cuts",
        multiple=True,
        metavar="[COLUMN=]18,40,...",
        help="Numbers or dates at which ranges begin, without the first range. [round values]",
    )
    least: int | None = option(
        "--least", type=Count(1), help="Leave out labels that occur in fewer rows than this. [20]"
    )
    merge: bool = option(
        "--merge",
        is_flag=True,
        bars=_NO_LABELS,
        help="Merge labels that read alike, such as krank and Krank.",
    )
    exact: bool = option(
        "--exact",
        is_flag=True,
        bars={**_NO_LABELS, "merge": "Give either --merge or --exact, and not both."},
        help="Treat labels that read alike, such as AA and Aa, as different labels.",
    )

    @property
    def join(self) -> Join:
        """The name of the rule by which different texts count as one label."""
        return "reading" if self.merge else "exact" if self.exact else "spaces"

    def given(self, names: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Return the labels and the cuts that the options give, each by column."""
        listed = dict(_by_column("--labels", self.labels, names))
        cut = dict(_by_column("--cuts", self.cuts, names))
        if twice := [name for name in cut if name in listed]:
            raise ParameterError("column.labels-and-cuts", name=twice[0])
        if self.least is not None and names and len(listed) + len(cut) == len(names):
            raise ParameterError("least.idle")
        return listed, cut


@dataclass(frozen=True, slots=True)
class Promise(OptionGroup):
    """Options for the sensitive labels and for epsilon."""

    sensitive: tuple[str, ...] = option(
        "--sensitive",
        multiple=True,
        metavar="[COLUMN=]A,B,...",
        help="Sensitive labels, which are protected.",
    )
    all_sensitive: bool = option(
        "--all-sensitive",
        is_flag=True,
        bars={"sensitive": "Give either --sensitive or --all-sensitive, and not both."},
        help="Mark every label as sensitive (plain LDP).",
    )
    epsilon: float | None = option("--epsilon", type=float, help="Promised epsilon, in nats.")


@dataclass(frozen=True, slots=True)
class FoundLabels:
    """The labels of a column, and the lower bounds of its ranges if the column is cut into ranges."""

    labels: ColumnLabels
    cuts: list[Cut] | None = None


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The fewest rows of a label, the rule for equal texts, and whether the user can be asked."""

    least: int
    join: Join
    asking: bool


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposed labels of columns, sensitive labels and epsilon of a new plan.

    Attributes:
        columns: the labels of each column, by name.
        sensitive: the sensitive labels.
        epsilon: the promise, in nats.
        least: the fewest rows of a label that is read from the table.
    """

    columns: Mapping[str, FoundLabels]
    sensitive: SensitiveLabels
    epsilon: float
    least: int

    @property
    def labels(self) -> dict[str, Sequence[Any]]:
        """The labels of each column, by the column's name."""
        return {name: column.labels.labels for name, column in self.columns.items()}

    def sentences(self, missing: str) -> Iterator[str]:
        """Yield sentences on the proposed labels. `missing` is the name of the option for rows without a value."""
        return _sentences(self.columns, self.least, missing)


@dataclass(frozen=True, slots=True)
class ScannedTable:
    """The scanned columns of a table, and the options for these columns.

    Attributes:
        columns: the description of each column, by the column's name.
        rules: the rules for labels.
        listed: the labels that options give, by column.
        cut: the cuts that options give, by column.
    """

    columns: Mapping[str, ColumnSummary]
    rules: LabelRules
    listed: Mapping[str, list[str]]
    cut: Mapping[str, list[str]]

    @classmethod
    def of(cls, tables: Sequence[str | Path], names: Sequence[str], labels: Labels) -> "ScannedTable":
        """Scan the named columns of tables. Without names, scan all columns and print a list of them."""
        listed, cut = labels.given(names)
        asking = not prints_json() and at_a_terminal()
        rules = LabelRules(LEAST if labels.least is None else labels.least, labels.join, asking=asking)
        summaries = summarize_columns(
            tables, {name: listed.get(name) for name in names} if names else None, labels.spelling
        )
        if not names:
            click.echo(_listing(summaries, rules.least), err=True)
        return cls(summaries, rules, listed, cut)

    def chosen(self) -> tuple[str, ...]:
        """Ask the user for the names of columns, and return them."""
        return _asked("column of values (several, with commas, for all combinations)", _chooser(self.columns))

    def proposal(self, names: Sequence[str], promise: Promise) -> Proposal:
        """Return the proposed labels, sensitive labels and epsilon.

        Ask the user for labels and epsilon without an option.
        """
        columns = {
            name: _proposal(self.columns[name], self.listed.get(name), self.cut.get(name), self.rules) for name in names
        }
        for name, column in columns.items() if self.rules.asking else ():
            click.echo(f"{name}: {_few(column.labels.labels)}", err=True)
        return Proposal(columns, *_promised(columns, promise, self.rules.join), self.rules.least)


def _asked(text: str, read: Callable[[str], Answer], default: str | None = None) -> Answer:
    """Ask the user at the terminal until `read` accepts the answer, and return the result of `read`."""

    def checked(answer: str) -> Answer:
        try:
            return read(answer)
        except (ValueError, DiscreetError) as error:
            raise click.UsageError(str(error)) from None

    answer: Answer = click.prompt(text, value_proc=checked, default=default, err=True)
    return answer


def _promised(proposals: Mapping[str, FoundLabels], promise: Promise, join: Join) -> tuple[SensitiveLabels, float]:
    """Return the sensitive labels and epsilon. Ask the user for those without an option."""
    marks = [*_by_column("--sensitive", promise.sensitive, [*proposals])]
    marked = None if promise.all_sensitive else marks or _asked_sensitive(proposals, join)
    epsilon = promise.epsilon
    if epsilon is None:
        epsilon = _asked("epsilon, the privacy promise in nats", float)
    return SensitiveLabels(marked, join), epsilon


def check_complete(unnamed: str, promise: Promise, *, asking: bool) -> None:
    """Raise an error for missing options if the user cannot be asked.

    Args:
        unnamed: the sentence to show if no column is named; else empty.
        promise: the options of the promise.
        asking: whether the user can be asked.
    """
    unsaid = {
        unnamed: bool(unnamed),
        "Name the sensitive values with --sensitive A,B or --all-sensitive.": not (
            promise.sensitive or promise.all_sensitive
        ),
        "Choose the privacy promise, in nats, with --epsilon.": promise.epsilon is None,
    }
    if any(unsaid.values()) and not asking:
        raise ParameterError("init.incomplete", needs=" ".join((why for why, holds in unsaid.items() if holds)))


def _listing(summaries: Mapping[str, ColumnSummary], least: int) -> str:
    """Return a text with one line for each column: name, type, missing values, distinct values and proposal."""
    cells = [("column", "holds", "missing", "different", "proposed")]
    for name, column in summaries.items():
        many = "very many" if column.thinned else f"{len(column.counts):,}"
        shown = name if name.isprintable() else repr(name)
        cells.append((shown, column.kind, f"{column.missing:,}", many, _in_short(column, least)))
    wide = [min(max(len(row[place]) for row in cells), 40) for place in range(4)]
    lines = (
        f"{row[0]:<{wide[0]}}  {row[1]:<{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]:>{wide[3]}}  {row[4]}" for row in cells
    )
    return "\n".join(lines)


def _in_short(column: ColumnSummary, least: int) -> str:
    if column.kind not in {*KINDS, "null"}:
        return "nothing: neither text nor numbers nor dates"
    if not column.rows:
        return "nothing: it is empty"
    try:
        proposal = _proposal(column, None, None, LabelRules(least, "spaces", asking=False))
    except DataError as error:
        return f"nothing: {error.code.partition('.')[2].replace('-', ' ')}"
    rare = f", {proposal.labels.others:,} rare ones not" if proposal.labels.others else ""
    return f"{len(proposal.labels.labels):,} {'ranges' if proposal.cuts else 'labels'}{rare}"


def _few(labels: Sequence[Any]) -> str:
    more = f", and {len(labels) - _MOST_SHOWN:,} more" if len(labels) > _MOST_SHOWN else ""
    return ", ".join(str(label) for label in labels[:_MOST_SHOWN]) + more


def _chooser(summaries: Mapping[str, ColumnSummary]) -> Callable[[str], tuple[str, ...]]:
    def choose(text: str) -> tuple[str, ...]:
        names = [text.strip()] if text.strip() in summaries else [name.strip() for name in text.split(",")]
        for name in names:
            if name not in summaries:
                raise ParameterError("column.unknown", name=name, near=suggestion(name, summaries))
        return tuple(dict.fromkeys(names))

    return choose


def _proposal(column: ColumnSummary, listed: list[str] | None, cut: list[str] | None, rules: LabelRules) -> FoundLabels:
    """Return the labels of a column: from an option, from the column, or ranges of its numbers or dates."""
    if cut is not None:
        cuts = _read_cuts(column, cut)
        return FoundLabels(labels_between(column, cuts), cuts)
    if listed is not None:
        return FoundLabels(labels_in(column, listed, join=rules.join))
    cuts = proposed = proposed_cuts(column, least=rules.least)
    try:
        labels = labels_in(column, least=rules.least, join=rules.join)
    except DataError:
        if not cuts:
            raise
    else:
        codes = labels.others <= len(labels.labels) and labels.other_rows <= _MOST_OTHERS * labels.rows
        if not cuts or codes:
            return FoundLabels(labels)
    if rules.asking:
        default = ",".join(str(place) for place in cuts)
        cuts = _asked(f"{column.name} holds {column.kind}; ranges begin at", partial(_cuts_of, column), default)
    return FoundLabels(labels_between(column, cuts, found=cuts == proposed), cuts)


def _cuts_of(column: ColumnSummary, text: str) -> list[Cut]:
    cuts = _read_cuts(column, text.split(","))
    labels_between(column, cuts)
    return cuts


def _read_cuts(column: ColumnSummary, texts: Sequence[str]) -> list[Cut]:
    """Return the cuts of a column as dates, integers or floating-point numbers, according to the column's type."""
    plain = [text.strip() for text in texts]
    if column.kind == DATES:
        return [*plain]
    try:
        numbers = [float(text) for text in plain]
    except ValueError:
        raise ParameterError("cuts.not-numbers", name=column.name, kind=column.kind) from None
    whole = column.kind == INTEGERS and all(number.is_integer() for number in numbers)
    return [int(number) for number in numbers] if whole else [*numbers]


def _by_column(option: str, texts: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Split each use of an option, and yield the column and the labels."""
    names = set()
    if texts and not columns:
        raise ParameterError("option.without-column", option=option)
    for text in texts:
        name, mark, rest = text.partition("=")
        if not (mark and name in columns):
            name, rest = columns[0], text
            if len(columns) > 1:
                raise ParameterError("option.of-which-column", option=option, name=name)
        if option != "--sensitive" and name in names:
            raise ParameterError("option.twice-for-column", option=option, name=name)
        names.add(name)
        yield name, next(csv.reader([rest]), [])


def _asked_sensitive(proposals: Mapping[str, FoundLabels], join: Join) -> list[tuple[str, list[str]]]:
    """Ask the user for the sensitive labels of each column, and return them by column."""
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


def _sentences(proposals: Mapping[str, FoundLabels], least: int, missing: str) -> Iterator[str]:
    for column, proposal in proposals.items():
        labels = proposal.labels
        if proposal.cuts is not None:
            cuts = ", ".join(str(cut) for cut in proposal.cuts)
            yield f"{column} has {len(labels.labels)} ranges, which begin at {cuts}. Choose others with --cuts."
        rows = f"of {labels.rows:,} rows"
        if labels.missing:
            yield f"{labels.missing:,} {rows} have no value of {column}; {missing}."
        if labels.read_rows:
            yield (
                f"{labels.read_rows:,} {rows} write a label of {column} differently; obfuscate --as-read reads them as "
                "the label."
            )
        if labels.other_rows:
            yield (
                f"{labels.other_rows:,} {rows} hold {labels.others:,} other values of {column}; obfuscate --unknown "
                "drop leaves these rows out."
            )
    read = [column for column, proposal in proposals.items() if proposal.labels.found]
    if read:
        yield _PUBLIC.format(columns=", ".join(read), least=least)


def proposal_facts(
    fingerprint: str,
    document: Mapping[str, Any],
    sizes: Mapping[str, int],
    proposals: Mapping[str, FoundLabels],
    output: Path | None,
) -> dict[str, Any]:
    """Return a proposed plan or survey as a dictionary for JSON."""
    columns = [
        {"column": name, **{key: value for key, value in asdict(proposal.labels).items() if key != "labels"}}
        for name, proposal in proposals.items()
    ]
    return {"plan": fingerprint, "document": document, **sizes, "columns": columns, "output": output}


def show_proposal(text: str, facts: dict[str, Any], sentences: Sequence[str], following: Sequence[str]) -> None:
    """Print a proposal: the plan itself if no file was named; otherwise sentences and the next commands."""
    if facts["output"] is None and not prints_json():
        click.echo(text)
        click.echo("\n".join(sentences), err=True)
        return
    show(facts, sentences)
    if not prints_json():
        say(following, whole=True)
