"""Logistic regression: scikit-learn's class, fitted and scored by deciban.

    minimise  C Σ wᵢ loss(yᵢ, xᵢ) + ½ ‖coef‖²        (the intercept is free)

has one optimum, so the solvers that scikit-learn has for it differ in their way alone: all of their names are
accepted, and deciban chooses its own way. `liblinear` penalises the intercept too: it is the weight of one more
column, which is constant.
"""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model as peer
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._logistic import _check_solver
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import column_or_1d

from .. import _core
from . import _arrays
from ._linear import LinearPredictions
from ._predictions import PEER, validated

#: What scikit-learn says when its solver has not come to an end.
WARNINGS = {
    "lbfgs": "lbfgs failed to converge after {0} iteration(s)",
    "newton-cg": "newton-cg failed to converge after {0} iterations. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {0} iterations.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge",
    "saga": "The max_iter was reached which means the coef_ did not converge",
}


#: Whether rows of single precision have weights of single precision.
KEEPS_SINGLE = PEER >= (1, 9)


class Unsupported(NotImplementedError, ValueError):
    """What scikit-learn's class can do and this one cannot."""


class LogisticRegression(LinearPredictions, peer.LogisticRegression):
    """Logistic and softmax regression with an l2 penalty, or none (``C=np.inf``).

    More than scikit-learn's: a prior for each prediction. Penalties with an l1 part raise `Unsupported`, which
    is a `ValueError` and a `NotImplementedError`.

    >>> from deciban.sklearn import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> model.predict([[1.9], [2.1]])
    array(['a', 'b'], dtype='<U1')
    >>> model.predict([[1.9], [2.1]], prior={"a": 0.1, "b": 0.9})
    array(['b', 'b'], dtype='<U1')
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Learns from labelled rows. With callbacks it is scikit-learn's own solver, which calls them."""
        if getattr(self, "_skl_callbacks", None):
            return self._fit_by_peer(X, y, sample_weight)
        decay = self._checked_decay()
        # As scikit-learn: these solvers refuse indices of 64 bits, and liblinear's weights are of 64.
        large = self.solver not in ("liblinear", "sag", "saga")
        dtypes = [np.float64] if self.solver == "liblinear" else [np.float64, np.float32]
        checks = {"dtype": dtypes, "accept_large_sparse": large, "ensure_all_finite": False}
        X, y = validated(self, X, y, True, accept_sparse="csr", **checks)
        _arrays.check_finite(self, X)
        classes, codes = _arrays.encode(y)
        k, width, dtype = len(classes), X.shape[1], X.dtype
        if k < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one"
                f" class: {classes[0]!r}"
            )
        self._check_multi_class(k)
        is_bent = self.solver == "liblinear" and self.fit_intercept
        if self.solver == "liblinear":
            X = self._for_liblinear(X, k)
        weight = self._row_weights(X, y, classes, codes, sample_weight)
        shares = np.bincount(codes, weights=weight, minlength=k)
        if np.count_nonzero(shares) < 2:
            raise ValueError("sample_weight and class_weight leave rows of one class only: two are needed")
        found = self._optimum(X, codes, weight, shares, decay, self.fit_intercept and not is_bent)
        coef, intercept = found["weights"], found["intercepts"]
        if is_bent:
            coef, intercept = coef[:, :width], coef[:, width] * self.intercept_scaling
        if k > 2:
            # Without a penalty only differences are determined; scikit-learn's sum to 0 over the classes.
            coef, intercept = coef - coef.mean(axis=0), intercept - intercept[shares > 0].mean()
        self.classes_ = classes
        kind = dtype if KEEPS_SINGLE else np.float64
        self.coef_, self.intercept_ = coef.astype(kind, copy=False), intercept.astype(kind, copy=False)
        self.n_iter_ = np.array([found["iterations"]], dtype=np.int32)
        with np.errstate(divide="ignore"):
            self._log_shares = np.log(shares / shares.sum())
        return self

    def _fit_by_peer(self, X, y, sample_weight):
        super().fit(X, y, sample_weight)
        codes = _arrays.encode_among(column_or_1d(y), self.classes_)
        weight = self._row_weights(X, y, self.classes_, codes, sample_weight)
        shares = np.bincount(codes, weights=weight, minlength=len(self.classes_))
        with np.errstate(divide="ignore"):
            self._log_shares = np.log(shares / shares.sum())
        return self

    def _checked_decay(self):
        """½ ‖coef‖² is multiplied with this; refuses, and warns of, what scikit-learn's class does."""
        penalty = self.penalty
        if PEER < (1, 8):
            self._warn_as_before(penalty)
        elif penalty == "deprecated":
            penalty = {0: "l2", None: "l2", 1: "l1"}.get(self.l1_ratio, "elasticnet")
            if self.l1_ratio is None:
                told = "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                warnings.warn(told + "Use 0<=l1_ratio<=1 instead.", FutureWarning)
            if self.C == np.inf:
                penalty = None
        else:
            told = "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave "
            warnings.warn(told + "'penalty' set to its default value and use 'l1_ratio' or 'C' instead.", FutureWarning)
            if penalty == "elasticnet" and self.l1_ratio is None:
                raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
            if penalty != "elasticnet" and self.l1_ratio is not None and 0 < self.l1_ratio < 1:
                warnings.warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
            if (penalty == "l2" and self.l1_ratio != 0) or (penalty == "l1" and self.l1_ratio != 1):
                warnings.warn(
                    f"Inconsistent values: penalty={penalty} with l1_ratio={self.l1_ratio}. penalty is deprecated. "
                    "Please use l1_ratio only."
                )
            if penalty is None and self.C != 1.0:
                warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters")
        _check_solver(self.solver, penalty, self.dual)
        if penalty not in ("l2", None):
            raise Unsupported(f"deciban has no {penalty} penalty: take scikit-learn's LogisticRegression for it")
        if self.n_jobs is not None and PEER >= (1, 8):
            told = "'n_jobs' has no effect since 1.8 and will be removed in 1.10. "
            warnings.warn(told + f"You provided 'n_jobs={self.n_jobs}', please leave it unspecified.", FutureWarning)
        return 0.0 if penalty is None else 1.0 / self.C

    def _warn_as_before(self, penalty):
        """What scikit-learn's class says of its parameters before version 1.8."""
        if penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
        if penalty != "elasticnet" and self.l1_ratio is not None:
            warnings.warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
        if penalty is None and self.C != 1.0:
            warnings.warn("Setting penalty=None will ignore the C and l1_ratio parameters")
        if self.multi_class != "deprecated":
            warnings.warn("'multi_class' was deprecated in version 1.5 and will be removed in 1.8.", FutureWarning)

    def _check_multi_class(self, classes):
        """Before version 1.8: one model against the rest for each class, or a softmax of two, is not to be had."""
        asked = getattr(self, "multi_class", "deprecated")
        if (asked == "ovr" and classes > 2) or (asked == "multinomial" and classes == 2):
            raise Unsupported(f"deciban has no multi_class={asked!r} for {classes} classes: leave it unspecified")

    def _for_liblinear(self, X, classes):
        if classes > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use "
                "another solver or wrap the estimator in a OneVsRestClassifier to keep applying a one-versus-rest "
                "scheme."
            )
        if X.max() > 1e30:
            raise ValueError(
                "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a frozen fit. "
                "Please choose another solver or rescale the input X."
            )
        if not self.fit_intercept:
            return X
        ones = np.full((X.shape[0], 1), self.intercept_scaling, dtype=X.dtype)
        return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])

    def _row_weights(self, X, y, classes, codes, sample_weight):
        weight = _arrays.weights(sample_weight, X)
        if self.class_weight is None:
            return weight
        # Before version 1.7 classes are balanced by their rows alone.
        weighted = {} if PEER < (1, 7) else {"sample_weight": weight}
        factors = compute_class_weight(self.class_weight, classes=classes, y=y, **weighted)
        return factors[codes] if weight is None else weight * factors[codes]

    def _optimum(self, X, codes, weight, shares, decay, intercept):
        if np.all(shares > 0):
            return self._descend(_arrays.table(X, codes, weight), len(shares), X.shape[1], decay, intercept)
        # A class without weight is impossible: its intercept is −∞, and its weights are 0.
        kept, alive = shares[codes] > 0, np.flatnonzero(shares)
        places = np.searchsorted(alive, codes[kept]).astype(np.uint32)
        table = _arrays.table(X[kept], places, None if weight is None else weight[kept])
        # Two classes have one row of weights here and two there, where each bears half of the penalty.
        halves = len(alive) == 2
        found = self._descend(table, len(alive), X.shape[1], decay / 2 if halves else decay, intercept)
        weights, intercepts = np.zeros((len(shares), X.shape[1])), np.full(len(shares), -np.inf)
        half = lambda a: np.stack([-a[0] / 2, a[0] / 2]) if halves else a  # noqa: E731
        weights[alive], intercepts[alive] = half(found["weights"]), half(found["intercepts"])
        return {**found, "weights": weights, "intercepts": intercepts}

    def _descend(self, table, classes, width, decay, intercept):
        outputs = 1 if classes == 2 else classes
        if self.max_iter == 0:
            found = {"weights": np.zeros((outputs, width)), "intercepts": np.zeros(outputs)}
            found.update(iterations=0, converged=False)
        else:
            # scikit-learn looks at the gradient of the mean loss, as deciban does.
            start = self._start(outputs)
            found = _core.fit_logistic(
                table, classes, decay, "auto", max(self.tol, 1e-14), self.max_iter, intercept, start
            )
        if not found["converged"] and found["iterations"] >= self.max_iter:
            told = WARNINGS[self.solver].format(found["iterations"])
            warnings.warn(f"{told} (max_iter={self.max_iter}): more iterations may help.", ConvergenceWarning)
        return found

    def _start(self, outputs):
        """The weights of the last fit, column after column, if they are to start from."""
        if not self.warm_start or not hasattr(self, "coef_") or self.solver == "liblinear":
            return None
        if self.coef_.shape != (outputs, self.n_features_in_):
            raise ValueError(f"warm_start: the last fit had weights of shape {self.coef_.shape}, not {outputs} rows")
        return np.concatenate([self.coef_.T.ravel(), self.intercept_]).astype(np.float64).tolist()

    def _own_log_prior(self):
        return self._log_shares

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags
