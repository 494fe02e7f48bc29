"""Faults of engines."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "reports by group are counted twice",
        "engines/engine.py",
        "        survey.batches()\n        return found\n",
        "        return found\n",
        ("tests/engines/test_nothing_twice.py",),
    ),
    Fault(
        "reports are sealed twice into one file",
        "engines/engine.py",
        "            survey.batches()\n            taken",
        "            taken",
        ("tests/engines/test_nothing_twice.py",),
    ),
    Fault(
        "reports in memory forget of which sealed batches they are",
        "engines/evidence.py",
        "replace(reports, batches=self._survey.batches())",
        "replace(reports, batches=self._survey.batches()[:0])",
        ("tests/engines/test_nothing_twice.py",),
    ),
    Fault(
        "a cluster forgets what its tasks have read",
        "engines/spark/frames.py",
        "self.parts[number].seen.digest = int(n), digest_of_limbs(limbs)\n",
        "self.parts[number].seen.digest = 0, 0 * digest_of_limbs(limbs)\n",
        ("tests/engines/test_spark.py",),
    ),
    Fault(
        "each thread has all of the memory for its groups",
        "engines/groups.py",
        "for state in self.states)",
        "for state in [self])",
        ("tests/engines/test_group_tallies.py",),
    ),
    Fault(
        "simulated reports are sealed among real ones",
        "engines/sealing.py",
        "        if simulated not in {0, n}:\n",
        "        if simulated < 0:\n",
        ("tests/engines/test_sealing_files.py",),
    ),
    Fault(
        "kept columns slip against their reports",
        "engines/obfuscation.py",
        "beside.slice(rows)",
        "beside.slice(rows - 1)",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "a stamped file does not say that one of its reports is simulated",
        "engines/stamping.py",
        "yield replace(reports, simulated=found.tally.simulated)",
        "yield replace(reports, simulated=False)",
        ("tests/engines/test_stamping.py",),
    ),
    Fault(
        "a narrow block wraps where a count passes its type",
        "engines/spark/running.py",
        "part = part.astype(np.min_scalar_type(int(part.max())))",
        "part = part.astype(np.min_scalar_type(int(part.mean())))",
        ("tests/engines/test_vectors.py",),
    ),
    Fault(
        "rows of another plan are counted on the cluster",
        "engines/spark/frames.py",
        "    if strangers:\n",
        "    if strangers == batch.num_rows + 1:\n",
        ("tests/engines/test_spark.py",),
    ),
    Fault(
        "every executor draws the words of its driver",
        "engines/spark/frames.py",
        "        random = _random(seed)\n",
        "        random = SeededRandom(1)\n",
        ("tests/engines/test_spark.py",),
    ),
    Fault(
        "a frame that is used twice is drawn twice",
        "engines/spark/frames.py",
        "return drawn.checkpoint() if is_kept else drawn.localCheckpoint()",
        "return drawn",
        ("tests/engines/test_spark.py",),
    ),
    Fault(
        "blocks that came often count once on the cluster",
        "engines/spark/likelihood.py",
        "often = 1.0 if matrix.multiplicity is None else matrix.multiplicity",
        "often = 1.0",
        ("tests/engines/test_spark.py",),
    ),
]
