"""Assessments of identification risk: measured from below by attacks, bounded from above for every attack.

    certified PSE  <=  PIE  <=  alpha,        success of the attack  <=  V.

The left sides are what the strongest of some attacks achieves on these data: others may do better, so they support "at
least" and never "less than". The right sides hold for every attack and all data.
"""

from dataclasses import dataclass, replace
from math import exp, expm1, inf, log2

import numpy as np

from discreet.arrays import BoolArray
from discreet.core.checks import checked_whole
from discreet.core.random import RandomSource, checked_source
from discreet.core.result_table import facts_as_html
from discreet.core.traces import Split
from discreet.errors import DataError, ParameterError
from discreet.mechanisms import BlockMechanism, Channel, RandomizedResponse
from discreet.risk.attacks.reports import match_reports, one_report
from discreet.risk.attacks.traces import ALL, ATTACKS, Attempt, level_of_each, match, strongest
from discreet.risk.bounds.identification import NO_LIMIT, Bound, Bounds, at_most, identification_bounds, limit
from discreet.risk.scores.biometric import pse_of_ranks
from discreet.risk.scores.pse import PSE, Information, pse_of_scores
from discreet.risk.scores.rates import DET, RankCurve, Rate, det, rank_curve, rate
from discreet.risk.scores.scores import Scores

REPORTS = "likelihood of reports"

MOST_UNKNOWN = 0.1
"""The largest share of candidates of whom an attacker may know nothing."""

YARDSTICK_USERS = 517
YARDSTICKS = (
    ("a matcher of left index fingers", 0.861),
    ("a matcher of faces", 0.886),
    ("a matcher of right index fingers", 0.930),
)
"""How often the right one of 517 users scores best; NIST Biometric Scores Set 1 (left finger, face matcher C, right
finger), measured by `discreet.risk.scores.biometric`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assessment:
    """An assessment: the result of the strongest attack, and the bounds on every attack.

    Attributes:
        attack: name of the strongest attack tried.
        reports: t, reports per user; None where traces were published without obfuscation.
        epsilon: of one report, in nats; None where traces were published without obfuscation.
        scores: of the attack.
        ranks: rates at which the right user is among the best.
        pse: lower bounds on the PIE by the scores, and the paper's figure.
        rank_pse: a lower bound on the PIE by the ranks.
        det: the DET curve of genuine and impostor pairs.
        bounds: bounds on every attack; None where nothing was obfuscated.
        list_bound: bound on every attack with the longest list; None where nothing was obfuscated.
        largest_list: k, the length of the longest list of guesses.
        level: confidence of the strongest attack's interval; each interval has a higher level if several attacks were
            tried.
        tried: the attacks with their rates of success, the strongest first; the intervals of all of them hold at once.
            Empty where reports were attacked by their likelihood.
        unlearned: share of the traces of which nothing was learned: they share no event with what is known of their own
            user, or more than half of the other users resemble them more; all of them if the strongest attack is not
            shown to name more than guessing would, unless the attacker knows the traces themselves. 0 where reports
            were attacked, whose risk is the bound.

    Example:
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> assessment = assess(split, attack="visits")
        >>> assessment.users, assessment.success.value, assessment.singled_out
        (2, 1.0, 2)
    """

    attack: str
    reports: int | None
    epsilon: float | None
    scores: Scores
    ranks: RankCurve
    pse: PSE
    rank_pse: Information
    det: DET
    bounds: Bounds | None
    list_bound: Bound | None
    largest_list: int
    level: float
    tried: tuple[Attempt, ...] = ()
    unlearned: float = 0.0

    def __repr__(self) -> str:
        nothing = f", nothing learned of {self.unlearned:.2%}" if self.unlearned else ""
        return f"Assessment({self.users} users, {self.attack}, success {self.success.value:.4g}{nothing})"

    def _repr_html_(self) -> str:
        facts = {"users": f"{self.users:,}", "attack": self.attack, "identification risk": limit(self.risk)}
        bits = f"at least {self.certified:.3g} of {log2(self.users):.3g} bits"
        facts |= {"named right": f"{self.success.value:.2%} ({self._ends})", "information certified": bits}
        return facts_as_html("Assessment", facts, " ".join(self.sentences))

    @property
    def users(self) -> int:
        """Number of candidates."""
        return self.pse.users

    @property
    def success(self) -> Rate:
        """Rate at which the attack names the right user in one guess."""
        return self.ranks.rates[0]

    @property
    def listed(self) -> Rate:
        """Rate at which the right user is among the `largest_list` best."""
        return self.ranks.rates[-1]

    @property
    def certified(self) -> float:
        """Lower bound on the PIE, in bits: the larger one of the two certified."""
        return max(self.pse.best.certified or 0.0, self.rank_pse.certified or 0.0)

    @property
    def alpha(self) -> float:
        """Upper bound on the PIE, in bits."""
        return log2(self.users) if self.bounds is None else self.bounds.pie.value

    @property
    def risk(self) -> float:
        """The identification risk: the bound on every attack for reports, else the upper limit of this attack.

        Where nothing was obfuscated a better attack may exceed it, and traces of which nothing was learned count as
        named, so that an attack that has nothing to go by supports no limit.
        """
        return min(self.success.high + self.unlearned, 1.0) if self.bounds is None else self.bounds.identification.value

    @property
    def singled_out(self) -> int:
        """Number of probes whose best score is their own user's alone."""
        above, same = self.scores.greater, self.scores.ties
        assert above is not None
        assert same is not None
        return int(np.count_nonzero((above == 0) & (same == 1)))

    @property
    def consistent(self) -> bool:
        """True if no measured figure is above its bound, except by chance."""
        return self.certified <= self.alpha and (self.bounds is None or self.success.low <= self.risk)

    def success_among(self, users: int) -> Rate:
        """Return the rate at which the right user scores best among fewer users, drawn at random around that one.

        Raises:
            ParameterError: if there are not so many users.
        """
        users = checked_whole("users", users, 1)
        if users > self.users:
            raise ParameterError(f"users must be at most the {self.users} that there are, got users={users}.")
        above, same = self.scores.greater, self.scores.ties
        assert above is not None
        assert same is not None
        chances = [_best_among(users, self.users, int(g), int(t)) for g, t in zip(above, same, strict=True)]
        return rate(float(np.sum(chances)), len(chances), level=self.success.level)

    @property
    def yardstick(self) -> str:
        """A sentence on the biometric matchers that these data equal at least; empty for too few users.

        What one attack achieves is a lower bound, so nothing is ever called less identifiable. Empty too where nothing
        was learned.
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
    def _how(self) -> str:
        if not self.tried:
            return "by their likelihood"
        if len(self.tried) == 1:
            return f"by one attack ({self.attack}), others not tried"
        return f"by the strongest of {len(self.tried)} attacks ({self.attack})"

    @property
    def is_mostly_blind(self) -> bool:
        """True if of more traces nothing was learned than are named: upper limits of success then say nothing."""
        return self.unlearned > self.success.value

    @property
    def _ends(self) -> str:
        upper = "" if self.is_mostly_blind else f" to {self.success.high:.2%}"
        return f"{self.level:.0%} interval {self.success.low:.2%}{upper or ' and more'}"

    @property
    def unlearned_sentence(self) -> str:
        """The traces of which nothing was learned, in words; empty if there are none."""
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
        """The assessment in sentences for a report."""
        what = "traces without names" if self.reports is None else _reports(self.reports, self.epsilon)
        first = (
            f"Of {self.users:,} users known to an attacker, the right one is named for {self.success.value:.2%} of "
            f"{what} {self._how} ({self._ends}{'' if len(self.tried) < 2 else ', the choice accounted for'}; guessing: "
            f"{100 / self.users:.2g}%), and is among the {self.largest_list} best for {self.listed.value:.2%}."
        )
        takes = f"of the {log2(self.users):.3g} bits that it takes to name somebody"
        bits = f"They tell at least {self.certified:.3g} {takes}" if self.certified else f"None {takes} is certified"
        if self.bounds is None:
            bits += "; nothing limits what a better attack finds."
            answer = (self.unlearned_sentence, first) if self.is_mostly_blind else (first, self.unlearned_sentence)
            return tuple(filter(None, (*answer, bits, self.yardstick)))
        alpha, chance = at_most(self.alpha, log2(self.users)), limit(self.bounds.identification.value)
        bits += "" if alpha == NO_LIMIT else f", and {alpha}"
        above = "nothing limits how often a better attack names the right one."
        if chance != NO_LIMIT:
            often = f"more often than with probability {chance} on average over users"
            above = f"no attack, whatever it knows, names the right one {often}."
        return (first, f"{bits}: {above}", self.bounds.attribute_sentence, self.bounds.per_user_sentence)


def assess(
    split: Split,
    *,
    attack: str = ALL,
    mechanism: BlockMechanism | Channel | None = None,
    reports: int = 1,
    largest_list: int = 10,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> Assessment:
    """Return the assessment of traces, or of reports made from them.

    Args:
        split: the training traces, which the attacker knows by name, and the target.
        attack: for traces without obfuscation: "all" for the strongest of `ATTACKS`, or one of these. Reports are
            attacked by their likelihood.
        mechanism: over the events' codes, 0..d - 1: each user sends their first events in the target through it.
            None for traces without obfuscation.
        reports: t, how many events of each user, with a mechanism.
        largest_list: k, the longest list of guesses.
        level: confidence of intervals; each has a higher one if the attack was chosen among several, so that it holds
            with this one whichever is chosen (`strongest`).
        random: draws reports and folds; None for fresh words.

    Raises:
        DataError: if fewer than 2 users have events in the target, or the attacker knows no event of over 10% of the
            users, about whom nothing could be learned.
        ParameterError: if a parameter is out of range, or goes with a mechanism only, or without one only.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(50)), epsilon=3.0)
        >>> assessment = assess(split, mechanism=mechanism, random=dc.SeededRandom(1))
        >>> assessment.success.value, round(assessment.risk, 2)
        (0.24, 0.29)
    """
    source = checked_source(random)
    reports, listed = checked_whole("reports", reports, 1), checked_whole("largest_list", largest_list, 1)
    _refuse_unknown(split)
    scores, tried, blind = _attacked(split, attack, mechanism, reports, level=level, random=source)
    each = level_of_each(level, max(len(tried), 1))
    users = split.training.users
    lists = sorted({1, min(listed, users)})
    bounds = [
        None if mechanism is None else identification_bounds(mechanism, users, reports=reports, largest_list=k)
        for k in (lists[0], lists[-1])
    ]
    found = Assessment(
        tried[0].attack if tried else REPORTS,
        None if mechanism is None else reports,
        None if mechanism is None else mechanism.guarantee.realised,
        scores,
        rank_curve(scores.greater, scores.ties, ks=lists, users=users, level=each),
        pse_of_scores(scores, users=users, level=each, random=source),
        pse_of_ranks(scores.greater, scores.ties, users=users, level=each, random=source),
        det(scores),
        bounds[0],
        None if bounds[1] is None else bounds[1].identification,
        lists[-1],
        level,
        tried,
    )
    if mechanism is not None:
        return found
    # Nobody knows more than an attacker who has the traces themselves, and those that are the same stay together. Of
    # few users all may be named without showing more than guessing would; the interval then limits nothing itself.
    guessed = split.training is not split.target and found.success.low <= 1 / users and found.success.high < 1
    return replace(found, unlearned=1.0 if guessed else _share_unlearned(scores, blind))


def _refuse_unknown(split: Split) -> None:
    unknown = int(np.count_nonzero(split.training.lengths == 0))
    if unknown > MOST_UNKNOWN * split.training.users:
        raise DataError(
            f"the attacker knows no event of {unknown:,} of {split.training.users:,} users, of whom nothing could be "
            f"learned; at most {MOST_UNKNOWN:.0%} may be such: leave out users with so few events (--least 2), or let "
            "the attacker know the events themselves (--split all)."
        )


def _share_unlearned(scores: Scores, blind: BoolArray) -> float:
    """Return the share of probes that share nothing with their own user, or less than with most others."""
    assert scores.greater is not None
    assert scores.candidates is not None
    return float(np.mean(blind | (2 * scores.greater > scores.candidates - 1)))


def _attacked(
    split: Split,
    attack: str,
    mechanism: BlockMechanism | Channel | None,
    reports: int,
    *,
    level: float,
    random: RandomSource,
) -> tuple[Scores, tuple[Attempt, ...], BoolArray]:
    """Return the scores of the attack on reports, or of the strongest one on traces; and the rest of `strongest`."""
    if mechanism is None:
        if reports > 1:
            raise ParameterError(f"reports={reports} needs a mechanism; traces without one are published as they are.")
        matcher, tried, blind = strongest(split, tuple(ATTACKS) if attack == ALL else [attack], level=level)
        return match(matcher), tried, blind
    if attack != ALL:
        raise ParameterError(f"reports are attacked by their likelihood, so attack={attack!r} goes without mechanism.")
    return match_reports(split, mechanism, events=reports, random=random), (), np.zeros(0, np.bool_)


SWEPT = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0)


def sweep(split: Split, mechanism: BlockMechanism) -> list[tuple[float, float, float]]:
    """Return the identification risk of one report of randomized response at other epsilons.

    One pass over the truth serves them all, since every figure of the attack is linear in the probability of telling it
    [spec of exact risk, section 4].

    Args:
        split: the training traces, and the target, of which each user reports their first event.
        mechanism: over the events' codes; every value sensitive.

    Returns:
        For each of `SWEPT` epsilon, the success of the attack, and the bound on every attack.

    Example:
        >>> import discreet as dc
        >>> from discreet.core.traces import Traces, by_half
        >>> split = by_half(Traces.of(np.repeat(range(50), 2), np.repeat(range(50), 2)))
        >>> first, *_, last = sweep(split, dc.RandomizedResponse(dc.Domain(range(50)), epsilon=3.0))
        >>> [round(figure, 2) for figure in first], [round(figure, 2) for figure in last]
        ([0.5, 0.03, 0.03], [16.0, 1.0, 1.0])
    """
    truth, figures = one_report(split), []
    for epsilon in SWEPT:
        other = RandomizedResponse(mechanism.domain, epsilon)
        bound = identification_bounds(other, split.training.users).identification.value
        figures.append((epsilon, truth.success(other.numbers.truth), bound))
    return figures


def _reports(reports: int, epsilon: float | None) -> str:
    each = "" if epsilon is None else f" at epsilon = {epsilon:.3g}"
    return f"the reports{each}" if reports == 1 else f"the sets of {reports} reports{each} each"


def _best_among(chosen: int, users: int, above: int, same: int) -> float:
    """Return the probability of the best score among random users, ties broken at random.

    Args:
        chosen: how many users, the right one included.
        users: N, out of which.
        above: how many of the others score more.
        same: how many score the same, the right one included.
    """
    others, marked = users - 1 - above, same - 1
    if chosen - 1 > others:
        return 0.0
    # E 1/(1 + T), T of those tied among the chosen, is hypergeometric. Products, not quotients of factorials, whose
    # logarithms would have lost their digits.
    missed = _log_missed(others + 1, marked + 1, chosen)
    tied = (others + 1) / ((marked + 1) * chosen) * -expm1(missed)
    return exp(_log_missed(users - 1, above, chosen - 1)) * min(tied, 1.0)


def _log_missed(size: int, marked: int, drawn: int) -> float:
    """Return the logarithm of the probability that none of the marked are drawn, without replacement."""
    few, many = sorted((marked, drawn))
    if few + many > size:
        return -inf
    return float(np.log1p(-many / (size - np.arange(few))).sum())
