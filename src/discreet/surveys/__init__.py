"""Surveys: several questions to the same people, in one round or in several rounds, and tables of the answers.

A wing on the core and on `discreet.risk`. Nouns: `Survey` and `Question` (mechanisms, and the public draw of the
questions that a person answers), `Rounds` (the same questions again), `Answers` (an estimate for each question, and for
parts of them). Files in reading order:

- `questions.py`, `survey.py`: questions, the survey and its reports; `rounds.py`: rounds; `documents.py`: its file
- `guarantees.py`: the promise for all answers of a person, recomputed
- `planning.py`, `schedules.py`: who answers how many questions, and ways to ask again
- `answers.py`, `estimating.py`: estimates; `joint_tables/`: from several questions at once
- `risk.py`: identification by all answers of a person; `verbs/`: the command line
"""
