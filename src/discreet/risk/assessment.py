"""Assessments of identification risk: lower limits from attacks, and upper bounds for every attack.

    certified PSE  <=  PIE  <=  alpha,        success of the attack  <=  V.

The left sides are results of the strongest of several attacks on these data. Other attacks may succeed more often, so
the results support "at least" and never "less than". The right sides hold for every attack and all data.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import ceil, floor, log2
from typing import Any

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.core.checks import checked_whole
from discreet.core.random import RandomSource, checked_source
from discreet.core.result_table import ResultTable
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BlockMechanism, Channel
from discreet.risk.attacks.reports import match_reports
from discreet.risk.attacks.traces import ALL, WHEN, Attacks, Attempt, Naming, level_of_each, named_attacks, strongest
from discreet.risk.bounds.identification import NO_LIMIT, Bound, Bounds, at_most, identification_bounds, limit
from discreet.risk.clock import clock_sentence
from discreet.risk.scores.pse import PSE, Information, information_of_posterior, pse_of_scores
from discreet.risk.scores.rates import DET, RankCurve, Rate, det, pse_of_ranks, rank_curve
from discreet.risk.scores.scores import Ranks, Scores
from discreet.risk.traces import Split
from discreet.risk.uniqueness import Uniqueness, uniqueness

REPORTS = "likelihood of reports"

MOST_UNKNOWN = 0.1
"""The largest share of candidates about whom an attacker may know nothing."""

_UNSEEN = "No attack compares the numbers of events of traces, or reads the spelling of labels or free text."
_ADJOINING = (
    "The attack when uses that a trace begins soon after the known events of its user end. A split in halves makes "
    "this so; a split at a time (time:WHEN) does not."
)


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
        complete: whether all attacks were tried that the columns allow. If attacks were chosen by name, the upper limit
            of their success is no identification risk.
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
    complete: bool = True
    unique: Uniqueness | None = None
    bounds: Bounds | None = None
    list_bound: Bound | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.users} users, {self.attack}, success {self.success.value:.4g})"

    def _repr_html_(self) -> str:
        facts = {"users": f"{self.users:,}", "attack": self.attack}
        facts |= {} if self.risk is None else {"identification risk": limit(self.risk)}
        bits = f"at least {self.certified:.3g} of {log2(self.users):.3g} bits"
        facts |= {"identified": f"{self.success.value:.2%} ({self.ends})", "information certified": bits}
        return ResultTable.of_figures("Assessment", facts, " ".join(self.sentences)).html()

    @property
    @abstractmethod
    def risk(self) -> float | None:
        """The identification risk, to be compared with a limit; None if attacks were chosen by name."""

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
    def headline(self) -> tuple[str, ...]:
        """The sentences that come first: the people identified, the attacks tried, and the columns not used."""

    @property
    @abstractmethod
    def remarks(self) -> tuple[str, ...]:
        """All other sentences, for readers who have seen the figures."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The assessment as sentences."""
        return (*self.headline, *self.remarks)

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
        return f"{self.level:.0%} interval {self.success.low:.1%} {self.upper(f'{self.success.high:.1%}')}"

    def upper(self, limit: str) -> str:
        """Return the upper end of an interval as text."""
        return f"to {limit}"

    def answer(self, knowledge: str = "") -> str:
        """Return the sentence on the share of people identified; ``knowledge`` is known to the attacker.

        Example:
            >>> from discreet.risk.traces import Traces, by_half
            >>> users = np.repeat(range(30), 4)
            >>> assess(by_half(Traces.of(users, users)), attack="markov").answer("the first events")
            'An attacker who knows the first events identifies 100.0% of the 30 people (95% interval 88.4% to 100.0%).'
        """
        who = f"An attacker who knows {knowledge}" if knowledge else "An attacker"
        return f"{who} identifies {self.success.value:.1%} of the {self.users:,} people ({self.ends})."

    @property
    def _beside(self) -> str:
        """The sentence on guessing and on lists of people."""
        return (
            f"Guessing identifies {100 / self.users:.2g}%. The right person is among the {self.largest_list} likeliest "
            f"for {self.listed.value:.1%} of the people."
        )

    @property
    def _bits(self) -> str:
        takes = f"of the {log2(self.users):.3g} bits that identify a person"
        return (
            f"The scores reveal at least {self.certified:.3g} {takes}"
            if self.certified
            else f"None {takes} is certified"
        )


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
        clock: a sentence on the reason for which hours were not used; empty if they were.
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
    clock: str
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
    def risk(self) -> float | None:
        """The identification risk: the upper limit for the strongest attack, which a better attack may exceed.

        Traces that the attack learned nothing about count as identified, so that an uninformed attack supports no
        limit. The risk is at most the limit that identical traces allow. It is None if attacks were chosen by name,
        because the others may identify more.
        """
        if not self.complete:
            return None
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
    def chance_sentence(self) -> str:
        """A sentence on the tenth of the traces that reveal most of their user, and on those that reveal nothing."""
        if self.chances is None:
            return ""
        tenth = np.sort(self.chances)[-ceil(len(self.chances) / 10)]
        # Rounded down, so that "or more" is true; nothing exceeds certainty.
        tenth = min(floor(tenth * 10_000) / 10_000, 0.9999)
        return (
            "The attack gives the right user, from each trace alone, a probability of at least "
            f"{tenth:.2%} for a tenth of the traces, and at most the probability of a guess for "
            f"{np.mean(self.chances <= 1 / self.users):.2%}."
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
                "Nothing was learned: these attacks are not shown to identify more than guessing would. "
                "Another attack may identify many people."
            )
        nothing = (
            f"Nothing was learned about {self.unlearned:.2%} of the traces: they share no event with what is known of "
            "their user, or are more like the known events of most others. Another attack may identify them."
        )
        counted = (
            "" if self.risk is None else f" They count as identified in the identification risk: {limit(self.risk)}."
        )
        return f"{nothing}{counted}"

    @property
    def headline(self) -> tuple[str, ...]:
        """The sentences that come first: the people identified, the attacks tried, and the columns not used."""
        answer = (self.answer(), self.unlearned_sentence)
        answer = answer[::-1] if self.is_mostly_blind else answer
        rates = ", ".join(f"{attempt.attack} {attempt.success.value:.1%}" for attempt in self.tried)
        how = f"Attacks tried: {rates}. The interval accounts for the choice of the strongest."
        how = how if len(self.tried) > 1 else f"Only the attack {self.attack} was tried."
        chosen = "" if self.complete else "Attacks were chosen by name. Others may identify more."
        samples = (attempt.sample_sentence for attempt in self.tried)
        return tuple(filter(None, (*answer, how, *samples, chosen, self.clock, _UNSEEN)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """All other sentences, for readers who have seen the figures."""
        finds = any(attempt.attack == WHEN and attempt.success.low > 1 / self.users for attempt in self.tried)
        adjoining = _ADJOINING if finds else ""
        above = "Nothing limits a better attack"
        most = limit(self.unique.limit)
        above += "" if self.unique.limit == 1 else f", except that identical traces cannot be distinguished: {most}"
        facts = f"{self._bits}. {above}.", self.unique.sentence, self.chance_sentence
        return tuple(filter(None, (self._beside, *facts, adjoining)))


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
    def headline(self) -> tuple[str, ...]:
        """The sentences that come first: the people identified, the attack tried, and the bound on every attack."""
        each = f"at epsilon = {self.epsilon:.3g}"
        what = "one report" if self.reports == 1 else f"{self.reports} reports"
        chance = limit(self.risk)
        most = f"No attack, whatever it knows, identifies more than {chance} of the people on average."
        most = "Nothing limits how many people a better attack identifies." if chance == NO_LIMIT else most
        return self.answer(), f"The attack compares {what} of each person {each}, by likelihood. {most}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """All other sentences, for readers who have seen the figures."""
        alpha = at_most(self.alpha, log2(self.users))
        bits = self._bits + ("." if alpha == NO_LIMIT else f", and {alpha}.")
        return self._beside, bits, self.bounds.attribute_sentence, self.bounds.per_user_sentence


def assess(
    split: Split,
    *,
    attack: Attacks = ALL,
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
        attack: for traces without obfuscation: "all" for the strongest of `ATTACKS`, names of some, and functions from
            known and released traces to scores (`own_attack`), which are tried too. The attack on reports uses their
            likelihood.
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
    if mechanism is None:
        if reports > 1:
            raise ParameterError("reports.without-mechanism", argument="reports", reports=reports)
        best = strongest(split, attack, alone=alone, level=level, random=source)
        outcome, tried = replace(best.outcome, blind=best.blind), best.attempts
    else:
        sent = match_reports(split, mechanism, events=reports, random=source)
        outcome, tried = Naming(sent, sent.ranks, np.zeros(sent.n, np.bool_)), ()
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
        "complete": not named_attacks(attack),
    }
    if mechanism is not None:
        single, several = (
            identification_bounds(mechanism, users, reports=reports, largest_list=k) for k in (lists[0], lists[-1])
        )
        epsilon, list_bound = mechanism.guarantee.realised, several.identification
        return ReportAssessment(**shared, reports=reports, epsilon=epsilon, bounds=single, list_bound=list_bound)
    return _of_traces(split, outcome, tried, shared, source)


def _of_traces(
    split: Split, outcome: Naming, tried: tuple[Attempt, ...], shared: dict[str, Any], random: RandomSource
) -> TraceAssessment:
    """Return the assessment of traces from the strongest attack, given the figures shared with reports."""
    # No one knows more than an attacker who has the traces, and identical traces cannot be distinguished. With few
    # users an attack may identify all without a proof of more than guessing; the interval then gives no limit.
    success: Rate = shared["ranks"].rates[0]
    ranks, users = outcome.ranks, split.training.users
    guessed = split.training is not split.target and success.low <= 1 / users and success.high < 1
    # The trace has no similarity to its own user, or less than to most other users.
    unlearned = 1.0 if guessed else float(np.mean(outcome.blind | ranks.misled))
    events, known = split.target.lengths[ranks.users], split.training.lengths[ranks.users]
    # A side without times comes first, because the other one then needs no unit.
    sides = sorted((split.training, split.target), key=lambda side: side.times is not None)
    clocks = (clock_sentence(side.times, side.unit) for side in sides)
    return TraceAssessment(
        **shared,
        tried=tried,
        clock=next(filter(None, clocks), ""),
        unlearned=unlearned,
        unique=uniqueness(split.target, level=shared["level"], random=random),
        events=events,
        known=known,
        margins=outcome.margins,
        chances=None if outcome.own is None else np.exp(outcome.own),
    )


def _refuse_unknown(split: Split) -> None:
    unknown = int(np.count_nonzero(split.training.lengths == 0))
    if unknown > MOST_UNKNOWN * split.training.users:
        raise DataError(
            "traces.mostly-unknown", argument="split", unknown=unknown, users=split.training.users, most=MOST_UNKNOWN
        )
