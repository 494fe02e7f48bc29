"""Central guarantees of shuffled reports: the privacy of a person if reports have no names and no order.

The local guarantee of a report holds even for a reader who knows its sender. A batch without names and order, and all
results computed from it, reveal far less about each person. The others' noise could have been this person's: the
*privacy blanket* [Balle, Bell, Gascon, Nissim, CRYPTO 2019]. For truth or noise this is exact (see
`discreet.privacy.shuffling_pairs`), and a utility-optimized plan has *two* central epsilons:

- among sensitive values, two-sided: with x, no event is more than e^eps times likelier than with x', plus delta; it
  tends to 0 as 1/sqrt(n).
- compared with values in clear, one-sided, from x to a value that is not sensitive. A reader also sees that nobody
  reported that value in clear. So epsilon tends to a *floor*, ln((1 - delta)/(1 - s)), for any number of users. There
  is no bound in the other direction, because utility-optimized privacy does not protect values in clear.

Both hold whatever the attacker knows of everybody else. n counts people whose devices follow the plan, one report each.
Delta is smaller than the probability to learn more than epsilon, which `ShuffledGuarantee.at_most` bounds.

Lower bounds come from attackers who know everybody else's data. Where no value is reported in clear, the others'
truthful reports are blocks too, and the blanket's bound is not attained. If all others have the same value t, their
reports are the blanket. Let a, b and c be the likelihoods of a report from x, from x' and from t. Then the attacker
gets delta = (1/n) E[(sum (a - C b)/c)_+] over reports from t. The code tries x itself, x' and a third value, whose
blocks follow the joint distribution of three values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.checks import checked_between, checked_finite, checked_whole
from discreet.core.guarantee import rounded_down, rounded_up
from discreet.core.result_table import ResultTable
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.block_law import BlockLaw, triple_covariance
from discreet.mechanisms.personalized import common_of
from discreet.pictures.charts import delta_chart
from discreet.privacy.shuffling_pairs import (
    ValuePair,
    block_pairs,
    channel_pairs,
    clear_pairs,
    ratio_of,
    silent_rows,
)
from discreet.privacy.shuffling_rounds import CentralCurve

_PATTERNS = np.array(list(product((0, 1), repeat=3)))
_MOST_ENTRIES = 1 << 22
_THIRDS = 4


def attack_end(attacks: Iterable[ValuePair], n: int, delta: float, rounds: int = 1) -> float:
    """Return an epsilon that the strongest of the given attacks certainly achieves; 0 without attacks."""
    ranked = sorted(attacks, key=lambda attack: attack.strength)
    return CentralCurve((ranked[-1],), n, rounds).epsilon(delta)[0] if ranked else 0.0


def others_alike(pair: ValuePair) -> Iterator[ValuePair]:
    """Yield two attacks on a pair of values x and x': all other people have x, or all other people have x'."""
    yield _against(pair.first, pair.second, pair.first, pair.weights)
    # x' may be reported in clear, which x never is.
    clear = max(1 - float(pair.weights @ pair.second), 0.0)
    columns = np.append(pair.first, 0.0), np.append(pair.second, 1.0), np.append(pair.weights, clear)
    yield _against(columns[0], columns[1], columns[1], columns[2])


def others_at_a_third(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield attacks on two sensitive values in which all other people have a third sensitive value."""
    if mechanism.law.size < 3:
        return
    likelihoods = np.where(_PATTERNS == 1, ratio_of(mechanism), 1.0).T
    for shares in _joint_laws(mechanism):
        possible = shares > 0
        first, second, others = likelihoods[:, possible]
        yield _against(first, second, others, mechanism.coefficients.noisy * shares[possible])


def others_beside_clear(pairs: Iterable[ValuePair]) -> Iterator[ValuePair]:
    """Yield attacks on a sensitive value and a value in clear, where all other people have another sensitive value."""
    for pair in pairs:
        yield _against(pair.first, np.ones_like(pair.first), pair.second, pair.weights)


def _against(first: FloatArray, second: FloatArray, others: FloatArray, weights: FloatArray) -> ValuePair:
    """Return the pair of values for an attack in which all other people have a value with the likelihoods `others`."""
    return ValuePair(first / others, second / others, weights * others, 0.0)


def _joint_laws(mechanism: BlockMechanism) -> Iterator[FloatArray]:
    """Yield ``(8,)`` probabilities that a noise block contains each subset of three values and no others of them."""
    law = mechanism.law
    covariance = triple_covariance(law)
    if covariance is not None:
        yield _from_pairs(law, covariance)
    elif law.alphabet_size * law.size <= _MOST_ENTRIES:
        blocks, chances = law.alphabet()
        contained, weights = law.contains(blocks), chances.astype(np.float64)
        for third in range(2, min(2 + _THIRDS, law.size)):
            places = contained[:, [0, 1, third]] @ np.array([4, 2, 1])
            yield np.bincount(places, weights=weights, minlength=8).astype(np.float64)


def _from_pairs(law: BlockLaw, covariance: Fraction) -> FloatArray:
    """Return the probabilities of `_joint_laws` from pi, rho and the covariance of two values, given a third value."""
    pi, rho = law.inclusion, law.conditional_inclusion or Fraction(0)
    three = pi * (rho * rho + covariance)
    # Probabilities that the block contains two given values and not the third, one given value only, or none.
    two = pi * rho - three
    single = pi - 2 * two - three
    by_count = np.array([float(share) for share in (1 - 3 * single - 3 * two - three, single, two, three)])
    shares: FloatArray = by_count[_PATTERNS.sum(axis=1)]
    return shares


_MOST_ROUNDS = 4096
# Smaller results may be rounding errors only.
_LEAST_DELTA = 1e-280


class CentralDelta(NamedTuple):
    """Certified lower and upper bounds on delta at a given epsilon, for one kind of pairs of values.

    Attributes:
        lower: the certified lower bound.
        upper: the certified upper bound: the guarantee.
    """

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class CentralEpsilon:
    """The central epsilon of a shuffled batch, for one kind of pairs of values.

    Attributes:
        upper: the guarantee: a certified upper bound, in nats.
        lower: the epsilon that a known attack certainly achieves, in nats.
        status: a comparison of both bounds as printed: ``"exact"`` if they are within 1% (or below 1e-6), ``"within
            x%"`` up to 25%, otherwise ``"at most"`` with the lower bound.
    """

    upper: float
    lower: float
    status: str

    def __str__(self) -> str:
        return f"{rounded_up(self.upper)} ({self.status})"

    def to_dict(self) -> dict[str, Any]:
        """Return the epsilon with its lower bound and status as a dictionary for JSON."""
        return {"epsilon": self.upper, "epsilon_at_least": self.lower, "status": self.status}


@dataclass(frozen=True, eq=False)
class ShuffledGuarantee:
    """The central guarantee of a shuffled batch, and the local guarantee of one report.

    Attributes:
        mechanism: a block mechanism or a channel.
        n: the number of reports in a batch.
        delta: added to e^epsilon times a probability; for the probability to exceed an epsilon see `at_most`.
        rounds: the number of batches with a report of the same person, each with fresh noise.
        not_trusted: the number of reports in a batch that hide nobody: known to the reader, faked or made elsewhere.
        placeholders: the number of placeholders of a personalized mechanism, for people's own secret values.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(120), sensitive=range(100))
        >>> central = dc.shuffled(dc.RandomizedResponse(domain, epsilon=3.0), n=10_000)
        >>> round(central.among.upper, 4), round(central.versus_clear.upper, 4), round(central.floor, 4)
        (0.089, 0.2376, 0.1747)
    """

    mechanism: Mechanism
    n: int
    delta: float
    rounds: int = 1
    not_trusted: int = 0
    placeholders: int = 0

    @property
    def hiding(self) -> int:
        """The number of reports that hide a person: all n reports except the untrusted ones."""
        return self.n - self.not_trusted

    @property
    def local(self) -> float:
        """The local epsilon of one report, in nats. It applies to readers who see reports with names or in order."""
        return self.mechanism.guarantee.realised

    @cached_property
    def among(self) -> CentralEpsilon:
        """The central epsilon between two sensitive values, two-sided."""
        if self.mechanism.domain.sensitive_count < 2:
            return CentralEpsilon(0.0, 0.0, "exact")
        return self._evaluated(self.curve_among, self._ends_among, needed=1)

    @cached_property
    def versus_clear(self) -> CentralEpsilon | None:
        """The central epsilon between a sensitive value and a value in clear, one-sided; None if all are sensitive."""
        if self.mechanism.domain.clear_count == 0:
            return None
        return self._evaluated(self.curve_versus_clear, self._ends_versus_clear, needed=2)

    @property
    def most_among(self) -> float:
        """The upper bound on the epsilon of `among`; it is fast, because no attacks for a lower bound are computed."""
        return self._ends_among[1] if self.mechanism.domain.sensitive_count > 1 else 0.0

    @property
    def most_versus_clear(self) -> float:
        """The upper bound on the epsilon of `versus_clear`; 0 if every value is sensitive."""
        return self._ends_versus_clear[1] if self.mechanism.domain.clear_count else 0.0

    @cached_property
    def _ends_among(self) -> tuple[float, float]:
        return self.curve_among.epsilon(self.delta)

    @cached_property
    def _ends_versus_clear(self) -> tuple[float, float]:
        return self.curve_versus_clear.epsilon(self.delta)

    @property
    def floor(self) -> float | None:
        """The limit of `versus_clear` for many users, in nats; None if every value is sensitive."""
        return None if self.mechanism.domain.clear_count == 0 else self.curve_versus_clear.floor(self.delta)

    @cached_property
    def curve_among(self) -> CentralCurve:
        """The curve delta(epsilon) for pairs of two sensitive values."""
        return CentralCurve(tuple(_pairs(self.mechanism, versus_clear=False)), self.hiding, self.rounds)

    @cached_property
    def curve_versus_clear(self) -> CentralCurve:
        """The curve delta(epsilon) for pairs of a sensitive value and a value in clear."""
        return CentralCurve(tuple(_pairs(self.mechanism, versus_clear=True)), self.hiding, self.rounds)

    @cached_property
    def curve(self) -> CentralCurve:
        """The curve delta(epsilon) of the worse kind of pairs: `among` or `versus_clear`."""
        domain = self.mechanism.domain
        among = self.curve_among.pairs if domain.sensitive_count > 1 else ()
        versus_clear = self.curve_versus_clear.pairs if domain.clear_count else ()
        return CentralCurve((*among, *versus_clear), self.hiding, self.rounds)

    def delta_at(self, epsilon: float) -> "CentralDeltas":
        """Return bounds on delta at an epsilon, for both kinds of pairs of values.

        Args:
            epsilon: a number of at least 0, in nats.

        Raises:
            ParameterError: if epsilon is not such a number.
        """
        epsilon, domain = checked_finite("epsilon", epsilon), self.mechanism.domain
        among = self.curve_among.delta(epsilon) if domain.sensitive_count > 1 else (0.0, 0.0)
        versus_clear = self.curve_versus_clear.delta(epsilon) if domain.clear_count else None
        return CentralDeltas(CentralDelta(*among), None if versus_clear is None else CentralDelta(*versus_clear))

    def at_most(self, chance: float) -> "EpsilonsAtChance":
        """Return epsilons that the privacy loss exceeds with probability at most `chance`, by kind of pairs of values.

        Delta is not this probability: with (epsilon, delta) an attacker exceeds epsilon more often than delta says.
        With L the privacy loss, P(L > epsilon) <= delta(t) / (1 - e^(t - epsilon)) for every t < epsilon. The result is
        the smallest epsilon found for which this is at most ``chance``, from the upper bounds on delta.

        Args:
            chance: in [1e-280, 1): the largest probability of exceeding the epsilons, if x is true.

        Returns:
            An epsilon for both kinds of pairs, at most the local epsilon of all rounds. A reader with a prior of 50%
            for one of two values reaches at most the posterior `discreet.core.guarantee.largest_posterior`.

        Raises:
            ParameterError: if ``chance`` is not such a number.

        Example:
            >>> import discreet as dc
            >>> central = dc.shuffled(dc.RandomizedResponse(dc.Domain(range(100)), epsilon=3.0), n=10_000)
            >>> bounds = central.at_most(1e-6)
            >>> round(central.among.upper, 4), round(bounds.among, 4), bounds.versus_clear
            (0.089, 0.1224, None)
        """
        chance, domain = _certifiable("chance", chance), self.mechanism.domain
        among = self.curve_among.epsilon_at_chance(chance) if domain.sensitive_count > 1 else 0.0
        clear = self.curve_versus_clear.epsilon_at_chance(chance) if domain.clear_count else None
        return EpsilonsAtChance(among, clear)

    def sentences(self, *, status: bool = True) -> list[str]:
        """Return one sentence for each central epsilon. `discreet.published` has sentences for people.

        Args:
            status: whether to compare them with the best known attack, which takes longer.
        """
        whole = [among_sentence(self, status=status)]
        if self.mechanism.domain.clear_count:
            known = f" ({self.versus_clear.status})" if status and self.versus_clear is not None else ""
            whole.append(
                f"Compared with values in clear: {rounded_up(self.most_versus_clear)}, one-sided{known}. "
                f"More users cannot reduce it below {rounded_down(self.floor or 0.0)}."
            )
        return whole

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as a dictionary for JSON; epsilons are in nats."""
        return {
            "n": self.n,
            "not_trusted": self.not_trusted,
            "delta": self.delta,
            "placeholders": self.placeholders,
            "rounds": self.rounds,
            "local_epsilon": self.local,
            "among": self.among.to_dict(),
            "versus_clear": None if self.versus_clear is None else self.versus_clear.to_dict(),
            "floor": self.floor,
        }

    def plot(self) -> Any:
        """Return a chart of delta against the central epsilon, for both kinds of pairs of values.

        Raises:
            MissingExtraError: if the ``plot`` extra is not installed.
        """
        batches = f"{self.rounds} batches of" if self.rounds > 1 else "a batch of"
        title = f"What {batches} {self.n:,} shuffled reports", f"reveal{'s' * (self.rounds < 2)} about one person"
        local, delta = rounded_up(self.local), rounded_up(self.delta)
        subtitle = f"local epsilon {local} for readers who see names or order", f"dashed: delta = {delta}"
        return delta_chart(curve_points(self), title=title, subtitle=subtitle, delta=self.delta)

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        cells = {"central epsilon among sensitive values": str(self.among)}
        if self.versus_clear is not None:
            cells |= {"versus_clear values in clear": str(self.versus_clear), "floor": rounded_down(self.floor or 0.0)}
        cells |= {"local epsilon": rounded_up(self.local), "reports": f"{self.n:,}", "delta": rounded_up(self.delta)}
        return ResultTable.of_figures("Shuffled guarantee", cells, str(self)).html()

    def _evaluated(self, curve: CentralCurve, ends: tuple[float, float], needed: int) -> CentralEpsilon:
        """Return a central epsilon with its status. If few values are in clear, attacks give the lower bound."""
        lower, upper = ends
        if values_in_clear(self.mechanism) < needed:
            lower = attack_end(self._attacks(curve, versus_clear=needed > 1), self.hiding, self.delta, self.rounds)
        return CentralEpsilon(upper, lower, status(lower, upper))

    def _attacks(self, curve: CentralCurve, *, versus_clear: bool) -> Iterator[ValuePair]:
        """Yield attacks whose success shows how close the upper bound is to the true epsilon."""
        blocks = None if self.mechanism.follows_from_matrix else BlockMechanism.checked(self.mechanism)
        for pair in curve.pairs:
            yield from others_alike(pair)
        if blocks is not None:
            yield from others_beside_clear(self.curve_among.pairs) if versus_clear else others_at_a_third(blocks)


class EpsilonsAtChance(NamedTuple):
    """The epsilons that the privacy loss exceeds with probability at most a given chance, in nats.

    Attributes:
        among: between two sensitive values.
        versus_clear: between a sensitive value and a value in clear; None if every value is sensitive.
    """

    among: float
    versus_clear: float | None


class CentralDeltas(NamedTuple):
    """Bounds on delta at a given epsilon, for both kinds of pairs of values.

    Attributes:
        among: between two sensitive values.
        versus_clear: between a sensitive value and a value in clear; None if every value is sensitive.
    """

    among: CentralDelta
    versus_clear: CentralDelta | None


def shuffled(mechanism: Any, n: int, delta: float = 1e-6, rounds: int = 1, not_trusted: int = 0) -> ShuffledGuarantee:
    """Return the central guarantee of a batch of reports without names and order, and of all results computed from it.

    Args:
        mechanism: a block mechanism, an explicit channel or a personalized mechanism, whose placeholders count as
            sensitive values.
        n: the number of reports in the batch, one per person; a lower bound where it is uncertain.
        delta: in [1e-280, 1); well below 1/n.
        rounds: the number of batches with a report of the same person, each with fresh noise and not linked.
        not_trusted: the number of the n reports that hide nobody, because the reader knows or made them.

    Raises:
        ParameterError: if fewer than two reports hide each other, nothing is protected, or a number is out of range.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> central = dc.shuffled(mechanism, n=10_000, delta=1e-6)
        >>> round(central.among.upper, 5), central.among.status, central.versus_clear, round(central.local, 9)
        (0.00718, 'exact', None, 1.0)
    """
    checked = _checked(mechanism)
    n, not_trusted = checked_whole("n", n), checked_whole("not_trusted", not_trusted, 0)
    if n - not_trusted < 2:
        raise ParameterError("n.too-few-hidden", argument="n", n=n, not_trusted=not_trusted)
    rounds = checked_whole("rounds", rounds, 1, _MOST_ROUNDS)
    return ShuffledGuarantee(checked, n, _certifiable("delta", delta), rounds, not_trusted, mechanism.guarantee.tags)


def _certifiable(name: str, chance: object) -> float:
    """Return a probability or delta, or raise an error unless it is below 1 and large enough for certified bounds."""
    number = checked_between(name, chance)
    if number < _LEAST_DELTA:
        raise ParameterError("argument.below-certified", argument=name, least_delta=_LEAST_DELTA, number=number)
    return number


def delta(mechanism: Any, n: int, epsilon: float) -> CentralDeltas:
    """Return bounds on delta at a central epsilon, for both kinds of pairs of values.

    Args:
        mechanism: as for `shuffled`.
        n: the number of reports in the batch, at least 1: a single report is the local case.
        epsilon: in nats, at least 0.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> f"{delta(mechanism, 10_000, 0.01).among.upper:.1e}"
        '9.2e-09'
    """
    return ShuffledGuarantee(_checked(mechanism), checked_whole("n", n), 0.5).delta_at(epsilon)


def _checked(mechanism: Any) -> Mechanism:
    """Return a mechanism that has a guarantee; for a personalized mechanism, the mechanism over its placeholders."""
    checked = common_of(mechanism)
    if checked.domain.sensitive_count == 0 or checked.guarantee.realised == inf:
        raise ParameterError("shuffling.nothing-protected")
    return checked


def _pairs(mechanism: Mechanism, *, versus_clear: bool) -> Iterable[ValuePair]:
    if mechanism.follows_from_matrix:
        return channel_pairs(mechanism.channel(), versus_clear=versus_clear)
    blocks = BlockMechanism.checked(mechanism)
    return clear_pairs(blocks) if versus_clear else block_pairs(blocks)


def values_in_clear(mechanism: Mechanism) -> int:
    """Return the number of values in clear. A truthful report of such a value hides nobody."""
    if mechanism.follows_from_matrix:
        return silent_rows(mechanism.channel())
    return BlockMechanism.checked(mechanism).domain.clear_count


_EXACT, _WITHIN, _NOTHING = 1.01, 1.25, 1e-6
_POINTS = 41
_BEYOND = 1.4
_LEAST_STATED = 1e-14


def status(lower: float, upper: float) -> str:
    """Compare the lower and the upper bound of an epsilon, as printed, and return the status as text.

    Example:
        >>> status(0.1, 0.1005), status(0.1, 0.1101), status(0.1, 0.2)
        ('exact', 'within 11%', 'at most; an attacker reaches 0.1')
    """
    least, most = float(rounded_down(lower)), float(rounded_up(upper))
    if most < _NOTHING or most <= _EXACT * least:
        return "exact"
    if most <= _WITHIN * least:
        return f"within {ceil(100 * (most / least - 1))}%"
    return f"at most; an attacker reaches {rounded_down(lower)}" if lower > 0 else "at most"


def among_sentence(central: "ShuffledGuarantee", *, status: bool) -> str:
    """Return the sentence on sensitive values. Without the status no attack is computed, which is faster."""
    domain, others = central.mechanism.domain, central.hiding - 1
    if domain.sensitive_count < 2:
        noun = "kind of secret values" if central.placeholders else "value"
        return f"Only one {noun} is protected."
    batches, it = (
        ("the shuffled batch", "it") if central.rounds == 1 else (f"{central.rounds} shuffled batches", "them")
    )
    known = f" ({central.among.status})" if status else ""
    promise = f"({rounded_up(central.most_among)}, {rounded_up(central.delta)})-DP"
    return (
        f"Among {hidden_values(central)}: {promise}{known} for readers of {batches}, or of anything computed from "
        f"{it}. They may know everything about the other {others:,} people."
    )


def hidden_values(central: "ShuffledGuarantee") -> str:
    """Return words for the values that hide each other, such as the sensitive values or the secret values."""
    domain = central.mechanism.domain
    if central.placeholders:
        for_all, size = domain.sensitive_count - central.placeholders, domain.size - central.placeholders
        whose = "each person's own secret values"
        return f"{whose}, of {size}" if for_all == 0 else f"{whose} and {for_all} sensitive for all, of {size}"
    return f"all {domain.size} values" if domain.clear_count == 0 else f"{domain.sensitive_count} sensitive values"


def curve_points(central: "ShuffledGuarantee") -> dict[str, list[tuple[float, float]]]:
    """Return points (epsilon, delta) of both curves, from 0 to slightly above their central epsilons."""
    domain = central.mechanism.domain
    directions = []
    if domain.sensitive_count > 1:
        directions.append(("among sensitive values", central.curve_among, central.most_among))
    if domain.clear_count:
        directions.append(("versus_clear values in clear", central.curve_versus_clear, central.most_versus_clear))
    least = min(_LEAST_STATED, central.delta / 10)
    points = {}
    for name, curve, most in directions:
        # Beyond the floor the curve falls steeply.
        start = min(curve.floor(), most)
        places = [start * k / _POINTS for k in range(_POINTS)] if start else []
        places += [start + _BEYOND * (most - start) * k / (_POINTS - 1) for k in range(_POINTS)]
        points[name] = [(place, high) for place in places if (high := curve.delta(place, least)[1]) >= least]
    return points
