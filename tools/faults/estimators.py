"""Faults of estimators."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "a smooth estimate's error leaves out what the penalty moves it by",
        "estimators/smooth.py",
        "moved[None], np.ones((1, 1)), ((1.0, sample),))",
        "0 * moved[None], np.ones((1, 1)), ((1.0, sample),))",
        ("tests/estimators/test_smooth.py",),
    ),
    Fault(
        "the search for the smooth maximum ends when its gap once grows",
        "estimators/smooth.py",
        "_PATIENCE = 30",
        "_PATIENCE = 1",
        ("tests/estimators/test_smooth.py",),
    ),
    Fault(
        "intervals of what is behind bots leave the bots' errors out",
        "estimators/tags.py",
        "            squares[share.codes] += (deviation * share.weights) ** 2",
        "            squares[share.codes] += 0 * deviation",
        ("tests/estimators/test_tags.py",),
    ),
    Fault(
        "the worst case counts every bot once",
        "estimators/tags.py",
        "return 2 * float(sum(abs(mass)",
        "return float(sum(abs(mass)",
        ("tests/estimators/test_tags.py",),
    ),
    Fault(
        "a threshold's errors are stated at the frequencies that passed it",
        "estimators/linear.py",
        "likely, _ = projection(start.linear, 1 / start.safe_variance)",
        "likely = np.maximum(frequencies, 0)",
        ("tests/estimators/test_uncertainty.py",),
    ),
    Fault(
        "a value that nobody told is known without error",
        "estimators/linear.py",
        "errors[unseen] = np.maximum(np.sqrt(plausible), errors[unseen])",
        "errors[unseen] = errors[unseen]",
        ("tests/estimators/test_uncertainty.py",),
    ),
    Fault(
        "differences are made of limits that are clipped to [0, 1]",
        "estimators/differences.py",
        "Estimated(each.centre, *each.limits(level))",
        "Estimated(each.centre, *each.interval(level))",
        ("tests/estimators/test_differences.py",),
    ),
    Fault(
        "the variance of a weighted estimate is that of equal weights",
        "estimators/strata.py",
        "parts = [(factor, square)",
        "parts = [(1.0, counts.weights)] or [(factor, square)",
        ("tests/estimators/test_groups.py",),
    ),
    Fault(
        "rare values in clear are tested by themselves",
        "estimators/differences.py",
        "_LEAST_EXPECTED = 5",
        "_LEAST_EXPECTED = 0",
        ("tests/estimators/test_differences.py",),
    ),
    Fault(
        "all values are tested with the covariance at each group's own estimate",
        "estimators/differences.py",
        "at = one.decoder.covariances_at(q if mark else p)",
        "at = one.decoder.covariances_at(one.decoder.decode(one.counts[0]))",
        ("tests/estimators/test_differences.py",),
    ),
]
