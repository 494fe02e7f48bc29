"""Files and the wire format: plans, values, reports and tallies."""
