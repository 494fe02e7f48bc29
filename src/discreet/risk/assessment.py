"""Assessments of identification risk: lower limits from attacks, and upper bounds for every attack.

    certified PSE  <=  PIE  <=  alpha,        success of the attack  <=  V.

The left sides are results of the strongest of several attacks on these data. Other attacks may succeed more often, so
the results support "at least" and never "less than". The right sides hold for every attack and all data.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from math import ceil, exp, expm1, floor, inf, log2
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.domain import Domain
from discreet.core.random import RandomSource, checked_source
from discreet.core.result_table import ResultTable
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BlockMechanism, Channel, RandomizedResponse
from discreet.risk.attacks.reports import match_reports
from discreet.risk.attacks.traces import ALL, ATTACKS, JOINTLY, Attempt, Naming, level_of_each, strongest
from discreet.risk.bounds.identification import NO_LIMIT, Bound, Bounds, at_most, identification_bounds, limit
from discreet.risk.scores.pse import PSE, Information, information_of_posterior, pse_of_scores
from discreet.risk.scores.rates import DET, RankCurve, Rate, det, pse_of_ranks, rank_curve, rate
from discreet.risk.scores.scores import Ranks, Scores
from discreet.risk.traces import Split
from discreet.risk.uniqueness import Uniqueness, uniqueness

REPORTS = "likelihood of reports"

MOST_UNKNOWN = 0.1
"""The largest share of candidates about whom an attacker may know nothing."""

YARDSTICK_USERS = 517
YARDSTICKS = (
    ("a matcher of left index fingers", 0.861),
    ("a matcher of faces", 0.886),
    ("a matcher of right index fingers", 0.930),
)
"""The rate at which the right one of 517 users scores best; NIST Biometric Scores Set 1 (left finger, face matcher C,
right finger), measured with `discreet.risk.scores.biometric`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Assessment(ABC):
    """An assessment of identification risk: the result of an attack, beside bounds for every attack.

    Attributes:
        attack: the name of the attack.
        scores: the scores of the attack, one trace at a time.
        places: the ranks of the right users by the attack's identification.
        ranks: the rates at which the right user is among the best.
        pse: lower bounds on the PIE from the scores, and the paper's figure.
        rank_pse: a lower bound on the PIE from the ranks.
        det: the DET curve of genuine and impostor pairs.
        largest_list: k, the length of the longest list of guesses.
        level: the confidence level of the attack's interval; single intervals have a higher level if several attacks
            were tried.
        tried: for traces, the attacks with their success rates; empty for reports.
        unlearned: the share of traces that the attack learned nothing about; 0 for reports.
        unique: for traces, how far they differ; None for reports.
        bounds: for reports, the bounds on every attack; None for traces.
        list_bound: for reports, the bound on every attack with the longest list; None for traces.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> found = assess(split, alone=True, random=SeededRandom(1))
        >>> found.attack, found.largest_list, found.consistent
        ('markov', 2, True)
    """

    attack: str
    scores: Scores
    places: Ranks
    ranks: RankCurve
    pse: PSE
    rank_pse: Information
    det: DET
    largest_list: int
    level: float
    tried: tuple[Attempt, ...] = ()
    unlearned: float = 0.0
    unique: Uniqueness | None = None
    bounds: Bounds | None = None
    list_bound: Bound | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.users} users, {self.attack}, success {self.success.value:.4g})"

    def _repr_html_(self) -> str:
        facts = {"users": f"{self.users:,}", "attack": self.attack, "identification risk": limit(self.risk)}
        bits = f"at least {self.certified:.3g} of {log2(self.users):.3g} bits"
        facts |= {"named right": f"{self.success.value:.2%} ({self.ends})", "information certified": bits}
        return ResultTable.of_figures("Assessment", facts, " ".join(self.sentences)).html()

    @property
    @abstractmethod
    def risk(self) -> float:
        """The identification risk, to be compared with a limit."""

    @property
    @abstractmethod
    def alpha(self) -> float:
        """Upper bound on the PIE, in bits."""

    @property
    @abstractmethod
    def consistent(self) -> bool:
        """True if no measured figure exceeds its bound by more than chance allows."""

    @property
    @abstractmethod
    def sentences(self) -> tuple[str, ...]:
        """The assessment as sentences."""

    @property
    def by_events(self) -> tuple["TraceGroup", ...]:
        """The success rates by the number of events per trace; empty for reports."""
        return ()

    @property
    def by_chance(self) -> tuple["ChanceGroup", ...]:
        """The shares of traces by the probability that the attack gives the right user; empty without probabilities."""
        return ()

    @property
    def risk_note(self) -> str:
        """A remark on `risk` in brackets; empty if the risk bounds every attack."""
        return ""

    @property
    def users(self) -> int:
        """The number of candidates."""
        return self.pse.users

    @property
    def success(self) -> Rate:
        """The rate at which the attack identifies the right user with one guess."""
        return self.ranks.rates[0]

    @property
    def listed(self) -> Rate:
        """The rate at which the right user is among the `largest_list` best."""
        return self.ranks.rates[-1]

    @property
    def certified(self) -> float:
        """The largest certified lower bound on the PIE, in bits."""
        bounds = self.pse.best, self.pse.certified, self.rank_pse
        return max(bound.certified or 0.0 for bound in bounds)

    @property
    def singled_out(self) -> int:
        """The number of attacked probes for which their own user alone has the best score."""
        return int(np.count_nonzero((self.places.greater == 0) & (self.places.ties == 1)))

    @property
    def ends(self) -> str:
        """The interval of `success` as text."""
        return f"{self.level:.0%} interval {self.success.low:.2%} {self.upper(f'{self.success.high:.2%}')}"

    def upper(self, limit: str) -> str:
        """Return the upper end of an interval as text."""
        return f"to {limit}"

    def success_among(self, users: int) -> Rate:
        """Return the rate at which the right user scores best among fewer users, who are drawn at random.

        It uses the scores of one trace at a time, for every attack.

        Raises:
            ParameterError: if there are fewer users.
        """
        users = checked_whole("users", users, 1)
        if users > self.users:
            raise ParameterError("users.too-many", argument="users", users=self.users, users_2=users)
        places = zip(self.scores.ranks.greater, self.scores.ranks.ties, strict=True)
        chances = [best_among(users, self.users, int(above), int(same)) for above, same in places]
        return rate(float(np.sum(chances)), len(chances), level=self.success.level)

    def _named(self, what: str, how: str) -> str:
        """Return the sentence on the rate at which the right user is identified."""
        return (
            f"Of {self.users:,} users known to an attacker, the right one is named for {self.success.value:.2%} of "
            f"{what} {how}; guessing: {100 / self.users:.2g}%), and is among the {self.largest_list} best for "
            f"{self.listed.value:.2%}."
        )

    @property
    def _bits(self) -> str:
        takes = f"of the {log2(self.users):.3g} bits that it takes to name somebody"
        return f"They tell at least {self.certified:.3g} {takes}" if self.certified else f"None {takes} is certified"


@dataclass(frozen=True, slots=True)
class TraceGroup:
    """The traces with a similar number of events.

    Attributes:
        fewest: the smallest number of events of a trace.
        most: the largest number of events of a trace.
        success: the rate at which the attack identifies the right users of these traces.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.risk.traces import Traces, by_half
        >>> traces = Traces.of(["u1"] * 4 + ["u2"] * 4 + ["u3"] * 8, list("abab") + list("cccc") + list("dededede"))
        >>> groups = assess(by_half(traces), random=SeededRandom(1)).by_events
        >>> [(one.fewest, one.most, one.success.value) for one in groups]
        [(2, 4, 1.0)]
    """

    fewest: int
    most: int
    success: Rate


CHANCES = (0.0, 0.01, 0.1, 0.5, 0.9, 0.99)
"""Lower ends of the groups of traces by the probability that the attack gives the right user."""


@dataclass(frozen=True, slots=True)
class ChanceGroup:
    """The traces whose right user has a probability in a given range, according to the attack.

    Attributes:
        least: the lower end of the range.
        below: the upper end of the range.
        share: the share of all traces.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.risk.traces import Traces, by_half
        >>> users = np.repeat(range(30), 4)
        >>> split = by_half(Traces.of(users, users))
        >>> likeliest, *_ = assess(split, attack="learned", random=SeededRandom(1)).by_chance
        >>> likeliest.least, likeliest.share.value
        (0.99, 1.0)
    """

    least: float
    below: float
    share: Rate


def even_groups(numbers: Any) -> IntArray:
    """Return groups 0, 1, ... for ``(m,)`` numbers: up to ten groups of about equal size; equal numbers share a group.

    Example:
        >>> even_groups(np.array([1, 1, 1, 5, 9])).tolist()
        [0, 0, 0, 1, 1]
    """
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, 11), method="lower"))
    groups: IntArray = np.unique(np.searchsorted(edges[1:-1], numbers, "right"), return_inverse=True)[1]
    return groups


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class TraceAssessment(Assessment):
    """An assessment of traces that are published without obfuscation, for which no bound holds.

    Attributes:
        tried: the attacks with their success rates, the strongest first; all their intervals hold together.
        unique: how far the traces differ.
        events: ``(probes,)`` numbers of events of the traces.
        known: ``(probes,)`` numbers of events that the attacker knows of their users.
        margins: ``(probes,)`` logarithms of the ratio of the right user's probability to the largest other one, in
            nats; None if the attack has no probabilities (`markov`).
        chances: ``(probes,)`` probabilities of the right users, according to the attack, from each trace alone; None as
            for ``margins``.
        unlearned: the share of traces that the attack learned nothing about. Such a trace shares no known event with
            its own user, or more than half of the other users resemble it more. All traces count if the strongest
            attack is not shown to succeed more often than guessing, unless the attacker knows the traces.

    Example:
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> assessment = assess(split, attack="markov")
        >>> assessment.users, assessment.success.value, assessment.singled_out
        (2, 1.0, 2)
    """

    tried: tuple[Attempt, ...]
    unlearned: float
    unique: Uniqueness
    events: IntArray
    known: IntArray
    margins: FloatArray | None
    chances: FloatArray | None

    def __repr__(self) -> str:
        nothing = f", nothing learned of {self.unlearned:.2%})" if self.unlearned else ")"
        return Assessment.__repr__(self)[:-1] + nothing

    @property
    def risk(self) -> float:
        """The identification risk: the upper limit for this attack, which a better attack may exceed.

        Traces that the attack learned nothing about count as identified, so that an uninformed attack supports no
        limit. The risk is at most the limit that identical traces allow.
        """
        return min(self.success.high + self.unlearned, self.unique.limit)

    @property
    def risk_note(self) -> str:
        """A remark on `risk` in brackets: it limits only the attacks that were tried."""
        if self.unlearned:
            return f" (with the {self.unlearned:.2%} of the traces of which nothing was learned)"
        return " (upper limit of what the strongest attack tried achieves)"

    @property
    def alpha(self) -> float:
        """Upper bound on the PIE, in bits: the information that identifies every user."""
        return log2(self.users)

    @property
    def consistent(self) -> bool:
        """True if no measured figure exceeds its bound by more than chance allows."""
        return self.certified <= self.alpha and self.success.low <= self.unique.limit

    @property
    def by_events(self) -> tuple["TraceGroup", ...]:
        """The success rates by the number of events per trace, in up to ten groups of about equal size.

        The intervals of all groups hold together, so that any group may be selected.
        """
        hits, groups = self.places.hits(), even_groups(self.events)
        level = level_of_each(self.success.level, int(groups.max()) + 1)
        rates = []
        for group in range(int(groups.max()) + 1):
            inside = groups == group
            fewest, most = int(self.events[inside].min()), int(self.events[inside].max())
            named = rate(float(hits[inside].sum()), int(inside.sum()), level=level)
            rates.append(TraceGroup(fewest, most, named))
        return tuple(rates)

    @property
    def by_chance(self) -> tuple["ChanceGroup", ...]:
        """The shares of traces by the probability that the attack gives the right user, in descending order.

        Their intervals hold together. An empty tuple if the attack has no probabilities.
        """
        if self.chances is None:
            return ()
        groups = np.searchsorted(CHANCES[1:], self.chances, "right")
        counts, level = np.bincount(groups, minlength=len(CHANCES)), level_of_each(self.success.level, len(CHANCES))
        shares = (rate(int(count), len(groups), level=level) for count in counts)
        return tuple(starmap(ChanceGroup, zip(CHANCES, (*CHANCES[1:], 1.0), shares, strict=True)))[::-1]

    @property
    def chance_sentence(self) -> str:
        """A sentence on the tenth of the traces that reveal most of their user, and on those that reveal nothing."""
        if self.chances is None:
            return ""
        tenth = np.sort(self.chances)[-ceil(len(self.chances) / 10)]
        # Rounded down, so that "or more" is true; nothing exceeds certainty.
        tenth = min(floor(tenth * 10_000) / 10_000, 0.9999)
        return (
            "An average says little of single users: as the attack reckons from each trace alone, the right one has a "
            f"probability of {tenth:.2%} or more for a tenth of the traces, and of no more than guessing would give "
            f"for {np.mean(self.chances <= 1 / self.users):.2%}."
        )

    def per_user(self) -> Any:
        """Return an Arrow table with a row per trace: its user, and the certainty of the attack.

        The columns are ``user`` (a number in the split), ``events_known``, ``events_attributed``, ``best_rank`` and
        ``worst_rank`` of the right user (which differ by ties), ``margin`` in nats (`margins`), and ``named``: true if
        only the right user is the best.

        Example:
            >>> from discreet.risk.traces import Traces, by_half
            >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
            >>> assess(split, attack="markov").per_user().column("worst_rank").to_pylist()
            [1, 1]
        """
        import pyarrow as pa

        places = self.places
        columns = {
            "user": places.users,
            "events_known": self.known,
            "events_attributed": self.events,
            "best_rank": places.greater + 1,
            "worst_rank": places.greater + places.ties,
            "margin": pa.nulls(len(places.users), pa.float64()) if self.margins is None else self.margins,
            "named": (places.greater == 0) & (places.ties == 1),
        }
        return pa.table(columns)

    @property
    def yardstick(self) -> str:
        """A sentence on biometric matchers that identify at most as often as these data allow; empty for too few users.

        The result of one attack is a lower bound, so the sentence never calls data less identifiable. It is also empty
        if the attack learned nothing.
        """
        if self.users < YARDSTICK_USERS or self.unlearned == 1:
            return ""
        here = self.success_among(YARDSTICK_USERS)
        names = [name for name, success in YARDSTICKS if here.low >= success]
        conclusion = f"at least as identifiable as {names[-1]}" if names else "better attacks may name more"
        compared = ", ".join(f"{name.removeprefix('a matcher of ')} {success:.0%}" for name, success in YARDSTICKS)
        return (
            f"Among {YARDSTICK_USERS} users this attack would name the right one with probability {here.value:.3g} "
            f"(at least {here.low:.3g}): {conclusion} (NIST Biometric Scores Set 1, as many users: {compared})."
        )

    @property
    def is_mostly_blind(self) -> bool:
        """True if the traces without information outnumber the identified ones: upper limits then say nothing."""
        return self.unlearned > self.success.value

    def upper(self, limit: str) -> str:
        """Return the upper end of an interval as text; an empty text if it says nothing."""
        return "and more" if self.is_mostly_blind else f"to {limit}"

    @property
    def unlearned_sentence(self) -> str:
        """A sentence on the traces that the attack learned nothing about; empty if there are no such traces."""
        if not self.unlearned:
            return ""
        if self.unlearned == 1:
            return (
                "Nothing was learned about the risk: these attacks go by events that a trace shares with what is known "
                "of its user, and they are not shown to name more than guessing would. Another attack may name many."
            )
        return (
            f"Nothing was learned about {self.unlearned:.2%} of the traces: they share no event with what is known of "
            "their user, or are more like that of most others, and these attacks go by shared events. Another may name "
            f"them, so that they count as named in the identification risk: {limit(self.risk)}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """The assessment as sentences."""
        several = len(self.tried) > 1
        how = f"by the strongest of {len(self.tried)} attacks ({self.attack})"
        how = how if several else f"by one attack ({self.attack}), others not tried"
        ends = self.ends + (", the choice accounted for" if several else "")
        first = self._named("traces without names", f"{how} ({ends}")
        answer = (self.unlearned_sentence, first) if self.is_mostly_blind else (first, self.unlearned_sentence)
        samples = (attempt.sample_sentence for attempt in self.tried)
        bits = f"{self._bits}; nothing limits what a better attack finds"
        bits += "." if self.unique.limit == 1 else f", but that equal traces stay together: {limit(self.unique.limit)}."
        parts = *answer, *samples, bits, self.unique.sentence, self.chance_sentence, self.yardstick
        return tuple(filter(None, parts))


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ReportAssessment(Assessment):
    """An assessment of reports: an attack by their likelihood, and bounds for every attack.

    Attributes:
        reports: t, the number of reports per user.
        epsilon: the epsilon of one report, in nats.
        bounds: the bounds on every attack.
        list_bound: the bound on every attack with the longest list.

    Example:
        >>> import discreet as dc
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(50)), epsilon=3.0)
        >>> assess(split, mechanism=mechanism, random=dc.SeededRandom(1)).bounds.identification.value <= 0.3
        True
    """

    reports: int
    epsilon: float
    bounds: Bounds
    list_bound: Bound

    @property
    def risk(self) -> float:
        """The identification risk: the bound on every attack."""
        return self.bounds.identification.value

    @property
    def alpha(self) -> float:
        """Upper bound on the PIE, in bits."""
        return self.bounds.pie.value

    @property
    def consistent(self) -> bool:
        """True if no measured figure exceeds its bound by more than chance allows."""
        return self.certified <= self.alpha and self.success.low <= self.risk

    @property
    def sentences(self) -> tuple[str, ...]:
        """The assessment as sentences."""
        each = f" at epsilon = {self.epsilon:.3g}"
        what = f"the reports{each}" if self.reports == 1 else f"the sets of {self.reports} reports{each} each"
        alpha, chance = at_most(self.alpha, log2(self.users)), limit(self.risk)
        bits = self._bits + ("" if alpha == NO_LIMIT else f", and {alpha}")
        above = "nothing limits how often a better attack names the right one."
        if chance != NO_LIMIT:
            often = f"more often than with probability {chance} on average over users"
            above = f"no attack, whatever it knows, names the right one {often}."
        first = self._named(what, f"by their likelihood ({self.ends}")
        return (first, f"{bits}: {above}", self.bounds.attribute_sentence, self.bounds.per_user_sentence)


def assess(
    split: Split,
    *,
    attack: str = ALL,
    alone: bool = False,
    mechanism: BlockMechanism | Channel | None = None,
    reports: int = 1,
    largest_list: int = 10,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> TraceAssessment | ReportAssessment:
    """Return the assessment of traces, or of reports made from them.

    Args:
        split: the training traces, which the attacker knows by user, and the target traces.
        attack: for traces without obfuscation: "all" for the strongest of `ATTACKS`, or the name of one. The attack on
            reports uses their likelihood.
        alone: whether users may have several traces, so that "all" excludes the joint attack on all traces.
        mechanism: over the events' codes, 0..d - 1: it obfuscates the first events of each user in the target. None for
            traces without obfuscation.
        reports: t, the number of events of each user, with a mechanism.
        largest_list: k, the length of the longest list of guesses.
        level: the confidence level; single intervals have a higher level if the attack is selected from several, so
            that this level holds for any selection (`strongest`).
        random: the random words for reports and folds; None for fresh words.

    Raises:
        DataError: if fewer than 2 users have events in the target, or the attacker knows no event of over 10% of the
            users.
        ParameterError: if a parameter is out of range, or is only for reports, or only for traces.

    Example:
        >>> import discreet as dc
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(50)), epsilon=3.0)
        >>> assessment = assess(split, mechanism=mechanism, random=dc.SeededRandom(1))
        >>> assessment.success.value, round(assessment.risk, 2)
        (0.24, 0.29)
    """
    if mechanism is not None and attack != ALL:
        raise ParameterError("attack.not-for-reports", argument="attack", attack=attack)
    source = checked_source(random)
    reports, listed = checked_whole("reports", reports, 1), checked_whole("largest_list", largest_list, 1)
    _refuse_unknown(split)
    names = [name for name in ATTACKS if not (alone and name == JOINTLY)] if attack == ALL else [attack]
    outcome, tried = _attacked(split, names, mechanism, reports, level=level, random=source)
    each = level_of_each(level, max(len(tried), 1))
    users = split.training.users
    lists, ranks, scores = sorted({1, min(listed, users)}), outcome.ranks, outcome.scores
    pse = pse_of_scores(scores, users=users, level=each, random=source)
    if outcome.own is not None:
        pse = replace(pse, info_nce=information_of_posterior(outcome.own, users=users, level=each))
    shared: dict[str, Any] = {
        "attack": tried[0].attack if tried else REPORTS,
        "scores": scores,
        "places": ranks,
        "ranks": rank_curve(ranks.greater, ranks.ties, ks=lists, users=users, level=each),
        "pse": pse,
        "rank_pse": pse_of_ranks(scores.ranks.greater, scores.ranks.ties, users=users, level=each, random=source),
        "det": det(scores),
        "largest_list": lists[-1],
        "level": level,
    }
    if mechanism is not None:
        single, several = (
            identification_bounds(mechanism, users, reports=reports, largest_list=k) for k in (lists[0], lists[-1])
        )
        epsilon, list_bound = mechanism.guarantee.realised, several.identification
        return ReportAssessment(**shared, reports=reports, epsilon=epsilon, bounds=single, list_bound=list_bound)
    # No one knows more than an attacker who has the traces, and identical traces cannot be distinguished. With few
    # users an attack may identify all without a proof of more than guessing; the interval then gives no limit.
    success: Rate = shared["ranks"].rates[0]
    guessed = split.training is not split.target and success.low <= 1 / users and success.high < 1
    unlearned = 1.0 if guessed else _share_unlearned(ranks, outcome.blind)
    events, known = split.target.lengths[ranks.users], split.training.lengths[ranks.users]
    unique = uniqueness(split.target, level=level, random=source)
    answer: dict[str, Any] = {"tried": tried, "unlearned": unlearned, "unique": unique}
    answer |= {"margins": outcome.margins, "events": events, "known": known}
    answer["chances"] = None if outcome.own is None else np.exp(outcome.own)
    return TraceAssessment(**shared, **answer)


def _refuse_unknown(split: Split) -> None:
    unknown = int(np.count_nonzero(split.training.lengths == 0))
    if unknown > MOST_UNKNOWN * split.training.users:
        raise DataError(
            "traces.mostly-unknown", argument="split", unknown=unknown, users=split.training.users, most=MOST_UNKNOWN
        )


def _share_unlearned(ranks: Ranks, blind: BoolArray) -> float:
    """Return the share of probes without similarity to their own user, or with less than to most other users."""
    return float(np.mean(blind | (2 * ranks.greater > ranks.candidates - 1)))


def _attacked(
    split: Split,
    names: Sequence[str],
    mechanism: BlockMechanism | Channel | None,
    reports: int,
    *,
    level: float,
    random: RandomSource,
) -> tuple[Naming, tuple[Attempt, ...]]:
    """Return the identification by the attack on reports, or by the strongest attack on traces, with all attempts."""
    if mechanism is None:
        if reports > 1:
            raise ParameterError("reports.without-mechanism", argument="reports", reports=reports)
        tried = strongest(split, names, level=level, random=random)
        return replace(tried.outcome, blind=tried.blind), tried.attempts
    scores = match_reports(split, mechanism, events=reports, random=random)
    return Naming(scores, scores.ranks, np.zeros(scores.n, np.bool_)), ()


SWEPT = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0)


def sweep(split: Split, mechanism: BlockMechanism) -> list[tuple[float, float, float]]:
    """Return the identification risk of one report of randomized response for a range of epsilons.

    One attack on the true values suffices for all epsilons. If every user reports and noise does not depend on the
    value, the attack on n users succeeds with probability theta s + (1 - theta)/n. Here s is its success if all report
    the truth [spec of exact risk, section 4].

    Args:
        split: the training traces, and the target, from which each user reports the first event.
        mechanism: over the events' codes, with every value sensitive.

    Returns:
        For each epsilon in `SWEPT`, the success of the attack and the bound on every attack; an empty list if some user
        has nothing to report.

    Example:
        >>> import discreet as dc
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> first, *_, last = sweep(split, dc.RandomizedResponse(dc.Domain(range(50)), epsilon=3.0))
        >>> [round(figure, 2) for figure in first], [round(figure, 2) for figure in last]
        ([0.5, 0.03, 0.03], [16.0, 1.0, 1.0])
    """
    n, figures = split.training.users, []
    clear = Domain(range(mechanism.domain.size), sensitive=(), allow_unprotected=True)
    truth = match_reports(split, RandomizedResponse(clear, epsilon=1.0))
    for epsilon in SWEPT if truth.n == n else ():
        other = RandomizedResponse(mechanism.domain, epsilon)
        bound, theta = identification_bounds(other, n).identification.value, other.coefficients.truth
        figures.append((epsilon, theta * truth.success() + (1 - theta) / n, bound))
    return figures


def best_among(chosen: int, users: int, above: int, same: int) -> float:
    """Return the probability that the right user has the best score among random users; ties are broken at random.

    Args:
        chosen: the number of users, including the right one.
        users: N, the number of users to draw from.
        above: the number of other users with a higher score.
        same: the number of users with the same score, including the right one.

    Example:
        >>> round(best_among(chosen=2, users=4, above=1, same=1), 3)
        0.667
    """
    others, marked = users - 1 - above, same - 1
    if chosen - 1 > others:
        return 0.0
    # E 1/(1 + T), with T the number of tied users among the chosen, is hypergeometric. Products are used, because
    # logarithms of factorials would lose digits.
    missed = _log_missed(others + 1, marked + 1, chosen)
    tied = (others + 1) / ((marked + 1) * chosen) * -expm1(missed)
    return exp(_log_missed(users - 1, above, chosen - 1)) * min(tied, 1.0)


def _log_missed(size: int, marked: int, drawn: int) -> float:
    """Return the logarithm of the probability that a draw without replacement contains no marked user."""
    few, many = sorted((marked, drawn))
    if few + many > size:
        return -inf
    return float(np.log1p(-many / (size - np.arange(few))).sum())
