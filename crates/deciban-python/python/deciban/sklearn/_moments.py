"""One pass of moments for discriminant analysis: weight, mean and scatter of each class.

Rows are read once, may be weighted, and may come in parts (`partial_fit`).
"""

from __future__ import annotations

import numpy as np

from .. import _core
from . import _arrays
from ._predictions import classes_of_parts, validated


class FitFromMoments:
    """`fit` and `partial_fit` of LDA and QDA.

    Subclasses have `CHECKS` for X and y, `LEAST` (the fewest rows of a class to fit it) and
    `_finish(classes, rows, weight, means, scatters)`, which sets the fitted attributes.
    """

    def _is_from_moments(self, what):
        """Whether moments are enough; else scikit-learn's own fit must do, and `what` is not to be had."""
        # Before version 1.8 quadratic discriminant analysis has neither.
        if getattr(self, "shrinkage", None) != "auto" and getattr(self, "covariance_estimator", None) is None:
            return True
        if what is not None:
            raise NotImplementedError(f"{what} needs shrinkage=None or a number, and no covariance_estimator")
        return False

    def _fit(self, X, y, sample_weight):
        X, y = validated(self, X, y, True, ensure_all_finite=False, **self.CHECKS)
        classes, codes = _arrays.encode(y)
        found = self._observe(X, codes, len(classes), sample_weight)
        weight = found.weights()
        if np.any(weight == 0):
            # Rows without weight are as if they were not there.
            kept = weight[codes] > 0
            return self._fit(X[kept], y[kept], None if sample_weight is None else np.asarray(sample_weight)[kept])
        self._moments = found
        return self._settle(classes, X.dtype)

    def _add(self, X, y, classes, sample_weight):
        is_first = not hasattr(self, "_moments")
        classes = classes_of_parts(self, is_first, classes)
        X, y = validated(self, X, y, is_first, ensure_all_finite=False, **self.CHECKS)
        found = self._observe(X, _arrays.encode_among(y, classes), len(classes), sample_weight)
        if not is_first:
            found.merge(self._moments)
        self._moments = found
        if np.any(found.rows() < self.LEAST) or np.any(found.weights() == 0):
            # Not enough yet: the model is not fitted until further parts have rows of every class.
            self.classes_ = classes
            return self
        return self._settle(classes, X.dtype)

    def _observe(self, X, codes, classes, sample_weight):
        table = _arrays.table(X, codes, _arrays.weights(sample_weight, X))
        try:
            return _core.Statistics(table, classes, "moments")
        except ValueError:
            # NaN and infinity end the pass: scikit-learn's words for them.
            _arrays.check_finite(self, X)
            raise

    def _settle(self, classes, dtype):
        moments = self._moments
        means, scatters = moments.moments()
        self._finish(classes, moments.rows(), moments.weights(), means, scatters)
        self.classes_ = classes
        if dtype == np.float32:
            self._narrow()
        return self

    def _narrow(self):
        """Parameters of rows in single precision are in single precision."""

    def __sklearn_is_fitted__(self):
        return hasattr(self, "means_")


def shrunk(covariance, shrinkage):
    """(1−γ) Σ + γ (tr Σ/d) I"""
    mean = np.trace(covariance) / len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * mean * np.eye(len(covariance))
