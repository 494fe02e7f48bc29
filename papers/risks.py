"""Figures 4 to 12 of [PIE]."""

from papers import risk_charts, risk_claims, risk_plans
from papers.artefact import Artefact
from papers.identities import LISTED, LONG_HISTORY, LONG_TRACE
from papers.risk_plans import (
    FEW_RUNS,
    LARGE,
    MOVIES,
    MOVIES_HERE,
    PLACES,
    PLACES_HERE,
    SIZES,
    SMALL,
)

_ATTACK = (
    "the Markov model of the paper: visit and transition probabilities by maximum likelihood, zeros become 1e-8",
    "best score, ties broken at random (expected success); every trace against every user",
    "D(f_G || f_I) is the paper's PSE; the certified PSE is a lower bound on the PIE, by the larger of "
    "D(f_G || f_mix) and the bound by ranks, lower limits of 95% intervals",
)
_ONE_PLACE = (
    "each user reports her first place; the attacker knows the places of all users (maximum knowledge)",
    "GLH: g = 1e8 for the paper's sizes, ten times the number of places for the data at hand",
    "exact: the largest information, the least error, over all data and attacks; printed bounds beside it",
)
_ERRATA = "errata: (11) has the wrong sign; alpha < 2.07 (6.21) are nats; Thms 12 and 14 should be capped by log n"

PIE: tuple[Artefact, ...] = (
    Artefact(
        "pie/fig4",
        "[PIE, Fig. 4] epsilon against alpha",
        "Bounds on the information that a report gives about its user, for small and large epsilon.",
        SIZES,
        (),
        risk_plans.plan_bounds((*SMALL, *LARGE)),
        risk_charts.charts_of_bounds,
        risk_claims.claims_on_bounds,
        runs=(1, 1),
        settings=("no data are needed; GLH with g = 1e8", _ERRATA),
    ),
    Artefact(
        "pie/fig5",
        "[PIE, Fig. 5] PSE with maximum knowledge",
        "How much traces tell about their users if the attacker knows the traces: whole, and their first events.",
        (*PLACES, *MOVIES),
        ("bssr1", *PLACES_HERE, *MOVIES_HERE),
        risk_plans.plan_maximum,
        risk_charts.charts_of_attacks,
        risk_claims.claims_on_maximum,
        risk_charts.tables_of_attacks,
        runs=(1, 1),
        settings=_ATTACK,
    ),
    Artefact(
        "pie/fig6",
        "[PIE, Fig. 6] PSE with partial knowledge",
        "How much traces tell if the attacker learned from other events of the same users.",
        (*PLACES, *MOVIES),
        (*PLACES_HERE, *MOVIES_HERE),
        risk_plans.plan_partial,
        risk_charts.charts_of_attacks,
        risk_claims.claims_on_partial,
        risk_charts.tables_of_attacks,
        runs=(1, 1),
        settings=(
            *_ATTACK,
            f"places: users with at least {LONG_TRACE} check-ins (1,000 in the paper), learned from the first 20 to "
            "100 of the first half (100 to 500); the first 100 of the second half are attributed",
            f"movies: users with at least {LONG_HISTORY} ratings (500 in the paper), learned from the first 1 to 5; "
            "the whole history is attributed",
        ),
    ),
    Artefact(
        "pie/fig7",
        "[PIE, Fig. 7] DET curves",
        "False rejection against false acceptance of traces and of biometric matchers, over all thresholds, exactly.",
        (*PLACES, *MOVIES),
        ("bssr1", "lbsn-kl", *MOVIES_HERE),
        risk_plans.plan_curves,
        risk_charts.charts_of_det,
        risk_claims.claims_on_det,
        risk_charts.tables_of_attacks,
        runs=(1, 1),
        settings=_ATTACK,
    ),
    Artefact(
        "pie/fig8",
        "[PIE, Fig. 8] bounds on the PIE, and the PSE",
        "Upper bounds on the information about the user against epsilon, and what an attack finds as a lower bound.",
        (*SIZES, *PLACES),
        PLACES_HERE,
        risk_plans.plan_reports,
        risk_charts.charts_of_reports("bits"),
        risk_claims.claims_on_reports,
        runs=FEW_RUNS,
        settings=(*_ONE_PLACE, _ERRATA),
    ),
    Artefact(
        "pie/fig9",
        "[PIE, Fig. 9] identification error and its lower bounds",
        "How often the right user is not named, against epsilon: what no attack can be better than, what one finds.",
        (*SIZES, *PLACES),
        PLACES_HERE,
        risk_plans.plan_reports,
        risk_charts.charts_of_reports("error"),
        risk_claims.claims_on_errors,
        runs=FEW_RUNS,
        settings=(*_ONE_PLACE, _ERRATA),
    ),
    Artefact(
        "pie/fig10",
        "[PIE, Fig. 10] what protection costs",
        "The squared loss over the most visited and over all places against epsilon.",
        PLACES,
        PLACES_HERE,
        risk_plans.plan_utility,
        risk_charts.charts_of_utility,
        runs=FEW_RUNS,
        settings=("each check-in is taken as a user's one report", "emp+thr: what is below the threshold becomes 0"),
    ),
    Artefact(
        "pie/fig11",
        "[PIE, Fig. 11] the most visited places",
        f"How often the {LISTED} most visited places are visited: the truth, and estimates.",
        PLACES,
        PLACES_HERE,
        risk_plans.plan_utility,
        risk_charts.charts_of_top,
        risk_claims.claims_on_top,
        risk_charts.tables_of_top,
        runs=FEW_RUNS,
        settings=("each check-in is taken as a user's one report",),
    ),
    Artefact(
        "pie/fig12",
        "[PIE, Fig. 12] hashing to more buckets",
        "The squared loss at theta = 1/2 against the number of buckets.",
        PLACES,
        PLACES_HERE,
        risk_plans.plan_buckets,
        risk_charts.charts_of_buckets,
        risk_claims.claims_on_buckets,
        runs=FEW_RUNS,
        settings=(
            "larger g is better at a fixed theta only: hashing to about V n buckets without noise has far less loss at "
            "the same identification probability V, and no attribute privacy at all",
        ),
    ),
)
