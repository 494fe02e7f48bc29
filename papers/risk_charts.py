"""Charts and tables of Figures 4 to 12 of [PIE]."""

from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import Any

import numpy as np

from discreet.plots.bars import Bars, bar_chart
from discreet.plots.curves import Curves, curve_chart
from discreet.plots.det import DetLine, det_chart
from papers.artefact import Table
from papers.identities import LISTED, RR, THETA, TOP
from papers.results import Results
from papers.risk_plans import BETA, LARGE, MOST_EPSILON, PRINTED_EPSILON, SMALL


def _record(point: Mapping[str, Any], x: float, measure: str, *, line: str, column: str = "", row: str = "") -> Any:
    mean = point[measure]
    low, high = mean.value - 2 * mean.error, mean.value + 2 * mean.error
    return {
        "x": x,
        "y": mean.value,
        "low": max(low, mean.value / 10),
        "high": high,
        "line": line,
        "column": column,
        "row": row,
    }


def _curves(title: str, told: str, axes: tuple[str, str], records: list[Any], **more: Any) -> Any:
    drawn = [record for record in records if more.get("even") or record["y"] > 0]
    named: dict[str, Sequence[str]] = {
        key: list(dict.fromkeys(record[key[:-1]] for record in drawn)) for key in ("lines", "columns", "rows")
    }
    return curve_chart(Curves(title, [told], *axes, drawn, named["lines"], named["columns"], named["rows"], {}, **more))


def charts_of_bounds(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw epsilon against alpha, small and large epsilons apart."""
    records = [
        _record(p, p["epsilon"], "bits", line=p["estimator"], column=p["mechanism"], row=row)
        for row, epsilons in (("large epsilon", LARGE), ("small epsilon", SMALL))
        for p in results.points
        if "bits" in p and p["epsilon"] in epsilons
    ]
    first = results.points[0]
    told = f"{first['n']:,} users, |X| = {first['values']:,}; GLH: g = 1e8"
    return {"sizes": _curves("Bounds on the information about the user", told, ("epsilon", "alpha, bits"), records)}


def charts_of_attacks(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the information in a few events and in the scores of matchers, as in the paper and certified."""
    records = []
    for p in results.points:
        if "paper_bits" not in p or p["drawn"] is None:
            continue
        for measure, column in (("paper_bits", "D(f_G || f_I), the paper's PSE"), ("certified_bits", "certified PSE")):
            records.append(_record(p, p["drawn"], measure, line=p["population"], column=column))
    told = "D(f_G || f_I) bounds nothing at finitely many users; the certified PSE is a lower bound on the PIE"
    axes = ("events that are known or attributed", "bits")
    drawn = {"events": _curves("What events tell about the user", told, axes, records)} if records else {}
    whole = [p for p in results.points if "paper_bits" in p and p["drawn"] is None]
    return (drawn | {"whole": bar_chart(_bars(whole))}) if whole else drawn


def _bars(points: Sequence[Mapping[str, Any]]) -> Bars:
    names = [p["mechanism"] if p["population"] == "bssr1" else p["population"] for p in points]
    kinds = {"paper_bits": "D(f_G || f_I), the paper's PSE", "certified_bits": "certified PSE"}
    bars = [
        {"name": name, "kind": told, "value": point[measure].value}
        for name, point in zip(names, points, strict=True)
        for measure, told in kinds.items()
    ]
    told = "whole traces, maximum knowledge, beside biometric matchers"
    return Bars("What whole traces tell about the user", told, "bits", bars, names, list(kinds.values()))


def charts_of_det(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw DET curves on normal-deviate axes."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for p in results.points:
        if "far" in p:
            name = p["mechanism"] if p["population"] == "bssr1" else f"{p['population']}, {p['mechanism']}"
            lines.setdefault(name, []).append((p["far"].value, p["frr"].value, p["equal"].value))
    drawn = [
        DetLine(name, np.array([one[0] for one in points]), np.array([one[1] for one in points]), points[0][2])
        for name, points in lines.items()
    ]
    return {"det": det_chart(drawn)}


def charts_of_reports(measure: str) -> Callable[[Results, Mapping[str, Any]], dict[str, Any]]:
    """Return the charts of bounds, and of an attack on one report of each user, against epsilon."""
    measured = {"bits": "certified_bits", "error": "error"}[measure]
    named = {"bits": "attack (certified PSE)", "error": "attack"}

    def draw(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
        charts = {}
        for name in dict.fromkeys(p["population"] for p in results.points):
            points = results.where(population=name)
            records = [
                _record(p, p["epsilon"], measure, line=p["estimator"], column=p["mechanism"])
                for p in points
                if measure in p and p["estimator"] != "attack"
            ]
            records += [
                _record(p, p["epsilon"], measured, line=named[measure], column=p["mechanism"])
                for p in points
                if p["estimator"] == "attack"
            ]
            told = f"{points[0]['n']:,} users of {name}, one place each, |X| = {points[0]['values']:,}"
            titles = {"bits": "Information about the user", "error": "Identification error"}
            axes = ("epsilon", {"bits": "bits", "error": "identification error rate"}[measure])
            charts[name] = _curves(titles[measure], told, axes, records, even=measure == "error")
        return charts

    return draw


def charts_of_utility(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against epsilon and against the certified identification error."""
    charts = {}
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = [p for p in results.where(population=name) if "mse" in p]
        records = [_record(p, p["epsilon"], "mse", line=p["mechanism"], column=p["estimator"], row="") for p in points]
        told = f"{points[0]['n']:,} check-ins of {name}, each taken as a user's, |X| = {points[0]['values']:,}"
        charts[name] = _curves("Squared loss over places", told, ("epsilon", "summed squared error"), records)
        risky = [
            _record(p, 1 - p["error"].value, "mse", line=p["mechanism"], column=p["estimator"], row="") for p in points
        ]
        axes = ("largest identification probability, 1 - beta", "summed squared error")
        charts[f"{name}-beta"] = _curves("Squared loss against identification risk", told, axes, risky)
    return charts


def charts_of_top(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the most visited places: the truth, and estimates at chosen epsilons."""
    charts = {}
    for name in dict.fromkeys(p["population"] for p in results.points):
        chosen, records = chosen_epsilons(results, name), []
        for place in range(1, LISTED + 1):
            points = results.where(population=name, mechanism=RR, estimator=f"place {place}")
            at = {p["epsilon"]: p for p in points}
            records.append(_record(points[0], place, "truth", line="truth"))
            records += [
                _record(at[epsilon], place, "estimate", line=told) for told, epsilon in chosen.items() if epsilon in at
            ]
        told = f"RR, emp; {points[0]['n']:,} check-ins of {name}, each taken as a user's"
        charts[name] = _curves(f"The {LISTED} most visited places", told, ("place", "share of check-ins"), records)
    return charts


def chosen_epsilons(results: Results, name: str) -> dict[str, float]:
    """Return the epsilons that are compared: the paper's number, and the largest ones that keep an error of `BETA`."""
    points = [p for p in results.where(population=name, mechanism=RR) if "paper_error" in p]
    found = {f"epsilon = {PRINTED_EPSILON:g}": PRINTED_EPSILON}
    for measure, told in (("paper_error", "by Cor. 8"), ("error", "exactly")):
        epsilon = max((p["epsilon"] for p in points if p[measure].value >= BETA), default=0.0)
        any_ = epsilon > MOST_EPSILON - 1
        found[f"beta >= {BETA:g} {told}: {'any epsilon' if any_ else f'epsilon = {epsilon:.3g}'}"] = epsilon
    return found


def charts_of_buckets(results: Results, _: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the squared loss against the number of buckets."""
    charts = {}
    for name in dict.fromkeys(p["population"] for p in results.points):
        points = results.where(population=name)
        records = [_record(p, p["drawn"], "mse", line=p["estimator"]) for p in points]
        told = f"theta = {THETA:g}; the {TOP} most visited places of {name}, {points[0]['n']:,} check-ins"
        charts[name] = _curves("Hashing to more buckets", told, ("g", "summed squared error"), records)
    return charts


# Tables


def tables_of_attacks(results: Results) -> list[Table]:
    """Return the table of attacks, a row for each of the data that were attacked."""
    rows = [
        (
            p["population"],
            p["mechanism"],
            "all" if p["drawn"] is None else str(p["drawn"]),
            f"{p['n']:,}",
            f"{p['paper_bits'].value:.2f}",
            f"{p['certified_bits'].value:.2f}",
            f"{log2(p['n']):.2f}",
            f"{p['success'].value:.3f}",
            f"{p['eer'].value:.4f}",
        )
        for p in results.points
        if "paper_bits" in p
    ]
    heads = ("data", "attack", "events", "users", "D(f_G||f_I)", "certified", "log n", "named", "equal errors")
    return [Table("Bits about the user, and how often she is named", heads, rows, left=3)]


def tables_of_top(results: Results) -> list[Table]:
    """Return the most visited places: the truth, and estimates at chosen epsilons."""
    tables = []
    for name in dict.fromkeys(p["population"] for p in results.points):
        chosen, rows = chosen_epsilons(results, name), []
        for place in range(1, LISTED + 1):
            points = results.where(population=name, mechanism=RR, estimator=f"place {place}")
            at = {p["epsilon"]: p["estimate"].value for p in points}
            cells = [f"{at[epsilon]:.5f}" if epsilon in at else "" for epsilon in chosen.values()]
            rows.append((str(place), f"{points[0]['truth'].value:.5f}", *cells))
        heads = ("place", "truth", *chosen)
        tables.append(Table(f"RR, emp: the {LISTED} most visited places of {name}", heads, rows))
    return tables
