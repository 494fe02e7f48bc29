"""The central guarantee of what is published, in one sentence."""

from typing import Any

from discreet.mechanisms import BlockMechanism
from discreet.privacy.shuffling import ShuffledGuarantee, shuffled
from discreet.privacy.shuffling_statements import rounded_down, rounded_up

_DELTA, _OF_ONE = 1e-6, 0.1


def published(mechanism: BlockMechanism, n: int) -> ShuffledGuarantee | None:
    """Return the central guarantee of an estimate from n reports; None where there is none to state."""
    if n < 2 or mechanism.domain.sensitive_count == 0:
        return None
    return shuffled(mechanism, n, delta=float(f"{min(_DELTA, _OF_ONE / n):.0e}"))


def published_sentence(central: ShuffledGuarantee) -> str:
    """Return the guarantee of whoever sees the estimate alone, in one sentence."""
    domain, parts = central.mechanism.domain, []
    if domain.sensitive_count > 1:
        values = (
            f"all {domain.size} values" if domain.clear_count == 0 else f"{domain.sensitive_count} sensitive values"
        )
        parts.append(f"({rounded_up(central.most_among)}, {central.delta:g})-differentially private among {values}")
    if domain.clear_count:
        least = rounded_down(central.floor or 0.0)
        most = rounded_up(central.most_towards)
        parts.append(
            f"({most}, {central.delta:g})-private, one-sided, towards values told in clear (at least {least} with any "
            "number of users)"
        )
    return (
        f"Whoever sees this estimate alone, or the reports without names and order: {' and '.join(parts)}, if "
        "each person sent one report; --no-central leaves this out."
    )


def published_facts(central: ShuffledGuarantee) -> dict[str, Any]:
    """Return the same as built-ins: upper ends of both central epsilons, in nats."""
    clear = central.mechanism.domain.clear_count > 0
    towards, floor = (central.most_towards, central.floor) if clear else (None, None)
    return {"n": central.n, "delta": central.delta, "among": central.most_among, "towards": towards, "floor": floor}
