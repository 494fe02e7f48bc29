"""All artefacts by name, in the order of the report."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.errors import ParameterError
from papers import claims, personal, risks, sweeps, worst
from papers.artefact import Artefact, no_charts, nothing
from papers.sweeps import LineUp

_CENSUSES = tuple(f"us-census-1990{added}" for added in ("", "+1", "+2", "+3", "+4", "+5"))
_SURVEYS = tuple(f"census-income{added}" for added in ("", "+1", "+2", "+3", "+4", "+5"))
_PAPER, _INSTEAD = ("us-census-1990", "foursquare-tist2015"), ("acs-and", "acs-or", "census-income", "foursquare-nyc")
_FEWER = ("acs-and", "census-income", "foursquare-nyc")
_MAPS, _MAPS_INSTEAD = ("foursquare-tist2015",), ("foursquare-nyc",)
_LOSSES = {"tv": "total variation distance", "mse": "summed squared error"}

_PEOPLE = (
    "the truth is the distribution of all people; half of them, drawn at random in every run and the same for every "
    "mechanism, report"
)
_ESTIMATORS = (
    "estimators: emp (linear), emp+thr (threshold at level 0.05, the rest shared evenly) and EM, by which is meant "
    "where it ends: the maximum of the likelihood, certified to a tenth of a nat in all"
)
_MECHANISMS = (
    "mechanisms: RR, RAPPOR, uRR, uRAP (the paper's, whose reports in clear carry noise bits too), and no privacy",
    _ESTIMATORS,
    _PEOPLE,
)
_MORE = (
    "uRR and uRAP as in the paper; uRAP drop-bits: without noise bits in reports in clear; best theta: that, with the "
    "theta of the least worst case; hashing: utility-optimized local hashing; BlockDesign: the optimum, for the worst "
    "case, and told the true p(X_S)",
    _ESTIMATORS,
    _PEOPLE,
)
_BOUNDED = (
    "lower bound: the least mean squared error of any unbiased estimate with any mechanism that knows p(X_S) and "
    "nothing more of p; biased estimates may be below it",
)
_PERSONAL = (
    "every region where somebody is at home or at work becomes that tag's bot, unless it is sensitive for everybody",
    "(I) nothing is known: bots are dropped and the rest is normalised; (II) the distribution of points of interest "
    "that carry the tag; (III) the true distribution behind the tag",
    *_MECHANISMS[1:],
)


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A sweep: two figures of the paper, one per loss, and the same figures with more mechanisms.

    Attributes:
        numbers: of the figures, by measure.
        title: what is swept.
        shows: how, in words.
        paper: the paper's data.
        instead: data at hand.
        plan: from who is compared to what plans the cells.
        charts: from a measure and who is compared to what draws.
        claims: from a measure to what checks the paper's findings.
        runs: as in the paper, and with `quick`.
        settings: what else is to be said.
    """

    numbers: Mapping[str, int]
    title: str
    shows: str
    paper: tuple[str, ...]
    instead: tuple[str, ...]
    plan: Callable[[LineUp], sweeps.Plan]
    charts: Callable[[str, LineUp], sweeps.Charts]
    claims: Callable[[str], claims.Claims]
    runs: tuple[int, int] = sweeps.PAPER_RUNS
    settings: tuple[str, ...] = ()

    def of_the_paper(self, measure: str) -> Artefact:
        """Return the paper's figure of one loss."""
        number, loss = self.numbers[measure], _LOSSES[measure]
        return Artefact(
            f"uldp/fig{number}",
            f"[ULDP, Fig. {number}] {self.title} against {loss}",
            f"How much every mechanism and estimator loses ({loss}) {self.shows}.",
            self.paper,
            self.instead,
            self.plan(sweeps.THE_PAPERS),
            self.charts(measure, sweeps.THE_PAPERS),
            self.claims(measure),
            runs=self.runs,
            settings=(*_MECHANISMS, *self.settings),
        )

    def beyond(self, measure: str) -> Artefact:
        """Return the same figure with more mechanisms, and with the lower bound where there is one."""
        number, bounded = self.numbers[measure], measure == "mse"
        return Artefact(
            f"beyond/fig{number}",
            f"Beyond the paper: {self.title} against {_LOSSES[measure]}, with more mechanisms",
            f"As [ULDP, Fig. {number}], with the optimal mechanism, the decoder without noise bits, the best theta and "
            "local hashing" + (", and the lower bound drawn in." if bounded else "."),
            self.paper,
            self.instead,
            self.plan(sweeps.MORE),
            self.charts(measure, sweeps.MORE),
            claims.claims_beyond if bounded else nothing,
            runs=sweeps.MORE.runs,
            settings=(*_MORE, *self.settings, *(_BOUNDED if bounded else ())),
        )


_EPSILONS = _Sweep(
    {"tv": 5, "mse": 10},
    "epsilon",
    "as the privacy promise is loosened from 0.1 to 10; the dotted line is at ln|X|, the dashed one is the sampling "
    "error without any privacy",
    _PAPER,
    _INSTEAD,
    sweeps.plan_epsilons,
    sweeps.charts_of_epsilons,
    claims.claims_on_epsilons,
)
_SIZES = _Sweep(
    {"tv": 6, "mse": 11},
    "|X_S|",
    "as more values are made sensitive, at epsilon = 0.1 and ln|X|",
    _PAPER,
    _FEWER,
    sweeps.plan_sizes,
    sweeps.charts_of_sizes,
    claims.claims_on_sizes,
    settings=("X_S is drawn at random, anew in every run, the same for all mechanisms",),
)
_GROWTH = _Sweep(
    {"tv": 7, "mse": 12},
    "number of attributes",
    "as attributes are added one by one, from |X| = 400 to 12,800",
    _CENSUSES,
    _SURVEYS,
    sweeps.plan_growth,
    sweeps.charts_of_growth,
    claims.claims_on_growth,
    sweeps.GROWTH_RUNS,
    ("240,000 users as in the paper, or half of the people where that is fewer",),
)


def _personal(number: str, measure: str) -> Artefact:
    loss = _LOSSES[measure]
    return Artefact(
        f"uldp/fig{number}",
        f"[ULDP, Fig. {number}] personalized mechanism: epsilon against {loss}",
        f"How much the personalized mechanism loses ({loss}) with homes and workplaces as secrets, for three kinds of "
        "background knowledge.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_cases([personal.WITH_TAGS]),
        personal.charts_of_cases(measure),
        personal.claims_on_cases(measure),
        settings=_PERSONAL,
    )


def _worst(loss: worst.Loss) -> Artefact:
    return Artefact(
        f"uldp/table{loss.number}",
        f"[ULDP, Table {loss.number}] the largest {loss.name}",
        f"The largest {loss.name} of each mechanism over all distributions: as the paper prints it, by closed forms, "
        "and simulated with people drawn from the worst distribution.",
        _PAPER,
        _INSTEAD,
        worst.plan_worst,
        no_charts,
        worst.claims_on_worst(loss),
        worst.tables_of_worst(loss),
        runs=worst.RUNS,
        settings=(
            f"epsilon = {worst.SMALL_EPSILON:g} stands for one near 0; tallies are drawn from their exact law",
            "of the data only |X|, |X_S| and half of the number of people are used",
        ),
    )


def _beyond_personal(number: str, measure: str) -> Artefact:
    return Artefact(
        f"beyond/fig{number}",
        f"Beyond the paper: Fig. {number} with more mechanisms, and with cells instead of tags",
        f"As [ULDP, Fig. {number}], {_LOSSES[measure]}, where nothing is known of the places behind tags: with the "
        "optimal mechanism and the decoder without noise bits, and with one bot per coarse cell of the map instead of "
        "one per tag.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_cases([personal.MORE_WITH_TAGS, personal.MORE_WITH_CELLS]),
        personal.charts_of_cases(measure, personal.MORE_LINES),
        personal.claims_beyond_cases if measure == "tv" else nothing,
        runs=personal.MORE_WITH_TAGS.runs,
        settings=(
            "a secret place becomes the bot of its tag, or of its cell of 5 x 5; a cell's mass is shared inside it in "
            "proportion to what was told in the open",
            _ESTIMATORS,
            _PEOPLE,
        ),
    )


_ALL = (
    _EPSILONS.of_the_paper("tv"),
    _SIZES.of_the_paper("tv"),
    _GROWTH.of_the_paper("tv"),
    _personal("8", "tv"),
    Artefact(
        "uldp/fig9",
        "[ULDP, Fig. 9] maps of the tags",
        "Where points of interest that carry a tag are, and where the people are who hold it secret.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_maps,
        personal.charts_of_maps,
        personal.claims_on_maps,
        runs=personal.ON_MAPS.runs,
        settings=("no reports are made: these are the data themselves",),
    ),
    _EPSILONS.of_the_paper("mse"),
    _SIZES.of_the_paper("mse"),
    _GROWTH.of_the_paper("mse"),
    _personal("13", "mse"),
    Artefact(
        "uldp/table1",
        "[ULDP, Table 1] Theorem 1",
        "The l1 loss of the personalized mechanism with EM at epsilon = ln|X|, and the two terms that bound it: what "
        "the noise costs, and what not knowing the secrets costs.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_table,
        no_charts,
        personal.claims_on_table,
        personal.tables_of_theorem,
        settings=_PERSONAL,
    ),
    _worst(worst.L1),
    _worst(worst.L2),
    Artefact(
        "uldp/time",
        "[ULDP, section 5] running time",
        "Seconds that each estimator takes at epsilon = 6, as attributes are added: emp, emp+thr, EM to its end by our "
        "algorithm, and plain EM, which stops when an iteration changes frequencies by no more than 3e-4 in all.",
        _CENSUSES,
        _SURVEYS,
        sweeps.plan_times,
        sweeps.charts_of_growth("seconds", sweeps.TIMES),
        claims.claims_on_times,
        claims.tables_of_times,
        runs=sweeps.TIMES.runs,
        settings=(
            "240,000 users as in the paper; one after the other, on all processors; compiling the kernels is not "
            "counted; counting reports is, for EM",
            "with --quick no more than 1,600 values",
            "the paper used a Xeon E5-2620 v3 with 6 cores",
        ),
    ),
    *(sweep.beyond(measure) for measure in _LOSSES for sweep in (_EPSILONS, _SIZES, _GROWTH)),
    _beyond_personal("8", "tv"),
    _beyond_personal("13", "mse"),
    Artefact(
        "beyond/stopping",
        "Beyond the paper: where EM stops",
        "EM starts from emp+thr and climbs to the maximum of the likelihood, slowly; stopped early, it is another "
        "estimator. The figure shows where it starts, where it is when an iteration changes frequencies by no more "
        "than 3e-4 in all, and where it ends.",
        _PAPER,
        _INSTEAD,
        sweeps.plan_epsilons(sweeps.STOPPED_EARLY),
        sweeps.charts_of_epsilons("tv", sweeps.STOPPED_EARLY),
        claims.claims_on_stopping,
        runs=sweeps.STOPPED_EARLY.runs,
        settings=_MECHANISMS[::2],
    ),
)

ARTEFACTS: dict[str, Artefact] = {artefact.name: artefact for artefact in (*_ALL, *risks.PIE)}


def artefact(name: str) -> Artefact:
    """Return an artefact by name.

    Raises:
        ParameterError: if there is none of that name.
    """
    if name not in ARTEFACTS:
        raise ParameterError(f"artefacts are {', '.join(ARTEFACTS)}, got {name!r}.")
    return ARTEFACTS[name]


def family(name: str) -> list[Artefact]:
    """Return every artefact of a family (``uldp``, ``beyond``, ``pie``), or the one of that name.

    Raises:
        ParameterError: if there is none.
    """
    return [one for key, one in ARTEFACTS.items() if key.split("/")[0] == name] or [artefact(name)]
