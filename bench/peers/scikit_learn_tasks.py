"""Attacks on traces that know nothing of discreet: likelihoods, kernels, and rankers of scikit-learn.

Every attack gives a matrix of scores of m released traces and n users. Rankers learn from the known events only: their
later half is attributed with the earlier one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds
from serving import serve
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier

NEGATIVES, DAY, HOUR = 24, 86_400, 3_600


@dataclass(frozen=True)
class Side:
    """The events of one side: of users who are known, or of traces."""

    owners: np.ndarray
    events: np.ndarray
    times: np.ndarray | None
    values: np.ndarray | None
    size: int
    kinds: int

    def some(self, rows: np.ndarray) -> "Side":
        """Return some of the rows."""
        parts = (None if part is None else part[rows] for part in (self.owners, self.events, self.times, self.values))
        return Side(*parts, self.size, self.kinds)

    def counts(self, keys: np.ndarray, size: int) -> np.ndarray:
        """Return how often each owner has each key."""
        matrix = np.zeros((self.size, size), np.float32)
        np.add.at(matrix, (self.owners, keys), 1)
        return matrix

    @property
    def places(self) -> np.ndarray:
        """The place of each event among those of its owner, and the number of these."""
        starts = np.searchsorted(self.owners, np.arange(self.size))
        return np.arange(len(self.owners)) - starts[self.owners]

    @property
    def steps(self) -> np.ndarray:
        """The rows whose next row has the same owner."""
        return np.flatnonzero(self.owners[1:] == self.owners[:-1])


Attack = Callable[[Side, Side], np.ndarray]


def tf_idf(known: Side, asked: Side) -> np.ndarray:
    """Compare counts by their cosine, weighted by rarity."""
    sides = [side.counts(side.events, side.kinds) for side in (asked, known)]
    rarity = np.log((1 + known.size) / (1 + (sides[1] > 0).sum(axis=0))) + 1
    units = [np.log1p(side) * rarity for side in sides]
    units = [unit / np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-9) for unit in units]
    return units[0] @ units[1].T


def shared_rarity(known: Side, asked: Side) -> np.ndarray:
    """Add the rarity of each event that both have."""
    sides = [side.counts(side.events, side.kinds) > 0 for side in (asked, known)]
    rarity = np.log((1 + known.size) / (1 + sides[1].sum(axis=0)))
    return (sides[0] * rarity) @ sides[1].T.astype(np.float32)


def latent(known: Side, asked: Side) -> np.ndarray:
    """Compare the projections on the largest singular vectors."""
    sides = [np.log1p(side.counts(side.events, side.kinds)) for side in (asked, known)]
    both = csr_array(np.vstack(sides) / np.sqrt(1 + sides[1].sum(axis=0)))
    rank = min(40, min(both.shape) - 1)
    left, sizes, _ = svds(both, k=rank, v0=np.ones(min(both.shape)))
    vectors = left * sizes
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return vectors[: asked.size] @ vectors[asked.size :].T


def _log_shares(counts: np.ndarray, strength: float) -> np.ndarray:
    usual = counts.sum(axis=0) + 0.5
    usual /= usual.sum()
    return np.log((counts + strength * usual) / (counts.sum(axis=1, keepdims=True) + strength)) - np.log(usual)


def _dirichlet(known: Side, asked: Side, keys: list[np.ndarray], size: int) -> np.ndarray:
    """Return likelihoods with a Dirichlet prior, whose strength is the likeliest for the earlier and later halves."""
    early, late = halves(known)
    cut = [keys[0][part] for part in (early, late)]
    learned, tested = known.some(early).counts(cut[0], size), known.some(late).counts(cut[1], size)
    worth = {one: float((tested * _log_shares(learned, one)).sum()) for one in (0.3, 1, 3, 10, 30, 100)}
    return asked.counts(keys[1], size) @ _log_shares(known.counts(keys[0], size), max(worth, key=worth.get)).T


def dirichlet(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the events, with a Dirichlet prior."""
    return _dirichlet(known, asked, [known.events, asked.events], known.kinds)


def bigrams(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the steps, with a Dirichlet prior around everybody's steps."""
    steps = [side.some(side.steps) for side in (known, asked)]
    keys = [
        side.events[side.steps].astype(np.int64) * side.kinds + side.events[side.steps + 1] for side in (known, asked)
    ]
    distinct, numbers = np.unique(np.concatenate(keys), return_inverse=True)
    return _dirichlet(*steps, np.split(numbers, [len(keys[0])]), len(distinct))


def _spread(counts: np.ndarray, width: float) -> np.ndarray:
    """Spread ``(n, d, h)`` counts over a circle of h."""
    size = counts.shape[2]
    gap = np.abs(np.arange(size)[:, None] - np.arange(size))
    near = np.exp(-(np.minimum(gap, size - gap) ** 2) / 2 / width**2)
    return counts @ (near / near.sum(axis=0)).astype(np.float32)


def _at_times(known: Side, asked: Side, events: list[np.ndarray], kinds: int) -> np.ndarray:
    parts = [side.times % DAY // 1800 for side in (known, asked)]
    keys = [event * 48 + part for event, part in zip(events, parts, strict=True)]
    counts = _spread(known.counts(keys[0], kinds * 48).reshape(known.size, kinds, 48), 2.0)
    return asked.counts(keys[1], kinds * 48) @ _log_shares(counts.reshape(known.size, -1), 3.0).T


def hours(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the half-hours of the day."""
    return _at_times(known, asked, [np.zeros_like(side.events) for side in (known, asked)], 1)


def events_at_hours(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the events at their half-hours."""
    return _at_times(known, asked, [known.events, asked.events], known.kinds)


def soon(known: Side, asked: Side) -> np.ndarray:
    """Prefer users whose last known event is shortly before the first of the trace."""
    last, first = np.full(known.size, -np.inf), np.full(asked.size, np.inf)
    np.maximum.at(last, known.owners, known.times)
    np.minimum.at(first, asked.owners, asked.times)
    gap = first[:, None] - last
    return -np.log1p(np.where(gap >= 0, gap, 1e9))


def dates(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the dates."""
    start = min(known.times.min(), asked.times.min())
    days = [(side.times - start) // DAY for side in (known, asked)]
    size = int(max(day.max() for day in days)) + 1
    smooth = gaussian_filter1d(known.counts(days[0], size), 5.0, axis=1, mode="constant")
    return asked.counts(days[1], size) @ _log_shares(smooth, 3.0).T


def _kernel(known: Side, asked: Side, width: float, *, hourly: bool) -> np.ndarray:
    """Return the likelihood by a kernel of numbers or places; given the hour if ``hourly``."""
    scores = np.zeros((asked.size, known.size))
    weights = np.ones((len(asked.owners), len(known.owners)), np.float32)
    if hourly:
        gap = np.abs(asked.times[:, None] % DAY - known.times % DAY) / HOUR
        weights = np.exp(-(np.minimum(gap, 24 - gap) ** 2) / 2 / 1.2**2).astype(np.float32)
    far = ((asked.values[:, None] - known.values) ** 2).sum(axis=2)
    near = weights * np.exp(-far / 2 / width**2)
    starts = np.searchsorted(known.owners, np.arange(known.size))
    odds = (np.add.reduceat(near, starts, axis=1) + 1e-3) / (np.add.reduceat(weights, starts, axis=1) + 0.2)
    np.add.at(scores, asked.owners, np.log(odds))
    return scores


def _width(known: Side) -> float:
    return 0.25 * float(known.values.std())


def values(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the numbers or places, by a kernel."""
    return _kernel(known, asked, _width(known), hourly=False)


def near_values(known: Side, asked: Side) -> np.ndarray:
    """Return the same with a narrow kernel."""
    return _kernel(known, asked, _width(known) / 4, hourly=False)


def values_at_hours(known: Side, asked: Side) -> np.ndarray:
    """Return the likelihood of the numbers or places given the hour."""
    return _kernel(known, asked, _width(known) / 2, hourly=True)


def halves(known: Side) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the earlier and of the later half of each user's known events."""
    lengths = np.bincount(known.owners, minlength=known.size)
    early = known.places < lengths[known.owners] // 2
    return np.flatnonzero(early), np.flatnonzero(~early)


def plain(known: Side) -> dict[str, Attack]:
    """Return the plain attacks that the columns allow."""
    attacks = [tf_idf, shared_rarity, latent, dirichlet, bigrams]
    attacks += [] if known.times is None else [hours, events_at_hours, soon, dates]
    attacks += [] if known.values is None else [values, near_values]
    attacks += [] if known.values is None or known.times is None else [values_at_hours]
    return {attack.__name__: attack for attack in attacks}


def features(alone: dict[str, np.ndarray]) -> np.ndarray:
    """Return the ``(m, n, f)`` scores of the plain attacks, standardised, and how far each is from the best."""
    views = []
    for scores in alone.values():
        spread = np.maximum(scores.std(axis=1, keepdims=True), 1e-9)
        views += [(scores - scores.mean(axis=1, keepdims=True)) / spread]
        views += [np.maximum((scores - scores.max(axis=1, keepdims=True)) / spread, -6)]
    return np.stack(views, axis=2).astype(np.float32)


def lesson(pairs: np.ndarray, right: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of right pairs and of some wrong pairs, and which are right."""
    rng, (m, n) = np.random.default_rng(seed), pairs.shape[:2]
    wrong = (right[:, None] + 1 + rng.integers(0, n - 1, (m, NEGATIVES))) % n
    # Half of the wrong users are those who look right.
    hard = np.argsort(-pairs[:, :, 0::2].sum(axis=2), axis=1)[:, : NEGATIVES // 2]
    wrong[:, : NEGATIVES // 2] = np.where(hard == right[:, None], wrong[:, : NEGATIVES // 2], hard)
    rows = np.arange(m)[:, None]
    given = np.concatenate([pairs[np.arange(m), right], pairs[rows, wrong].reshape(-1, pairs.shape[2])])
    return given, np.arange(len(given)) < m


def ranked(model: object, taught: tuple[np.ndarray, np.ndarray], pairs: np.ndarray) -> np.ndarray:
    """Return scores by a classifier of pairs."""
    model.fit(*taught)
    flat = pairs.reshape(-1, pairs.shape[2])
    odds = model.decision_function(flat) if hasattr(model, "decision_function") else model.predict_proba(flat)[:, 1]
    return odds.reshape(pairs.shape[:2])


def self_taught(pairs: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Learn once more, from the traces that the first round gives to somebody most clearly."""
    traces, given = linear_sum_assignment(-scores)
    ordered = np.sort(scores, axis=1)
    sure = np.argsort(-(ordered[:, -1] - ordered[:, -2])[traces])[: max(len(traces) // 2, 20)]
    chosen, right = traces[sure], given[sure]
    return ranked(LogisticRegression(max_iter=1000, C=0.3), lesson(pairs[chosen], right, 2), pairs)


def classified(known: Side, asked: Side) -> np.ndarray:
    """Return the scores of users by a linear classifier of short pieces of known events."""
    pieces = known.places // 4
    codes = known.owners * (pieces.max() + 1) + pieces
    distinct, numbers = np.unique(codes, return_inverse=True)
    bags = csr_array((np.ones(len(numbers)), (numbers, known.events)), shape=(len(distinct), known.kinds))
    model = RidgeClassifier().fit(bags, distinct // (pieces.max() + 1))
    scores = np.full((asked.size, known.size), -50.0)
    scores[:, model.classes_] = model.decision_function(asked.counts(asked.events, asked.kinds))
    return scores


def attack(path: str) -> dict[str, dict[str, list[int]]]:
    """Return, for each rival by name, whether it identifies each trace; traces are in the order of their users."""
    with np.load(path, allow_pickle=False) as file:
        given = dict(file)
    size, kinds = int(given["size"]), int(given["kinds"])
    sides = [
        Side(*(given.get(f"{name}_{part}") for part in ("owners", "events", "times", "values")), size, kinds)
        for name in ("known", "asked")
    ]
    known, asked = sides
    if known.values is not None:
        centre, spread = known.values.mean(axis=0), known.values.std(axis=0)
        if known.values.shape[1] == 1:
            # By ranks, because numbers may be of any scale.
            order = np.sort(known.values[:, 0])
            known, asked = (
                replace(side, values=np.searchsorted(order, side.values) / len(order)) for side in (known, asked)
            )
        else:
            known, asked = (replace(side, values=(side.values - centre) / spread) for side in (known, asked))
    alone = {name: one(known, asked) for name, one in plain(known).items()}
    early, late = halves(known)
    cut = known.some(early), known.some(late)
    pairs = features({name: one(*cut) for name, one in plain(known).items()})
    taught, new = lesson(pairs, np.arange(size), 1), features(alone)
    alone["classifier"] = classified(known, asked)
    alone["logistic ranker"] = ranked(LogisticRegression(max_iter=1000, C=0.3), taught, new)
    boosted = HistGradientBoostingClassifier(max_iter=80, learning_rate=0.1, random_state=1)
    alone["boosted ranker"] = ranked(boosted, taught, new)
    forest = ExtraTreesClassifier(80, min_samples_leaf=3, random_state=1)
    alone["forest ranker"] = ranked(forest, taught, new)
    alone["self-taught ranker"] = self_taught(new, alone["logistic ranker"])
    found = {name: {"alone": _right(scores), "jointly": _matched(scores)} for name, scores in alone.items()}
    mixed = sum(_standard(alone[name]) for name in ("logistic ranker", "boosted ranker", "self-taught ranker"))
    found["mixed rankers"] = {"alone": _right(mixed), "jointly": _matched(mixed)}
    return found


def _standard(scores: np.ndarray) -> np.ndarray:
    return (scores - scores.mean(axis=1, keepdims=True)) / np.maximum(scores.std(axis=1, keepdims=True), 1e-9)


def _right(scores: np.ndarray) -> list[int]:
    order = np.random.default_rng(3).permutation(scores.shape[1])
    return (order[scores[:, order].argmax(axis=1)] == np.arange(len(scores))).astype(int).tolist()


def _matched(scores: np.ndarray) -> list[int]:
    # In random order, because equal scores would be matched in the order of users.
    order = np.random.default_rng(3).permutation(scores.shape[1])
    return (order[linear_sum_assignment(-scores[:, order])[1]] == np.arange(len(scores))).astype(int).tolist()


if __name__ == "__main__":
    serve({"attack": attack})
