"""The sensitive share, from the reports in clear."""

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ParameterError

DOMAIN = dc.Domain(["flu", "hiv", "none", "cold"], sensitive=["hiv", "flu"])


@pytest.mark.parametrize("build", [dc.RandomizedResponse, dc.UnaryEncoding, dc.SubsetSelection])
def test_it_is_what_reports_in_clear_leave_over(build: type[dc.UnaryEncoding]) -> None:
    mechanism = build(DOMAIN, 1.0)
    reports = mechanism.obfuscate_codes(np.arange(900) % 4, random=dc.SeededRandom(5))
    tally, s = mechanism.tally(reports), mechanism.threshold / 2**64
    found = dc.estimate(mechanism, reports).sensitive_share()
    told = tally.clear_total / (900 * s)
    assert found.estimate == pytest.approx(1 - told, rel=1e-9)
    assert found.standard_error == pytest.approx(np.sqrt(told * (1 / s - told) / 899), rel=3e-3)
    low, high = found.interval()
    others = dc.estimate(mechanism, reports).total(["none", "cold"]).interval()
    assert (low, high) == pytest.approx((1 - others.upper, 1 - others.lower), rel=1e-9)
    assert low < 0.5 < high


def test_where_it_is_known_it_is_not_estimated() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(["a", "b"]), 1.0)
    with pytest.raises(ParameterError, match="every value is sensitive"):
        dc.estimate(mechanism, mechanism.obfuscate(["a"] * 9, random=dc.SeededRandom(1))).sensitive_share()
