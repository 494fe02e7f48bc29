"""``verify --statement``: both central epsilons in words, as JSON and as a picture, and what is refused."""

import re
from pathlib import Path

import pytest

from discreet.core.guarantee import rounded_down, rounded_up
from discreet.privacy.shuffling import shuffled
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


def test_the_picture_is_written(files: Files, tmp_path: Path) -> None:
    done("verify", files.plan, "--statement", 5000, "--plot", tmp_path / "curve.svg")
    assert "what a batch of 5,000 shuffled reports" in (tmp_path / "curve.svg").read_text().lower()


@pytest.mark.parametrize(("n", "rounds"), [(5000, 1), (1_000_000_000, 30)])
def test_the_picture_is_no_wider_than_a_phone(n: int, rounds: int, files: Files, tmp_path: Path) -> None:
    """Beside the picture, a page has a menu of 38 and margins of 16 pixels."""
    picture = tmp_path / "curve.svg"
    done("verify", files.plan, "--statement", n, "--rounds", rounds, "--plot", picture)
    text = picture.read_text()
    wide = re.search(r'<svg[^>]* width="([0-9.]+)"', text)
    assert wide is not None
    # A file of shapes has 54 more pixels of room at its sides, for letters of another font.
    assert float(wide[1]) - 54 <= 390 - 38 - 8
    for line in (f"{n:,} shuffled reports", "of one person", "names or order", "dashed: delta"):
        assert line in text


def test_many_reports_warn_of_a_large_delta(files: Files) -> None:
    asked = ("verify", files.plan, "--statement", 10**7)
    assert "Choose a smaller delta" in " ".join(done(*asked, "--delta", "1e-6").split())
    assert "Choose a smaller delta" not in done(*asked)


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
