"""Central guarantees of shuffled reports: what a reader of reports without names and order learns of a person.

What a local promise says of each report holds for whoever sees who sent it. A batch without names and order, and all
that is computed from it (a tally, an estimate, a page), tells far less of each person, because others' noise could have
been hers: the privacy blanket [Balle, Bell, Gascon, Nissim, CRYPTO 2019]. For truth or noise this is exact (see
`discreet.privacy.shuffling_pairs`), and a utility-optimized plan has *two* central epsilons:

- among sensitive values, two-sided: with x, no event is more than e^eps times likelier than with x', plus delta; it
  tends to 0 as 1/sqrt(n).
- towards values in clear, one-sided, from x to a value that is not sensitive. That nobody reported it in clear is seen
  too, so it tends to a *floor*, ln((1 - delta)/(1 - s)), which no number of users lowers. In the other direction
  nothing holds, as utility-optimized privacy does not protect such values.

Both hold whatever the attacker knows of everybody else. n counts people whose devices follow the plan, one report each.
Delta is not the chance to learn more than epsilon, which is larger: `ShuffledGuarantee.at_most` answers for chances.

Lower ends come from data sets, and an attacker who knows them. Where nobody's value is told in clear, the others'
truths are blocks like hers, and the blanket's bound is not attained. If all others have the same value t, reports of
theirs are the blanket: with a, b and c the likelihoods of a report from x, from x' and from t, such an attacker gets
delta = (1/n) E[(sum (a - C b)/c)_+] over reports from t. Tried are x itself, x' and a third value, whose blocks go by
the joint law of three values.
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
    is_pool,
    pairs_towards,
    ratio_of,
    silent_rows,
)
from discreet.privacy.shuffling_rounds import CentralCurve

_PATTERNS = np.array(list(product((0, 1), repeat=3)))
_MOST_ENTRIES = 1 << 22
_THIRDS = 4


def reached(attacks: Iterable[ValuePair], n: int, delta: float, rounds: int = 1) -> float:
    """Return an epsilon that an attacker certainly reaches, by the attack of the largest divergence; 0 for none."""
    ranked = sorted(attacks, key=lambda attack: attack.strength)
    return CentralCurve((ranked[-1],), n, rounds).epsilon(delta)[0] if ranked else 0.0


def others_alike(pair: ValuePair) -> Iterator[ValuePair]:
    """Yield the attacks where all others have the value x, or all have x'."""
    yield _against(pair.first, pair.second, pair.first, pair.weights)
    # x' may be told in clear, which x never is.
    clear = max(1 - float(pair.weights @ pair.second), 0.0)
    columns = np.append(pair.first, 0.0), np.append(pair.second, 1.0), np.append(pair.weights, clear)
    yield _against(columns[0], columns[1], columns[1], columns[2])


def others_at_a_third(mechanism: BlockMechanism) -> Iterator[ValuePair]:
    """Yield the attacks on two sensitive values where all others have a third one; none where its law is not known."""
    if mechanism.law.size < 3:
        return
    likelihoods = np.where(_PATTERNS == 1, ratio_of(mechanism), 1.0).T
    for shares in _joint_laws(mechanism):
        possible = shares > 0
        first, second, others = likelihoods[:, possible]
        yield _against(first, second, others, mechanism.numbers.noisy * shares[possible])


def others_beside_clear(pairs: Iterable[ValuePair]) -> Iterator[ValuePair]:
    """Yield the attacks on x and a value in clear where all others have the sensitive value x' of a pair."""
    for pair in pairs:
        yield _against(pair.first, np.ones_like(pair.first), pair.second, pair.weights)


def _against(first: FloatArray, second: FloatArray, others: FloatArray, weights: FloatArray) -> ValuePair:
    """Return the pair whose blanket are reports of likelihood ``others``."""
    return ValuePair(first / others, second / others, weights * others, 0.0)


def _joint_laws(mechanism: BlockMechanism) -> Iterator[FloatArray]:
    """Yield ``(8,)`` probabilities of which of three values a noise block holds, as `_PATTERNS` lists them."""
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
    """Return the joint law from pi, rho and the covariance of two values given a third."""
    pi, rho = law.inclusion, law.conditional_inclusion or Fraction(0)
    three = pi * (rho * rho + covariance)
    # Probabilities that the block holds just two given ones of the three values, just a given one, and none.
    two = pi * rho - three
    single = pi - 2 * two - three
    by_count = np.array([float(share) for share in (1 - 3 * single - 3 * two - three, single, two, three)])
    shares: FloatArray = by_count[_PATTERNS.sum(axis=1)]
    return shares


_MOST_ROUNDS = 4096
# Below this what is computed may be nothing but rounding.
_LEAST_DELTA = 1e-280


class CentralDelta(NamedTuple):
    """Delta at an epsilon, in one direction.

    Attributes:
        lower: certified lower end of what the mathematics gives.
        upper: certified upper end: the promise.
    """

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class CentralEpsilon:
    """The central epsilon of a shuffled batch, in one direction.

    Attributes:
        upper: the promise: a certified upper end, in nats.
        lower: what an attacker can certainly reach, in nats.
        status: by both ends as they are printed: ``"exact"`` if they are within 1% (or below 1e-6), ``"within x%"`` up
            to 25%, else ``"at most"`` with the lower end.
    """

    upper: float
    lower: float
    status: str

    def __str__(self) -> str:
        return f"{rounded_up(self.upper)} ({self.status})"

    def to_dict(self) -> dict[str, Any]:
        """Return the epsilon as built-ins, ready for JSON."""
        return {"epsilon": self.upper, "epsilon_at_least": self.lower, "status": self.status}


@dataclass(frozen=True, eq=False)
class ShuffledGuarantee:
    """The central guarantee of a shuffled batch, beside the local one.

    Attributes:
        mechanism: a block mechanism or a channel.
        n: reports in a batch.
        delta: added to e^epsilon times a probability; the chance to get beyond an epsilon is that of `at_most`.
        rounds: how many batches hold a report of the same person, with fresh noise each.
        not_trusted: reports of a batch that hide nobody: known, faked or made elsewhere.
        placeholders: how many sensitive values of a personalized mechanism stand for people's own secrets.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(120), sensitive=range(100))
        >>> central = dc.shuffled(dc.RandomizedResponse(domain, epsilon=3.0), n=10_000)
        >>> round(central.among.upper, 4), round(central.towards.upper, 4), round(central.floor, 4)
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
        """The number of reports that hide a person: n without those that are not trusted."""
        return self.n - self.not_trusted

    @property
    def local(self) -> float:
        """The local epsilon of one report, in nats: the guarantee for whoever sees reports with names or order."""
        return self.mechanism.guarantee.realised

    @cached_property
    def among(self) -> CentralEpsilon:
        """The central epsilon among sensitive values, two-sided."""
        if self.mechanism.domain.sensitive_count < 2:
            return CentralEpsilon(0.0, 0.0, "exact")
        return self._judged(self.curve_among, self._ends_among, needed=1)

    @cached_property
    def towards(self) -> CentralEpsilon | None:
        """The central epsilon from a sensitive value towards one in clear, one-sided; None if all are sensitive."""
        if self.mechanism.domain.clear_count == 0:
            return None
        return self._judged(self.curve_towards, self._ends_towards, needed=2)

    @property
    def most_among(self) -> float:
        """The upper end of `among`, without the attacks that its status may take."""
        return self._ends_among[1] if self.mechanism.domain.sensitive_count > 1 else 0.0

    @property
    def most_towards(self) -> float:
        """The upper end of `towards`; 0 if every value is sensitive."""
        return self._ends_towards[1] if self.mechanism.domain.clear_count else 0.0

    @cached_property
    def _ends_among(self) -> tuple[float, float]:
        return self.curve_among.epsilon(self.delta)

    @cached_property
    def _ends_towards(self) -> tuple[float, float]:
        return self.curve_towards.epsilon(self.delta)

    @property
    def floor(self) -> float | None:
        """The part of `towards` that no number of users lowers, in nats; None if every value is sensitive."""
        return None if self.mechanism.domain.clear_count == 0 else self.curve_towards.floor(self.delta)

    @cached_property
    def curve_among(self) -> CentralCurve:
        """The curve delta(epsilon) among sensitive values."""
        return CentralCurve(tuple(_pairs(self.mechanism, towards=False)), self.hiding, self.rounds)

    @cached_property
    def curve_towards(self) -> CentralCurve:
        """The curve delta(epsilon) towards values in clear."""
        return CentralCurve(tuple(_pairs(self.mechanism, towards=True)), self.hiding, self.rounds)

    @cached_property
    def curve(self) -> CentralCurve:
        """The curve delta(epsilon) of the worse direction: among sensitive values, or towards values in clear."""
        domain = self.mechanism.domain
        among = self.curve_among.pairs if domain.sensitive_count > 1 else ()
        towards = self.curve_towards.pairs if domain.clear_count else ()
        return CentralCurve((*among, *towards), self.hiding, self.rounds)

    def delta_at(self, epsilon: float) -> "CentralDeltas":
        """Return delta at an epsilon, in both directions.

        Args:
            epsilon: of at least 0, in nats.

        Raises:
            ParameterError: if it is none.
        """
        epsilon, domain = checked_finite("epsilon", epsilon), self.mechanism.domain
        among = self.curve_among.delta(epsilon) if domain.sensitive_count > 1 else (0.0, 0.0)
        towards = self.curve_towards.delta(epsilon) if domain.clear_count else None
        return CentralDeltas(CentralDelta(*among), None if towards is None else CentralDelta(*towards))

    def at_most(self, chance: float) -> "Surest":
        """Return the epsilons that whoever sees the batches gets beyond with no more than a chance.

        Delta is no such chance: with (epsilon, delta) an attacker gets beyond epsilon more often than delta says. With
        L the privacy loss, P(L > epsilon) <= delta(t) / (1 - e^(t - epsilon)) for every t < epsilon, and what is
        returned is the least epsilon found at which that is at most ``chance``, from the upper ends of delta.

        Args:
            chance: in [1e-280, 1): the most that the chance to get beyond the epsilons may be, if x is true.

        Returns:
            an epsilon in both directions, never above the local epsilon of all rounds together; who was 50% sure of
            one of two values gets at most `discreet.core.guarantee.sureness` of it sure.

        Raises:
            ParameterError: if ``chance`` is no such number.

        Example:
            >>> import discreet as dc
            >>> central = dc.shuffled(dc.RandomizedResponse(dc.Domain(range(100)), epsilon=3.0), n=10_000)
            >>> told = central.at_most(1e-6)
            >>> round(central.among.upper, 4), round(told.among, 4), told.towards
            (0.089, 0.1224, None)
        """
        chance, domain = _certifiable("chance", chance), self.mechanism.domain
        among = self.curve_among.surest(chance) if domain.sensitive_count > 1 else 0.0
        return Surest(among, self.curve_towards.surest(chance) if domain.clear_count else None)

    def sentences(self, *, status: bool = True) -> list[str]:
        """Return both central epsilons in a sentence each; `discreet.published` tells people.

        Args:
            status: whether to say how close they are to what an attacker can reach, which takes longer.
        """
        whole = [among_sentence(self, status=status)]
        if self.mechanism.domain.clear_count:
            known = f" ({self.towards.status})" if status and self.towards is not None else ""
            whole.append(
                f"Towards values told in clear: {rounded_up(self.most_towards)}, one-sided{known}; more users cannot "
                f"make it less than {rounded_down(self.floor or 0.0)}."
            )
        return whole

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as built-ins, ready for JSON; epsilons in nats."""
        return {
            "n": self.n,
            "not_trusted": self.not_trusted,
            "delta": self.delta,
            "placeholders": self.placeholders,
            "rounds": self.rounds,
            "local_epsilon": self.local,
            "among": self.among.to_dict(),
            "towards": None if self.towards is None else self.towards.to_dict(),
            "floor": self.floor,
        }

    def plot(self) -> Any:
        """Return a chart of delta against the central epsilon.

        Raises:
            MissingExtraError: if the ``plot`` extra is not installed.
        """
        batches = f"{self.rounds} batches of" if self.rounds > 1 else "a batch of"
        title = f"What {batches} {self.n:,} shuffled reports", f"{'tell' if self.rounds > 1 else 'tells'} of one person"
        local, delta = rounded_up(self.local), rounded_up(self.delta)
        subtitle = f"local epsilon {local} for whoever sees names or order", f"dashed: delta = {delta}"
        return delta_chart(curve_points(self), title=title, subtitle=subtitle, delta=self.delta)

    def __str__(self) -> str:
        return " ".join(self.sentences())

    def _repr_html_(self) -> str:
        cells = {"central epsilon among sensitive values": str(self.among)}
        if self.towards is not None:
            cells |= {"towards values in clear": str(self.towards), "floor": rounded_down(self.floor or 0.0)}
        cells |= {"local epsilon": rounded_up(self.local), "reports": f"{self.n:,}", "delta": rounded_up(self.delta)}
        return ResultTable.of_figures("Shuffled guarantee", cells, str(self)).html()

    def _judged(self, curve: CentralCurve, ends: tuple[float, float], needed: int) -> CentralEpsilon:
        """Return a central epsilon with its status; it is attained where so many values are told in clear."""
        lower, upper = ends
        if shown_in_clear(self.mechanism) < needed:
            lower = reached(self._attacks(curve, towards=needed > 1), self.hiding, self.delta, self.rounds)
        return CentralEpsilon(upper, lower, status(lower, upper))

    def _attacks(self, curve: CentralCurve, *, towards: bool) -> Iterator[ValuePair]:
        """Yield attacks; on a pool of hash functions none, as its bound leaves the public functions open."""
        blocks = None if self.mechanism.follows_from_matrix else BlockMechanism.checked(self.mechanism)
        if blocks is not None and is_pool(blocks):
            return
        for pair in curve.pairs:
            yield from others_alike(pair)
        if blocks is not None:
            yield from others_beside_clear(self.curve_among.pairs) if towards else others_at_a_third(blocks)


class Surest(NamedTuple):
    """The epsilons that whoever sees shuffled batches gets beyond with no more than a stated chance, in nats.

    Attributes:
        among: among sensitive values.
        towards: from a sensitive value towards one in clear; None if every value is sensitive.
    """

    among: float
    towards: float | None


class CentralDeltas(NamedTuple):
    """Delta at an epsilon, in both directions.

    Attributes:
        among: among sensitive values.
        towards: from a sensitive value towards one in clear; None if every value is sensitive.
    """

    among: CentralDelta
    towards: CentralDelta | None


def shuffled(mechanism: Any, n: int, delta: float = 1e-6, rounds: int = 1, not_trusted: int = 0) -> ShuffledGuarantee:
    """Return the central guarantee of a batch of reports without names and order, and of all computed from it.

    Args:
        mechanism: a block mechanism, an explicit channel or a personalized mechanism, whose placeholders are judged as
            sensitive values.
        n: reports in the batch, one of each person; a lower bound where it is uncertain.
        delta: in [1e-280, 1); well below 1/n.
        rounds: how many batches hold a report of the same person, each with fresh noise and nothing that links them.
        not_trusted: how many of the n hide nobody, because whoever is to be kept out knows or made them.

    Raises:
        ParameterError: if fewer than two reports hide each other, nothing is protected, or a number is out of range.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> central = dc.shuffled(mechanism, n=10_000, delta=1e-6)
        >>> round(central.among.upper, 5), central.among.status, central.towards, round(central.local, 9)
        (0.00718, 'exact', None, 1.0)
    """
    checked = _checked(mechanism)
    n, not_trusted = checked_whole("n", n), checked_whole("not_trusted", not_trusted, 0)
    if n - not_trusted < 2:
        raise ParameterError("n.too-few-hidden", argument="n", n=n, not_trusted=not_trusted)
    rounds = checked_whole("rounds", rounds, 1, _MOST_ROUNDS)
    return ShuffledGuarantee(checked, n, _certifiable("delta", delta), rounds, not_trusted, mechanism.guarantee.tags)


def _certifiable(name: str, chance: object) -> float:
    """Return a number below 1 that is large enough for floats to certify, or refuse it."""
    number = checked_between(name, chance)
    if number < _LEAST_DELTA:
        raise ParameterError("argument.below-certified", argument=name, least_delta=_LEAST_DELTA, number=number)
    return number


def delta(mechanism: Any, n: int, epsilon: float) -> CentralDeltas:
    """Return delta at a central epsilon, among sensitive values and towards values in clear.

    Args:
        mechanism: as for `shuffled`.
        n: reports in the batch, at least 1: a report alone is the local case.
        epsilon: in nats, at least 0.

    Example:
        >>> import discreet as dc
        >>> mechanism = dc.RandomizedResponse(dc.Domain(range(100)), epsilon=1.0)
        >>> f"{delta(mechanism, 10_000, 0.01).among.upper:.1e}"
        '9.2e-09'
    """
    return ShuffledGuarantee(_checked(mechanism), checked_whole("n", n), 0.5).delta_at(epsilon)


def _checked(mechanism: Any) -> Mechanism:
    """Return a mechanism that protects something; of a personalized one, the common one."""
    checked = common_of(mechanism)
    if checked.domain.sensitive_count == 0 or checked.guarantee.realised == inf:
        raise ParameterError("shuffling.nothing-protected")
    return checked


def _pairs(mechanism: Mechanism, *, towards: bool) -> Iterable[ValuePair]:
    if mechanism.follows_from_matrix:
        return channel_pairs(mechanism.channel(), towards=towards)
    blocks = BlockMechanism.checked(mechanism)
    return pairs_towards(blocks) if towards else block_pairs(blocks)


def shown_in_clear(mechanism: Mechanism) -> int:
    """Return the number of values that leave only noise among the blocks, so that others' truths hide nobody.

    For a pool of hash functions none is counted: its bound holds for any functions, not for the public ones.
    """
    if mechanism.follows_from_matrix:
        return silent_rows(mechanism.channel())
    blocks = BlockMechanism.checked(mechanism)
    return 0 if is_pool(blocks) else blocks.domain.clear_count


_EXACT, _WITHIN, _NOTHING = 1.01, 1.25, 1e-6
_POINTS = 41
_BEYOND = 1.4
_LEAST_STATED = 1e-14


def status(lower: float, upper: float) -> str:
    """Return the status of an epsilon, by both ends as they are printed.

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
    """Return the sentence on sensitive values; without its status it costs less where that takes attacks."""
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
        f"Among {values_meant(central)}: {promise} for whoever sees {batches}, or "
        f"anything computed from {it}, however much she knows of the other {others:,}{known}."
    )


def values_meant(central: "ShuffledGuarantee") -> str:
    """Return the words for the values among which a person's is hidden, without the placeholders."""
    domain = central.mechanism.domain
    if central.placeholders:
        for_all, size = domain.sensitive_count - central.placeholders, domain.size - central.placeholders
        whose = "each person's own secret values"
        return f"{whose}, of {size}" if for_all == 0 else f"{whose} and {for_all} sensitive for all, of {size}"
    return f"all {domain.size} values" if domain.clear_count == 0 else f"{domain.sensitive_count} sensitive values"


def curve_points(central: "ShuffledGuarantee") -> dict[str, list[tuple[float, float]]]:
    """Return points (epsilon, delta) of both curves, from 0 to somewhat above their central epsilons."""
    domain = central.mechanism.domain
    directions = []
    if domain.sensitive_count > 1:
        directions.append(("among sensitive values", central.curve_among, central.most_among))
    if domain.clear_count:
        directions.append(("towards values in clear", central.curve_towards, central.most_towards))
    least = min(_LEAST_STATED, central.delta / 10)
    points = {}
    for name, curve, most in directions:
        # It falls steeply beyond what no number of users lowers.
        start = min(curve.floor(), most)
        places = [start * k / _POINTS for k in range(_POINTS)] if start else []
        places += [start + _BEYOND * (most - start) * k / (_POINTS - 1) for k in range(_POINTS)]
        points[name] = [(place, high) for place in places if (high := curve.delta(place, least)[1]) >= least]
    return points
