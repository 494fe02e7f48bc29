"""Counts from a warehouse: the query that makes a tally where the reports are, and the reader of its result.

A wing on the core. A team that stores reports in a database counts them there, with one SELECT, and estimates here. The
query has no state and needs no function of its own: it is plain SQL, with a few spellings for each dialect. The result
has a row for each count, and every row names the plan and the number of all rows, so that a result that was cut,
doubled or mixed up is refused.

Files in reading order: `dialects.py` (what differs between databases), `blocks.py` (a block law in SQL), `query.py`
(the query, `tally_sql`), `counts.py` (the reader of results).
"""
