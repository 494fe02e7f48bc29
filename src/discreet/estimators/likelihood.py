"""The likelihood of blocks and values in clear: one concave function, whatever the mechanism.

A report is a block A of sensitive values, of likelihood 1 + c p(A) up to a constant, or a value in
clear, of likelihood p_x. All values that are not sensitive act as one, the *rest*, since inside
them the estimate is in proportion to the counts. So the unknown is a *point*: the v sensitive
frequencies and, where anything is not sensitive, the rest. Per report, in nats,

    F(point) = (1/n) (sum_i m_i ln(1 + c t_i) + M ln(rest)),  t = B p,

where row i of B is a block reported m_i times, and M reports are in clear. With z = c / (1 + c t)
and u = m z / (n c), the gradient of the homogeneous form (1 replaced by the sum of the point) is

    g = sum(u) + c B'u  on sensitive values,  g = sum(u) + M / (n rest)  on the rest;

point . g = 1 always, and max(g) - 1 bounds what F still misses.

Where values have promises of their own, a block's likelihood is 1 + sum(c_x p_x) over its members x. With c the largest
of these contrasts and k_x = c_x / c all of this holds with B diag(k) in the place of B.
"""

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import DataError, ParameterError
from discreet.mechanisms.block_law import Membership

# A stretch of three row vectors stays in the second-level cache.
_STRETCH = 8192


@dataclass(frozen=True, slots=True, eq=False)
class BlockLikelihood:
    """What was reported, as far as the likelihood is concerned.

    Attributes:
        membership: The reported blocks.
        contrast: c = e^epsilon - 1, from the epsilon that the sampler realises; > 0.
        clear: M, the number of reports in clear; None if every value is sensitive.
        shares: ``(v,)`` k, each value's own contrast divided by c, in (0, 1]; None if all have the same.
    """

    membership: Membership
    contrast: float
    clear: int | None = None
    shares: FloatArray | None = None

    def __post_init__(self) -> None:
        if not 0 < self.contrast < np.inf:
            raise ParameterError(f"contrast must be a finite number > 0, got contrast={self.contrast}.")
        if self.clear is not None and self.clear < 0:
            raise ParameterError(f"clear must be >= 0 or None, got clear={self.clear}.")
        if self.membership.size < 1:
            raise ParameterError("membership must have at least one sensitive value, got none.")
        if self.shares is not None and not (
            self.shares.shape == (self.membership.size,) and ((self.shares > 0) & (self.shares <= 1)).all()
        ):
            raise ParameterError(f"shares must be {self.membership.size} numbers in (0, 1], one per sensitive value.")
        if not self.reports > 0:
            raise DataError("There must be at least one report, got none.")

    @property
    def reports(self) -> float:
        """n, the number of reports."""
        multiplicity = self.membership.multiplicity
        blocks = self.membership.rows if multiplicity is None else np.add.reduce(multiplicity)
        return float(blocks) + (self.clear or 0)

    @property
    def length(self) -> int:
        """The length of a point: v, plus 1 if there is a rest."""
        return self.membership.size + (self.clear is not None)


class Products:
    """Products with the membership matrix B diag(k), counted; results are float64 whatever they ran in."""

    def __init__(self, likelihood: BlockLikelihood) -> None:
        self._membership, self._shares = likelihood.membership, likelihood.shares
        self.single = False
        self.count = 0

    @property
    def _precision(self) -> type[np.float32] | type[np.float64]:
        return np.float32 if self.single else np.float64

    @property
    def passes(self) -> float:
        """The products so far, in passes of one product and one transposed product."""
        return self.count / 2

    def dot(self, values: FloatArray) -> FloatArray:
        """Multiply B diag(k) by ``values``, shape ``(v,)``."""
        self.count += 1
        values = values if self._shares is None else values * self._shares
        product = self._membership.dot(np.ascontiguousarray(values, dtype=self._precision))
        return np.asarray(product, dtype=np.float64)

    def transpose_dot(self, weights: FloatArray) -> FloatArray:
        """Multiply the transpose of B diag(k) by ``weights``, shape ``(rows,)``."""
        self.count += 1
        product = self._membership.transpose_dot(weights.astype(self._precision, copy=False))
        found: FloatArray = np.asarray(product, dtype=np.float64)
        return found if self._shares is None else found * self._shares


class RowState:
    """z = c / (1 + c t) for every row, and sums over rows.

    A move along a direction d is described by ``ratios`` = c (B d) / (1 + c t), the relative
    change of the rows' likelihood per unit of step. Work is done stretch by stretch, so that
    temporaries stay in the cache, and sums are added in a fixed order, so that they do not depend
    on threads.
    """

    def __init__(self, likelihood: BlockLikelihood, members: FloatArray) -> None:
        """Start from ``members`` = t = B p, shape ``(rows,)``; the array is taken over."""
        c = likelihood.contrast
        # No row's likelihood 1 + c t shrinks by more, whatever rounding says.
        self._least = 1.0 / (1.0 + c)
        members *= c
        members += 1.0
        self.z: FloatArray = np.divide(c, members, out=members)
        self._multiplicity = likelihood.membership.multiplicity

    def weights(self) -> FloatArray:
        """Return m z, shape ``(rows,)``."""
        return self.z if self._multiplicity is None else self.z * self._multiplicity

    def curvature_weights(self) -> tuple[FloatArray, float]:
        """Return m z^2 divided by its greatest possible value per report, and that value.

        The square of a large contrast would not fit into single precision.
        """
        largest = float(self.z.max(initial=0.0)) or 1.0
        weights = self.z / largest
        weights *= weights
        if self._multiplicity is not None:
            weights *= self._multiplicity
        return weights, largest * largest

    def scale(self, products: FloatArray) -> FloatArray:
        """Turn B d into ratios, in place."""
        products *= self.z
        return products

    def slope(self, ratios: FloatArray, step: float) -> tuple[float, float]:
        """Sum the first derivative of the log-likelihood at a step, and minus the second."""
        first = second = 0.0
        for start in range(0, ratios.size, _STRETCH):
            part = slice(start, start + _STRETCH)
            relative = ratios[part] * step
            relative += 1.0
            np.maximum(relative, self._least, out=relative)
            np.divide(ratios[part], relative, out=relative)
            once = relative if self._multiplicity is None else relative * self._multiplicity[part]
            first += float(np.add.reduce(once))
            second += float(np.einsum("i,i->", once, relative))
        return first, second

    def move(self, ratios: FloatArray, step: float) -> FloatArray:
        """Move z; return the change of m z, in the array of the ratios, which is taken over."""
        for start in range(0, ratios.size, _STRETCH):
            part = slice(start, start + _STRETCH)
            change, z = ratios[part], self.z[part]
            change *= step
            change /= np.maximum(change + 1.0, self._least)
            change *= z
            z -= change
            np.negative(change, out=change)
            if self._multiplicity is not None:
                change *= self._multiplicity[part]
        return ratios
