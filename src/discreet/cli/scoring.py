"""The verb ``risk`` with a table of scores: the identification risk of a biometric matcher."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from discreet.arrays import FloatArray
from discreet.cli.terminal import console, show_json
from discreet.core.event_columns import numbered
from discreet.core.random import RandomSource, SecureRandom, SeededRandom
from discreet.errors import DataError, ParameterError
from discreet.io.tables import read_table
from discreet.risk.scores.biometric import biometric

_WORSE_THAN_CHANCE = 0.5


def assess_scores(path: Path, **options: Any) -> None:
    """Measure a matcher by its table of scores, and exit with 1 if its success is above a limit."""
    table = read_table(path)
    matrix = _matrix(table, options["probe"], options["template"], options["score"])
    _refuse_missing(matrix, options["failed"])
    found = biometric(
        {options["score"]: matrix},
        distances=options["distance"],
        failed=options["failed"],
        random=source_of(options["seed"]),
    )[options["score"]]
    success = found.ranks.rates[0]
    facts = {
        "users": found.users,
        "dropped": found.dropped,
        "success": asdict(success),
        "bse_at_least_bits": found.bse.best.certified,
        "bse": {one.name: asdict(one) for one in (found.bse.certified, found.bse.info_nce, found.bse.paper) if one},
        "equal_error_rate": found.det.equal_error_rate,
        "in_words": str(found),
    }
    if options["as_json"]:
        show_json(facts)
    else:
        console().print(str(found))
    if found.det.equal_error_rate > _WORSE_THAN_CHANCE:
        way = "leave out --distance" if options["distance"] else "pass --distance"
        click.echo(
            f"Note: genuine pairs look less alike than impostors; if the scores go the other way, {way}.", err=True
        )
    limit = options["fail_above"]
    if limit is not None and success.high > limit:
        click.echo(
            f"The right user is named with probability {success.high:.4g} at most, by the upper limit of what was "
            f"measured, above {limit:g}.",
            err=True,
        )
        raise click.exceptions.Exit(1)


def _matrix(table: Any, probe: str, template: str, score: str) -> FloatArray:
    """Return ``(n, n)`` scores, probes in rows."""
    for name in (probe, template, score):
        if name not in table.column_names:
            raise ParameterError(f"there is no column {name!r}; the table has {', '.join(table.column_names)}.")
    (rows, n), (columns, m) = (numbered(table[name], name) for name in (probe, template))
    same = np.asarray(table[probe].combine_chunks().unique()).tolist()
    order = {name: place for place, name in enumerate(same)}
    names = np.asarray(table[template].combine_chunks().unique()).tolist()
    if n != m or len(table) != n * n or set(same) != set(names):
        raise DataError(
            f"there must be a score of every one of n probes for each of as many templates, got {len(table)}."
        )
    places = np.array([order[name] for name in names])[columns]
    if len(np.unique(rows.astype(np.int64) * n + places)) != n * n:
        raise DataError("some pairs of a probe and a template are there twice, and others not at all.")
    matrix = np.empty((n, n))
    matrix[rows, places] = _numbers(table[score])
    return matrix


def _numbers(column: Any) -> FloatArray:
    """Return ``(m,)`` scores; nan where one is missing."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise DataError(f"scores must be numbers, got a column of {kind}; choose another with --score.")
    numbers: FloatArray = column.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _refuse_missing(matrix: FloatArray, failed: float | None) -> None:
    """Refuse scores that are no finite numbers, other than those that ``--failed`` names."""
    infinite = int(np.isinf(matrix[matrix != failed] if failed is not None else matrix).sum())
    if infinite:
        raise DataError(
            f"{infinite} of {matrix.size} scores are infinite; if these mean that there is no score, say so with "
            "--failed inf (or -inf)."
        )
    missing = int(np.isnan(matrix).sum())
    if missing and failed is None:
        raise DataError(
            f"{missing} of {matrix.size} scores are missing; with --failed nan the users whom these are about are left "
            "out, and counted."
        )


def source_of(seed: int | None) -> RandomSource:
    """Return seeded words, or secure ones without a seed."""
    return SecureRandom() if seed is None else SeededRandom(seed)
