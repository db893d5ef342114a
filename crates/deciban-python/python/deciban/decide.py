"""Decisions from evidence: prior and costs plugged in afterwards.

Evidence is log p(x | class) in nats, rows × classes, up to a constant per row.
"""

from __future__ import annotations

import numpy as np

from . import _core


def posterior(evidence, prior):
    """p(class | x) of evidence under a prior.

    >>> import numpy as np
    >>> from deciban.decide import posterior
    >>> posterior([[0.0, np.log(9.0)]], [0.5, 0.5])
    array([[0.1, 0.9]])
    """
    return np.exp(_core.log_posterior(_evidence(evidence), _prior(prior)))


def decide(evidence, prior, costs):
    """The number of the best action for each row (−1 where no class is possible), and its expected cost.

    `costs[class][action]`: a row for each true class; an action need not be a class.

    >>> import numpy as np
    >>> from deciban.decide import decide
    >>> actions, risks = decide([[np.log(99.0), 0.0]], [0.5, 0.5], [[0, 1], [1000, 0]])
    >>> actions, risks
    (array([1]), array([0.99]))
    """
    matrix = np.atleast_2d(np.asarray(costs, dtype=np.float64)).tolist()
    actions, risks = _core.decide(_evidence(evidence), _prior(prior), matrix)
    return actions.astype(np.int64), risks


def threshold(prior, cost_miss=1.0, cost_false_alarm=1.0):
    """The LLR, in nats, from which a target of this prior is to be decided for.

    >>> from deciban.decide import threshold
    >>> float(round(threshold(0.1), 4))
    2.1972
    """
    prior, miss, alarm = float(prior), float(cost_miss), float(cost_false_alarm)
    if not (0 < prior < 1 and miss > 0 and alarm > 0):
        raise ValueError("give a prior between 0 and 1, and costs above 0")
    return float(np.log(alarm / miss) + np.log1p(-prior) - np.log(prior))


def _evidence(evidence):
    evidence = np.ascontiguousarray(evidence, dtype=np.float64)
    if evidence.ndim != 2 or evidence.shape[1] == 0:
        raise ValueError(f"evidence must have rows and a column for each class, and has shape {evidence.shape}")
    return evidence


def _prior(prior):
    return np.asarray(prior, dtype=np.float64).ravel().tolist()
