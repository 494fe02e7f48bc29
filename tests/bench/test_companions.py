"""What is measured beside us may be missing, may fail, and computes the same thing as we do."""

import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import reconstruction

from bench import companions, numpy_pipeline
from bench import numpy_reference as reference
from bench.growth import Point, _open
from bench.limits import Demand, Limits
from bench.tasks import CountingRandom, client_demand
from discreet import (
    Domain,
    HadamardResponse,
    PooledHashing,
    RandomizedResponse,
    SeededRandom,
    SubsetSelection,
    UnaryEncoding,
    estimate,
)
from programs import program

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
from serving import nanoseconds, serve
def broken(number):
    raise ValueError(f"cannot do {number}, see https://example.org/help")
serve({"work": nanoseconds(lambda: {"one way": (lambda: print("noise"), 10)}), "broken": broken})
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of one package that answers and of one that does not start."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    shutil.copy(ROOT / "bench" / "peers" / "serving.py", scripts)
    (scripts / "good_one_tasks.py").write_text(SCRIPT)
    (scripts / "bad_tasks.py").write_text("import nothing_of_this_name")
    for name in ("good-one", "bad"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").symlink_to(sys.executable)
        (tmp_path / f"{name}.ready").touch()
    (tmp_path / "absent.log").write_text("WARNING: old\nERROR: no match for x==1 (from /home/me/r.txt)\nERROR: more")
    monkeypatch.setattr(companions, "HOME", tmp_path)
    monkeypatch.setattr(companions, "SCRIPTS", scripts)
    return tmp_path


def test_who_is_missing_is_skipped_with_a_reason_and_who_fails_is_not_asked_again(home: Path) -> None:
    with companions.peers("good-one", "bad", "absent", "unheard-of") as found:
        assert list(found.there) == ["good-one"]
        assert found.skipped == {
            "bad": "does not start: ModuleNotFoundError: No module named 'nothing_of_this_name'",
            "absent": "did not install: no match for x==1 (from (path))",
            "unheard-of": "not installed; `make bench` does that",
        }
        assert 0 < found.ways("work")["one way"] < 1e9
        assert found.ask("broken", number=7) == {}
        assert found.ask("broken", number=7) == {}
        assert found.ask("unknown") == {}
        assert found.ask("work", among=()) == {}
        assert found.notes == ["good-one failed at broken: ValueError: cannot do 7, see (address)."]


def test_a_package_that_ends_meanwhile_is_left_without_an_error(home: Path) -> None:
    with companions.peers("good-one") as found:
        process = found.there["good-one"].process
        process.terminate()
        process.wait()
        assert found.ask("broken", number=7) == {}
        assert found.notes == ["good-one failed at broken: its process ended."]


def test_a_message_is_shortened_and_names_no_place() -> None:
    told = companions.shortened("Could not\n  fetch file:///opt/x/y from 'C:\\tmp\\z' and /usr/lib; 1/2 is fine.")
    assert told == "Could not fetch (address) from '(path)' and (path); 1/2 is fine"
    assert len(companions.shortened("word " * 100)) < 170


def test_an_environment_that_fails_leaves_a_note_and_no_error(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "bench" / "peers").mkdir(parents=True)
    (tmp_path / ".venv").mkdir()
    for file in ("bench/peers/broken.in", "bench/peers/broken.txt", ".venv/python"):
        (tmp_path / file).touch()
    command = [program("make"), ".venv-peers/broken.ready", "PYTHON=false"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "broken did not install; it is skipped" in done.stdout
    assert (tmp_path / ".venv-peers" / "broken.log").exists()
    assert not (tmp_path / ".venv-peers" / "broken.ready").exists()


def test_every_package_has_its_versions_locked_with_hashes_and_without_addresses() -> None:
    for name in companions.NAMES:
        locked = (ROOT / "bench" / "peers" / f"{name}.txt").read_text(encoding="utf-8")
        assert f"\n{name}==" in f"\n{locked}"
        assert locked.count("==") <= locked.count("--hash=sha256:")
        assert "://" not in locked
        assert (ROOT / "bench" / "peers" / f"{name.replace('-', '_')}_tasks.py").exists()


def test_the_limit_is_the_slowest_of_what_must_be_done() -> None:
    limits = Limits(read=1e9, keystream=5e8, adds={8: 1e9, 1000: 1e8})
    assert Demand(keystream=10, moved=5).bound(limits) == ("keystream", pytest.approx(20))
    assert Demand(keystream=1, moved=5).bound(limits) == ("memory", pytest.approx(5))
    assert Demand(moved=5, adds=1, table=1000).bound(limits) == ("adds", pytest.approx(10))


def test_words_and_bytes_of_a_report_are_counted() -> None:
    mechanism, codes = RandomizedResponse(Domain(range(1000)), 1.0), np.zeros(1 << 14, dtype=np.int64)
    counting = CountingRandom()
    counting.words(3)
    assert counting.bytes == 24
    demand = client_demand(mechanism, codes)
    # A coin and a value from 32 bits; a code of 8 bytes is read, a symbol of 2 is written.
    assert demand.keystream == pytest.approx(4, abs=0.1)
    assert demand.moved == 10


def test_a_curve_goes_on_while_the_next_point_is_short_enough() -> None:
    def points(**ns: float) -> list[Point]:
        return [Point("law", stage, 1_000_000, 10, spent) for stage, spent in ns.items()]

    assert _open(points(client=100, server=100, mle=350), 4.0) == {"client", "server"}
    # Nothing can be counted that was not made.
    assert _open(points(client=500, server=1), 4.0) == set()
    assert _open(points(server=1), 4.0) == set()


SIZE, N = 100, 20_000
CODES = np.random.default_rng(1).integers(0, SIZE, N)


def test_numpy_counts_what_we_count() -> None:
    rng, everything = np.random.default_rng(2), Domain(range(SIZE))
    hadamard = HadamardResponse(everything, 1.0)
    reports = hadamard.obfuscate_codes(CODES, random=SeededRandom(1))
    counted = reference.hadamard_counts(reports.blocks["column"].astype(np.uint32), 128)
    np.testing.assert_array_equal(counted[:SIZE], hadamard.law.support_of(hadamard.tally(reports).support))
    pool = PooledHashing(everything, 1.0, g=4, functions=60)
    told = pool.obfuscate_codes(CODES, random=SeededRandom(1)).blocks
    counted = reference.pooled_counts(told["cohort"], told["bucket"], pool.law.pool, SIZE, 4)
    np.testing.assert_array_equal(counted, pool.law.counts.support(told))
    subset = SubsetSelection(everything, 1.0)
    members = subset.obfuscate_codes(CODES, random=SeededRandom(1))
    counted = reference.subset_counts(members.blocks["members"], SIZE)
    np.testing.assert_array_equal(counted, subset.tally(members).support)
    drawn = reference.subsets(CODES, SIZE, 10, 1.0, rng)
    assert (np.diff(drawn.astype(int), axis=1) > 0).all()


def test_numpy_draws_what_we_draw() -> None:
    """Expected shares of reports that contain the own value, to five standard deviations; half the epsilon is not."""
    rng, e = np.random.default_rng(3), np.exp(1.0)
    inside = (reference.subsets(CODES, SIZE, 27, 1.0, rng) == CODES[:, None]).any(axis=1).mean()
    wanted = 27 * e / (27 * e + SIZE - 27)
    assert abs(inside - wanted) < 5 * np.sqrt(0.25 / N)
    columns = reference.hadamard(CODES, 128, 1.0, rng)
    even = (np.bitwise_count(columns & (CODES + 1).astype(np.uint32)) % 2 == 0).mean()
    assert abs(even - e / (e + 1)) < 5 * np.sqrt(0.25 / N)
    assert abs(even - np.exp(0.5) / (np.exp(0.5) + 1)) > 5 * np.sqrt(0.25 / N)
    pool = PooledHashing(Domain(range(SIZE)), 1.0, g=4, functions=60).law
    cohorts, buckets = reference.pooled_hashing(CODES, pool.pool.astype(np.uint64), pool.prime, 4, 1.0, rng)
    told = pool.contains({"cohort": cohorts, "bucket": buckets})[np.arange(N), CODES].mean()
    assert abs(told - e / (e + 3)) < 5 * np.sqrt(0.25 / N)


def test_numpy_estimates_what_we_estimate() -> None:
    mechanism = RandomizedResponse(Domain(range(SIZE)), 1.0)
    tally = mechanism.tally(mechanism.obfuscate_codes(CODES, random=SeededRandom(1)))
    ours = estimate(mechanism, tally)
    frequencies, errors = reference.linear(tally.support, N, 1.0)
    np.testing.assert_allclose(frequencies, ours.frequencies, atol=1e-9)
    np.testing.assert_allclose(errors, ours.standard_errors, rtol=0.05)
    found = estimate(mechanism, tally, method="norm-sub").frequencies
    np.testing.assert_allclose(reference.norm_sub(frequencies), found, atol=1e-9)
    shares = tally.support / N
    passes, p = reference.expectation(mechanism.channel().matrix, shares, 1e-4, 10_000)
    assert 1 < passes < 10_000
    assert reconstruction.gap_of(mechanism.channel().matrix, shares, p) <= 1e-4


def test_the_numpy_pipeline_decodes_as_we_do() -> None:
    sizes = numpy_pipeline.SIZE, numpy_pipeline.SENSITIVE
    mechanism = UnaryEncoding(Domain(range(sizes[0]), sensitive=list(range(sizes[1]))), numpy_pipeline.EPSILON)
    codes = np.random.default_rng(1).integers(0, sizes[0], 200_000)
    tally = mechanism.tally(mechanism.obfuscate_codes(codes, random=SeededRandom(1)))
    clear = np.concatenate([np.zeros(sizes[1], dtype=np.int64), tally.clear])
    found = numpy_pipeline.decoded(tally.support, clear, tally.n - int(clear.sum()))
    ours = estimate(mechanism, tally)
    # Our probabilities of bits are multiples of 2^-16.
    np.testing.assert_allclose(found["frequency"], ours.frequencies, atol=1e-4)
    np.testing.assert_allclose(found["standard_error"], ours.standard_errors, rtol=0.05)


def test_the_fewest_passes_are_found() -> None:
    matrix = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    seen = np.array([0.5, 0.3, 0.2])

    def passes(most: int) -> np.ndarray:
        p = np.full(3, 1 / 3)
        for _ in range(most):
            p = p * (matrix @ (seen / (p @ matrix)))
        return p

    wanted = next(k for k in count(1) if reconstruction.gap_of(matrix, seen, passes(k)) <= 1e-4)
    found = reconstruction.reconstructed(passes, matrix, seen, 1e-4)
    assert wanted <= found["passes"] <= 1.04 * wanted
    assert found["gap"] <= 1e-4
