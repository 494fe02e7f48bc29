"""Results of estimators: estimates with their limits, functionals, comparisons, regressions."""
