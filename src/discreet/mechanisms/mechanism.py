"""The one face of everything that makes reports: block mechanisms, explicit channels, personalized mechanisms."""

from typing import Any, Protocol

from discreet.arrays import BoolArray, IntArray
from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee
from discreet.core.random import RandomSource
from discreet.core.reports import Blocks, Column, Reports
from discreet.core.tally import Tally
from discreet.mechanisms.decoders import Decoder
from discreet.mechanisms.evidence import Data, Evidence


class Mechanism(Protocol):
    """Makes reports on devices, counts them, and says how a tally is decoded and what a likelihood reads."""

    @property
    def name(self) -> str:
        """Its name in plans."""
        ...

    @property
    def domain(self) -> Domain:
        """The values."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of everything that the meaning of a report depends on."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, and what the sampler's integers realise."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """How a report is written down."""
        ...

    @property
    def block_columns(self) -> tuple[Column, ...]:
        """How a block is written down."""
        ...

    @property
    def clear_blocks(self) -> bool:
        """Whether reports in clear carry a block too."""
        ...

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Obfuscate values that are given by their codes, ``(n,)`` integers in 0..|X| - 1."""
        ...

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: which blocks no device can have sent."""
        ...

    def empty_tally(self) -> Tally:
        """Return the zero of addition."""
        ...

    def tally(self, reports: Reports) -> Tally:
        """Count what estimation needs."""
        ...

    def add_tally(self, reports: Reports, support: IntArray, clear: IntArray) -> None:
        """Add what `tally` counts, in place."""
        ...

    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return whether nonnegative counts could be those of n reports."""
        ...

    @property
    def decoder(self) -> Decoder:
        """From tallies to linear estimates, with exact errors."""
        ...

    def evidence(self, data: Data) -> Evidence:
        """Return what the likelihood of reports, or of a tally of them, reads."""
        ...
