"""The figures of [PIE], a file each: plan, measurement, drawing and checked findings."""
