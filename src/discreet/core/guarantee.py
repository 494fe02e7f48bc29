"""The guarantee of a mechanism: its promised and realised epsilon, and how privacy bounds are rounded for print.

A promise is an upper bound, and rounding to the nearest digit could print it too small. So upper bounds are rounded up,
and lower bounds are rounded down. Both start from the shortest decimal number that stands for a float: from 0.1, and
not from 0.1000000000000000055. There is no other tolerance: a number slightly above 1 is never printed as 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from math import ceil, exp, inf, nextafter
from typing import ClassVar

from discreet.core.domain import Domain
from discreet.core.other_names import OtherNames
from discreet.core.random import WORD_RANGE
from discreet.core.result_table import ResultTable

DIGITS = 4
"""Default number of digits of a promise."""


def rounded_up(number: float, digits: int = DIGITS) -> str:
    """Return a number of at least 0 as text with this many digits, rounded up: a printed bound is never too small.

    Args:
        number: an epsilon, a delta, a chance or a percentage.
        digits: without leading zeros, 1 to 15.

    Example:
        >>> rounded_up(0.0889601), rounded_up(0.0889601, 2), rounded_up(3.0), rounded_up(1.01e-7, 2)
        ('0.08897', '0.089', '3', '1.1e-07')
    """
    return _rounded(number, digits, ROUND_CEILING)


def rounded_down(number: float, digits: int = DIGITS) -> str:
    """Return a number of at least 0 as text with this many digits, rounded down, for lower bounds.

    Example:
        >>> rounded_down(0.0889699), rounded_down(3.0)
        ('0.08896', '3')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, way: str) -> str:
    if number <= 0:
        return "0"
    # Fifteen digits show every decimal number of up to fifteen digits unchanged.
    return f"{float(Context(prec=digits, rounding=way).create_decimal(repr(float(number)))):.15g}"


def largest_posterior(epsilon: float, prior: float = 0.5) -> float:
    """Return the largest posterior probability after a privacy loss of epsilon.

    With a prior of 50% it is e^epsilon / (1 + e^epsilon).

    Args:
        epsilon: the privacy loss, in nats.
        prior: the prior probability, in (0, 1).

    Example:
        >>> round(largest_posterior(2.0), 3), largest_posterior(0.0), largest_posterior(1000.0)
        (0.881, 0.5, 1.0)
        >>> round(largest_posterior(2.0, prior=0.01), 4)
        0.0695
    """
    # e^-epsilon, not e^epsilon: no overflow.
    return 1 / (1 + exp(-epsilon) * (1 - prior) / prior)


def posterior_percent(epsilon: float, prior: float = 0.5, digits: int = 2) -> str:
    """Return `largest_posterior` in percent as text, rounded up; "100" if and only if epsilon is infinite.

    Args:
        epsilon: the privacy loss, in nats.
        prior: the prior probability, in (0, 1).
        digits: digits of the percentage; it has more if it would otherwise be 100.

    Example:
        >>> tuple(map(posterior_percent, (0.2, 5.0, 9.0, 60.0, inf)))
        ('55', '99.4', '99.99', '99.99...', '100')
    """
    share = largest_posterior(epsilon, prior)
    spelled = rounded_up(100 * share, digits)
    if spelled != "100" or epsilon == inf:
        return spelled
    if share > _LARGEST_SHARE:
        return f"{100 * _LARGEST_SHARE:g}..."
    return next(text for digits in (3, 4) if (text := rounded_up(100 * share, digits)) != "100")


def posterior_share(epsilon: float) -> float:
    """Return the largest posterior probability as a number, rounded up as `posterior_percent` does.

    Beyond 99.99% it is `largest_posterior`, or the largest float below 1.
    """
    percent = posterior_percent(epsilon)
    return min(largest_posterior(epsilon), nextafter(1, 0)) if percent.endswith("...") else float(percent) / 100


_MOST_NAMES = 6

LARGE_EPSILON = 4.0
"""Epsilon above which a guarantee is also stated in odds, in nats."""

# Its exponential is still a float.
_LARGEST_EPSILON = 700.0
_LARGEST_FACTOR = 1e15
_LARGEST_SHARE = 0.9999
"""A share beyond which no digits are printed."""


def odds_sentence(epsilon: float) -> str:
    """Return a sentence on how a large epsilon changes the odds of a protected value; empty up to 4 nats.

    Args:
        epsilon: the privacy loss, in nats; may be infinite.
    """
    if epsilon <= LARGE_EPSILON:
        return ""
    if epsilon == inf:
        return "In odds: a suspicion of 1% can become certainty."
    ratio = exp(min(epsilon, _LARGEST_EPSILON))
    factor = f"{ceil(ratio):,}" if ratio < _LARGEST_FACTOR else f"more than {_LARGEST_FACTOR:.0e}"
    return (
        f"In odds: this epsilon can multiply the odds of a protected value by {factor}. A suspicion of 1% can become "
        f"{posterior_of_1_percent(ratio)}."
    )


def posterior_of_1_percent(ratio: float) -> str:
    """Return the posterior probability in percent, as text, if the prior is 1% and the odds grow by a ratio."""
    # 1% is 1 to 99.
    after = ratio / (ratio + 99)
    return f"{rounded_up(100 * after, 3)}%" if after < 0.999 else "more than 99.9%"


@dataclass(frozen=True, slots=True)
class Guarantee(OtherNames):
    """The guarantee of a mechanism: its notion, its promise and its realised epsilon.

    Attributes:
        notion: ``"LDP"`` (every value is sensitive), ``"ULDP"`` (utility-optimized: only X_S is protected) or
            ``"none"``.
        domain: X with its sensitive values X_S; protected outputs Y_P are the blocks.
        promised: epsilon, in nats; None if there is no promise (an explicit channel).
        realised: epsilon of the integers that the sampler uses, in nats; never above ``promised``.
        tags: number of placeholders of a personalized mechanism; else 0.

    Example:
        >>> import discreet as dc
        >>> guarantee = dc.RandomizedResponse(dc.Domain(["yes", "no"]), epsilon=1.0).guarantee
        >>> guarantee.notion, guarantee.promised, round(guarantee.realised, 9)
        ('LDP', 1.0, 1.0)
    """

    other_names: ClassVar[Mapping[str, str]] = {"epsilon": "promised, or realised for the epsilon of the sampler"}

    notion: str
    domain: Domain
    promised: float | None
    realised: float
    tags: int = 0

    @property
    def size(self) -> int:
        """|X|, the number of values of the domain that a guarantee is for."""
        return self.domain.size

    @property
    def sensitive_count(self) -> int:
        """|X_S|, the number of sensitive values that a guarantee protects."""
        return self.domain.sensitive_count

    @property
    def sensitive_names(self) -> str:
        """The names of the sensitive values; if they are many, the first names and the number of the others."""
        codes = self.domain.sensitive_codes
        if self.domain.numbers is not None:
            return "; ".join(self.domain.numbers.spelled_ranges(codes))
        shown = self.domain.names(codes[:_MOST_NAMES])
        more = self.sensitive_count - len(shown)
        return "; ".join(shown) + (f"; and {more} more" if more else "")

    @property
    def not_protected(self) -> str:
        """A sentence on the values that are not protected; empty if every value is protected."""
        rest = self.size - self.sensitive_count
        if self.tags:
            return (
                "A user's values that are neither secret nor sensitive for all are not protected: they may be "
                "reported in clear."
            )
        if rest == 1:
            return "The other value is not protected: it may be reported in clear."
        return f"The other {rest} values are not protected: they may be reported in clear." if rest else ""

    @property
    def brief(self) -> str:
        """A clause without a full stop: which values are protected, and with which epsilon."""
        epsilon, rest = rounded_up(self.realised), self.size - self.sensitive_count
        if self.notion == "none":
            return "No answer is protected: every value is reported in clear"
        if self.tags:
            others = f" and {self.sensitive_count} of {self.size} values" if self.sensitive_count else ""
            return f"Each person's own secret values{others} are protected with epsilon {epsilon}, and no other values"
        if rest:
            return (
                f"{self.sensitive_count:,} of {self.size:,} values are protected with epsilon {epsilon}, and the other "
                f"{rest:,} may be reported in clear"
            )
        return f"Each answer is protected with epsilon {epsilon} ({self.size:,} of {self.size:,} values)"

    def _repr_html_(self) -> str:
        promised = {} if self.promised is None else {"promised epsilon": f"{self.promised:g}"}
        placeholders = {"placeholders": f"{self.tags}"} if self.tags else {}
        counts = {"values": f"{self.size:,}", "sensitive values": f"{self.sensitive_count:,}"}
        facts = {"notion": self.notion, "realised epsilon": f"{self.realised:.12g}", **promised, **counts}
        return ResultTable.of_figures("Guarantee", facts | placeholders, str(self)).html()

    def __str__(self) -> str:
        if self.notion == "none":
            return "No protection: every value is reported in clear."
        odds = odds_sentence(self.realised)
        return f"{self._promise()} {odds}" if odds else self._promise()

    def _promise(self) -> str:
        promised = "" if self.promised is None else f", promised {self.promised:g}"
        realised = f"realised epsilon {self.realised:.12g}{promised}"
        # `odds_sentence` gives the number for larger ones.
        factor = "e^epsilon" + (f" = {rounded_up(exp(self.realised), 3)}" if self.realised <= LARGE_EPSILON else "")
        if self.notion == "LDP":
            return (
                f"epsilon-LDP for all {self.size} values ({realised}): a report changes the odds between any two "
                f"values by at most a factor of {factor}."
            )
        if self.tags:
            return (
                f"Personalized ULDP for every user's own secret values and {self.sensitive_count} values sensitive for "
                f"all, of {self.size} ({realised}; {self.tags} placeholders): a report that one of these can cause "
                f"changes the odds between any two values by at most a factor of {factor}. "
                f"{self.not_protected}"
            )
        return (
            f"(X_S, epsilon)-ULDP for {self.sensitive_count} sensitive of {self.size} values ({realised}; "
            f"X_S = {{{self.sensitive_names}}}): "
            f"a report that a sensitive value can cause changes the odds between any two values by at most a factor "
            f"of {factor}. {self.not_protected}"
        )


_EXACT_DIGITS = 120


def likelihood_ratio(threshold: int, inclusion: Fraction) -> Fraction:
    """Return e^epsilon of a sampler as an exact fraction, from the sampler's integers: 1 + s / ((1 - s) pi)."""
    return 1 + Fraction(threshold, WORD_RANGE - threshold) / inclusion


def logarithm(ratio: Fraction) -> float:
    """Return the natural logarithm of an exact fraction, rounded up to a float: no privacy loss is understated.

    If an epsilon is at least ln(ratio), it is also at least the rounded logarithm.
    """
    if ratio == 1:
        return 0.0
    with localcontext() as context:
        context.prec = _EXACT_DIGITS
        exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
        # The last digits may be off; no logarithm of a fraction but 1 is itself a double.
        exact += abs(exact) * Decimal(10) ** (2 - _EXACT_DIGITS)
        nearest = float(exact)
        return nearest if Decimal(nearest) >= exact else nextafter(nearest, inf)
