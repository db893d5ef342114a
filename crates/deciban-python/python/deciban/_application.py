"""Prior, costs and reject as users give them, for the classes of a model."""

from __future__ import annotations

import numpy as np

from ._labels import array_of


def pairs(prior) -> dict | None:
    """A mapping from labels: a dictionary or a Series."""
    if hasattr(prior, "items") and hasattr(prior, "keys"):
        return dict(prior.items())
    return None


def resolve_prior(prior, labels: list, own: list[float], empirical: list[float]) -> list[float]:
    """A probability of each class. Classes that are not named share the rest in their empirical proportion."""
    k = len(labels)
    if prior is None:
        return own
    if isinstance(prior, str):
        if prior not in ("uniform", "empirical"):
            raise ValueError(f"prior: give 'uniform', 'empirical', an array or a mapping from labels, not {prior!r}")
        return [1 / k] * k if prior == "uniform" else empirical
    given = pairs(prior)
    if given is None:
        return np.asarray(array_of(prior), dtype=np.float64).ravel().tolist()
    strange = [label for label in given if label not in labels]
    if strange:
        raise ValueError(f"prior: there is no class {strange[0]!r}, only {labels}")
    rest = 1 - sum(float(p) for p in given.values())
    open_share = sum(p for label, p in zip(labels, empirical) if label not in given)
    share = rest / open_share if rest > 0 and open_share > 0 else 0.0
    return [float(given[label]) if label in given else share * p for label, p in zip(labels, empirical)]
