"""How a peer's script answers: a line of JSON for every question, in the peer's own environment. Needs nothing else.

The first line says which tasks it knows. Then every line on standard input names a task
(and what it is given); every answer is ``{"said": ...}``, or ``{"failed": "..."}`` if the peer raised an error.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from functools import cache

Work = Callable[[], object]
Answer = Callable[..., object]
Works = Mapping[str, tuple[Work, int]]


def nanoseconds(build: Callable[[], Works]) -> Answer:
    """Return what times each way of doing a task once, in nanoseconds per report.

    Args:
        build: makes the works, by way, each with the number of its reports; it is called once, and so is every work
            before anything is timed, because compiling does not count.
    """

    @cache
    def ready() -> Works:
        works = build()
        for work, _ in works.values():
            work()
        return works

    def said() -> dict[str, float]:
        return {way: seconds(work) / n * 1e9 for way, (work, n) in ready().items()}

    return said


def seconds(work: Work) -> float:
    """Return how long ``work`` takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def serve(answers: Mapping[str, Answer]) -> None:
    """Answer until nobody asks any more."""
    warnings.simplefilter("ignore")
    # Whatever a package prints must not come between the answers.
    lines, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"tasks": sorted(answers)}), file=lines, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = {"said": answers[question.pop("task")](**question)}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=lines, flush=True)
