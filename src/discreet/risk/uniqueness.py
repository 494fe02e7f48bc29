"""Uniqueness of traces: the number of identical traces, and the number of events that single out a user.

No attack distinguishes identical traces: of m traces, c of them different, no attack identifies more than c/m on
average. Beyond this there is no bound for traces without obfuscation. Instead the number of events that an attacker
needs is measured. A user is *unique* by p random events if nobody else has all of them (the unicity of de Montjoye et
al. 2013). The number of users with all of them is the k of k-map.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from discreet.arrays import IntArray
from discreet.core.random import RandomSource, checked_source
from discreet.errors import DataError
from discreet.risk.scores.pse import generator_of
from discreet.risk.scores.rates import Rate, rate
from discreet.risk.traces import Traces

MOST_EVENTS = 10
_DRAWN = 2_000


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """The uniqueness of traces: counts of different traces, and rates at which few events single out a user.

    Attributes:
        traces: number of traces with an event.
        different: number of different traces: the same events in the same order, at the same times if these are known.
        unique: number of traces without an identical one.
        unique_sets: number of traces with a set of events that nobody else has.
        singled_out: for p = 1, 2, ..., 10, the rate of users who alone have p of their different events, drawn at
            random, or all if there are fewer.
    """

    traces: int
    different: int
    unique: int
    unique_sets: int
    singled_out: tuple[Rate, ...]

    @property
    def limit(self) -> float:
        """The largest share of traces that any attack can give to the right user, on average."""
        return self.different / self.traces

    @property
    def sentence(self) -> str:
        """The uniqueness as a sentence."""
        first, fourth = (self.singled_out[events - 1] for events in (1, 4))
        alone, sets = (count / self.traces for count in (self.unique, self.unique_sets))
        return (
            f"{alone:.2%} of the traces are unique as they are, {sets:.2%} as sets of events; one random event "
            f"singles out {first.value:.2%} of the users, four {fourth.value:.2%} ({fourth.level:.0%} interval "
            f"{fourth.low:.2%} to {fourth.high:.2%})."
        )


def uniqueness(traces: Traces, *, level: float = 0.95, random: RandomSource | None = None) -> Uniqueness:
    """Return the uniqueness of traces, from counts.

    Args:
        traces: the traces; those without an event do not count.
        level: confidence level of the intervals of rates, which are measured for 2,000 users if there are more.
        random: the random words for users and events; None for fresh words.

    Raises:
        DataError: if no user has an event.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> traces = Traces.of(["u1"] * 3 + ["u2"] * 3 + ["u3"] * 3, list("aba") + list("aba") + list("bac"))
        >>> found = uniqueness(traces, random=SeededRandom(1))
        >>> found.different, found.unique, found.unique_sets, found.singled_out[2].value
        (2, 1, 1, 0.3333333333333333)
    """
    users, generator = np.flatnonzero(traces.lengths), generator_of(checked_source(random))
    if not len(users):
        raise DataError("traces.all-empty")
    spelled: list[bytes] = []
    sets: list[IntArray] = []
    for start, stop in zip(traces.offsets[users], traces.offsets[users + 1], strict=True):
        events = traces.events[start:stop]
        spelled.append(events.tobytes() + (b"" if traces.times is None else traces.times[start:stop].tobytes()))
        sets.append(np.unique(events))
    counts, same = Counter(spelled), Counter(trace.tobytes() for trace in sets)
    chosen = generator.permutation(len(users))[:_DRAWN]
    owners = _owners(sets)
    having = np.stack([_having(generator.permutation(sets[user])[:MOST_EVENTS], owners) for user in chosen])
    return Uniqueness(
        len(users),
        len(counts),
        sum(count == 1 for count in counts.values()),
        sum(count == 1 for count in same.values()),
        tuple(rate(float(column.sum()), len(chosen), level=level) for column in (having == 1).T),
    )


def _owners(sets: list[IntArray]) -> dict[int, IntArray]:
    """Return the users who have each event."""
    events, who = np.concatenate(sets), np.repeat(np.arange(len(sets)), [len(part) for part in sets])
    order = np.argsort(events, kind="stable")
    different, starts = np.unique(events[order], return_index=True)
    return dict(zip(different.tolist(), np.split(who[order], starts[1:]), strict=True))


def _having(drawn: IntArray, owners: dict[int, IntArray]) -> IntArray:
    """Return the ``(10,)`` numbers of users with the first of some events, with the first two, and so on."""
    among, counts = owners[int(drawn[0])], []
    for event in drawn.tolist():
        among = among[np.isin(among, owners[event], assume_unique=True)] if len(among) > 1 else among
        counts.append(len(among))
    return np.array(counts + [counts[-1]] * (MOST_EVENTS - len(counts)))
