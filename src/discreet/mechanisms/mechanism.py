"""The interface of all mechanisms: block mechanisms, explicit channels, personalized mechanisms."""

from typing import TYPE_CHECKING, Any, Protocol

from discreet.arrays import BoolArray, IntArray
from discreet.core.domain import Domain
from discreet.core.guarantee import Guarantee
from discreet.core.random import RandomSource
from discreet.core.reports import Blocks, Column, Reports
from discreet.core.tally import Tally
from discreet.mechanisms.block_law import Counting
from discreet.mechanisms.decoders import Decoder
from discreet.mechanisms.evidence import Data, Evidence


class Mechanism(Protocol):
    """A mechanism: it makes reports on devices and counts them, and has a decoder and the evidence of reports."""

    @property
    def name(self) -> str:
        """The name in plans."""
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
        """The guarantee: the promised epsilon, and the realised one, from the integers of the sampler."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of a report."""
        ...

    @property
    def block_columns(self) -> tuple[Column, ...]:
        """The columns of a block."""
        ...

    @property
    def clear_blocks(self) -> bool:
        """True if reports in clear carry a block too."""
        ...

    def obfuscate_codes(self, codes: Any, *, random: RandomSource | None = None) -> Reports:
        """Obfuscate values that are given by their codes, ``(n,)`` integers in 0..|X| - 1."""
        ...

    def flaws(self, blocks: Blocks) -> BoolArray:
        """Return ``(m,)`` booleans: true for a block that no device can have sent."""
        ...

    def empty_tally(self) -> Tally:
        """Return the tally of no reports."""
        ...

    def tally(self, reports: Reports) -> Tally:
        """Return the tally of reports."""
        ...

    @property
    def tally_sizes(self) -> tuple[int, int]:
        """The numbers of counts of blocks and of values in clear in a tally."""
        ...

    def add_tally(self, reports: Reports, support: IntArray, clear: IntArray) -> None:
        """Add reports to the counts of a tally, in place."""
        ...

    @property
    def counts(self) -> Counting:
        """The counting of blocks, as a tally holds it."""
        ...

    def block_count(self, n: int, in_clear: int) -> int:
        """Return the number of blocks of n reports of which some are in clear."""
        ...

    def is_consistent(self, n: int, support: IntArray, clear: IntArray) -> bool:
        """Return true if nonnegative counts could be those of n reports."""
        ...

    @property
    def decoder(self) -> Decoder:
        """The linear decoder of tallies, with exact errors."""
        ...

    def evidence(self, data: Data) -> Evidence:
        """Return the evidence of reports, or of a tally of them."""
        ...


if TYPE_CHECKING:
    Face = Mechanism
else:
    # At run time its members would be taken for the defaults of fields.
    Face = object
