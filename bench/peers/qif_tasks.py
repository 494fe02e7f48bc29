"""What qif takes: its iterative Bayesian update on the matrix of a mechanism, and its Shannon capacity of it."""

import numpy as np
import qif
from reconstruction import reconstructed
from serving import seconds, serve

REPEATS = 3


def ibu(matrix: list[list[float]], shares: list[float], gap: float) -> object:
    """Reconstruct from the uniform distribution until ``gap`` is reached."""
    channel, seen = np.array(matrix), np.array(shares)
    start = qif.probab.uniform(channel.shape[0])

    def passes(most: int) -> np.ndarray:
        return qif.channel.iterative_bayesian_update(channel, seen, start, max_diff=0.0, max_iter=most)[0]

    return reconstructed(passes, channel, seen, gap)


def capacity(matrix: list[list[float]], precision: float) -> object:
    """Return the additive Shannon capacity, in bits, and the seconds that it takes."""
    channel = np.array(matrix)
    found, _ = qif.measure.shannon.add_capacity(channel, precision)
    spent = [seconds(lambda: qif.measure.shannon.add_capacity(channel, precision)) for _ in range(REPEATS)]
    return {"bits": float(found), "seconds": sorted(spent)[REPEATS // 2]}


if __name__ == "__main__":
    serve({"ibu": ibu, "capacity": capacity})
