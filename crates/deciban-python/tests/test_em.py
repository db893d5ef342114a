"""Components, missing cells and rows without a label, against scikit-learn."""

import json
import subprocess
import sys

import numpy as np
import pytest

from deciban import Classifier

mixture = pytest.importorskip("sklearn.mixture")


def crossed(rows, seed):
    """Each class has two clusters, on the diagonal or beside it."""
    random = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    side = random.choice([-3.0, 3.0], rows)
    X = np.column_stack([side, np.where(y == 0, side, -side)]) + random.normal(size=(rows, 2))
    return X, np.array(["same", "opposite"])[y]


def inspected(model, path):
    model.save(path)
    command = [sys.executable, "-m", "deciban", "inspect", str(path), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize("covariance, kind", [("full", "full"), ("diagonal", "diag")])
@pytest.mark.parametrize("steps", [1, 7])
def test_steps_are_those_of_gaussian_mixture(covariance, kind, steps, tmp_path):
    X, y = crossed(600, 1)
    options = dict(covariance=covariance, components=3, prior_rows=0)
    start = inspected(Classifier("gaussian", iterations=0, **options).fit(X, y), tmp_path / "start")
    end = inspected(Classifier("gaussian", iterations=steps, **options).fit(X, y), tmp_path / "end")
    assert len(end["convergence"]["objective"]) == steps + 1
    total = 0.0
    for told in start["classes"]:
        own = X[y == told["class"]]
        parts = told["components"]
        inverse = [np.linalg.inv(part["covariance"]) for part in parts]
        peer = mixture.GaussianMixture(
            len(parts),
            covariance_type=kind,
            tol=0,
            reg_covar=0,
            max_iter=steps,
            weights_init=[part["weight"] for part in parts],
            means_init=[part["mean"] for part in parts],
            precisions_init=inverse if kind == "full" else [np.diag(p) for p in inverse],
        )
        with pytest.warns(Warning):
            peer.fit(own)
        total += len(own) / len(X) * (peer.score(own) + np.log(len(own) / len(X)))
        found = [c for c in end["classes"] if c["class"] == told["class"]][0]["components"]
        assert np.allclose([part["mean"] for part in found], peer.means_, atol=1e-8)
        assert np.allclose([part["weight"] for part in found], peer.weights_, atol=1e-8)
    assert abs(end["convergence"]["log_likelihood"] - total) < 1e-8


def test_components_help_and_are_kept_in_files(tmp_path):
    (X, y), (test, truth) = crossed(1000, 2), crossed(1000, 3)
    plain = Classifier("gaussian", covariance="tied").fit(X, y)
    model = Classifier("gaussian", components="auto").fit(X, y)
    assert plain.score(test, truth) < 0.6 and model.score(test, truth) > 0.99
    model.save(tmp_path / "model")
    again = Classifier.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(test), model.predict_proba(test))


def test_missing_cells_are_filled_by_the_others():
    random = np.random.default_rng(4)
    covariance = np.array([[1.0, 0.9, 0.5], [0.9, 1.0, 0.6], [0.5, 0.6, 1.0]])
    y = np.arange(6000) % 2
    X = random.multivariate_normal(np.zeros(3), covariance, 6000) + y[:, None] * [1.0, 0.0, -1.0]
    X[random.random(X.shape) < 0.3] = np.nan
    joint = Classifier("gaussian", covariance="tied").fit(X[:3000], y[:3000])
    alone = Classifier("gaussian", covariance="tied-diagonal").fit(X[:3000], y[:3000])
    assert joint.score(X[3000:], y[3000:]) > alone.score(X[3000:], y[3000:]) + 0.01


def test_rows_without_a_label_are_learned_from():
    X, y = crossed(2000, 5)
    few = np.where(np.arange(2000) < 40, y, None)
    options = dict(covariance="diagonal", components=2)
    labelled = Classifier("gaussian", **options).fit(X[:40], y[:40])
    both = Classifier("gaussian", unlabelled_weight=1, **options).fit(X, few)
    test, truth = crossed(2000, 6)
    assert both.score(test, truth) >= labelled.score(test, truth)
    assert both.score(test, truth) > 0.99
