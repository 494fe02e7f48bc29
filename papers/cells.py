"""One cell of an experiment: a data set, a mechanism, an epsilon and a few runs; the unit that is resumed."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

# Of what generators depend on, and of the files of finished cells.
_FORMAT, _FILES = 2, 4
ESTIMATE, STOPPING, TIMED = "estimate", "stopping", "time"
TAGS, CELLS, MAPS, WORST = "tags", "cells", "maps", "worst case"
"""What can be measured: losses; where EM stops and where it ends; how long all of that takes; losses of a personalized
mechanism with tags and with coarse cells; how far guesses are from what is behind tags; losses in the worst case."""

BOUNDS, ATTACKED, MATCHERS = "bounds", "attack", "matchers"
REPORTS, UTILITY = "reports", "utility"
"""The same for [PIE]: bounds on the identification risk; attacks on traces; biometric matchers; attacks on reports;
what protection costs."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: a data set, a mechanism, epsilon, a task, and the numbers of its runs.

    Attributes:
        population: name of the data set.
        data: its fingerprint; other data under the same name are other cells.
        mechanism: one of `uldp.mechanisms.NAMES`, or another name that the task knows.
        epsilon: the privacy promise; None without privacy.
        drawn: make this many values sensitive, drawn at random in every run; None for the data set's own.
        first: number of the first run.
        runs: how many.
        seed: of the experiment.
        task: what is measured; one of `tasks.TASKS`.
        users: how many people report, or are attacked; None for half of them, rounded up, or for all.
    """

    population: str
    data: str
    mechanism: str
    epsilon: float | None
    drawn: int | None = None
    first: int = 0
    runs: int = 1
    seed: int = 0
    task: str = ESTIMATE
    users: int | None = None

    @property
    def timed(self) -> bool:
        """True if the cell measures times, so that no other may run beside it."""
        return self.task == TIMED

    @property
    def key(self) -> str:
        """A digest of everything that the result depends on."""
        return hashlib.sha256(json.dumps([_FILES, self._facts()], sort_keys=True).encode()).hexdigest()[:24]

    def _facts(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "users" or value is not None}

    def generator(self, run: int) -> np.random.Generator:
        """Return the generator of one run; it does not depend on the grouping of runs into cells."""
        return _generator([_FORMAT, self._facts() | {"first": run, "runs": 1}])

    def people(self, run: int) -> np.random.Generator:
        """Return the generator that draws the users of one run: the same users for every mechanism and epsilon."""
        return _generator([_FORMAT, self.data, self.seed, run])

    def choice(self, run: int) -> np.random.Generator:
        """Return the generator that draws the sensitive values of one run: the same for every mechanism and epsilon."""
        return _generator([_FORMAT, "X_S", self.data, self.seed, run, self.drawn])


def _generator(facts: Any) -> np.random.Generator:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
