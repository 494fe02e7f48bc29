"""The verbs that judge, ``verify``, ``simulate`` and ``plan``: in numbers and words, and what they refuse."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.core.domain import Domain
from discreet.formats.plan import Plan
from discreet.planning.compare import compare_mechanisms
from discreet.privacy.verify import verify
from running import Files, done, refusal, run, told


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


# verify


@pytest.mark.parametrize("name", ["rr", "unary", "subset", "hashing", "hadamard"])
def test_verify(tmp_path: Path, name: str) -> None:
    files = Files(tmp_path, name)
    found, facts = verify(files.mechanism), told("verify", files.plan)
    assert facts["holds"] is True
    assert (facts["promised"], facts["realised"], facts["from_matrix"]) == (1.5, found.realised, found.from_matrix)
    above, below = map(int, facts["e_to_epsilon"].split("/"))
    assert (above, below) == (found.ratio.numerator, found.ratio.denominator)
    text = done("verify", files.plan)
    assert "The promise holds." in text
    assert f"{above} / {below}" in text


def test_the_verdict_says_that_blocks_were_not_counted(tmp_path: Path) -> None:
    """Translates modulo 2^24 are too many blocks even of two values; modulo 7 they are few."""
    stated = "The promise holds as stated: its blocks were not counted."
    for modulus, said in ((1 << 24, stated), (7, "The promise holds.")):
        mechanism = dc.TranslateResponse(dc.Domain(["yes", "no"]), 2.0, modulus=modulus, base=[0, 1, 3])
        plan = tmp_path / f"{modulus}.toml"
        Plan.of(mechanism).save(plan)
        facts = told("verify", plan)
        assert (facts["holds"], facts.get("counted", "all")) == (True, "none" if said == stated else "all")
        assert facts["verdict"] == said
        assert said in " ".join(done("verify", plan).split())


def test_verify_exits_with_1_if_the_promise_is_broken(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Plan.mechanism

    def broken(self: Plan) -> Any:
        mechanism = sound(self)
        mechanism.__dict__["threshold"] = mechanism.threshold + 1
        return mechanism

    monkeypatch.setattr(Plan, "mechanism", broken)
    result = run("verify", files.plan)
    assert result.exit_code == 1
    assert "THE PROMISE IS BROKEN" in result.stdout
    picture = files.plan.with_name("curve.svg")
    result = run("verify", files.plan, "--statement", 1000, "--plot", picture)
    assert result.exit_code == 1
    assert "central" not in result.stdout
    assert "Written" not in result.stdout
    assert not picture.exists()
    assert "publication" not in json.loads(run("verify", files.plan, "--statement", 1000, "--json").stdout)
    result = run("verify", files.plan, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["holds"] is False


def test_verify_says_where_nobody_is_protected(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    text = 'epsilon = 1\n[domain]\nrange = [0, 3]\nsensitive = []\nallow_unprotected = true\n[mechanism]\nname = "rr"\n'
    plan.write_text(text)
    assert "Nothing is protected" in done("verify", plan)
    facts = told("verify", plan)
    assert (facts["notion"], facts["promised"], facts["realised"]) == ("none", None, "Infinity")


# simulate


STUDY = """epsilon = 1.0
methods = ["linear"]
show = "linear"
data = { path = "people.csv" }
run = [{ protect = "all", mechanism = { name = "rr" } }, { mechanism = { name = "rr" } }]
"""


def test_simulate_refuses(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    assert "people.csv does not exist" in refusal("simulate", study)
    study.write_text(STUDY.replace("linear", "magic"))
    assert "methods must be among" in refusal("simulate", study)
    study.write_text(STUDY.replace('"rr"', '"rr", k = 2'))
    assert "at run[0].mechanism" in refusal("simulate", study)


# plan


@pytest.mark.parametrize("options", [[], ["--sensitive-mass", "0.2"]])
def test_plan_compares(files: Files, options: list[str]) -> None:
    mass = 0.2 if options else None
    target = "sensitive-mass" if options else "worst-case"
    wanted = compare_mechanisms(files.mechanism.domain, 2.0, 5000, target=target, sensitive_mass=mass)
    facts = told("plan", files.plan, "--epsilon", 2, "--users", 5000, *options)
    assert facts["target"] == target
    assert facts["sensitive_mass"] == wanted.requirements.mass
    assert facts["sensitive_mass_assumed"] == (not options)
    for one, record in zip(wanted.candidates, facts["mechanisms"], strict=True):
        assert record["mechanism"] == one.name
        for name in ("worst_mse", "assumed_mse", "excess", "standard_error", "clear_error", "bytes", "fits"):
            assert record[name] == getattr(one, name)
        assert record["users_needed"] is None
    assert facts["best"] == wanted.best.name
    assert facts["recommendation"] == wanted.recommendation
    assert facts["lower_bound"] == wanted.least_possible
    text = done("plan", files.plan, "--epsilon", 2, "--users", 5000, *options)
    assert " ".join(text.split()).count(wanted.recommendation) == 1
    assumed = done("plan", files.plan, "--epsilon", 2, "--users", 5000, "--target", "sensitive-mass")
    assert "is assumed; pass --sensitive-mass" in assumed
    assert "is assumed; pass" not in text
    for one in sorted(wanted.candidates, key=wanted.error)[:8]:
        assert f"{wanted.error(one):.3e}" in text


def test_plan_takes_a_domain_with_its_mass(tmp_path: Path) -> None:
    domain = tmp_path / "domain.toml"
    domain.write_text("sensitive_mass = 0.3\n[domain]\nrange = [0, 9]\nsensitive = [1, 2]\n")
    options = ("plan", domain, "--epsilon", 1, "--users", 100)
    assert told(*options)["sensitive_mass"] == 0.3
    assert told(*options, "--sensitive-mass", 0.4)["sensitive_mass"] == 0.4


@pytest.mark.parametrize(
    "options",
    [
        ["--epsilon", "0", "--users", "9"],
        ["--epsilon", "nan", "--users", "9"],
        ["--epsilon", "1", "--users", "0"],
        ["--epsilon", "1", "--users", "9", "--sensitive-mass", "1.5"],
        ["--epsilon", "1", "--users", "9", "--target", "distribution"],
        ["--epsilon", "1", "--users", "9", "--largest-report", "0.5"],
        ["--epsilon", "1", "--users", "9", "--largest-report", "nan"],
        ["--epsilon", "1", "--users", "9", "--reports-per-user", "0"],
        ["--epsilon", "1", "--users", "9", "--standard-error", "0"],
        ["--epsilon", "1", "--users", "9", "--distribution", "nowhere.csv"],
        ["--epsilon", "1", "--users", "9", "--plot", "picture.gif"],
        ["--epsilon", "1", "--users", "9", "--plot", "no/such/folder/picture.png"],
    ],
)
def test_plan_refuses(files: Files, options: list[str]) -> None:
    refusal("plan", files.plan, *options)


def test_plan_says_what_is_wrong_with_a_plan(files: Files) -> None:
    files.plan.write_text(files.plan.read_text().replace('"unary"', '"unry"'))
    assert "unry" in refusal("plan", files.plan, "--epsilon", 1, "--users", 10)


# plan: what is wanted


ONE = ("--epsilon", 1, "--users", 3000)


def test_plan_for_a_distribution(files: Files) -> None:
    known = files.folder / "known.csv"
    known.write_text("label,probability\nnever,0.5\n[/often],0.125\ndaily,0.375\n")
    facts = told("plan", files.plan, *ONE, "--distribution", known)
    wanted = compare_mechanisms(files.mechanism.domain, 1.0, 3000, target="distribution", p=[0.5, 0, 0.125, 0, 0.375])
    assert (facts["target"], facts["sensitive_mass"], facts["distribution_given"]) == ("distribution", 0.5, True)
    assert facts["mechanisms"][1]["assumed_mse"] == wanted.candidates[1].assumed_mse
    assert facts["lower_bound"] is None
    assert facts["recommendation"] == wanted.recommendation
    text = done("plan", files.plan, *ONE, "--distribution", known)
    assert "50.0% of the people with a sensitive value, for the given distribution" in " ".join(text.split())
    worst = told("plan", files.plan, *ONE, "--distribution", known, "--target", "worst-case")
    assert worst["target"] == "worst-case"
    assert "one of the two" in refusal("plan", files.plan, *ONE, "--distribution", known, "--sensitive-mass", 0.5)
    known.write_text("label,probability\nnever,0.5\nsometimes,0.5\n")
    message = refusal("plan", files.plan, *ONE, "--distribution", known)
    assert "known.csv" in message
    assert "sometimes" not in message


def test_plan_with_all_wishes(files: Files) -> None:
    options = ("--largest-report", 9, "--reports-per-user", 2, "--standard-error", 0.02, "--sensitive-mass", 0.3)
    facts = told("plan", files.plan, *ONE, *options)
    assert (facts["epsilon_per_report"], facts["reports"], facts["reports_per_user"]) == (0.5, 6000, 2)
    assert (facts["largest_report"], facts["standard_error"]) == (9, 0.02)
    assert not all(one["fits"] for one in facts["mechanisms"])
    assert all(one["users_needed"] > 0 for one in facts["mechanisms"])
    text = done("plan", files.plan, *ONE, *options)
    assert "hashing !" in text
    assert "3,000 users, 2 reports each" in text
    assert "The errors are those of 6,000 independent values" in text
    assert "Each report has epsilon = 0.5 and fresh noise" in text
    assert f"{facts['mechanisms'][0]['users_needed']:,}" in text


def test_a_large_epsilon_is_told_in_odds(files: Files) -> None:
    """Above 4, in one sentence, wherever it is promised; e^5 = 148.4 turns 1 to 99 into 3 to 2."""
    said = "In odds: those of a protected value may grow by a factor of 149"
    for epsilon, told_so in ((5, True), (4, False)):
        text = " ".join(done("plan", files.plan, "--epsilon", epsilon, "--users", 3000).split())
        assert (said in text) == told_so
        assert ("In odds" in text) == told_so
        plan = files.folder / f"{epsilon}.toml"
        plan.write_text(re.sub(r"epsilon = [\d.]+", f"epsilon = {epsilon}", files.plan.read_text()))
        text = " ".join(done("verify", plan).split())
        assert text.count("In odds") == told_so
        assert ("whoever held it at 1% before may hold it at 60% after." in text) == told_so


def test_plan_weighs_reports(files: Files) -> None:
    path = files.folder / "many.toml"
    path.write_text("[domain]\nrange = [0, 20000]\n")
    run = ("plan", path, "--epsilon", 0.5, "--users", 10**8)
    light, heavy = told(*run), told(*run, "--within", 0)
    assert (light["within"], light["best"], light["least_error"]) == (0.05, "hashing", "subset")
    assert (heavy["within"], heavy["best"], heavy["least_error"]) == (0, "subset", "subset")
    wanted = compare_mechanisms(Domain(range(20_000)), 0.5, 10**8)
    assert light["recommendation"] == wanted.recommendation
    assert "hashing *" in done(*run)
    assert "subset *" in done(*run, "--within", 0)
    assert "within" in refusal(*run, "--within", -1)


def test_a_plan_fits_a_screen(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """24 lines of 80 columns, with all wishes; the recommended mechanism is in the table, and so is what it takes."""
    monkeypatch.setenv("COLUMNS", "80")
    (files.folder / "many.toml").write_text("[domain]\nrange = [0, 20000]\n")
    few = ("--epsilon", 1, "--users", 3000, "--sensitive-mass", 0.3, "--standard-error", 0.02)
    for asked in ([files.plan, *few], [files.folder / "many.toml", "--epsilon", 0.5, "--users", 10**8]):
        text = done("plan", *asked)
        lines = text.splitlines()
        assert len(lines) <= 23
        assert max(map(len, lines)) <= 80
        facts = told("plan", *asked)
        [best] = [line.split() for line in lines if " * " in line and line.startswith("│")]
        assert best[1:3] == [facts["best"], "*"]
        assert " ".join(text.split()).count(facts["recommendation"]) == 1


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A domain of two values, of which a picture has few curves."""
    path = tmp_path / "few.toml"
    path.write_text('[domain]\nlabels = ["never", "daily"]\nsensitive = ["daily"]\n')
    return path


def test_a_warning_of_a_verb_is_a_note(tmp_path: Path) -> None:
    """Whatever verb it is: one line on the error stream, once, without places in the installation."""
    (tmp_path / "domain.toml").write_text('[domain]\nlabels = ["Köln", "Bonn"]\n')
    (tmp_path / "known.csv").write_bytes("label;probability\nKöln;0.5\nBonn;0.5\n".encode("latin-1"))
    asked = (
        "plan",
        tmp_path / "domain.toml",
        "--users",
        1000,
        "--epsilon",
        1,
        "--distribution",
        tmp_path / "known.csv",
    )
    result = run(*asked)
    assert result.exit_code == 0
    assert result.stderr == f"Note: {tmp_path / 'known.csv'} is not in UTF-8; it was read as Windows-1252 (Latin-1).\n"
