"""``estimate`` says what the estimate alone tells of a person, unless it is told not to."""

from pathlib import Path

import pytest

from discreet.cli.views.central import published, published_sentence
from discreet.privacy.shuffling import shuffled
from running import Files, done, refusal, told


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, "rr")


def test_the_sentence_states_both_epsilons_and_can_be_left_out(files: Files) -> None:
    done("obfuscate", files.plan, files.values, "-o", files.reports)
    central = published(files.mechanism, 600)
    assert central is not None
    sentence = published_sentence(central)
    text = " ".join(done("estimate", files.plan, files.reports).split())
    assert sentence in text
    assert "sensitive values and" in sentence
    assert "-private, one-sided, towards values told in clear (at least 1.008 with any number of users)" in sentence
    assert "Whoever sees this estimate alone" not in done("estimate", files.plan, files.reports, "--no-central")
    facts = told("estimate", files.plan, files.reports)["central"]
    assert facts["among"] == shuffled(files.mechanism, 600).among.upper
    assert facts["delta"] == 1e-6
    assert "central" not in told("estimate", files.plan, files.reports, "--no-central")


def test_simulated_reports_promise_nothing(files: Files) -> None:
    files.obfuscated()
    assert "Whoever sees this estimate alone" not in done("estimate", files.plan, files.reports)
    assert "central" not in told("estimate", files.plan, files.reports)


def test_delta_stays_below_one_of_the_people(files: Files) -> None:
    central = published(files.mechanism, 10**8)
    assert central is not None
    assert central.delta == 1e-9
    assert published(files.mechanism, 1) is None


def test_groups_have_no_such_sentence(files: Files) -> None:
    files.obfuscated()
    assert "--no-central" in refusal("estimate", files.plan, files.reports, "--by", "region", "--no-central")
