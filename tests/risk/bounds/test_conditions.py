"""The conditions under which bounds for several reports hold, in words."""

from discreet import Domain, RandomizedResponse
from discreet.risk.bounds import conditions, identification_bounds
from discreet.risk.bounds.identification import ANY_DATA, DATA_DO_NOT_REACT, NOT_ADAPTIVE


def test_the_exact_pie_says_for_which_prior() -> None:
    """Five equally likely users of four values cannot attain what four can."""
    bounds = identification_bounds(RandomizedResponse(Domain(range(4)), 2.0), 5)
    assert bounds.pie.exact
    assert "worst prior" in bounds.pie.condition


def test_conditions_say_which_figure_needs_which() -> None:
    """The strongest of several mechanisms suffices for all; log n bits for many reports need none."""
    domain = Domain(range(1000))
    few, more, many = (
        identification_bounds(RandomizedResponse(domain, epsilon), users, reports=reports)
        for epsilon, users, reports in ((6.0, 100, 2), (4.0, 5000, 2), (20.0, 100, 50))
    )
    identification = f"The bound on identification for 2 reports of a user holds if {ANY_DATA}."
    assert few.condition_sentence == (
        f"{identification} The bound on PIE for 2 reports of a user holds if {DATA_DO_NOT_REACT}."
    )
    assert conditions([few, more]) == (
        f"{identification} The bound on PIE for 2 reports of a user holds if {NOT_ADAPTIVE}."
    )
    assert many.pie.condition == ""
    assert many.condition_sentence == f"The bound on identification for 50 reports of a user holds if {ANY_DATA}."
    assert conditions([few, many]).startswith("The bound on identification for several reports of a user")
    pair = identification_bounds(RandomizedResponse(Domain(range(2)), 1.0), 2, reports=2)
    assert pair.condition_sentence == (
        f"The bounds on identification and PIE for 2 reports of a user hold if {NOT_ADAPTIVE}."
    )
