"""Faults of risk."""

from faults.fault import Fault

FAULTS = [
    Fault(
        "ties find the right user for sure",
        "risk/scores/scores.py",
        "np.clip((k - greater) / ties, 0.0, 1.0)",
        "np.clip(k - greater, 0.0, 1.0)",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "the best of several attacks is judged as if it were the only one",
        "risk/attacks/traces.py",
        "return 1 - (1 - checked_level(level)) / attempts",
        "return checked_level(level)",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "data are compared with matchers by an estimate, not by its lower limit",
        "risk/assessment.py",
        "if here.low >= success]",
        "if here.value >= success]",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "the alarm asks what was measured, not its upper limit",
        "risk/assessment.py",
        "return min(self.success.high + self.unlearned, 1.0)",
        "return min(self.success.value + self.unlearned, 1.0)",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "traces that no attack could tell pass for safe",
        "risk/assessment.py",
        "return float(np.mean(blind | ",
        "return float(np.mean(",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "an attack that does no better than guessing limits the risk",
        "risk/assessment.py",
        "unlearned=1.0 if guessed else",
        "unlearned=0.0 if guessed else",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "ranks are judged by the law that was fitted to them",
        "risk/scores/biometric.py",
        "spread[~held].sum(axis=0)",
        "spread.sum(axis=0) + 1000 * spread[held].sum(axis=0)",
        ("tests/risk/scores/test_ranks.py",),
    ),
    Fault(
        "a probe's spread is taken for what it would be alone",
        "risk/scores/pse.py",
        "spread = max(_variance(logs - levels / (users * mean), own), _variance(logs, own))",
        "spread = _variance(logs - levels / (users * mean), own)",
        ("tests/risk/scores/test_pse.py",),
    ),
    Fault(
        "attribution in a batch as that of a report alone",
        "risk/bounds/identification.py",
        "exp(-2 * self.epsilon)",
        "exp(-self.epsilon)",
        ("tests/risk/bounds/test_identification.py",),
    ),
    Fault(
        "a population that lacks people of the table makes the others safer",
        "risk/people_table.py",
        "np.maximum(self.population[there], sizes)",
        "np.maximum(self.population[there], sizes.max())",
        ("tests/risk/test_people.py",),
    ),
    Fault(
        "a bound on reports is that of the next larger class",
        "risk/people.py",
        'np.searchsorted(sizes, classes, side="right") - 1]',
        "np.minimum(np.searchsorted(sizes, classes), len(sizes) - 1)]",
        ("tests/risk/test_people.py",),
    ),
    Fault(
        "a model learns from the classes that are published, and not from the sample",
        "risk/people.py",
        "population_estimate(keys.counts, fraction, suppress=least",
        "population_estimate(sizes, fraction, suppress=least",
        ("tests/cli/test_people_verb.py",),
    ),
    Fault(
        "what is not known of a model's parameters is left out of its limits",
        "risk/population.py",
        "places = generator.choice(chances.size, _DRAWS, p=chances / chances.sum())",
        "places = np.full(_DRAWS, chances.argmax())",
        ("tests/risk/test_population.py",),
    ),
]
