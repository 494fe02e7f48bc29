"""Every artefact that can be made, in the order of the report."""

from discreet.errors import ParameterError
from discreet.experiments.reproduce import claims, personal, sweeps
from discreet.experiments.reproduce.artefact import Artefact
from discreet.experiments.reproduce.finding import Finding
from discreet.experiments.reproduce.results import Results

_CENSUSES = tuple(f"us-census-1990{added}" for added in ("", "+1", "+2", "+3", "+4", "+5"))
_SURVEYS = tuple(f"census-income{added}" for added in ("", "+1", "+2", "+3", "+4", "+5"))
_PAPER, _INSTEAD = ("us-census-1990", "foursquare-tist2015"), ("acs-and", "acs-or", "census-income", "foursquare-nyc")
_MECHANISMS = (
    "mechanisms: RR, RAPPOR, uRR, uRAP (the paper's, whose reports in clear carry noise bits too), and no privacy",
    "estimators: emp (linear), emp+thr (threshold at level 0.05, the rest shared evenly) and EM",
    "the truth is the distribution of all people; half of them, drawn at random in every run and the same for every "
    "mechanism, report",
)


_PERSONAL = (
    "every region where somebody is at home or at work becomes that tag's bot, unless it is sensitive for everybody",
    "(I) nothing is known: bots are dropped and the rest is normalised; (II) the distribution of points of interest "
    "that carry the tag; (III) the true distribution behind the tag",
    *_MECHANISMS[1:],
)
_MAPS, _MAPS_INSTEAD = ("foursquare-tist2015",), ("foursquare-nyc",)


def _none(_: Results) -> list[Finding]:
    return []


def _swept(number: str, measure: str, loss: str) -> Artefact:
    return Artefact(
        f"uldp/fig{number}",
        f"[ULDP, Fig. {number}] epsilon against {loss}",
        f"How much every mechanism and estimator loses ({loss}) as the privacy promise is loosened from 0.1 to 10; the "
        "dotted line is at ln|X|, the dashed one is the sampling error without any privacy.",
        _PAPER,
        _INSTEAD,
        sweeps.plan_epsilons,
        sweeps.charts_of_epsilons(measure),
        claims.claims_on_epsilons(measure),
        settings=_MECHANISMS,
    )


def _sized(number: str, measure: str, loss: str) -> Artefact:
    return Artefact(
        f"uldp/fig{number}",
        f"[ULDP, Fig. {number}] |X_S| against {loss}",
        f"How much is lost ({loss}) as more values are made sensitive, at epsilon = 0.1 and ln|X|.",
        _PAPER,
        ("acs-and", "census-income", "foursquare-nyc"),
        sweeps.plan_sizes,
        sweeps.charts_of_sizes(measure),
        claims.claims_on_sizes(measure),
        settings=(*_MECHANISMS, "X_S is drawn at random, anew in every run"),
    )


def _grown(number: str, measure: str, loss: str) -> Artefact:
    return Artefact(
        f"uldp/fig{number}",
        f"[ULDP, Fig. {number}] number of attributes against {loss}",
        f"How much is lost ({loss}) as attributes are added one by one, from |X| = 400 to 12,800.",
        _CENSUSES,
        _SURVEYS,
        sweeps.plan_growth,
        sweeps.charts_of_growth(measure),
        claims.claims_on_growth if measure == "tv" else _none,
        runs=(10, 1),
        settings=(*_MECHANISMS, "240,000 users as in the paper, or half of the people where that is fewer"),
    )


def _personal(number: str, measure: str, loss: str) -> Artefact:
    return Artefact(
        f"uldp/fig{number}",
        f"[ULDP, Fig. {number}] personalized mechanism: epsilon against {loss}",
        f"How much the personalized mechanism loses ({loss}) with homes and workplaces as secrets, for three kinds of "
        "background knowledge.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_cases,
        personal.charts_of_cases(measure),
        personal.claims_on_cases(measure),
        settings=_PERSONAL,
    )


_ALL = (
    _swept("5", "tv", "total variation distance"),
    _sized("6", "tv", "total variation distance"),
    _grown("7", "tv", "total variation distance"),
    _personal("8", "tv", "total variation distance"),
    Artefact(
        "uldp/fig9",
        "[ULDP, Fig. 9] maps of the tags",
        "Where points of interest that carry a tag are, and where the people are who hold it secret.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_maps,
        personal.charts_of_maps,
        personal.claims_on_maps,
        settings=("no reports are made: these are the data themselves",),
    ),
    _swept("10", "mse", "summed squared error"),
    _sized("11", "mse", "summed squared error"),
    _grown("12", "mse", "summed squared error"),
    _personal("13", "mse", "summed squared error"),
    Artefact(
        "uldp/table1",
        "[ULDP, Table 1] Theorem 1",
        "The l1 loss of the personalized mechanism with EM at epsilon = ln|X|, and the two terms that bound it: what "
        "the noise costs, and what not knowing the secrets costs.",
        _MAPS,
        _MAPS_INSTEAD,
        personal.plan_table,
        personal.charts_of_table,
        personal.claims_on_table,
        settings=_PERSONAL,
    ),
    Artefact(
        "uldp/time",
        "[ULDP, section 5] running time",
        "Seconds that each estimator takes at epsilon = 6, as attributes are added.",
        _CENSUSES,
        _SURVEYS,
        sweeps.plan_times,
        sweeps.charts_of_growth("seconds"),
        claims.claims_on_times,
        runs=(1, 1),
        settings=(
            "one after the other, on all processors; compiling the kernels is not counted, counting reports is, for EM",
            "the paper used a Xeon E5-2620 v3 with 6 cores",
        ),
    ),
)

ARTEFACTS: dict[str, Artefact] = {artefact.name: artefact for artefact in _ALL}


def artefact(name: str) -> Artefact:
    """Return an artefact by name.

    Raises:
        ParameterError: if there is none of that name.
    """
    if name not in ARTEFACTS:
        raise ParameterError(f"artefacts are {', '.join(ARTEFACTS)}, got {name!r}.")
    return ARTEFACTS[name]
