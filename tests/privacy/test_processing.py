"""Post-processing: what preserves data types keeps ULDP, what does not is refused with its reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matrices import first_are_sensitive, rr, urr

from discreet import Channel
from discreet.errors import ParameterError
from discreet.privacy.composition import post_process, preserves_data_types
from discreet.privacy.notions import smallest_epsilon
from refusals import refused

# Outputs 0, 1 are protected; 2, 3 tell their values.
KEEPS = {
    "itself": np.eye(4),
    "merges what is protected": [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "splits": [[0.5, 0.5, 0, 0, 0], [0.1, 0.9, 0, 0, 0], [0, 0, 0.3, 0.7, 0], [0, 0, 0, 0, 1]],
    "leaves results out": [[0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]],
}
BREAKS = {
    "tells in a protected place": ([[0.1, 0.9, 0], [0, 1, 0], [0.1, 0, 0.9], [1, 0, 0]], "result 0"),
    "protects in a telling place": ([[1, 0, 0, 0], [0.9, 0, 0.1, 0], [0, 0, 1, 0], [0, 0, 0, 1]], "result 2"),
    "merges what tells": ([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], "several invertible"),
}


@pytest.mark.parametrize("name", KEEPS)
def test_what_preserves_data_types(name: str) -> None:
    channel = urr(4, 2, 1.0)
    stage = np.array(KEEPS[name], dtype=float)
    types = preserves_data_types(stage, [True, True, False, False])
    assert (types.preserved, types.reason) == (True, None)
    found = post_process(channel, stage)
    exact = smallest_epsilon(found.weights, "ULDP", sensitive=channel.domain.sensitive)
    assert exact.ratio is not None
    assert exact.ratio <= found.ratio
    assert found.epsilon == pytest.approx(1.0)
    assert found.protected.tolist() == types.protected.tolist() == exact.protected.tolist()
    assert types.invertible.tolist() == exact.invertible.tolist()
    assert found.channel.matrix == pytest.approx(channel.matrix @ stage, abs=1e-15)
    assert post_process(channel, Channel(stage)).ratio == found.ratio


@pytest.mark.parametrize("name", BREAKS)
def test_what_does_not_is_refused_and_keeps_the_one_sided_bound(name: str) -> None:
    channel, (rows, reason) = urr(4, 2, 1.0), BREAKS[name]
    types = preserves_data_types(rows, [True, True, False, False])
    assert not types.preserved
    assert types.reason is not None
    assert reason in types.reason
    assert reason in refused(ParameterError, lambda: post_process(channel, rows))
    # The refusal is right: what comes out is not ULDP at the same epsilon, if at all.
    out = Channel(channel.matrix @ np.array(rows, dtype=float), channel.domain)
    assert smallest_epsilon(out, "ULDP").epsilon > 1.0 + 1e-9
    kept = post_process(channel, rows, notion="OSLDP")
    exact = smallest_epsilon(kept.weights, "OSLDP", sensitive=channel.domain.sensitive)
    assert exact.ratio is not None
    assert exact.ratio <= kept.ratio
    assert exact.protected.tolist() == kept.protected.tolist()


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_ldp_survives_every_map(seed: int) -> None:
    random = np.random.default_rng(seed)
    stage = random.dirichlet(np.full(3, 0.3), 5)
    found = post_process(rr(5, 5, 1.0), stage, notion="LDP")
    exact = smallest_epsilon(found.weights, "LDP")
    assert exact.ratio is not None
    assert exact.ratio <= found.ratio


def test_outputs_that_never_occur_do_not_count() -> None:
    channel = Channel(np.hstack([urr(3, 1, 1.0).matrix, np.zeros((3, 1))]), first_are_sensitive(3, 1))
    stage = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]])
    assert post_process(channel, stage).epsilon == pytest.approx(1.0)
    assert not preserves_data_types(stage, [True, False, False, False]).preserved
