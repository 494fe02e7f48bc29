"""The attack that learns: its features, its certificate, its joint matching, and what it finds and does not find."""

from collections.abc import Callable
from itertools import pairwise, permutations, product
from math import log, log1p, sqrt

import numpy as np
import pytest

from discreet import Domain, SeededRandom
from discreet.risk.attacks.learned import Pairs, Posterior
from discreet.risk.attacks.traces import Attacker
from discreet.risk.attacks.views import SHARES
from discreet.risk.kernels.pairs import shared_sums
from discreet.risk.traces import Split, Traces, by_half
from slow_matching import events_of

Random = np.random.Generator


def rows(generator: Random, users: int, keys: int, width: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of some users: different keys, weights above 0."""
    chosen = [np.flatnonzero(generator.random(keys) < 0.3).astype(np.int32) for _ in range(users)]
    offsets = np.cumsum([0, *map(len, chosen)])
    shape = (offsets[-1], width) if width else offsets[-1]
    return offsets, np.concatenate(chosen), generator.random(shape).astype(np.float32) + 0.1


def test_sums_over_shared_keys_by_a_loop() -> None:
    generator = np.random.default_rng(1)
    probes, known = rows(generator, 7, 12, 3), rows(generator, 9, 12, 3)
    lists = generator.integers(-1, 9, (7, 4)).astype(np.int32)
    found = shared_sums(probes, known, lists, 12)
    sides = [
        [dict(zip(keys[a:b].tolist(), weights[a:b], strict=True)) for a, b in pairwise(offsets)]
        for offsets, keys, weights in (probes, known)
    ]
    for probe, place in product(range(7), range(4)):
        one, other = sides[0][probe], sides[1][lists[probe, place]] if lists[probe, place] >= 0 else {}
        wanted = sum((one[key] * other[key] for key in one.keys() & other.keys()), np.zeros(3))
        assert found[probe, place] == pytest.approx(wanted, rel=1e-5)


def habits(generator: Random, users: int, events: int, places: int, loyal: float = 0.6) -> Traces:
    """People with three favourite places each."""
    who = np.repeat(np.arange(users), events)
    favourite = generator.integers(0, places, (users, 3))[who, generator.integers(0, 3, len(who))]
    where = np.where(generator.random(len(who)) < loyal, favourite, generator.integers(0, places, len(who)))
    return Traces.of(who, where)


def spelled_out(split: Split, probe: int, user: int) -> list[float]:
    """The features of a pair, but for profiles and hours, event by event."""
    known, target = events_of(split.training), events_of(split.target)
    trace, history, n = target[probe], known[user], len(known)
    everything = [x for row in known for x in row]
    rarity = {x: log(n / sum(x in row for row in known)) for x in set(everything)}

    def a(x: int) -> int:
        return history.count(x)

    both = sorted(set(trace) & set(history))
    likelihood = [
        sum(
            trace.count(x) * log1p((1 - share) / share * a(x) / len(history) * len(everything) / everything.count(x))
            for x in both
        )
        for share in SHARES
    ]
    rare = sum(rarity[x] for x in both)
    cosine = len(both) / sqrt(len(set(history)) * len(set(trace)))
    late = {x: sum(1 / (len(history) - i + 1) for i, y in enumerate(history) if y == x) for x in both}
    early = {x: sum(1 / (i + 2) for i, y in enumerate(trace) if y == x) for x in both}
    recent = sum(rarity[x] * late[x] * early[x] for x in both)
    activity = log(max(len(history), 1)) - float(np.mean([log(max(len(row), 1)) for row in known]))
    return [*likelihood, rare, cosine, recent, activity]


def test_features_by_a_loop() -> None:
    split = by_half(habits(np.random.default_rng(3), 9, 12, 8))
    pairs = Pairs(split, np.arange(9), SeededRandom(1))
    lists = np.tile(np.arange(9, dtype=np.int32), (9, 1))
    found = pairs.features(lists)
    for probe, user in product(range(9), range(9)):
        wanted = spelled_out(split, probe, user)
        assert found[probe, user, : len(wanted)] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
        # The first event counts as a step from nowhere.
        sides = [
            [*row[:1], *pairwise(row)] for row in (events_of(split.target)[probe], events_of(split.training)[user])
        ]
        everything = [step for row in events_of(split.training) for step in (*row[:1], *pairwise(row))]
        wanted = [
            sum(
                log1p((1 - share) / share * sides[1].count(x) / len(sides[1]) * len(everything) / everything.count(x))
                for x in sides[0]
                if x in sides[1]
            )
            for share in SHARES
        ]
        assert found[probe, user, 7:] == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    assert found.shape[2] == 9
    # The cosine of profiles is between the sums and the views.
    assert (np.abs(found[:, :, 6]) <= 1 + 1e-5).all()


def test_views_by_a_loop() -> None:
    """Likelihoods and affinities of events at quarters of an hour, whose known counts are spread, and of half-hours."""
    generator = np.random.default_rng(5)
    who, events = np.repeat(np.arange(6), 8), generator.integers(0, 3, 48)
    times = 1_700_006_400 + np.sort(generator.integers(0, 400, 48)) * 900
    split = by_half(Traces.of(who, events, times, domain=Domain(range(3))))
    lists = np.tile(np.arange(6, dtype=np.int32), (6, 1))
    found = Pairs(split, np.arange(6), SeededRandom(1)).features(lists)[:, :, 9:13]
    steps = np.arange(-4, 5)
    kernel = np.exp(-(steps**2) / 4.5) / np.exp(-(steps**2) / 4.5).sum()
    grids = {96: [], 48: []}
    for size, sides in grids.items():
        for side in (split.training, split.target):
            counts = np.zeros((6, 3, size))
            rows = np.repeat(np.arange(6), side.lengths)
            bins = (side.times % 86_400 // (86_400 // size)).astype(int)
            np.add.at(counts, (rows, side.events, bins), 1)
            sides.append(counts if size == 96 else counts.sum(axis=1, keepdims=True))
    for place, (known, asked) in enumerate(grids.values()):
        spread = sum(weight * np.roll(known, step, axis=2) for step, weight in zip(steps, kernel, strict=True))
        share, popular = spread / 4, spread.sum(axis=0) / 24
        with np.errstate(invalid="ignore", divide="ignore"):
            odds = np.where(popular > 0, share / popular, 0)
        for probe, user in product(range(6), range(6)):
            wanted = [float((asked[probe] * np.log1p((1 - new) / new * odds[user])).sum()) for new in SHARES]
            assert found[probe, user, 2 * place : 2 * place + 2] == pytest.approx(wanted, rel=1e-4, abs=1e-5)


def test_users_who_are_not_listed_share_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.risk.attacks import learned

    monkeypatch.setattr(learned, "LISTED", 5)
    monkeypatch.setattr(learned, "ALIKE", 3)
    split = by_half(habits(np.random.default_rng(4), 60, 12, 30))
    posterior = Attacker(split, SeededRandom(1)).posterior
    for one in (posterior, posterior.jointly()):
        matrix = spread(one)
        assert matrix.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-5)
        assert np.log(np.diag(matrix)) == pytest.approx(one.own, abs=1e-5)
        rounded = np.round(np.log(matrix) * 2**20)
        above = (rounded > np.diag(rounded)[:, None]).sum(axis=1)
        # Sums of two rounded numbers are off by one.
        assert np.abs(above - one.ranks().greater).max() <= 1
    assert np.abs(matrix.sum(axis=0) - 1).mean() < 5e-3


def spread(posterior: Posterior) -> np.ndarray:
    """The probabilities of all pairs."""
    matrix = np.exp(posterior.rest[:, None] + posterior.common)
    for row, listed, logs in zip(matrix, posterior.lists, posterior.logs, strict=True):
        row[listed[listed >= 0]] = np.exp(logs[listed >= 0])
    return matrix


def test_scores_are_those_of_all_pairs() -> None:
    split = by_half(habits(np.random.default_rng(5), 40, 12, 20))
    posterior = Attacker(split, SeededRandom(1)).posterior
    scores, matrix = posterior.scores(), np.rint(np.log(spread(posterior)) * 2**20)
    own = np.diag(matrix)
    assert np.abs(scores.genuine - own).max() <= 1
    assert scores.n == 40
    assert scores.m == 40 * 39
    assert np.abs(scores.ranks.greater - (matrix > own[:, None]).sum(axis=1)).max() <= 1


# The certificate


def test_the_certificate_is_below_the_exact_information() -> None:
    """Every trace of two events of users whose habits are known, with its probability: the PIE itself."""
    informed = 0
    for seed in range(4):
        generator = np.random.default_rng(seed)
        habit = generator.dirichlet(np.full(5, 0.5), 6) * 0.99 + 0.002
        who = np.repeat(np.arange(6), 60)
        known = Traces.of(who, [int(generator.choice(5, p=habit[user])) for user in who], domain=Domain(range(5)))
        traces = list(product(range(known.event_count), repeat=2))
        chances = np.array([[habit[user, a] * habit[user, b] for a, b in traces] for user in range(6)])
        exact = float((chances * np.log2(chances / chances.mean(axis=0))).sum() / 6)
        posterior = []
        for start in range(0, len(traces), 6):
            some = traces[start : start + 6]
            offsets = np.minimum(np.arange(7), len(some)) * 2
            target = Traces(offsets, np.array(some, np.int32).ravel(), known.event_count)
            posterior.append(spread(Attacker(Split(known, target), SeededRandom(1)).posterior))
        bits = float((chances * np.log2(6 * np.concatenate(posterior).T)).sum() / 6)
        assert bits <= exact + 1e-6
        informed += bits > 0.05
    assert informed >= 3


# All at once


def test_joint_margins_name_nearly_as_many_as_those_of_all_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.risk.attacks.learned.EVEN", 1e-6)
    named = {"alone": 0.0, "jointly": 0.0, "exact": 0.0}
    for seed in range(60):
        generator = np.random.default_rng(seed)
        n = int(generator.integers(3, 7))
        matrix = generator.dirichlet(np.full(n, 0.4), n) + 1e-4
        matrix /= matrix.sum(axis=1, keepdims=True)
        orders = np.array(list(permutations(range(n))))
        weights = np.prod(matrix[np.arange(n), orders], axis=1)
        margins = np.zeros((n, n))
        for order, weight in zip(orders, weights / weights.sum(), strict=True):
            margins[np.arange(n), order] += weight
        lists = np.tile(np.arange(n, dtype=np.int32), (n, 1))
        rest = np.full(n, -np.inf)
        posterior = Posterior(np.arange(n), lists, np.log(matrix), rest, np.zeros(n), np.zeros(n, np.bool_))
        jointly = spread(posterior.jointly())
        assert jointly.sum(axis=0) == pytest.approx(np.ones(n), abs=0.01)
        assert jointly.sum(axis=1) == pytest.approx(np.ones(n), abs=0.01)
        for name, table in (("alone", matrix), ("jointly", jointly), ("exact", margins)):
            named[name] += margins[np.arange(n), table.argmax(axis=1)].mean() / 60
    assert named["alone"] < named["jointly"] <= named["exact"] + 1e-12
    # Probabilities scaled as they are name 99.0% of it.
    assert named["jointly"] > 0.995 * named["exact"]


def test_strong_scores_do_not_overflow() -> None:
    """Half of the traces have scores far beyond what exponentials can hold, for users whom others want too."""
    generator, n = np.random.default_rng(1), 200
    scores = generator.normal(0, 300, (n, n)) + np.diag(np.where(np.arange(n) % 2, 1500, 600))
    scores -= scores.max(axis=1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    lists, rest = np.tile(np.arange(n, dtype=np.int32), (n, 1)), np.full(n, -np.inf)
    posterior = Posterior(np.arange(n), lists, logs, rest, np.zeros(n), np.zeros(n, np.bool_))
    alone, jointly = (one.ranks().hits().mean() for one in (posterior, posterior.jointly()))
    assert np.isfinite(posterior.jointly().logs).all()
    assert jointly >= alone > 0.5


def test_missing_traces_may_be_anybodys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.risk.attacks.learned.EVEN", 1e-6)
    split = by_half(habits(np.random.default_rng(6), 50, 12, 20, loyal=0.9))
    lengths = np.where(np.arange(50) % 5 == 0, 0, 6)
    fewer = Split(
        split.training, Traces(np.append(0, np.cumsum(lengths)), split.target.events[np.repeat(lengths > 0, 6)], 20)
    )
    jointly = spread(Attacker(fewer, SeededRandom(1)).posterior.jointly())
    assert jointly.shape == (40, 50)
    assert jointly.sum(axis=1) == pytest.approx(np.ones(40), abs=1e-3)
    assert (jointly.sum(axis=0) <= 1 + 1e-3).all()
    # Whose traces are missing is noticed, and not everybody has four fifths of one.
    there = lengths > 0
    assert jointly.sum(axis=0)[there].mean() > jointly.sum(axis=0)[~there].mean() + 0.02


# What it finds


def rare_places(generator: Random) -> Traces:
    """Everybody is mostly at popular places, and now and then at one of their own."""
    who = np.repeat(np.arange(200), 20)
    own = generator.random(len(who)) < 0.15
    return Traces.of(who, np.where(own, 100 + who, generator.integers(0, 10, len(who))))


def tastes_only(generator: Random) -> Traces:
    """Nothing is seen twice, but every pair of people keeps to a shelf of its own."""
    shelves = [generator.permutation(60)[:40] + 60 * (user // 2) for user in range(200)]
    return Traces.of(np.repeat(np.arange(200), 40), np.concatenate(shelves))


@pytest.mark.parametrize("world", [rare_places, tastes_only])
def test_permuted_names_leave_chance(world: Callable[[Random], Traces]) -> None:
    traces = world(np.random.default_rng(8))
    split = by_half(traces)
    mixed = Split(split.training, split.target.select(np.roll(np.arange(traces.users), 7)))
    attacker = Attacker(mixed, SeededRandom(1))
    for outcome in (attacker.learned, attacker.of_all_at_once()):
        assert outcome.ranks.hits().mean() < 5 / traces.users + 0.02


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_margins_are_those_of_all_pairs(share: float) -> None:
    """The right user's probability beside the largest one of another, listed or not, spelled out."""
    generator, m, n, listed = np.random.default_rng(3), 40, 7, 4
    lists = np.stack([generator.permutation(n)[:listed] for _ in range(m)])
    lists[generator.random(lists.shape) < share] = -1
    logs = np.where(lists >= 0, generator.normal(size=lists.shape), -np.inf)
    rest, common = generator.normal(size=m), generator.normal(size=n)
    users = generator.integers(0, n, m)
    found = Posterior(users, lists, logs, rest, common, np.zeros(m, np.bool_)).margins
    for trace, user in enumerate(users):
        row = rest[trace] + common
        for candidate, chance in zip(lists[trace], logs[trace], strict=True):
            if candidate >= 0:
                row[candidate] = chance
        assert found[trace] == pytest.approx(row[user] - np.delete(row, user).max())
