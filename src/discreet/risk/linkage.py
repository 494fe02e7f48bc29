"""Linkage of two tables: a release without names, and a table with known users, some of whom are in both.

For each trace of the release, the attacker names the known user with the largest posterior probability, learned from
the known table only (for reports: from their likelihood). The *sureness* is the odds of this user against all other
known users. The odds assume that the trace belongs to a known user, so they only order the traces. The success of
naming above a threshold is measured with the users in both tables:

- *precision*: of the traces named, the share named right;
- *recall*: of the traces of known users, the share named right;
- *false identification*: of the traces of unknown users, the share named, always wrongly.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import ceil, inf, log, nan

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, frozen
from discreet.core.checks import checked_level, checked_share, checked_whole
from discreet.core.random import RandomSource, checked_source
from discreet.core.result_table import ResultColumn, ResultTable, TabularResult, text_column
from discreet.errors import DataError
from discreet.mechanisms import BlockMechanism, Channel
from discreet.risk.assessment import REPORTS
from discreet.risk.attacks.learned import UNIT, Logit, Pairs, Posterior
from discreet.risk.attacks.reports import reports_matcher
from discreet.risk.attacks.traces import Matcher
from discreet.risk.bounds.identification import NO_LIMIT, Bound, identification_bounds, limit
from discreet.risk.kernels.matching import leads
from discreet.risk.scores.pse import generator_of
from discreet.risk.scores.rates import Rate, rate
from discreet.risk.traces import Split, Traces

SURE = (0.5, 0.9, 0.99, 0.999)
"""Levels of sureness for naming a trace; they are fixed in advance, not chosen by their success."""

_SUREST = 0.01
_RATES = {"precision": "right", "recall": "of known users", "false": "of strangers"}
_NO_RATE = Rate(nan, nan, nan, 0, nan)
_NOBODY = -1
_MOST = 1000.0
LEARNED = "learned"


@dataclass(frozen=True, slots=True)
class NamedTraces:
    """The outcome if the attacker names some of the traces.

    Attributes:
        rule: the rule that selects the traces.
        named: the number of traces named.
        precision: the rate of right names; None if no trace is named.
        recall: the rate of known users' traces that are named right.
        false: the rate of unknown users' traces that are named; None without unknown users.
    """

    rule: str
    named: int
    precision: Rate | None
    recall: Rate
    false: Rate | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Claims:
    """The names that an attacker gives to the traces of a release.

    Attributes:
        sureness: ``(m,)`` logarithms of the odds of the best user.
        right: ``(m,)`` probabilities that the name is right, with ties broken at random.
        inside: ``(m,)`` booleans: true if the trace's user is known.
    """

    sureness: FloatArray
    right: FloatArray
    inside: BoolArray

    def __post_init__(self) -> None:
        """Make the columns read-only."""
        for name in ("sureness", "right", "inside"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __repr__(self) -> str:
        return f"Claims({len(self.right)} traces, {int(self.inside.sum())} of known users)"

    def at(self, rows: IntArray) -> "Claims":
        """Return the claims on some of the traces."""
        return Claims(self.sureness[rows], self.right[rows], self.inside[rows])

    def naming(self, rule: str, least: float, level: float) -> NamedTraces:
        """Return the outcome if the attacker names all traces with at least the given sureness."""
        named = self.sureness >= least
        count, right = int(named.sum()), float(self.right[named].sum())
        inside, outside = int(self.inside.sum()), int((~self.inside).sum())
        return NamedTraces(
            rule,
            count,
            rate(right, count, level=level) if count else None,
            rate(right, inside, level=level),
            rate(int((named & ~self.inside).sum()), outside, level=level) if outside else None,
        )

    def curve(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return thresholds in descending order, with the precision and the recall at each of them."""
        order = np.argsort(-self.sureness, kind="stable")
        sureness, right = self.sureness[order], np.cumsum(self.right[order])
        ends = np.flatnonzero(np.append(sureness[1:] != sureness[:-1], True))
        return sureness[ends], right[ends] / (ends + 1), right[ends] / self.inside.sum()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Linkage(TabularResult):
    """The linkage of a release with an attacker's known users: outcomes and identification risk.

    Attributes:
        known: the number of users that the attacker knows.
        attack: the name of the attack.
        claims: the attacker's claim on each trace.
        namings: the outcomes for several rules: all traces, levels of sureness, the surest traces, and a threshold that
            was chosen on one half of the traces and measured on the other.
        chance: the outcome for all traces if the names of the known users are permuted.
        unlearned: the share of known users' traces that the attack learned nothing about: it gives the right user at
            most the probability of a guess. All traces count if no success beyond guesses is shown; 0 for reports.
        level: the confidence level of each interval.
        bound: the limit for every attack, if the release has reports; None for traces without obfuscation.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> users = np.repeat(np.arange(30), 4)
        >>> known, release = Traces.of(users, users), Traces.of(users, users)
        >>> found = link(Split(known, release), random=SeededRandom(1))
        >>> found.recall.value, found.namings[0].named
        (1.0, 30)
    """

    known: int
    attack: str
    claims: Claims
    namings: tuple[NamedTraces, ...]
    chance: NamedTraces
    unlearned: float
    level: float
    bound: Bound | None

    @property
    def inside(self) -> int:
        """The number of traces of known users."""
        return int(self.claims.inside.sum())

    @property
    def outside(self) -> int:
        """The number of traces of unknown users."""
        return len(self.claims.inside) - self.inside

    @property
    def recall(self) -> Rate:
        """The rate of known users' traces that are named right if all traces are named."""
        return self.namings[0].recall

    @property
    def risk(self) -> float:
        """The identification risk of a user in both tables: the bound, if there is one.

        Otherwise the upper limit of `recall`, where traces that the attack learned nothing about count as named.
        """
        return min(self.recall.high + self.unlearned, 1.0) if self.bound is None else self.bound.value

    @property
    def heading(self) -> str:
        """A line with the numbers of traces and users."""
        return (
            f"{self.inside + self.outside:,} traces, {self.inside:,} of them of the {self.known:,} known users; "
            f"{self.attack}"
        )

    def table(self) -> ResultTable:
        """Return the table of outcomes: numbers of traces named, and three rates with limits; nan for no rate."""
        rows = [*self.namings, self.chance]
        columns = [
            text_column("rule", [naming.rule for naming in rows]),
            ResultColumn("named", np.array([naming.named for naming in rows])),
        ]
        for name in _RATES:
            rates = [getattr(naming, name) or _NO_RATE for naming in rows]
            for end, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
                columns.append(ResultColumn(name + suffix, np.array([getattr(interval, end) for interval in rates])))
        return ResultTable(self.heading, columns)

    def view(self) -> ResultTable:
        """Return the same table with each interval beside its rate, and the result as sentences below."""
        column = partial(ResultColumn.of, [*self.namings, self.chance], "")
        rates = [column(name, heading, _with_ends) for name, heading in _RATES.items()]
        columns = [column("rule", "traces named", kind="text"), column("named", "number", ","), *rates]
        return ResultTable(self.heading, columns, self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The result as sentences."""
        everything, chance = self.namings[0], self.chance
        lines = [
            f"Of {self.inside:,} traces whose users are known, {everything.recall.value:.2%} are named right if all "
            f"{everything.named:,} traces are named ({_ends(everything.recall)}); with names permuted "
            f"{chance.recall.value:.2%}."
        ]
        surest = self.namings[1 + len(SURE)]
        if surest.precision is not None:
            lines.append(
                f"Of the surest {_SUREST:.0%} of the traces ({surest.named:,}) {surest.precision.value:.2%} are named "
                f"right ({_ends(surest.precision)})."
            )
        chosen = self.namings[-1]
        if chosen.precision is not None:
            lines.append(
                f"A threshold chosen on one half of the traces ({chosen.rule}) names {chosen.named:,} of the other: "
                f"{chosen.precision.value:.2%} right ({_ends(chosen.precision)}), which are "
                f"{chosen.recall.value:.2%} of those whose users are known."
            )
        if self.unlearned and self.bound is None:
            lines.append(
                f"Nothing was learned about {self.unlearned:.2%} of the traces of known users, which count as named in "
                f"the identification risk: {limit(self.risk)}."
            )
        lines.append(self._limit)
        lines.append(
            "Who is in both tables is told by their user columns, which count and never name. Thresholds of sureness "
            "are fixed beforehand; each interval holds by itself."
        )
        return tuple(lines)

    @property
    def _limit(self) -> str:
        if self.bound is None:
            return "Nothing limits what a better attack names."
        if limit(self.bound.value) == NO_LIMIT:
            return "Nothing limits how often a better attack names the right one."
        return (
            "No attack, whatever it knows, names the right one with more than probability "
            f"{limit(self.bound.value)} on average over the users who are in both tables."
        )


def _with_ends(interval: Rate) -> str:
    return f"{interval.value:.1%} ({interval.low:.1%} to {interval.high:.1%})"


def _ends(interval: Rate) -> str:
    return f"{interval.level:.0%} interval {interval.low:.2%} to {interval.high:.2%}"


def link(
    split: Split,
    *,
    mechanism: BlockMechanism | Channel | None = None,
    reports: int = 1,
    precision: float = 0.95,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> Linkage:
    """Return the linkage of a release's traces with the users that an attacker knows.

    Args:
        split: the traces of known users as training, and the traces of the release as target. A user without an event
            in the training is unknown; a user without one in the target is not in the release.
        mechanism: over the events' codes: it obfuscates the first events of each user of the release. None for traces
            without obfuscation.
        reports: t, the number of events of each user, with a mechanism.
        precision: the share of right names that the threshold must achieve on the half where it is chosen.
        level: the confidence level of each interval.
        random: the random words for reports, permuted names and halves; None for fresh words.

    Raises:
        DataError: if fewer than 2 users are known, fewer than 2 have a trace, or no user is in both tables.
        ParameterError: if a number is out of range.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> known = Traces.of_numbers((np.repeat(range(30), 4), 40), (np.repeat(range(30), 4), 40))
        >>> release = Traces.of_numbers((np.repeat(range(20, 40), 4), 40), (np.repeat(range(20, 40), 4), 40))
        >>> found = link(Split(known, release), random=SeededRandom(1))
        >>> found.inside, found.outside, found.recall.value
        (10, 10, 1.0)
    """
    goal, level, source = checked_share("precision", precision), checked_level(level), checked_source(random)
    reports = checked_whole("reports", reports, 1)
    known, probes = np.flatnonzero(split.training.lengths), np.flatnonzero(split.target.lengths)
    where = np.full(split.training.users, _NOBODY)
    where[known] = np.arange(len(known))
    owners = where[probes]
    inside = owners >= 0
    _refuse_apart(len(known), len(probes), int(inside.sum()))
    generator = generator_of(source)
    permuted = np.where(inside, generator.permutation(len(known))[owners], _NOBODY)
    sides = split.training.select(known), split.target.select(probes)
    users = np.stack([owners, permuted])
    if mechanism is None:
        odds, ties, holds, right = _leads_of_traces(*sides, users, source)
    else:
        matcher = matcher_of(*sides, mechanism, reports, source)
        odds, ties, holds = leads(matcher.problem, users, matcher.unit)
    real, chance = (Claims(odds, held / ties, inside) for held in holds)
    everything = chance.naming("all, names permuted", -inf, level)
    fixed, unlearned, bound = _fixed(real, level), 0.0, None
    if mechanism is not None:
        bound = identification_bounds(mechanism, int(inside.sum()), reports=reports).identification
    else:
        success = fixed[0].recall
        guessed = success.low <= 1 / len(known) and success.high < 1
        unlearned = 1.0 if guessed else float(np.mean(right[inside] <= -log(len(known))))
    return Linkage(
        len(known),
        LEARNED if mechanism is None else REPORTS,
        real,
        (*fixed, threshold_on_halves(real, goal, generator.permutation(len(probes)), level)),
        everything,
        unlearned,
        level,
        bound,
    )


def _refuse_apart(known: int, traces: int, inside: int) -> None:
    if min(known, traces) < 2:
        raise DataError("linked-tables.too-few-users", known=known, traces=traces)
    if not inside:
        raise DataError("linked-tables.nobody-in-both", traces=traces, known=known)


def matcher_of(
    known: Traces, release: Traces, mechanism: BlockMechanism | Channel, reports: int, random: RandomSource
) -> Matcher:
    """Return the matcher for the reports of a release, in their order, and all known users."""
    size = max(known.users, release.users)
    matcher = reports_matcher(
        Split(fill_users(known, size), fill_users(release, size)), mechanism, events=reports, random=random
    )
    # Users who were added to the smaller table have no event: they are not candidates.
    return replace(matcher, problem=replace(matcher.problem, candidates=known.users))


def fill_users(traces: Traces, users: int) -> Traces:
    """Return traces with the given number of users; added users have no event."""
    offsets = np.append(traces.offsets, np.full(users - traces.users, traces.offsets[-1]))
    return replace(traces, offsets=offsets, names=None)


_Leads = tuple[FloatArray, IntArray, BoolArray, FloatArray]


def _leads_of_traces(known: Traces, release: Traces, users: IntArray, random: RandomSource) -> _Leads:
    """Return the results of `leads_of` for the posterior of traces, with logarithms ``(m,)`` for the first users.

    As many traces as there are known users are compared at a time.
    """
    size, logit, parts = known.users, None, []
    for start in range(0, release.users, size):
        rows = np.arange(start, min(start + size, release.users))
        split = Split(known, fill_users(release.select(rows), size))
        logit = logit or Logit.taught(split, random)
        parts.append(leads_of(logit.posterior(Pairs(split, rows - start, random)), users[:, rows]))
    odds, ties, holds, right = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return odds, ties, holds, right


def leads_of(posterior: Posterior, users: IntArray) -> _Leads:
    """Return for each trace: the odds and ties of the best users, whether ``users`` are among them, and logarithms."""
    from scipy.special import logsumexp

    there, rows = posterior.lists >= 0, np.arange(len(posterior.lists))
    # All users outside the list are one more alternative, and tie.
    stand = np.column_stack([there, len(posterior.common) - there.sum(axis=1)])
    units = np.rint(np.clip(np.column_stack([posterior.logs, posterior.rest]), -_MOST, _MOST) / UNIT)
    units[stand == 0] = -inf
    place, best = units.argmax(axis=1), units.max(axis=1)
    others = stand.copy()
    others[rows, place] -= 1
    odds = (best * UNIT) - logsumexp(units * UNIT, b=others, axis=1)
    chosen = []
    for user in users:
        listed = (posterior.lists == user[:, None]) & there
        chosen.append(units[rows, np.where(listed.any(axis=1), listed.argmax(axis=1), there.shape[1])])
    holds = (np.stack(chosen) == best) & (users >= 0)
    return odds, ((units == best[:, None]) * stand).sum(axis=1), holds, chosen[0] * UNIT


def _fixed(claims: Claims, level: float) -> list[NamedTraces]:
    """Return the outcomes for all traces, for levels of sureness, and for the surest traces."""
    # The choice is by sureness alone, and does not use the true users.
    surest = np.sort(claims.sureness)[-ceil(_SUREST * len(claims.sureness))]
    return [
        claims.naming("all", -inf, level),
        *(claims.naming(f"sureness of {share:g}", log(share / (1 - share)), level) for share in SURE),
        claims.naming(f"the surest {_SUREST:.0%}", surest, level),
    ]


def threshold_on_halves(claims: Claims, goal: float, order: IntArray, level: float) -> NamedTraces:
    """Return the outcome on one half of the traces, for the smallest sufficient threshold on the other half."""
    first, second = claims.at(order[: len(order) // 2]), claims.at(order[len(order) // 2 :])
    thresholds, precision, _ = first.curve()
    enough = np.flatnonzero(precision >= goal)
    return second.naming(f"{goal:.0%} right on one half", thresholds[enough[-1]] if len(enough) else inf, level)
