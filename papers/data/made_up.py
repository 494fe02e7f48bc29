"""A made-up population of the size of [PIE, section 5]: places of Zipf-Mandelbrot popularity, and users who return."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import AnyArray, FloatArray, IntArray
from discreet.risk.traces import Traces
from papers.data.traces import LEAST_EVENTS, PAPER_PLACES, PAPER_USERS

EXPONENT, SHIFT = 0.75, 7.0
"""Of popularity: the r-th most popular place is chosen in proportion to (r + shift)^-exponent."""

CITIES, CITY_SHIFT = 1_000, 10.0
"""The number of cities; a place lies in the c-th one with a probability in proportion to 1/(c + shift)."""

AWAY = 0.1
"""The share of new places that are anywhere in the world; all others are in the user's city."""

EXPLORE, TIRE = 0.9, 0.21
"""A user who knows S places goes to a new one with probability explore times S^-tire."""

LONGER_MEAN, LONGER_DEVIATION, LONGEST = 51.8, 1.35, 5_000
"""Events of a user beyond the fewest: mean, standard deviation of their logarithm, and the most."""


@dataclass(frozen=True)
class MadeUp:
    """Traces of made-up users, the same for the same seed; they are made when they are first asked for.

    Users return as in the model of exploration and preferential return [Song et al. 2010]: a new place is chosen by
    popularity, mostly in their city; otherwise they go again where they went in an event drawn from all earlier ones.
    A user begins at home, a place of the city that no popularity chooses.

    Attributes:
        name: short, for files and tables.
        title: for people.
        users: n.
        values: |X|.
        seed: of all choices.
    """

    name: str
    title: str
    users: int
    values: int
    seed: int = 2010
    credit: str = "Song, Koren, Wang and Barabasi, Modelling the scaling properties of human mobility (2010), the model"
    cuts: tuple[str, ...] = (
        f"popularity of the r-th place: (r + {SHIFT:g})^-{EXPONENT:g}; it lies in the c-th of {CITIES:,} cities with a "
        f"probability in proportion to 1/(c + {CITY_SHIFT:g})",
        f"a user begins at home, goes to a new place with probability {EXPLORE:g} S^-{TIRE:g} after S different ones "
        f"({1 - AWAY:.0%} of them in the same city), and otherwise returns to the place of an earlier event",
        f"at least {LEAST_EVENTS} events of each user, the rest log-normal with mean {LONGER_MEAN:g}",
    )
    differs: tuple[str, ...] = ("nobody's data: made by a model",)

    @property
    def facts(self) -> str:
        """The size of the data, in a few words."""
        return f"{self.users:,} users, {self.values:,} places, seed {self.seed}"

    @property
    def fingerprint(self) -> str:
        """The sizes and the seed, as text; what they are made by is the model of this file."""
        return f"{self.users}-{self.values}-{self.seed}"

    @cached_property
    def traces(self) -> Traces:
        """The traces."""
        generator = np.random.default_rng([self.seed, self.users, self.values])
        # The longest come first, so that those who are still there at any event are the first ones.
        lengths = np.sort(_lengths(self.users, generator))[::-1]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        world = World.of(self.values, generator)
        city = world.cities(self.users, generator)
        events, known, rising = np.empty(offsets[-1], np.int32), np.ones(self.users), lengths[::-1]
        events[offsets[:-1]] = world.homes(city, generator)
        for step in range(1, int(lengths[0])):
            present = self.users - int(np.searchsorted(rising, step, side="right"))
            starts = offsets[:present]
            earlier = starts + (generator.random(present) * step).astype(np.int64)
            events[starts + step] = events[earlier]
            new = np.flatnonzero(generator.random(present) < EXPLORE * known[:present] ** -TIRE)
            events[starts[new] + step] = world.visited(city[new], generator)
            known[new] += 1
        return Traces(offsets, events, self.values)


WORLD = MadeUp(
    "made-up-world", "Made-up check-ins, as many users and places as in the paper", PAPER_USERS, PAPER_PLACES
)
TOWN = MadeUp("made-up-town", "Made-up check-ins, as many places for each user as in the paper", 20_000, 153_217)


def _lengths(users: int, generator: np.random.Generator) -> IntArray:
    location = np.log(LONGER_MEAN) - LONGER_DEVIATION**2 / 2
    more = generator.lognormal(location, LONGER_DEVIATION, users)
    return np.minimum(LEAST_EVENTS + more.astype(np.int64), LONGEST)


@dataclass(frozen=True, eq=False)
class World:
    """Places, those of a city side by side.

    Attributes:
        borders: ``(cities + 1,)`` the first place of each city, and the number of places.
        reached: ``(places + 1,)`` popularity of all places before each one, 1 at the end.
    """

    borders: IntArray
    reached: FloatArray

    @classmethod
    def of(cls, places: int, generator: np.random.Generator) -> "World":
        """Draw the city of each place."""
        sizes = 1 / (np.arange(1, CITIES + 1) + CITY_SHIFT)
        city = np.searchsorted(np.cumsum(sizes / sizes.sum())[:-1], generator.random(places), side="right")
        order = np.argsort(city, kind="stable")
        reached = np.concatenate([[0.0], np.cumsum((order + 1 + SHIFT) ** -EXPONENT)])
        return cls(np.concatenate([[0], np.cumsum(np.bincount(city, minlength=CITIES))]), reached / reached[-1])

    def cities(self, users: int, generator: np.random.Generator) -> IntArray:
        """Draw the cities of users by the popularity of all their places."""
        codes: IntArray = np.searchsorted(self.reached[self.borders[1:-1]], generator.random(users), side="right")
        return codes

    def homes(self, city: IntArray, generator: np.random.Generator) -> IntArray:
        """Draw a home in each city, every place alike."""
        low, high = self.borders[city], self.borders[city + 1]
        home: IntArray = low + (generator.random(len(city)) * (high - low)).astype(np.int64)
        return home

    def visited(self, city: IntArray, generator: np.random.Generator) -> AnyArray:
        """Draw a new place for users of each city."""
        low, high = (self.reached[self.borders[city + end]] for end in (0, 1))
        away = generator.random(len(city)) < AWAY
        low[away], high[away] = 0.0, 1.0
        at = np.searchsorted(self.reached, low + generator.random(len(city)) * (high - low), side="right") - 1
        return np.minimum(at, len(self.reached) - 2)
