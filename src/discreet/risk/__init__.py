"""Identification risk: whose report or trace is this? Bounds for any adversary, and attacks that measure it.

This wing on the core implements the second paper (PIE and PSE). Its nouns: `Traces` (events of users), `Scores` (of an
attack, for pairs of traces), `Bounds` (for any adversary), `Assessment` (the answer). Files in reading order:

- `traces.py`, `events.py`: events of users, in memory and from tables
- `bounds/`: limits for every attack; `scores/`: the quality of an attack; `attacks/`: the attacks
- `assessment.py`: a complete answer for one release; `linkage.py`: a release beside a known table; `classes.py`:
  reports beside public columns; `defences.py`: a comparison of releases
- `planning.py`: the largest epsilon that a risk allows
- `pages.py`, `det.py`: pages and pictures; `verbs/`: the command line; `kernels/`: compiled loops
"""
