"""The face for authors of block laws: all that they import, so that the rooms behind it may move.

    from discreet.laws import BlockMechanism, Column, EvenLaw, IndexedLaw, ValueCounts, uniform_below

A law whose block is one index, uniform as noise, is an `IndexedLaw`; one with a single pi an `EvenLaw`; any other a
`CommonLaw`. CONTRIBUTING.md says what each asks for; examples/own_law is a whole package, and
`discreet.testing.check_mechanism` its test.

Example:
    >>> import discreet.laws
    >>> sorted(name for name in discreet.laws.__all__ if name.endswith("Law"))
    ['BlockLaw', 'CommonLaw', 'EvenLaw', 'IndexedLaw']
"""

from discreet.core.checks import checked_whole
from discreet.core.coins import Coins, or_noise
from discreet.core.random import RandomSource, uniform_below
from discreet.core.reports import Blocks, Column, smallest_unsigned
from discreet.leakage.hits import HitDistribution
from discreet.mechanisms.block_law import BlockLaw, CommonLaw, EvenLaw
from discreet.mechanisms.counting import BlockCounts, Counting, ValueCounts
from discreet.mechanisms.indexed import IndexedLaw, WholeAlphabet
from discreet.mechanisms.law import BlockMechanism, sensitive_size
from discreet.mechanisms.law_mechanism import LawMechanism
from discreet.mechanisms.membership import Membership
from discreet.mechanisms.subsets import MemberLists

__all__ = [
    "BlockCounts",
    "BlockLaw",
    "BlockMechanism",
    "Blocks",
    "Coins",
    "Column",
    "CommonLaw",
    "Counting",
    "EvenLaw",
    "HitDistribution",
    "IndexedLaw",
    "LawMechanism",
    "MemberLists",
    "Membership",
    "RandomSource",
    "ValueCounts",
    "WholeAlphabet",
    "checked_whole",
    "or_noise",
    "sensitive_size",
    "smallest_unsigned",
    "uniform_below",
]
