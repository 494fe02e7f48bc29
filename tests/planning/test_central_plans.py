"""The largest local epsilon for a central promise: the printed table, what decides, bad input, the verb."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.cli.views.planning import central_parts
from discreet.core.domain import Domain
from discreet.errors import ParameterError
from discreet.formats.plan import Plan
from discreet.mechanisms import HadamardResponse, RandomizedResponse, SubsetSelection, UnaryEncoding
from discreet.planning.best import best
from discreet.planning.candidates import People, Requirements
from discreet.planning.central import CentralTarget, collector_sentence, largest_local, plan_central
from discreet.privacy.shuffling import shuffled
from refusals import refused
from running import refusal, told

ALL, SOME = Domain(range(100)), Domain(range(100), sensitive=range(20))
EVEN = np.full(100, 0.01)
TARGET = CentralTarget(1.0, delta=1e-8)

# Local epsilon and root mean squared error at central epsilon 1, delta 1e-8; the sources print so many digits.
PRINTED = [
    (RandomizedResponse, ALL, 1_000, "4.12", 0.0835),
    (RandomizedResponse, ALL, 10_000, "5.51", 0.0140),
    (RandomizedResponse, ALL, 100_000, "7.45", 0.00333),
    (RandomizedResponse, ALL, 1_000_000, "9.69", 0.00100),
    (RandomizedResponse, ALL, 10_000_000, "11.99", 0.000315),
    (SubsetSelection, ALL, 1_000, None, 0.601 / 6.3),
    (partial(UnaryEncoding, theta=0.5), ALL, 10_000, None, 0.190 / 11.0),
    (UnaryEncoding, ALL, 10_000, None, 0.190 / 6.2),
    (HadamardResponse, ALL, 10_000, None, 0.190 / 1.9),
    (partial(UnaryEncoding, theta=0.5), SOME, 10_000, "4.61", 0.0158),
    (partial(UnaryEncoding, theta=0.5), SOME, 100_000, "6.82", 0.00452),
    (partial(UnaryEncoding, theta=0.5), SOME, 1_000_000, "9.12", 0.00141),
    (RandomizedResponse, SOME, 10_000, "3.29", 0.0176),
    (UnaryEncoding, SOME, 10_000, None, 0.035),
]


@pytest.mark.parametrize(("build", "domain", "users", "local", "error"), PRINTED)
def test_the_printed_table(build: Any, domain: Domain, users: int, local: str | None, error: float) -> None:
    mechanism, limit = largest_local(partial(build, domain), 20.0, users, TARGET)
    assert limit == ("among" if domain is ALL else "towards")
    assert local is None or f"{mechanism.epsilon:.2f}" == local
    assert np.sqrt(mechanism.decoder.mse(users, EVEN)) == pytest.approx(error, rel=0.03)


@pytest.mark.parametrize("domain", [ALL, SOME], ids=["all", "some"])
def test_the_promise_is_kept_and_no_more_is_possible(domain: Domain) -> None:
    build = partial(RandomizedResponse, domain)
    mechanism, _ = largest_local(build, 20.0, 5_000, CentralTarget(0.5, delta=1e-6, towards=0.25))
    found = shuffled(mechanism, 5_000, 1e-6)
    assert found.among.upper <= 0.5
    above = shuffled(build(mechanism.epsilon * 1.001), 5_000, 1e-6)
    if domain is ALL:
        assert found.towards is None
        assert above.among.upper > 0.5
    else:
        assert found.towards is not None
        assert found.towards.upper <= 0.25
        assert above.towards is not None
        assert above.towards.upper > 0.25


def test_the_limit_of_the_local_epsilon_decides() -> None:
    """Among equally limited ones the winner is whatever wins locally there."""
    asked = Requirements(ALL, 4.0, 100_000, People.of(ALL, None, EVEN), "distribution")
    found = plan_central(asked, TARGET)
    assert {one.limit for one in found.options} == {"local"}
    assert all(one.local == pytest.approx(4.0, rel=1e-3) and one.central.among.upper < 1 for one in found.options)
    chosen = best(ALL, 4.0, p=EVEN, central=TARGET, users=100_000)
    assert chosen == found.best.candidate.mechanism
    errors = [np.sqrt(one.candidate.mechanism.decoder.mse(100_000, EVEN)) for one in found.options]
    assert [one.error for one in found.options] == pytest.approx(sorted(errors))
    assert found.best.gain == pytest.approx(found.local_only / found.best.error)
    assert "the limit of the local epsilon decides" in found.recommendation
    assert found.collector in repr(found)
    parts = list(central_parts(found))
    assert all(sentence in parts for sentence in (found.recommendation, found.collector))
    assert "factor of 54.6, so that what was held at 1% before may be held at 35.6% after" in found.collector


def test_no_shuffling_is_needed_below_the_central_promise() -> None:
    asked = Requirements(ALL, 0.5, 1_000, People.of(ALL, None, None))
    found = plan_central(asked, TARGET)
    assert found.recommendation.startswith("The local epsilon 0.5 keeps the promise without shuffling: use ")
    assert found.best.gain == pytest.approx(1, rel=0.05)
    assert {one.limit for one in found.options} == {"local"}


def test_gains_are_over_what_keeps_the_same_promises_without_shuffling() -> None:
    """A promise among sensitive values says nothing where one value alone is sensitive."""
    one = Domain(range(8), sensitive=[0])
    asked = Requirements(one, 4.0, 10_000, People.of(one, None, None))
    found = plan_central(asked, CentralTarget(0.1, towards=2.0))
    assert found.local_only == plan_central(asked, CentralTarget(2.0)).local_only
    assert found.best.gain < 1.1
    everyone = Requirements(ALL, 4.0, 100, People.of(ALL, None, None))
    refused(ParameterError, lambda: plan_central(everyone, CentralTarget(1.0, towards=0.1)))


def test_large_odds_are_said_without_overflow() -> None:
    assert "more than 99.9%" in collector_sentence(800.0)


def test_bad_input() -> None:
    refused(ParameterError, lambda: CentralTarget(0.0))
    refused(ParameterError, lambda: CentralTarget(1.0, delta=1.0))
    refused(ParameterError, lambda: CentralTarget(1.0, towards=-1.0))
    refused(ParameterError, lambda: best(ALL, 4.0, central=TARGET))
    refused(ParameterError, lambda: best(ALL, 4.0, users=1, central=TARGET))
    two = Domain(["a", "b"])
    people = People.of(two, None, None)
    refused(ParameterError, lambda: plan_central(Requirements(two, 4.0, 100, people, reports_per_user=2), TARGET))
    refused(ParameterError, lambda: plan_central(Requirements(two, 0.9, 100, people, largest_report=0.5), TARGET))


def test_the_verb(tmp_path: Path) -> None:
    source, written = tmp_path / "domain.toml", tmp_path / "plan.toml"
    source.write_text('[domain]\nlabels = ["a", "b", "c", "d", "e"]\nsensitive = ["a", "b"]\n')
    asked = ["plan-central", source, "--central", 1, "--delta", "1e-8", "--users", 2000]
    facts = told(*asked, "--local-at-most", 4, "-o", written)
    rows = facts["mechanisms"]
    assert all(max(row["among"]["upper"], row["towards"]["upper"]) <= 1 for row in rows)
    assert all(row["local_epsilon"] <= 4 for row in rows)
    assert rows == sorted(rows, key=lambda row: row["root_mean_squared_error"])
    mechanism = Plan.load(written).mechanism()
    assert mechanism.epsilon == pytest.approx(next(r for r in rows if r["name"] == facts["best"])["local_epsilon"])


def test_options_that_do_nothing_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "domain.toml"
    source.write_text('[domain]\nlabels = ["a", "b", "c"]\n')
    asked = ["plan-central", source, "--users", 2000, "--central", 1]
    assert "--local-at-most must be given" in refusal(*asked)
