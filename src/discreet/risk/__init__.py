"""Identification risk: whose report or trace is this? Bounds for any adversary, and attacks that measure it.

A wing on the core; the second paper (PIE and PSE). Nouns: `Traces` (events of users), `Scores` (of an attack, for pairs
of traces), `Bounds` (for any adversary), `Assessment` (the answer). Files in reading order:

- `traces.py`, `events.py`: events of users, in memory and from tables
- `bounds/`: what no attack exceeds; `scores/`: how well an attack does; `attacks/`: the attacks
- `assessment.py`: all of it for one release; `linkage.py`: a release beside a known table; `classes.py`: reports beside
  public columns; `defences.py`: releases compared
- `planning.py`: the largest epsilon that a risk allows
- `pages.py`, `det.py`: pages and pictures; `verbs/`: the command line; `kernels/`: compiled loops
"""
