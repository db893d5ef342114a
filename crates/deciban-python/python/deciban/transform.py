"""Maps of columns, as functions on arrays.

Each is found from `fit_on` (X itself unless given) and applied to X, so that new rows are mapped as old ones were.
"""

from __future__ import annotations

import numpy as np

from . import _core


def pca(X, n, fit_on=None):
    """The leading `n` principal components.

    >>> from deciban.transform import pca
    >>> abs(pca([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], 1).ravel()).round(4)
    array([1.4142, 0.    , 1.4142])
    """
    return _linear("pca", X, fit_on, None, n)


def lda(X, y, n, fit_on=None):
    """The leading `n` discriminant directions; within classes the covariance becomes the identity. `y` are the
    labels of `fit_on`.

    >>> from deciban.transform import lda
    >>> z = lda([[0.0, 1], [2, 0], [0, 2], [5, 1], [7, 0], [5, 2]], [0, 0, 0, 1, 1, 1], 1)
    >>> z.shape
    (6, 1)
    """
    return _linear("lda", X, fit_on, y, n)


def deskew(X):
    """Square images, one in each row, with the slant of their strokes taken out by a shear.

    >>> from deciban.transform import deskew
    >>> deskew([[0, 0, 1, 0, 1, 0, 1, 0, 0]]).reshape(3, 3)
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 1., 0.]])
    """
    return _core.deskew(_matrix(X))


def gaussianise(X, fit_on=None):
    """Each column through its empirical distribution to a normal one; missing cells stay missing.

    >>> from deciban.transform import gaussianise
    >>> gaussianise([[1.0], [10.0], [100.0]]).round(3).ravel()
    array([-0.967,  0.   ,  0.967])
    """
    X = _matrix(X)
    return _core.gaussianise(X, X if fit_on is None else _matrix(fit_on))


def discretise(X, y=None, cuts=None):
    """The bins of each column's cells as integers (−1 where missing), and the cut points between bins: `cuts` (a
    list for each column) if given, else those that tell the classes of `y` apart best.

    >>> from deciban.transform import discretise
    >>> bins, cuts = discretise([[120.0], [1000.0], [float("nan")]], cuts=[[400, 800, 1200]])
    >>> bins.ravel(), cuts
    (array([ 0,  2, -1]), [[400.0, 800.0, 1200.0]])
    """
    X = _matrix(X)
    if y is None and cuts is None:
        raise ValueError("give the labels y to find cuts by, or the cuts")
    codes, classes = _codes(np.zeros(len(X), dtype=int) if y is None else y, len(X))
    cuts = None if cuts is None else [np.asarray(c, dtype=np.float64).ravel().tolist() for c in cuts]
    bins, cuts = _core.discretise(X, codes, classes, cuts)
    return bins.astype(np.int64), cuts


def _linear(step, X, fit_on, y, n):
    X = _matrix(X)
    known = X if fit_on is None else _matrix(fit_on)
    if not 1 <= int(n) <= known.shape[1]:
        raise ValueError(f"n must lie between 1 and the {known.shape[1]} columns")
    if X.shape[1] != known.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns, and fit_on {known.shape[1]}")
    codes, classes = _codes(np.zeros(len(known), dtype=int) if y is None else y, len(known))
    table = _core.Table(len(known), codes, None)
    table.add_matrix("x", known)
    weights, centre = _core.Statistics(table, classes, "moments").linear_map(step, int(n))
    return (X - centre) @ weights.T


def _matrix(X):
    X = np.ascontiguousarray(X, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X must have rows and columns, and has shape {X.shape}")
    return X


def _codes(y, rows):
    y = np.asarray(y)
    if y.shape != (rows,):
        raise ValueError(f"y must have a label for each of {rows} rows")
    classes, codes = np.unique(y, return_inverse=True)
    return codes.astype(np.uint32), len(classes)
