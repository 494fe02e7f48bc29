"""The matrix of zeros and ones spelled out, and the certificate by another formula."""

import numpy as np

from discreet.mechanisms.evidence import Membership


class DenseMembership(Membership):
    """Blocks as the rows of a matrix; float32 in, float32 out."""

    rows = size = multiplicity = None

    def __init__(self, matrix, multiplicity=None):
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.multiplicity = multiplicity
        self.rows, self.size = self.matrix.shape
        self.calls = []

    def dot(self, values):
        self.calls.append(values.dtype)
        return self.matrix.astype(values.dtype) @ values

    def transpose_dot(self, weights):
        self.calls.append(weights.dtype)
        return (self.matrix.T.astype(weights.dtype) @ weights).astype(np.float64)

    def weights(self):
        return np.ones(self.rows) if self.multiplicity is None else self.multiplicity


def channel_gap(membership, contrast, clear, point):
    """max_x (1/n) sum_y n_y Q(y|x)/q_y - 1, with Q spelled out: a column per row and one for the rest."""
    channel = 1 + contrast * membership.matrix.T
    counts = membership.weights()
    if clear is not None:
        channel = np.vstack([channel, np.ones(membership.rows)])
        channel = np.hstack([channel, np.eye(len(channel))[:, -1:]])
        counts = np.append(counts, clear)
    q, seen = point @ channel, counts > 0
    return float((channel[:, seen] @ (counts[seen] / q[seen])).max() / counts.sum() - 1)


def log_likelihood(membership, contrast, clear, point):
    """Per report, in nats."""
    size, counts = membership.size, membership.weights()
    total = counts @ np.log1p(contrast * membership.matrix @ point[:size])
    if clear:
        total += clear * np.log(point[-1])
    return total / (counts.sum() + (clear or 0))


def random_problem(seed):
    """Any blocks at all: full, empty, identical, singletons, bits; any contrast; with and without a rest."""
    random = np.random.default_rng(seed)
    size, rows = int(random.choice([1, 2, 3, 8, 30])), int(random.choice([0, 1, 2, 20, 300]))
    epsilon = float(random.choice([0.01, 0.1, 1, 3, 6, 10, 20]))
    clear = [None, 0, 1, 500, 10**6][random.integers(5)]
    clear = 3 if rows == 0 and not clear else clear
    matrix = [
        random.random((rows, size)) < random.choice([0.02, 0.1, 0.5, 0.9]),
        np.tile(random.random(size) < 0.5, (rows, 1)),
        np.ones((rows, size)),
        np.zeros((rows, size)),
        np.eye(size)[random.integers(0, size, rows)],
    ][random.integers(5)]
    multiplicity = random.integers(1, 100, rows).astype(float) if random.random() < 0.3 else None
    length = size + (clear is not None)
    start = [random.normal(0, 1, length), np.full(length, -5.0), np.zeros(length)][random.integers(3)]
    return DenseMembership(matrix, multiplicity), float(np.expm1(epsilon)), clear, start
