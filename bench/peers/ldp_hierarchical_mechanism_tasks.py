"""What ldp-hierarchical-mechanism makes of quantiles: a tree of intervals, one level of it asked of each person."""

import numpy as np
from hierarchical_mechanism_LDP import Private_TreeBary
from serving import serve

BRANCHES = (2, 4, 5, 10)


def quantiles(path: str, size: int, epsilon: float, shares: list[float], runs: int) -> dict[str, float]:
    """Return the mean absolute error of quantiles of whole numbers below ``size``, by how often its trees branch.

    Its default sends a report of every level, each with epsilon; one level drawn for each person keeps epsilon for a
    whole record, and has less error than equal parts of it.
    """
    numbers = np.load(path)
    truth = np.quantile(numbers, shares, method="inverted_cdf")
    errors = {}
    for branches in BRANCHES:
        away = []
        for seed in range(runs):
            np.random.seed(seed)  # noqa: NPY002
            tree = Private_TreeBary(size, branches, epsilon, on_all_levels=False)
            tree.update_tree(numbers)
            tree.compute_attributes()
            tree.post_process()
            estimates = [int(tree.get_quantile(share)) for share in shares]
            away.append(np.abs(np.subtract(estimates, truth)).mean())
        errors[str(branches)] = float(np.mean(away))
    return errors


if __name__ == "__main__":
    serve({"quantiles": quantiles})
