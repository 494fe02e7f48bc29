"""The attacks of `discreet risk` beside attacks that are written apart from it, on eight made-up tables.

``python -m bench.rivals TABLE...`` (or TABLE:SEED) compares on some tables, and keeps the figures in bench/out/rivals.
Without a table it prints the figures that are there. The first half of each user's events is known. The attacks of the
package were improved with one half of the rivals in view; the other half is reported.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.companions import Peers, peers
from bench.measure import progress
from bench.rival_tables import TABLES, Table
from discreet import SeededRandom
from discreet.risk.assessment import assess
from discreet.risk.traces import Split, Traces, by_half

SEEDS = (1, 2, 3)
FOLDER = Path(__file__).parent / "out" / "rivals"
IN_VIEW = ("tf_idf", "dirichlet", "hours", "dates", "values", "latent", "logistic ranker", "forest ranker")
"""The rivals with which attacks were improved; all others are only reported."""


def traces_of(table: Table) -> Traces:
    """Return the traces of a table, with labels as a file would have them."""
    labels = None
    if table.values is not None:
        texts = [", ".join(f"{part:g}" if len(row) == 1 else f"{part:.5f}" for part in row) for row in table.values]
        labels = pa.array(texts)
    kinds = int(table.events.max()) + 1 if labels is None else len(labels)
    count = int(table.users.max()) + 1
    unit = None if table.times is None else "s"
    return Traces.of_numbers((table.users, count), (table.events, kinds), table.times, labels=labels, unit=unit)


def written(split: Split, table: Table, path: Path) -> None:
    """Write both sides for a process that knows nothing of traces."""
    arrays = {"size": np.array(split.training.users), "kinds": np.array(split.training.event_count)}
    for name, side in (("known", split.training), ("asked", split.target)):
        arrays[f"{name}_owners"] = np.repeat(np.arange(side.users), side.lengths)
        arrays[f"{name}_events"] = side.events.astype(np.int64)
        arrays |= {} if side.times is None else {f"{name}_times": side.times}
        arrays |= {} if table.values is None else {f"{name}_values": table.values[side.events]}
    np.savez(path, **arrays)


def compared(name: str, seed: int, rivals: Peers) -> dict[str, Any]:
    """Return how often the package and each rival identify the right user of a table."""
    table = TABLES[name](np.random.default_rng([seed, len(name)]))
    split = by_half(traces_of(table))
    found = assess(split, random=SeededRandom(seed))
    tried = {attempt.attack: attempt.success.value for attempt in found.tried}
    alone = max(share for attack, share in tried.items() if attack != "jointly")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "split.npz"
        written(split, table, path)
        answers = rivals.ask("attack", path=str(path))
    if not answers:
        raise SystemExit(" ".join(rivals.notes))
    (answer,) = answers.values()
    theirs = {f"{rival}, {way}": float(np.mean(hits)) for rival, ways in answer.items() for way, hits in ways.items()}
    progress(f"{name}, seed {seed}: {found.success.value:.3f}")
    return {"users": found.users, "headline": found.success.value, "alone": alone, "ours": tried, "rivals": theirs}


def summary(name: str, kept: list[dict[str, Any]]) -> str:
    """Return a line on a table: the shares of the package, and the largest of the rivals that were not in view."""
    shares = {rival: float(np.mean([each["rivals"][rival] for each in kept])) for rival in kept[0]["rivals"]}
    ours, own = (float(np.mean([each[which] for each in kept])) for which in ("headline", "alone"))
    users = kept[0]["users"]
    error = np.sqrt(max(ours * (1 - ours), 1e-4) / (users * len(kept)))
    others = {rival: share for rival, share in shares.items() if rival.partition(",")[0] not in IN_VIEW}
    best = max(others, key=others.__getitem__)
    single = {rival: share for rival, share in others.items() if rival.endswith("alone")}
    lone = max(single, key=single.__getitem__)
    met = ours >= others[best] - error and own >= single[lone] - error
    return (
        f"| {name} | {users} | {ours:.3f} | {others[best]:.3f} ({best.partition(',')[0]}) | {own:.3f} "
        f"| {single[lone]:.3f} ({lone.partition(',')[0]}) | {error:.3f} | {'yes' if met else 'no'} |"
    )


def main(names: list[str]) -> None:
    """Compare on the tables named, and print what is kept of all tables."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    if names:
        with peers("scikit-learn") as rivals:
            if rivals.skipped:
                raise SystemExit(f"scikit-learn: {rivals.skipped['scikit-learn']}")
            for name in names:
                table, _, seed = name.partition(":")
                for each in [int(seed)] if seed else SEEDS:
                    found = compared(table, each, rivals)
                    (FOLDER / f"{table}-{each}.json").write_text(json.dumps(found, indent=1))
    print("| table | users | discreet | best rival | one trace at a time | best rival | s.e. | met |")
    print("|---|---|---|---|---|---|---|---|")
    for name in TABLES:
        kept = [json.loads(path.read_text()) for path in sorted(FOLDER.glob(f"{name}-*.json"))]
        if kept:
            print(summary(name, kept))


if __name__ == "__main__":
    main(sys.argv[1:])
