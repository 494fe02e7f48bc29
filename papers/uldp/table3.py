"""[ULDP, Table 3]: the largest l1 loss of each mechanism."""

from math import sqrt

from papers.uldp.mechanisms import NO_PRIVACY
from papers.uldp.worst_case import L1, WorstLoss, worst_table

TABLE = WorstLoss(
    3,
    "l1 loss",
    L1,
    {
        "RR": lambda w, _, e: w * sqrt(w - 1) / e,
        "RAPPOR": lambda w, _, e: 2 * w / e,
        "uRR": lambda _, v, e: v * sqrt(v - 1) / e,
        "uRAP": lambda _, v, e: 2 * v / e,
        NO_PRIVACY: lambda w, _, __: sqrt(w - 1),
    },
    {
        "RR": lambda w, _, __: 2 * sqrt(w - 1),
        "RAPPOR": lambda w, _, __: sqrt(w) * sqrt(w - 1),
        "uRR": lambda w, _, __: sqrt(w - 1),
        "uRAP": lambda w, v, _: sqrt(w - 1) * (1 + v / w**0.75),
        NO_PRIVACY: lambda w, _, __: sqrt(w - 1),
    },
)

FIGURE = worst_table(TABLE)
