"""Naive Bayes of categories: scikit-learn's class, counted and scored by deciban."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes as peer
from sklearn.utils.validation import validate_data

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
        # The method looks for the highest code of each column.
        highest = np.array([X.levels], dtype=np.int64) - 1
        self.n_categories_ = self._validate_n_categories(highest, self.min_categories)
        found = _core.Statistics(table(X, codes, sample_weight), len(self.classes_), "categorical")
        self.class_count_ += found.weights()
        for j, width in enumerate(self.n_categories_):
            counts = self.category_count_[j]
            width = int(max(width, counts.shape[1]))
            self.category_count_[j] = np.pad(counts, [(0, 0), (0, width - counts.shape[1])])
            self.category_count_[j] += found.level_counts(j, width)

    def _write(self, X, log_prior, output):
        for j, (found, log_p) in enumerate(zip(X.levels, self.feature_log_prob_)):
            if found > log_p.shape[1]:
                raise IndexError(
                    f"column {j} has category {found - 1}, and fit knows {log_p.shape[1]}: give min_categories"
                )
        out = np.empty((X.shape[0], len(self.classes_)))
        scorer = _core.Scorer.categorical([np.ascontiguousarray(log_p) for log_p in self.feature_log_prob_])
        scorer.write(table(X), out, list(log_prior), output)
        return out


def table(X, codes=None, sample_weight=None):
    """A table of coded categories."""
    result = _core.Table(X.shape[0], codes, sample_weight)
    result.add_code_matrix("x", X)
    return result


#: What stands for a missing code on the way to the core: no array of codes has it.
MISSING = np.iinfo(np.int64).min


def coded(X):
    """The categories as the core reads them; NaN is a missing one."""
    if X.dtype.kind == "f" and np.isnan(X.sum()):
        missing = np.isnan(X)
        X = np.where(missing, MISSING, np.where(missing, 0, X).astype(np.int64))
    elif X.dtype.kind not in "iu":
        X = X.astype(np.int64)
    codes = _core.Codes.of(_arrays.readable(X))
    if codes is None:
        raise ValueError("Negative values in data passed to CategoricalNB (input X)")
    return codes
