"""Mechanisms, which turn true values into private reports: one file per block law, and explicit channels."""

from discreet.mechanisms.channel import Channel
from discreet.mechanisms.law import BlockMechanism, LawMechanism
from discreet.mechanisms.laws.bits import UnaryEncoding
from discreet.mechanisms.laws.hadamard import HadamardResponse
from discreet.mechanisms.laws.hashing import LocalHashing
from discreet.mechanisms.laws.projective import ProjectiveResponse
from discreet.mechanisms.laws.singletons import RandomizedResponse
from discreet.mechanisms.laws.subsets import BlockDesign, SubsetSelection
from discreet.mechanisms.laws.translates import TranslateResponse
from discreet.mechanisms.laws.windows import Windows
from discreet.mechanisms.mechanism import Mechanism
from discreet.mechanisms.registry import Registry, description_of

BLOCK_MECHANISMS = Registry(
    (
        RandomizedResponse,
        UnaryEncoding,
        SubsetSelection,
        LocalHashing,
        HadamardResponse,
        ProjectiveResponse,
        TranslateResponse,
        Windows,
        BlockDesign,
    )
)
"""Every block mechanism by its name in plans; add a new mechanism of this package here and nowhere else."""

law_of = BLOCK_MECHANISMS.law_of
"""Return the block law of a description; see `Registry.law_of`."""

__all__ = [
    "BLOCK_MECHANISMS",
    "BlockDesign",
    "BlockMechanism",
    "Channel",
    "HadamardResponse",
    "LawMechanism",
    "LocalHashing",
    "Mechanism",
    "ProjectiveResponse",
    "RandomizedResponse",
    "SubsetSelection",
    "TranslateResponse",
    "UnaryEncoding",
    "Windows",
    "description_of",
    "law_of",
]
