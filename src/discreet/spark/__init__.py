"""The Spark engine: the same tallies and estimates on a cluster, to the last digit; needs the extra ``spark`` and Java.

A wing on the core. Executors need discreet installed, of the same version. Files in reading order: `engine.py` (the
engine), `running.py` (sessions, errors, sums over the cluster), `frames.py` (Spark's frames), `tallying.py`,
`likelihood.py`.
"""

from discreet.spark.engine import SparkEngine
from discreet.spark.frames import obfuscate
from discreet.spark.running import QUIET, session
from discreet.spark.tallying import read_reports

__all__ = ["QUIET", "SparkEngine", "obfuscate", "read_reports", "session"]
