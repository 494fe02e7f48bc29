"""Attacks on reports: linear in theta where noise is noise, and by likelihood everywhere."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any, Self

import numpy as np
import pytest

from discreet import (
    Channel,
    Domain,
    HadamardResponse,
    LocalHashing,
    RandomizedResponse,
    Reports,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
)
from discreet.errors import DataError, DiscreetError
from discreet.mechanisms import BlockMechanism
from discreet.risk.attacks.reports import (
    UNIT,
    match_reports,
    reports_matcher,
    smoothing,
)
from discreet.risk.attacks.traces import SMALLEST, match
from discreet.risk.scores import Scores
from discreet.risk.traces import Split, Traces, by_count, by_half
from packing import each
from refusals import refused
from slow_matching import events_of

PLACES = 9
MECHANISMS: dict[str, Callable[[Domain], BlockMechanism]] = {
    "rr": lambda domain: RandomizedResponse(domain, 2.0),
    "unary": lambda domain: UnaryEncoding(domain, 2.0),
    "clear bits": lambda domain: UnaryEncoding(domain, 2.0, clear_bits=True),
    "subsets": lambda domain: SubsetSelection(domain, 1.0),
    "hadamard": lambda domain: HadamardResponse(domain, 2.0),
    "hashing": lambda domain: LocalHashing(domain, 2.0, g=4),
    "hashing to many": lambda domain: LocalHashing(domain, 2.0, g=1000),
}


def draw(seed: int, users: int = 30, least: int = 2) -> Traces:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(least, 8, users)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    events = np.minimum(rng.geometric(0.3, offsets[-1]) - 1, PLACES - 1)
    return Traces(offsets, events.astype(np.int32), PLACES)


def members_of(mechanism: BlockMechanism, reports: Reports) -> list[tuple[bool, list[int]]]:
    """For every report, whether it is in clear, and the values that it may stand for."""
    domain = mechanism.domain
    told = np.zeros(reports.n, dtype=bool) if reports.in_clear is None else reports.in_clear
    contained = mechanism.law.contains(mechanism.blocks_of_unknown(reports))
    blocks = iter([domain.sensitive_codes[row].tolist() for row in contained])
    clear = iter(reports.clear.tolist())
    return [(True, [next(clear)]) if one else (False, next(blocks)) for one in told]


@dataclass
class Smoothing:
    """The share of anybody's visits, the number that is added, their mean weight, and all visits."""

    share: float
    added: float
    weight: float
    visits: list[int]

    @classmethod
    def of(cls, split: Split, events: int) -> Self:
        return cls(*smoothing(split, events), split.training.events.tolist())

    def worth(self, known: list[int], values: list[int], worths: list[float], noise: float) -> tuple[float, float]:
        """The log-likelihood ratio to anybody of a stranger, and of somebody known to a stranger."""
        popular = sum(self.visits.count(x) / len(self.visits) * c for x, c in zip(values, worths, strict=True))
        own = (1 - self.share) / (len(known) + self.added)
        share = sum(known.count(x) * own * c for x, c in zip(values, worths, strict=True))
        if not noise and not popular:
            return log(self.weight), 0.0
        stranger, somebody = noise + self.weight * popular, noise + share + self.weight * popular
        return log(stranger / (noise + popular)), log(somebody / stranger)


def score(known: list[int], listed: list[tuple[bool, list[int]]], c: float, law: Smoothing) -> float:
    total = 0.0
    for in_clear, values in listed:
        noise, each = (0.0, 1.0) if in_clear else (1.0, c)
        total += sum(law.worth(known, values, [each] * len(values), noise))
    return total


def assert_close(found: Scores, users: np.ndarray, matrix: np.ndarray) -> None:
    """Compare with a matrix of the same scores, in nats: numbers that differ by rounding are the same."""
    own = matrix[np.arange(len(users)), users]
    np.testing.assert_allclose(found.genuine * found.unit, own, atol=1e-10)
    rounded = np.round(matrix, 9)
    mine = rounded[np.arange(len(users)), users][:, None]
    assert found.ranks.users.tolist() == users.tolist()
    assert found.ranks.greater.tolist() == (rounded > mine).sum(axis=1).tolist()
    assert found.ranks.ties.tolist() == (rounded == mine).sum(axis=1).tolist()


SOME = (0, 2, 3, 7)
# Where all is sensitive nothing is ever in clear, with bits or without.
CASES = [(name, some) for name in MECHANISMS for some in (None, SOME) if some or name != "clear bits"]


@each("name, sensitive", CASES)
@each("events", [1, 3])
def test_reports_are_scored_by_their_likelihood(name: str, sensitive: tuple[int, ...] | None, events: int) -> None:
    made = MECHANISMS[name](Domain(range(PLACES), sensitive=sensitive))
    whole = by_count(draw(events, least=0), 2)
    sent = whole.target.first(events)
    reports = made.obfuscate_codes(sent.events, random=SeededRandom(1))
    listed = members_of(made, reports)
    users = np.flatnonzero(sent.lengths)
    own = [listed[a:b] for a, b in zip(sent.offsets[:-1], sent.offsets[1:], strict=True)]
    law = Smoothing.of(whole, events)
    matrix = np.array(
        [[score(known, own[user], made.contrast, law) for known in events_of(whole.training)] for user in users]
    )
    found = match_reports(whole, made, events=events, random=SeededRandom(1))
    assert_close(found, users, matrix)
    assert found.unit == UNIT


def test_a_mechanism_and_its_matrix_find_the_same_users() -> None:
    mechanism = RandomizedResponse(Domain(range(PLACES)), 1.5)
    channel = mechanism.channel()
    whole = by_half(draw(8, users=60))
    sent = whole.target.first(1)
    reports = mechanism.obfuscate_codes(sent.events, random=SeededRandom(4))
    found = match(reports_matcher(whole, mechanism, random=SeededRandom(4)))

    class Fixed(Channel):
        def obfuscate_codes(self, codes: Any, *, random: Any = None) -> Reports:
            nothing = np.empty(0, dtype=np.uint8)
            return Reports(self.fingerprint, 60, None, nothing, {"output": reports.blocks["symbol"]})

    spelled = match_reports(whole, Fixed(channel.matrix, channel.domain))
    assert found.ranks.greater.tolist() == spelled.ranks.greater.tolist()
    assert found.ranks.ties.tolist() == spelled.ranks.ties.tolist()


@pytest.mark.parametrize(
    ("kind", "attempt"),
    [
        (DataError, lambda w: match_reports(w, RandomizedResponse(Domain(range(5)), 1.0))),
        (DataError, lambda w: match_reports(w, Channel(np.eye(5)))),
        (DataError, lambda w: match_reports(w, RandomizedResponse(Domain(range(PLACES)), 1.0), events=0)),
    ],
)
def test_refusals(kind: type[DiscreetError], attempt: Callable[[Split], Any]) -> None:
    whole = by_half(draw(12))
    refused(kind, lambda: attempt(whole))


def planted(users: int, weight: float, length: int = 30) -> Split:
    """Users with two favourites of 200 places, who go where anybody goes with the given probability."""
    rng = np.random.default_rng(16)
    popular = 1 / np.arange(1, 201)
    anywhere = rng.choice(200, (users, 2 * length), p=popular / popular.sum())
    favourites = rng.integers(200, size=(users, 2))
    chosen = np.take_along_axis(favourites, rng.integers(2, size=anywhere.shape), axis=1)
    events = np.where(rng.random(anywhere.shape) < weight, anywhere, chosen).astype(np.int32)
    return by_half(Traces(np.arange(users + 1) * 2 * length, events.ravel(), 200))


def test_shares_are_smoothed_where_people_do_new_things(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, mechanism = planted(300, 0.6), RandomizedResponse(Domain(range(200)), 5.0)
    smoothed = match_reports(whole, mechanism, events=20, random=SeededRandom(1)).success()
    monkeypatch.setattr("discreet.risk.attacks.reports.smoothing", lambda *_: (0.0, 0.0, SMALLEST))
    assert smoothed > 1.15 * match_reports(whole, mechanism, events=20, random=SeededRandom(1)).success()
