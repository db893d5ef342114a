"""Maps of columns against scikit-learn's and by their laws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.decomposition import PCA

from deciban import transform

RNG = np.random.default_rng(8)
Y = RNG.integers(0, 3, 500)
X = RNG.normal(size=(500, 4)) @ RNG.normal(size=(4, 4)) + RNG.normal(size=(3, 4))[Y] + 100


def test_pca_is_that_of_scikit_learn():
    mine, other = transform.pca(X, 2), PCA(2, svd_solver="full").fit_transform(X)
    assert_allclose(np.abs(mine), np.abs(other), rtol=1e-8, atol=1e-10)
    assert_allclose(transform.pca(X[:7], 2, fit_on=X), mine[:7], rtol=1e-12)


def test_lda_whitens_the_classes():
    z = transform.lda(X, Y, 2)
    within = sum((Y == c).sum() * np.cov(z[Y == c].T, bias=True) for c in range(3)) / 500
    assert_allclose(within, np.eye(2), atol=1e-9)
    # The means of the classes vary along the axes, most along the first.
    means = np.array([z[Y == c].mean(axis=0) for c in range(3)])
    between = np.cov(means.T, aweights=np.bincount(Y), bias=True)
    assert abs(between[0, 1]) < 1e-9 and between[0, 0] > between[1, 1]


def test_gaussianise_gives_normal_quantiles():
    x = np.exp(RNG.permutation(np.linspace(-3, 3, 201)))[:, None]
    ranks = x.ravel().argsort().argsort()
    assert_allclose(transform.gaussianise(x).ravel(), norm.ppf((ranks + 0.5) / 201), atol=1e-6)
    assert np.isnan(transform.gaussianise([[np.nan]], fit_on=x)).all()


def test_discretise_cuts_between_the_classes():
    x = np.concatenate([np.linspace(0, 1, 50), np.linspace(2, 3, 50)])[:, None]
    bins, cuts = transform.discretise(x, np.repeat(["low", "high"], 50))
    assert len(cuts[0]) == 1 and 1 < cuts[0][0] <= 2
    assert_array_equal(bins.ravel(), np.repeat([0, 1], 50))
    again, _ = transform.discretise([[0.5], [2.5], [np.nan]], cuts=cuts)
    assert_array_equal(again.ravel(), [0, 1, -1])


def test_errors():
    for call in (
        lambda: transform.pca(X, 0),
        lambda: transform.pca(X, 9),
        lambda: transform.pca(X[0], 1),
        lambda: transform.pca(np.full((3, 2), np.nan), 1),
        lambda: transform.lda(X, Y[:3], 1),
        lambda: transform.lda(np.zeros((500, 4)), Y, 1),
        lambda: transform.gaussianise(np.full((3, 2), np.inf)),
        lambda: transform.gaussianise(X, fit_on=X[:, :2]),
        lambda: transform.discretise(X),
        lambda: transform.discretise(X, cuts=[[1]]),
        lambda: transform.discretise(X[:, :1], cuts=[[2, 1]]),
    ):
        with pytest.raises(ValueError):
            call()
