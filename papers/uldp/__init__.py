"""The figures and tables of [ULDP], a file each: plan, measurement, drawing and checked findings."""
