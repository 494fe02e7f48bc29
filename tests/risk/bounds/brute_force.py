"""What the bounds are about, by trying every map from users to values: slow, and plain."""

from itertools import combinations, product
from typing import Any

import numpy as np


def information(joint: Any) -> float:
    """I(A;B) in nats of a joint table."""
    product_law = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product_law[seen])).sum())


def capacities(matrices: Any, steps: int = 400) -> tuple[Any, Any]:
    """The plain iteration of Blahut and Arimoto for ``(c, inputs, outputs)`` channels, with its ``(c,)`` bounds."""
    p = np.full(matrices.shape[:2], 1 / matrices.shape[1])
    own = (matrices * np.log(np.where(matrices > 0, matrices, 1.0))).sum(axis=2)
    for _ in range(steps):
        mixed = np.einsum("ck,cky->cy", p, matrices)
        d = own - np.einsum("cky,cy->ck", matrices, np.log(np.where(mixed > 0, mixed, 1.0)))
        low, high = (p * d).sum(axis=1), d.max(axis=1)
        if (high - low < 1e-9).all():
            break
        p *= np.exp(d - high[:, None])
        p /= p.sum(axis=1, keepdims=True)
    return low, high


def largest_capacity(matrix: Any, users: int) -> tuple[float, float]:
    """The largest capacity of any set of at most n inputs."""
    low, high = capacities(matrix[list(combinations(range(len(matrix)), min(users, len(matrix))))])
    return low.max(), high.max()


def best_success(matrix: Any, prior: Any, listed: int = 1) -> float:
    """The largest V_k over all maps from users to values."""
    maps = list(product(range(len(matrix)), repeat=len(prior)))
    joints = np.asarray(prior)[:, None] * matrix[maps]
    return float(np.sort(joints, axis=1)[:, -listed:].sum(axis=(1, 2)).max())


def success(joint: Any, listed: int = 1) -> float:
    """V_k of a joint table of users and reports."""
    return float(np.sort(joint, axis=0)[-listed:].sum())


def merged(matrix: Any) -> Any:
    """The matrix with reports put together whose likelihoods are in proportion: the same to any adversary."""
    columns = matrix[:, matrix.any(axis=0)]
    shapes = np.round(columns / columns.sum(axis=0), 11)
    _, kind = np.unique(shapes, axis=1, return_inverse=True)
    whole = np.zeros((len(matrix), kind.max() + 1))
    np.add.at(whole.T, kind.reshape(-1), columns.T)
    return whole


def sources(count: int, users: int, values: int, seed: int) -> list[tuple[Any, Any]]:
    """Random priors over users and laws of their values: spread out, spiky, and deterministic."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        sharp = (0.05, 0.3, 1.0)[number % 3]
        prior = random.dirichlet(np.full(users, 10.0 if number % 2 else sharp))
        values_of = random.dirichlet(np.full(values, sharp), size=users)
        if number % 5 == 0:
            values_of = np.eye(values)[random.integers(0, values, users)]
        found.append((prior, values_of))
    return found
