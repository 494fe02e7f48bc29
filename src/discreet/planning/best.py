"""The best mechanism for a domain: the one that the comparison recommends."""

import warnings
from typing import Unpack

from discreet.core.domain import Domain, checked_domain
from discreet.core.labels import Numbers
from discreet.errors import ParameterError
from discreet.mechanisms import BlockMechanism, Windows
from discreet.planning.candidates import Requirements, Wishes
from discreet.planning.compare import LONG, comparison_of


def best(domain: Domain, epsilon: float, users: int | None = None, **wishes: Unpack[Wishes]) -> BlockMechanism:
    """Return the mechanism with the smallest reports among those with nearly the least error.

    It is that of ``compare_mechanisms(...).best`` in `discreet.planning.compare`, with the same arguments; for numbers
    in bins it is `Windows` (see `discreet.planning.numbers`).

    Args:
        domain: the values and which of them are sensitive.
        epsilon: the privacy promise to each user, in nats.
        users: their number; None for any number.
        wishes: by name:

            - ``target``: what the mean squared error should be least for: ``"worst-case"``, ``"sensitive-mass"``
              (spread evenly, and the rest too) or ``"distribution"`` (p); None for what is known of the people, else
              the worst case.
            - ``sensitive_mass``: p(X_S), the share of people whose value is sensitive, if it is roughly known.
            - ``p``: the distribution, if that is roughly known, instead of a mass: ``(|X|,)`` probabilities, or a
              mapping from values to them.
            - ``largest_report``: most bytes that a report may take.
            - ``most_seconds``: that counting all reports (100,000 of any number) and decoding their tally may take the
              collector, on one core.
            - ``reports_per_user``: t (1); each report then has epsilon/t, and n t of them count as independent (see
              `discreet.planning.candidates.Requirements`).
            - ``within``: how much more error than the least is little (0.05), as a share of it: the smallest report
              with no more is recommended; 0 for the least error, whatever a report weighs.

    Raises:
        ParameterError: if a number is out of range, or no mechanism is small and quick enough.

    Warns:
        UserWarning: if counting and decoding take the collector over 10 s, and ``most_seconds`` does not allow it.

    Example:
        >>> import discreet as dc
        >>> domain = dc.Domain(range(400), sensitive=range(76))
        >>> dc.best(domain, epsilon=1.0, users=100_000).name
        'unary'
        >>> dc.best(domain, epsilon=1.0, largest_report=4).bytes_per_report(sensitive_mass=0.05) <= 4
        True
    """
    if "standard_error" in wishes:
        raise TypeError("best() has no argument 'standard_error'; discreet.planning.compare.compare_mechanisms has.")
    if isinstance(checked_domain(domain).space, Numbers):
        if wishes:
            raise ParameterError("for numbers in bins best() takes no wishes: windows are what they need.")
        return Windows(domain, epsilon)
    asked = Requirements.of(domain, epsilon, users, **wishes)
    comparison = comparison_of(asked)
    chosen = comparison.best
    if asked.most_seconds is None and chosen.seconds > LONG:
        warnings.warn(f"{comparison.recommendation} Say most_seconds to bound it.", UserWarning, stacklevel=2)
    return chosen.mechanism
