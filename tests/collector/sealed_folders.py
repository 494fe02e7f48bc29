"""Sealed folders of three epochs, for those who read them, beside what was sent."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from collectors import added, ids, put, records
from test_sealing import seal

from discreet import Plan, Reports, Tally
from discreet.cli import main
from discreet.collector.sealing import sealed_folder
from discreet.collector.storage.folder import DataFolder
from discreet.mechanisms import BlockMechanism

N = 2000
EPOCHS = 3


@dataclass(frozen=True)
class Sealed:
    """A sealed folder.

    Attributes:
        place: the folder.
        mechanism: that of the plan that lies in it.
        sent: the reports of all epochs.
    """

    place: Path
    mechanism: BlockMechanism
    sent: Reports

    @property
    def tally(self) -> Tally:
        """The tally of what was sent."""
        return self.mechanism.tally(self.sent)

    def estimated(self, method: str = "linear") -> Any:
        """Return what `discreet estimate` says of the folder, as JSON."""
        given = ["estimate", str(self.place / "_plan.json"), str(self.place), "--method", method, "--json"]
        result = CliRunner().invoke(main, given)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


def sealed_of(folder: Path, plan: str) -> Sealed:
    """Seal three epochs by the collector; in each some reports came twice."""
    entry, every = added(folder, plan), []
    for epoch in range(EPOCHS):
        rows, names = records(entry, N, seed=epoch), ids(N)
        put(folder, entry, [(names[:900], rows[:900]), (names[800:], rows[800:])], epoch)
        row = seal(folder, entry, epoch)
        assert row is not None
        assert (row.n, row.duplicates) == (N, 100)
        every.append(rows)
    place = sealed_folder(DataFolder(folder), entry)
    sent = entry.codec.reports(entry.mechanism, np.concatenate(every), simulated=False)
    return Sealed(place, Plan.load(place / "_plan.json").mechanism(), sent)
