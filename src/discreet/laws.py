"""The names that authors of block laws import, from one module, so that other modules may change.

    from discreet.laws import BlockLaw, BlockMechanism, Column, IndexedLaw, ValueCounts, uniform_below

A law whose block is one index with uniform noise is an `IndexedLaw`; any other law is a `BlockLaw`. CONTRIBUTING.md
lists the methods of both. examples/own_law is a complete package, and `discreet.testing.check_mechanism` tests it.

Example:
    >>> import discreet.laws
    >>> sorted(name for name in discreet.laws.__all__ if name.endswith("Law"))
    ['BlockLaw', 'ChosenLaw', 'IndexedLaw']
"""

from discreet.core.checks import checked_whole
from discreet.core.random import Coins, RandomSource, or_noise, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.errors import ParameterError
from discreet.mechanisms.block_law import (
    BlockCounts,
    BlockLaw,
    ChosenLaw,
    Counting,
    HitDistribution,
    IndexedLaw,
    ValueCounts,
)
from discreet.mechanisms.evidence import MemberLists, Membership, WholeAlphabet
from discreet.mechanisms.law import BlockMechanism, LawMechanism, sensitive_size

__all__ = [
    "BlockCounts",
    "BlockLaw",
    "BlockMechanism",
    "Blocks",
    "ChosenLaw",
    "Coins",
    "Column",
    "Counting",
    "HitDistribution",
    "IndexedLaw",
    "LawMechanism",
    "MemberLists",
    "Membership",
    "ParameterError",
    "RandomSource",
    "ValueCounts",
    "WholeAlphabet",
    "checked_whole",
    "or_noise",
    "sensitive_size",
    "smallest_unsigned",
    "uniform_below",
]
