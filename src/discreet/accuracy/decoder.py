"""What turns counts into an unbiased estimate, with its exact errors."""

from typing import NamedTuple, Protocol, TypeAlias

from discreet.arrays import FloatArray

PerValue: TypeAlias = float | FloatArray
"""One number for all sensitive values, or ``(v,)`` numbers."""


class Variances(NamedTuple):
    """The numbers A and B such that n Var(p_hat_x) = A + B p_x - p_x^2, for both classes of values."""

    sensitive: tuple[PerValue, PerValue]
    clear: tuple[float, float]


class Decoder(Protocol):
    """A linear decoder of one mechanism's tallies."""

    def estimate(self, support: FloatArray, clear: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Return the ``(v,)`` sensitive frequencies and the ``(N,)`` others.

        Args:
            support: ``(c v,)`` T, for each of c kinds of blocks in turn.
            clear: ``(N,)`` F.
            n: number of reports.
        """
        ...

    def variances(self, sensitive_mass: float) -> Variances:
        """Return what the variances follow from when p(X_S) is given."""
        ...

    def sum_covariance(
        self, sensitive: tuple[FloatArray, FloatArray], clear: FloatArray, n: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the covariance of each estimate with the sum of all of them; see `LinearDecoder.sum_covariance`."""
        ...

    def mse(self, n: int, sensitive: PerValue, squares: float) -> float:
        """Return E ||p_hat - p||^2, exactly, from the ``(v,)`` frequencies of the sensitive values and ||p||^2."""
        ...

    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error over all distributions."""
        ...
