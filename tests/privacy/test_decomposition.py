"""Every OSLDP mechanism is a ULDP mechanism and a map of its reports."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matrices import first_are_sensitive, urr

from discreet import Channel, Domain
from discreet.errors import ParameterError
from discreet.privacy.composition import decompose
from discreet.privacy.notions import smallest_epsilon
from refusals import refused


def check(channel: Channel) -> Any:
    found = decompose(channel)
    one_sided = smallest_epsilon(channel, "OSLDP")
    assert found.shared.tolist() == np.flatnonzero(one_sided.protected).tolist()
    product = found.optimized.matrix @ found.recovery.matrix
    assert abs(product - channel.matrix).max() <= 1e-12
    assert found.error <= 1e-12
    again = smallest_epsilon(found.optimized, "ULDP")
    assert again.epsilon == found.protection.epsilon <= one_sided.epsilon + 1e-12
    k = len(found.shared)
    assert again.protected.tolist() == [True] * k + [False] * channel.domain.clear_count
    # As the paper writes it.
    q, sensitive = channel.matrix, channel.domain.sensitive
    most = q[sensitive][:, found.shared].max(axis=0)
    assert found.optimized.matrix[:, :k] == pytest.approx(np.minimum(q[:, found.shared], most), abs=1e-15)
    left = 1 - np.minimum(q[:, found.shared], most).sum(axis=1)
    own = found.optimized.matrix[channel.domain.clear_codes][:, k:]
    assert own == pytest.approx(np.diag(left[~sensitive]), abs=1e-12)
    return found


@st.composite
def one_sided_channels(draw: Any) -> Channel:
    size, shared, other = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(0, 3))
    k = draw(st.integers(1, size))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    matrix = np.zeros((size, shared + other))
    matrix[:, :shared] = random.dirichlet(np.full(shared, draw(st.sampled_from([0.5, 5.0]))), size) * 0.9 + 0.1 / shared
    if other:
        rest = random.dirichlet(np.ones(other), size - k)
        told = random.random((size - k, 1)) * random.integers(0, 2, (size - k, 1))
        matrix[k:] = np.hstack([matrix[k:, :shared] * (1 - told), rest * told])
    matrix = matrix[:, random.permutation(shared + other)]
    order = random.permutation(size)
    codes = np.flatnonzero(np.isin(order, np.arange(k)))
    return Channel(matrix[order] / matrix[order].sum(axis=1, keepdims=True), Domain(range(size), sensitive=codes))


@settings(max_examples=200)
@given(one_sided_channels())
def test_both_stages_are_what_they_should_be(channel: Channel) -> None:
    check(channel)


def test_a_steep_value_that_is_not_sensitive() -> None:
    """By hand: 0.8 is above Q_max = 0.5, so 0.3 and the 0.1 elsewhere are told as the value itself."""
    channel = Channel([[0.5, 0.5, 0], [0.8, 0.1, 0.1]], first_are_sensitive(2, 1))
    found = check(channel)
    assert found.optimized.matrix == pytest.approx(np.array([[0.5, 0.5, 0], [0.5, 0.1, 0.4]]))
    assert found.recovery.matrix == pytest.approx(np.array([[1, 0, 0], [0, 1, 0], [0.75, 0, 0.25]]))
    assert smallest_epsilon(channel, "ULDP").epsilon == pytest.approx(np.log(5))
    assert found.protection.epsilon == pytest.approx(np.log(5))


def test_what_is_not_osldp_is_refused() -> None:
    tells = Channel(urr(4, 2, 1.0).matrix, first_are_sensitive(4, 3))
    assert "output 2" in refused(ParameterError, lambda: decompose(tells))
    nobody = Channel(np.eye(3), Domain(range(3), sensitive=[], allow_unprotected=True))
    refused(ParameterError, lambda: decompose(nobody))
