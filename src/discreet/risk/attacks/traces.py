"""Attacks on traces: each compares every trace with every user, and the strongest of several attacks counts.

An attack scores how well a trace fits a user. Every score is a constant for the trace plus a sum over features (events
and steps) of both the trace and the user,

    score = constant + sum_f B[trace, f] A[user, f],  B, A > 0,

in integers: numbers are rounded once to multiples of a unit, and sums are then exact. So equal scores stay equal, in
any order of summation, and users who share no feature with a trace tie exactly. Traces' features are numbered first,
then a part of the users at a time; a user's feature that no trace has is dropped. Scores are counted at once and never
stored.

The best of k attacks may be the luckiest one. So the interval of each attack has level 1 - a/k. Then all of them,
including the best attack's interval, hold together with probability at least 1 - a (Bonferroni).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from discreet.arrays import AnyArray, BoolArray, FloatArray, IntArray
from discreet.core.checks import checked_level
from discreet.core.random import RandomSource, checked_source
from discreet.errors import DataError, ParameterError
from discreet.risk.attacks.columns import PLAIN, plain_views
from discreet.risk.attacks.contained import CONTAINED, InOrder, containment
from discreet.risk.attacks.learned import DENSE_USERS, UNIT, Logit, Pairs, Posterior
from discreet.risk.attacks.views import NumberGrid, View
from discreet.risk.attacks.when import Spans
from discreet.risk.kernels import matching as kernels
from discreet.risk.kernels.events import KeyTable, count_keys, invert, transitions
from discreet.risk.kernels.matching import Problem, genuine_scores
from discreet.risk.scores.pse import generator_of
from discreet.risk.scores.rates import Rate, rate
from discreet.risk.scores.scores import FEWEST_GENUINE, Ranks, Scores, as_array, folded
from discreet.risk.traces import Split, Traces

SMALLEST = 1e-8
"""The replacement of probabilities of 0 [PIE, section 5]."""

LONGEST = 200.0
"""The most seconds of processor time for comparing all pairs; beyond that a random sample of traces is compared."""

_SECONDS_PER_ADDITION, _SECONDS_PER_SCORE = 2.5e-9, 4e-9
_PAIRS, _TOLD, _FEW, _CLEARLY = 400_000_000, 2_000, 100, 2.6
EVENTS_PER_PART = 1 << 21

OwnAttack = Callable[[Traces, Traces], AnyArray]
"""A function from the n users' known traces and m released traces to ``(m, n)`` scores."""
Attacks = str | OwnAttack | Sequence[str | OwnAttack]
"""Attacks to try: names, and functions."""

Keys = Callable[[Traces], IntArray]
"""A function from traces to the ``(m,)`` keys of their events."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyCounts:
    """The different keys of each row, ascending, with their counts."""

    offsets: IntArray
    keys: IntArray
    counts: AnyArray

    @classmethod
    def of(cls, traces: Traces, keys: Keys) -> "KeyCounts":
        """Return the different keys of each user's trace with their counts."""
        return cls(*count_keys(traces.offsets, keys(traces)))


def events_of(traces: Traces) -> IntArray:
    """Return the events as keys."""
    return traces.events.astype(np.int64)


def first_and_steps(traces: Traces) -> IntArray:
    """Return keys for each user's first event and for the steps from one event to the next."""
    return transitions(traces.offsets, traces.events, traces.event_count, start=True)


def steps(traces: Traces) -> IntArray:
    """Return keys for each user's steps, without the first event."""
    return transitions(traces.offsets, traces.events, traces.event_count, start=False)


def parts(traces: Traces) -> Iterator[Traces]:
    """Yield the traces of consecutive users; each part has few events, or one user."""
    start, offsets = 0, traces.offsets
    while start < traces.users:
        most = offsets[start] + EVENTS_PER_PART
        stop = max(int(np.searchsorted(offsets, most, side="right")) - 1, start + 1)
        events = traces.events[offsets[start] : offsets[stop]]
        yield Traces(offsets[start : stop + 1] - offsets[start], events, traces.event_count)
        start = stop


Entries = tuple[IntArray, AnyArray, AnyArray]
"""Offsets of rows, and ``(m,)`` features and weights."""


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """The probes of a split (the users with a trace in the target), with their features.

    Attributes:
        users: ``(probes,)`` users of the probes.
        offsets: ``(probes + 1,)``; the features of probe i are offsets[i] .. offsets[i + 1] - 1.
        features: ``(m,)`` numbers of the keys.
        counts: ``(m,)`` weights.
        size: number of different keys.
    """

    users: IntArray
    offsets: IntArray
    features: AnyArray
    counts: AnyArray
    size: int

    @classmethod
    def of(cls, target: Traces, keys: Keys) -> "tuple[Probes, KeyTable]":
        """Return one probe per user with an event, with numbered features.

        Returns:
            The probes, and the table of their keys, which needs more memory than the probes.

        Raises:
            DataError: if no user has an event.
        """
        users, table = np.flatnonzero(target.lengths), KeyTable()
        if not len(users):
            raise DataError("traces.empty-target")
        rows = _Gathered()
        for part in parts(target):
            counted = KeyCounts.of(part, keys)
            rows.add(np.diff(counted.offsets), table.number(counted.keys), counted.counts)
        offsets, features, counts = rows.joined()
        return cls(users, np.append(offsets[users], offsets[-1]), features, counts, table.size), table

    def problem(self, candidates: int, constants: IntArray, known: Sequence[Entries]) -> "Problem":
        """Return the matching problem in integers, without features that no candidate has."""
        had = np.zeros(self.size, np.bool_)
        for _, features, _ in known:
            had[features] = True
        # There are fewer than 2^31 features.
        ranks = np.cumsum(had, dtype=np.int32) - np.int32(1)
        index = invert(int(np.count_nonzero(had)), [(rows, ranks[features], each) for rows, features, each in known])
        places = np.flatnonzero(had[self.features])
        queries = np.searchsorted(places, self.offsets), ranks[self.features[places]], self.counts[places]
        return Problem(self.users, candidates, constants, index, queries)


class Known:
    """The features of candidates, restricted to the probes' features."""

    def __init__(self, table: "KeyTable") -> None:
        self._table: KeyTable | None = table
        self._rows = _Gathered()

    def add(self, rows: KeyCounts, weights: AnyArray) -> None:
        """Add the next users, with integer weights; weights below 1 do not count."""
        assert self._table is not None
        features = self._table.find(rows.keys)
        places = np.flatnonzero((features >= 0) & (weights > 0))
        self._rows.add(np.diff(np.searchsorted(places, rows.offsets)), features[places], weights[places])

    def joined(self) -> Entries:
        """Return ``(users + 1,)`` offsets, features and weights of all candidates; nothing can be added afterwards."""
        self._table = None
        return self._rows.joined()


@dataclass(slots=True, eq=False)
class _Gathered:
    """Rows that arrive in parts."""

    lengths: list[IntArray] = field(default_factory=list)
    features: list[AnyArray] = field(default_factory=list)
    weights: list[AnyArray] = field(default_factory=list)

    def add(self, lengths: IntArray, features: AnyArray, weights: AnyArray) -> None:
        self.lengths.append(lengths)
        self.features.append(features)
        self.weights.append(weights.astype(np.int32))

    def joined(self) -> Entries:
        """Return ``(rows + 1,)`` offsets, features and weights, and release them."""
        lengths, features = np.concatenate(self.lengths), np.concatenate(self.features)
        self.features.clear()
        weights = np.concatenate(self.weights)
        self.weights.clear()
        return np.append(0, np.cumsum(lengths)), features, weights


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matcher:
    """A matching problem: probes, candidates and a rule for the score of a pair.

    Attributes:
        problem: both sides in integers.
        unit: the size of one score unit.

    Example:
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> markov(split)
        Matcher(2 probes, 2 candidates)
    """

    problem: "Problem"
    unit: float

    def __repr__(self) -> str:
        return f"Matcher({self.probes} probes, {self.candidates} candidates)"

    @property
    def probes(self) -> int:
        """The number of probes."""
        return len(self.problem.users)

    @property
    def candidates(self) -> int:
        """N, the number of candidates."""
        return self.problem.candidates

    @property
    def users(self) -> IntArray:
        """``(probes,)`` users of the probes."""
        return self.problem.users

    @property
    def seconds(self) -> FloatArray:
        """``(probes,)`` expected seconds of processor time for matching with plain sums."""
        additions = self.problem.additions
        # Candidates without a common feature cost nothing, because they are counted together.
        return additions * _SECONDS_PER_ADDITION + np.minimum(additions, self.candidates) * _SECONDS_PER_SCORE

    def within(self, seconds: float, random: RandomSource) -> "Matcher":
        """Return the matcher for a random sample of the probes within the given time, or for all probes.

        Example:
            >>> from discreet.core.random import SeededRandom
            >>> from discreet.risk.traces import Traces, by_half
            >>> matcher = markov(by_half(Traces.of(["u1"] * 4 + ["u2"] * 4 + ["u3"] * 4, list("ababccccaaaa"))))
            >>> matcher.within(60, SeededRandom(1)), matcher.within(1e-9, SeededRandom(1))
            (Matcher(3 probes, 3 candidates), Matcher(2 probes, 3 candidates))
        """
        whole = float(self.seconds.sum())
        if whole <= seconds:
            return self
        size = max(int(seconds / whole * self.probes), FEWEST_GENUINE)
        drawn = generator_of(random).permutation(self.probes)[:size]
        return replace(self, problem=self.problem.of_probes(np.sort(drawn)))


def markov(split: Split) -> Matcher:
    """Return the matcher with scores from each user's Markov chain: log-likelihoods in nats [PIE, section 5].

    ln pi(Y_1) + sum_t ln Lambda(Y_t, Y_t+1), where pi and Lambda are the shares of a user's visits, and of their steps
    from a place, in training.

    Args:
        split: training and target.

    Example:
        >>> from discreet.risk.attacks.traces import match
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> match(markov(split)).success()
        1.0
    """
    floor, size = int(_rounded_logs(np.array([SMALLEST]))[0]), split.training.event_count
    probes, table = Probes.of(split.target, first_and_steps)
    been, moved = Known(table), Known(table)
    # They release it as soon as they have all they need.
    del table
    for part in parts(split.training):
        visits, rows = counted_visits(part), KeyCounts.of(part, steps)
        been.add(visits, _rounded_logs(visits.counts / np.repeat(part.lengths, np.diff(visits.offsets))) - floor)
        moved.add(rows, _rounded_logs(rows.counts / _step_totals(rows, size)) - floor)
    constants = split.target.lengths[probes.users] * floor
    return Matcher(probes.problem(split.training.users, constants, [been.joined(), moved.joined()]), UNIT)


def _step_totals(rows: KeyCounts, size: int) -> IntArray:
    """Return, for every step of a user, the total count of this user's steps from the same event."""
    if not len(rows.keys):
        return np.empty(0, dtype=np.int64)
    # Keys ascend within a user, and steps from one event have neighbouring keys.
    events, first = rows.keys // size, np.ones(len(rows.keys), dtype=np.bool_)
    np.not_equal(events[1:], events[:-1], out=first[1:])
    first[rows.offsets[:-1][np.diff(rows.offsets) > 0]] = True
    edges = np.append(np.flatnonzero(first), len(first))
    running = np.append(0, np.cumsum(rows.counts, dtype=np.int64))
    return np.repeat(np.diff(running[edges]), np.diff(edges))


def counted_visits(training: Traces) -> KeyCounts:
    """Return the visits of each user, counted by event."""
    return KeyCounts.of(training, events_of)


def _rounded_logs(probabilities: FloatArray) -> IntArray:
    return np.rint(np.log(probabilities) / UNIT).astype(np.int64)


def match(matcher: Matcher, *, threads: int | None = None) -> Scores:
    """Return the scores of every probe for every candidate.

    The result is exactly the same for any number of threads.

    Args:
        matcher: from one of the matching algorithms.
        threads: the number of threads; None for the number of processors.

    Returns:
        Scores in the matcher's unit.

    Example:
        >>> from discreet.risk.attacks.traces import markov
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4 + ["u3"] * 4, list("abab") + list("cccc") + list("aaaa")))
        >>> scores = match(markov(split))
        >>> scores.n, scores.places.candidates, round(scores.success(), 2)
        (3, 3, 1.0)
    """
    problem = matcher.problem
    genuine = kernels.genuine_scores(problem, threads=threads)
    thresholds = np.unique(genuine)
    greater, ties, counts = kernels.rank(problem, genuine, thresholds, threads=threads)
    ranks = Ranks(greater, ties, matcher.users, matcher.candidates)
    return Scores(genuine, thresholds, *folded(counts), places=ranks, unit=matcher.unit)


ALL = "all"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The success of one attack.

    Attributes:
        attack: the name of the attack.
        success: the rate at which it names the right user with one guess; the intervals of all attempts hold together.
        traces: the number of all traces; the attack may have been tried on a random sample.

    Example:
        >>> from discreet.risk.scores.rates import rate
        >>> attempt = Attempt("markov", rate(38, 100), traces=2500)
        >>> attempt.attack, attempt.success.value, attempt.sample_sentence
        ('markov', 0.38, 'The attack markov was tried on a random sample of 100 of the 2,500 traces, among all users.')
    """

    attack: str
    success: Rate
    traces: int

    @property
    def sample_sentence(self) -> str:
        """A sentence on the sample; empty if the attack was tried on all traces."""
        tried = self.success.trials
        if tried == self.traces:
            return ""
        sample = f"a random sample of {tried:,} of the {self.traces:,} traces, among all users"
        return f"The attack {self.attack} was tried on {sample}."


def level_of_each(level: float, attempts: int) -> float:
    """Return the level of each of several intervals for which all hold together (Bonferroni).

    Raises:
        ParameterError: if the level is not in (0, 1).

    Example:
        >>> round(level_of_each(0.95, attempts=5), 4)
        0.99
    """
    return 1 - (1 - checked_level(level)) / attempts


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """The identification of traces by an attack, with the scores behind it.

    Attributes:
        scores: the scores of each trace by itself.
        ranks: the right users' ranks in the attack; for a sample of the probes if all would take too long.
        blind: ``(probes,)`` booleans: true if the attack learned nothing about the trace. Then the trace shares no
            feature with its own user, and the attack gives this user at most the probability of a guess.
        own: ``(probes,)`` logarithms of the right users' probabilities; None if scores are not a posterior.
        margins: ``(probes,)`` logarithms of the ratio of the right user's probability to the largest other one,
            according to the attack; None as for ``own``.
    """

    scores: Scores
    ranks: Ranks
    blind: BoolArray
    own: FloatArray | None = None
    margins: FloatArray | None = None


class Attacker:
    """An attacker who knows the training traces by user, with cached results."""

    def __init__(self, split: Split, random: RandomSource) -> None:
        self.split, self.random = split, random

    @cached_property
    def posterior(self) -> Posterior:
        """The probability of each user for each trace."""
        if not len(self.probes):
            raise DataError("traces.empty-target")
        return self._logit.posterior(Pairs(self.split, self.probes, self.random))

    @cached_property
    def _logit(self) -> Logit:
        return Logit.taught(self.split, self.random)

    @cached_property
    def probes(self) -> IntArray:
        """``(m,)`` the users with a trace."""
        return np.flatnonzero(self.split.target.lengths)

    def by_markov(self) -> Naming:
        """Attack with the users' Markov chains."""
        matcher = markov(self.split)
        scores = match(matcher.within(LONGEST, self.random))
        return Naming(scores, scores.ranks, genuine_scores(matcher.problem) == matcher.problem.constants)

    @cached_property
    def learned(self) -> Naming:
        """Attack each trace separately, with the posterior."""
        right, scores = self.posterior.own, self.posterior.scores()
        blind = self.posterior.strangers & (right <= -np.log(scores.ranks.candidates))
        return Naming(scores, scores.ranks, blind, right, self.posterior.margins)

    @cached_property
    def spans(self) -> Spans | None:
        """The times that known events and traces cover; None without absolute times."""
        return Spans.of(self.split.training, self.split.target)

    @cached_property
    def views(self) -> Mapping[str, Callable[[], View | NumberGrid | InOrder]]:
        """The views of attacks by one column, or by few; of plain attacks none among more than `DENSE_USERS` users."""
        sides = self.split.training, self.split.target
        views: dict[str, Callable[[], View | NumberGrid | InOrder]] = (
            dict(plain_views(self.split)) if sides[0].users <= DENSE_USERS else {}
        )
        if self.split.of_two_tables:
            timed = sides[0].times is not None and sides[1].times is not None
            views |= {name: partial(containment, *sides, name) for name in CONTAINED[: 3 if timed else 1]}
            views |= {} if timed else {CONTAINED[1]: partial(InOrder, *sides)}
        return views

    def allows(self, name: str) -> bool:
        """Return true if the columns of the traces allow an attack."""
        return self.spans is not None if name == WHEN else name in self.views or name not in (*PLAIN, *CONTAINED)

    def by_scores(self, name: str) -> Naming:
        """Attack with a plain attack, or with the time between a trace and the known events of each user."""
        if not self.allows(name):
            raise ParameterError("attack.needs-column", argument="attack", attack=name)
        view = self.spans if name == WHEN and self.spans is not None else self.views[name]()
        candidates, m, by = self.split.training.users, len(self.probes), view.scores
        steps = len(self.split.training) if isinstance(view, InOrder) else candidates
        drawn = generator_of(self.random).permutation(m)[: max(_PAIRS // steps, FEWEST_GENUINE)]
        users = self.probes[np.sort(drawn)]
        scores = Scores.from_rows(lambda start, stop: by(users[start:stop]), users, candidates)
        # Such scores do not say for which traces something was learned.
        return Naming(scores, scores.ranks, np.ones(m, np.bool_))

    def by_function(self, attack: OwnAttack) -> Naming:
        """Attack with a function; the traces come in random order and without names, so that neither says anything."""
        order = generator_of(self.random).permutation(self.probes)
        released = replace(self.split.target.select(order), names=None)
        scores = as_array(attack(self.split.training, released), "scores")
        if scores.shape != (len(order), self.split.training.users):
            raise DataError(
                "attack.wrong-scores", probes=len(order), users=self.split.training.users, shape=scores.shape
            )
        scores = scores[np.argsort(order)].astype(np.float64)
        lowest = scores[np.isfinite(scores)].min(initial=0.0) - 1
        scores = np.nan_to_num(scores, nan=lowest, neginf=lowest, posinf=np.finfo(np.float64).max)
        counted = Scores.from_rows(lambda start, stop: scores[start:stop], self.probes, scores.shape[1])
        return Naming(counted, counted.ranks, np.ones(len(order), np.bool_))

    @cached_property
    def told(self) -> Naming:
        """The identification of up to 2,000 traces if the true answers of half of them are known."""
        some = self.probes[np.sort(generator_of(self.random).permutation(len(self.probes))[:_TOLD])]
        posterior = self._logit.told(Pairs(self.split, some, self.random), self.random)
        scores = posterior.scores()
        return Naming(scores, scores.ranks, np.ones(len(self.probes), np.bool_), posterior.own, posterior.margins)

    @property
    def lesson_fails(self) -> bool:
        """True if true answers of half of the traces identify clearly more than the known events alone."""
        if len(self.probes) <= _FEW or self.split.training.users > DENSE_USERS:
            return False
        hits = self.learned.ranks.hits()
        more = self.told.ranks.hits() - hits[np.isin(self.probes, self.told.ranks.users)]
        return bool(more.mean() > _CLEARLY * more.std() / np.sqrt(len(more)))

    def of_all_at_once(self) -> Naming:
        """Attack all traces jointly, if every user has at most one."""
        together = self.posterior.jointly()
        return replace(self.learned, ranks=together.ranks(), margins=together.margins)


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack on traces.

    Attributes:
        name: the name of the attack.
        words: a description of the attack for people.
        outcome: a function from an attacker to the naming.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> attacker = Attacker(split, SeededRandom(1))
        >>> [ATTACKS[name].outcome(attacker).ranks.greater.tolist() for name in ("markov", "learned", "jointly")]
        [[0, 0], [0, 0], [0, 0]]
    """

    name: str
    words: str
    outcome: Callable[[Attacker], Naming]


MARKOV, LEARNED, JOINTLY, WHEN, TOLD = "markov", "learned", "jointly", "when", "told"
_LEARNS = "learns from the two halves of the known events how users differ"

ATTACKS = {
    attack.name: attack
    for attack in (
        Attack(MARKOV, "compares each trace with the Markov chain of each user's known events", Attacker.by_markov),
        Attack(LEARNED, f"{_LEARNS}, and gives each trace to the likeliest user", lambda attacker: attacker.learned),
        Attack(JOINTLY, f"{_LEARNS}, and gives each user one of the traces", Attacker.of_all_at_once),
        Attack(
            WHEN,
            "takes the user whose known events end last before the trace begins",
            partial(Attacker.by_scores, name=WHEN),
        ),
        *(
            Attack(name, f"compares the {name} alone, by likelihood", partial(Attacker.by_scores, name=name))
            for name in PLAIN
        ),
        *(
            Attack(
                name,
                f"takes the user whose known rows contain the trace ({name})",
                partial(Attacker.by_scores, name=name),
            )
            for name in CONTAINED
        ),
        Attack(
            TOLD,
            "learns from the true answers of half of the traces, because the known events teach too little",
            lambda attacker: attacker.told,
        ),
    )
}
"""Attacks on traces by name; the attack on obfuscated reports always uses their likelihood."""


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The attack that names the right user most often, of all attacks tried.

    Attributes:
        outcome: the outcome of this attack.
        attempts: all attacks, the strongest one first.
        blind: ``(probes,)`` booleans for the outcome's probes: true if no attack learned anything about the trace.
    """

    outcome: Naming
    attempts: tuple[Attempt, ...]
    blind: BoolArray


def own_attack(function: OwnAttack) -> Attack:
    """Return an attack by a function from known and released traces to scores, which is named after the function.

    Example:
        >>> from discreet.core.random import SeededRandom
        >>> from discreet.risk.traces import Traces, by_half
        >>> def by_first_event(known, released):
        ...     first = [side.events[side.offsets[:-1]] for side in (released, known)]
        ...     return first[0][:, None] == first[1]
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> own_attack(by_first_event).outcome(Attacker(split, SeededRandom(1))).ranks.greater.tolist()
        [0, 0]
    """
    name = getattr(function, "__qualname__", type(function).__name__)
    name = f"{getattr(function, '__module__', '')}:{name}"
    return Attack(name, f"is an attack of one's own ({name})", partial(Attacker.by_function, attack=function))


def named_attacks(asked: Attacks) -> list[str]:
    """Return the names of the attacks that are chosen, so that others are left out; an empty list for all.

    Example:
        >>> named_attacks(["markov", "event"]), named_attacks("all")
        (['markov', 'event'], [])
    """
    names = [each for each in _listed(asked) if isinstance(each, str)]
    return [] if ALL in names else names


def _listed(asked: Attacks) -> list[str | OwnAttack]:
    return [asked] if isinstance(asked, str) or callable(asked) else list(asked)


def chosen_attacks(asked: Attacks) -> list[Attack]:
    """Return attacks by name; functions are tried beside the named ones, or beside all others if none is named.

    Raises:
        ParameterError: if there is no attack of a name.

    Example:
        >>> [attack.name for attack in chosen_attacks(["markov", "learned"])]
        ['markov', 'learned']
    """
    listed, names = _listed(asked), named_attacks(asked)
    unknown = [name for name in names if name not in ATTACKS]
    if unknown or not listed:
        raise ParameterError(
            "attack.unknown", argument="attack", all=ALL, names=", ".join(ATTACKS), names_2="".join(unknown)
        )
    functions = [own_attack(each) for each in listed if not isinstance(each, str)]
    return [ATTACKS[name] for name in names or ATTACKS] + functions


def strongest(
    split: Split,
    attacks: Attacks = ALL,
    *,
    alone: bool = False,
    level: float = 0.95,
    random: RandomSource | None = None,
) -> Strongest:
    """Return the attack that names the right user most often; the first one if several are equal.

    Args:
        split: the training traces, which the attacker knows by user, and the target.
        attacks: some of `ATTACKS`, and functions from known and released traces to scores, see `own_attack`. Beside
            others, those are omitted for which the traces lack a column.
        alone: whether users may have several traces, so that the joint attack is omitted.
        level: the confidence level of all attempts' intervals together.
        random: the random words that select data to learn from; None for fresh words.

    Raises:
        ParameterError: if no attack is named, or an unknown one, or one for which the traces lack a column.
        DataError: if no user has an event in the target, or the unit of the times is unknown, or scores of a function
            have a wrong shape.

    Example:
        >>> from discreet.risk.traces import Traces, by_half
        >>> split = by_half(Traces.of(["u1"] * 4 + ["u2"] * 4, list("abab") + list("cccc")))
        >>> found = strongest(split, ["markov", "learned"])
        >>> [(attempt.attack, attempt.success.value) for attempt in found.attempts], found.blind.tolist()
        ([('markov', 1.0), ('learned', 1.0)], [False, False])
    """
    attacker, tried = Attacker(split, checked_source(random)), chosen_attacks(attacks)
    if len(tried) > 1:
        names = {attack.name for attack in tried}
        # The answers of half of the traces are an attempt only if they identify clearly more.
        fails = {LEARNED, TOLD} <= names and attacker.lesson_fails
        left_out = {name for name, out in ((JOINTLY, alone), (TOLD, not fails)) if out}
        tried = [attack for attack in tried if attacker.allows(attack.name) and attack.name not in left_out]
    each = level_of_each(level, len(tried))
    outcomes = [(attack.name, attack.outcome(attacker)) for attack in tried]
    # Sorting keeps the order of equal attacks.
    outcomes.sort(key=lambda outcome: -float(outcome[1].ranks.hits().mean()))
    blind = np.logical_and.reduce([outcome.blind for _, outcome in outcomes])
    attempts = tuple(
        Attempt(name, rate(float(hits.sum()), len(hits), level=each), len(attacker.probes))
        for name, hits in ((name, outcome.ranks.hits()) for name, outcome in outcomes)
    )
    best = outcomes[0][1]
    if outcomes[0][0] == TOLD:
        # True answers do not hide that the known events mislead.
        blind = blind | attacker.learned.ranks.misled
    return Strongest(best, attempts, blind[np.isin(attacker.probes, best.ranks.users)])
