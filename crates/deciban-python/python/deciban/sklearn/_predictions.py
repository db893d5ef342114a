"""What every drop-in derives from its scores, under its own prior or another."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted


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


class Predictions:
    """Subclasses have `_write(X, log_prior, output)`, which fills rows × classes, and `_check_X`."""

    def _own_log_prior(self):
        return self.class_log_prior_

    def _predict(self, X, prior, output):
        check_is_fitted(self)
        return self._write(self._check_X(X), log_prior(self._own_log_prior(), prior, self.classes_), output)

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
        joint = self._predict(X, prior, "joint")
        return self.classes_[joint.argmax(axis=1)]


def classes_of_parts(model, is_first, classes):
    """The classes of a `partial_fit`: the first call must name them, others may only repeat them."""
    if is_first and classes is None:
        raise ValueError("classes must be passed on the first call to partial_fit.")
    if is_first:
        return np.unique(classes)
    if classes is not None and not np.array_equal(model.classes_, np.unique(classes)):
        raise ValueError(
            f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {model.classes_!r}"
        )
    return model.classes_
