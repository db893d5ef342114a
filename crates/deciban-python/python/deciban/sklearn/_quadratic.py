"""Quadratic discriminant analysis: scikit-learn's class, fitted from one pass of moments."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from sklearn import discriminant_analysis as peer
from sklearn.base import _fit_context
from sklearn.utils.validation import validate_data

from .. import _core
from ._moments import FitFromMoments, shrunk
from ._predictions import PEER, Predictions, scorer


class QuadraticDiscriminantAnalysis(FitFromMoments, Predictions, peer.QuadraticDiscriminantAnalysis):
    """Quadratic discriminant analysis.

    More than scikit-learn's: `sample_weight`, `partial_fit`, and a prior for each prediction. What moments
    cannot give (`shrinkage="auto"`, a `covariance_estimator`) is left to scikit-learn's own fit.

    >>> from deciban.sklearn import QuadraticDiscriminantAnalysis
    >>> X, y = [[0.0], [2.0], [4.0], [8.0]], ["a", "a", "b", "b"]
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y, sample_weight=[1, 1, 2, 2])
    >>> model.predict([[1.5], [3.0]])
    array(['a', 'b'], dtype='<U1')
    """

    CHECKS = {}
    LEAST = 2

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows."""
        if not self._is_from_moments("sample_weight" if sample_weight is not None else None):
            return super().fit(X, y)
        return self._fit(X, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds labelled rows; the first call names all classes."""
        self._is_from_moments("partial_fit")
        return self._add(X, y, classes, sample_weight)

    def _finish(self, classes, rows, weight, means, scatters):
        if len(classes) < 2:
            raise ValueError(
                "The number of classes has to be greater than one, not counting rows with sample_weight 0. "
                f"Got {len(classes)} class."
            )
        # Before version 1.8 there is one solver.
        solver, shrinkage = getattr(self, "solver", "svd"), getattr(self, "shrinkage", None)
        if solver == "svd" and shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        covariances, scalings, rotations = [], [], []
        for c, label in enumerate(classes):
            if rows[c] == 1:
                raise ValueError(f"y has only 1 sample in class {label}, covariance is ill defined.")
            # Before version 1.8 the covariance is the unbiased one.
            covariance = scatters[c] / (weight[c] - (PEER < (1, 8)))
            if solver == "eigen" and shrinkage is not None:
                covariance = shrunk(covariance, shrinkage)
            values, vectors = linalg.eigh(covariance)
            values, vectors = values[::-1], vectors[:, ::-1]
            if solver == "svd":
                values = (1 - self.reg_param) * np.maximum(values, 0.0) + self.reg_param
            self._check_rank(solver, label, int(rows[c]), values)
            covariances.append((vectors * values) @ vectors.T)
            scalings.append(values)
            rotations.append(vectors)
        self.priors_ = weight / weight.sum() if self.priors is None else np.array(self.priors)
        self.means_, self.scalings_, self.rotations_ = means, scalings, rotations
        if self.store_covariance:
            self.covariance_ = covariances

    def _check_rank(self, solver, label, rows, values):
        short = solver == "svd" and rows <= len(values)
        if np.all(values > self.tol) and not (short and self.reg_param > 0):
            return
        told = f"The covariance matrix of class {label} is not full rank."
        if short:
            raise linalg.LinAlgError(
                f"{told} When using `solver='svd'` the number of samples in each class should be more than the "
                f"number of features, but class {label} has {rows} samples and {len(values)} features. Try using "
                "`solver='eigen'` and setting the parameter `shrinkage` for regularization."
            )
        option = "shrinkage" if solver == "eigen" else "reg_param"
        raise linalg.LinAlgError(f"{told} Increase the value of `{option}` to reduce the collinearity.")

    def _check_X(self, X):
        return validate_data(self, X, reset=False, ensure_all_finite=False)

    def _own_log_prior(self):
        with np.errstate(divide="ignore"):
            return np.log(self.priors_, dtype=np.float64)

    def _scorer(self, is_sparse):
        return scorer(self, None, _core.Scorer.gaussian, self.means_, *self.rotations_, *self.scalings_)

    def _write(self, scorer, X, shift, output):
        if output == "decision":
            # scikit-learn leaves the constant of the density out.
            shift = shift + 0.5 * X.shape[1] * np.log(2 * np.pi)
        return super()._write(scorer, X, shift, output)

    def decision_function(self, X):
        """log p(x | class) + log prior, without the constant of the density; of two classes the difference."""
        return self._predict(X, None, "decision")
