"""Pseudo-values: the worth of single reports to chosen values, and the likelihood of single reports."""

from typing import Any, Protocol

import numpy as np

from discreet.arrays import FloatArray
from discreet.core.domain import Domain
from discreet.core.reports import Reports
from discreet.mechanisms.decoders import Decoder

# Numbers that are worked out together, of which only those of the chosen values are kept.
_AT_ONCE = 1 << 22


class _Decoded(Protocol):
    """A mechanism with a domain and a decoder."""

    @property
    def domain(self) -> Domain: ...

    @property
    def decoder(self) -> Decoder: ...


class PseudoValues:
    """A mechanism that tells the worth of each of its reports."""

    def worth(self: _Decoded, reports: Reports, values: Any = None) -> FloatArray:
        """Return pseudo-values: ``(n, m)`` contributions of reports to the estimates of m values.

        A report's contribution to x has the mean 1 if its person's value is x, and else 0; so whatever is linear in
        such indicators can be worked out from contributions.

        Args:
            reports: n reports; they are gone through some at a time.
            values: m values of the domain; None for all.

        Raises:
            DataError: if there is no report, or none that the mechanism can have made, or a value is not in the domain.
            MismatchError: if the reports belong to another plan.

        Example:
            >>> import discreet as dc
            >>> mechanism = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0)
            >>> reports = mechanism.obfuscate(["yes"] * 70 + ["no"] * 30, random=dc.SeededRandom(1))
            >>> worth = mechanism.worth(reports, ["yes"])
            >>> bool(abs(worth.mean() - dc.estimate(mechanism, reports)["yes"].frequency) < 1e-12)
            True
        """
        codes = np.arange(self.domain.size) if values is None else self.domain.encode(values)
        rows = max(_AT_ONCE // self.domain.size, 1)
        if reports.n <= rows:
            return self.decoder.worth(reports)[:, codes]
        parts = (reports.part(start, start + rows) for start in range(0, reports.n, rows))
        return np.concatenate([self.decoder.worth(part)[:, codes] for part in parts])
