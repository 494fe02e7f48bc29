"""Plants known faults, one at a time, in a copy of the sources, and asks the tests to find them.

    python tools/plant_faults.py [words that the fault's name must contain ...]

Prints a table of faults and of the first test that caught each; exits with 1 if one was not caught, or if a fault no
longer fits the sources. The faults lie in tools/faults, a file per room. A test suite that has never seen a fault may
be unable to see any.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from importlib.util import cache_from_source
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

from faults import FAULTS, ROOMS, ROOT, Fault

__all__ = ["FAULTS", "ROOMS", "ROOT", "Copy", "Fault", "main"]
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Fault:
    """A text in one file, which must be there exactly once, and what a tired programmer would have written.

    Files are named from src/discreet; the papers lie beside that.
    """

    name: str
    file: str
    right: str
    wrong: str
    suites: tuple[str, ...]


_PAPERS = "../../papers"

FAULTS = [
    Fault(
        "a standard error is a standard deviation",
        f"{_PAPERS}/results.py",
        "    return stdev(numbers) / sqrt(len(numbers)) if",
        "    return stdev(numbers) if",
        ("tests/papers/test_findings_of_uldp.py",),
    ),
    Fault(
        "a number that is none confirms a finding",
        f"{_PAPERS}/figure.py",
        "self.number >= self.threshold if self.relation",
        "not self.number < self.threshold if self.relation",
        ("tests/papers/test_findings_of_uldp.py",),
    ),
    Fault(
        "of texts in chunks the first chunk is read",
        "core/columns.py",
        "        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column\n",
        "",
        ("tests/property/test_domain_encoding.py",),
    ),
    Fault(
        "every mechanism has users of its own",
        f"{_PAPERS}/cells.py",
        "_generator([_FORMAT, self.data, self.seed, run])",
        "_generator([_FORMAT, self.data, self.mechanism, self.seed, run])",
        ("tests/papers/test_cells.py",),
    ),
    Fault(
        "a plan is written of a mechanism over another domain",
        "io/written_plan.py",
        "        if written.fingerprint != mechanism.fingerprint:\n",
        "        if False:\n",
        ("tests/io/test_written_plans.py",),
    ),
    Fault(
        "texts of pages are markup",
        "pages/rendering.py",
        "autoescape=True",
        "autoescape=False",
        ("tests/pages/test_rendering.py",),
    ),
    Fault(
        "files in a folder of results are replaced unasked",
        "cli/output_files.py",
        "            check_free(path / name, force=force)\n",
        "            check_free(path / name, force=True)\n",
        ("tests/cli/test_risk_options.py", "tests/cli/test_options.py"),
    ),
    Fault(
        "templates of scores are taken in the order of their first rows",
        "io/score_table.py",
        "    places = np.array([order[name] for name in names])[columns]\n",
        "    places = columns\n",
        ("tests/io/test_score_tables.py",),
    ),
    Fault(
        "a store that fails is acknowledged",
        "collector/writer.py",
        "            outcomes, fresh = [STORE] * len(group), 0\n",
        "            fresh = 0\n",
        ("tests/collector/test_intake.py",),
    ),
    Fault(
        "what other processes closed is not looked at",
        "collector/writer.py",
        "            if store.changed():\n                self._catalogue.load(store)\n",
        "            store.changed()\n",
        ("tests/collector/test_intake.py",),
    ),
    Fault(
        "a frame that the collector cannot read for a defect of its own is refused for good",
        "collector/intake.py",
        "        raise Refused(refusals.DEFECT) from None\n",
        '        raise Refused(refusals.no_frame("it cannot be read.")) from None\n',
        ("tests/collector/test_intake.py",),
    ),
    Fault(
        "a frame sent again is stored again",
        "collector/sqlite.py",
        'digest BLOB NOT NULL UNIQUE "',
        'digest BLOB NOT NULL "',
        ("tests/collector/test_intake.py",),
    ),
    Fault(
        "commits are not synchronized",
        "collector/sqlite.py",
        "PRAGMA synchronous = FULL",
        "PRAGMA synchronous = NORMAL",
        ("tests/collector/test_store.py",),
    ),
    Fault(
        "every byte of a slow request wins time",
        "collector/protocol.py",
        "        if self._due is None:\n            self._due = ",
        "        if self._due is None or self._in_head:\n            self._due = ",
        ("tests/collector/test_intake.py",),
    ),
    Fault(
        "reports under one id are compared with the last",
        "collector/first_reports.py",
        "last = joined[np.flatnonzero(first)[-1:]]",
        "last = joined[-1:]",
        ("tests/collector/test_sealing.py",),
    ),
    Fault(
        "ids that meet within a slice are taken for single ones",
        "collector/first_reports.py",
        "            self._cells[within] |= 2\n",
        "",
        ("tests/collector/test_sealing.py",),
    ),
    Fault(
        "ids that meet across slices are taken for single ones",
        "collector/first_reports.py",
        "self._cells[cells] = (self._cells[cells] << 1) | 1",
        "self._cells[cells] = 1",
        ("tests/collector/test_sealing.py",),
    ),
    Fault(
        "a copy begins anew whenever somebody writes",
        "collector/sqlite_files.py",
        "        source.backup(copy)\n",
        "        source.backup(copy, pages=1 << 10, sleep=0.01)\n",
        ("tests/collector/test_store.py",),
    ),
    Fault(
        "records are sorted by their lowest bytes",
        "io/sealing.py",
        "self._rows.add(self._wire.turned(records))",
        "self._rows.add(records)",
        ("tests/collector/test_sealing.py",),
    ),
    Fault(
        "an epoch is sealed while reports still come in",
        "collector/sealing.py",
        "                self._store.close_epoch(key, epoch)\n",
        "                self._store.pending()\n",
        ("tests/collector/test_sealing.py",),
    ),
    Fault(
        "row groups show how reports came",
        "io/sealing.py",
        "for rows in _even(self._rows.batches(), _BATCH):",
        "for rows in self._rows.batches():",
        ("tests/io/test_canonical.py",),
    ),
    Fault(
        "estimates of too few reports",
        "collector/releases.py",
        "        if n < least:\n",
        "        if n < 1:\n",
        ("tests/collector/test_endpoints.py",),
    ),
    Fault(
        "another method shows few further reports",
        "collector/releases.py",
        "if 0 < more < least:",
        "if more < 0:",
        ("tests/collector/test_endpoints.py",),
    ),
    Fault(
        "analysts operate",
        "collector/pages/access.py",
        "if found.role not in _ALLOWED[role]:",
        "if not found.role:",
        ("tests/collector/test_endpoints.py",),
    ),
    Fault(
        "events say whatever they like",
        "collector/logs.py",
        "if not facts.keys() <= FACTS:",
        "if not isinstance(facts, dict):",
        ("tests/collector/test_endpoints.py",),
    ),
    Fault(
        "a collection is rolled back",
        "collector/adding.py",
        "if row.version < highest:",
        "if row.version < 0:",
        ("tests/collector/test_commands.py",),
    ),
    Fault(
        "epochs of strangers fill the table of refusals",
        "collector/intake.py",
        "known = epoch if epoch < entry.collection.epochs.count else NO_EPOCH",
        "known = epoch",
        ("tests/collector/test_intake.py",),
    ),
    Fault(
        "a decoder takes the tally of anybody",
        "mechanisms/decoders.py",
        "return self.decode(refuse_unfit_tally(self.maker, tally))",
        "return self.decode(tally)",
        ("tests/contract/test_tallies.py",),
    ),
    Fault(
        "single reports of strangers are worth something",
        "mechanisms/decoders.py",
        "        checked_tally_of(self.maker, reports)\n        if reports.n",
        "        if reports.n",
        ("tests/core/test_reports_and_tallies.py",),
    ),
    Fault(
        "a tally suffices beside blocks of values in clear",
        "mechanisms/law.py",
        "return self.counts.suffices and not self.clear_blocks",
        "return self.counts.suffices",
        ("tests/core/test_reports_and_tallies.py",),
    ),
    Fault(
        "a translate need not contain its member",
        "mechanisms/paley.py",
        "uniform_below(self.prime - 1, len(members), random).astype(np.int64) + 1",
        "uniform_below(self.prime - 1, len(members), random).astype(np.int64)",
        ("tests/contract/test_promises.py",),
    ),
    Fault(
        "the rows of an explicit channel have a floor",
        "mechanisms/evidence.py",
        "return Evidence(tally, inf, everything,",
        "return Evidence(tally, 1.0, everything,",
        ("tests/estimators/test_likelihood_methods.py",),
    ),
    Fault(
        "another package's mechanism takes the place of one of ours",
        "mechanisms/registry.py",
        "if point.name in self.built_in or point.name in found:",
        "if point.name in found:",
        ("tests/package/test_own_law.py",),
    ),
    Fault(
        "a caller's word overrules a row of another plan",
        "io/rewritten.py",
        "    if ours < len(plans):\n",
        "    if not ours and len(plans):\n",
        ("tests/io/test_rewritten.py",),
    ),
    Fault(
        "kept columns slip against their reports",
        "engines/obfuscation.py",
        "beside.slice(rows)",
        "beside.slice(rows - 1)",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "rows that are left out stay beside the reports",
        "io/missing.py",
        "kept = {name: without(column, rows) for",
        "kept = {name: without(column, rows) if name in nouns else column for",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "the column of values is kept in clear",
        "io/kept_columns.py",
        "clash = sorted({*keep} & {*secret})",
        "clash = sorted(set(keep) - set(keep))",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "a kept cell is missing and nobody says so",
        "io/coded_values.py",
        'for noun in ("user", "kept")',
        'for noun in ("user",)',
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "columns that nobody kept pass for kept ones",
        "io/partitions.py",
        "if public and is_stamped(schema):",
        "if is_stamped(schema):",
        ("tests/engines/test_kept_columns.py",),
    ),
    Fault(
        "floats are cut to whole numbers",
        "io/untyped_arrow.py",
        "(np.trunc(numbers) == numbers) & (",
        "(",
        ("tests/io/test_rewritten.py",),
    ),
    Fault(
        "single precision stands for numbers that it cannot tell apart",
        "io/untyped_arrow.py",
        "16: 1 << 11, 32: 1 << 24",
        "16: 1 << 53, 32: 1 << 53",
        ("tests/io/test_rewritten.py",),
    ),
    Fault(
        "values in clear are passed over under a plan that has none",
        "io/rewritten.py",
        "    if CLEAR in others:\n",
        "    if not others:\n",
        ("tests/io/test_rewritten.py",),
    ),
    Fault(
        "a compressed line of any length is read",
        "io/endings.py",
        "text.readline(longest + 1)",
        "text.readline()",
        ("tests/io/test_compressed.py",),
    ),
    Fault(
        "a stamped file does not say that one of its reports is simulated",
        "engines/stamping.py",
        "yield replace(reports, simulated=found.tally.simulated)",
        "yield replace(reports, simulated=False)",
        ("tests/engines/test_stamping.py",),
    ),
    Fault(
        "compiled kernels are read from where everybody may write",
        "kernels/caching.py",
        "and not found.st_mode & stat.S_IWOTH",
        "and found.st_mode",
        ("tests/kernels/test_caching.py",),
    ),
    Fault(
        "a folder of temporary kernels is trusted though a stranger made the one above",
        "kernels/caching.py",
        "and all(one.st_uid in owners and (",
        "and all((",
        ("tests/kernels/test_caching.py",),
    ),
    Fault(
        "the last bit is never set by noise",
        "mechanisms/packed_bits.py",
        "rows[:, -1] &= np.uint8((1 << self.size % 8) - 1)",
        "rows[:, -1] &= np.uint8((1 << (self.size % 8 - 1)) - 1)",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "one's own bit is never set for sure",
        "mechanisms/packed_bits.py",
        "bit = (members >= 0).astype(np.uint8) <<",
        "bit = (members > len(members) + self.size).astype(np.uint8) <<",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "the ladder starts at the wrong end",
        "mechanisms/bits.py",
        "if self.threshold >> digit & 1 else",
        "if self.threshold >> (self.depth - 1 - digit) & 1 else",
        ("tests/property/test_coins.py",),
    ),
    Fault(
        "True is a number",
        "core/checks.py",
        "_NO_NUMBERS = (bool, np.timedelta64)",
        "_NO_NUMBERS = (np.timedelta64,)",
        ("tests/core/test_checks.py",),
    ),
    Fault(
        "a bisection asks once less",
        "core/searching.py",
        "for _ in range(halvings):\n        middle = (low + high) / 2\n        closer",
        "for _ in range(halvings - 1):\n        middle = (low + high) / 2\n        closer",
        ("tests/core/test_searching.py",),
    ),
    Fault(
        "epsilon is 10% more than promised",
        "core/exact.py",
        "value = Decimal(epsilon).exp()",
        "value = (Decimal(epsilon) * Decimal('1.1')).exp()",
        ("tests/contract/test_channel.py",),
    ),
    Fault(
        "s is rounded up, beyond the promise",
        "core/exact.py",
        "return min(threshold, WORD_RANGE - 1)",
        "return min(threshold + 1, WORD_RANGE - 1)",
        ("tests/contract/test_channel.py",),
    ),
    Fault(
        "truth is told 10% too often by the sampler alone",
        "mechanisms/obfuscation.py",
        "truth = toss(len(codes), mechanism.threshold, random)",
        "truth = toss(len(codes), min(mechanism.threshold * 11 // 10, 1 << 64), random)",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "pi is used for rho in decoding",
        "accuracy/linear_decoder.py",
        "support - self.conditional_inclusion * blocks",
        "support - self.inclusion * blocks",
        ("tests/contract/test_errors.py",),
    ),
    Fault(
        "the influence of blocks of the larger size is left out",
        "accuracy/design.py",
        "for k in self.mixture.sizes}\n        sensitive = [inside",
        "for k in self.mixture.sizes[:1]}\n        sensitive = [inside",
        ("tests/contract/test_influence.py",),
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
        "contrast is e^eps instead of e^eps - 1",
        "mechanisms/law.py",
        "return by_group(tuple(odds / pi for pi in self.law.inclusions), self.law.groups)",
        "return by_group(tuple(1 + odds / pi for pi in self.law.inclusions), self.law.groups)",
        ("tests/contract/test_channel.py",),
    ),
    Fault(
        "the noise bucket follows from the hash function",
        "mechanisms/hashing.py",
        "noise = uniform_below(self.buckets, n, random, lane=lane)",
        "noise = alpha % buckets",
        ("tests/statistical/test_given_a_member.py",),
    ),
    Fault(
        "the noise bucket follows from the hashed value",
        "mechanisms/hashing.py",
        "noise = uniform_below(self.buckets, n, random, lane=lane)",
        "noise = z % buckets",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "the hash family is taken to collide with 1/g",
        "mechanisms/hashing.py",
        "return Fraction(full * (self.prime + over - self.buckets), self.prime * (self.prime - 1))",
        "return Fraction(1, self.buckets) if full * (self.prime + over) else Fraction(0)",
        ("tests/contract/test_errors.py",),
    ),
    Fault(
        "a wanted member is not put into its subset",
        "mechanisms/subsets.py",
        "wanted = ((members ^ victim) & ~(members >> 63)) ^ victim",
        "wanted = victim",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "the last one taken gives way, not a random one",
        "mechanisms/subsets.py",
        "victim = listed[uniform_below(count, len(members), random).astype(np.int64), rows]",
        "victim = listed[np.full(len(members), count - 1), rows]",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "Floyd's method without its replacement",
        "mechanisms/subsets.py",
        "drawn = uniform_below(last + 1, n, random).astype(np.int64)",
        "drawn = uniform_below(last if last > 1 else last + 1, n, random).astype(np.int64)",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "columns that miss the member are kept",
        "mechanisms/hadamard.py",
        'out["column"][:] = drawn ^ (lowest * misses)',
        'out["column"][:] = drawn ^ (lowest * misses * np.uint64(0))',
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "a value goes in clear with the probability of noise",
        "mechanisms/obfuscation.py",
        "told = truth & (slot < 0)",
        "told = ~truth & (slot < 0)",
        ("tests/statistical/test_draws_follow_the_paper.py",),
    ),
    Fault(
        "sensitive values go in clear",
        "mechanisms/obfuscation.py",
        "told = truth & (slot < 0)",
        "told = truth & (slot <= 0)",
        ("tests/contract/test_designs.py",),
    ),
    Fault(
        "rejected words are kept",
        "core/random.py",
        "while n and drawn.max() >= bound:",
        "drawn %= lane(bound)\n    while n and drawn.max() >= bound:",
        ("tests/property/test_coins.py",),
    ),
    Fault(
        "a coin is true once too often",
        "core/random.py",
        "return fresh_words(random, n) < np.uint64(threshold)",
        "return fresh_words(random, n) <= np.uint64(threshold)",
        ("tests/property/test_coins.py",),
    ),
    Fault(
        "the key is not renewed after a fork",
        "core/random.py",
        "if key is None or key.process != process or",
        "if key is None or",
        ("tests/statistical/test_sources.py",),
    ),
    Fault(
        "all threads begin with one key",
        "core/random.py",
        "key = self._local.key = _Key(process)",
        "key = self._local.key = _Key(process)\n"
        '                self._first = getattr(self, "_first", None) or os.urandom(32)\n'
        "                key.stream = _stream(self._first)",
        ("tests/statistical/test_sources.py",),
    ),
    Fault(
        "a secure key serves for ever",
        "core/random.py",
        "or key.calls == 0 or key.bytes == 0:",
        "or key.bytes < 0:",
        ("tests/statistical/test_sources.py",),
    ),
    Fault(
        "words of any type will do",
        "core/random.py",
        "words.dtype != _WORD or",
        "",
        ("tests/property/test_foreign_sources.py",),
    ),
    Fault(
        "a source may begin again",
        "core/random.py",
        "            self._seen.check(words)",
        "            pass",
        ("tests/property/test_foreign_sources.py",),
    ),
    Fault(
        "the builder of a common mechanism is believed",
        "mechanisms/personalized.py",
        "if common.domain != extended or common.epsilon != epsilon:",
        "if common.domain is None:",
        ("tests/contract/test_personalized.py",),
    ),
    Fault(
        "a logarithm is rounded to the nearest",
        "core/exact.py",
        "return nearest if Decimal(nearest) >= exact else nextafter(nearest, inf)",
        "return nearest",
        ("tests/contract/test_channel.py",),
    ),
    Fault(
        "a law speaks for the plan",
        "mechanisms/law.py",
        '"law": self.law.describe(),',
        "**self.law.describe(),",
        ("tests/contract/test_golden.py",),
    ),
    Fault(
        "an explicit channel cuts its shares one word late",
        "mechanisms/channel.py",
        "np.cumsum(row[possible])[:-1] - 1",
        "np.cumsum(row[possible])[:-1]",
        ("tests/contract/test_explicit_channel.py",),
    ),
    Fault(
        "strangers are let in",
        "core/reports.py",
        "if len(fingerprints) > 1:",
        "if len(fingerprints) > 99:",
        ("tests/contract/test_personalized.py",),
    ),
    Fault(
        "the fingerprint forgets epsilon and s",
        "mechanisms/law.py",
        '            "epsilon": self.epsilon.hex(),\n            "truth": self.threshold,\n',
        "",
        ("tests/contract/test_golden.py",),
    ),
    Fault(
        "the last value in clear is not counted",
        "mechanisms/consistency.py",
        "return np.bincount(~slots[codes], minlength=domain.clear_count).astype(np.int64, copy=False)",
        "return np.append(np.bincount(~slots[codes], minlength=domain.clear_count)[:-1], 0)",
        ("tests/contract/test_channel.py",),
    ),
    Fault(
        "the loss of a clear value forgets what its silence is worth",
        "accuracy/linear_decoder.py",
        "return self._summed(self.worth[2] ** 2)",
        "return 0.0",
        ("tests/contract/test_designs.py",),
    ),
    Fault(
        "an odd part takes its neighbour's blocks",
        "core/reports.py",
        "slice(start - before, stop - before - inside)",
        "slice(start - before, stop - before)",
        ("tests/contract/test_promises.py",),
    ),
    Fault(
        "a refusal quotes the value",
        "core/domain.py",
        "columns.outside_message(len(outside), len(codes), int(outside[0]))",
        'f"{len(outside)} values are not in the domain: {list(values)}."',
        ("tests/property/test_hostile.py",),
    ),
    Fault(
        "a user's secret value goes in clear",
        "mechanisms/secret_tags.py",
        "return np.where(keys[place] == wanted, bots[place], codes)",
        "return np.where(keys[place] == wanted, codes, codes)",
        ("tests/contract/test_personalized.py",),
    ),
    Fault(
        "bots are no sensitive values",
        "core/domain.py",
        "np.append(self._mask, np.ones(len(space.tags), dtype=np.bool_))",
        "np.append(self._mask, np.zeros(len(space.tags), dtype=np.bool_))",
        ("tests/contract/test_golden.py",),
    ),
    Fault(
        "one user's secrets are everybody's",
        "mechanisms/secret_tags.py",
        "return self._replace(owners * personalized.domain.size + checked, checked)",
        "return self._replace(np.maximum(owners, 0) * personalized.domain.size + checked, checked)",
        ("tests/contract/test_personalized.py",),
    ),
    Fault(
        "two sizes with a member are drawn as noise draws them",
        "mechanisms/designs.py",
        "shrinks = ~((truth & among_truth) | (~truth & among_noise))",
        "shrinks = ~among_noise",
        ("tests/contract/test_designs.py",),
    ),
    Fault(
        "a member may lose its place",
        "mechanisms/designs.py",
        "loser = ((beside ^ anywhere) & ~(members >> 63)) ^ anywhere",
        "loser = anywhere",
        ("tests/contract/test_designs.py",),
    ),
    Fault(
        "secret tags can be copied",
        "mechanisms/secret_tags.py",
        "__reduce__ = __getstate__ = __copy__ = __deepcopy__ = __setattr__",
        "__setattr__",
        ("tests/property/test_secret_tags.py",),
    ),
    Fault(
        "bots are shared with what is sensitive for everybody",
        "mechanisms/personalized.py",
        "return (self.domain.clear_codes,) * len(self.tags)",
        "return (np.arange(self.domain.size),) * len(self.tags)",
        ("tests/estimators/test_tags.py",),
    ),
    Fault(
        "what a report weighs is ignored",
        "planning/choosing.py",
        "limit = least(candidates, worst=worst).error(worst=worst) * (1 + within) * SAME",
        "limit = least(candidates, worst=worst).error(worst=worst) * SAME",
        ("tests/planning/test_compare.py",),
    ),
    Fault(
        "intervals of what is behind bots leave the bots' errors out",
        "estimators/tags.py",
        "            squares[share.codes] += (deviation * share.weights) ** 2",
        "            squares[share.codes] += 0 * deviation",
        ("tests/estimators/test_tags.py",),
    ),
    Fault(
        "binomial limits are mid-p's, which miss too often at small counts",
        "accuracy/binomial_limits.py",
        "weight = 0.5 + 0.5 * np.exp(-np.minimum(t, n - t) / 4)",
        "weight = np.full(len(t), 0.5)",
        ("tests/accuracy/test_confidence_limits.py",),
    ),
    Fault(
        "a threshold's errors are stated at the frequencies that passed it",
        "estimators/methods.py",
        "likely, _ = projection(start.linear, 1 / start.safe_variance)",
        "likely = np.maximum(frequencies, 0)",
        ("tests/estimators/test_uncertainty.py",),
    ),
    Fault(
        "one-step moments take the estimate's reports for those of the value",
        "estimators/one_step.py",
        "others = (whole - f * own) / np.maximum(1 - f, 1 / self.n)",
        "others = whole",
        ("tests/estimators/test_one_step.py",),
    ),
    Fault(
        "limits are not corrected for skewness",
        "accuracy/skewed_limits.py",
        "_ROUNDS = 4",
        "_ROUNDS = 0",
        ("tests/accuracy/test_confidence_limits.py",),
    ),
    Fault(
        "no method contradicts the reports",
        "core/stated_intervals.py",
        "        if not len(where):\n",
        "        if len(where):\n",
        ("tests/core/test_estimate.py",),
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
    Fault(
        "stated covariances are too small by a report",
        "mechanisms/covariances.py",
        "core[np.ix_(used, used)], 1 / (tally.n - 1), counted)",
        "core[np.ix_(used, used)], 1 / tally.n, counted)",
        ("tests/estimators/test_covariances.py",),
    ),
    Fault(
        "sample covariances are too small by a report",
        "core/sample_covariance.py",
        "return found / (self.n * (self.n - 1))",
        "return found / (self.n * self.n)",
        ("tests/estimators/test_covariances.py",),
    ),
    Fault(
        "covariances forget what a pool leaves",
        "mechanisms/covariances.py",
        "_plausible(domain, linear)) if numbers.pool_bias else None",
        "_plausible(domain, linear)) if not numbers.pool_bias else None",
        ("tests/estimators/test_covariances.py",),
    ),
    Fault(
        "a marginal has the errors of independent values",
        "core/covariance.py",
        "return self._of_sums(self.diagonal, self.factors)",
        "return self._of_sums(self.diagonal, np.zeros_like(self.factors))",
        ("tests/core/test_functionals.py",),
    ),
    Fault(
        "a ratio has another interval",
        "core/ratios.py",
        "top * bottom - z * z * across",
        "top * bottom + z * z * across",
        ("tests/core/test_functionals.py",),
    ),
    Fault(
        "a set of values is taken to be counted without noise",
        "mechanisms/covariances.py",
        "noise = 1 / numbers.truth**2, numbers.noisy * numbers.inclusion",
        "noise = 1 / numbers.truth**2, 0 * numbers.inclusion",
        ("tests/core/test_functionals.py",),
    ),
    Fault(
        "false discoveries are counted each by itself",
        "core/significance.py",
        "lambda count: count * rate / size",
        "lambda count: rate",
        ("tests/core/test_significance.py",),
    ),
    Fault(
        "a value that nobody told is known without error",
        "estimators/linear_start.py",
        "variance[rows] = np.maximum(plausible, variance[rows])",
        "variance[rows] = variance[rows]",
        ("tests/estimators/test_uncertainty.py",),
    ),
    Fault(
        "the worst case counts every bot once",
        "estimators/tags.py",
        "return 2 * float(sum(abs(mass)",
        "return float(sum(abs(mass)",
        ("tests/estimators/test_tags.py",),
    ),
    Fault(
        "the truth is told as the mean of the values' promises allows",
        "mechanisms/numbers.py",
        "return min(truth_threshold(epsilon, pi) for epsilon, pi in zip(promises, law.inclusions, strict=True))",
        "each = [truth_threshold(epsilon, pi) for epsilon, pi in zip(promises, law.inclusions, strict=True)]\n"
        "    return sum(each) // len(each)",
        ("tests/contract/test_channel.py",),
    ),
    Fault(
        "the digits of every bit's own threshold are inverted",
        "mechanisms/weighted_bits.py",
        "& np.uint64(1)).astype(np.bool_)",
        "& np.uint64(1)) == 0",
        ("tests/statistical/test_given_a_member.py",),
    ),
    Fault(
        "values are promised what their neighbours are",
        "core/epsilons.py",
        "return cls(tuple(different), sealed(groups))",
        "return cls(tuple(different), sealed(np.roll(groups, 1)))",
        ("tests/contract/test_golden.py",),
    ),
    Fault(
        "a level's symbols are drawn as if all weights were the same",
        "mechanisms/weighted_singletons.py",
        "stretches = [n * weight for n, weight in zip(counts, self.weights, strict=True)]",
        "stretches = [n * (self.total // self.size) for n in counts]",
        ("tests/statistical/test_given_a_member.py",),
    ),
    Fault(
        "the likelihood takes the largest contrast for every value",
        "mechanisms/evidence.py",
        "own / largest if isinstance(own, np.ndarray) else None,",
        "None,",
        ("tests/contract/test_golden.py",),
    ),
    Fault(
        "ties find the right user for sure",
        "risk/scores/scores.py",
        "np.clip((k - greater) / ties, 0.0, 1.0)",
        "np.clip(k - greater, 0.0, 1.0)",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "users who share nothing with a probe are not counted as ties",
        "kernels/traces/scoring.py",
        "ties[probe] = equal + rest * (floor == own)",
        "ties[probe] = equal",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "the best of several attacks is judged as if it were the only one",
        "risk/attacks/strongest.py",
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
        "return self.success.high if self.bounds is None",
        "return self.success.value if self.bounds is None",
        ("tests/risk/test_assessment.py",),
    ),
    Fault(
        "ranks are judged by the law that was fitted to them",
        "risk/scores/ranks.py",
        "spread[~held].sum(axis=0)",
        "spread.sum(axis=0) + 1000 * spread[held].sum(axis=0)",
        ("tests/risk/scores/test_ranks.py",),
    ),
    Fault(
        "a probe's spread is taken for what it would be alone",
        "risk/scores/variational.py",
        "spread = max(_variance(logs - levels / (users * mean), own), _variance(logs, own))",
        "spread = _variance(logs - levels / (users * mean), own)",
        ("tests/risk/scores/test_pse.py",),
    ),
    Fault(
        "a narrow block wraps where a count passes its type",
        "engines/spark/vectors.py",
        "part = part.astype(np.min_scalar_type(int(part.max())))",
        "part = part.astype(np.min_scalar_type(int(part.mean())))",
        ("tests/engines/test_vectors.py",),
    ),
    Fault(
        "rows of another plan are counted on the cluster",
        "engines/spark/frames.py",
        "    if strangers:\n",
        "    if strangers == batch.num_rows + 1:\n",
        ("tests/engines/test_spark_tallies.py",),
    ),
    Fault(
        "every executor draws the words of its driver",
        "engines/spark/obfuscating.py",
        "        random = _random(seed)\n",
        "        random = SeededRandom(1)\n",
        ("tests/engines/test_spark_tallies.py",),
    ),
    Fault(
        "a frame that is used twice is drawn twice",
        "engines/spark/obfuscating.py",
        "return drawn.checkpoint() if _has_folder(frame.sparkSession) else drawn.localCheckpoint()",
        "return drawn",
        ("tests/engines/test_spark_tallies.py",),
    ),
    Fault(
        "blocks that came often count once on the cluster",
        "engines/spark/likelihood.py",
        "often = 1.0 if matrix.multiplicity is None else matrix.multiplicity",
        "often = 1.0",
        ("tests/engines/test_spark_likelihood.py",),
    ),
    Fault(
        "a damaged row group is counted",
        "io/seals.py",
        "if left or found != self.sums[place]:",
        "if left:",
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "a damaged footer is believed",
        "io/seals.py",
        "if seal.footer != found or seal.ends[-1] != begin:",
        "if seal.ends[-1] != begin:",
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "pages are read without their checksums",
        "io/stored.py",
        'given["page_checksum_verification"] = table.seal is None',
        'given["page_checksum_verification"] = False',
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "a row group that comes to nothing is not missed",
        "io/stored.py",
        "if done != table.rows[group]:",
        "if done > table.rows[group]:",
        ("tests/io/test_damage.py",),
    ),
    Fault(
        "a file that was replaced is read",
        "io/stored.py",
        "if FileState.of(path) != self:",
        "if FileState.of(path).size < 0:",
        ("tests/io/test_changing_files.py",),
    ),
    Fault(
        "another machine reads another file",
        "io/partitions.py",
        "if whole.content != content:",
        "if whole.content[0] < 0:",
        ("tests/io/test_changing_files.py",),
    ),
    Fault(
        "a mask chooses the blocks of other reports",
        "core/reports.py",
        "self.n else (rows - places)[~chosen]",
        "self.n else places[~chosen]",
        ("tests/core/test_reports_as_tables.py",),
    ),
    Fault(
        "numbers that do not fit into a column of reports are cut",
        "core/report_table.py",
        "dense.min() < 0 or dense.max() > largest",
        "dense.min() > dense.max() > largest",
        ("tests/core/test_reports_as_tables.py",),
    ),
    Fault(
        "labels that few people hold get into a proposed plan",
        "io/column_labels.py",
        "if count >= least))",
        "if count))",
        ("tests/cli/test_init_verb.py",),
    ),
    Fault(
        "names of people are proposed as labels",
        "io/column_labels.py",
        "    if 2 * len(counts) > rows:\n",
        "    if len(counts) > rows:\n",
        ("tests/cli/test_init_verb.py",),
    ),
    Fault(
        "bad rows are left out where none may be",
        "io/partitions.py",
        "sift_arrow(self.mechanism, table) if sift else",
        "sift_arrow(self.mechanism, table) if True else",
        ("tests/engines/test_local_engine.py",),
    ),
    Fault(
        "copies of a file count again",
        "io/folders.py",
        "    if alike:\n",
        "    if alike and not alike[0]:\n",
        ("tests/io/test_folders.py",),
    ),
    Fault(
        "a link to a folder is passed over",
        "io/folders.py",
        "        else:\n            raise DataError(\n",
        "        elif not entry.name:\n            raise DataError(\n",
        ("tests/io/test_folders.py",),
    ),
    Fault(
        "files that a log has removed are counted",
        "io/folders.py",
        "[name for name in _LOGS if os.path.lexists(folder / name)]",
        "[name for name in _LOGS if os.path.lexists(folder / name / name)]",
        ("tests/io/test_folders.py",),
    ),
    Fault(
        "a manifest's digests are not compared",
        "io/manifest.py",
        "digest(path) == entry.sha256",
        "len(digest(path)) == len(entry.sha256)",
        ("tests/io/test_manifest.py",),
    ),
    Fault(
        "the second of two writers replaces the first",
        "io/atomic.py",
        "            _put(beside, target)\n",
        "            beside.replace(target)\n",
        ("tests/io/test_writing.py",),
    ),
    Fault(
        "a new file has its name before it is on the disk",
        "io/atomic.py",
        "        _sync(beside)\n",
        "        beside.stat()\n",
        ("tests/io/test_writing.py",),
    ),
    Fault(
        "a law is made of a description that is not its own",
        "mechanisms/registry.py",
        "    if not is_own:\n",
        "    if not made:\n",
        ("tests/frames",),
    ),
    Fault(
        "groups beyond their numbers are counted",
        "mechanisms/block_law.py",
        "    if groups.max() >= len(numbers):",
        "    if groups.max() < 0:",
        ("tests/frames",),
    ),
    Fault(
        "a sampler that always tells the truth is used",
        "io/sampler.py",
        "_is_int(self.truth, 1, WORD_RANGE - 1)",
        "_is_int(self.truth, 1, WORD_RANGE)",
        ("tests/frames",),
    ),
    Fault(
        "ranges of sensitive codes touch",
        "io/sampler.py",
        "_is_int(start, last + 1, size)",
        "_is_int(start, max(last, 0), size)",
        ("tests/frames",),
    ),
    Fault(
        "the law of a sampler is over other codes",
        "io/sampler.py",
        "        if law.size != count:",
        "        if law.size < count:",
        ("tests/frames",),
    ),
    Fault(
        "a sampler's epsilon is that of one group",
        "io/sampler.py",
        "return max(logarithm(likelihood_ratio",
        "return min(logarithm(likelihood_ratio",
        ("tests/frames",),
    ),
    Fault(
        "the last code of a range is not sensitive",
        "io/sampler.py",
        "(codes < self._stops[place])",
        "(codes < self._stops[place] - 1)",
        ("tests/frames",),
    ),
    Fault(
        "bytes behind a record are not looked at",
        "io/records.py",
        "        refuse_rows(every, self._is_dirty(records, told), _PADDING)\n",
        "",
        ("tests/frames",),
    ),
    Fault(
        "the place of a value in clear may hold anything",
        "io/records.py",
        "            return ~told & records[:, 1 : self._block_at].any(axis=1)",
        "            return ~told & records[:, 1:1].any(axis=1)",
        ("tests/frames",),
    ),
    Fault(
        "a record of any kind is a block",
        "io/records.py",
        "~(told | (kinds == BLOCK))",
        "~(told | (kinds >= BLOCK))",
        ("tests/frames",),
    ),
    Fault(
        "records have a byte more than the page says",
        "io/records.py",
        "return max(self._block_end, 1 + self._clear_bytes)",
        "return 1 + max(self._block_end, 1 + self._clear_bytes)",
        ("tests/frames",),
    ),
    Fault(
        "an id may come twice in a frame",
        "io/frames.py",
        "    if (halves[1:] != halves[:-1]).all():",
        "    if (halves[1:] != halves[:-1]).any():",
        ("tests/frames",),
    ),
    Fault(
        "bytes behind a frame are dropped",
        "io/frames.py",
        "        if len(data) != wanted:",
        "        if len(data) < wanted:",
        ("tests/frames",),
    ),
    Fault(
        "a frame may have any number of records",
        "io/frames.py",
        "    if not 1 <= n <= MOST_REPORTS:",
        "    if n > 1 << 20:",
        ("tests/frames",),
    ),
    Fault(
        "a frame as JSON may say something twice",
        "io/frames.py",
        ", object_pairs_hook=once)",
        ")",
        ("tests/frames",),
    ),
    Fault(
        "groups of few people are estimated all the same",
        "core/grouping.py",
        "if people >= self.minimum]",
        "if people >= 1]",
        ("tests/estimators/test_groups.py",),
    ),
    Fault(
        "differences are made of limits that are clipped to [0, 1]",
        "estimators/comparison.py",
        "low, high = self._estimate.limits(level)",
        "low, high = self._estimate.interval(level)",
        ("tests/estimators/test_comparison.py",),
    ),
    Fault(
        "the variance of a weighted estimate is that of equal weights",
        "estimators/strata.py",
        "parts = counts.weights, [(factor, one)",
        "parts = counts.weights, [(1.0, counts.weights)] or [(factor, one)",
        ("tests/estimators/test_groups.py",),
    ),
    Fault(
        "counts of eight bits overflow in a large group",
        "kernels/blocks/grouped.py",
        "        if added[group] == _MOST:",
        "        if added[group] == _MOST and i < 0:",
        ("tests/kernels/test_grouping.py",),
    ),
    Fault(
        "blocks of both sizes are counted as one in groups",
        "mechanisms/designs.py",
        "2 * groups + (listed[:, -1] != self.size)",
        "2 * groups + (listed[:, -1] > self.size)",
        ("tests/contract",),
    ),
    *(Fault(*fault) for fault in device_faults.FAULTS),
]


class Copy:
    """The package and its tests in a folder of their own: faults meet the same ones, whoever edits the sources."""

    def __init__(self, folder: Path) -> None:
        for name in ("src", "papers", "tests", "js", "tools", "examples"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        self._folder = folder
        self._variables = {**os.environ, "PYTHONPATH": str(folder / "src")}
        self._variables.pop("PYTHONDONTWRITEBYTECODE", None)
        where = [sys.executable, "-c", "import discreet.core.random as module; print(module.__file__)"]
        given: dict[str, Any] = {"env": self._variables, "cwd": folder, "capture_output": True, "text": True}
        imported = subprocess.run(where, check=True, **given).stdout.strip()
        if not Path(imported).resolve().is_relative_to(folder.resolve()):
            raise SystemExit(f"the copy is not what gets imported: {imported}")
        self._given = given

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests until the first failure; return pytest's exit code and the failing test."""
        options = ["--no-header", "-p", "no:randomly", "--maxfail=1", "-rfE", "--tb=no", "-n", "0"]
        done = subprocess.run([sys.executable, "-m", "pytest", *options, *tests], check=False, **self._given)
        failed = re.findall(r"^FAILED (.+?)(?: - |$)", done.stdout, flags=re.MULTILINE)
        return done.returncode, failed[0] if failed else ""

    def caught(self, fault: Fault) -> tuple[bool, str]:
        """Plant one fault, run its tests, take it out again; return whether they saw it, and which one did."""
        path = self._folder / "src" / "discreet" / fault.file
        text = path.read_text()
        if text.count(fault.right) != 1:
            return False, "DOES NOT FIT THE SOURCES"
        self._write(path, text.replace(fault.right, fault.wrong))
        try:
            code, test = self.run(fault.suites)
        finally:
            self._write(path, text)
        # 1 is "tests failed", 2 is "stopped at the first failure"; what cannot be imported fails no test.
        seen = code in {1, 2} and "::" in test
        return seen, test if seen else f"NOT CAUGHT (pytest ended with {code})"

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Write a source, and drop what was compiled of it: that is recognized by whole seconds and by its size."""
        path.write_text(text)
        Path(cache_from_source(str(path))).unlink(missing_ok=True)


def main(wanted: list[str]) -> int:
    """Plant every fault whose name contains all of ``wanted``; then see that what caught them passes without any."""
    chosen = [fault for fault in FAULTS if all(word in fault.name for word in wanted)]
    with ExitStack() as folders:
        copies: Queue[Copy] = Queue()
        for _ in range(min(len(chosen), os.cpu_count() or 1)):
            copies.put(Copy(Path(folders.enter_context(TemporaryDirectory()))))

        def tried(fault: Fault) -> tuple[bool, str]:
            copy = copies.get()
            try:
                return copy.caught(fault)
            finally:
                copies.put(copy)

        good, caught_by = bool(chosen), []
        with ThreadPoolExecutor(max(1, copies.qsize())) as pool:
            for fault, (seen, said) in zip(chosen, pool.map(tried, chosen), strict=True):
                good &= seen
                caught_by += [said] if seen else []
                print(f"{'ok ' if seen else 'BAD'} | {fault.name:<60} | {said}", flush=True)
        code, test = copies.get().run(caught_by) if caught_by else (0, "")
        print(f"{'BAD' if code else 'ok '} | {'(no fault)':<60} | {test or 'all of these tests pass'}", flush=True)
    return 0 if good and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
