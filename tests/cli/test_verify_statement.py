"""``verify --statement``: both central epsilons in words, as JSON and as a picture, and what is refused."""

from pathlib import Path

import pytest

from discreet import shuffled
from running import Files, refusal, told


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, "rr")


def test_the_facts_are_those_of_the_guarantee(files: Files) -> None:
    facts = told("verify", files.plan, "--statement", 5000, "--rounds", 3, "--not-trusted", 100)
    assert facts["holds"] is True
    assert facts["publication"]["central"] == shuffled(files.mechanism, 5000, rounds=3, not_trusted=100).to_dict()
    assert facts["publication"]["sentences"]["conditions"][1].startswith(
        "100 reports of each batch are fake or known to the reader"
    )
    assert "publication" not in told("verify", files.plan)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delta", "0.1"], "--delta needs --statement"),
        (["--rounds", 2], "--rounds needs --statement"),
        (["--not-trusted", 2], "--not-trusted needs --statement"),
        (["--statement", 1], "at least 2 reports that hide each other"),
        (["--statement", 10, "--not-trusted", 9], "at least 2 reports that hide each other"),
        (["--statement", 10, "--delta", 1], "delta must be a number between 0 and 1"),
    ],
)
def test_what_would_do_nothing_is_refused(files: Files, options: list[object], words: str) -> None:
    assert words in refusal("verify", files.plan, *options)


@pytest.mark.parametrize(
    "options", [["--statement", 100], ["--rounds", 2], ["--delta", "1e-8"]], ids=lambda one: one[0]
)
def test_a_file_is_checked_without_words_about_a_batch(files: Files, options: list[object]) -> None:
    assert "cannot be used with --sealed" in refusal("verify", files.plan, "--sealed", files.plan, *options)
