"""Predictions of models with scores coef · x + intercept, which hold a prior of their own."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .. import _core
from . import _arrays
from ._predictions import Predictions


class LinearPredictions(Predictions):
    """Subclasses have `coef_` and `intercept_` with one row for two classes, and `_own_log_prior`."""

    def _check_X(self, X):
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        X = validate_data(self, X, reset=False, accept_sparse=sparse, ensure_all_finite=False)
        _arrays.check_finite(self, X)
        return X

    def _write(self, X, log_prior, output):
        own = self._own_log_prior()
        # The intercepts hold the model's own prior: what is different is added.
        shift = np.zeros(len(own)) if np.array_equal(log_prior, own) else log_prior - own
        if np.isnan(shift).any() or np.isposinf(shift).any():
            raise ValueError("prior: the model has learnt nothing of a class whose prior was 0")
        weights, bias = self.coef_, self.intercept_
        if sp.issparse(weights):  # `sparsify` was called
            weights = weights.toarray()
        if len(self.classes_) == 2:
            weights, bias = np.vstack([np.zeros_like(weights), weights]), np.concatenate([[0.0], bias])
        scorer = _core.Scorer.linear(np.ascontiguousarray(weights, np.float64), np.ascontiguousarray(bias, np.float64))
        out = np.empty((X.shape[0], len(self.classes_)))
        scorer.write(_arrays.table(X), out, list(shift), output)
        return out
