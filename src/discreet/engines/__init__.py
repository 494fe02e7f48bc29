"""Tallies, and what a likelihood reads, of reports in files: one `Fold`, whatever machine or machines work it out."""

from discreet.engines.fold import Counted, Fold, TallyFold
from discreet.engines.gathering import gather, observe
from discreet.engines.local import Progress, tally

__all__ = ["Counted", "Fold", "Progress", "TallyFold", "gather", "observe", "tally"]
