"""Processes for tests that kill: started quickly, and asked whether they answer."""

import multiprocessing
import os
from pathlib import Path
from typing import Any


def forked() -> Any:
    """Return a way to start processes that have imported everything already."""
    context = multiprocessing.get_context("forkserver")
    verbs = ["discreet.collector.verbs.collector", "discreet.collector.control"]
    context.set_forkserver_preload(["discreet.collector.serving", "discreet.collector.sealing", "collectors", *verbs])
    return context


def run_verb(words: list[str], shown: Path, errors: Path, variables: dict[str, str]) -> None:
    """Run a verb as a process does that was started for it: what it prints goes to files, and its end is its code."""
    from discreet.cli import main

    os.environ.update(variables)
    for stream, path in ((1, shown), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    main(words, prog_name="discreet")
