"""[ULDP, Table 4]: the largest squared l2 loss of each mechanism."""

from math import sqrt

from papers.uldp.mechanisms import NO_PRIVACY
from papers.uldp.worst_case import SQUARED, WorstLoss, worst_table

TABLE = WorstLoss(
    4,
    "squared l2 loss",
    SQUARED,
    {
        "RR": lambda w, _, e: w * (w - 1) / e**2,
        "RAPPOR": lambda w, _, e: 4 * w / e**2 * (1 - 1 / w),
        "uRR": lambda _, v, e: v * (v - 1) / e**2,
        "uRAP": lambda _, v, e: 4 * v / e**2,
        NO_PRIVACY: lambda w, _, __: 1 - 1 / w,
    },
    {
        "RR": lambda w, _, __: 4 * (1 - 1 / w),
        "RAPPOR": lambda w, _, __: sqrt(w) * (1 - 1 / w),
        "uRR": lambda *_: 1.0,
        "uRAP": lambda w, v, _: 1 + (v + 1) / sqrt(w),
        NO_PRIVACY: lambda w, _, __: 1 - 1 / w,
    },
)

FIGURE = worst_table(TABLE)
