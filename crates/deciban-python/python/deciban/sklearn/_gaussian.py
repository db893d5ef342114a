"""Gaussian naive Bayes: scikit-learn's class, fitted and scored by deciban."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn import naive_bayes as peer
from sklearn.base import _fit_context
from sklearn.utils.validation import validate_data

from .. import _core
from . import _arrays
from ._predictions import Predictions, classes_of_parts

#: Rows of a sparse matrix that are made dense at once.
ROWS = 4096


class GaussianNB(Predictions, peer.GaussianNB):
    """Gaussian naive Bayes.

    More than scikit-learn's: cells that are missing (NaN) say nothing, in fit and in prediction; X may be
    sparse; a prior may be given to each prediction.

    >>> import numpy as np
    >>> from deciban.sklearn import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [2.0], [8.0], [9.0]], ["a", "a", "b", "b"])
    >>> model.predict([[3.0], [7.0]])
    array(['a', 'b'], dtype='<U1')
    >>> model.predict_proba([[np.nan]], prior={"a": 0.25, "b": 0.75})
    array([[0.25, 0.75]])
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows."""
        return self._learn(X, y, None, sample_weight, is_first=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds labelled rows; the first call names all classes."""
        is_first = not hasattr(self, "classes_")
        classes = classes_of_parts(self, is_first, classes)
        return self._learn(X, y, classes, sample_weight, is_first)

    def _learn(self, X, y, classes, sample_weight, is_first):
        X, y = validate_data(self, X, y, reset=is_first, **CHECKS)
        if classes is None:
            classes, codes = _arrays.encode(y)
        else:
            codes = _arrays.encode_among(y, classes)
        sample_weight = _arrays.weights(sample_weight, X)
        moments = None
        for rows in blocks(X):
            part = None if sample_weight is None else sample_weight[rows]
            table = _arrays.table(dense(X, rows), codes[rows], part)
            found = _core.Statistics(table, len(classes), "column-moments")
            moments = found if moments is None else moments.merge(found) or moments
        # The variance of all rows of this call scales the smoothing.
        self.epsilon_ = self.var_smoothing * total_variance(*moments.column_moments()).max()
        self.classes_ = classes
        self._moments = moments if is_first else self._moments.merge(moments) or self._moments
        weight, self.theta_, scatter = self._moments.column_moments()
        with np.errstate(invalid="ignore"):
            self.var_ = np.where(weight > 0, scatter / weight, 0.0) + self.epsilon_
        self.class_count_ = self._moments.weights()
        self.class_prior_ = self._checked_priors()
        return self

    def _checked_priors(self):
        if self.priors is None:
            return self.class_count_ / self.class_count_.sum()
        priors = np.asarray(self.priors, dtype=np.float64)
        if len(priors) != len(self.classes_):
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if (priors < 0).any():
            raise ValueError("Priors must be non-negative.")
        return priors

    def _own_log_prior(self):
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    def _check_X(self, X):
        return validate_data(self, X, reset=False, **CHECKS)

    def _write(self, X, log_prior, output):
        out = np.empty((X.shape[0], len(self.classes_)))
        scorer = _core.Scorer.diagonal(np.ascontiguousarray(self.theta_), np.ascontiguousarray(self.var_))
        for rows in blocks(X):
            scorer.write(_arrays.table(dense(X, rows)), out[rows], list(log_prior), output)
        return out

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


#: What scikit-learn checks of X. The core looks for infinities while it reads, so nothing reads X before.
CHECKS = {"accept_sparse": "csr", "ensure_all_finite": False}


def blocks(X):
    """All rows at once, or a few at a time where they must be made dense."""
    step = ROWS if sp.issparse(X) else max(X.shape[0], 1)
    return [slice(start, start + step) for start in range(0, X.shape[0], step)]


def dense(X, rows):
    """Some rows as an array."""
    return X[rows].toarray() if sp.issparse(X) else X[rows]


def total_variance(weight, mean, scatter):
    """The variance of each column over all classes: within and between them."""
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    centre = (weight * mean).sum(axis=0) / total
    return (scatter + weight * (mean - centre) ** 2).sum(axis=0) / total
