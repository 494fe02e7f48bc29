"""The linear decoder of mechanisms whose reports in clear carry a block of noise too.

So do the bits of the paper's uRAP (`clear_bits`). The decoder counts the blocks of all reports, which is unbiased only
where values are in a block independently (pi = rho); without blocks beside values in clear (`LinearDecoder`) errors are
smaller.
"""

from dataclasses import dataclass
from typing import ClassVar

from discreet.accuracy.decoder import PerValue
from discreet.accuracy.linear_decoder import LinearDecoder


@dataclass(frozen=True)
class DecoderBesideClear(LinearDecoder):
    """The linear decoder where every report has a block, also beside a value in clear."""

    clear_blocks: ClassVar[bool] = True

    def block_count(self, n: float, in_clear: PerValue) -> PerValue:
        """Return n: every report has a block."""
        del in_clear
        return n

    @property
    def _loss_in_clear(self) -> float:
        return self.noise

    def _beside_clear(self, share: PerValue, power: int) -> tuple[PerValue, PerValue]:
        del power
        return share, 0.0
