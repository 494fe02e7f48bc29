"""Central guarantees of shuffled reports: what whoever sees reports without names and without order learns of a person.

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
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from discreet.charts.delta_curves import delta_chart
from discreet.core.checks import checked_between, checked_finite, checked_whole
from discreet.core.estimate_table import facts_as_html
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Channel, given
from discreet.privacy.rounding import rounded_down, rounded_up
from discreet.privacy.shuffling_attacks import others_alike, others_at_a_third, others_beside_clear, reached
from discreet.privacy.shuffling_pairs import (
    ValuePair,
    block_pairs,
    channel_pairs,
    is_pool,
    pairs_towards,
    silent_rows,
)
from discreet.privacy.shuffling_rounds import CentralCurve
from discreet.privacy.shuffling_statements import curve_points, facts, sentences, status

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


@dataclass(frozen=True, eq=False)
class ShuffledGuarantee:
    """The central guarantee of a shuffled batch, beside the local one.

    Attributes:
        mechanism: a block mechanism or a channel.
        n: reports in a batch.
        delta: added to e^epsilon times a probability; the chance to get beyond an epsilon is that of `at_most`.
        rounds: how many batches hold a report of the same person, with fresh noise each.
        not_trusted: reports of a batch that hide nobody: known, faked or made elsewhere.
        bots: sensitive values of the mechanism that stand for people's own secret ones: those of a personalized one.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(120), sensitive=range(100))
        >>> central = dc.shuffled(dc.RandomizedResponse(domain, epsilon=3.0), n=10_000)
        >>> round(central.among.upper, 4), round(central.towards.upper, 4), round(central.floor, 4)
        (0.089, 0.2376, 0.1747)
    """

    mechanism: BlockMechanism | Channel
    n: int
    delta: float
    rounds: int = 1
    not_trusted: int = 0
    bots: int = 0

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
            one of two values gets at most `discreet.privacy.rounding.sureness` of it sure.

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
        return sentences(self, status=status)

    def to_dict(self) -> dict[str, Any]:
        """Return the guarantee as built-ins, ready for JSON; epsilons in nats."""
        return facts(self)

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
        return facts_as_html("Shuffled guarantee", cells, str(self))

    def _judged(self, curve: CentralCurve, ends: tuple[float, float], needed: int) -> CentralEpsilon:
        """Return a central epsilon with its status; it is attained where so many values are told in clear."""
        lower, upper = ends
        if shown_in_clear(self.mechanism) < needed:
            lower = reached(self._attacks(curve, towards=needed > 1), self.hiding, self.delta, self.rounds)
        return CentralEpsilon(upper, lower, status(lower, upper))

    def _attacks(self, curve: CentralCurve, *, towards: bool) -> Iterator[ValuePair]:
        """Yield attacks; on a pool of hash functions none, as its bound leaves the public functions open."""
        blocks = given.as_blocks(self.mechanism)
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
        mechanism: a block mechanism, an explicit channel or a personalized mechanism, whose bots are judged as
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
        raise ParameterError(
            f"n must count at least 2 reports that hide each other, got n={n} and not_trusted={not_trusted}; "
            "a report alone has its local epsilon."
        )
    rounds = checked_whole("rounds", rounds, 1, _MOST_ROUNDS)
    personalized = given.as_personalized(mechanism)
    bots = 0 if personalized is None else len(personalized.tags)
    return ShuffledGuarantee(checked, n, _certifiable("delta", delta), rounds, not_trusted, bots)


def _certifiable(name: str, chance: object) -> float:
    """Return a number below 1 that is large enough for floats to certify, or refuse it."""
    number = checked_between(name, chance)
    if number < _LEAST_DELTA:
        raise ParameterError(f"{name} must be at least {_LEAST_DELTA:g}, got {number:g}.")
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


def _checked(mechanism: Any) -> BlockMechanism | Channel:
    """Return a mechanism that protects something; of a personalized one, the common one over values and bots."""
    personalized = given.as_personalized(mechanism)
    checked = given.mechanism(mechanism if personalized is None else personalized.common)
    if checked.domain.sensitive_count == 0 or checked.guarantee.realised == inf:
        raise ParameterError("the mechanism must protect something before its reports are shuffled, and does not.")
    return checked


def _pairs(mechanism: BlockMechanism | Channel, *, towards: bool) -> Iterable[ValuePair]:
    channel = given.as_channel(mechanism)
    if channel is not None:
        return channel_pairs(channel, towards=towards)
    blocks = given.block_mechanism(mechanism)
    return pairs_towards(blocks) if towards else block_pairs(blocks)


def shown_in_clear(mechanism: BlockMechanism | Channel) -> int:
    """Return the number of values that leave only noise among the blocks, so that others' truths hide nobody.

    For a pool of hash functions none is counted: its bound holds for any functions, not for the public ones.
    """
    channel = given.as_channel(mechanism)
    if channel is not None:
        return silent_rows(channel)
    blocks = given.block_mechanism(mechanism)
    return 0 if is_pool(blocks) else blocks.domain.clear_count
