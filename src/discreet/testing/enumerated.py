"""Checks without any sampling: the block law, the promise, the estimate and its errors, by enumeration."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from discreet.arrays import FloatArray
from discreet.mechanisms import BlockMechanism
from discreet.mechanisms.enumeration import Enumeration
from discreet.testing.broken import hold, no_fault
from discreet.testing.outputs import spell_out

_DIGITS = 60
_PEOPLE = 57


def blocks_are_written_as_the_columns_say(mechanism: BlockMechanism) -> None:
    """The alphabet lists every block once, with probabilities that add up to 1, in the columns that the law names."""
    law = mechanism.law
    hold(law.size == max(mechanism.domain.sensitive_count, 1), f"the law must be over X_S, got size {law.size}.")
    no_fault(Enumeration(law).form_faults())


def inclusions_equal_enumeration(mechanism: BlockMechanism) -> None:
    """Pi and rho are those of the alphabet, exactly; rho only where nothing public was drawn for all reports."""
    no_fault(Enumeration(mechanism.law).number_faults())


def channel_equals_enumeration(mechanism: BlockMechanism) -> None:
    """Every row of the spelled-out channel adds up to 1, and `channel` is that channel."""
    outputs = spell_out(mechanism)
    hold(
        bool((outputs.numerators.sum(axis=1) == outputs.denominator).all()),
        "the probabilities of a value's reports must add up to 1: a block law is missing blocks, or has too many.",
    )
    if not mechanism.clear_blocks:
        off = abs(mechanism.channel().matrix - outputs.matrix)
        same = bool((off <= 1e-12 * outputs.matrix).all())
        hold(same, f"channel() must be what truth and noise make of the law, got one that is {off.max():.2g} off.")


def epsilon_is_kept(mechanism: BlockMechanism) -> None:
    """No report makes a sensitive value more than e^epsilon times likelier than any other; others go in clear.

    From the sampler's integers, with 60 digits; the guarantee states what is realised, never less.
    """
    outputs, worst = spell_out(mechanism), Fraction(1)
    least = outputs.numerators.min(axis=0)
    for code in mechanism.domain.sensitive_codes:
        own, promised = outputs.numerators[code], mechanism.promised_to(int(code))
        caused = own > 0
        hold(bool((least[caused] > 0).all()), f"every value must be able to cause what value {code} causes.")
        ratio = max(Fraction(a, b) for a, b in zip(own[caused], least[caused], strict=True))
        with localcontext() as context:
            context.prec = _DIGITS
            hold(
                _decimal(ratio) <= Decimal(promised).exp(),
                f"a report must make value {code} at most e^{promised!r} times likelier, got {float(ratio)!r} times.",
            )
        worst = max(worst, ratio)
    _check_guarantee(mechanism, worst)
    invertible = ~(outputs.numerators[mechanism.domain.sensitive_codes] > 0).any(axis=0)
    told = (outputs.numerators[:, invertible] > 0).sum(axis=0)
    hold(bool((told == 1).all()), "what no sensitive value causes must come from one value only.")


def _check_guarantee(mechanism: BlockMechanism, worst: Fraction) -> None:
    guarantee = mechanism.guarantee
    with localcontext() as context:
        context.prec = _DIGITS
        exact = _decimal(worst).ln()
    understated = mechanism.domain.sensitive_count > 0 and Decimal(guarantee.realised) < exact
    hold(not understated, f"the guarantee must not state less than {exact:.17g}, got {guarantee.realised!r}.")
    stated = guarantee.promised is None or exact * (1 - Decimal("1e-12")) <= Decimal(guarantee.realised) <= Decimal(
        guarantee.promised
    )
    hold(stated, f"the guarantee must state {exact:.17g} and promise no less, got {guarantee.realised!r}.")


def _decimal(ratio: Fraction) -> Decimal:
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


def estimate_is_unbiased(mechanism: BlockMechanism) -> None:
    """For every true value, the linear estimate from one report is that value on average."""
    outputs = spell_out(mechanism)
    off = abs(outputs.matrix @ outputs.worths - outputs.aim)
    room = 1e-11 * (1 + outputs.matrix @ abs(outputs.worths))
    hold(bool((off <= room).all()), f"the linear estimate must be unbiased, got a bias of {off.max():.2g}.")


def worths_keep_their_range(mechanism: BlockMechanism) -> None:
    """No report is worth less or more to an estimate than the stated range, whose ends are worths of some."""
    worths = spell_out(mechanism).worths
    for name, stated, found in zip(
        ("least", "largest"), mechanism.decoder.worth_range, (worths.min(axis=0), worths.max(axis=0)), strict=True
    ):
        off = abs(stated - found)
        exact = bool((off <= 1e-11 * (1 + abs(worths).max())).all())
        hold(exact, f"worth_range must state the {name} worth of any report, it is {off.max():.2g} off.")


def errors_equal_enumeration(mechanism: BlockMechanism) -> None:
    """Stated errors are those of the enumerated reports, for several distributions; the worst case exceeds them all.

    Not where something public was drawn for all reports: errors are then means over such draws.
    """
    outputs, n = spell_out(mechanism), _PEOPLE
    worst = mechanism.decoder.worst_case_mse(n)
    for p in [] if any(mechanism.law.conditional_variation) else _distributions(mechanism):
        second = p @ outputs.matrix @ outputs.worths**2
        variances = (second - p * p) / n
        room = 1e-9 * second / n
        stated = mechanism.decoder.variances(n, p)
        off = float((abs(stated - variances) / (room + 1e-300)).max())
        hold(off <= 1, f"standard errors must be those of enumeration, got variances {off:.2g} times the rounding off.")
        mse = mechanism.decoder.mse(n, p)
        away = abs(mse - float(variances.sum()))
        hold(away <= float(room.sum()), f"the mean squared error must be {variances.sum()!r}, got {mse!r}.")
        hold(mse <= worst * (1 + 1e-9), f"no mean squared error must exceed the worst case {worst!r}, got {mse!r}.")


def _distributions(mechanism: BlockMechanism) -> list[FloatArray]:
    """Return distributions: even, skewed, all on one value, all on the sensitive ones, all on the others."""
    domain = mechanism.domain
    random = np.random.default_rng(20260101)
    weights = [np.ones(domain.size), *random.dirichlet(np.ones(domain.size) / 2, 5), *np.eye(domain.size)]
    weights += [mask.astype(np.float64) for mask in (domain.sensitive, ~domain.sensitive) if mask.any()]
    return [one / one.sum() for one in weights]
