"""Faults in src/discreet/privacy."""

from faults.fault import Fault

_TESTS = ("tests/privacy/test_shuffling.py", "tests/privacy/test_shuffling_data_sets.py")

FAULTS = [
    Fault(
        "central guarantee: rho is taken for pi",
        "privacy/shuffling_pairs.py",
        "both = law.inclusions[x] * rhos[other]",
        "both = law.inclusions[x] * law.inclusions[other]",
        _TESTS,
    ),
    Fault(
        "central guarantee: n - 1 reports for n",
        "privacy/shuffling_pairs.py",
        "low, high = excess(values, np.append(self.weights, self.silent), n)",
        "low, high = excess(values, np.append(self.weights, self.silent), n - 1)",
        _TESTS,
    ),
    Fault(
        "central guarantee: blocks with neither value are forgotten",
        "privacy/shuffling_pairs.py",
        "shares = (only[0], only[1], both, 1 - sum(only) - both)",
        "shares = (only[0], only[1], both, 0 * both)",
        _TESTS,
    ),
    Fault(
        "central guarantee: the public functions of a pool are taken for fresh ones",
        "privacy/shuffling_pairs.py",
        "if is_pool(mechanism) else law.conditional_inclusions",
        "if False else law.conditional_inclusions",
        _TESTS,
    ),
    Fault(
        "central guarantee: the noise's share of the excess is taken off the upper end",
        "privacy/shuffling_excess.py",
        "scale * (found + slack)",
        "scale * (found - noise**2 * density)",
        ("tests/privacy/test_shuffling_numbers.py",),
    ),
    Fault(
        "central guarantee: called exact towards the only value in clear",
        "privacy/shuffling.py",
        "self._ends_towards, needed=2",
        "self._ends_towards, needed=1",
        _TESTS,
    ),
    Fault(
        "central guarantee: who is not trusted hides others",
        "privacy/shuffling.py",
        "return self.n - self.not_trusted",
        "return self.n",
        _TESTS,
    ),
    Fault(
        "central guarantee: losses of rounds are drawn under the other value",
        "privacy/shuffling_rounds.py",
        "masses[kept] = places[1:] * np.diff(slopes)",
        "masses[kept] = np.diff(slopes)",
        ("tests/privacy/test_shuffling_numbers.py",),
    ),
    Fault(
        "central guarantee: a promise is rounded down",
        "privacy/shuffling_statements.py",
        "return _rounded(number, ceil)",
        "return _rounded(number, floor)",
        ("tests/cli/test_verify_shuffled.py",),
    ),
]
