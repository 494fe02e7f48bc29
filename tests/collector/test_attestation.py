"""Attestations: their sentences hold, their figures are those of the nouns, and nothing false looks clean."""

import html
import re
from dataclasses import replace
from math import exp
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import Domain, Plan
from discreet.collector.documents.attestation import Attestation, spelled_values
from discreet.collector.documents.publications import collection_publication, most_answers
from discreet.collector.documents.signing import plan_of
from discreet.core.guarantee import rounded_up
from discreet.device.protocol.collection import Epochs, rebuild
from discreet.device.protocol.notice import notice
from discreet.errors import ParameterError
from discreet.mechanisms.personalized import common_of
from discreet.privacy.audit import audit
from discreet.privacy.verify import verify
from discreet.risk.bounds.identification import identification_bounds
from discreet.theory.memo import CHANGES_ARE_VISIBLE
from signed import EPOCH, PLAIN, START, collection
from signed import plan_of as plan_from

SIX = Domain(["never", "rarely", "often", "weekly", "daily", "always"], sensitive=["often", "weekly", "daily"])
PLANS = {
    "all": dc.RandomizedResponse(Domain(range(40)), 1.0),
    "some": dc.UnaryEncoding(SIX, 3.0),
    "tags": dc.Personalized(SIX, 2.0, ["home", "work"]),
    "large": dc.RandomizedResponse(SIX, 5.5),
}
HOSTILE = """<script>alert("&' 1")</script>"""


def text_of(page: str) -> str:
    """Return a page as it is read."""
    return " ".join(html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL)).split())


def of(plan: str) -> Attestation:
    return Attestation(Plan.of(PLANS[plan], title="Habits"))


def of_collection(said: dict[str, Any] = PLAIN, **terms: Any) -> Attestation:
    one = collection(said, epochs=Epochs(START, EPOCH, 30), **terms)
    return Attestation(plan_of(one), one, ("KEY",), "pinned")


def denied(plan: str) -> Attestation:
    """Return the attestation of a plan whose device tells the truth once in 2^64 more often."""
    attested = of(plan)
    attested.mechanism.__dict__["threshold"] += 1
    del attested.__dict__["verification"]
    return attested


@pytest.mark.parametrize("plan", PLANS)
def test_every_sentence_and_figure_is_that_of_a_noun(plan: str) -> None:
    attested, mechanism = of(plan), PLANS[plan]
    found, page = verify(common_of(mechanism)), text_of(of(plan).page())
    said = [
        "Attestation: Habits",
        found.verdict,
        str(mechanism.guarantee),
        mechanism.guarantee.not_protected,
        mechanism.fingerprint,
        f"discreet {dc.__version__}",
        identification_bounds(mechanism, 1000).per_user_sentence,
        "`discreet attest --draws N` draws them",
        "signature",
        f"realised, by the sampler {rounded_up(exp(found.realised), 3)} times (epsilon = {rounded_up(found.realised)})",
        *getattr(mechanism, "tags", ()),
    ]
    assert [one for one in said if " ".join(one.split()) not in page] == []
    # Nothing for programs.
    assert not re.search(r"\w+\(Domain|2\^64|\d{12}", page.replace(mechanism.fingerprint, ""))
    record = attested.to_dict()
    assert (record["realised"], record["holds"]) == (found.realised, True)
    assert record["e_to_epsilon"] == f"{found.ratio.numerator}/{found.ratio.denominator}"


def odds(attested: Attestation) -> dict[str, list[float]]:
    (table,) = next(part for part in attested.parts if part.heading == "In odds").tables
    return {
        row[0]: [float(cell.removesuffix("%").removesuffix(" times")) for cell in row[1:]] for row in table.cells()[1:]
    }


@pytest.mark.parametrize("plan", ["some", "large"])
def test_nobody_gets_surer_than_the_odds_say_and_somebody_gets_as_sure(plan: str) -> None:
    """Bayes' rule over the spelled-out matrix: every report, every sensitive value, every rival."""
    matrix, sensitive = PLANS[plan].channel().matrix, SIX.sensitive_codes
    sent = [(matrix[x], matrix[y], matrix[x] > 0) for x in sensitive for y in range(SIX.size) if y != x]
    most = max((one[there] / other[there]).max() for one, other, there in sent)
    epsilon, grow, half, hundredth = odds(of(plan))["an answer"]
    for stated, true in (
        (epsilon, np.log(most)),
        (grow, most),
        (half, 100 * most / (1 + most)),
        (hundredth, 100 * most / (99 + most)),
    ):
        assert true * (1 - 1e-9) <= stated <= true * 1.02


@pytest.mark.parametrize(
    ("answers", "lifetime", "number"), [("once", 4.0, 1), ("fresh", 3.0, 3), ("permanent", 2.5, 2)]
)
def test_a_collection_is_attested_with_its_terms(answers: str, lifetime: float, number: int) -> None:
    attested = of_collection(answers=answers, lifetime=lifetime, least=300)
    one, page = attested.collection, text_of(attested.page())
    assert one is not None
    assert most_answers(one) == number
    publication = collection_publication(one, rebuild(one))
    said = [*notice(one), *publication.person(), *publication.conditions()]
    said += [publication.local_sentence, publication.officers(), one.id.hex(), "KEY (pinned)"]
    several = identification_bounds(attested.mechanism, 300, reports=number)
    said += [several.condition_sentence]
    assert [sentence for sentence in said if " ".join(sentence.split()) not in page] == []
    rows = odds(attested)
    assert [row[0] for row in rows.values()] == [1.0, 1.0, lifetime]
    assert list(rows.values())[-1][1] == pytest.approx(exp(lifetime), rel=5e-3)
    assert (" beyond the guarantee of each report" in page) == (answers == "permanent")
    assert attested.to_dict()["publication"] == publication.to_dict()


@pytest.mark.parametrize("plan", ["some", "tags"])
def test_a_false_promise_is_denied_and_nothing_else_is_said_of_it(plan: str) -> None:
    attested = denied(plan)
    page = text_of(attested.page())
    assert not attested.holds
    assert "DENIED: Habits THE PROMISE IS BROKEN: do not use this mechanism." in page
    figures = [value for _, value in attested.verification.figures]
    assert [value for value in figures if value not in page] == []
    for clean in ("Attestation", "The promise holds", "ULDP for", "signature", "50% becomes", "Who is identified"):
        assert clean not in page, clean
    assert attested.to_dict()["publication"] is None


def test_an_audit_is_stated_and_denies_too() -> None:
    audited = audit(PLANS["some"], draws=2000, random=dc.SeededRandom(1))
    attested = replace(of("some"), audit=audited)
    assert str(audited) in text_of(attested.page())
    broken = replace(attested, audit=replace(audited, holds=False))
    page = text_of(broken.page())
    assert page.count("THE PROMISE IS BROKEN") == 2
    assert "The promise holds" not in page
    assert "signature" not in page


def test_labels_and_titles_are_text() -> None:
    domain = Domain([HOSTILE, *(f"<b>{number}</b>" for number in range(20))])
    page = Attestation(Plan.of(dc.RandomizedResponse(domain, 1.0), title=HOSTILE)).page()
    assert "<script" not in page
    assert "<b>" not in page
    assert text_of(page).count(HOSTILE) == 3
    page = of_collection(title=HOSTILE, purpose=HOSTILE, contact=HOSTILE).page()
    assert "<script" not in page
    assert 'href="https://collect.example.org/v1/collections/habits"' in page


@pytest.mark.parametrize("seed", range(3))
def test_ranges_regions_and_combinations_are_listed_whole(seed: int) -> None:
    """Read back, the entries are the values that were given, and no others."""
    marked = np.random.default_rng(seed).random(60) < 0.6
    codes = np.flatnonzero(marked)
    integers = Domain(range(100, 160))
    read = [
        number
        for entry in spelled_values(integers.space, codes)
        for first, _, last in [entry.partition(" to ")]
        for number in range(int(first), int(last or first) + 1)
    ]
    assert read == [100 + code for code in codes]
    grid = Domain.grid(lat=(0, 1), lon=(0, 1), rows=6, cols=10)
    read = []
    for entry in spelled_values(grid.space, codes):
        row, columns = re.fullmatch(r"row (\d+): columns (.*)", entry).groups()
        for run in columns.split(", "):
            first, _, last = run.partition(" to ")
            read += [10 * int(row) + column for column in range(int(first), int(last or first) + 1)]
    assert read == codes.tolist()
    parts = {"a": [f"a{place}" for place in range(6)], "b": [f"b{place}" for place in range(10)]}
    product = Domain.product(parts)
    mask = np.zeros((6, 10), dtype=bool)
    for entry in spelled_values(product.space, codes):
        said = {name: set(labels.split(", ")) for name, _, labels in (one.partition(": ") for one in entry.split("; "))}
        chosen = [[label in said.get(name, labels) for label in labels] for name, labels in parts.items()]
        mask |= np.outer(*chosen)
    assert np.array_equal(mask.reshape(-1), marked)
    assert spelled_values(product.space, np.arange(60)) == [
        f"every combination of a ({', '.join(parts['a'])}) and b ({', '.join(parts['b'])})"
    ]


def test_nothing_is_attested_of_who_protects_nobody_and_nothing_signed_of_a_simulation() -> None:
    clear = plan_from({**PLAIN, "domain": {"range": [0, 3], "sensitive": [], "allow_unprotected": True}})
    with pytest.raises(ParameterError, match=r"plan.protects-nobody"):
        Attestation(clear)
    page = text_of(of_collection(simulated=True).page())
    assert "This is a simulation: it protects nobody" in page
    assert "signature" not in page


def test_a_second_coin_and_what_it_does_not_hide() -> None:
    """Of permanent answers the page says what they do not hide; of a second coin both epsilons, by verification."""
    attested = of_collection(answers="permanent", memo=2.0, lifetime=6.0)
    page, figures = text_of(attested.page()), odds(attested)
    assert figures["all epochs, one permanent answer"][0] == pytest.approx(2, abs=1e-6)
    assert figures["an epoch, 1 answer"][0] == pytest.approx(1, abs=1e-6)
    assert "all epochs, 3 answers of a version" in figures
    assert " ".join(CHANGES_ARE_VISIBLE.split()) in page
    assert CHANGES_ARE_VISIBLE in str(of_collection(answers="permanent").to_dict())
    assert CHANGES_ARE_VISIBLE not in str(of_collection(answers="fresh").to_dict())
