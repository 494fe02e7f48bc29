"""Tables of people: classes of those who are alike in their quasi-identifiers, and the risks that follow.

A *quasi-identifier* is a column that others may know of somebody, such as age or postcode; people with the same values
in all of them are a *class*. With f people of the table in a class and F people of a population, whoever looks for one
of them is right with probability

    1/f  if it is known that the person is in the table (the prosecutor),
    1/F  if all that is known is that the person is in the population (the journalist),

and a marketer, who matches everybody, is right for the mean of 1/F [El Emam, "Guide to the De-Identification of
Personal Health Information", 2013]. k is the least f [Samarati and Sweeney 1998], the least F over the classes of the
table is the k of k-map, and the ends of f/F over those of the population are delta-presence [Nergiz et al. 2007].
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import nan, prod
from operator import contains
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_share, checked_whole
from discreet.core.random import RandomSource
from discreet.core.result_table import Cells, ResultColumn, ResultTable, number_of, rows_of, text_column
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import Mechanism
from discreet.risk.bounds.identification import identification_bounds
from discreet.risk.diversity import Diversity, diversity
from discreet.risk.generalisation import Generalisation, Step
from discreet.risk.people_table import PeopleTable
from discreet.risk.population import PopulationEstimate, population_estimate

BELOW = (2, 3, 5, 10)
"""Sizes of classes, of which the people below them are counted."""

# Sizes of classes for which the bound on reports is worked out; it is that of the next smaller one for the others.
_SIZES = 40


@dataclass(frozen=True, slots=True)
class AttackerRisk:
    """The risk from one attacker.

    Attributes:
        attacker: what they know, in words.
        mean: over the people of the table.
        worst: of anyone in it; None for the marketer, who is after many.
        above: share of the people whose risk is above the limit; None for the marketer.
    """

    attacker: str
    mean: float
    worst: float | None = None
    above: float | None = None

    @property
    def figures(self) -> tuple[float, float, float]:
        """Mean, worst and share above the limit; nan for those that there are not."""
        return self.mean, nan if self.worst is None else self.worst, nan if self.above is None else self.above


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PeopleRisk(ResultTable):
    """The risk of being found in a table of people by their quasi-identifiers.

    Attributes:
        names: of the quasi-identifiers.
        people: who are in the table that is published, a row each.
        suppressed: people who were left out of it, as their class was too small.
        missing: people with a missing cell among the quasi-identifiers, those left out included.
        classes: number of classes.
        k: people in the smallest class.
        uniques: people alone in their class.
        below: shares of the people in classes of fewer than `BELOW`, by that size.
        limit: risk, of which the share of people above it is told.
        risks: of each attacker.
        k_map: people of the population in the smallest class that is in the table; None without a population.
        presence: ends of f/F over the classes of the population; None without one.
        outside: people in classes of which the population has fewer than the table: it lacks some of them, and such a
            class counts with f in the place of F.
        estimate: what a model says about the population; None without a fraction.
        diversity: of each sensitive column.
        telling: columns that alone tell over half of the people apart, with the share.
        reported: the column that is published as reports of a plan; empty if none is.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [30, 30, 41], "sex": ["f", "f", "m"]})
        >>> risk = people_risk(PeopleTable.of(table, ["age", "sex"]))
        >>> risk.k, risk.uniques, [round(one.mean, 3) for one in risk.risks]
        (1, 1, [0.667, 0.667])
    """

    names: tuple[str, ...]
    people: int
    suppressed: int
    missing: int
    classes: int
    k: int
    uniques: int
    below: Mapping[int, float]
    limit: float
    risks: tuple[AttackerRisk, ...]
    k_map: int | None
    presence: tuple[float, float] | None
    outside: int
    estimate: PopulationEstimate | None
    diversity: tuple[Diversity, ...]
    telling: tuple[tuple[str, float], ...]
    reported: str

    @property
    def leading(self) -> AttackerRisk:
        """The attacker who limits the risk: the reader of reports, the journalist with a population, the prosecutor.

        A bound on reports is never below 1/f, and a model is an estimate, which supports no limit.
        """
        strictest = _PROSECUTOR if self.k_map is None else _JOURNALIST
        wanted = _reader(self.reported) if self.reported else strictest
        return next(risk for risk in self.risks if risk.attacker == wanted)

    @property
    def risk(self) -> float:
        """The worst risk of anyone in the table, from the leading attacker."""
        return self.leading.figures[1]

    @property
    def heading(self) -> str:
        """The number of people and classes."""
        return f"{_people(self.people)} in {number_of(self.classes, 'class', 'classes')} of {', '.join(self.names)}"

    def stated(self) -> list[ResultColumn]:
        """Return the columns: attacker, mean, worst and share above the limit; nan where there is none."""
        mean, worst, above = np.array([risk.figures for risk in self.risks]).T
        return [
            text_column("attacker", [risk.attacker for risk in self.risks]),
            ResultColumn("mean", mean, format=_risk),
            ResultColumn("worst", worst, format=_risk),
            ResultColumn("above", above, heading=f"people above {self.limit:g}", format=_share),
        ]

    def _shown(self) -> tuple[Cells, str]:
        return rows_of(self.stated()), "\n".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result in sentences for a report."""
        shares = ", ".join(f"{size}: {share:.2%}" for size, share in self.below.items())
        lines = [
            f"The smallest class has k = {_people(self.k)}. Alone in their class: {_people(self.uniques)} "
            f"({self.uniques / self.people:.2%}). People in classes of fewer than {shares}."
        ]
        if self.suppressed:
            total = self.suppressed + self.people
            lines.append(
                f"Left out, since their class is too small: {self.suppressed:,} of {total:,} people "
                f"({self.suppressed / total:.2%}); all else is about those who stay."
            )
        if self.missing:
            lines.append(
                f"People with a missing cell: {self.missing:,}; it counts as a value of its own, and where it may be "
                "any value classes are as large or larger."
            )
        lines += [
            f"{name} alone tells {share:.1%} of the people apart: generalise it, or leave it out."
            for name, share in self.telling
        ]
        lines += [*self._of_population(), *self._of_model(), *map(str, self.diversity)]
        if self.reported:
            lines.append(
                f"{self.reported} is published as a report and is no part of the classes; its row bounds every "
                "attacker, also one who knows who is in the table, on average over the people of a class."
            )
        lines.append(
            "Each row counts as one person, and attackers as knowing these columns and no more; who knows more finds "
            "more."
        )
        return tuple(lines)

    def _of_population(self) -> list[str]:
        if self.k_map is None or self.presence is None:
            return []
        low, high = self.presence
        lines = [
            f"In the population the smallest of these classes has {_people(self.k_map)} (k-map); being in the table is "
            f"told with probability {low:.4g} to {high:.4g} (delta-presence)."
        ]
        if self.outside:
            lines.append(
                f"In classes of which the population has fewer than the table: {_people(self.outside)}. So it lacks "
                "some of them; there the table's number counts."
            )
        return lines

    def _of_model(self) -> list[str]:
        if self.estimate is None:
            return []
        model, level = self.estimate, f"{self.estimate.level:.0%}"
        if model.alpha == 1:
            start = (
                "No two people of the table are alike, so that no model says how large classes are in the population"
            )
            return [f"{start}: everybody counts as alone there."]
        return [
            f"If the table is a random {model.fraction:.3g} of the population, and that is as Pitman's model says, "
            f"the number of people of the table who are alone in it is {model.uniques.value:,.0f} ({level} limits "
            f"{model.uniques.low:,.0f} to {model.uniques.high:,.0f}), and the mean of 1/F {model.risk.value:.4g} "
            f"({model.risk.low:.4g} to {model.risk.high:.4g}). Limits are about chance, not about the model; the "
            "negative binomial figures, as other tools print them, can be several times too low."
        ]


_PROSECUTOR, _JOURNALIST, _MARKETER = "prosecutor", "journalist", "marketer"
_PITMAN, _NEGATIVE_BINOMIAL = "journalist, Pitman's model", "journalist, negative binomial"


def _people(count: int) -> str:
    return number_of(count, "person", "people")


def _reader(column: str) -> str:
    return f"reader of reports of {column}"


def _risk(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.4g}"


def _share(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2%}"


def people_risk(
    keys: PeopleTable,
    *,
    limit: float = 0.2,
    suppress: int = 1,
    fraction: float | None = None,
    reported: tuple[str, Mechanism] | None = None,
    random: RandomSource | None = None,
) -> PeopleRisk:
    """Return the risk of being found in a table of people.

    Args:
        keys: the people.
        limit: risk, of which the share of people above it is told.
        suppress: people in classes of fewer are left out of the table.
        fraction: of the population in the table, for estimates by `population_estimate`; not with a population.
        reported: another column, and the mechanism by which it is published as a report of each person.
        random: draws populations; None for fresh words.

    Raises:
        DataError: if nobody is left.
        ParameterError: if a number is out of range, or a fraction is given for a table with a population.

    Example:
        >>> import pyarrow as pa
        >>> people_risk(PeopleTable.of(pa.table({"age": [30, 30, 41]}), ["age"]), suppress=2).people
        2
    """
    limit, least = checked_share("limit", limit), checked_whole("suppress", suppress)
    if fraction is not None and keys.population is not None:
        raise ParameterError("fraction goes with no table of the population, which says more; leave one of them out.")
    published = keys.without_rare(least)
    sizes, among = published.sizes()
    if not len(sizes):
        raise DataError(f"every class has fewer than {least} people, so that nobody is left; generalise first.")
    lacking = 0 if keys.population is None else published.counts[keys.population < published.counts].sum()
    estimate = None
    if fraction is not None:
        estimate = population_estimate(keys.counts, fraction, suppress=least, limit=limit, random=random)
    people = int(sizes.sum())
    return PeopleRisk(
        keys.names,
        people,
        keys.people - people,
        keys.missing,
        len(sizes),
        int(sizes.min()),
        int(np.count_nonzero(sizes == 1)),
        {size: float(sizes[sizes < size].sum() / people) for size in BELOW},
        limit,
        tuple(_attackers(sizes, among, limit, estimate, reported)),
        None if published.population is None else int(among.min()),
        _presence(published),
        int(lacking),
        estimate,
        tuple(filter(None, map(diversity, published.sensitive))),
        keys.telling(),
        "" if reported is None else reported[0],
    )


def _attackers(
    sizes: IntArray,
    among: IntArray,
    ceiling: float,
    estimate: PopulationEstimate | None,
    reported: tuple[str, Mechanism] | None,
) -> list[AttackerRisk]:
    """Return the risks in classes of ``(K,)`` people of the table among as many or more people of the population."""
    attackers = [_attacker(_PROSECUTOR, sizes, 1 / sizes, ceiling)]
    wider = attackers[0]
    if among is not sizes:
        wider = _attacker(_JOURNALIST, sizes, 1 / among, ceiling)
        attackers.append(wider)
    if estimate is not None:
        attackers.append(AttackerRisk(_PITMAN, estimate.risk.value, estimate.worst, estimate.above))
        attackers.append(AttackerRisk(_NEGATIVE_BINOMIAL, *estimate.plain))
    attackers.append(AttackerRisk(_MARKETER, wider.mean if estimate is None else estimate.risk.value))
    if reported is not None:
        column, mechanism = reported
        attackers.append(_attacker(_reader(column), sizes, _bounds(mechanism, sizes), ceiling))
    return attackers


def _attacker(who: str, sizes: IntArray, risks: FloatArray, ceiling: float) -> AttackerRisk:
    people = sizes.sum()
    return AttackerRisk(
        who, float(sizes @ risks / people), float(risks.max()), float(sizes[risks > ceiling].sum() / people)
    )


def _bounds(mechanism: Mechanism, classes: IntArray) -> FloatArray:
    """Return the bound on naming the sender of a report, for each of ``(K,)`` classes of so many people.

    More people make it smaller, so that of very many numbers some stand for those up to the next one.
    """
    sizes = np.unique(classes)
    if len(sizes) > _SIZES:
        sizes = sizes[np.unique(np.geomspace(1, len(sizes), _SIZES).astype(np.int64)) - 1]
    chances = [1.0 if size == 1 else identification_bounds(mechanism, int(size)).identification.value for size in sizes]
    return np.array(chances)[np.searchsorted(sizes, classes, side="right") - 1]


def _presence(keys: PeopleTable) -> tuple[float, float] | None:
    """Return the ends of f/F over the classes of the population; 1 where it has fewer people than the table."""
    if keys.population is None:
        return None
    shares = keys.counts / np.maximum(keys.population, keys.counts)
    return float(shares.min()), float(shares.max())


MOST_OPTIONS = 400
"""Combinations of steps that are tried."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WhatIf(ResultTable):
    """Risk beside what is lost, for combinations of steps of the quasi-identifiers.

    Attributes:
        asked: the ways in which the table may be written, and what is wanted.
        names: of the quasi-identifiers.
        steps: ``(c, q)`` the steps, as texts.
        figures: by name, ``(c,)`` numbers: k; shares of people alone in their class (uniques), above the limit (above)
            and left out (suppressed); worst and mean risk; kept, the share of the information in the columns that is
            left, by their entropies; and merged, the share of their different values that is no more.
        best: ``(c,)`` booleans: no other combination has less risk, mean and worst, and loses less.
        chosen: the row that loses least of those that may be and have what is wanted; None if none has.
    """

    asked: Generalisation
    names: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    figures: Mapping[str, FloatArray]
    best: BoolArray
    chosen: int | None

    @property
    def choice(self) -> Generalisation | None:
        """The generalisation of the chosen row, with one step a column."""
        if self.chosen is None:
            return None
        return self.asked.choosing(dict(zip(self.names, self.steps[self.chosen], strict=True)))

    @property
    def heading(self) -> str:
        """The number of combinations."""
        return f"{int(self.best.sum())} of {len(self.steps)} ways of writing {', '.join(self.names)}"

    def stated(self) -> list[ResultColumn]:
        """Return a column for the step of each quasi-identifier, and the figures."""
        forms: dict[str, Any] = {"k": ",.0f", "worst": ".4g", "mean": ".4g"}
        return [
            *(
                replace(text_column(f"step_{name}", [row[at] for row in self.steps]), heading=name)
                for at, name in enumerate(self.names)
            ),
            *(ResultColumn(name, values, format=forms.get(name, ".2%")) for name, values in self.figures.items()),
            ResultColumn("best", self.best, unit="mark", shown=()),
        ]

    @property
    def cells(self) -> Cells:
        """Headings and the rows for people."""
        rows = np.flatnonzero(self.best)
        return rows_of([column.at(rows) for column in self.stated()])

    def _shown(self) -> tuple[Cells, str]:
        return self.cells, "\n".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The meaning of the rows, in words, and what is chosen."""
        below, rare = self.asked.suppress.below, ""
        if below > 1:
            rare = f" People in classes of fewer than {below} are left out (suppressed)."
        wanted = f"a worst risk of at most {self.asked.limit:g}"
        if self.asked.suppress.share < 1:
            wanted += f" and at most {self.asked.suppress.share:.2%} left out"
        choice = f"None of the ways that may be chosen has {wanted}."
        if self.choice is not None:
            listed = ", ".join(f"{name} {steps}" for name, steps in self.choice.columns.items())
            choice = f"Of the ways that may be chosen and have {wanted}, this one loses least: {listed}."
        return (
            "Shown are the ways that no other beats in mean risk, worst risk and loss at once: kept is the share of "
            f"the columns' information that is left, merged that of their values which are no more.{rare}",
            choice,
        )


def what_if(
    keys: PeopleTable, asked: Generalisation, *, reported: tuple[str, Mechanism] | None = None, compared: bool = True
) -> WhatIf:
    """Return the risk and the loss of every combination of steps.

    Args:
        keys: the people.
        asked: steps of quasi-identifiers, of which a column without any stays as it is, and what is wanted.
        reported: as for `people_risk`; the mean and the worst risk are then the bounds.
        compared: whether columns as they are stand beside, which are chosen only if they are among the steps.

    Raises:
        DataError: if under every combination nobody is left.
        ParameterError: if there are more than `MOST_OPTIONS` combinations, or a step does not go with its column.

    Example:
        >>> import pyarrow as pa
        >>> keys = PeopleTable.of(pa.table({"age": [31, 34, 41, 48]}), ["age"])
        >>> ways = what_if(keys, Generalisation(limit=0.5, columns={"age": ["5-year", "10-year"]}))
        >>> ways.figures["k"].tolist(), ways.choice.columns
        ([1.0, 1.0, 2.0], {'age': '10-year'})
    """
    least, ladders = asked.suppress.below, asked.ladders
    allowed = [ladders.get(name, (Step(),)) for name in keys.names]
    choices = [dict.fromkeys((Step(), *steps) if compared else steps) for steps in allowed]
    count = prod(map(len, choices))
    if count > MOST_OPTIONS:
        raise ParameterError(
            f"there are {count:,} combinations of steps, and at most {MOST_OPTIONS} are tried; name fewer, as in "
            "--generalise age=5-year/10-year,sex=*."
        )
    keys.written({name: Step() for name in ladders})
    information, values = float(keys.entropies().sum()), sum(map(len, keys.values))
    steps, rows = list[tuple[Step, ...]](), list[tuple[float, ...]]()
    for chosen in product(*choices):
        coarse = keys.written(dict(zip(keys.names, chosen, strict=True)))
        if coarse.counts.max() < least:
            continue
        risk = people_risk(coarse, limit=asked.limit, suppress=least, reported=reported)
        leading, lost = risk.leading, risk.suppressed / keys.people
        share = float(coarse.entropies().sum()) / information if information else 1.0
        merged = 1 - sum(map(len, coarse.values)) / values
        steps.append(chosen)
        rows.append((risk.k, risk.uniques / risk.people, *leading.figures, share, merged, lost))
    if not rows:
        raise DataError(f"whatever the steps, every class has fewer than {least} people, so that nobody is left.")
    names = ("k", "uniques", "mean", "worst", "above", "kept", "merged", "suppressed")
    figures = dict(zip(names, np.array(rows, dtype=np.float64).T, strict=True))
    loss = 1 - figures["kept"] * (1 - figures["suppressed"])
    order = np.lexsort((figures["mean"], loss))
    best = _undominated(np.stack([figures["mean"], figures["worst"], loss])[:, order])
    figures = {name: column[order] for name, column in figures.items()}
    wanted = (figures["worst"] <= asked.limit) & (figures["suppressed"] <= asked.suppress.share)
    fit = [row for row, at in enumerate(order) if wanted[row] and all(map(contains, allowed, steps[at]))]
    texts = tuple(tuple(step.text for step in steps[at]) for at in order)
    return WhatIf(asked, keys.names, texts, figures, best, fit[0] if fit else None)


def _undominated(costs: FloatArray) -> BoolArray:
    """Return marks of ``(d, c)`` costs that no other undercuts without exceeding, nor an earlier one equals."""
    row, rival = costs[:, :, None], costs[:, None, :]
    as_good, better = (rival <= row).all(axis=0), (rival < row).any(axis=0)
    earlier = np.tri(costs.shape[1], k=-1, dtype=np.bool_)
    return np.asarray(~(as_good & (better | earlier)).any(axis=1), dtype=np.bool_)
