"""``verify --statement``: both central epsilons in words, as JSON and as a picture, and what is refused."""

from pathlib import Path

import pytest

from discreet import shuffled
from discreet.core.guarantee import rounded_down, rounded_up
from running import Files, done, refusal, told


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, "rr")


def test_both_epsilons_and_the_local_one_are_said(files: Files) -> None:
    central = shuffled(files.mechanism, 10_000, 1e-8)
    text = " ".join(done("verify", files.plan, "--statement", 10_000, "--delta", "1e-8").split())
    assert "If these are 10,000 different people with one report each, whoever sees" in text
    assert "at most 1 in 100,000,000" in text
    assert f"({rounded_up(central.among.upper)}, 1e-08)-DP" in text
    assert "however much she knows of the other 9,999" in text
    assert "has the local guarantee, epsilon = 1.5 for each" in text
    assert central.towards is not None
    least = rounded_down(central.floor or 0)
    assert f"Towards values told in clear: {rounded_up(central.towards.upper)}, one-sided (exact)" in text
    assert f"more users cannot make it less than {least}." in text


def test_the_facts_are_those_of_the_guarantee(files: Files) -> None:
    facts = told("verify", files.plan, "--statement", 5000, "--rounds", 3, "--not-trusted", 100)
    assert facts["holds"] is True
    assert facts["publication"]["central"] == shuffled(files.mechanism, 5000, rounds=3, not_trusted=100).to_dict()
    assert facts["publication"]["sentences"]["conditions"][1].startswith(
        "This assumes that 100 reports of each batch hide nobody"
    )
    assert "publication" not in told("verify", files.plan)


def test_exact_is_said_of_figures_whose_ends_agree(files: Files) -> None:
    """Of two of three values at epsilon 5 nothing but the upper end is promised where the lower one is far away."""
    plan = files.folder / "three.toml"
    plan.write_text(
        'epsilon = 5.0\n[domain]\nlabels = ["a", "b", "c"]\nsensitive = ["a", "b"]\n[mechanism]\nname = "rr"\n'
    )
    asked = ("verify", plan, "--statement", 752, "--delta", "0.0035")
    among = told(*asked)["publication"]["central"]["among"]
    assert among["epsilon"] >= 4.21
    assert (among["status"] == "exact") == (among["epsilon"] <= 1.01 * among["epsilon_at_least"])
    assert f"of the other 751 ({among['status']})" in " ".join(done(*asked).split())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delta", "0.1"], "--delta goes with --statement"),
        (["--rounds", 2], "--rounds goes with --statement"),
        (["--not-trusted", 2], "--not-trusted goes with --statement"),
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
    assert "does not go with --sealed" in refusal("verify", files.plan, "--sealed", files.plan, *options)
