"""Answers with an estimate, in the form that a client accepts: JSON, CSV or Parquet."""

import io
from dataclasses import replace

from discreet.collector.catalogue import Entry
from discreet.collector.estimate_query import spelled_epochs
from discreet.collector.facts import publication
from discreet.collector.releases import Counts, Release
from discreet.io.estimates import estimate_facts
from discreet.io.json_text import json_text

_PARQUET = "application/vnd.apache.parquet"


def spelled(release: Release, entry: Entry, counts: Counts, *, level: float | None, accept: str) -> tuple[bytes, str]:
    """Return a release in the first known form that is accepted, JSON if none is said, and its media type.

    Args:
        release: what is released.
        entry: of this collection.
        counts: all batches that are sealed: estimates can be subtracted, so each states what all of them tell.
        level: confidence of the intervals; None for the default.
        accept: media types that are taken.

    Raises:
        ParameterError: if the level is not in (0, 1).
    """
    found = replace(release.found, publication=publication(entry, counts))
    kinds = [part.partition(";")[0].strip().lower() for part in accept.split(",")]
    kind = next((kind for kind in kinds if kind in {"application/json", "text/csv", _PARQUET}), "application/json")
    if kind == "application/json":
        said = {
            "collection": entry.row.name,
            "version": entry.row.version,
            "epochs": spelled_epochs(release.epochs),
            "local_epsilon": entry.mechanism.guarantee.realised,
            **estimate_facts(found, level, simultaneous=False, more={"noise_floor": release.noise_floor}),
        }
        return json_text(said).encode(), kind
    table = found.to_arrow(level)
    sink = io.BytesIO()
    if kind == "text/csv":
        from pyarrow import csv

        csv.write_csv(table, sink)
        return sink.getvalue(), "text/csv; charset=utf-8"
    from pyarrow import parquet

    parquet.write_table(table, sink)
    return sink.getvalue(), kind
