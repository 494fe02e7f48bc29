"""Engines: tallies, evidence and traces from files, by one `Fold` on one machine or on a cluster.

Files of reports and of events are streamed, never held in memory whole.
"""

from discreet.engines.evidence import gather, observe
from discreet.engines.fold import Counted, Fold, TallyFold
from discreet.engines.local import Progress, tally
from discreet.engines.stamping import Stamped, stamp
from discreet.engines.traces import read_traces

__all__ = ["Counted", "Fold", "Progress", "Stamped", "TallyFold", "gather", "observe", "read_traces", "stamp", "tally"]
