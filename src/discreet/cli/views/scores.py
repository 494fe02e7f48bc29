"""Figures of a biometric matcher: their record."""

from typing import Any

from msgspec import Struct

from discreet.risk.scores.biometric import Biometric


class AssessedMatcher(Struct, frozen=True):
    """Record of a matcher's figures."""

    users: int
    dropped: int
    success: Any
    bse_at_least_bits: float | None
    bse: dict[str, Any]
    equal_error_rate: float
    in_words: str

    @classmethod
    def of(cls, found: Biometric) -> "AssessedMatcher":
        """Return the record of a matcher's figures."""
        figures = {
            figure.name: figure for figure in (found.bse.certified, found.bse.info_nce, found.bse.paper) if figure
        }
        information = found.bse.best.certified, figures, found.det.equal_error_rate
        return cls(found.users, found.dropped, found.ranks.rates[0], *information, str(found))
