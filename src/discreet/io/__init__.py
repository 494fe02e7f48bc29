"""Files and the wire: plans, values, reports and tallies."""
