"""Options of verbs that estimate by group, and what they make of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.options import Count, progress_bar
from discreet.cli.output import InputFile, file_notes
from discreet.cli.publications import Publishing, Statement
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.cli.views.estimates import GroupsView
    from discreet.engines import Engine
    from discreet.estimators import Method
    from discreet.formats.plan import Plan
    from discreet.results.groups import GroupedEstimate

IDLE_WITH_GROUPS = ("tally_file", "background", "bad_rows", "memory", "temporary")
"""Options of the verb that do nothing where there are groups."""

_NEEDS_REPORTS = ("mle", "em")


def grouping_options(verb: Any) -> Any:
    """Add the options of groups and weights to a verb."""
    for option in reversed(
        [
            click.option(
                "--by", multiple=True, metavar="COLUMN", help="Estimate by group: a public column beside the reports."
            ),
            click.option("--weights", metavar="COLUMN", help="Weigh people by this public column beside the reports."),
            click.option(
                "--shares", type=InputFile(), help="Known shares of the groups: the columns of --by, and share."
            ),
            click.option(
                "--margins", type=InputFile(), help="Known shares of each column of --by: columns column, label, share."
            ),
            click.option("--minimum", type=Count(), help="Reports in the smallest group that is estimated. [20]"),
            click.option(
                "--small", type=click.Choice(["refuse", "leave-out"]), help="What becomes of smaller ones. [refuse]"
            ),
        ]
    ):
        verb = option(verb)
    return verb


def weighed_cells(columns: Sequence[Any]) -> tuple[tuple[int, ...], str]:
    """Return the number of reports of each combination of weights and groups, and why these are no batches, if so."""
    import pyarrow as pa

    from discreet.privacy.publication import WEIGHTS

    table = pa.table(list(columns), names=[str(place) for place in range(len(columns))])
    cells = tuple(table.group_by(table.column_names).aggregate([([], "count_all")])["count_all"].to_pylist())
    return cells, WEIGHTS if 1 in cells else ""


@dataclass(frozen=True, slots=True)
class Sources:
    """The reports that a verb was given.

    Attributes:
        engine: what goes through them.
        plan: what they were made under.
        reports: files and folders.
        options: of reading them.
        publishing: what its statement needs; None if that is left out.
    """

    engine: "Engine"
    plan: "Plan"
    reports: Sequence[Path]
    options: Mapping[str, bool]
    publishing: Publishing | None = None


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups and weights that a verb was asked for.

    Attributes:
        by: names of the public columns that make the groups.
        weights: name of the column of weights; None if all count alike.
        shares: file of the known shares of the groups.
        margins: file of the known shares of each column.
        minimum: reports in the smallest group.
        small: what becomes of smaller ones.
    """

    by: tuple[str, ...]
    weights: str | None
    shares: Path | None
    margins: Path | None
    minimum: int | None
    small: str | None

    @property
    def named(self) -> bool:
        """True if anything of this was asked for."""
        return bool(self.by) or any(
            one is not None for one in (self.weights, self.shares, self.margins, self.minimum, self.small)
        )

    def _read(self, sources: "Sources", method: str) -> tuple[Any, Any, Any]:
        """Return the reports by group, or a tally of each group, with the columns of groups and of weights."""
        from discreet.engines import LocalEngine
        from discreet.engines.evidence import memory_limit
        from discreet.formats.public_columns import read_public

        if sources.plan.is_personalized:
            raise ParameterError("--by and --weights do not go with personalized plans, whose bots belong to all.")
        if Path("-") in sources.reports:
            raise ParameterError("- has no public columns; name files of reports.")
        mechanism, reports = sources.plan.mechanism(), list(sources.reports)
        if self.weights is None and (method not in _NEEDS_REPORTS or mechanism.tally_suffices):
            with progress_bar("reading") as progress:
                shown = partial(progress, "reading")
                tallies = sources.engine.tally_by(mechanism, reports, self.by, progress=shown, **sources.options)
            return tallies, None, None
        if not isinstance(sources.engine, LocalEngine):
            raise ParameterError("weights, and the methods mle and em by group, go with --engine local.")
        names = [*self.by, *([] if self.weights is None or self.weights in self.by else [self.weights])]
        found, public = read_public(mechanism, reports, names, memory=memory_limit(), **sources.options)
        groups = public.select(list(self.by)) if self.by else None
        return found, groups, None if self.weights is None else public[self.weights]

    def view(
        self, sources: "Sources", method: "Method", asked: dict[str, Any], shown: tuple[float | None, bool]
    ) -> "GroupsView":
        """Return the estimates, ready to be shown.

        Args:
            sources: the reports.
            method: of the estimate.
            asked: its options.
            shown: confidence of the intervals, and whether they hold at once.
        """
        from discreet.cli.views.estimates import GroupsView
        from discreet.estimators import estimate
        from discreet.results.groups import GroupedEstimate

        self._check()
        with file_notes() as notes:
            data, groups, weights = self._read(sources, method)
        about = self._about(data, groups)
        mechanism = sources.plan.mechanism()
        found = estimate(mechanism, data, method=method, groups=groups, weights=weights, **asked, **about)
        if not isinstance(found, GroupedEstimate):
            found = GroupedEstimate((), {"everybody": found}, found, 1)
        return GroupsView(found, *shown, tuple(notes), self._said(sources, found, groups, weights))

    def _said(self, sources: "Sources", found: "GroupedEstimate", groups: Any, weights: Any) -> Statement | None:
        """Return the statement on the cells: those of the groups and, as people in one weigh alike, of the weights."""
        from discreet.privacy.publication import cells_of

        if sources.publishing is None:
            return None
        cells, beside, known = cells_of(found), "", self.by
        if weights is not None:
            cells, beside = weighed_cells([weights, *([] if groups is None else groups.columns)])
            known = (*self.by, self.weights or "")
        simulated = found.overall.simulated
        return sources.publishing.of(cells, "these estimates", simulated=simulated, beside=beside, known=known)

    def _check(self) -> None:
        """Refuse options of groups where no column of groups is named."""
        about = {"shares": self.shares, "margins": self.margins, "minimum": self.minimum, "small": self.small}
        idle = next((name for name, one in about.items() if one is not None), None)
        if idle is not None and not self.by:
            raise ParameterError(f"--{idle} says something of groups; name their columns with --by.")

    def _about(self, data: Any, groups: Any) -> dict[str, Any]:
        """Return the options of groups, with the shares that files say."""
        from discreet.core.grouping import Grouping
        from discreet.formats.public_columns import read_margins, read_shares

        named = {"minimum": self.minimum, "small": self.small, "shares": self.shares, "margins": self.margins}
        about: dict[str, Any] = {name: one for name, one in named.items() if one is not None}
        if not self.by:
            return {}
        labels = list(data) if groups is None else Grouping.of(groups).labels
        if self.shares is not None:
            about["shares"] = read_shares(self.shares, self.by, labels)
        if self.margins is not None:
            several = len(self.by) > 1
            parts = [[label[at] for label in labels] if several else labels for at in range(len(self.by))]
            about["margins"] = read_margins(self.margins, dict(zip(self.by, map(set, parts), strict=True)))
        return about

    def write(self, view: "GroupsView", output: Path | None, plot: Path | None, *, force: bool) -> None:
        """Write the outputs that are named: all of them, or none."""
        from discreet.cli.output import write_results, write_table
        from discreet.pictures.curves import picture_options

        def picture(path: Path) -> None:
            view.found.plot(view.level).save(str(path), **picture_options(path))

        table = partial(view.found.to_arrow, view.level, simultaneous=view.simultaneous)
        write_results(output, {plot: picture}, lambda path: write_table(path, table(), view.record), force=force)
