"""Publications: what is counted and said, and that what people are told is so, by counts that share no code with it."""

import re
from dataclasses import replace
from math import exp, log
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from chances import AMONG, TOWARDS, beyond_among, beyond_versus_clear, law, told
from discreet.privacy.publication import default_delta, group_sizes, two_digits

SIX = dc.Domain(range(6), sensitive=[0, 1])


def drawn_rounds(epsilon: float, sizes: list[int], runs: int) -> Any:
    """Return how sure readers got of one of two values in drawn rounds; all others are known to have a third one."""
    random, odds, ratio = np.random.default_rng(3), np.zeros(runs), exp(epsilon)
    own, other = ratio / (2 + ratio), 1 / (2 + ratio)
    for n in sizes:
        a = random.binomial(n - 1, other, runs)
        b = random.binomial(n - 1 - a, other / (1 - other))
        hers = random.choice(3, runs, p=[own, other, other])
        a, b = a + (hers == 0), b + (hers == 1)
        # Hers is any of the n: the sum of likelihoods of each report from her value, over that from the third.
        thirds = (n - a - b) / ratio
        odds += np.log((ratio * a + b + thirds) / (a + ratio * b + thirds))
    return 1 / (1 + np.exp(-odds))


@pytest.mark.parametrize("n", [100, 1_000])
def test_the_chance_to_get_further_is_what_the_sentence_says(n: int) -> None:
    publication = dc.published(dc.RandomizedResponse(SIX, 2.0), n, answers="once")
    share, chance = told(AMONG, " ".join(publication.person()))
    assert beyond_among(share, 2.0, n) <= chance == 1e-6
    versus_clear, chance = told(TOWARDS, " ".join(publication.person()))
    assert beyond_versus_clear(versus_clear, 2.0, n) <= chance == 1e-6


def test_a_chance_is_no_delta() -> None:
    """53% is what delta = 1e-6 gives at n = 10,000, and 64 in a million get further."""
    central = dc.shuffled(dc.RandomizedResponse(SIX, 2.0), 10_000)
    assert np.ceil(100 / (1 + exp(-central.among.upper))) == 53
    assert beyond_among(0.53, 2.0, 10_000) == pytest.approx(64e-6, rel=0.05)
    person = " ".join(dc.published(dc.RandomizedResponse(SIX, 2.0), 10_000).person())
    assert told(AMONG, person)[0] > 0.53
    assert "but for a chance" not in person


@pytest.mark.parametrize(("epsilon", "sizes"), [(1.0, [400] * 12), (2.0, [300, 200, 250]), (0.5, [2_000] * 30)])
def test_rounds_add_up_as_the_sentence_says(epsilon: float, sizes: list[int]) -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(3)), epsilon)
    publication = dc.published(mechanism, sizes, answers="fresh", delta=1e-3)
    share, chance = told(AMONG, " ".join(publication.person()))
    sure = drawn_rounds(epsilon, sizes, 100_000)
    assert binom.sf((sure > share).sum() - 1, len(sure), chance) > 1e-9
    alone = told(AMONG, " ".join(dc.published(mechanism, sum(sizes), answers="once", delta=1e-3).person()))[0]
    assert binom.sf((sure > alone).sum() - 1, len(sure), chance) < 1e-6, "the rounds taken for one batch must be caught"


def test_fresh_answers_are_rounds_of_their_batches_and_never_their_sum() -> None:
    mechanism = dc.RandomizedResponse(SIX, 2.0)
    publication = dc.published(mechanism, [1000] * 30, answers="fresh")
    facts = publication.to_dict()
    assert facts["central"]["among"]["epsilon"] >= 2.456
    assert facts["central"]["rounds"] == facts["rounds"] == 30
    assert facts["n"] == facts["central"]["n"] == 1000
    assert facts["among"]["epsilon"] > facts["central"]["among"]["epsilon"]
    assert dc.shuffled(mechanism, 30_000).among.upper < 0.0635
    assert facts["central"]["among"]["epsilon_at_least"] <= 2.456 <= facts["central"]["among"]["epsilon"]
    assert "60 for a person's 30 reports" in publication.local_sentence


def test_a_person_is_in_no_more_batches_than_her_answers() -> None:
    mechanism = dc.RandomizedResponse(SIX, 1.0)
    few = dc.published(mechanism, [1049, 1049, 5000, 2000], answers="fresh", most=2)
    assert (few.rounds, few.n) == (2, 1000)
    assert dc.published(mechanism, [1000, 1000], answers="fresh", most=9).rounds == 2
    once = dc.published(mechanism, [1049, 5000], answers="once")
    assert (once.rounds, once.n) == (1, 1049)


def test_permanent_answers_have_the_local_guarantee_alone() -> None:
    mechanism = dc.RandomizedResponse(SIX, 1.0)
    publication = dc.published(mechanism, [400] * 3, answers="permanent")
    assert publication.central is None
    assert publication.to_dict()["central"] is None
    assert "links the reports of a person" in str(publication)
    assert "epsilon = 1 for each" in str(publication)
    assert "%" not in str(publication)
    assert dc.published(mechanism, 400, answers="permanent").central is not None


def test_unknown_people_are_a_condition_before_all_else() -> None:
    publication = dc.published(dc.RandomizedResponse(SIX, 1.0), [400, 300])
    assert publication.person()[0] == "This assumes 700 different people with one report each."
    assert publication.conditions()[0].startswith("These are 700 different people")
    assert "not trusted: 0" in str(publication)
    known = dc.published(dc.RandomizedResponse(SIX, 1.0), [400, 300], answers="once")
    assert "different people" not in str(known)


@pytest.mark.parametrize(
    ("batches", "options", "why"),
    [
        (1, {}, "at least 2 reports that hide each other"),
        ([400, 1], {}, "the smallest has 1, so"),
        (10, {"not_trusted": 9}, "has 10, 9 of them not trusted"),
        (400, {"dependence": "weights differ between people"}, "weights differ between people"),
        ([400] * 5000, {"answers": "fresh"}, "rounds must be"),
    ],
)
def test_what_has_no_statement_says_why(batches: Any, options: dict[str, Any], why: str) -> None:
    publication = dc.published(dc.RandomizedResponse(SIX, 1.0), batches, **options)
    assert publication.central is None
    assert why in publication.local_only_reason
    assert publication.person() == [
        "There is no guarantee for the publication beyond the guarantee of each report: "
        f"{publication.local_only_reason}."
    ]
    assert publication.figures() == {"n": publication.n, "local_only_reason": publication.local_only_reason}
    assert "have the local guarantee: epsilon = 1 for each" in str(publication)


def test_simulated_reports_promise_nothing_at_all() -> None:
    mechanism = dc.RandomizedResponse(SIX, 1.0)
    reports = mechanism.obfuscate([0, 1] * 200, random=dc.SeededRandom(1))
    for one in (reports, mechanism.tally(reports), dc.estimate(mechanism, reports)):
        publication = dc.published(mechanism, one)
        assert str(publication) == (
            "There is no guarantee for the publication: the reports are simulated, and protect nobody."
        )


def test_groups_are_batches_and_so_are_those_left_out() -> None:
    mechanism = dc.RandomizedResponse(SIX, 1.0)
    regions = ["north"] * 500 + ["south"] * 300 + ["east"] * 7 + ["west"] * 5
    reports = mechanism.obfuscate(np.arange(812) % 6)
    grouped = dc.estimate_groups(mechanism, reports, groups=regions, small="leave-out")
    assert group_sizes(grouped) == (500, 300, 12)
    publication = dc.published(mechanism, grouped)
    assert publication.n == 12
    assert publication.person()[0].startswith("This assumes 812 different people")
    one = dc.estimate_groups(mechanism, reports[:801], groups=regions[:801], small="leave-out")
    assert "the smallest has 1, so" in dc.published(mechanism, one).local_only_reason


def test_those_not_trusted_hide_nobody_in_any_batch() -> None:
    mechanism = dc.RandomizedResponse(SIX, 1.0)
    known = dc.published(mechanism, 1000, not_trusted=900).figures()
    assert known["among"] == dc.published(mechanism, 100).figures()["among"]
    assert "900 reports of each batch are fake or known to the reader" in str(
        dc.published(mechanism, 1000, not_trusted=900)
    )


def test_values_are_counted_without_bots() -> None:
    mechanism = dc.Personalized(SIX, 1.0, tags=["home"], others=False)
    assert mechanism.common.domain.sensitive_count == 3
    officers = dc.published(mechanism, 1000).officers()
    assert officers.startswith("Among each person's own secret values and 2 sensitive for all, of 6: (")
    assert "several tags" in dc.published(dc.Personalized(SIX, 1.0, tags=["home", "work"]), 1000).local_only_reason


def test_one_sensitive_value_alone_is_told_towards_the_others() -> None:
    text = " ".join(dc.published(dc.RandomizedResponse(dc.Domain(range(9), sensitive=[0]), 1.0), 1000).person())
    assert "which of two" not in text
    share, chance = told(TOWARDS, text)
    assert beyond_versus_clear(share, 1.0, 1000, values=1) <= chance
    floor = re.search(r"stays at (\d+)% or more", text)
    assert floor is not None
    assert int(floor[1]) / 100 <= 1 / (1 + exp(-log(1 / law(1.0, 1)[1])))


def test_one_choice_of_what_is_left_out() -> None:
    for n in (2, 20, 99_999, 100_000, 100_001, 10**8, 3 * 10**9):
        assert 0 < default_delta(n) <= min(1e-6, 0.1001 / n)
    assert default_delta(100_000) == 1e-6
    large = dc.published(dc.RandomizedResponse(SIX, 1.0), 10**7)
    assert large.chance == 1e-8
    assert "1 in 100,000,000" in " ".join(large.person())
    assert "(0.00" in large.officers()
    assert "1e-08)" in large.officers()
    assert [two_digits(n) for n in (1, 99, 100, 119, 1999, 12_345)] == [1, 99, 100, 110, 1900, 12_000]


def test_nobody_is_certain_below_infinite_odds() -> None:
    """30 answers of a person are seen 30 times."""
    publication = dc.published(dc.RandomizedResponse(SIX, 2.0), [1000] * 30, answers="fresh")
    text = " ".join(publication.person())
    assert "can reach at most 99.99...% for the protected one" in text
    assert "The bound stays at 99% or more however many people take part." in text
    assert "100%" not in text
    assert publication.figures()["versus_clear"]["epsilon"] > 20
    assert 0.9999 < publication.figures()["versus_clear"]["sure"] < 1
    for epsilon, percent in ((5.0, "99.4%"), (7.0, "99.91%")):
        few = dc.published(dc.RandomizedResponse(dc.Domain(range(2)), epsilon), 2, answers="once")
        assert f"can reach at most {percent} for one of them," in " ".join(few.person())


def test_results_know_their_batches() -> None:
    mechanism = dc.RandomizedResponse(SIX, 1.0)
    reports = mechanism.obfuscate(np.arange(812) % 6)
    regions, ages = ["north"] * 500 + ["south"] * 312, np.arange(812) % 40
    grouped = dc.estimate_groups(mechanism, reports, groups=regions)
    sides = dc.published(mechanism, dc.compare(grouped["north"], grouped["south"]))
    assert sides.batches == (500, 312)
    census = dc.published(mechanism, dc.compare(grouped["north"], np.full(6, 1 / 6)))
    assert census.batches == (500,)
    fit = dc.regress(mechanism, reports, {"age": ages})
    assert "a regression uses each report's covariates" in dc.published(mechanism, fit).local_only_reason
    assert "what the press sees" in str(dc.published(mechanism, 812, shown="what the press sees"))
    for result in (grouped, grouped["north"], fit, dc.compare(grouped["north"], grouped["south"])):
        assert not hasattr(result, "publication")


def test_batches_are_stated_by_name_and_number() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(4)), 1.0)
    days = [mechanism.obfuscate(range(4) if day else [0, 1, 2]) for day in range(7)]
    for counted in (dc.Reports.concatenate(days), sum(map(mechanism.tally, days))):
        publication = dc.published(mechanism, counted)
        names = [batch.name for batch in publication.named]
        assert sorted(publication.batches) == [3, 4, 4, 4, 4, 4, 4]
        assert sorted(names) == names == sorted(day.batches[0].name for day in days)
        said = publication.conditions()[-1]
        assert said.startswith(f"The reports are of batches {names[0]} (")
        assert said.endswith(" reports) and 2 others.")
        assert publication.to_dict()["named"] == [batch.entry for batch in publication.named]
    unnamed = replace(days[1], batches=())
    assert dc.published(mechanism, unnamed).batches == (4,)
    assert dc.published(mechanism, days[0] + unnamed).batches == (3, 4)
    assert "of batch" not in str(dc.published(mechanism, [100, 200]))
