"""What takes a mechanism takes every one, explicit ones too, and nothing else."""

import pytest

from discreet import Domain, RandomizedResponse
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Mechanism
from discreet.mechanisms.laws.singletons import Singletons
from refusals import refused


@pytest.mark.parametrize("given", [None, "rr", RandomizedResponse, Singletons(3)], ids=repr)
def test_what_is_no_mechanism_is_refused_by_its_class(given: object) -> None:
    assert refused(ParameterError, lambda: Mechanism.checked(given)).startswith("mechanism must be a block mechanism")


def test_a_matrix_is_no_block_mechanism() -> None:
    channel = RandomizedResponse(Domain(range(3)), 1.0).channel()
    assert Mechanism.checked(channel) is channel is channel.channel()
    assert channel.is_explicit
    assert "got Channel" in refused(ParameterError, lambda: BlockMechanism.checked(channel))
