"""A line search on the log-likelihood that needs no pass over the reports."""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.estimators.likelihood import Rows
from discreet.estimators.quadratic import Face

# The step is near enough to the best on its line when the slope there is this part of the slope at
# its start.
_FLAT = 0.1
_MOST_TRIALS = 60
# At most this much longer from one trial length to the next.
_GROWTH = 10.0


@dataclass(slots=True, eq=False)
class Line:
    """The log-likelihood along the direction that the rows took, by the length of the step."""

    rows: Rows
    clear: int = 0
    clear_ratio: float = 0.0
    rows_bend: float = 0.0

    def slope(self, length: float) -> tuple[float, float]:
        """The first derivative, and minus the second, summed over reports."""
        first, second = self.rows.slope(length)
        self.rows_bend = second
        if self.clear > 0:
            relative = self.clear_ratio / (1.0 + length * self.clear_ratio)
            first += self.clear * relative
            second += self.clear * relative * relative
        return first, second

    def search(self, slope: float, longest: float) -> float:
        """Find about where the slope vanishes, at most at ``longest``."""
        low, high, length = 0.0, np.inf, min(1.0, longest)
        for _ in range(_MOST_TRIALS):
            here, bend = self.slope(length)
            if abs(here) <= _FLAT * slope or (here > 0 and length >= longest):
                break
            low, high = (length, high) if here > 0 else (low, length)
            newton = length + here / bend if bend > 0 else np.inf
            if not low < newton < high:
                # Newton's method leaves the bracket only where the bend changes fast.
                newton = (low + high) / 2
            length = min(newton, _GROWTH * length, longest)
        return length


def longest_length(point: FloatArray, step: FloatArray, face: Face) -> float:
    """Return the largest length at which the step stays on the face; at least 1."""
    down = step < 0
    room = (point[down] - face.floor[down]) / -step[down]
    # The model's step itself ends on the face, whatever rounding says.
    return max(1.0, float(room.min(initial=np.inf)))
