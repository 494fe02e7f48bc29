"""What a mechanism promises, in a form that can be printed and checked."""

from dataclasses import dataclass

from discreet.core.domain import Domain

_MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy guarantee.

    Attributes:
        notion: ``"LDP"`` (every value is sensitive), ``"ULDP"`` (utility-optimized: only X_S is protected) or
            ``"none"``.
        domain: X, and X_S in it; what a report can say of X_S, it says as a block (Y_P).
        promised: epsilon asked for, in nats; None if nothing was promised (an explicit channel).
        realised: epsilon of the integers that the sampler uses, in nats; never above ``promised``.
        tags: for a personalized mechanism, how many bots stand for values that only one user holds secret; else 0.
    """

    notion: str
    domain: Domain
    promised: float | None
    realised: float
    tags: int = 0

    @property
    def size(self) -> int:
        """|X|."""
        return self.domain.size

    @property
    def sensitive_count(self) -> int:
        """|X_S|."""
        return self.domain.sensitive_count

    @property
    def sensitive_names(self) -> str:
        """X_S by name, as far as it is short."""
        shown = self.domain.names(self.domain.sensitive_codes[:_MOST_NAMES])
        more = self.sensitive_count - len(shown)
        return "; ".join(shown) + (f"; and {more} more" if more else "")

    def __str__(self) -> str:
        if self.notion == "none":
            return "No protection: every value is reported in clear."
        kept = "" if self.promised is None else f", promised {self.promised:g}"
        realised = f"realised epsilon {self.realised:.12g}{kept}"
        if self.notion == "LDP":
            return (
                f"epsilon-LDP for all {self.size} values ({realised}): whatever a report says, "
                f"no value is more than e^epsilon times likelier than another to have caused it."
            )
        if self.tags:
            return (
                f"Personalized ULDP for every user's own secret values and {self.sensitive_count} values sensitive for "
                f"all, of {self.size} ({realised}; {self.tags} bots): a report that could come from any of these could "
                f"come from any other value, with likelihoods at most a factor e^epsilon apart. A user's values that "
                f"are neither are not protected: they may be reported in clear."
            )
        return (
            f"(X_S, epsilon)-ULDP for {self.sensitive_count} sensitive of {self.size} values ({realised}; "
            f"X_S = {{{self.sensitive_names}}}): "
            f"a report that could come from a sensitive value could come from any other value, with likelihoods at "
            f"most a factor e^epsilon apart. The other {self.size - self.sensitive_count} values are not protected: "
            f"they may be reported in clear."
        )
