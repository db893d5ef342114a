"""Naive Bayes of counts and flags: scikit-learn's classes, counted and scored by deciban."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from sklearn import naive_bayes as peer
from sklearn.base import _fit_context
from sklearn.utils.validation import assert_all_finite, check_non_negative, validate_data

from .. import _core
from . import _arrays
from ._predictions import Predictions, classes_of_parts, scorer, validated


@contextmanager
def all_or_nothing(model):
    """Rows that cannot be counted leave the model as it was."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


class Counted(Predictions):
    """Shared by the four: rows are counted by class, counts become weights, weights score.

    The attributes of scikit-learn's classes hold the counts, so `partial_fit` adds to them, and its own
    methods finish: `_check_alpha`, `_update_feature_log_prob`, `_update_class_log_prior`.
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows."""
        with all_or_nothing(self):
            X, y = self._check_X_y(X, y)
            self.classes_, codes = _arrays.encode(y)
            self._init_counters(len(self.classes_), X.shape[1])
            self._count_rows(X, codes, _arrays.weights(sample_weight, X))
        return self._finish()

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds labelled rows; the first call names all classes."""
        with all_or_nothing(self):
            is_first = not hasattr(self, "classes_")
            X, y = self._check_X_y(X, y, reset=is_first)
            classes = classes_of_parts(self, is_first, classes)
            codes = _arrays.encode_among(y, classes)
            if is_first:
                self.classes_ = classes
                self._init_counters(len(classes), X.shape[1])
            self._count_rows(X, codes, _arrays.weights(sample_weight, X))
        return self._finish()

    SPARSE = True

    def _check_X(self, X):
        return validate_data(self, X, accept_sparse="csr", reset=False, ensure_all_finite=False)

    def _check_X_y(self, X, y, reset=True):
        # Cells are checked while they are counted.
        return validated(self, X, y, reset, accept_sparse="csr", ensure_all_finite=False)

    def _finish(self):
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)
        return self

    def _count_rows(self, X, codes, sample_weight):
        try:
            self._count_known(X, codes, sample_weight)
        except ValueError:
            # What is no count is found while it is counted; scikit-learn says it in its own words.
            self._refuse(X)
            if has_missing(X):
                return self._count_rows(known(X), codes, sample_weight)
            check_non_negative(X, f"{type(self).__name__} (input X)")
            raise

    def _count_known(self, X, codes, sample_weight):
        found = _core.Statistics(_arrays.table(X, codes, sample_weight), len(self.classes_), "multinomial")
        self.feature_count_ += found.counts(X.shape[1])
        self.class_count_ += found.weights()

    def _scorer(self, is_sparse):
        classes = len(self.classes_)
        return scorer(self, None, lambda w: _core.Scorer.linear(w, None, classes, True), self.feature_log_prob_)

    def _refuse(self, X):
        allow_nan = not sp.issparse(X)
        assert_all_finite(X, allow_nan=allow_nan, estimator_name=type(self).__name__, input_name="X")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        tags.input_tags.allow_nan = True
        return tags


def has_missing(X):
    """Whether there is a NaN."""
    return not sp.issparse(X) and X.dtype.kind == "f" and np.isnan(X.sum())


def known(X):
    """The counts with 0 for those that are missing: neither says anything."""
    return np.nan_to_num(X, nan=0.0) if has_missing(X) else X


class MultinomialNB(Counted, peer.MultinomialNB):
    """Multinomial naive Bayes of counts.

    More than scikit-learn's: counts may be missing (NaN), and a prior may be given to each prediction.

    >>> from deciban.sklearn import MultinomialNB
    >>> model = MultinomialNB().fit([[3, 0], [1, 2]], ["spam", "ham"])
    >>> model.predict([[2, 0]])
    array(['spam'], dtype='<U4')
    """


class ComplementNB(Counted, peer.ComplementNB):
    """Complement naive Bayes of counts.

    More than scikit-learn's: counts may be missing (NaN). As there, a prior speaks only where there is one
    class; one that is given to a prediction is added to the scores.

    >>> from deciban.sklearn import ComplementNB
    >>> ComplementNB().fit([[3, 0], [1, 2]], [0, 1]).predict([[0, 2]])
    array([1])
    """

    def _count_rows(self, X, codes, sample_weight):
        super()._count_rows(X, codes, sample_weight)
        self.feature_all_ = self.feature_count_.sum(axis=0)

    def _own_log_prior(self):
        return self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))


class BernoulliNB(Counted, peer.BernoulliNB):
    """Bernoulli naive Bayes of flags, present or absent.

    More than scikit-learn's: flags may be missing (NaN), and a prior may be given to each prediction.

    >>> from deciban.sklearn import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1])
    >>> model.predict([[1, 1], [0, 1]])
    array([0, 1])
    """

    #: The weight of the missing flags of each class and column.
    _missing = 0.0

    def _init_counters(self, n_classes, n_features):
        super()._init_counters(n_classes, n_features)
        self._missing = 0.0

    def _check_X_y(self, X, y, reset=True):
        X, y = super()._check_X_y(X, y, reset)
        if sp.issparse(X):
            _arrays.check_finite(self, X)
        else:
            self._refuse(X)
        return X, y

    def _flags(self, X):
        """1 where a cell is above the threshold; missing is absent here."""
        if self.binarize is None:
            return known(X)
        if sp.issparse(X):
            # Cells that are not stored are 0: present, if the threshold is below.
            if self.binarize < 0:
                raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
            X = _arrays.canonical(X)
            flags = (X.data > self.binarize).view(np.uint8)
            flags = sp.csr_matrix((flags, X.indices, X.indptr), shape=X.shape)
            flags.has_canonical_format = True
            return flags
        return (X > self.binarize).view(np.uint8)

    def _count_rows(self, X, codes, sample_weight):
        self._count_known(self._flags(X), codes, sample_weight)
        if has_missing(X):
            missing = np.isnan(X).astype(np.float64)
            table = _arrays.table(missing, codes, sample_weight)
            self._missing = self._missing + _core.Statistics(table, len(self.classes_), "multinomial").counts(X.shape[1])

    def _update_feature_log_prob(self, alpha):
        present = self.feature_count_ + alpha
        rows = self.class_count_.reshape(-1, 1) - self._missing + alpha * 2
        with np.errstate(divide="ignore"):
            self.feature_log_prob_ = np.log(present) - np.log(rows)

    def _scorer(self, is_sparse):
        if self.binarize is None:
            classes = len(self.classes_)
            return scorer(self, None, lambda p: _core.Scorer.linear(*log_odds(p), classes, True), self.feature_log_prob_)
        # Cells that are not stored are 0: present, if the threshold is below.
        if is_sparse and self.binarize < 0:
            raise ValueError("Cannot binarize a sparse matrix with threshold < 0")
        threshold = float(self.binarize)
        make = lambda p: _core.Scorer.bernoulli(p, threshold, is_sparse)  # noqa: E731
        return scorer(self, (threshold, is_sparse), make, self.feature_log_prob_)

    def _write(self, scorer, X, shift, output):
        # Cells of a column that occurs twice in a row add up before they are compared.
        return super()._write(scorer, _arrays.canonical(X) if sp.issparse(X) else X, shift, output)


def log_odds(log_present):
    """Weights and bias of flags as numbers: ln p − ln(1 − p), and Σ ln(1 − p) of each class."""
    with np.errstate(divide="ignore"):
        absent = np.log1p(-np.exp(log_present))
    return log_present - absent, absent.sum(axis=1)
