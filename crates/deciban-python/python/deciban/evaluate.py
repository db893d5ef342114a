"""Judging log-likelihood ratios and probabilities.

LLRs are natural logarithms, of the target class over the other; `y` is 1 (or True) for the target class.
"""

from __future__ import annotations

import numpy as np

from . import _core


def cllr(llr, y, sample_weight=None):
    """The cost of log-likelihood ratios in bits: 0 is perfect, 1 is no information.

    >>> from deciban.evaluate import cllr
    >>> cllr([0.0, 0.0], [0, 1])
    1.0
    """
    return _core.cllr(*_rows(llr, y, sample_weight))


def min_cllr(llr, y, sample_weight=None):
    """Cllr after the best monotonic map of the LLRs (pool adjacent violators): what discrimination alone costs.

    >>> from deciban.evaluate import min_cllr
    >>> min_cllr([-1.0, 5.0], [0, 1])
    0.0
    """
    return _trials(llr, y, sample_weight).min_cllr()


def auc(llr, y, sample_weight=None):
    """The probability that a target has a larger LLR than another row; ties count half.

    >>> from deciban.evaluate import auc
    >>> auc([-2.0, -1.0, 0.5, 0.0], [0, 0, 0, 1])
    0.6666666666666666
    """
    return _trials(llr, y, sample_weight).auc()


def eer(llr, y, sample_weight=None):
    """The error rate of the threshold at which misses and false alarms are equally frequent.

    >>> from deciban.evaluate import eer
    >>> eer([-1.0, 1.0], [0, 1])
    0.0
    """
    return _trials(llr, y, sample_weight).eer()


def dcf(llr, y, prior=0.5, cost_miss=1.0, cost_false_alarm=1.0, sample_weight=None):
    """The mean cost of decisions at the threshold that prior and costs imply.

    >>> from deciban.evaluate import dcf
    >>> dcf([-1.0, 1.0, 2.0, 1.5], [0, 0, 1, 1])
    0.25
    """
    return _trials(llr, y, sample_weight).dcf(float(prior), float(cost_miss), float(cost_false_alarm))[0]


def min_dcf(llr, y, prior=0.5, cost_miss=1.0, cost_false_alarm=1.0, sample_weight=None):
    """The mean cost of decisions at the best threshold.

    >>> from deciban.evaluate import min_dcf
    >>> min_dcf([-1.0, 1.0, 2.0, 1.5], [0, 0, 1, 1])
    0.0
    """
    return _trials(llr, y, sample_weight).dcf(float(prior), float(cost_miss), float(cost_false_alarm))[1]


def bayes_error_curve(llr, y, log_odds=None, sample_weight=None):
    """Error rates over prior log-odds of the target: a dictionary of arrays `log_odds`, `actual`, `minimum` (at the
    best threshold) and `default` (deciding by the prior alone).

    >>> from deciban.evaluate import bayes_error_curve
    >>> curve = bayes_error_curve([-1.0, 1.0], [0, 1], log_odds=[0.0])
    >>> curve["actual"], curve["default"]
    (array([0.]), array([0.5]))
    """
    log_odds = np.linspace(-7, 7, 141) if log_odds is None else np.asarray(log_odds, dtype=np.float64).ravel()
    if np.isnan(log_odds).any():
        raise ValueError("log_odds: NaN is no prior")
    curve = _trials(llr, y, sample_weight).bayes_error_curve(log_odds.tolist())
    return {"log_odds": log_odds, "actual": curve[:, 0], "minimum": curve[:, 1], "default": curve[:, 2]}


def roc(llr, y, sample_weight=None):
    """The corners of the ROC by rising threshold: arrays `threshold`, `miss` and `false_alarm`.

    >>> from deciban.evaluate import roc
    >>> roc([-1.0, 1.0], [0, 1])["miss"]
    array([0., 0., 1.])
    """
    points = _trials(llr, y, sample_weight).roc()
    return {"threshold": points[:, 0], "miss": points[:, 1], "false_alarm": points[:, 2]}


def reliability(probabilities, y, bins=10, sample_weight=None):
    """Of the rows in each bin of probabilities, how often the target came true: arrays `low`, `high`, `weight`,
    `mean` (of the probabilities) and `share` (of targets), and the expected calibration error `error`.

    >>> from deciban.evaluate import reliability
    >>> curve = reliability([0.9, 0.9, 0.9, 0.1], [1, 1, 0, 0], bins=5)
    >>> curve["mean"], round(curve["error"], 3)
    (array([0.1, 0.9]), 0.2)
    """
    probabilities = np.ascontiguousarray(probabilities, dtype=np.float64).ravel()
    found, error = _core.reliability(probabilities, _targets(y), int(bins), _weights(sample_weight))
    low, high, weight, mean, share = found.T if len(found) else np.zeros((5, 0))
    return {"low": low, "high": high, "weight": weight, "mean": mean, "share": share, "error": error}


def _targets(y):
    y = np.asarray(y).ravel()
    is_known = y.dtype.kind in "iubf"
    targets = y == 1 if is_known else None
    if not is_known or not (targets | (y == 0)).all():
        raise ValueError("y must be 1 for targets and 0 for others")
    return targets


def _rows(llr, y, sample_weight):
    llr = np.ascontiguousarray(llr, dtype=np.float64)
    if llr.ndim != 1:
        raise ValueError(f"llr must have one dimension, and has {llr.ndim}")
    return llr, _targets(y), _weights(sample_weight)


def _trials(llr, y, sample_weight):
    return _core.Trials(*_rows(llr, y, sample_weight))


def _weights(sample_weight):
    return None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64).ravel()
