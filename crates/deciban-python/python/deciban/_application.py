"""Prior, costs and reject as users give them, as the JSON that the use layer understands. What they mean is said
there, for the program, too.
"""

from __future__ import annotations

import json

import numpy as np

from ._labels import array_of, level_name


def application(classes: list, prior=None, costs=None, reject=None, none_of_these=None) -> str:
    """An application to these classes, as JSON."""
    told = {"prior": prior_of(prior), "costs": costs_of(costs, classes)}
    if reject is not None:
        told["reject"] = finite(reject, "reject: the cost")
    if none_of_these is not None:
        told["none_of_these"] = finite(none_of_these, "none_of_these: the share")
    return json.dumps(told)


def finite(value, what: str) -> float:
    """A number that is one."""
    number = float(value)
    if not np.isfinite(number):
        raise ValueError(f"{what} {number} is not a finite number")
    return number


def items_of(mapping) -> list | None:
    """The pairs of a dictionary or a Series."""
    return list(mapping.items()) if hasattr(mapping, "items") and hasattr(mapping, "keys") else None


def prior_of(prior):
    """A name, probabilities by class, or a list of them."""
    if prior is None or isinstance(prior, str):
        return prior
    pairs = items_of(prior)
    if pairs is not None:
        return {level_name(label): finite(p, "prior: the probability") for label, p in pairs}
    return [finite(p, "prior: the probability") for p in np.asarray(array_of(prior), dtype=np.float64).ravel()]


def costs_of(costs, classes: list):
    """Costs by (true, decided), or a matrix with a row for each true class. Its columns are the classes, too, unless it
    is a data frame, whose margins have names.
    """
    if costs is None or isinstance(costs, str):
        return costs
    if hasattr(costs, "index") and hasattr(costs, "columns"):
        rows, columns = ([level_name(label) for label in margin.tolist()] for margin in (costs.index, costs.columns))
        return _table(rows, columns, costs.to_numpy(dtype=np.float64))
    pairs = items_of(costs)
    if pairs is not None:
        return [
            {"true": level_name(true), "decided": level_name(decided), "cost": finite(cost, "costs: the cost")}
            for (true, decided), cost in pairs
        ]
    names, matrix = [level_name(label) for label in classes], np.asarray(costs, dtype=np.float64)
    if matrix.shape != (len(names), len(names)):
        raise ValueError(f"costs: a row and a column for each of {len(names)} classes are needed, not {matrix.shape}")
    return _table(names, names, matrix)


def _table(true: list, decided: list, matrix) -> dict:
    costs = [[finite(cost, "costs: the cost") for cost in row] for row in matrix]
    return {"true": true, "decided": decided, "costs": costs}
