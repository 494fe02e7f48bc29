"""Every public constructor and function, handed what is no argument: refused, typed, in one sentence."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from discreet import (
    BlockDesign,
    Channel,
    Domain,
    HadamardResponse,
    LocalHashing,
    Personalized,
    RandomizedResponse,
    SecretTags,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
    best,
    estimate,
    estimate_personalized,
)
from discreet.errors import DiscreetError
from discreet.mechanisms import LawMechanism
from discreet.mechanisms.laws.bits import IndependentBits
from discreet.mechanisms.laws.hadamard import HadamardColumns
from discreet.mechanisms.laws.hashing import HashBuckets
from discreet.mechanisms.laws.singletons import Singletons
from discreet.mechanisms.laws.subsets import MixedSubsets, Subsets
from discreet.mechanisms.personalized import candidates_left
from discreet.planning.compare import compare_mechanisms
from discreet.planning.losses import reports_for_standard_error, worst_variance
from discreet.privacy.composition import integrated, repeated_epsilon, sequential, split_epsilon
from discreet.privacy.notions import smallest_epsilon
from discreet.privacy.verify import verify
from discreet.risk.bounds import identification_bounds
from discreet.risk.scores import Scores
from discreet.risk.scores.pse import divergence, pse_of_matrix, pse_of_scores
from discreet.theory.optimum import lower_bound, optimal_design, optimal_theta
from packing import each
from refusals import refused

DOMAIN, PLAIN, TEXT = Domain(range(5), sensitive=[0, 1, 2]), Domain(range(5)), Domain(["a", "b", "c"], sensitive=["a"])
MECHANISM, CHANNEL = RandomizedResponse(DOMAIN, 1.0), RandomizedResponse(PLAIN, 1.0).channel()
REPORTS = MECHANISM.obfuscate_codes(np.arange(200) % 5, random=SeededRandom(1))
TALLY, FOUND = MECHANISM.tally(REPORTS), estimate(MECHANISM, REPORTS)
PERSONAL = Personalized(TEXT, 1.0, ["home"])
EVEN, SCORES = np.full(5, 0.2), np.random.default_rng(1).random((5, 5))
PAIRS = Scores.of_pairs([1.0, 2.0], [1.0, 3.0])
SECRET = 8675309.5

BAD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "text": lambda: "x",
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "negative": lambda: -1,
    "negative float": lambda: -0.5,
    "bool": lambda: True,
    "masked": lambda: np.ma.array([SECRET, 2.0], mask=[1, 0]),
    "set": lambda: {1, 2},
    "generator": lambda: (one for one in [1, 2]),
    "mapping": lambda: {"a": SECRET},
    "object": object,
    "list": lambda: [1, "x", SECRET],
    "large": lambda: 10**400,
    "complex": lambda: 1j,
    "array": lambda: np.array([[SECRET, "x"]], dtype=object),
}


def _of(**arguments: Any) -> dict[str, Any]:
    return arguments


CASES: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (Domain, _of(labels=range(5), sensitive=[1], allow_unprotected=False)),
    (Domain.product, _of(attributes={"x": [1, 2]}, sensitive={"x": 1})),
    (Domain.grid, _of(lat=(0, 1), lon=(0, 1), rows=2, cols=2, sensitive=[(0.1, 0.1)])),
    (DOMAIN.encode, _of(values=[1])),
    (DOMAIN.check_codes, _of(codes=[1])),
    (DOMAIN.names, _of(codes=np.array([1]))),
    (DOMAIN.table, _of(codes=np.array([1]))),
    (DOMAIN.with_placeholders, _of(tags=["a"])),
    (DOMAIN.distribution, _of(values=[1], probabilities=[1.0])),
    (DOMAIN.check_distribution, _of(p=EVEN)),
    (SeededRandom, _of(seed=1)),
    (RandomizedResponse, _of(domain=DOMAIN, epsilon=1.0)),
    (UnaryEncoding, _of(domain=DOMAIN, epsilon=1.0, theta=0.5, clear_bits=True)),
    (SubsetSelection, _of(domain=PLAIN, epsilon=1.0, k=2)),
    (LocalHashing, _of(domain=PLAIN, epsilon=1.0, g=3)),
    (HadamardResponse, _of(domain=PLAIN, epsilon=1.0)),
    (BlockDesign, _of(domain=DOMAIN, epsilon=1.0, sensitive_mass=0.5)),
    (LawMechanism, _of(domain=PLAIN, epsilon=1.0, law=IndependentBits(5, 1, 2), clear_blocks=False)),
    (Singletons, _of(size=3)),
    (IndependentBits, _of(size=3, threshold=1, depth=2)),
    (Subsets, _of(size=4, count=2)),
    (MixedSubsets, _of(size=4, count=2, larger=5)),
    (HashBuckets, _of(size=4, buckets=2)),
    (HadamardColumns, _of(size=4)),
    (Channel, _of(matrix=np.eye(5), domain=PLAIN)),
    (MECHANISM.obfuscate, _of(values=[1], random=SeededRandom(1))),
    (MECHANISM.obfuscate_codes, _of(codes=[1], random=SeededRandom(1))),
    (MECHANISM.obfuscate_batches, _of(codes=[1], size=1, random=SeededRandom(1))),
    (MECHANISM.tally, _of(reports=REPORTS)),
    (MECHANISM.decoder.estimate, _of(tally=TALLY)),
    (MECHANISM.decoder.mse, _of(n=5, p=EVEN)),
    (MECHANISM.decoder.worst_case_mse, _of(n=5)),
    (MECHANISM.decoder.standard_errors, _of(n=5, p=EVEN)),
    (CHANNEL.obfuscate_codes, _of(codes=[1], random=SeededRandom(1))),
    (CHANNEL.decoder.mse, _of(n=5, p=EVEN)),
    (CHANNEL.decoder.worst_case_mse, _of(n=5)),
    (estimate, _of(mechanism=MECHANISM, data=REPORTS, method="linear")),
    (FOUND.interval, _of(level=0.9)),
    (FOUND.columns, _of(level=0.9)),
    (FOUND.largest, _of(count=2)),
    (Personalized, _of(domain=TEXT, epsilon=1.0, tags=["home"], mechanism="rr")),
    (
        Personalized.cells,
        _of(
            domain=Domain.grid(lat=(0, 1), lon=(0, 1), rows=2, cols=2, sensitive=[(0.1, 0.1)]),
            epsilon=1.0,
            rows=1,
            cols=1,
        ),
    ),
    (SecretTags, _of(personalized=PERSONAL, tagged={"home": ["b"]})),
    (PERSONAL.obfuscate, _of(values=["b"], secret=SecretTags(PERSONAL, {"home": ["b"]}))),
    (candidates_left, _of(domain=TEXT, seen_in_clear=1)),
    (
        estimate_personalized,
        _of(
            personalized=PERSONAL,
            data=PERSONAL.obfuscate(["b"], SecretTags(PERSONAL, {"home": ["b"]})),
            background="drop",
        ),
    ),
    (
        compare_mechanisms,
        _of(
            domain=DOMAIN,
            epsilon=1.0,
            users=10,
            target="worst-case",
            largest_report=9,
            reports_per_user=1,
            standard_error=0.1,
        ),
    ),
    (best, _of(domain=DOMAIN, epsilon=1.0, sensitive_mass=0.5, largest_report=9)),
    (worst_variance, _of(mechanism=MECHANISM)),
    (reports_for_standard_error, _of(mechanism=MECHANISM, wanted=0.1)),
    (sequential, _of(first=CHANNEL, second=CHANNEL)),
    (integrated, _of(own=CHANNEL, other=CHANNEL)),
    (split_epsilon, _of(epsilon=1.0, reports=2)),
    (repeated_epsilon, _of(mechanism=MECHANISM, reports=2)),
    (smallest_epsilon, _of(source=CHANNEL, notion="LDP")),
    (verify, _of(mechanism=MECHANISM)),
    (optimal_design, _of(size=2, total=5, epsilon=1.0, sensitive_mass=0.5)),
    (lower_bound, _of(size=2, total=5, epsilon=1.0, n=5)),
    (optimal_theta, _of(size=2, total=5, epsilon=1.0, sensitive_mass=0.5)),
    (pse_of_scores, _of(scores=PAIRS, users=3, level=0.9)),
    (pse_of_matrix, _of(scores=SCORES, prior=EVEN, folds=2, level=0.9)),
    (divergence, _of(scores=PAIRS)),
    (identification_bounds, _of(mechanism=MECHANISM, users=10)),
]

# What is an argument after all, beside None where that is the default: what gives a column one by one, and so on.
ANSWERS = {
    ("Domain", "labels"): {"generator"},
    ("Domain", "sensitive"): {"generator", "set"},
    ("Domain", "allow_unprotected"): {"bool"},
    ("Domain.encode", "values"): {"generator"},
    ("Domain.check_codes", "codes"): {"generator"},
    ("Domain.names", "codes"): {"generator"},
    ("Domain.table", "codes"): {"generator"},
    ("SeededRandom", "seed"): {"large", "negative"},
    ("UnaryEncoding", "clear_bits"): {"bool"},
    ("LawMechanism", "clear_blocks"): {"bool"},
    ("Mechanism.obfuscate", "values"): {"generator"},
    ("BlockMechanism.obfuscate_codes", "codes"): {"generator"},
    ("Mechanism.obfuscate_batches", "codes"): {"generator"},
    ("Channel.obfuscate_codes", "codes"): {"generator"},
    ("compare_mechanisms", "users"): {"none"},
    ("compare_mechanisms", "target"): {"none"},
    ("compare_mechanisms", "largest_report"): {"none"},
    ("best", "sensitive_mass"): {"none"},
    ("best", "largest_report"): {"none"},
}


def answers(function: Callable[..., Any], name: str) -> set[str]:
    parameter = signature(function).parameters.get(name)
    # A device needs its user's secret tags, and says so itself.
    optional = parameter is not None and parameter.default is None and name != "secret"
    return ANSWERS.get((function.__qualname__, name), set()) | ({"none"} if optional else set())


@each("function, arguments", CASES)
def test_whatever_is_no_argument_is_refused(function: Callable[..., Any], arguments: dict[str, Any]) -> None:
    function(**arguments)
    for name in arguments:
        for kind, make in BAD.items():
            changed = {**arguments, name: make()}
            if kind in answers(function, name):
                function(**changed)
                continue
            try:
                refused(DiscreetError, lambda given=changed: function(**given), SECRET)
            except BaseException as error:
                error.add_note(f"{function.__qualname__}({name}=<{kind}>)")
                raise
