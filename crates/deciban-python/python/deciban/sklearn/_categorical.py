"""Naive Bayes of categories: scikit-learn's class, counted and scored by deciban."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes as peer
from sklearn.utils.validation import check_non_negative, validate_data

from .. import _core
from . import _arrays
from ._discrete import Counted
from ._predictions import scorer, validated


class CategoricalNB(Counted, peer.CategoricalNB):
    """Naive Bayes of categories, coded 0, 1, 2, ...

    More than scikit-learn's: cells that are missing (NaN) say nothing, in fit and in prediction, and a prior
    may be given to each prediction.

    >>> from deciban.sklearn import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 2], [1, 2], [1, 0]], ["a", "b", "b"])
    >>> model.predict([[0, 2], [float("nan"), 0]])
    array(['a', 'b'], dtype='<U1')
    """

    SPARSE = False
    CHECKS = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}

    def _check_X(self, X):
        return validate_data(self, X, reset=False, **self.CHECKS)

    def _check_X_y(self, X, y, reset=True):
        X, y = validated(self, X, y, reset, **self.CHECKS)
        return coded(X), y

    def _count_rows(self, X, codes, sample_weight):
        try:
            found = _core.Statistics(_arrays.table(X, codes, sample_weight), len(self.classes_), "categorical")
        except ValueError:
            check_non_negative(X, f"{type(self).__name__} (input X)")
            raise
        # The method looks for the highest code of each column.
        highest = np.array([found.levels()], dtype=np.int64) - 1
        self.n_categories_ = self._validate_n_categories(highest, self.min_categories)
        self.class_count_ += found.weights()
        for j, width in enumerate(self.n_categories_):
            counts = self.category_count_[j]
            more = int(width) - counts.shape[1]
            if more > 0:
                counts = np.hstack([counts, np.zeros((len(counts), more))])
            self.category_count_[j] = counts + found.level_counts(j, counts.shape[1])

    def _scorer(self, is_sparse):
        return scorer(self, None, _core.Scorer.categorical, *self.feature_log_prob_)

    def _write(self, scorer, X, shift, output):
        try:
            return super()._write(scorer, X, shift, output)
        except ValueError:
            whole = coded(X)
            if np.array_equal(whole, X, equal_nan=whole.dtype.kind == "f"):
                raise
        return super()._write(scorer, whole, shift, output)

    def _refuse(self, X):
        super()._refuse(X)
        X = coded(X)
        check_non_negative(X, f"{type(self).__name__} (input X)")
        for j, log_p in enumerate(self.feature_log_prob_):
            known, highest = log_p.shape[1], np.nanmax(X[:, j])
            if highest >= known:
                told = f"column {j} has category {highest:.0f}, and fit knows {known}: give min_categories"
                raise IndexError(told)


def coded(X):
    """The categories as the core reads them: whole numbers; NaN is missing."""
    return np.trunc(X) if X.dtype.kind == "f" else X
