"""The optimal mechanism where there is nothing to choose; tests/theory/test_optimum.py has the others."""

import pytest

from discreet import BlockDesign, Domain
from discreet.errors import ParameterError
from discreet.mechanisms.laws.subsets import Subsets


def test_where_there_is_nothing_to_choose() -> None:
    for domain in (Domain(["a"]), Domain(range(3), sensitive=[], allow_unprotected=True)):
        mechanism = BlockDesign(domain, 1.0)
        assert isinstance(mechanism.law, Subsets)
        assert mechanism.design is None
        with pytest.raises(ParameterError, match=r"sensitive-mass.no-effect"):
            BlockDesign(domain, 1.0, sensitive_mass=0.5)
    with pytest.raises(ParameterError):
        BlockDesign(Domain(range(5), sensitive=[1, 2]), 1.0, sensitive_mass=1.5)
