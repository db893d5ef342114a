"""Gaussian naive Bayes: scikit-learn's class, fitted and scored by deciban."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn import naive_bayes as peer
from sklearn.base import _fit_context
from sklearn.utils.validation import validate_data

from .. import _core
from . import _arrays
from ._predictions import DOUBLE, PEER, SINGLE, Predictions, classes_of_parts, scorer, validated

#: Rows of a sparse matrix that are made dense at once.
ROWS = 4096
#: Whether rows of single precision have parameters of single precision.
KEEPS_SINGLE = PEER >= (1, 8)


class GaussianNB(Predictions, peer.GaussianNB):
    """Gaussian naive Bayes.

    More than scikit-learn's: cells that are missing (NaN) say nothing, in fit and in prediction; X may be
    sparse; a prior may be given to each prediction. A column needs a known cell in each class.

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
        return self._learn(X, y, None, sample_weight, is_first=True, is_fit=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds labelled rows; the first call names all classes."""
        is_first = not hasattr(self, "classes_")
        classes = classes_of_parts(self, is_first, classes)
        return self._learn(X, y, classes, sample_weight, is_first)

    def _learn(self, X, y, classes, sample_weight, is_first, is_fit=False):
        X, y = validated(self, X, y, is_first, **CHECKS)
        if classes is None:
            classes, codes = _arrays.encode(y)
        else:
            codes = _arrays.encode_among(y, classes)
        sample_weight = _arrays.weights(sample_weight, X)
        moments = column_moments(X, codes, len(classes), sample_weight)
        # The variance of all rows of this call scales the smoothing, as in scikit-learn without their weights.
        plain = moments if sample_weight is None else column_moments(X, codes, len(classes), None)
        epsilon = self.var_smoothing * plain.largest_variance()
        lacks = None
        if not is_first:
            moments = self._moments.merge(moments) or self._moments
        weight, theta, scatter = moments.column_moments()
        counts = moments.weights()
        is_whole = weight.all()
        unknown = () if is_whole else np.argwhere((weight == 0) & (counts[:, None] > 0))
        if len(unknown):
            c, j = unknown[0]
            lacks = (
                f"column {j} has no known cell in class {classes.tolist()[c]!r}, so how it is distributed there is unknown: "
                "leave the column out, or fill its missing cells"
            )
            if is_fit:
                raise ValueError(lacks)
        # A class or a column without rows has a scatter of 0.
        var = scatter / (weight if is_whole else np.where(weight > 0, weight, 1.0)) + epsilon
        single = X.dtype == np.float32
        kind = np.float32 if single and KEEPS_SINGLE else np.float64
        self._moments, self._lacks, self.classes_ = moments, lacks, classes
        self.epsilon_ = np.float32(epsilon) if single else epsilon
        self.theta_, self.var_, self.class_count_ = theta.astype(kind), var.astype(kind), counts.astype(kind)
        self.class_prior_ = self._checked_priors().astype(kind)
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
            return np.log(self.class_prior_, dtype=np.float64)

    def _check_X(self, X):
        return validate_data(self, X, reset=False, **CHECKS)

    #: What a part of the rows has left unknown.
    _lacks = None

    def _scorer(self, is_sparse):
        if self._lacks is not None:
            raise ValueError(self._lacks)
        return scorer(self, None, _core.Scorer.diagonal, self.theta_, self.var_)

    def _output_type(self, X):
        return SINGLE if X.dtype is SINGLE and self.theta_.dtype is SINGLE else DOUBLE

    def _write(self, scorer, X, shift, output):
        if not sp.issparse(X):
            return super()._write(scorer, X, shift, output)
        return np.concatenate([super(GaussianNB, self)._write(scorer, dense(X, rows), shift, output) for rows in blocks(X)])

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


def column_moments(X, codes, classes, sample_weight):
    """Weight, mean and scatter of each column and class."""
    moments = None
    for rows in blocks(X):
        part = None if sample_weight is None else sample_weight[rows]
        found = _core.Statistics(_arrays.table(dense(X, rows), codes[rows], part), classes, "column-moments")
        moments = found if moments is None else moments.merge(found) or moments
    return moments
