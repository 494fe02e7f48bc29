"""Every option of ``risk`` in each of its forms: used, or refused in one sentence."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np
import pytest

from discreet.cli import main
from running import done, refusal, run, told

TRACES, SCORES, COMPARE, DEFENCES = "traces", "scores", "compare", "compare --traces"
FORMS = (TRACES, SCORES, COMPARE, DEFENCES)
RISK = main.commands["risk"]
# What one form of compare takes and the other refuses.
OF_DEFENCES = {
    *("traces", "defences", "seed"),
    *("user", "event", "time", "unit", "missing", "split", "least"),
}
NOT_OF = {COMPARE: OF_DEFENCES, DEFENCES: {"users", "prior"}}
# By form, the options and how they are written.
OPTIONS = {
    form: {
        one.name: max(one.opts, key=len)
        for one in RISK.commands[form.split()[0]].params
        if isinstance(one, click.Option) and one.name not in NOT_OF.get(form, ())
    }
    for form in FORMS
}
NAMES = {name: option for options in OPTIONS.values() for name, option in options.items()}
PLACES = [f"place {place}" for place in range(6)]
PERSONAL = (
    'epsilon = 2.0\ntags = ["home"]\n[domain]\nlabels = {labels}\nsensitive = ["place 1"]\n[mechanism]\nname = "rr"\n'
)


class Inputs:
    """A table of events, one of scores, and plans, each small."""

    def __init__(self, folder: Path) -> None:
        generator = np.random.default_rng(3)
        self.folder, self.events, self.scores = folder, folder / "events.csv", folder / "scores.csv"
        self.plans = [self.plan(name, epsilon) for name, epsilon in (("rr", 3.0), ("unary", 1.0))]
        favourite = generator.integers(0, 6, (30, 2))
        rows = [
            (user, PLACES[favourite[user, generator.integers(0, 2)] if generator.random() < 0.8 else place], 9 - time)
            for user in range(30)
            for time, place in enumerate(generator.integers(0, 6, 10))
        ]
        extra = [f"{u},{p},{t},{u // 3},{p[::-1]}" for u, p, t in rows]
        self.events.write_text("user,event,when,other,tnelp\n" + "\n".join(extra) + "\n")
        pairs = [(row, col) for row in range(12) for col in range(12)]
        lines = [
            f"{r},{c},{(r == c) / 1.5 + generator.random():.6f},{generator.random():.6f},{c},{r}" for r, c in pairs
        ]
        self.scores.write_text("row,col,good,bad,probe,template\n" + "\n".join(lines) + "\n")

    def plan(self, name: str, epsilon: float) -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(f'epsilon = {epsilon}\n[domain]\nlabels = {PLACES}\n[mechanism]\nname = "{name}"\n')
        return path

    def base(self, form: str) -> list[object]:
        return {
            TRACES: [self.events, "--seed", 1],
            SCORES: ["scores", self.scores, "--score", "good", "--seed", 1],
            COMPARE: ["compare", *self.plans, "--users", 100],
            DEFENCES: ["compare", "--traces", self.events, "--defences", "first:2", "--seed", 1],
        }[form]

    def passed(self, name: str) -> list[object]:
        """An option with a value."""
        files = {"PLAN": self.plans[0], "KNOWN": self.events}
        files |= {"FOLDER": self.folder / "out", "USERS": self.folder / "users.csv", "FILE": self.folder / "trace.txt"}
        return [NAMES[name], *(files.get(value, value) for value in VALUES[name])]


VALUES: dict[str, list[Any]] = {
    "user": ["other"],
    "event": ["when"],
    "time": ["when"],
    "unit": ["order"],
    "missing": ["drop"],
    "split": ["first:2"],
    "least": [11],
    "attack": ["markov"],
    "alone": [],
    "traces": ["KNOWN"],
    "defences": ["rare:9 + first:3"],
    "known": ["KNOWN"],
    "known_user": ["other"],
    "known_event": ["tnelp"],
    "known_time": ["when"],
    "plan": ["PLAN"],
    "epsilon": [2.0],
    "mechanism": ["unary"],
    "reports": [2],
    "largest_list": [3],
    "score": ["bad"],
    "probe": ["template"],
    "template": ["probe"],
    "distance": [],
    "failed": [-1],
    "users": [7],
    "prior": ["zipf:1"],
    "fail_above": [0.0],
    "output": ["FOLDER"],
    "per_user": ["USERS"],
    "force": [],
    "seed": [2],
    "allow_outside": [],
    "as_json": [],
    "debug": ["FILE"],
}


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    return Inputs(tmp_path)


def test_no_option_is_left_out_here() -> None:
    """A new option needs a value, and how to see that it is used."""
    assert set(NAMES) == set(VALUES)


# Options whose use is not seen in another answer


def left_out(inputs: Inputs, form: str) -> None:
    with inputs.events.open("a") as file:
        file.write(",place 1,3,5,1\n7,,3,5,1\n")
    assert "are missing" in refusal("risk", *inputs.base(form))
    facts = told("risk", *inputs.base(form), "--missing", "drop")
    assert (facts["rows_left_out"], facts["users"]) == (2, 30)
    assert "Left out: 2 rows in which" in done("risk", *inputs.base(form), "--missing", "drop")


def needs_more(inputs: Inputs, form: str) -> None:
    assert "split.too-few-events" in refusal("risk", *inputs.base(form), "--least", 11)


def failed_scores(inputs: Inputs, form: str) -> None:
    lines = inputs.scores.read_text().split("\n")
    inputs.scores.write_text("\n".join("3,4,-1,0.5,4,3" if line.startswith("3,4,") else line for line in lines))
    facts = told("risk", *inputs.base(form), "--failed", -1)
    assert (facts["users"], facts["dropped"]) == (11, 1)


def wrong_way(inputs: Inputs, form: str) -> None:
    found = run("risk", *inputs.base(form), "--distance")
    assert found.exit_code == 0
    assert "leave out --distance" in found.stderr
    assert found.stdout != done("risk", *inputs.base(form))


def reads_outside(inputs: Inputs, form: str) -> None:
    (inputs.folder / "labels.csv").write_text("\n".join(["place", *PLACES]) + "\n")
    (inputs.folder / "below").mkdir()
    path = inputs.folder / "below" / "plan.toml"
    path.write_text(
        'epsilon = 1\n[domain]\nfile = { path = "../labels.csv", label = "place" }\n[mechanism]\nname = "rr"\n'
    )
    words = {
        COMPARE: ["compare", path, "--users", 100],
        TRACES: [*inputs.base(form), "--plan", path],
        DEFENCES: [*inputs.base(form), path],
    }[form]
    assert "--allow-outside" in refusal("risk", *words)
    done("risk", *words, "--allow-outside")
    if form == DEFENCES:
        assert "option.idle" in refusal("risk", *inputs.base(form), "--reports", 2)


def writes(inputs: Inputs, form: str) -> None:
    given = (*inputs.base(form), "-o", inputs.folder / "out")
    done("risk", *given)
    assert {file.name for file in (inputs.folder / "out").iterdir()} == {"risk.html", "risk.json"}
    assert "output.exists" in refusal("risk", *given)
    done("risk", *given, "--force")
    assert "force.idle" in refusal("risk", *inputs.base(form), "--force")


def reads_both(inputs: Inputs, form: str) -> None:
    other = inputs.folder / "more.csv"
    other.write_text(inputs.events.read_text().replace("place 3", "place 4"))
    assert told("risk", *inputs.base(form), "--traces", other) != answer(form)


def ends_above(inputs: Inputs, form: str) -> None:
    assert run("risk", *inputs.base(form), "--fail-above", 0.0).exit_code == 1
    assert run("risk", *inputs.base(form), "--fail-above", 0.9999).exit_code == 0


def swapped(inputs: Inputs, form: str) -> None:
    both = [*inputs.base(form), *inputs.passed("probe"), *inputs.passed("template")]
    assert told("risk", *both)["success"] == told("risk", *inputs.base(form))["success"]
    assert "no column 'nobody'" in refusal("risk", *inputs.base(form), "--probe", "nobody")


def accepted(inputs: Inputs, form: str) -> None:
    assert run("risk", *inputs.base(form), "--json", "--debug", inputs.folder / "trace.txt").stdout.startswith("{")


def per_user(inputs: Inputs, form: str) -> None:
    done("risk", *inputs.base(form), *inputs.passed("per_user"))
    assert len((inputs.folder / "users.csv").read_text().splitlines()) == 1 + 30


def timed(inputs: Inputs, form: str) -> None:
    given = [*inputs.base(form), "--time", "when"]
    assert "--time-unit" in refusal("risk", *given)
    ordered, hours = (told("risk", *given, "--time-unit", unit) for unit in ("order", "h"))
    assert ordered != answer(form)
    assert hours != ordered
    assert "goes with --time" in refusal("risk", *inputs.base(form), "--time-unit", "h")


OTHERWISE: dict[str, Callable[[Inputs, str], None]] = {
    "time": timed,
    "unit": timed,
    "missing": left_out,
    "least": needs_more,
    "output": writes,
    "force": writes,
    "per_user": per_user,
    "traces": reads_both,
    "failed": failed_scores,
    "distance": wrong_way,
    "allow_outside": reads_outside,
    "fail_above": ends_above,
    "probe": swapped,
    "template": swapped,
    "debug": accepted,
    "as_json": accepted,
}
REPORTS: dict[str, list[object]] = {TRACES: ["--epsilon", 2.0], COMPARE: [], DEFENCES: ["PLAN"]}


@cache
def answer(form: str) -> Any:
    """The answer without further options."""
    with TemporaryDirectory() as folder:
        return told("risk", *Inputs(Path(folder)).base(form))


@pytest.mark.parametrize(("form", "name"), [(form, name) for form in FORMS for name in OPTIONS[form]])
def test_an_option_is_used(form: str, name: str, inputs: Inputs) -> None:
    if name in OTHERWISE:
        if name not in ("force", "template", "debug", "unit"):
            OTHERWISE[name](inputs, form)
        return
    more = {"mechanism": ["--epsilon", 2.0], "reports": REPORTS.get(form, [])}.get(name, [])
    more = [inputs.plans[0] if one == "PLAN" else one for one in more]
    more = ["--known", inputs.events] if name.startswith("known_") else more
    # Names of plans are a part of the answer.
    before = told("risk", *inputs.base(form), *more) if more or form == COMPARE else answer(form)
    assert told("risk", *inputs.base(form), *more, *inputs.passed(name)) != before


WASTES = [
    (form, name)
    for form in FORMS
    for name in NAMES
    if name not in OPTIONS[form] and (name != "force" or form not in (COMPARE, DEFENCES))
]


@pytest.mark.parametrize(("form", "name"), WASTES)
def test_an_option_that_would_be_ignored_is_refused(form: str, name: str, inputs: Inputs) -> None:
    message = refusal("risk", *inputs.base(form), *inputs.passed(name))
    assert NAMES[name] in message
    assert re.search(r"\[option\.[a-z-]+\]", message)


@pytest.mark.parametrize("limit", ["5", "nan", "-inf", "-1", "1", "1.0001"])
def test_a_limit_that_never_or_always_fires_is_refused(limit: str, inputs: Inputs) -> None:
    assert "--fail-above must be a probability" in refusal("risk", *inputs.base(COMPARE), f"--fail-above={limit}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mechanism", "hashing", "--reports", 3], "--mechanism goes with --epsilon"),
        (["--reports", 3], "--reports goes with --plan or --epsilon"),
        (["--mechanism", "unary", "--plan", "PLAN"], "--mechanism goes with --epsilon"),
        (["--attack", "markov", "--plan", "PLAN"], "attacked by their likelihood"),
        (["--epsilon", 1, "--plan", "PLAN"], "give one of the two"),
        (["--allow-outside"], "goes with --plan"),
        (["--event", "nope"], "Use --event to name another column"),
    ],
)
def test_options_that_do_not_go_together(options: list[object], said: str, inputs: Inputs) -> None:
    given = [inputs.plans[0] if one == "PLAN" else one for one in options]
    assert said in refusal("risk", inputs.events, *given)


def test_a_gate_does_not_pass_where_nothing_was_learned(inputs: Inputs) -> None:
    """Every event came once; scores that go the other way name nobody."""
    once = inputs.folder / "once.csv"
    once.write_text("user,event\n" + "".join(f"{row // 10},e{row}\n" for row in range(600)))
    found = run("risk", once, "--seed", 1, "--json", "--fail-above", 0.2)
    assert found.exit_code == 1
    assert "is above 0.2" in found.stderr
    facts = told("risk", once, "--seed", 1)
    assert (facts["risk"], facts["traces_of_which_nothing_was_learned"]) == (1, 1)
    assert facts["success"]["high"] < 0.2
    lines = inputs.scores.read_text().split()
    lines = [f"{line},{'worse' if not at else float(line.split(',')[2]) % 0.1}" for at, line in enumerate(lines)]
    (inputs.folder / "worse.csv").write_text("\n".join(lines) + "\n")
    worse = "--score", "worse", "--seed", 1, "--fail-above", 0.99
    found = run("risk", "scores", inputs.folder / "worse.csv", *worse)
    assert found.exit_code == 1
    assert "not shown to identify more of 12 users than guessing" in found.stderr


def test_users_with_too_few_events_are_counted_or_the_advice_works(inputs: Inputs) -> None:
    with inputs.events.open("a") as file:
        file.write("once,place 1,3,5,1\n")
    assert told("risk", *inputs.base(TRACES))["users_left_out"] == 1
    assert "Left out: 1 of 31 users" in done("risk", *inputs.base(TRACES))
    table = inputs.folder / "people.csv"
    table.write_text("user,event\n" + "".join(f"{user},{PLACES[user % 6]}\n" for user in range(120)))
    assert "split.too-few-events" in refusal("risk", table)
    facts = told("risk", table, "--split", "all", "--least", 1, "--seed", 1)
    assert facts["success"]["value"] == pytest.approx(6 / 120)


def test_a_personalized_plan_is_refused_for_events_and_bounded_by_compare(inputs: Inputs) -> None:
    plan = inputs.folder / "personal.toml"
    plan.write_text(PERSONAL.format(labels=PLACES))
    assert "personalized plan" in refusal("risk", inputs.events, "--plan", plan)
    assert told("risk", "compare", plan, "--users", 100)["plans"][0]["identification"]["value"] < 1


def test_a_score_that_is_text_is_refused_without_quoting_it(inputs: Inputs) -> None:
    inputs.scores.write_text(inputs.scores.read_text().replace("\n5,6,", "\n5,6,alice@example.org "))
    message = refusal("risk", *inputs.base(SCORES))
    assert "The scores must be numbers, got a column of string" in message
    assert "alice" not in message
