"""Results of estimators: estimates with confidence limits, functionals, comparisons and regressions."""
