"""Every option of every verb, in every form in which it could be given: it is used, or it is refused by its name.

Used: with it the verb prints something else, writes something else, or exits otherwise. A new option has to be entered.
"""

import shutil
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import discreet
from discreet.cli import main
from discreet.cli.options import OptionGroup
from packing import each
from running import PLAN, VALUES, run

TAGS = (
    'epsilon = 2.0\ntags = ["home", "work"]\n[domain]\nlabels = ["clinic", "park", "street"]\nsensitive = ["clinic"]\n'
)
TWO = 'epsilon = 1.5\n[domain]\nlabels = ["never", "daily"]\nsensitive = ["daily"]\n[mechanism]\nname = "rr"\n'
STUDY = (
    'epsilon = 2.0\nmethods = ["linear"]\n[data]\npath = "people.csv"\nlabel = "what"\ncount = "people"\n'
    '[[run]]\nprotect = "all"\nmechanism = { name = "rr" }\n'
)
# Others take the options of one of these: tests/estimators/test_methods.py.
ESTIMATES = ["linear", "threshold", "mle"]
FORMS: dict[str, str] = {
    "obfuscate plain": "obfuscate plan.toml values.csv -o new.parquet --seed 1",
    "obfuscate personalized": "obfuscate tags.toml places.csv -o new.parquet --seed 1 --user who --tags t.csv",
    **{f"estimate {method}": f"estimate plan.toml reports.parquet --method {method}" for method in ESTIMATES},
    "estimate mle of lines": "estimate plan.toml r.jsonl --method mle",
    "estimate linear from a tally": "estimate plan.toml kept.tally.parquet --method linear",
    "estimate mle personalized": "estimate tags.toml tagged_reports.parquet --method mle",
    "compare": "compare plan.toml reports.parquet r.jsonl",
    "verify": "verify plan.toml",
    "attest": "attest plan.toml -o new.html --draws 0",
    "verify by draws": "verify plan.toml --draws 2000 --seed 1",
    # Of two values: whatever is planned is planned again for each option.
    "plan": "plan two.toml --epsilon 1 --users 1000",
    "plan-identification": "risk plan two.toml --users 1000 --identification-error 0.9",
    "simulate": "simulate study.toml --seed 1",
    "seal": "seal plan.toml reports.parquet -o sealed.parquet",
    "sql": "sql plan.toml --dialect duckdb",
    "examples": "examples new",
}
TALLIED = [form for form in FORMS if form.startswith("estimate") and form.split()[1] not in {"mle", "em"}]
# By option, what is given; more than one where one shows it in one form and another in another.
GIVEN: dict[str, list[str]] = {
    "--output": ["-o other.parquet"],
    "--column": ["--column nope"],
    "--keep": ["--keep nope"],
    "--missing": ["--missing drop --column habit gaps.csv", "--missing drop gaps.csv"],
    "--unknown": ["--unknown drop --column habit strange.csv", "--unknown drop strange.csv"],
    "--user": ["--user place"],
    "--tags": ["--tags values.csv"],
    "--seed": ["--seed 2"],
    "--allow-outside": ["--allow-outside outside.toml"],
    "--json": ["--json"],
    "--by": ["--by nope"],
    "--groups": ["--groups a b"],
    "--given": ["--given known.csv"],
    "--weights": ["--weights nope"],
    "--minimum": ["--minimum 5"],
    "--level": ["--level 0.5"],
    "--simultaneous": ["--simultaneous"],
    "--rate": ["--rate 0.4"],
    "--control": ["--control fwer"],
    "--plot": ["--plot new.svg"],
    "--page": ["--page new.html"],
    "--largest": ["--largest 1"],
    "--trust-plan": ["--trust-plan bare.parquet"],
    "--force": ["--force"],
    "--method": ["--method projected", "--method linear"],
    "--shares": ["--shares known.csv"],
    "--small": ["--small leave-out"],
    "--tolerance": ["--tolerance 0.5"],
    "--significance": ["--significance 0.9999", "--significance 1e-9"],
    "--smoothing": ["--smoothing 0.01"],
    "--limits": ["--limits linear"],
    "--always": ["--always"],
    "--remainder": ["--remainder zero"],
    "--tally": ["--tally new.tally.parquet"],
    "--background": ["--background drop"],
    "--master": ["--master local"],
    "--bad-rows": ["--bad-rows 0.5 bad.jsonl"],
    "--name": ["--name monday"],
    "--least": ["--least 601"],
    "--users": ["--users 2000"],
    "--draws": ["--draws 7"],
    "--trust": ["--trust " + "A" * 43 + "="],
    "--memo": ["--memo 2"],
    "--sealed": ["--sealed sealed"],
    "--confidence": ["--confidence 0.5"],
    "--epsilon": ["--epsilon 2"],
    "--sensitive-mass": ["--sensitive-mass 0", "--sensitive-mass 0.5"],
    "--distribution": ["--distribution known.csv"],
    "--target": ["--target sensitive-mass"],
    "--within": ["--within 9 wide.toml"],
    "--largest-report": ["--largest-report 1.5", "--largest-report 0"],
    "--reports-per-user": ["--reports-per-user 2"],
    "--standard-error": ["--standard-error 0.01", "--standard-error 0"],
    "--most-seconds": ["--most-seconds 5", "--most-seconds 0"],
    "--change": ["--change 0.05"],
    "--power": ["--power 0.9"],
    "--identification-error": ["--identification-error 0.5"],
    "--prior": ["--prior zipf:0.5"],
    "--dialect": ["--dialect spark"],
    "--from": ["--from others"],
    "--count": ["--count nope"],
    "--bits": ["--bits hex"],
    "--lists": ["--lists text subset.toml"],
    "--upper": ["--upper"],
}
# What shows it of one verb alone.
OF_VERB: dict[tuple[str, str], list[str]] = {
    ("compare", "--output"): ["-o new.csv"],
    ("estimate", "--output"): ["-o new.csv"],
    ("attest", "--output"): ["-o other.html"],
    ("attest", "--users"): ["--users 50"],
    ("verify by draws", "--draws"): ["--draws 3000"],
    ("plan", "--output"): ["-o new.toml"],
    ("plan-identification", "--output"): ["-o new.toml"],
    ("simulate", "--output"): ["-o elsewhere"],
}
ABOUT_FILES = {"--bad-rows", "--trust-plan", "--missing", "--unknown", "--within", "--lists"}
# What is proved elsewhere, because no one run shows it.
ELSEWHERE = {
    ("estimate", "--engine"): "test_estimating_on_spark.py",
    ("estimate", "--memory"): "engines/test_faults.py",
    **{(verb, "--force"): "test_outputs_are_replaced_with_force" for verb in ("obfuscate", "simulate")},
    **{(verb, "--force"): "test_outputs_are_replaced_with_force" for verb in ("examples", "seal", "attest")},
    ("obfuscate", "--as-read"): "test_messy_tables.py",
    ("obfuscate", "--float32"): "test_messy_tables.py",
    **{("obfuscate", option): "test_spreadsheets.py" for option in ("--decimal", "--as-missing", "--dates")},
    ("seal", "--engine"): "test_spark.py",
    **{
        (verb, option): "test_published_estimates.py"
        for verb in ("estimate", "compare")
        for option in ("--statement", "--not-trusted")
    },
    ("seal", "--not-trusted"): "test_published_estimates.py",
    **{
        ("verify", option): "test_journey.py"
        for option in ("--statement", "--delta", "--rounds", "--not-trusted", "--plot", "--force")
    },
}
GROUPED = {"plan-identification": main.commands["risk"].commands["plan"]}
"""Forms of verbs that are in a group."""
OTHER_VERBS = {"regress", "init", "risk", "collection", "collector", "serve", "survey", "tally"}
"""Whose options are proved in a file of their own."""


@dataclass(frozen=True)
class Outcome:
    code: int
    printed: str
    errors: str = field(compare=False)
    written: dict[str, bytes] = field(default_factory=dict)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("options")
    texts = {
        "plan.toml": PLAN.format(name="unary"),
        "values.csv": "habit\n" + "\n".join(VALUES) + "\n",
        "subset.toml": PLAN.format(name="subset"),
        "two.toml": TWO,
        "wide.toml": f"[domain]\nlabels = {list(range(40))}\n",
        "tags.toml": TAGS + '[mechanism]\nname = "unary"\n',
        "places.csv": "who,place\n"
        + "".join(f"u{row % 9},{['clinic', 'park', 'street'][row % 3]}\n" for row in range(300)),
        "t.csv": "who,place,tag\nu1,park,home\nu2,street,work\nu3,street,home\n",
        "known.csv": "label,probability\nnever,0.25\ndaily,0.75\n",
        "study.toml": STUDY,
        "people.csv": "what,people,sensitive\n"
        + "".join(f"v{code},{50 + code},{code > 1}\n".lower() for code in range(9)),
        "old.csv": "old",
        "old.svg": "old",
        "old.html": "old",
        "old.toml": "old",
        "old.parquet": "old",
    }
    outside = tmp_path_factory.mktemp("outside") / "labels.csv"
    outside.write_text("label\nnever\ndaily\nclinic\npark\n")
    place = f'file = {{ path = "{outside}", label = "label" }}'
    texts["outside.toml"] = f'epsilon = 1.5\n[domain]\n{place}\n[mechanism]\nname = "rr"\n'
    texts["strange.csv"] = "habit,other\nnever,1\nhermit,2\ndaily,3\n"
    texts["tagged_strange.csv"] = "who,place\nu1,park\nu2,moon\nu4,street\n"
    texts["gaps.csv"] = "habit,other\nnever,1\n,2\ndaily,3\n"
    texts["tagged_gaps.csv"] = "who,place\nu1,park\nu2,\nu4,street\n"
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name in ("shown", "sealed"):
        (folder / name).mkdir()
    (folder / "shown" / "census.toml").write_text("mine")
    (folder / "studied").mkdir()
    (folder / "studied" / "results.json").write_text("mine")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        for command in (
            "obfuscate plan.toml values.csv -o reports.parquet --seed 7",
            "obfuscate plan.toml values.csv -o r.jsonl --seed 8",
            "obfuscate tags.toml places.csv -o tagged_reports.parquet --seed 7 --user who --tags t.csv",
            "estimate plan.toml reports.parquet --tally kept.tally.parquet",
            "seal plan.toml reports.parquet -o sealed/a.parquet",
            "obfuscate tags.toml places.csv -o tagged_r.jsonl --seed 7 --user who --tags t.csv",
        ):
            result = run(*command.split())
            assert result.exit_code == 0, result.output
    for start in ("", "tagged_"):
        lines = (folder / f"{start}r.jsonl").read_text()
        (folder / f"{start}bad.jsonl").write_text("{\n" + lines)
        table = pq.read_table(folder / f"{start}reports.parquet")
        pq.write_table(table.replace_schema_metadata(None), folder / f"{start}bare.parquet")
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    """Return files by their paths in a folder, and None for each folder in it."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


@pytest.fixture(scope="module")
def outcome(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs a verb in a copy of the folder, once; what it prints and exits with, and what it writes."""
    folder, before = tmp_path_factory.mktemp("outcome") / "copy", contents(prepared)

    @cache
    def of(*arguments: str) -> Outcome:
        # The copy of the verb before is as good as a new one if that wrote nothing, as most do.
        if not folder.exists():
            shutil.copytree(prepared, folder)
        with pytest.MonkeyPatch.context() as patched:
            patched.chdir(folder)
            patched.setenv("DISCREET_DATA", str(folder))
            result = run(*arguments)
        assert result.exit_code in {0, 2}, result.output
        after = contents(folder)
        if after != before:
            shutil.rmtree(folder)
        written = {name: content for name, content in after.items() if name not in before and content is not None}
        return Outcome(result.exit_code, result.stdout, result.stderr, written)

    return of


def options(verb: str) -> list[str]:
    return [
        max(one.opts, key=len)
        for one in (GROUPED.get(verb) or main.commands[verb]).params
        if one.opts[0].startswith("-") and one.opts[-1] != "--debug"
    ]


def shown_here(verb: str) -> list[str]:
    return [option for option in options(verb) if (verb, option) not in ELSEWHERE]


def test_every_option_is_entered() -> None:
    """--debug, which all verbs have, is proved in test_early_ends.py."""
    verbs = set(main.commands) - OTHER_VERBS | set(GROUPED)
    for verb in verbs:
        assert set(options(verb)) <= set(GIVEN) | {option for of, option in ELSEWHERE if of == verb}, verb
    assert {form.split()[0] for form in FORMS} == verbs


def test_every_option_of_a_struct_is_read() -> None:
    """Of arguments that a verb does not read ruff says so, and not of the fields of its structs."""
    for group in ("collection", "collector", "risk", "survey"):
        assert main.commands[group].commands
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(discreet.__file__).parent.rglob("*.py"))
    structs = list(OptionGroup.__subclasses__())
    for struct in structs:
        structs += struct.__subclasses__()
        # Terms of a collection are read all at once; tests/cli/test_collection_verbs.py gives each of them.
        unread = (
            [] if "_terms" in vars(struct) else [one.name for one in fields(struct) if f".{one.name}" not in sources]
        )
        assert unread == [], struct
    assert len(structs) > 10


def _apart(words: list[str], base: list[str], form: str) -> tuple[list[str], list[str]]:
    """Return what is given, and the form with the files that the option is about: a plan, or what is read under it."""
    plans = [word for word in words if word.endswith(".toml")]
    files = [word for word in words if word.endswith((".jsonl", ".parquet", ".csv"))]
    flags = [word for word in words if word not in {*plans, *files}]
    files = [f"tagged_{file}" if "personalized" in form else file for file in files]
    at = 2 if form in GROUPED else 1
    return flags, [*base[:at], *(plans or base[at : at + 1]), *(files or base[at + 1 : at + 2]), *base[at + 2 :]]


@each("form, option", [(form, option) for form in FORMS for option in shown_here(form.split()[0])])
def test_it_is_used_or_refused(outcome: Any, form: str, option: str) -> None:
    base = FORMS[form].split()
    tried = OF_VERB.get((form.split(maxsplit=1)[0], option), GIVEN[option])
    used = []
    for text in tried:
        words = text.split()
        # What an option is about may be other files: then the same files without it are compared.
        flags, start = _apart(words, base, form) if option in {*ABOUT_FILES, "--allow-outside"} else (words, base)
        without, with_it = outcome(*start), outcome(*start, *flags)
        assert without.code == 0 or start != base, without.errors
        if without.code == 2 and option in without.errors and option not in with_it.errors:
            used.append(True)
        elif with_it.code == 2 and with_it.errors != without.errors:
            named = option in with_it.errors or option.strip("-").replace("-", " ") in with_it.errors.replace("_", " ")
            used.append(
                named
                or "'nope'" in with_it.errors
                or option in {"--user", "--tags", "--target"}
                or "give --epsilon" in with_it.errors
            )
            assert not with_it.written
        else:
            used.append(with_it != without)
    assert all(used) if len(tried) == 1 else any(used), (form, option)


@each("option", [["--memory", "1"], ["--memory", "0"]])
@each("form", TALLIED)
def test_blocks_that_there_are_not_go_nowhere(outcome: Any, form: str, option: list[str]) -> None:
    found = outcome(*FORMS[form].split(), *option)
    assert found.code == 2
    assert "option.idle" in found.errors


@pytest.mark.parametrize(
    ("command", "old"),
    [
        ("obfuscate plan.toml values.csv --seed 1 -o", "old.parquet"),
        ("estimate plan.toml reports.parquet -o", "old.csv"),
        ("estimate plan.toml reports.parquet --plot", "old.svg"),
        ("plan two.toml --epsilon 1 --users 10 --plot", "old.svg"),
        ("plan two.toml --epsilon 1 --users 10 -o", "old.toml"),
        ("risk plan two.toml --epsilon 1 --users 1000 --identification-error 0.9 -o", "old.toml"),
        ("simulate study.toml --seed 1 -o", "studied"),
        ("attest plan.toml --draws 0 -o", "old.html"),
        ("seal plan.toml reports.parquet -o", "old.parquet"),
        ("examples", "shown"),
    ],
)
def test_outputs_are_replaced_with_force(outcome: Any, command: str, old: str) -> None:
    assert "output.exists" in outcome(*command.split(), old).errors
    assert outcome(*command.split(), old, "--force").code == 0
