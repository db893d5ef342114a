"""What every drop-in derives from its scores, under its own prior or another."""

from __future__ import annotations

import weakref

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.utils.validation import assert_all_finite, check_is_fitted, validate_data

from . import _arrays


def log_prior(own, prior, classes):
    """The log-prior of a prediction: `prior` if given (an array, or a mapping from labels), else the model's own."""
    if prior is None:
        return own
    if hasattr(prior, "keys"):
        strange = [label for label in prior if label not in classes.tolist()]
        if strange:
            raise ValueError(f"prior: there is no class {strange[0]!r}, only {classes.tolist()}")
        prior = [prior.get(label, 0.0) for label in classes.tolist()]
    prior = np.asarray(prior, dtype=np.float64)
    # NaN fails the comparison, and so does infinity.
    if prior.shape != (len(classes),) or not np.all(prior >= 0) or not abs(prior.sum() - 1.0) < 1e-6:
        raise ValueError(f"prior needs a probability for each of {len(classes)} classes, and they must sum to 1")
    with np.errstate(divide="ignore"):
        return np.log(prior)


#: The version of scikit-learn.
PEER = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

#: The scorers of fitted models. They are made at the first prediction, and hold the arrays of the model.
SCORERS = weakref.WeakKeyDictionary()

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
#: Numbers that are scored as they are.
PLAIN = frozenset(map(np.dtype, (np.float64, np.float32, np.int64, np.int32, np.uint8)))
#: Labels that are written as the 64 bits they are.
WHOLE = frozenset(map(np.dtype, (np.int64, np.uint64, np.float64)))


def scorer(model, key, make, *arrays):
    """The model's scorer of this key, made again where its arrays, or what they hold, are no longer the same."""
    kept = SCORERS.get(model)
    if kept is None:
        kept = SCORERS[model] = {}
    found = kept.get(key)
    if found is None or not found.is_of(arrays):
        try:
            found = kept[key] = make(*arrays)
        except TypeError:  # lists, or numbers of another type, that somebody has put there
            return make(*(np.ascontiguousarray(array, np.float64) for array in arrays))
    return found


def readable(X):
    """The array as the core reads it, which is as it is for most."""
    is_plain = X.dtype in PLAIN and X.flags.c_contiguous and X.flags.aligned
    return X if is_plain else _arrays.in_step(X)


class Predictions:
    """What is derived from scores.

    Subclasses have `_scorer(is_sparse)` and `_check_X`, scikit-learn's validation. An array that passes as it is
    (of numbers, with as many columns as fit has seen, none of which has a name) is not sent through it.
    """

    #: Whether compressed rows are scored as they are.
    SPARSE = False

    def _own_log_prior(self):
        return self.class_log_prior_

    def _shift(self, prior):
        """What is added to the scores: the log-prior."""
        return log_prior(self._own_log_prior(), prior, self.classes_)

    def _output_type(self, X):
        """Whether rows of single precision have posteriors of single precision."""
        return DOUBLE

    def _is_plain(self, X):
        """Whether scikit-learn's validation would give X back as it is, but for cells that are not finite."""
        kind = type(X)
        is_array = kind is np.ndarray or (self.SPARSE and (kind is sp.csr_matrix or kind is sp.csr_array))
        return (
            is_array
            and X.ndim == 2
            and X.dtype in PLAIN
            and X.shape[0] > 0
            and X.shape[1] == getattr(self, "n_features_in_", -1)
            and not hasattr(self, "feature_names_in_")
        )

    def _predict(self, X, prior, output):
        is_plain = self._is_plain(X)
        if not is_plain:
            check_is_fitted(self)
            X = self._check_X(X)
        try:
            scorer = self._scorer(sp.issparse(X))
            shift = self._shift(prior)
        except AttributeError:
            check_is_fitted(self)
            raise
        return self._write(scorer, X, shift, output)

    def _write(self, scorer, X, shift, output):
        rows, classes = X.shape[0], self.classes_
        shift = None if shift is None else shift.tolist()
        if output != "class":
            shape = rows if output == "decision" and len(classes) == 2 else (rows, len(classes))
            return self._fill(np.empty(shape, self._output_type(X)), scorer, X, shift, output)
        if classes.dtype in WHOLE:
            out = np.empty(rows, classes.dtype)
            labels = np.ascontiguousarray(classes).view(np.int64)
            self._fill(out.view(np.int64), scorer, X, shift, output, labels)
            return out
        return classes[self._fill(np.empty(rows, np.int64), scorer, X, shift, output)]

    def _fill(self, out, scorer, X, shift, output, labels=None):
        try:
            if sp.issparse(X):
                is_sound = scorer.write_sparse(X.indptr, X.indices, X.data, X.shape[1], out, shift, output, labels)
            else:
                is_sound = scorer.write(readable(X), out, shift, output, labels)
        except ValueError:
            self._refuse(X)
            raise
        if not is_sound:
            self._refuse(X)
        return out

    def _refuse(self, X):
        """scikit-learn's words for rows that cannot be scored."""
        assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    def predict_joint_log_proba(self, X, prior=None):
        """log p(x | class) + log prior."""
        return self._predict(X, prior, "joint")

    def predict_log_proba(self, X, prior=None):
        """log p(class | x), under another prior if one is given."""
        return self._predict(X, prior, "log")

    def predict_proba(self, X, prior=None):
        """p(class | x), under another prior if one is given."""
        return self._predict(X, prior, "probability")

    def predict(self, X, prior=None):
        """The most probable class of each row, under another prior if one is given."""
        return self._predict(X, prior, "class")


def validated(model, X, y, reset, **checks):
    """Labelled rows, after scikit-learn's validation. With `reset`, its attributes of columns are set.

    Arrays that pass as they are are not sent through it: it takes longer than learning a few rows.
    """
    kinds = checks.get("dtype")
    is_plain = (
        (type(X) is np.ndarray and X.ndim == 2 and X.shape[1] > 0 if reset else model._is_plain(X))
        and X.dtype in (kinds if isinstance(kinds, list) else (DOUBLE, SINGLE))
        and type(y) is np.ndarray
        and y.ndim == 1
        and y.dtype.kind in "iu"
        and len(y) == X.shape[0]
        and len(y) >= checks.get("ensure_min_samples", 1)
    )
    if not is_plain:
        return validate_data(model, X, y, reset=reset, **checks)
    if reset:
        model.n_features_in_ = X.shape[1]
        vars(model).pop("feature_names_in_", None)
    if checks["ensure_all_finite"]:
        assert_all_finite(X, allow_nan=True, estimator_name=type(model).__name__, input_name="X")
    return X, y


def classes_of_parts(model, is_first, classes):
    """The classes of a `partial_fit`: the first call must name them, others may only repeat them."""
    if is_first and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    if is_first:
        return np.unique(classes)
    if isinstance(classes, list) and classes == model.classes_.tolist():
        return model.classes_
    if classes is not None and not np.array_equal(model.classes_, np.unique(classes)):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {model.classes_!r}"
        )
    return model.classes_
