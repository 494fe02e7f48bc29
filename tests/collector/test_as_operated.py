"""A collector as it is operated: processes beside each other, counted by a reader that shares no code with them."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

from independent_count import asked
from operated import STAGGERED, VERBS, Operated


def verb(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "discreet", "collector", *words, "--data", str(folder)]
    subprocess.run(command, check=True, capture_output=True)


def test_verbs_and_kills_in_turn_lose_nothing_and_leave_no_id(tmp_path: Path) -> None:
    # Not as fast as they can: other tests run beside.
    operated = Operated(tmp_path, clients=2, pause=0.03)
    operated.operate(VERBS, kills=3, rounds=1)
    operated.seal_and_search()
    left = operated.left
    assert left.holds, left
    assert {name for name in VERBS if left.verbs[name] < 1} == set(), left.verbs
    assert left.kills > 3
    assert min(left.acknowledged, left.sealed) > 200
    assert left.alone >= 1


def test_what_verbs_wrote_outlives_another_program_of_sqlite_and_a_kill(tmp_path: Path) -> None:
    """Whoever closes a database as the last one deletes its log: the server must be known to have it open."""
    operated = Operated(tmp_path, clients=2, pause=0.03)
    with operated.served():
        for verb in ("token add", "add", "token add"):
            operated.look_in()
            operated.run(verb)
        operated.look_in()
        operated.kill()
    left = operated.left
    assert (left.failed, left.verbs["token add"], left.verbs["add"]) == (Counter(), 2, 1)
    assert len(asked(operated.data, "SELECT * FROM tokens")) == 2
    assert len(asked(operated.data, "SELECT * FROM collections")) == STAGGERED + 1
