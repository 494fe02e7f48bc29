"""The page of measurements says what was measured, what was missed and what was skipped, and forgets nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench import companions, machine, results
from bench.__main__ import main
from bench.groups import GROUPS
from bench.measure import Group, Picture, Row, judged, without_goals
from bench.pages import rendered, sections, write_pictures
from bench.results import Measured, Results
from bench.tables import spelled

DOCS = Path(__file__).parent.parent.parent / "docs" / "evidence"
NAMES = ("imports", "speed", "growth")
SPEED = Group(
    "Speed",
    ("ns", "peer", "ratio"),
    [
        Row("fast |X|", {"ns": 3.14159, "peer": "pure-ldp", "ratio": 60.0}, "<= 5 ns", True),
        Row("slow", {"ns": 7.0, "peer": None, "ratio": None}, "<= 5 ns, >= 60x peer", False),
        Row("alone", {"ns": 2_000_000.0}, ">= 60x peer", None),
        Row("no goal", {"ns": 1e-5}),
    ],
    ["medians of 7"],
    also=[Group("Yes and no", ("said",), [Row("whatever", {"said": "yes"})])],
)
GROWTH = Group("Growth", (), [], pictures=[Picture("growth-n", "time against n", "<svg/>")])


def measured(group: Group, date: str = "2026-01-02") -> Measured:
    return Measured(group, "A processor, 2 cores", date, (0.5, 1.25), 12.3, {"Python": "3.12.1"})


def page(**groups: Group) -> str:
    found = Results(
        {name: measured(group) for name, group in groups.items()},
        {"qif": {"skipped": "did not install: no wheel"}, "opendp": {"versions": {"opendp": "1.2", "numpy": "2.4"}}},
    )
    return rendered(found, NAMES)


def test_lines_carry_numbers_goals_and_what_nobody_could_measure() -> None:
    text = page(speed=SPEED)
    assert "| fast \\|X\\| | 3.14 | pure-ldp | 60 | <= 5 ns | yes |" in text
    assert "| slow | 7 | - | - | <= 5 ns, >= 60x peer | **no** |" in text
    assert "| alone | 2,000,000 | - | - | >= 60x peer | not measured |" in text
    assert "| no goal | 1.0e-05 | - | - |  |  |" in text
    assert "Measured on A processor, 2 cores; Python 3.12.1." in text
    assert "\n\n*2026-01-02, 12 s, load 0.5 and 1.2.* medians of 7 Further tables: Yes and no." in text
    assert "whatever" not in text


def test_goals_are_counted_in_tables_that_have_goals_only() -> None:
    assert "Goals: 1 met, 1 missed, 1 not measured. Missed: slow (Speed)." in page(speed=SPEED)
    assert "Goals: 0 met, 0 missed." in page(speed=without_goals(SPEED))
    hidden = Group("Shown", ("ns",), [], also=[SPEED])
    assert "Further tables: Speed. Missed there: slow." in page(speed=hidden)
    spread = page(speed=replace(hidden, spread=True))
    assert "\n\n### Speed\n| task | ns | peer | ratio | goal | met |\n" in spread
    assert "Missed: slow (Shown)." in spread
    assert list(sections(spread)) == ["speed"]


def test_packages_are_listed_with_versions_or_with_the_reason_why_not() -> None:
    text = page(speed=SPEED)
    assert ": opendp 1.2, " in text
    assert "qif (skipped: did not install: no wheel)" in text
    assert "duckdb (skipped: not asked yet)" in text


def test_groups_that_are_not_measured_anew_stay_as_they_are_in_their_order() -> None:
    before = page(speed=SPEED, growth=GROWTH)
    changed = Group("Speed", ("ns",), [Row("fast", {"ns": 1.0})])
    after = rendered(Results({"speed": measured(changed), "imports": measured(GROWTH)}), NAMES, before)
    assert list(sections(after)) == ["imports", "speed", "growth"]
    assert sections(after)["growth"] == sections(before)["growth"]
    assert "fast \\|X\\|" not in after
    assert rendered(Results(), NAMES, after).count("## Growth") == 2
    assert "Not measured yet: imports, growth." in page(speed=SPEED)


def test_a_page_is_of_one_machine() -> None:
    """What another one measured is left out, whether the page or the results remember it."""
    before = page(speed=SPEED, growth=GROWTH)
    other = replace(measured(SPEED), machine="Another processor, 4 cores")
    assert list(sections(rendered(Results({"speed": other}), NAMES, before))) == ["speed"]
    both = rendered(Results({"growth": measured(GROWTH), "speed": other}), NAMES)
    assert list(sections(both)) == ["speed"]
    assert "Measured on Another processor, 4 cores; Python 3.12.1." in both
    assert "Not measured yet: imports, growth." in both


def test_the_page_is_short() -> None:
    text = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 205
    assert list(sections(text)) == list(GROUPS)


def test_a_page_rendered_twice_is_the_same() -> None:
    found = Results({"speed": measured(SPEED), "growth": measured(GROWTH)})
    once = rendered(found, NAMES)
    assert rendered(found, NAMES, once) == once
    assert rendered(Results({"speed": measured(SPEED)}), NAMES, once) == once


def test_pictures_stand_beside_the_page(tmp_path: Path) -> None:
    write_pictures(Results({"growth": measured(GROWTH)}), tmp_path)
    assert (tmp_path / "growth-n.svg").read_text() == "<svg/>\n"
    assert "![time against n](performance/growth-n.svg)" in page(growth=GROWTH)


def test_results_survive_their_file(tmp_path: Path) -> None:
    found = Results({"speed": measured(SPEED), "growth": measured(GROWTH)}, {"qif": {"skipped": "no"}})
    found.write(tmp_path / "out" / "results.json")
    read = results.read(tmp_path / "out" / "results.json")
    assert rendered(read, NAMES) == rendered(found, NAMES)
    assert results.read(tmp_path / "nothing.json") == Results()


@pytest.mark.parametrize(
    ("goals", "met"),
    [
        ([], None),
        ([True, True], True),
        ([True, None], None),
        ([True, False], False),
        ([None, False], False),
    ],
)
def test_a_goal_is_met_if_all_are_and_missed_if_one_is(goals: list[bool | None], met: bool | None) -> None:
    assert judged(*((f"goal {i}", reached) for i, reached in enumerate(goals))) == (
        ", ".join(f"goal {i}" for i in range(len(goals))),
        met,
    )


def test_numbers_have_three_digits() -> None:
    assert [spelled(cell) for cell in (None, 0.0, 12.3456, 1234.5, 1234, 0.00012, "text", True)] == [
        "-", "0", "12.3", "1,234", "1,234", "1.2e-04", "text", "yes",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_quick_run_goes_the_whole_way_and_leaves_the_documents_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(companions, "HOME", tmp_path / "nobody")
    before = {path: path.read_bytes() for path in [DOCS / "performance.md", *(DOCS / "performance").glob("*")]}
    main(["growth", "--quick", "--out", str(tmp_path)])
    text = (tmp_path / "quick" / "performance.md").read_text(encoding="utf-8")
    assert "skipped: not installed" in text
    for name in ("growth-n", "growth-size"):
        picture = (tmp_path / "quick" / "performance" / f"{name}.svg").read_text(encoding="utf-8")
        assert "Hadamard" in picture
        assert f"performance/{name}.svg" in text
    assert {path: path.read_bytes() for path in before} == before
    assert "Every goal" in capsys.readouterr().out


def test_an_unknown_group_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["speeed"])
    assert f"groups must be among {', '.join(GROUPS)}, got speeed" in capsys.readouterr().err


def test_time_that_others_took_is_said() -> None:
    told = replace(measured(SPEED), taken=0.314)
    assert "load 0.5 and 1.2; other guests took 31% of the processors.*" in rendered(Results({"speed": told}), NAMES)
    assert "other guests" not in rendered(Results({"speed": replace(told, taken=0.0)}), NAMES)
    assert machine.share_taken((10, 1000), (60, 1200)) == 0.25
    assert machine.share_taken(None, (60, 1200)) is None
