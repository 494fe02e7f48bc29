"""The verbs that judge, ``verify``, ``simulate`` and ``plan``: in numbers and words, and what they refuse."""

import json
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet import Plan
from discreet.planning.compare import compare_mechanisms
from discreet.privacy.verify import verify
from running import Files, done, run, told

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


# plan: what is wanted


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
