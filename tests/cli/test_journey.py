"""One collection by the verbs: they do what Python does, from values to a page for officers, or say why not."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import Plan, estimate, read_reports
from discreet.collector.documents.attestation import Attestation
from discreet.collector.documents.signing import plan_of
from discreet.collector.verbs.parameters import spelled_key
from discreet.device.protocol.collection import open_envelope
from discreet.planning.compare import compare_mechanisms
from discreet.privacy.verify import verify
from discreet.tables.columns import read_table
from json_rows import columns
from packing import each
from running import LABELS, VALUES, Files, done, flat, refusal, run, told
from signed import PUBLIC, TRUST, envelope

EVERY = ["rr", "unary", "subset", "hashing", "hadamard"]
KEY = spelled_key(PUBLIC)


def test_the_version_is_printed_and_h_is_help() -> None:
    assert dc.__version__ in done("--version")
    assert done("estimate", "-h") == done("estimate", "--help")


# Reports and estimates


@each("suffix", ["parquet", "arrow", "jsonl"])
def test_obfuscate_gives_a_report_per_row_and_quotes_none(suffix: str, tmp_path: Path) -> None:
    files, output = Files(tmp_path), tmp_path / f"r.{suffix}"
    facts = told("obfuscate", files.plan, files.values, "-o", output)
    assert facts == {"reports": 600, "output": str(output), "plan": files.mechanism.fingerprint, "simulated": False}
    found = read_reports(output, files.mechanism)
    assert (found.n, found.simulated) == (600, False)
    own = [value for value, in_clear in zip(VALUES, found.in_clear, strict=True) if in_clear]
    assert [LABELS[code] for code in found.clear] == own
    files.values.write_text("habit\nnever\nzanzibar\ndaily\nzanzibar\n")
    text = refusal("obfuscate", files.plan, files.values, "-o", files.reports)
    assert "2 of 4 values are not in the domain (first in row 1, line 3)" in text
    assert "zanzibar" not in text
    assert not files.reports.exists()


def test_obfuscate_is_random_and_a_seed_is_not(files: Files) -> None:
    def sent(*options: object) -> Any:
        done("obfuscate", files.plan, files.values, "-o", files.reports, "--force", *options)
        found = read_reports(files.reports, files.mechanism)
        return found.simulated, found.clear.tolist(), found.blocks["bits"].tolist()

    assert sent("--seed", 7) == sent("--seed", 7)
    assert sent("--seed", 7)[0]
    assert sent("--seed", 7) != sent("--seed", 8)
    assert sent() != sent()


@each("method", ["linear", "projected", "mle", "em"])
@each("name", EVERY)
def test_estimate_is_the_estimator(tmp_path: Path, name: str, method: str) -> None:
    files = Files(tmp_path, name)
    wanted = estimate(files.mechanism, files.obfuscated(), method=method)
    facts = told("estimate", files.plan, files.reports, "--method", method, "--level", 0.8, "--simultaneous")
    assert (facts["plan"], facts["n"], facts["level"]) == (wanted.fingerprint, 600, 0.8)
    assert (facts["method"], facts["simultaneous"], facts["simulated"]) == (wanted.method, True, True)
    assert (facts["gap"] is None) == (method not in ("mle", "em"))
    low, high = wanted.interval(0.8, simultaneous=True)
    found = columns(facts)
    assert (found["value"], found["sensitive"]) == (LABELS, [False, False, True, False, True])
    for field, numbers in (("lower", low), ("upper", high), ("frequency", wanted.frequencies)):
        np.testing.assert_allclose(found[field], numbers, rtol=1e-9, atol=1e-12)


def test_estimate_shows_labels_as_they_are_and_writes_tables(files: Files) -> None:
    """Brackets and colons are part of a label, whatever a terminal library makes of them."""
    found, facts = estimate(files.mechanism, files.obfuscated()), told("estimate", files.plan, files.reports)
    text = done("estimate", files.plan, files.reports)
    for code, label in enumerate(LABELS):
        (line,) = [line for line in text.splitlines() if f" {label} " in line]
        assert f"{found.frequencies[code]:.1%}" in line
        assert ("yes" in line) == (code in (2, 4))
    assert text.endswith("These reports are simulated with a known seed: they protect nobody.\n")
    for suffix in ("csv", "parquet", "arrow", "feather", "ipc", "json"):
        output = files.folder / f"estimate.{suffix}"
        assert told("estimate", files.plan, files.reports, "-o", output) == facts
        written = json.loads(output.read_text()) if suffix == "json" else read_table(output).to_pydict()
        assert written == (facts if suffix == "json" else columns(facts))


# Sealed files


def test_reports_are_sealed_and_checked(files: Files) -> None:
    reports, sealed = files.obfuscated(), files.folder / "sealed.parquet"
    result = run("verify", files.plan, "--sealed", files.reports, "--json")
    assert (result.exit_code, json.loads(result.stdout)["sealed"]) == (1, False)
    text = flat(done("seal", files.plan, files.reports, "-o", sealed))
    assert f"600 reports of plan {reports.fingerprint[:12]} sealed in {sealed}, sorted by content." in text
    assert "simulated with a known seed" in text
    assert "cannot show that each person has one report" in flat(done("verify", files.plan, "--sealed", sealed))
    found = told("verify", files.plan, "--sealed", sealed)
    assert (found["sealed"], found["flaw"]) == (True, None)
    assert [(one["n"], one["simulated"], one["compared"]) for one in found["files"]] == [(600, True, True)]
    assert told("estimate", files.plan, files.reports) == told("estimate", files.plan, sealed)
    other = files.folder / "other.toml"
    other.write_text(files.plan.read_text().replace("1.5", "2.5"))
    assert "plan.different" in refusal("verify", other, "--sealed", sealed)


# The promise


@each("name", EVERY)
def test_verify_says_what_was_recomputed(tmp_path: Path, name: str) -> None:
    files = Files(tmp_path, name)
    found, facts = verify(files.mechanism), told("verify", files.plan)
    assert (facts["holds"], facts["promised"]) == (True, 1.5)
    assert (facts["realised"], facts["from_matrix"]) == (found.realised, found.from_matrix)
    ratio = f"{found.ratio.numerator}/{found.ratio.denominator}"
    assert facts["e_to_epsilon"] == ratio
    text = done("verify", files.plan)
    assert "The promise holds." in text
    assert ratio.replace("/", " / ") in text


def test_the_verdict_says_that_blocks_were_not_counted(tmp_path: Path) -> None:
    """Translates modulo 2^24 are too many blocks even of two values; modulo 7 they are few."""
    stated = "The promise holds if pi and rho are as the law states: the blocks were not counted."
    for modulus, said in ((1 << 24, stated), (7, "The promise holds.")):
        mechanism = dc.TranslateResponse(dc.Domain(["yes", "no"]), 2.0, modulus=modulus, base=[0, 1, 3])
        plan = tmp_path / f"{modulus}.toml"
        Plan.of(mechanism).save(plan)
        facts = told("verify", plan)
        assert (facts["holds"], facts["verdict"]) == (True, said)
        assert facts.get("counted", "all") == ("none" if said == stated else "all")
        assert said in flat(done("verify", plan))


def test_a_broken_promise_is_exit_code_1_and_has_no_statement(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = Plan.mechanism

    def broken(self: Plan) -> Any:
        mechanism = sound(self)
        mechanism.__dict__["threshold"] = mechanism.threshold + 1
        return mechanism

    monkeypatch.setattr(Plan, "mechanism", broken)
    page, picture = files.folder / "page.html", files.folder / "curve.svg"
    for asked in (["verify", files.plan, "--statement", 1000, "--plot", picture], ["attest", files.plan, "-o", page]):
        result = run(*asked)
        assert (result.exit_code, "THE PROMISE IS BROKEN" in result.stdout) == (1, True)
        assert "central" not in result.stdout
    assert not picture.exists()
    assert "<h1>DENIED" in page.read_text()
    assert "signature" not in page.read_text().partition("<body>")[2]
    facts = json.loads(run("verify", files.plan, "--statement", 1000, "--json").stdout)
    assert (facts["holds"], "publication" in facts) == (False, False)


def test_a_statement_is_the_guarantee_of_many_reports(files: Files) -> None:
    facts = told("verify", files.plan, "--statement", 5000, "--rounds", 3, "--not-trusted", 100)
    central = dc.shuffled(files.mechanism, 5000, rounds=3, not_trusted=100)
    assert (facts["holds"], facts["publication"]["central"]) == (True, central.to_dict())
    assert "publication" not in told("verify", files.plan)


@each(
    "options, words",
    [
        ("--delta 0.1", "--delta needs --statement"),
        ("--rounds 2", "--rounds needs --statement"),
        ("--not-trusted 2", "--not-trusted needs --statement"),
        ("--statement 1", "statement.empty"),
        ("--statement 10 --not-trusted 9", "statement.empty"),
        ("--statement 10 --delta 1", "delta.not-between"),
        ("--sealed plan.toml --statement 100", "cannot be used with --sealed"),
        ("--sealed plan.toml --rounds 2", "cannot be used with --sealed"),
    ],
)
def test_options_of_a_statement_go_with_a_statement(options: str, words: str, tmp_path: Path) -> None:
    files = Files(tmp_path)
    named = [str(files.plan) if word == "plan.toml" else word for word in options.split()]
    assert words in refusal("verify", files.plan, *named)


def test_a_plan_and_a_collection_are_attested(files: Files) -> None:
    page, signed = files.folder / "page.html", files.folder / "habits.json"
    text = flat(done("attest", files.plan, "-o", page, "--draws", 0))
    attested = Attestation(Plan.load(files.plan))
    assert "The promise holds." in text
    assert page.read_text() == attested.page()
    facts = told("attest", files.plan, "-o", page, "--draws", 0, "--force", "--users", 70)
    assert facts["plan"] == json.loads(json.dumps(attested.to_dict()))["plan"]
    assert "one of 70 people" in page.read_text()
    signed.write_bytes(envelope())
    done("attest", signed, "-o", page, "--draws", 0, "--force")
    assert f"{KEY} (nobody checked whose keys these are)" in page.read_text()
    done("attest", signed, "-o", page, "--draws", 0, "--trust", KEY, "--force")
    one = open_envelope(envelope(), TRUST)
    assert page.read_text() == Attestation(plan_of(one), one, (KEY,), "trusted by whoever made this page").page()
    page.unlink()
    for options, words in (
        ([files.plan, "-o", page, "--trust", KEY], "option.idle"),
        ([files.plan, "-o", page, "--draws", 7], "draws.not-integer"),
        ([files.plan, "-o", page.with_suffix(".pdf")], ".html"),
        ([signed, "-o", page, "--allow-outside"], "a collection names no files"),
        ([signed, "-o", page, "--trust", spelled_key(bytes(32))], "signature.not-trusted"),
    ):
        assert words in refusal("attest", *options)
    assert not page.exists()


# Planning


@each("options", [[], ["--sensitive-mass", "0.2"]])
def test_plan_compares(options: list[str], tmp_path: Path) -> None:
    files, mass = Files(tmp_path), 0.2 if options else None
    target = "sensitive-mass" if options else "worst-case"
    wanted = compare_mechanisms(files.mechanism.domain, 2.0, 5000, target=target, sensitive_mass=mass)
    facts = told("plan", files.plan, "--epsilon", 2, "--users", 5000, *options)
    assert (facts["target"], facts["sensitive_mass"]) == (target, wanted.requirements.mass)
    assert (facts["sensitive_mass_assumed"], facts["best"]) == (not options, wanted.best.name)
    assert (facts["recommendation"], facts["lower_bound"]) == (wanted.recommendation, wanted.least_possible)
    for one, record in zip(wanted.candidates, facts["mechanisms"], strict=True):
        for name in ("name", "worst_mse", "assumed_mse", "excess", "standard_error", "clear_error", "bytes", "fits"):
            assert record["mechanism" if name == "name" else name] == getattr(one, name)
    text = done("plan", files.plan, "--epsilon", 2, "--users", 5000, *options)
    assert flat(text).count(wanted.recommendation) == 1
    assert "is assumed; pass" not in text


def test_a_warning_of_a_verb_is_a_note(tmp_path: Path) -> None:
    """Whatever verb it is: one line on the error stream, once, without places in the installation."""
    domain, known = tmp_path / "domain.toml", tmp_path / "known.csv"
    domain.write_text('[domain]\nlabels = ["Köln", "Bonn"]\n')
    known.write_bytes("label;probability\nKöln;0.5\nBonn;0.5\n".encode("latin-1"))
    result = run("plan", domain, "--users", 1000, "--epsilon", 1, "--distribution", known)
    assert result.exit_code == 0
    assert result.stderr == f"Note: {known} is not in UTF-8; it was read as Windows-1252 (Latin-1).\n"
