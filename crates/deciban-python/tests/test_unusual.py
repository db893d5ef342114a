"""Shares of classes among new rows, ranks, *none of these*, and conformal p-values."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer, load_digits

from deciban import Classifier
from deciban._classifier import RemarkWarning

RNG = np.random.default_rng(11)


def normals(counts):
    x = np.concatenate([RNG.normal(2.0 * k, 1.0, n) for k, n in enumerate(counts)])[:, None]
    return x, np.repeat(["ham", "spam"][: len(counts)], counts)


def test_an_adapted_prior_is_a_prior():
    x, y = normals([600, 600])
    model = Classifier("gaussian", calibrate="logistic", folds=20).fit(x, y)
    stream, truth = normals([1800, 200])
    prior = model.adapt_prior(stream)
    assert prior.intervals["spam"][0] < 0.1 < prior.intervals["spam"][1]
    assert abs(sum(prior.values()) - 1) < 1e-9 and abs(prior["spam"] - prior.shares["spam"]) < 1e-3
    assert prior.training == {"ham": 0.5, "spam": 0.5}
    loss = lambda prior: model.evaluate(stream, truth, prior=prior)["log_loss"]  # noqa: E731
    assert loss(prior) < loss("empirical")
    again = pickle.loads(pickle.dumps(prior))
    assert again == prior and again.intervals == prior.intervals and str(again) == str(prior)
    assert str(prior).splitlines()[0].split() == ["class", "share", "95", "%", "from", "to", "training", "data"]


def test_uncalibrated_models_warn_and_labelled_rows_correct():
    x, y = normals([600, 600])
    model = Classifier("naive-bayes").fit(np.repeat(x, 4, axis=1), y)  # Four witnesses of one thing.
    stream = np.repeat(normals([1800, 200])[0], 4, axis=1)
    with pytest.warns(UserWarning, match="the model is not calibrated"):
        sure = model.adapt_prior(stream)
    x, y = normals([300, 300])
    corrected = model.adapt_prior(stream, labelled=(np.repeat(x, 4, axis=1), y))
    assert not sure.intervals["spam"][0] < 0.1 < sure.intervals["spam"][1]
    assert corrected.intervals["spam"][0] < 0.1 < corrected.intervals["spam"][1]


def test_ranks_of_a_gaussian_are_tails_of_chi_squared():
    x, y = normals([5000, 5000])
    model = Classifier("gaussian").fit(x, y)
    own, new = x[y == "ham"], np.array([[0.0], [1.0], [-2.0], [3.0]])
    tail = chi2.sf((new[:, 0] - own.mean()) ** 2 / own.var(), 1)
    assert_allclose(model.how_usual(new, prior=[1, 0]), tail, atol=0.015)
    decided = model.decide([[0.0], [30.0]], none_of_these=0.01)
    assert decided.tolist() == ["ham", "none of these"]
    with pytest.raises(ValueError, match="none_of_these: 2 is not a share above 0 and below 1"):
        model.decide(new, none_of_these=2)
    found = model.evaluate(x, y, none_of_these=0.05)
    assert found.details["actions"] == ["ham", "spam", "none of these"]
    assert_allclose(found.details["rejected"] / len(y), 0.05, atol=0.01)
    # A calibration changes evidence, not how probable rows are.
    calibrated = Classifier("gaussian", calibrate="logistic").fit(x, y)
    assert_allclose(calibrated.log_density(new), model.log_density(new), rtol=1e-12)
    assert_allclose(calibrated.how_usual(new), model.how_usual(new), rtol=0)
    with pytest.raises(ValueError, match="knows classes given rows, not how probable rows are"):
        Classifier("logistic").fit(x, y).how_usual(new)


def test_what_a_search_finds_has_a_companion(tmp_path):
    x, y = normals([300, 300])
    model, naive = Classifier(models="logistic").fit(x, y), Classifier("naive-bayes").fit(x, y)
    said = "rows are described by the companion of the model"
    with pytest.warns(RemarkWarning, match=said):
        assert_allclose(model.log_density(x), naive.log_density(x), rtol=1e-12)
    with pytest.warns(RemarkWarning, match=said):
        assert_allclose(model.how_usual(x), naive.how_usual(x), rtol=0)
    with pytest.warns(RemarkWarning, match=said):
        assert_allclose(model.sample(5)[0]["x0"], naive.sample(5)[0]["x0"], rtol=0)
    with pytest.warns(RemarkWarning, match=said):
        assert np.isfinite(model.impute([[np.nan]])).all()
    with pytest.warns(RemarkWarning, match=said):
        worth = model.next_measurement([[np.nan]])[0].measurements[0]
    assert worth.reduction > 0.2 and 0 < worth.standard_error < 0.02
    model.save(tmp_path / "m.deciban")
    with pytest.warns(RemarkWarning, match=said):
        assert_allclose(Classifier.load(tmp_path / "m.deciban").log_density(x), naive.log_density(x), rtol=1e-12)
    # It learns and forgets what the model does.
    more = normals([200, 200])
    learned = model.update(*more, rows=(x, y))
    both = Classifier("naive-bayes").fit(np.concatenate([x, more[0]]), np.concatenate([y, more[1]]))
    with pytest.warns(RemarkWarning, match=said):
        assert_allclose(learned.log_density(x), both.log_density(x), rtol=1e-9)
    alone = Classifier(models="logistic", no_companion=True).fit(x, y)
    for ask in (alone.log_density, alone.how_usual, alone.impute, alone.next_measurement):
        with pytest.raises(ValueError, match="this model knows classes given rows, not"):
            ask(x)


@pytest.mark.parametrize("by", ["evidence", "density"])
@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_conformal_p_values_cover(load, by):
    X, y = load(return_X_y=True)
    X = X + RNG.normal(0, 1e-3, X.shape)  # Some pixels are constant.
    held, names = [], np.unique(y)
    for fold in range(4):
        test = np.arange(len(y)) % 4 == fold
        model = Classifier("gaussian", shrinkage=0.2, standardise=True, calibrate="logistic", folds=10)
        model.fit(X[~test], y[~test])
        p = model.conformal_p_values(X[test], by=by)
        assert p.shape == (test.sum(), len(names)) and p.min() > 0 and p.max() <= 1
        held.append(np.column_stack([y[test], p[np.arange(test.sum()), np.searchsorted(names, y[test])]]))
    held = np.concatenate(held)
    for share in (0.05, 0.1, 0.2):
        covered = [np.mean(held[held[:, 0] == name, 1] > share) for name in names]
        print(load.__name__, by, share, np.round(covered, 3), round(np.mean(held[:, 1] > share), 3))
        assert abs(np.mean(held[:, 1] > share) - (1 - share)) < 0.025
        assert min(covered) > 1 - share - 0.08
    far = np.full((1, X.shape[1]), 1e3)
    if by == "density":
        assert model.conformal_p_values(far, by=by).max() < 0.02


def test_conformal_p_values_need_scores():
    x, y = normals([50, 50])
    with pytest.raises(ValueError, match='fit with calibrate="logistic"'):
        Classifier("gaussian").fit(x, y).conformal_p_values(x)
    linear = Classifier("logistic", calibrate="logistic").fit(x, y)
    assert linear.conformal_p_values(x).shape == (100, 2)
    with pytest.raises(ValueError, match="not how usual a row is"):
        linear.conformal_p_values(x, by="density")
    with pytest.raises(ValueError, match="by: give"):
        linear.conformal_p_values(x, by="colour")
