"""Tables of people against plain loops, and against published examples, whose numbers are entered again."""

from collections import Counter, defaultdict
from itertools import combinations, product
from math import exp, log, log2, prod
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import DataError, ParameterError
from discreet.risk.bounds.identification import identification_bounds
from discreet.risk.generalisation import Generalisation, Step, Suppression, columns_of, proposed
from discreet.risk.people import MOST_OPTIONS, PeopleRisk, people_risk, what_if
from discreet.risk.people_table import PeopleTable, written_table

PEOPLE = st.lists(
    st.tuples(
        st.sampled_from([None, 1.5, 20.0, 23.0, 41.0]), st.sampled_from([None, "a", "b1", ""]), st.booleans(),
        st.sampled_from([None, 3, 5, 8, 9]),
    ),
    min_size=1,
    max_size=24,
)  # fmt: skip
NAMES = ["age", "place", "mark"]


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    age, place, mark, pay = (list(column) for column in zip(*rows, strict=True))
    return pa.table(
        {"age": pa.array(age, pa.float64()), "place": pa.array(place, pa.string()), "mark": mark, "pay": pay},
        schema=pa.schema([("age", pa.float64()), ("place", pa.string()), ("mark", pa.bool_()), ("pay", pa.int64())]),
    )


def by_attacker(found: PeopleRisk) -> dict[str, tuple[Any, ...]]:
    return {one.attacker: (one.mean, one.worst, one.above) for one in found.risks}


@given(PEOPLE, PEOPLE)
def test_classes_and_risks_are_those_of_plain_loops(rows: list[tuple[Any, ...]], more: list[tuple[Any, ...]]) -> None:
    everybody = [*rows, *more]
    keys = PeopleTable.of(table_of(rows), NAMES, [], table_of(everybody))
    found = people_risk(keys, limit=0.3)
    f, F = Counter(row[:3] for row in rows), Counter(row[:3] for row in everybody)
    assert (found.people, found.classes, found.k) == (len(rows), len(f), min(f.values()))
    assert found.uniques == sum(size == 1 for size in f.values())
    assert found.below == {k: pytest.approx(sum(f[row[:3]] < k for row in rows) / len(rows)) for k in (2, 3, 5, 10)}
    assert found.missing == sum(None in row[:3] for row in rows)
    for who, sizes in (("prosecutor", f), ("journalist", F)):
        risks = [1 / sizes[row[:3]] for row in rows]
        wanted = np.mean(risks), max(risks), np.mean([one > 0.3 for one in risks])
        assert by_attacker(found)[who] == pytest.approx(wanted)
    assert by_attacker(found)["marketer"][0] == pytest.approx(by_attacker(found)["journalist"][0])
    assert found.risk == pytest.approx(1 / min(F[key] for key in f))
    assert found.k_map == min(F[key] for key in f)
    assert found.presence == pytest.approx((min(f[key] / F[key] for key in F), max(f[key] / F[key] for key in F)))
    assert found.outside == 0


@given(PEOPLE)
def test_diversity_and_closeness_are_those_of_plain_loops(rows: list[tuple[Any, ...]]) -> None:
    rows = [*rows, (1.5, "a", True, 5)]
    keys = PeopleTable.of(table_of(rows), NAMES, ["pay"])
    (found,) = people_risk(keys).diversity
    groups = defaultdict(list)
    for row in rows:
        if row[3] is not None:
            groups[row[:3]].append(row[3])
    values = [value for group in groups.values() for value in group]
    domain = sorted(set(values))
    assert found.distinct == min(len(set(group)) for group in groups.values())
    shares = [[group.count(value) / len(group) for value in domain] for group in groups.values()]
    assert found.entropy == pytest.approx(min(exp(-sum(p * log(p) for p in one if p)) for one in shares))
    told = sum(len(group) for group in groups.values() if len(set(group)) == 1)
    assert found.told == pytest.approx(told / len(values))
    assert found.missing == len(rows) - len(values)
    q = [values.count(value) / len(values) for value in domain]
    assert found.closeness == pytest.approx(max(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 for p in shares))
    moved = [sum(abs(sum(p[: at + 1]) - sum(q[: at + 1])) for at in range(len(domain))) for p in shares]
    assert found.ordered == pytest.approx(max(moved) / max(len(domain) - 1, 1), abs=1e-12)


@given(PEOPLE, st.integers(1, 5))
def test_coarser_and_suppressed_tables_are_those_of_plain_loops(rows: list[tuple[Any, ...]], least: int) -> None:
    def coarse(row: tuple[Any, ...]) -> tuple[Any, ...]:
        age, place, *_ = row
        return (None if age is None else age // 20, None if place is None else place[:1])

    steps = {"age": Step("20-wide"), "place": Step("1-digit"), "mark": Step("*")}
    keys = PeopleTable.of(table_of(rows), NAMES).written(steps)
    f = Counter(map(coarse, rows))
    left = {key: size for key, size in f.items() if size >= least}
    if not left:
        with pytest.raises(DataError, match="nobody is left"):
            people_risk(keys, suppress=least)
        return
    found = people_risk(keys, suppress=least)
    assert (found.people, found.classes, found.k) == (sum(left.values()), len(left), min(left.values()))
    assert found.suppressed == len(rows) - found.people
    asked = Generalisation(suppress=Suppression(least)).choosing({name: step.text for name, step in steps.items()})
    figures = what_if(PeopleTable.of(table_of(rows), NAMES), asked, compared=False)
    assert figures.figures["suppressed"] == pytest.approx(found.suppressed / len(rows))
    assert figures.figures["mean"] == pytest.approx(by_attacker(found)["prosecutor"][0])


def test_many_values_of_many_columns_do_not_overflow() -> None:
    """Seven columns of 1,000 values each have 10^21 combinations."""
    columns = np.random.default_rng(1).integers(0, 1000, (7, 3000))
    columns[:, 1500:] = columns[:, :1500]
    names = [f"column {at}" for at in range(7)]
    found = people_risk(PeopleTable.of(pa.table(dict(zip(names, columns, strict=True))), names))
    assert (found.classes, found.k, found.uniques) == (1500, 2, 0)


# The input of ARX's tests and examples (DataProvider, Example29), and figures that its TestRiskMetrics expects.
ARX = pa.table(
    {
        "age": [45, 34, 66, 70, 34, 70, 45],
        "gender": ["female", "male", "male", "female", "female", "male", "male"],
        "zipcode": ["81675", "81667", "81925", "81931", "81931", "81931", "81931"],
    }
)


def test_the_seven_people_of_arx() -> None:
    keys = PeopleTable.of(ARX, ARX.column_names)
    assert by_attacker(people_risk(keys))["prosecutor"][:2] == (1, 1)
    # Two-anonymous as ARX makes it: ages below 50 or not, 816 or 819, no gender.
    asked = Generalisation(limit=0.5, columns=columns_of("age=50-year,zipcode=3,gender=*"))
    assert asked.chosen is not None
    mean, worst, _ = by_attacker(people_risk(keys.written(asked.chosen)))["prosecutor"]
    assert (mean, worst) == (pytest.approx(0.42857142857142855, rel=1e-14), 0.5)
    assert Counter(written_table(ARX, asked.chosen)["zipcode"].to_pylist()) == {"816": 2, "819": 5}


@pytest.mark.parametrize(("salaries", "distance"), [({3, 4, 5}, 0.375), ({6, 8, 11}, 0.167)])
def test_the_example_of_t_closeness(salaries: set[int], distance: float) -> None:
    """Li, Li and Venkatasubramanian 2007, section 4: three of nine salaries; the other six are half as far from all."""
    pay = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    keys = PeopleTable.of(pa.table({"group": [one in salaries for one in pay], "pay": pay}), ["group"], ["pay"])
    assert people_risk(keys).diversity[0].ordered == pytest.approx(distance, abs=5e-4)


def test_the_example_of_k_map_and_delta_presence() -> None:
    """Desfontaines, "delta-presence, for when being in the dataset is sensitive": 5-map, and five are surely in it."""
    sample = pa.table({"zip": ["85535"] * 6, "age": [10, 12, 13, 13, 16, 43]})
    ages = [12] * 5 + [25] * 5 + [35] * 10 + [45] * 10 + [62] * 20
    everybody = pa.table({"zip": ["85535"] * 50, "age": ages})
    found = people_risk(PeopleTable.of(sample, ["zip", "age"], [], everybody).written({"age": Step("10-year")}))
    assert found.k_map == 5
    assert found.presence == (0, 1)
    assert by_attacker(found)["journalist"] == pytest.approx(((5 / 5 + 1 / 10) / 6, 1 / 5, 0))


# sdcMicro's tests of freqCalc and indivRisk: sample_Data with missing cells, which match everything there.
SDC = [(2, 3, 1), (3, 3, 3), (2, 3, None), (2, 3, 2), (3, 3, 1), (3, 3, 1), (1, 4, None), (None, 3, 1)]
WITHOUT = [(2, 3, 1), (3, 3, 3), (2, 3, 1), (2, 3, 2), (3, 3, 1), (3, 3, 1), (1, 4, 1), (2, 3, 1)]


def sizes_of(rows: list[tuple[Any, ...]]) -> list[int]:
    keys = PeopleTable.of(pa.table(dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))), list("abc"))
    sizes = {
        tuple(values[code].as_py() for values, code in zip(keys.values, codes, strict=True)): int(size)
        for *codes, size in zip(*keys.codes, keys.counts, strict=True)
    }
    return [sizes[row] for row in rows]


def test_classes_of_the_tests_of_sdcmicro() -> None:
    assert sizes_of(WITHOUT) == [3, 1, 3, 1, 2, 2, 1, 3]
    # Risks 1/fk of its example with missing cells; a missing cell that matches its like alone gives no larger class.
    wildcards = [round(1 / risk) for risk in (0.33333, 1.0, 0.25, 0.5, 0.33333, 0.33333, 1.0, 0.2)]
    assert all(ours <= theirs for ours, theirs in zip(sizes_of(SDC), wildcards, strict=True))


def test_a_population_that_lacks_people_makes_nobody_safer() -> None:
    keys = PeopleTable.of(pa.table({"age": [1, 1, 2]}), ["age"], [], pa.table({"age": [1.0, 3.0]}))
    found = people_risk(keys)
    assert found.outside == 3
    assert by_attacker(found)["journalist"] == by_attacker(found)["prosecutor"]
    assert found.presence == (0, 1)
    assert "lacks some of them" in " ".join(found.sentences)


def test_reports_are_bounded_in_each_class() -> None:
    mechanism = dc.RandomizedResponse(dc.Domain(range(20)), 1.0)
    ages = [1] * 3 + [2] * 5 + [3]
    found = people_risk(PeopleTable.of(pa.table({"age": ages}), ["age"]), reported=("zip", mechanism))
    chances = {n: identification_bounds(mechanism, n).identification.value for n in (3, 5)} | {1: 1.0}
    wanted = (3 * chances[3] + 5 * chances[5] + 1) / 9
    assert by_attacker(found)["reader of reports of zip"][:2] == (pytest.approx(wanted), 1)
    assert found.risk == 1
    # Whoever knows who is in the table is bounded too, so that a population changes nothing.
    everybody = pa.table({"age": ages * 4})
    among = people_risk(
        PeopleTable.of(pa.table({"age": ages[:8]}), ["age"], [], everybody), reported=("zip", mechanism)
    )
    assert by_attacker(among)["reader of reports of zip"][1] == chances[3] == among.risk
    # Of many sizes a smaller one stands for a larger one, never the other way round.
    sizes = np.repeat(np.arange(2, 120), np.arange(2, 120))
    many = people_risk(PeopleTable.of(pa.table({"age": sizes}), ["age"]), reported=("zip", mechanism))
    exact = np.mean([identification_bounds(mechanism, int(n)).identification.value for n in sizes[::40]])
    assert exact * 0.98 < by_attacker(many)["reader of reports of zip"][0] < exact * 1.1


def test_what_if_lists_every_way_and_marks_those_that_no_other_beats() -> None:
    random = np.random.default_rng(2)
    keys = PeopleTable.of(
        pa.table({"age": random.integers(18, 90, 400), "zip": random.integers(100, 140, 400)}), ["age", "zip"]
    )
    asked = Generalisation(columns=columns_of("age=5-year/20-year/*,zip=2/1"), suppress=Suppression(2))
    found = what_if(keys, asked)
    assert len(found.steps) == prod(1 + len(ladder) for ladder in asked.ladders.values())
    for row, step in enumerate(found.steps):
        coarse = keys.written(dict(zip(keys.names, map(Step, step), strict=True)))
        risk = people_risk(coarse, suppress=2)
        assert found.figures["k"][row] == risk.k
        assert (found.figures["mean"][row], found.figures["worst"][row]) == pytest.approx(
            by_attacker(risk)["prosecutor"][:2]
        )
        assert found.figures["kept"][row] == pytest.approx(coarse.entropies().sum() / keys.entropies().sum())
    loss = 1 - found.figures["kept"] * (1 - found.figures["suppressed"])
    costs = list(zip(found.figures["mean"], found.figures["worst"], loss, strict=True))
    beaten = {
        at for one, other in combinations(range(len(costs)), 2) for at, by in ((one, other), (other, one))
        if all(b <= a for a, b in zip(costs[at], costs[by], strict=True)) and (costs[at] != costs[by] or by < at)
    }  # fmt: skip
    assert set(np.flatnonzero(found.best)) == set(range(len(costs))) - beaten
    assert "ways of writing age, zip" in repr(found)
    assert found.to_pandas().shape[0] == len(costs)


LADDERS: dict[str, Any] = {"age": ["20-wide", "15-wide", "*"], "place": ["as it is", "1"], "mark": ["*"]}
FORMS: dict[str, Any] = {"20-wide": lambda x: x // 20, "15-wide": lambda x: x // 15, "1": lambda x: x[:1]}


def coarse(steps: tuple[str, ...], row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        "*" if step == "*" else cell if cell is None or step == "as it is" else FORMS[step](cell)
        for step, cell in zip(steps, row, strict=False)
    )


def bits(rows: list[tuple[Any, ...]]) -> float:
    columns = [Counter(column).values() for column in zip(*rows, strict=True)]
    return sum(-size / len(rows) * log2(size / len(rows)) for sizes in columns for size in sizes)


@settings(max_examples=12)
@given(PEOPLE, st.sampled_from([0.2, 0.5, 1]), st.integers(1, 3), st.sampled_from([0.1, 0.4, 1]))
def test_what_is_chosen_is_the_best_of_all_ways_and_what_is_written_is_what_was_judged(
    rows: list[tuple[Any, ...]], limit: float, least: int, share: float
) -> None:
    """By plain loops over all ways, those of a ladder that does not nest among them."""
    rows += [(20.0, "a", True, 5), (23.0, "a", False, 8), (41.0, "a", True, 5)]
    losses = {}
    for steps in product(*LADDERS.values()):
        written = [coarse(steps, row) for row in rows]
        left = [size for key in written if (size := Counter(written)[key]) >= least]
        if left and 1 / min(left) <= limit and 1 - len(left) / len(rows) <= share:
            losses[steps] = 1 - bits(written) / bits([row[:3] for row in rows]) * len(left) / len(rows)
    keys = PeopleTable.of(table_of(rows), NAMES)
    asked = Generalisation(limit=limit, columns=LADDERS, suppress=Suppression(least, share))
    alone, beside = (what_if(keys, asked, compared=compared).choice for compared in (False, True))
    assert alone == beside
    assert (alone is None) == (not losses)
    if alone is None or alone.chosen is None:
        return
    steps = tuple(step.text for step in alone.chosen.values())
    assert losses[steps] == pytest.approx(min(losses.values()), abs=1e-9)
    table = written_table(table_of(rows), alone.chosen, ["pay"], least=least)
    again, judged = people_risk(PeopleTable.of(table, NAMES)), people_risk(keys.written(alone.chosen), suppress=least)
    assert (again.people, again.classes, again.k) == (judged.people, judged.classes, judged.k)
    assert again.risk <= limit
    sizes = Counter(coarse(steps, row) for row in rows)
    assert Counter(table["pay"].to_pylist()) == Counter(row[3] for row in rows if sizes[coarse(steps, row)] >= least)


def test_what_is_written_is_where_the_value_is() -> None:
    generator = np.random.default_rng(4)
    for step, width in (("0.1-degree", 0.1), ("5-year", 5), ("2.5-wide", 2.5), ("0.001-wide", 0.001)):
        values = np.concatenate([np.arange(-50, 50) * width, generator.normal(0, 100 * width, 200)]).round(9)
        for value, text in zip(values, Step(step).of("x", pa.array(values)).to_pylist(), strict=True):
            low, high = map(float, text[1:-1].split(", "))
            assert low <= value < high
            assert high - low == pytest.approx(width)
    moments = pa.array(np.array(["2001-05-03T07:20", "1969-12-31T23:00", None], "M8[s]"))
    for step, texts in {
        "6-hour": ["2001-05-03T06", "1969-12-31T18"], "day": ["2001-05-03", "1969-12-31"],
        "week": ["2001-05-03", "1969-12-25"], "month": ["2001-05", "1969-12"], "year": ["2001", "1969"],
        "10-year": ["[2000, 2010)", "[1960, 1970)"], "*": ["*", "*"],
    }.items():  # fmt: skip
        assert Step(step).of("at", moments).to_pylist() == [*texts, "*" if step == "*" else None]
    zoned = moments.cast(pa.timestamp("s", "Pacific/Auckland"))
    assert Step("year").of("at", zoned).to_pylist() == ["2001", "1970", None]


def test_a_written_table_has_columns_of_every_kind_and_no_others() -> None:
    table = pa.table(
        {
            "age": [31.0, np.nan, 34.0, 71.0],
            "kind": pa.array(["a", "b", "a", "a"]).dictionary_encode(),
            "name": ["Ada", "Ben", "Cy", "Eve"],
            "gone": pa.nulls(4),
        }
    )
    found = written_table(table, {"age": Step("10-wide"), "kind": Step(), "gone": Step()}, least=2)
    assert found.to_pydict() == {"age": ["[30, 40)"] * 2, "kind": ["a", "a"], "gone": [None, None]}
    # Shorter numbers are filled up as those of the population are, as when they were judged.
    short, long = pa.table({"zip": [2139, 2140]}), pa.table({"zip": [2139, 94103]})
    assert written_table(short, {"zip": Step("2")}, population=long)["zip"].to_pylist() == ["02", "02"]


def test_steps_are_proposed_by_what_a_column_holds() -> None:
    def texts(values: Any) -> list[str]:
        return [step.text for step in proposed(pa.array(values))]

    assert texts(["02139", "02141", "94103"]) == ["as it is", "4-digits", "3-digits", "2-digits", "*"]
    assert texts(["red", "green", "blue"]) == texts([True, False]) == ["as it is", "*"]
    assert texts([None, 0.0, 1e6]) == ["as it is", "*"]
    assert texts([0.0, 3.5, 1e6]) == ["as it is", "50000-wide", "100000-wide", "250000-wide", "*"]
    assert texts(np.array(["2001-05-03", "1999-01-31"], "M8[D]")) == ["as it is", "month", "year", "10-year", "*"]
    for values in (["02139", "02141", None], np.array(["2001-05-03", "1999-01-31"], "M8[D]"), [0.0, 3.5, 1e6]):
        sizes = [
            len(pa.chunked_array([step.of("x", pa.array(values))]).unique()) for step in proposed(pa.array(values))
        ]
        assert sizes == sorted(sizes, reverse=True)
    assert Step("5-digits").of("zip", pa.array([2139, 94103])).to_pylist() == ["02139", "94103"]
    born = pa.array(np.array(["2001-05-03", "2001-05-30", "2001-06-01"], "M8[D]"))
    assert len(Step("month").of("born", born).unique()) == 2
    assert len(Step("5-year").of("born", born).unique()) == 1


@pytest.mark.parametrize(
    "text", ["age", "age=", "=5-year", "age=5-year,age=*", "age=5 years", "age=0-year", "age=fortnight"]
)
def test_steps_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="must be written as"):
        Generalisation(columns=columns_of(text))


def test_long_numbers_do_not_become_one() -> None:
    long = 1 << 60
    whole = pa.table({"id": [long, long + 1, long + 2]})
    keys = PeopleTable.of(whole, ["id"])
    assert people_risk(keys).uniques == 3
    ladder = ["10-wide", *(step.text for step in proposed(keys.values[0]))]
    assert min(what_if(keys, Generalisation(columns={"id": ladder})).figures["k"]) == 1
    read_as_floats = pa.table({"id": [float(long), float(long), 1.0]})
    for table, population in ((read_as_floats, None), (whole, read_as_floats), (read_as_floats, whole)):
        with pytest.raises(DataError, match="'id' holds numbers of 9007199254740992 or more"):
            PeopleTable.of(table, ["id"], [], population)


def test_refusals_and_results_show_nobody() -> None:
    secret = "quaggasteppe-4711"
    table = pa.table({"age": [1, 2], "name": [secret, secret], "pair": [[1], [2]], "gone": pa.nulls(2)})
    keys = PeopleTable.of(table, ["age", "name"], ["gone"][:0])
    shown = (
        repr(people_risk(keys)) + people_risk(keys)._repr_html_() + repr(keys) + repr(what_if(keys, Generalisation()))
    )
    assert secret not in shown
    for quasi, sensitive, error, words in (
        (["age", "age"], [], ParameterError, "each once"),
        ([], [], ParameterError, "one at least"),
        (["pair"], [], DataError, "must hold text, numbers, dates or marks"),
        (["age"], ["gone"], DataError, "has no values at all"),
    ):
        with pytest.raises(error, match=words):
            PeopleTable.of(table, quasi, sensitive)
    with pytest.raises(DataError, match="a row at least"):
        PeopleTable.of(table.slice(0, 0), ["age"])
    with pytest.raises(DataError, match="holds numbers in the table and text in the population; write it alike"):
        PeopleTable.of(table, ["age"], [], pa.table({"age": ["one"]}))
    with pytest.raises(ParameterError, match="cannot be written as 5-year"):
        keys.written({"name": Step("5-year")})
    with pytest.raises(ParameterError, match="none of the quasi-identifiers"):
        keys.written({"zip": Step("*")})
    with pytest.raises(ParameterError, match=f"at most {MOST_OPTIONS} are tried"):
        what_if(keys, Generalisation(columns={key: [f"{width}-wide" for width in range(1, 30)] for key in keys.names}))
    with pytest.raises(ParameterError, match="fraction goes with no table"):
        people_risk(PeopleTable.of(table, ["age"], [], table), fraction=0.1)
