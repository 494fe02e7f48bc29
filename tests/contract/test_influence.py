"""The influence of one report: outputs that nobody can send, and the published figures."""

import numpy as np
import pytest

from discreet import (
    Channel,
    Domain,
    Reports,
)
from discreet.mechanisms import BLOCK_MECHANISMS


def test_outputs_of_a_channel_that_nobody_can_send_do_not_count() -> None:
    channel = Channel([[0.7, 0.0, 0.2, 0.1], [0.2, 0.0, 0.5, 0.3]])
    outputs = np.array([0, 2, 3], dtype=np.uint8)
    reports = Reports(channel.fingerprint, 3, None, np.empty(0, dtype=np.uint8), {"output": outputs})
    added, (least, most) = channel.decoder.contributions(reports), channel.decoder.contribution_range
    assert np.array_equal(least, added.min(axis=0))
    assert np.array_equal(most, added.max(axis=0))
    assert (abs(channel.decoder.inverse[1]) == 0).all()


@pytest.mark.parametrize(
    ("name", "values", "largest"),
    [
        ("rr", 16, 9.7),
        ("rr", 1000, 582),
        *(
            (name, values, largest)
            for name, largest in (("hadamard", 2.2), ("unary", 2.5), ("subset", 3.2))
            for values in (64, 1000)
        ),
    ],
)
def test_the_published_figures(name: str, values: int, largest: float) -> None:
    """Of docs/explanation/threat-model.md."""
    mechanism = BLOCK_MECHANISMS[name](Domain(range(values)), 1.0)  # type: ignore[call-arg]
    found = float(mechanism.decoder.contribution_range[1].max())
    assert round(found, 0 if largest > 100 else 1) == largest
