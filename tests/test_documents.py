"""What the documents say works as they say it."""

import doctest
import json
import re
import shlex
import time
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
import pytest

import discreet
from discreet import METHODS, Domain, Questionnaire, SubsetSelection, UnaryEncoding
from discreet.cli import main
from discreet.device.protocol.collection import Epochs
from discreet.device.protocol.sampler import Sampler
from discreet.formats.plan import PlanDocument, read_document
from discreet.mechanisms import BLOCK_MECHANISMS
from discreet.simulation.study import Study
from discreet.theory.optimum import lower_bound
from packing import each
from signed import PUBLIC, envelope

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    fences = re.findall(r"^```([^\n`]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [block for named, block in fences if named == language]


def commands(page: Path) -> list[list[str]]:
    """The words of every command of discreet in a page's blocks."""
    text = page.read_text(encoding="utf-8")
    lines = "\n".join([*blocks(page, ""), *re.findall(r"^ {4}(.*\S)$", text, flags=re.MULTILINE)])
    parts = re.split(r"\n| && | \| ", re.sub(r"\\\n *", "", lines))
    # As shells do: a # within a word begins no comment.
    return [shlex.split(re.sub(r"\s#.*", "", part)) for part in parts if part.startswith("discreet ")]


def check_command(words: list[str]) -> None:
    """Check that every verb, option and argument of a command exists, and that none is missing."""
    key, verb = b64encode(bytes(32)).decode(), cast("click.Command", main)
    while isinstance(verb, click.Group):
        # Of the kinds of risk, that of traces need not be named.
        named = words.pop(0) if verb.name != "risk" or words[0] in verb.commands else "traces"
        found = verb.get_command(click.Context(verb), named)
        assert found is not None, named
        verb = found
    assert verb.make_context(verb.name, [key if word == "KEY" else word for word in words])


@each("page", PAGES)
def test_commands_in_the_documents_are_commands(page: Path) -> None:
    for _, *words in commands(page):
        check_command(words)


def verbs_of(group: click.Group, path: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        verb = group.get_command(click.Context(group), name)
        assert verb is not None
        if isinstance(verb, click.Group):
            yield from verbs_of(verb, [*path, name])
        else:
            yield [*path, name], verb


def test_the_help_of_every_verb_ends_with_an_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words, verb in verbs_of(cast("click.Group", main), []):
        assert verb.epilog, words
        example = shlex.split(verb.epilog.removeprefix("Example: "))
        assert example[: len(words) + 1] == ["discreet", *words]
        for name in {word for word in example if "." in word and "/" not in word and "@" not in word}:
            Path(name).write_text("")
        for folder in ("collector-data/sealed/habits/v1", "reports", "sealed"):
            Path(folder).mkdir(parents=True, exist_ok=True)
        check_command(example[1:])


@each("page", ["README.md", "docs/index.md"])
def test_the_first_example_of_a_front_page_runs(page: str) -> None:
    (example,) = blocks(ROOT / page, "python")
    names: dict[str, object] = {}
    exec(compile(example, page, "exec"), names)
    found = names["estimate"]
    assert isinstance(found, discreet.Estimate)
    assert abs(found.frequencies - 0.25).max() < 0.1
    assert found.n == 20_000


def test_the_picture_of_the_front_page_has_the_errors_of_its_caption() -> None:
    page = " ".join((ROOT / "docs" / "index.md").read_text(encoding="utf-8").split())
    study = Study.load(ROOT / "examples" / "census.toml")
    some, everything = study.domain, Domain(range(study.domain.size))
    laws = (SubsetSelection(everything, 1.0), UnaryEncoding(some, 1.0))
    whole, part = (np.sqrt(law.decoder.variances(study.counts.sum(), study.truth)) for law in laws)
    less = 1 - part[some.sensitive].mean() / whole[some.sensitive].mean()
    fold = whole[~some.sensitive].mean() / part[~some.sensitive].mean()
    assert f"falls {fold:.0f}-fold for the unprotected answers, and by {less:.0%} for the protected ones" in page


def test_the_mechanisms_of_the_page_are_all_there_are_and_at_hand() -> None:
    page = (ROOT / "docs" / "howto" / "planning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `([a-z-]+)` \|", page, flags=re.MULTILINE)
    assert {plan: getattr(discreet, name) for name, plan in rows} == dict(BLOCK_MECHANISMS)
    assert {made.__name__ for made in BLOCK_MECHANISMS.values()} <= set(discreet.__all__)


def test_twelve_months_of_the_same_people_have_the_errors_of_the_page() -> None:
    page = ROOT / "docs" / "explanation" / "surveys.md"
    example = next(block for block in blocks(page, "python") if "people, months" in block)
    names: dict[str, Any] = {}
    exec(compile(example, "surveys.md", "exec"), names)
    memo, poor, months = names["memo"], names["domain"].sensitive_codes, names["tallies"]
    shares = names["counts"] / names["counts"].sum()
    one = np.sqrt(memo.mechanism.decoder.variances(names["people"], shares))[poor]
    found = [f"{100 * error:.2f}%" for error in (one.mean(), np.sqrt(2) * one.mean())]
    assert f"| ε = 1.8 of one round, 2 of all | {' | '.join(found)} |" in page.read_text()
    first, second = (memo.mechanism.decoder.estimate(months[month])[poor] for month in (1, 2))
    # Few people changed, so that changes are well within the errors of independent months.
    assert (abs(second - first) < 4 * np.sqrt(2) * one).all()


def test_the_example_of_the_personalized_mechanism_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(ROOT / "docs" / "explanation" / "personalized.md", "python")
    names: dict[str, Any] = {}
    exec(compile(example, "personalized.md", "exec"), names)
    found = names["found"]
    assert found.placeholders["home"] == pytest.approx(1, abs=0.1)
    assert found.estimate.frequencies[[1, 3]] == pytest.approx([0.6, 0.4], abs=0.1)
    shown = capsys.readouterr().out
    assert shown.startswith("SecretTags(hidden)")
    assert "park" not in shown


def test_the_device_of_the_page_on_devices_answers(tmp_path: Path) -> None:
    (example,) = blocks(ROOT / "docs" / "reference" / "device.md", "python")
    values = {"age": ["20s", "30s"], "marital": ["single", "widowed"]}
    plan = {"epsilon": 1.0, "domain": {"product": values}, "mechanism": {"name": "rr"}}
    now = Epochs(int(time.time()) - 60, 3600, 24)
    asked = envelope(plan, epochs=now, collectors=("http://127.0.0.1:9",))
    names: dict[str, Any] = {"public_key": PUBLIC, "envelope": asked}
    place = example.replace("/home/me/.local/share/app", str(tmp_path / "device"))
    assert place != example
    exec(compile(place, "device.md", "exec"), names)
    with names["device"] as device:
        assert [entry.state for entry in device.log()] == ["waiting"]


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("explanation/uldp.md", 12),
        ("explanation/block_laws.md", 6),
        ("reference/properties.md", 6),
        ("explanation/shuffling.md", 15),
    ],
)
def test_the_numbers_of_a_page_are_what_the_software_says(name: str, examples: int) -> None:
    page = ROOT / "docs" / name
    shown = "".join(blocks(page, "pycon"))
    found = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(shown, {}, page.name, None, None))
    assert (found.failed, found.attempted >= examples) == (0, True)


def test_coverage_is_told_of_every_mechanism_and_met() -> None:
    """Intervals of the tally, mle and em at every epsilon; means near 95%, as the page's first lines say."""
    page = (ROOT / "docs" / "evidence" / "coverage.md").read_text(encoding="utf-8")
    real, tallies, errors = (page.split(title, 1)[1] for title in ("## Real reports", "## The tally's", "## Standard"))
    entry = r"([\d.]+)%, \d+%, \d+%, ([\d.]+)"
    rows = re.findall(rf"^\| ([a-z-]+) ([\d.]+) (U?LDP), Zipf \| {entry} \| {entry} \| {entry} \|$", real, re.MULTILINE)
    laws = ["rr", "subset", "unary", "hadamard", "hashing", "design"]
    assert [row[:3] for row in rows] == list(product(laws, ["0.3", "1", "4"], ["LDP", "ULDP"]))
    means = [float(row[at]) for row in rows for at in (3, 5, 7)]
    assert 92 < min(means) <= max(means) <= 99.7
    assert max(float(row[4]) for row in rows) <= 1.03
    assert {law for law, *_ in re.findall(rf"^\| [\d,]+ \| ([a-z]+) .* \| {entry} ", tallies, re.MULTILINE)} == set(
        laws[:3]
    )
    assert [f"`{method}`" for method in METHODS if f"`{method}`" not in errors] == []
    assert page.index("Which interval do I trust?") < 200
    assert (ROOT / "docs" / "evidence" / "coverage.svg").read_text(encoding="utf-8").startswith("<svg")


def test_the_comparison_of_mechanisms_is_what_the_software_says() -> None:
    text = " ".join((ROOT / "docs" / "howto" / "planning.md").read_text(encoding="utf-8").split())
    domain = discreet.Domain(range(400), sensitive=range(76))
    bits = partial(discreet.UnaryEncoding, theta="optimal")
    makes = (discreet.RandomizedResponse, discreet.HadamardResponse, bits)

    def excess(mechanism: Any) -> float:
        return float(mechanism.decoder.worst_case_mse(1) / lower_bound(76, 400, mechanism.epsilon, 1))

    small, large = ([excess(make(domain, epsilon)) for make in makes] for epsilon in (0.5, 6.0))
    assert [f"{ratio:.3g}" for ratio in (*small, *large)] == ["11.9", "1.09", "1.03", "1", "54.4", "1.64"]
    assert "`rr` has 12 and 1.0, `hadamard` 1.09 and 54, bits with the best theta 1.03 and 1.6." in text
    near = (discreet.SubsetSelection, discreet.LocalHashing)
    assert max(excess(make(domain, epsilon)) for make in near for epsilon in (0.5, 1, 2, 4, 6)) < 1.02


def test_the_sampler_of_the_page_on_formats_is_one_at_epsilon_1() -> None:
    (spelled,) = (block for block in blocks(ROOT / "docs" / "reference" / "formats.md", "json") if "truth" in block)
    domain = Domain(range(1000), sensitive=[*range(17, 40), *range(900, 977)])
    assert Sampler.parse(json.loads(spelled)) == Sampler.of(UnaryEncoding(domain, 1.0))


def test_plans_in_the_documents_are_plans(tmp_path: Path) -> None:
    plan, survey = blocks(ROOT / "docs" / "reference" / "formats.md", "toml")
    path = tmp_path / "plan.toml"
    path.write_text(plan, encoding="utf-8")
    assert read_document(path, PlanDocument).domain.domain(tmp_path).size == 3
    path.write_text(survey, encoding="utf-8")
    assert len(Questionnaire.load(path).survey().questions) == 2


@each("page", PAGES)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
