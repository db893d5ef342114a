"""Arrays on their way to the compiled core: labels become codes, matrices become tables."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, assert_all_finite

from .. import _core
from .._columns import canonical, in_step


def encode(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct labels in ascending order, and the place of each row's label among them."""
    if y.dtype.kind in "iub":
        codes = np.empty(len(y), dtype=np.uint32)
        found = _core.encode_integers(np.ascontiguousarray(y, dtype=np.int64), codes)
        if found is not None:
            return np.array(found).astype(y.dtype), codes
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.uint32)


def encode_among(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The place of each row's label among `classes`, which must have them all."""
    found, codes = encode(y)
    if len(found) == len(classes) and np.all(found == classes):
        return codes
    places = np.searchsorted(classes, found).clip(max=len(classes) - 1)
    strange = classes[places] != found
    if np.any(strange):
        raise ValueError(
            f"The target label(s) {found[strange]} in y do not exist in the initial classes {classes}"
        )
    return places.astype(np.uint32)[codes]


def check_finite(model, X) -> None:
    """scikit-learn's error where X holds NaN or infinity; the look at cells in one piece is ours, on all cores."""
    cells = X.data if sp.issparse(X) else X
    whole = cells.dtype == np.float64 and cells.flags.c_contiguous
    if not (whole and _core.all_finite(cells)):
        assert_all_finite(X, estimator_name=type(model).__name__, input_name="X")


def weights(sample_weight, X) -> np.ndarray | None:
    """Row weights as the core reads them."""
    if sample_weight is None:
        return None
    weight = np.ascontiguousarray(_check_sample_weight(sample_weight, np.empty((X.shape[0], 0)), dtype=np.float64))
    if not np.any(weight):
        raise ValueError("sample_weight: every weight is 0, so there is no class to learn")
    return weight


def table(X, codes=None, sample_weight=None) -> _core.Table:
    """A table of one matrix, dense or sparse, called `x`."""
    result = _core.Table(X.shape[0], codes, sample_weight)
    if sp.issparse(X):
        X = canonical(X)
        result.add_sparse("x", X.indptr, X.indices, in_step(X.data), X.shape[1])
    else:
        result.add_matrix("x", in_step(X))
    return result
