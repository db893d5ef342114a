"""Predictions of models with scores coef · x + intercept, which hold a prior of their own."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from .. import _core
from ._predictions import DOUBLE, SINGLE, Predictions, log_prior, scorer


class LinearPredictions(Predictions):
    """Subclasses have `coef_` and `intercept_` with one row for two classes, and `_own_log_prior`."""

    SPARSE = True

    def _check_X(self, X):
        sparse = "csr" if self.__sklearn_tags__().input_tags.sparse else False
        return validate_data(self, X, reset=False, accept_sparse=sparse, ensure_all_finite=False)

    def _scorer(self, is_sparse):
        coef, intercept, classes = self.coef_, self.intercept_, len(self.classes_)
        if sp.issparse(coef):  # `sparsify` was called
            return _core.Scorer.linear(coef.toarray(), intercept, classes, False)
        return scorer(self, classes, lambda w, b: _core.Scorer.linear(w, b, classes, False), coef, intercept)

    def _shift(self, prior):
        # The intercepts hold the model's own prior: what is different is added.
        if prior is None:
            return None
        own = self._own_log_prior()
        given = log_prior(own, prior, self.classes_)
        shift = np.zeros(len(own)) if np.array_equal(given, own) else given - own
        if np.isnan(shift).any() or np.isposinf(shift).any():
            raise ValueError("prior: the model has learnt nothing of a class whose prior was 0")
        return shift

    def _output_type(self, X):
        return SINGLE if X.dtype is SINGLE and self.coef_.dtype is SINGLE else DOUBLE

    def decision_function(self, X):
        """The scores coef · x + intercept, one for two classes."""
        return self._predict(X, None, "decision")
