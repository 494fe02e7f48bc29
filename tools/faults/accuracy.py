"""Faults of exact errors."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "a truth in the set counts as another's in the moments of a sum",
        "accuracy/sum_worths.py",
        "np.array([m, m - 1, m])",
        "np.array([m, m, m])",
        ("tests/accuracy/test_sum_worths.py",),
    ),
    Fault(
        "pi is used for rho in decoding",
        "accuracy/linear_decoder.py",
        "support - (self.conditional_inclusion * blocks",
        "support - (self.inclusion * blocks",
        ("tests/contract/test_errors.py",),
    ),
    Fault(
        "the influence of reports in clear is left out",
        "accuracy/linear_decoder.py",
        "found.append(silent)",
        "found.append(inside)",
        ("tests/contract/test_influence.py",),
    ),
    Fault(
        "reports in clear are counted as blocks",
        "accuracy/linear_decoder.py",
        "blocks = self.block_count(n, clear_total)",
        "blocks = n",
        ("tests/contract/test_errors.py",),
    ),
    Fault(
        "the loss of a clear value forgets what its silence is worth",
        "accuracy/linear_decoder.py",
        "return self._summed(self.worth[2] ** 2)",
        "return 0.0",
        ("tests/contract/test_designs.py",),
    ),
    Fault(
        "the influence of blocks of the larger size is left out",
        "accuracy/design.py",
        "for k in self.mixture.sizes}\n        sensitive = [inside",
        "for k in self.mixture.sizes[:1]}\n        sensitive = [inside",
        ("tests/contract/test_influence.py",),
    ),
    Fault(
        "binomial limits are mid-p's, which miss too often at small counts",
        "accuracy/binomial_limits.py",
        "weight = 0.5 + 0.5 * np.exp(-np.minimum(t, n - t) / 4)",
        "weight = np.full(len(t), 0.5)",
        ("tests/accuracy/test_confidence_limits.py",),
    ),
    Fault(
        "groups of different sizes share the limits of equal counts",
        "accuracy/binomial_limits.py",
        "once_each(self.counts, self.n)",
        "once_each(self.counts)",
        ("tests/estimators/test_groups.py",),
    ),
    Fault(
        "limits are not corrected for skewness",
        "accuracy/skewed_limits.py",
        "_ROUNDS = 4",
        "_ROUNDS = 0",
        ("tests/accuracy/test_confidence_limits.py",),
    ),
    Fault(
        "two sensitive values covary the other way",
        "accuracy/cross_moments.py",
        "s * (m_1 - m_2)",
        "s * (m_2 - m_1)",
        ("tests/estimators/test_covariances.py",),
    ),
    Fault(
        "a third value's block is forgotten in covariances",
        "accuracy/cross_moments.py",
        "d * d * (rho * rho + triple)",
        "d * d * rho * rho",
        ("tests/estimators/test_covariances.py",),
    ),
]
