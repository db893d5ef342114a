"""Linear discriminant analysis: scikit-learn's class, fitted from one pass of moments.

With n_c, m_c and S_c the weight, mean and scatter of a class, π the priors and n = Σ n_c, solvers work on

    S_w = Σ_c π_c S_c / n_c                               (within classes)
    S_t = Σ_c (S_c + n_c (m_c − m)(m_c − m)ᵀ) / n         (of all rows)
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg
from sklearn import discriminant_analysis as peer
from sklearn.base import _fit_context

from .. import _core
from ._linear import LinearPredictions
from ._moments import FitFromMoments, shrunk
from ._predictions import DOUBLE, PEER, SINGLE, scorer


class LinearDiscriminantAnalysis(FitFromMoments, LinearPredictions, peer.LinearDiscriminantAnalysis):
    """Linear discriminant analysis.

    More than scikit-learn's: `sample_weight`, `partial_fit`, and a prior for each prediction. What moments
    cannot give (`shrinkage="auto"`, a `covariance_estimator`) is left to scikit-learn's own fit.

    >>> from deciban.sklearn import LinearDiscriminantAnalysis
    >>> model = LinearDiscriminantAnalysis().fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
    >>> model.predict([[2.4], [2.6]])
    array([0, 1])
    >>> model.predict([[2.4], [2.6]], prior=[0.1, 0.9])
    array([1, 1])
    """

    SPARSE = False
    CHECKS = {"ensure_min_samples": 2, "dtype": [np.float64, np.float32]}
    LEAST = 1

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows."""
        if not self._is_from_moments("sample_weight" if sample_weight is not None else None):
            return super().fit(X, y)
        return self._fit(X, y, sample_weight)

    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds labelled rows; the first call names all classes."""
        self._is_from_moments("partial_fit")
        return self._add(X, y, classes, sample_weight)

    def _finish(self, classes, rows, weight, means, scatters):
        if rows.sum() == len(classes):
            raise ValueError("The number of samples must be more than the number of classes.")
        self.priors_ = self._checked_priors(weight / weight.sum())
        most = min(len(classes) - 1, means.shape[1])
        if self.n_components is not None and self.n_components > most:
            raise ValueError("n_components cannot be larger than min(n_features, n_classes - 1).")
        self._max_components = most if self.n_components is None else self.n_components
        if self.solver == "svd" and self.shrinkage is not None:
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        self.means_ = means
        solve = self._solve_whitened if self.solver == "svd" else self._solve_covariance
        solve(weight, scatters)
        if len(classes) == 2:
            self.coef_ = self.coef_[1:] - self.coef_[:1]
            self.intercept_ = self.intercept_[1:] - self.intercept_[:1]
        self._n_features_out = self._max_components

    def _checked_priors(self, empirical):
        priors = empirical if self.priors is None else np.asarray(self.priors, dtype=np.float64)
        if (priors < 0).any():
            raise ValueError("priors must be non-negative")
        if abs(priors.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning)
            priors = priors / priors.sum()
        return priors

    def _solve_whitened(self, weight, scatters):
        """The solver `svd`: whiten the rows within classes, then rotate to the spread of the means."""
        n, k = weight.sum(), len(weight)
        if self.store_covariance:
            self.covariance_ = np.tensordot(self.priors_ / weight, scatters, 1)
        self.xbar_ = self.priors_ @ self.means_
        within = scatters.sum(axis=0) / n
        std = np.sqrt(np.diag(within))
        std[std == 0] = 1.0
        # The eigenvalues of the correlations are the squared singular values of the scaled rows.
        values, vectors = linalg.eigh(within / np.outer(std, std))
        if PEER < (1, 9):
            values = values * n / (n - k)  # the unbiased covariance
        singular = np.sqrt(np.maximum(values[::-1], 0.0))
        rank = int(np.sum(singular > self.tol))
        scalings = vectors[:, ::-1][:, :rank] / std[:, None] / singular[:rank]
        spread = np.sqrt(n * self.priors_ / max(k - 1, 1))[:, None] * (self.means_ - self.xbar_)
        _, s, vt = linalg.svd(spread @ scalings, full_matrices=False)
        total = np.sum(s**2)
        self.explained_variance_ratio_ = (s**2 / total if total > 0 else s)[: self._max_components]
        rank = int(np.sum(s > self.tol * s[0])) if len(s) else 0
        self.scalings_ = scalings @ vt.T[:, :rank]
        coef = (self.means_ - self.xbar_) @ self.scalings_
        self.coef_ = coef @ self.scalings_.T
        self.intercept_ = -0.5 * np.sum(coef**2, axis=1) + np.log(self.priors_) - self.coef_ @ self.xbar_

    def _solve_covariance(self, weight, scatters):
        """The solvers `lsqr` and `eigen`, on covariance matrices."""
        gamma = 0.0 if self.shrinkage is None else self.shrinkage
        self.covariance_ = sum(p * shrunk(s / n, gamma) for p, s, n in zip(self.priors_, scatters, weight))
        if self.solver == "lsqr":
            self.coef_ = linalg.lstsq(self.covariance_, self.means_.T)[0].T
        else:
            n = weight.sum()
            offset = self.means_ - weight @ self.means_ / n
            total = shrunk((scatters.sum(axis=0) + (offset.T * weight) @ offset) / n, gamma)
            values, vectors = linalg.eigh(total - self.covariance_, self.covariance_)
            order = np.argsort(values)[::-1]
            self.explained_variance_ratio_ = (values / values.sum())[order][: self._max_components]
            self.scalings_ = vectors[:, order]
            self.coef_ = self.means_ @ self.scalings_ @ self.scalings_.T
        self.intercept_ = -0.5 * np.einsum("ij,ij->i", self.means_, self.coef_) + np.log(self.priors_)

    def _narrow(self):
        # As scikit-learn: covariances stay in double precision, and what more than two classes derive from them.
        narrow = ["means_", "priors_"]
        if self.solver == "svd":
            narrow += ["xbar_", "scalings_", "explained_variance_ratio_", "covariance_"]
        if self.solver == "svd" or len(self.coef_) == 1:
            narrow += ["coef_", "intercept_"]
        for name in narrow:
            if hasattr(self, name):
                setattr(self, name, getattr(self, name).astype(np.float32))

    def transform(self, X):
        """The rows in the directions that tell the classes apart best."""
        directions = min(self._max_components, self.scalings_.shape[1]) if hasattr(self, "scalings_") else 0
        if self.solver == "lsqr" or directions == 0:
            # There are no directions, or there is an error, which is said in scikit-learn's words.
            return super().transform(X)
        if not self._is_plain(X):
            X = self._check_X(X)
        # The solver `eigen` leaves the rows where they are.
        centre = [self.xbar_] if self.solver == "svd" else []
        make = lambda s, c=None: _core.Scorer.projection(s, c, directions)  # noqa: E731
        found = scorer(self, ("transform", directions), make, self.scalings_, *centre)
        dtype = SINGLE if X.dtype is SINGLE and self.scalings_.dtype is SINGLE else DOUBLE
        return self._fill(np.empty((X.shape[0], directions), dtype), found, X, None, "joint")

    def _own_log_prior(self):
        with np.errstate(divide="ignore"):
            return np.log(self.priors_, dtype=np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags
