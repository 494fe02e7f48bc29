"""The verbs. Nothing heavy is imported before a verb runs, so that ``--help`` answers at once.

Exit codes: 0 done; 1 a guarantee does not hold; 2 the input or the request cannot be used; 70 a defect of discreet; 130
interrupted; 141 nobody reads the output any more; 143 ended by SIGTERM (129 by SIGHUP).
"""

from pathlib import Path
from typing import Any

import click

from discreet import __version__
from discreet.cli.counts import Count
from discreet.cli.lazily import Verbs
from discreet.cli.outputs import InputFile, OutputFile, OutputFolder
from discreet.cli.plans import allow_outside
from discreet.io.suffixes import ESTIMATES, PICTURES, REPORTS, TALLIES, spelled

METHODS = ("linear", "threshold", "norm-sub", "projected", "mle", "em")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
_PICTURE = OutputFile("pictures", PICTURES)
_FORCE = click.option("--force", is_flag=True, help="Replace output files that exist.")
_BAD_ROWS = click.option(
    "--bad-rows",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of rows that no device can have sent and that may be left out; they are counted.",
)
_SEED = click.option("--seed", type=int, help="Seed for a simulation; such reports are marked and protect nobody.")


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="discreet")
def main() -> None:
    """Local privacy: obfuscate values, estimate their distribution, and know how well each person is protected."""


@main.command()
@click.argument("study", type=InputFile())
@click.option("-o", "--output", type=OutputFolder(), help="Folder for page, picture and numbers [out/STUDY].")
@_SEED
@_JSON
def simulate(study: Path, output: Path | None, seed: int | None, as_json: bool) -> None:
    """Obfuscate people whose values are known, estimate, and compare with the truth.

    STUDY is a TOML or JSON file such as examples/census.toml. Writes page.html, chart.png and results.json; a folder
    that was written before is written anew.
    """
    from discreet.cli.simulating import run

    run(study, output or Path("out") / study.stem, seed, as_json=as_json)


@main.command()
@click.argument("plan", type=InputFile())
@click.argument("values", type=InputFile())
@click.option(
    "-o",
    "--output",
    required=True,
    type=OutputFile("reports", REPORTS, piped=True),
    help=f"Reports: {spelled(REPORTS)}; - for JSON lines on standard output.",
)
@click.option("--column", help="Column that holds the values, if there are several.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="Rows without a value (or without a user): refuse the table, or leave them out and count them.",
)
@click.option("--user", help="For personalized plans: column that says whose value it is.")
@click.option(
    "--tags", type=InputFile(), help="For personalized plans: table of users' secret values (user, value, tag)."
)
@_SEED
@_FORCE
@allow_outside
@_JSON
def obfuscate(plan: Path, values: Path, output: Path, **options: Any) -> None:
    """Obfuscate a table of values under PLAN: one report per row, in order.

    VALUES is a table, or - for CSV or JSON lines on standard input.

    Under a personalized plan this is a simulation: on real devices nobody holds a table of everybody's secrets.
    """
    from discreet.cli.collecting import obfuscate_file

    obfuscate_file(plan, values, output, **options)


@main.command()
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile())
@click.option("--method", type=click.Choice(METHODS), default="linear", show_default=True, help="Estimator.")
@click.option("--tolerance", type=float, help="For mle: certified gap, in nats per report.")
@click.option("--significance", type=float, help="For threshold and em: level of all tests together.")
@click.option("--remainder", type=click.Choice(["uniform", "zero"]), help="For threshold: what becomes of the rest.")
@click.option("--level", type=float, help="Confidence of the intervals; threshold and norm-sub have none. [0.95]")
@click.option("--simultaneous", is_flag=True, help="Let all intervals hold at once; threshold and norm-sub have none.")
@click.option(
    "-o",
    "--output",
    type=OutputFile("estimates", ESTIMATES, piped=True),
    help=f"Estimate: {spelled(ESTIMATES)}; - for CSV on standard output.",
)
@click.option("--plot", type=_PICTURE, help=f"Picture: {spelled(PICTURES)}.")
@click.option(
    "--tally",
    "tally_file",
    type=OutputFile("tallies", TALLIES),
    help=f"Keep the tally of the reports: {spelled(TALLIES)}.",
)
@click.option("--largest", type=Count(1), default=15, show_default=True, help="How many values to show.")
@click.option(
    "--background",
    multiple=True,
    help="For personalized plans, what is known of a tag: TAG=FILE (columns label, probability), TAG=in-clear or "
    "TAG=drop; one of these words alone is for all tags. [in-clear]",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="What goes through the reports: this machine, or a Spark cluster whose executors see the same files.",
)
@click.option("--master", metavar="URL", help="For --engine spark: where it runs. [what Spark is set up for]")
@_BAD_ROWS
@click.option(
    "--trust-plan",
    is_flag=True,
    help="Read files that another tool rewrote and that no longer say their plan: you vouch that all are of PLAN.",
)
@click.option(
    "--memory",
    type=Count(0),
    metavar="MB",
    help="For mle and em: keep reports that need more in temporary files. [half of what there is]",
)
@click.option(
    "--temporary", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Folder for these. [TMPDIR]"
)
@click.option("--allow-copies", is_flag=True, help="Count files that are named twice, or are copies of others, again.")
@click.option(
    "--manifest", is_flag=True, help="Refuse folders that hold other files or bytes than their manifests say."
)
@_FORCE
@allow_outside
@_JSON
def estimate(plan: Path, reports: tuple[Path, ...], **options: Any) -> None:
    """Estimate the distribution behind REPORTS made under PLAN.

    REPORTS are files of reports (.parquet, .arrow, .feather, .ipc, .jsonl, .jsonl.gz) or tallies (.tally.parquet and so
    on), and folders of such files; - is JSON lines of reports on standard input.
    """
    from discreet.cli.collecting import estimate_files

    estimate_files(plan, reports, **options)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_FORCE
@_JSON
def manifest(folder: Path, force: bool, as_json: bool) -> None:
    """List the files of reports in FOLDER, with rows and digests, in FOLDER/_manifest.json.

    `discreet estimate --manifest` refuses the folder if a file is missing, new or has other bytes.
    """
    from discreet.cli.listing import list_folder

    list_folder(folder, force=force, as_json=as_json)


@main.command()
@click.argument("plan", type=InputFile())
@click.argument("reports", nargs=-1, required=True, type=InputFile())
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help=f"A file for all reports ({spelled(REPORTS)}), or a folder for a Parquet file of each.",
)
@_BAD_ROWS
@_FORCE
@allow_outside
@_JSON
def stamp(plan: Path, reports: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Write REPORTS that another tool rewrote anew, marked as reports of PLAN.

    You vouch that they are of this plan where they do not say so. Every row is checked before anything is written; what
    says another plan is refused. REPORTS are files, or folders of files.
    """
    from discreet.cli.stamping import stamp_files

    stamp_files(plan, reports, output, **options)


@main.command()
@click.argument("plan", type=InputFile())
@allow_outside
@_JSON
def verify(plan: Path, as_json: bool) -> None:
    """Recompute the realised epsilon of PLAN from the sampler's integers; exit with 1 if the promise is broken."""
    from discreet.cli.judging import verify_plan

    verify_plan(plan, as_json=as_json)


@main.command()
@click.argument("plan", type=InputFile())
@click.option("--draws", type=Count(), default=1_000_000, show_default=True, help="How many reports to draw.")
@click.option("--confidence", type=float, default=0.999, show_default=True, help="Of the lower bound on epsilon.")
@_SEED
@allow_outside
@_JSON
def audit(plan: Path, draws: int, confidence: float, seed: int | None, as_json: bool) -> None:
    """Draw reports under PLAN and bound epsilon from below by what they show; exit with 1 if the promise is broken."""
    from discreet.cli.auditing import audit_plan

    audit_plan(plan, draws, confidence, seed, as_json=as_json)


@main.command("plan")
@click.argument("domain", type=InputFile())
@click.option("--epsilon", type=float, help="Privacy promise, in nats; with --identification-error the most of it.")
@click.option("--users", required=True, type=Count(), help="Number of people.")
@click.option(
    "--identification-error",
    type=float,
    help="Say which epsilon each mechanism may have so that whoever guesses the user errs at least this often.",
)
@click.option("--sensitive-mass", type=float, help="Share of people whose value is sensitive, if roughly known.")
@click.option(
    "--distribution", type=InputFile(), help="Distribution that is known or assumed: columns label, probability."
)
@click.option(
    "--target",
    type=click.Choice(["worst-case", "sensitive-mass", "distribution"]),
    help="What the error should be least for. [what is known of the people, else worst-case]",
)
@click.option("--largest-report", type=float, metavar="BYTES", help="Most bytes that a report may take.")
@click.option(
    "--reports-per-user",
    type=Count(),
    default=1,
    show_default=True,
    help="Reports of each user, with an equal part of epsilon each.",
)
@click.option(
    "--within",
    type=float,
    metavar="SHARE",
    help="Recommend the smallest report whose error is at most this much above the least; 0: the least error. [0.05]",
)
@click.option("--standard-error", type=float, help="Say how many users give every value this standard error or less.")
@click.option("--plot", type=_PICTURE, help=f"Picture of the errors against epsilon and users: {spelled(PICTURES)}.")
@_FORCE
@allow_outside
@_JSON
def compare_mechanisms(domain: Path, epsilon: float | None, users: int, **options: Any) -> None:
    """Compare all mechanisms on DOMAIN (a file with a [domain] table; a plan will do) and recommend one.

    With --epsilon their errors are compared; with --identification-error both risks, what reports say of values and
    what they say of users, and the errors that these leave.
    """
    from discreet.cli.planning import compare_on, identify_on

    if options["identification_error"] is not None:
        identify_on(domain, epsilon, users, **options)
        return
    del options["identification_error"]
    compare_on(domain, epsilon, users, **options)


@main.command()
@click.argument("tables", type=InputFile(), nargs=-1, required=True, metavar="TABLE... | compare PLAN...")
@click.option("--user", default="user", show_default=True, help="Column that says whose event it is.")
@click.option("--event", default="event", show_default=True, help="Column of events.")
@click.option("--time", help="Column by which each user's events are ordered; else the order of the rows.")
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    default="refuse",
    show_default=True,
    help="What becomes of rows where a user, an event or a time is missing; those left out are counted.",
)
@click.option(
    "--split",
    default="half",
    show_default=True,
    help="What the attacker knows of each user: half (the first half of the events), all, first:N, rest:N.",
)
@click.option("--least", type=Count(1), default=2, show_default=True, help="Leave out users with fewer events.")
@click.option(
    "--attack",
    default="all",
    show_default=True,
    help="all: the strongest of all attacks on traces; or one of them: markov, visits, smoothed, tf-idf, cosine.",
)
@click.option("--plan", type=InputFile(), help="Plan by which events are obfuscated before they are published.")
@click.option("--epsilon", type=float, help="Instead of a plan: epsilon of a mechanism over the events of the table.")
@click.option("--mechanism", default="rr", show_default=True, help="Which one, with --epsilon.")
@click.option("--reports", type=Count(), default=1, show_default=True, help="Reports of each user, with a mechanism.")
@click.option("--list", "largest_list", type=Count(1), default=10, show_default=True, help="Longest list of guesses.")
@click.option("--score", help="For a table of a matcher's scores instead of events: column of scores.")
@click.option("--probe", default="row", show_default=True, help="With --score: column that says whose probe it is.")
@click.option("--template", default="col", show_default=True, help="With --score: column that says whose template.")
@click.option("--distance", is_flag=True, help="With --score: a lower number means more alike.")
@click.option("--failed", type=float, help="With --score: what stands for no score, such as -1.")
@click.option("--users", type=Count(), help="To compare plans: among how many people.")
@click.option("--fail-above", type=float, help="Exit with 1 if the identification risk may be above this.")
@click.option("-o", "--output", type=OutputFolder(), help="Folder for risk.html and risk.json.")
@_SEED
@allow_outside
@_JSON
def risk(tables: tuple[Path, ...], **options: Any) -> None:
    """Assess the identification risk of traces, of reports, of plans, or of scores of a matcher.

    TABLE has a row per event: user, event and perhaps time; several files, and folders of them, are one table.
    Published as it is, or with --plan or --epsilon as reports, it is attacked, and what the strongest attack finds is
    set beside what no attack exceeds. With --score, TABLE has a row per score of a matcher instead. `discreet risk
    compare PLAN... --users N` ranks plans by their limit.
    """
    from discreet.cli.forms import COMPARE, SCORES, form_of

    form = form_of(click.get_current_context(), tables, options)
    from discreet.cli.assessing import assess_tables, compare_plans
    from discreet.cli.scoring import assess_scores

    if form == COMPARE:
        compare_plans(list(tables[1:]), **options)
    elif form == SCORES:
        assess_scores(tables[0], **options)
    else:
        assess_tables(tables, **options)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@_FORCE
@_JSON
def examples(folder: Path, force: bool, as_json: bool) -> None:
    """Copy the examples of the documentation into FOLDER: plans, a study of real people, and small tables."""
    from discreet.cli.showing import copy

    copy(folder, force=force, as_json=as_json)
