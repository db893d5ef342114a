"""`Classifier` is an estimator as scikit-learn wants them."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_estimator,
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from deciban import Classifier, NotFittedError
from deciban.sklearn import expected_failed_checks

X, Y = load_wine(return_X_y=True)
FRAME, LABELS = load_wine(return_X_y=True, as_frame=True)

NAMES = "gaussian naive-bayes bernoulli multinomial table tree logistic probit cloglog k-dependence least-squares noisy-or".split()
MODELS = [Classifier(name) for name in NAMES]
# What a constant column of a class breaks is whole again with the advice of the error, or without variances.
MODELS += [Classifier("gaussian", shrinkage=0.1), Classifier("gaussian", covariance="diagonal", shrinkage="auto")]
MODELS += [Classifier("naive-bayes", family="histogram")]

CONSTANT = "the check has a class in which a column does not vary: it has no variance, and `fit` refuses it with the advice to shrink"
ONE_ROW = "the check has a class of a single row: it has no variances, and `fit` refuses it with the advice to shrink"
NOT_A_NUMBER = "a cell that is not a number is a ValueError that names the column, not a TypeError"
MISSING = "missing cells are refused at fit by an error that names the cell, and integrated out at prediction"
NEGATIVE = "a negative count is an error that names the column, the row and the number, in other words"

#: Checks that fail for a reason, by model and check.
EXPECTED = {
    "gaussian": dict.fromkeys(
        ("check_sample_weights_shape", "check_sample_weights_not_overwritten", "check_sample_weight_equivalence_on_dense_data"),
        CONSTANT,
    ),
    # The classes of these checks are rounded numbers, and some have one row.
    "naive-bayes": dict.fromkeys(
        """
        check_dont_overwrite_parameters check_f_contiguous_array_estimator
        check_methods_sample_order_invariance check_methods_subset_invariance check_dict_unchanged check_fit2d_predict1d
        """.split(),
        ONE_ROW,
    ),
    "bernoulli": {"check_positive_only_tag_during_fit": NEGATIVE},
    "multinomial": {"check_positive_only_tag_during_fit": NEGATIVE},
    "table": {"check_sample_weight_equivalence_on_dense_data": "a table of 30 columns has too many cells, and is refused"},
    "cloglog": {"check_classifiers_train": "predict_log_proba is finite where predict_proba is too small for a double"},
    "noisy-or": {"check_positive_only_tag_during_fit": NEGATIVE},
}


def failures(classifier):
    """The checks that a classifier fails, and why."""
    is_plain = classifier.shrinkage is None and classifier.family is None
    found = dict(EXPECTED.get(classifier.model, {})) if is_plain else {}
    tags = classifier.__sklearn_tags__().input_tags
    if not tags.string:
        found["check_dtype_object"] = NOT_A_NUMBER
    if not tags.allow_nan:
        found["check_estimators_nan_inf"] = MISSING
    return found


@parametrize_with_checks(MODELS, expected_failed_checks=failures, xfail_strict=True)
def test_check_estimator(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


#: Classifiers that choose by folds. They may pass a check by chance that they are expected to fail.
SEARCHES = [Classifier(effort="quick")]


@parametrize_with_checks(SEARCHES, expected_failed_checks=expected_failed_checks)
def test_check_estimator_of_searches(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_what_searches_fail_is_listed_as_scikit_learn_lists_it():
    reasons = expected_failed_checks(Classifier(effort="quick"))
    found = check_estimator(Classifier(effort="quick"), expected_failed_checks=reasons, on_skip=None, on_fail=None)
    assert {row["status"] for row in found} <= {"passed", "skipped", "xfail"}
    assert {row["check_name"] for row in found if row["status"] == "xfail"} <= set(reasons)
    for searches in (Classifier("fused"), Classifier("additive"), Classifier("logistic", calibrate="pav"), Classifier("gaussian", components=2)):
        assert expected_failed_checks(searches).keys() == reasons.keys()
    assert expected_failed_checks(StandardScaler()) == {}


SINGLE = [Classifier(name) for name in "bernoulli multinomial tree a1de parzen logistic probit cloglog k-dependence noisy-or least-squares".split()]
SINGLE += [Classifier("gaussian", shrinkage=0.1), Classifier("gaussian", covariance="tied", shrinkage="auto")]
SINGLE += [Classifier("naive-bayes", family="histogram"), Classifier("table", ignore=list(range(3, 30)))]
SINGLE += [Classifier("additive", weight_decay=1.0, pairs=0)]


@pytest.mark.parametrize("model", SINGLE, ids=repr)
def test_a_weight_is_a_repetition_in_every_single_model(model):
    assert expected_failed_checks(model) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_sample_weight_equivalence_on_dense_data("Classifier", model)
        if model.__sklearn_tags__().input_tags.sparse:
            check_sample_weight_equivalence_on_sparse_data("Classifier", model)


def test_tags_say_what_models_take():
    counts, sparse = np.array([[0, 2], [1, 0], [3, 1], [0, 4]]), sp.csr_matrix([[0, 2], [1, 0], [3, 1], [0, 4]])
    for classifier in MODELS + SEARCHES:
        tags, labels = classifier.__sklearn_tags__(), [0, 1, 0, 1]
        if tags.input_tags.sparse:
            clone(classifier).fit(sparse, labels)
        else:
            with pytest.raises(ValueError, match="does not take a sparse matrix: give X.toarray"):
                clone(classifier).fit(sparse, labels)
        three = clone(classifier)
        if tags.classifier_tags.multi_class:
            three.fit(np.tile(counts, (3, 1)) + np.arange(12)[:, None] % 5, np.arange(12) % 3)
        else:
            with pytest.raises(ValueError, match="Only binary classification is supported. model="):
                three.fit(np.tile(counts, (3, 1)), np.arange(12) % 3)


def test_parameters():
    model = Classifier("gaussian", covariance="tied", ignore=["a"])
    assert model.get_params()["covariance"] == "tied" and model.get_params()["pca"] is None
    assert repr(model) == "Classifier('gaussian', ignore=['a'], covariance='tied')"
    assert model.set_params(covariance="full", n_jobs=1) is model and model.n_jobs == 1
    with pytest.raises(ValueError, match="Invalid parameter 'covariances'"):
        model.set_params(covariances="full")
    with pytest.raises(TypeError, match="covarance"):
        Classifier("gaussian", covarance="full")
    copy = clone(Classifier("gaussian", pca=2).fit(X, Y))
    assert copy.pca == 2 and not hasattr(copy, "classes_") and is_classifier(copy)


def test_composition():
    pipe = make_pipeline(StandardScaler(), Classifier("gaussian", covariance="tied"))
    assert cross_val_score(pipe, X, Y, cv=5).mean() > 0.95
    search = GridSearchCV(Classifier("gaussian"), {"covariance": ["tied", "diagonal"], "shrinkage": [None, 0.1]}, cv=3)
    search.fit(FRAME, LABELS)
    assert set(search.best_params_) == {"covariance", "shrinkage"} and search.best_score_ > 0.95
    calibrated = CalibratedClassifierCV(Classifier("naive-bayes"), cv=3).fit(X, Y, sample_weight=np.ones(len(Y)))
    assert calibrated.predict_proba(X).shape == (178, 3)
    held_out = cross_val_predict(Classifier("naive-bayes"), FRAME, LABELS, method="predict_proba", cv=5)
    assert (held_out.argmax(axis=1) == Y).mean() > 0.95


def test_what_a_fit_leaves():
    model = Classifier("gaussian", covariance="tied", ignore="hue").fit(FRAME, LABELS)
    assert model.n_features_in_ == 13 and model.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert model.score(FRAME, LABELS) == np.mean(model.predict(FRAME) == LABELS)
    weights = np.arange(len(Y))
    assert model.score(FRAME, LABELS, weights) == pytest.approx(np.average(model.predict(FRAME) == LABELS, weights=weights))
    assert repr(model) == (
        "Classifier('gaussian', ignore='hue', covariance='tied') [gaussian, covariance tied, estimator ml: 178 rows, "
        "12 columns, 3 classes]"
    )
    shown = model._repr_html_()
    assert "alcohol" in shown and "hue" not in shown.split("<pre>")[1] and "0.3315" in shown
    assert "not fitted" in Classifier()._repr_html_()
    assert not hasattr(Classifier("gaussian").fit(X, Y), "feature_names_in_")
    with pytest.raises(ValueError, match="X has 12 features, but Classifier is expecting 13"):
        model.predict(X[:, 1:])
    assert_array_equal(model.predict(X), model.predict(FRAME))


def test_not_fitted_is_the_error_of_both():
    with pytest.raises(TheirNotFittedError):
        Classifier().predict(X)
    with pytest.raises(NotFittedError):
        Classifier().predict(X)
    code = "import sys; sys.modules['sklearn'] = None\nimport deciban\ntry: deciban.Classifier().predict([[1.0]])\nexcept deciban.NotFittedError as e: print(type(e).__mro__[1:3])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ValueError" in done.stdout and "AttributeError" in done.stdout, done.stderr


def test_undefined_posteriors_have_no_label():
    cells = {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "p"]}
    model = Classifier("naive-bayes", pseudo_count=0, category=["a", "b"]).fit(cells, [0, 0, 1, 1])
    row = {"a": ["y", "x"], "b": ["q", "p"]}
    with pytest.warns(RuntimeWarning, match="1 of 2 rows, the first of them row 0, are impossible"):
        assert model.predict(row).tolist() == [None, 0]
    with pytest.warns(RuntimeWarning):
        assert model.decide(row).tolist() == [None, 0]
    assert np.isnan(model.predict_proba(row)[0]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(row, [1, 0]) == 0.5
        assert model.predict({"a": ["x"], "b": ["p"]}).dtype == model.classes_.dtype


def test_costs_are_of_true_and_decided():
    model = Classifier("gaussian", covariance="tied").fit([[0.0], [1.0], [3.0], [4.0]], ["ill", "ill", "well", "well"])
    # Equal variances: equal evidence halfway. To take the ill for well costs 10 times as much.
    assert model.decide([[2.1]]).tolist() == ["well"]
    assert model.decide([[2.1]], costs={("ill", "well"): 10}).tolist() == ["ill"]
    assert model.decide([[1.9]], costs={("well", "ill"): 10}).tolist() == ["well"]
    # p(ill) at x is 1/(1 + exp(3 (x − 2)/0.25)), from a variance of 0.25: the threshold is at p(ill) = 1/11.
    threshold = 2 + 0.25 / 3 * np.log(10)
    near = model.decide([[threshold - 1e-6], [threshold + 1e-6]], costs={("ill", "well"): 10})
    assert near.tolist() == ["ill", "well"]


def test_iris_as_a_pandas_table_with_another_prior(tmp_path):
    frame, labels = load_iris(return_X_y=True, as_frame=True)
    model = Classifier("gaussian").fit(frame, labels)
    by_series = model.predict_proba(frame, prior=pd.Series({0: 0.2, 1: 0.5, 2: 0.3}))
    assert_allclose(by_series, model.predict_proba(frame, prior=[0.2, 0.5, 0.3]))
    assert_allclose(by_series, model.predict_proba(frame, prior={0: 0.2, 1: 0.5}))
    uniform = Classifier("gaussian", prior="uniform").fit(frame[20:], labels[20:])
    empirical = Classifier("gaussian").fit(frame[20:], labels[20:])
    assert_allclose(uniform.predict_proba(frame, prior="empirical"), empirical.predict_proba(frame))
    # Classes that are not named share the rest as in the training data: 50 and 50 of 130.
    assert_allclose(uniform._terms({0: 0.4})[0], [0.4, 0.3, 0.3])
    uniform.save(tmp_path / "m.deciban")
    again = Classifier.load(tmp_path / "m.deciban")
    assert_allclose(again.predict_proba(frame), uniform.predict_proba(frame))
    assert_allclose(again.predict_proba(frame, prior="empirical"), empirical.predict_proba(frame))
