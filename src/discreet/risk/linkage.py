"""Linkage of two tables: a release without names, and a table with known users, some of whom are in both.

All attacks are tried on the traces of users who are in both tables (`assessment`). An attacker does not know which
traces have a known user, so some *strangers* are identified too, always wrongly. The table of *claims* counts them: the
attacker identifies only traces with a large *sureness*, the odds of the likeliest known user against all others, as
learned from the known table alone. The odds assume that the trace belongs to a known user, so they only order traces.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import inf, log

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.core.random import RandomSource, checked_source
from discreet.core.result_table import ResultColumn, ResultTable
from discreet.errors import DataError
from discreet.mechanisms import BlockMechanism, Channel
from discreet.risk.assessment import ReportAssessment, TraceAssessment, assess
from discreet.risk.attacks.learned import Logit, Pairs, Posterior
from discreet.risk.attacks.traces import ALL, Attacks
from discreet.risk.scores.rates import Rate, rate
from discreet.risk.traces import Split, Traces

SURE = (0.5, 0.9, 0.99, 0.999)
"""Levels of sureness for claims; they are fixed in advance, not chosen by their success."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The outcome if the attacker identifies the traces with at least some sureness.

    Attributes:
        rule: the rule that selects the traces.
        count: the number of traces that it selects.
        right: of these, the rate identified right; None without any.
        known: of the known users' traces, the rate identified right.
        strangers: of the strangers' traces, the rate that is identified, always wrongly; None without strangers.
    """

    rule: str
    count: int
    right: Rate | None
    known: Rate
    strangers: Rate | None


@dataclass(frozen=True, slots=True, eq=False)
class Linkage:
    """The linkage of a release with an attacker's known users.

    Attributes:
        assessment: the assessment of the traces of users who are in both tables; its users are the known ones.
        strangers: the number of traces of unknown users.
        claims: the outcomes at several levels of sureness; empty for reports.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> users = np.repeat(np.arange(30), 4)
        >>> known, release = Traces.of(users, users), Traces.of(users, users)
        >>> found = link(Split(known, release), random=SeededRandom(1))
        >>> found.assessment.success.value, found.claims[0].count
        (1.0, 30)
    """

    assessment: TraceAssessment | ReportAssessment
    strangers: int
    claims: tuple[Claim, ...]

    def table(self) -> ResultTable:
        """Return the table of claims, with intervals beside the rates."""
        column = partial(ResultColumn.of, self.claims)
        columns = [
            column("rule", "rule", "traces identified", kind="text"),
            column("count", "count", "number", ","),
            column("right", "right", "right", _with_ends),
            column("known", "known", "of known users", _with_ends),
            column("strangers", "strangers", "of strangers", _with_ends),
        ]
        return ResultTable("Claims of the learned attack by sureness", columns)


def _with_ends(interval: Rate | None) -> str:
    return "-" if interval is None else f"{interval.value:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def link(
    split: Split,
    *,
    attack: Attacks = ALL,
    alone: bool = False,
    mechanism: BlockMechanism | Channel | None = None,
    reports: int = 1,
    largest_list: int = 10,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> Linkage:
    """Return the linkage of a release's traces with the users that an attacker knows.

    The joint attack and the lists of candidates use the traces of users in both tables only.

    Args:
        split: the traces of known users as training, and the traces of the release as target. A user without an event
            in the training is a stranger; a user without one in the target is not in the release.
        attack: as for `assess`.
        alone: as for `assess`.
        mechanism: as for `assess`.
        reports: as for `assess`.
        largest_list: as for `assess`.
        level: as for `assess`.
        random: the random words; None for fresh words.

    Raises:
        DataError: if fewer than 2 users are in both tables, and as for `assess`.
        ParameterError: as for `assess`.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> known = Traces.of_numbers((np.repeat(range(30), 4), 40), (np.repeat(range(30), 4), 40))
        >>> release = Traces.of_numbers((np.repeat(range(20, 40), 4), 40), (np.repeat(range(20, 40), 4), 40))
        >>> found = link(Split(known, release), random=SeededRandom(1))
        >>> found.strangers, found.assessment.success.value
        (10, 1.0)
    """
    source, known = checked_source(random), split.training.lengths > 0
    there = split.target.lengths > 0
    inside, traces = int(np.count_nonzero(known & there)), int(np.count_nonzero(there))
    if inside < 2:
        raise DataError("linked-tables.too-few-users", inside=inside, traces=traces, known=int(known.sum()))
    both = Split(split.training.select(known), split.target.select(known), of_two_tables=True)
    assessment = assess(
        both,
        attack=attack,
        alone=alone,
        mechanism=mechanism,
        reports=reports,
        largest_list=largest_list,
        level=level,
        random=source,
    )
    claims = () if mechanism is not None else _claims(both, split.target.select(there & ~known), level, source)
    return Linkage(assessment, traces - inside, claims)


def _claims(both: Split, strangers: Traces, level: float, random: RandomSource) -> tuple[Claim, ...]:
    """Return the outcomes if the attacker identifies all traces, and those with at least some sureness."""
    logit, size, parts = Logit.taught(both, random), both.training.users, [both]
    for start in range(0, strangers.users, size):
        rows = np.arange(start, min(start + size, strangers.users))
        parts.append(Split(both.training, _filled(strangers.select(rows), size)))
    columns = []
    for part in parts:
        posterior = logit.posterior(Pairs(part, np.flatnonzero(part.target.lengths), random))
        columns.append((*_best(posterior), np.full(len(posterior.users), part is both)))
    sureness, right, inside = (np.concatenate(column) for column in zip(*columns, strict=True))
    rules = [("all", -inf), *((f"sureness of {share:g}", log(share / (1 - share))) for share in SURE)]
    claims = []
    for rule, least in rules:
        named, hits = sureness >= least, float(np.count_nonzero(right & inside & (sureness >= least)))
        outside = rate(int((named & ~inside).sum()), int((~inside).sum()), level=level) if not inside.all() else None
        precision = rate(hits, int(named.sum()), level=level) if named.any() else None
        claims.append(Claim(rule, int(named.sum()), precision, rate(hits, int(inside.sum()), level=level), outside))
    return tuple(claims)


def _filled(traces: Traces, users: int) -> Traces:
    """Return traces with the given number of users; added users have no event."""
    offsets = np.append(traces.offsets, np.full(users - traces.users, traces.offsets[-1]))
    return replace(traces, offsets=offsets, names=None)


def _best(posterior: Posterior) -> tuple[FloatArray, BoolArray]:
    """Return the logarithms of the odds of the likeliest user of each trace, and whether this user is the right one."""
    logs = np.where(posterior.lists >= 0, posterior.logs, -inf)
    best, users = logs.max(axis=1), posterior.lists[np.arange(len(logs)), logs.argmax(axis=1)]
    odds: FloatArray = best - np.log(np.maximum(-np.expm1(np.minimum(best, 0)), 1e-300))
    return odds, users == posterior.users
