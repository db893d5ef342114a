"""Naive Bayes of categories: scikit-learn's class, counted and scored by deciban."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes as peer
from sklearn.utils.validation import check_non_negative, validate_data

from .. import _core
from . import _arrays
from ._discrete import Counted


class CategoricalNB(Counted, peer.CategoricalNB):
    """Naive Bayes of categories, coded 0, 1, 2, ...

    More than scikit-learn's: cells that are missing (NaN) say nothing, in fit and in prediction, and a prior
    may be given to each prediction.

    >>> from deciban.sklearn import CategoricalNB
    >>> model = CategoricalNB().fit([[0, 2], [1, 2], [1, 0]], ["a", "b", "b"])
    >>> model.predict([[0, 2], [float("nan"), 0]])
    array(['a', 'b'], dtype='<U1')
    """

    CHECKS = {"dtype": "numeric", "ensure_all_finite": "allow-nan"}

    def _check_X(self, X):
        return coded(validate_data(self, X, reset=False, **self.CHECKS))

    def _check_X_y(self, X, y, reset=True):
        X, y = validate_data(self, X, y, reset=reset, **self.CHECKS)
        return coded(X), y

    def _count_rows(self, X, codes, sample_weight):
        try:
            found = _core.Statistics(_arrays.table(X, codes, sample_weight), len(self.classes_), "categorical")
        except ValueError:
            self._refuse(X)
            raise
        # The method looks for the highest code of each column.
        highest = np.array([found.levels()], dtype=np.int64) - 1
        self.n_categories_ = self._validate_n_categories(highest, self.min_categories)
        self.class_count_ += found.weights()
        for j, width in enumerate(self.n_categories_):
            counts = self.category_count_[j]
            width = int(max(width, counts.shape[1]))
            self.category_count_[j] = np.pad(counts, [(0, 0), (0, width - counts.shape[1])])
            self.category_count_[j] += found.level_counts(j, width)

    def _write(self, X, log_prior, output):
        out = np.empty((X.shape[0], len(self.classes_)))
        scorer = _core.Scorer.categorical([np.ascontiguousarray(log_p) for log_p in self.feature_log_prob_])
        try:
            scorer.write(_arrays.table(X), out, list(log_prior), output)
        except ValueError:
            self._refuse(X)
            for j, log_p in enumerate(self.feature_log_prob_):
                known, highest = log_p.shape[1], np.nanmax(X[:, j])
                if highest >= known:
                    raise IndexError(
                        f"column {j} has category {highest:.0f}, and fit knows {known}: give min_categories"
                    ) from None
            raise
        return out

    def _refuse(self, X):
        """scikit-learn's words for what the core has refused."""
        check_non_negative(X, f"{type(self).__name__} (input X)")


def coded(X):
    """The categories as the core reads them: whole numbers; NaN is missing."""
    return np.trunc(X) if X.dtype.kind == "f" else X
