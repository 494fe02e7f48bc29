"""The linear estimate, from which all other estimators start, with its errors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.core.confidence_intervals import score_ends
from discreet.core.covariance import Covariance
from discreet.core.domain import Domain
from discreet.core.tally import Tally
from discreet.errors import ParameterError
from discreet.mechanisms.decoders import Decoder
from discreet.mechanisms.evidence import Data, Evidence
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.tally_intervals import TallyIntervals

# Values at a time: what is in between stays in the cache.
_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class LinearStart:
    """The evidence of a batch, and its linear estimate.

    Attributes:
        domain: the values.
        fingerprint: of the plan.
        decoder: the linear decoder of the mechanism.
        evidence: the tally, and the terms of the likelihood of its reports.
    """

    domain: Domain
    fingerprint: str
    decoder: Decoder
    evidence: Evidence

    @classmethod
    def of(cls, mechanism: Mechanism, data: Data) -> "LinearStart":
        """Return the start of reports, or of a tally of them, after checks.

        Raises:
            ParameterError: if ``mechanism`` is no mechanism.
            DataError: if there is no report, or none that this mechanism makes.
            MismatchError: if they belong to another plan.
        """
        if not callable(getattr(type(mechanism), "evidence", None)):
            raise ParameterError(f"mechanism must be what made the reports, got {type(mechanism).__name__}.")
        evidence = mechanism.evidence(data)
        return cls(mechanism.domain, mechanism.fingerprint, mechanism.decoder, evidence)

    @property
    def tally(self) -> Tally:
        """The counts."""
        return self.evidence.tally

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.tally.n

    @cached_property
    def linear(self) -> FloatArray:
        """``(|X|,)`` unbiased estimates."""
        return self.decoder.decode(self.tally)

    @cached_property
    def second_moments(self) -> tuple[FloatArray, FloatArray]:
        """``(A, B)`` such that n Var(p_hat_x) = A + B p - p^2."""
        return self.decoder.second_moments(self.tally, self.linear)

    @property
    def intervals(self) -> TallyIntervals:
        """The intervals that the tally gives, whatever the point estimate is."""
        return TallyIntervals(self.decoder, self.tally, self.linear)

    @cached_property
    def spread(self) -> Covariance | None:
        """The covariance of the linear estimates, unbiased; None where it needs reports that are not at hand."""
        return self.decoder.covariance(self.evidence, self.linear)

    def variance(self, at: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` variances of the linear estimates where the true frequencies are ``at``."""
        return _variance(at, self.second_moments, self.n)

    @property
    def linear_errors(self) -> FloatArray:
        """``(|X|,)`` standard errors of the linear estimates; 0 only where there is one value, so that it is known.

        Where nothing of a value was seen, or nothing else, the variance at the estimate is 0 because all reports agree,
        not because the truth is known. There it is the larger variance at the two ends of the score interval of
        one standard deviation: about that of one report more or less, or the noise where that is more.
        """
        return self._own_spread[0]

    @property
    def unseen(self) -> BoolArray:
        """``(|X|,)`` booleans: true for an estimate with a standard error below half a report, by its own variance."""
        return self._own_spread[1]

    @cached_property
    def _own_spread(self) -> tuple[FloatArray, BoolArray]:
        # Where the truth is the linear estimate itself.
        size, shape = self.domain.size, self.linear.shape
        constant, slope, n = (np.broadcast_to(one, shape) for one in (*self.second_moments, self.n))
        errors, unseen = np.empty(shape), np.zeros(shape, dtype=np.bool_)
        for start in range(0, size, _CHUNK):
            part = ..., slice(start, start + _CHUNK)
            each, p = errors[part], self.linear[part]
            np.subtract(slope[part], p, out=each)
            each *= p
            each += constant[part]
            # What rounding leaves below 0 is among these few.
            few = each < 0.25 / self.n
            each[few] = np.maximum(each[few], 0)
            unseen[part] = few & (size > 1)
            # n - 1: with the data's own mean in it, this is unbiased.
            each *= 1 / np.maximum(self.n - 1, 1)
            np.sqrt(each, out=each)
        if unseen.any():
            constant, slope, n = constant[unseen], slope[unseen], n[unseen]
            ends = (np.clip(end, 0, 1) for end in score_ends(self.linear[unseen], (constant, slope), n, 1.0))
            plausible = np.maximum(*(_variance(end, (constant, slope), n) for end in ends))
            errors[unseen] = np.maximum(np.sqrt(plausible), errors[unseen])
        return errors, unseen

    @cached_property
    def safe_variance(self) -> FloatArray:
        """``(|X|,)`` variances, above 0: as if each value had been seen once at least."""
        return np.maximum(self.variance(np.clip(self.linear, 1 / self.n, 1)), 1 / float(self.n) ** 2)

    def covariance_with_sum(self, frequencies: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the ``(|X|,)`` covariances of estimates of these variances with their sum."""
        return self.decoder.covariance_with_sum(self.tally, frequencies, variance)


def _variance(at: FloatArray, second_moments: tuple[FloatArray, FloatArray], n: int | IntArray) -> FloatArray:
    """Return (A + B p - p^2) / n at p, where rounding leaves it above 0."""
    constant, slope = second_moments
    found: FloatArray = np.empty(len(at))
    square = np.empty(min(_CHUNK, len(at)))
    for start in range(0, len(at), _CHUNK):
        part = slice(start, start + _CHUNK)
        p, each = at[part], found[part]
        np.multiply(slope[part], p, out=each)
        each += constant[part]
        each -= np.multiply(p, p, out=square[: len(p)])
        np.maximum(each, 0, out=each)
        each /= n[part] if isinstance(n, np.ndarray) else n
    return found
