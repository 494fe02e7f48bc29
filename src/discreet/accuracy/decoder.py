"""The protocol of linear decoders: from a tally to unbiased frequencies, with exact errors."""

from typing import NamedTuple, Protocol, TypeAlias

from discreet.arrays import FloatArray

PerValue: TypeAlias = float | FloatArray
"""One number for all sensitive values, or ``(v,)`` numbers."""


class Variances(NamedTuple):
    """The coefficients A and B of n Var(p_hat_x) = A + B p_x - p_x^2, for both classes of values."""

    sensitive: tuple[PerValue, PerValue]
    clear: tuple[float, float]


class WorthRanges(NamedTuple):
    """The least and the largest contribution of any one report to an estimate, for both classes of values."""

    sensitive: tuple[PerValue, PerValue]
    clear: tuple[float, float]


class Decoder(Protocol):
    """The linear decoder of a mechanism: from its tallies to unbiased frequencies, with their exact errors."""

    def estimate(self, support: FloatArray, clear: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
        """Return the unbiased estimates of the ``(v,)`` sensitive frequencies and of the ``(N,)`` others.

        Args:
            support: ``(c v,)`` T, for each of c kinds of blocks in turn.
            clear: ``(N,)`` F.
            n: number of reports.
        """
        ...

    @property
    def worth_ranges(self) -> WorthRanges:
        """Return the least and the largest contribution of any one report to the estimate of a value."""
        ...

    def variances(self, sensitive_mass: float) -> Variances:
        """Return the coefficients of the variances, given p(X_S)."""
        ...

    def sum_covariance(
        self, sensitive: tuple[FloatArray, FloatArray], clear: FloatArray, n: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the covariance of each estimate with their sum; see `LinearDecoder.sum_covariance`."""
        ...

    def mse(self, n: int, sensitive: PerValue, squares: float) -> float:
        """Return E ||p_hat - p||^2, exactly, given the ``(v,)`` sensitive frequencies and ||p||^2."""
        ...

    def worst_case_mse(self, n: int) -> float:
        """Return the largest mean squared error over all distributions."""
        ...
