"""What deciban's drop-ins have over scikit-learn's, and that both agree to the last digits where both can."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import discriminant_analysis as sklearn_discriminant
from sklearn import naive_bayes as sklearn_naive
from sklearn import linear_model as sklearn_linear
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from deciban.sklearn import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    LinearDiscriminantAnalysis,
    LogisticRegression,
    MultinomialNB,
    QuadraticDiscriminantAnalysis,
)

RNG = np.random.default_rng(6)
Y = RNG.integers(0, 3, 600)
NUMBERS = RNG.normal(size=(600, 5)) * [1, 10, 0.1, 3, 2] + Y[:, None] * [1, 4, 0, 1, -1] + [0, 1e4, 0, -7, 2]
COUNTS = RNG.poisson(0.7 + 0.5 * ((Y[:, None] + np.arange(5)) % 3))
W = RNG.integers(0, 4, 600).astype(float)

NUMERIC = [
    (GaussianNB, sklearn_naive.GaussianNB, {}),
    (LinearDiscriminantAnalysis, sklearn_discriminant.LinearDiscriminantAnalysis, {}),
    (LinearDiscriminantAnalysis, sklearn_discriminant.LinearDiscriminantAnalysis, {"solver": "lsqr"}),
    (LinearDiscriminantAnalysis, sklearn_discriminant.LinearDiscriminantAnalysis, {"solver": "eigen", "shrinkage": 0.2}),
    (LinearDiscriminantAnalysis, sklearn_discriminant.LinearDiscriminantAnalysis, {"solver": "lsqr", "shrinkage": "auto"}),
    (QuadraticDiscriminantAnalysis, sklearn_discriminant.QuadraticDiscriminantAnalysis, {}),
    (QuadraticDiscriminantAnalysis, sklearn_discriminant.QuadraticDiscriminantAnalysis, {"reg_param": 0.3}),
]
DISCRETE = [
    (MultinomialNB, sklearn_naive.MultinomialNB, {"alpha": 0.3}),
    (ComplementNB, sklearn_naive.ComplementNB, {"norm": True}),
    (BernoulliNB, sklearn_naive.BernoulliNB, {"binarize": 1.0}),
    (CategoricalNB, sklearn_naive.CategoricalNB, {"fit_prior": False}),
]


def rows_for(ours):
    return NUMBERS if ours in [NUMERIC[0][0], NUMERIC[1][0], NUMERIC[-1][0]] else COUNTS


@pytest.mark.parametrize("ours, theirs, options", NUMERIC + DISCRETE)
@pytest.mark.parametrize("classes", [2, 3])
def test_same_answers_as_scikit_learn(ours, theirs, options, classes):
    kept = Y < classes
    X, y = rows_for(ours)[kept], np.array(["a", "b", "c"])[Y[kept]]
    mine, other = ours(**options).fit(X, y), theirs(**options).fit(X, y)
    assert_array_equal(mine.classes_, other.classes_)
    assert_allclose(mine.predict_proba(X), other.predict_proba(X), rtol=1e-7, atol=1e-12)
    assert_array_equal(mine.predict(X), other.predict(X))
    assert_allclose(mine.predict_log_proba(X), other.predict_log_proba(X), rtol=1e-7, atol=1e-9)
    if hasattr(other, "decision_function"):
        assert_allclose(mine.decision_function(X), other.decision_function(X), rtol=1e-7, atol=1e-9)
    fitted = [name for name in vars(other) if name.endswith("_") and not name.startswith("_")]
    for name in fitted:
        # The signs of eigenvectors are free.
        if name not in ("rotations_", "scalings_", "n_features_in_", "classes_"):
            a, b = getattr(mine, name), getattr(other, name)
            for a, b in zip(a, b, strict=True) if isinstance(b, list) else [(a, b)]:
                assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=name)
        assert hasattr(mine, name), name


@pytest.mark.parametrize("ours, theirs, options", [n for n in NUMERIC if n[2].get("shrinkage") != "auto"] + DISCRETE)
def test_weights_are_repetitions_and_parts_are_the_whole(ours, theirs, options):
    X = rows_for(ours)
    if ours is GaussianNB:
        options = {"var_smoothing": 0.0}  # its smoothing depends on the rows of the last part, without their weights
    repeated = ours(**options).fit(np.repeat(X, W.astype(int), axis=0), np.repeat(Y, W.astype(int)))
    weighted = ours(**options).fit(X, Y, sample_weight=W)
    assert_allclose(weighted.predict_log_proba(X), repeated.predict_log_proba(X), rtol=1e-8, atol=1e-9)
    parts = ours(**options)
    for rows in np.array_split(np.argsort(Y, kind="stable"), 4):
        parts.partial_fit(X[rows], Y[rows], classes=[0, 1, 2], sample_weight=W[rows])
    whole = ours(**options).fit(X, Y, sample_weight=W)
    assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("ours, theirs, options", [NUMERIC[0], NUMERIC[1], NUMERIC[-2], *DISCRETE])
def test_further_rows_are_checked_as_the_first_are(ours, theirs, options):
    X = rows_for(ours).astype(float)
    model = ours(**options).fit(X, Y)
    before = model.predict_log_proba(X)
    endless, narrow = X[:9].copy(), X[:9, :4]
    endless[3, 2] = np.inf
    for rows, labels, told in [
        (endless, Y[:9], "[Ii]nf"),
        (narrow, Y[:9], "4 features, but .* is expecting 5"),
        (X[:9], Y[:8], "inconsistent numbers of samples"),
        (X[:9], Y[:9] + 7, "do not exist in the initial classes"),
        (X[:0], Y[:0], "0 sample"),
    ]:
        with pytest.raises(ValueError, match=told):
            model.partial_fit(rows, labels)
        assert_array_equal(model.predict_log_proba(X), before)
    listed = ours(**options).fit(X, Y).partial_fit(X[:90].tolist(), Y[:90].tolist())
    assert_array_equal(model.partial_fit(X[:90], Y[:90]).predict_log_proba(X), listed.predict_log_proba(X))


def test_weights_of_words_follow_the_array():
    X = sp.csr_matrix(RNG.poisson(0.3, size=(400, 50)).astype(float))
    model = LogisticRegression().fit(X, Y[:400])
    model.predict_proba(X)
    model.coef_ *= 0.5
    assert_allclose(model.predict_proba(X), model.predict_proba(X.toarray()), rtol=1e-12)


def test_parts_without_a_class_leave_the_model_unfitted():
    model = QuadraticDiscriminantAnalysis().partial_fit(NUMBERS[Y == 0], Y[Y == 0], classes=[0, 1])
    with pytest.raises(NotFittedError):
        model.predict(NUMBERS)
    model.partial_fit(NUMBERS[Y == 1], Y[Y == 1])
    peer = sklearn_discriminant.QuadraticDiscriminantAnalysis().fit(NUMBERS[Y < 2], Y[Y < 2])
    assert_allclose(model.predict_proba(NUMBERS), peer.predict_proba(NUMBERS), rtol=1e-7, atol=1e-12)
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(NUMBERS, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        model.partial_fit(NUMBERS, Y)
    with pytest.raises(TypeError, match="wieghts"):
        model.fit(NUMBERS, Y, wieghts=W)


LOGISTIC = [(LogisticRegression, None, {}), (LogisticRegression, None, {"C": 0.01, "solver": "newton-cg"})]


@pytest.mark.parametrize("ours, theirs, options", NUMERIC + DISCRETE + LOGISTIC)
def test_another_prior_moves_log_odds_by_its_own(ours, theirs, options):
    X = rows_for(ours)
    model = ours(**options).fit(X, Y)
    one, two = np.array([0.2, 0.3, 0.5]), {0: 0.6, 1: 0.1, 2: 0.3}
    moved = model.predict_log_proba(X, prior=two) - model.predict_log_proba(X, prior=one)
    moved -= moved[:, :1]
    expected = np.log(np.array([0.6, 0.1, 0.3]) / one)
    assert_allclose(moved, np.tile(expected - expected[0], (600, 1)), atol=1e-8)
    assert_array_equal(model.predict(X, prior=[0, 1, 0]), np.ones(600))
    for wrong in ([0.5, 0.5], [0.5, 0.6, 0.1], [-0.1, 0.5, 0.6], [np.nan, 0.5, 0.5], {0: 0.5, 7: 0.5}, "abc"):
        with pytest.raises(ValueError):
            model.predict_proba(X, prior=wrong)


@pytest.mark.parametrize("ours, theirs, options", NUMERIC[:1] + [DISCRETE[0], DISCRETE[2], DISCRETE[3]])
def test_a_missing_cell_is_as_if_its_column_were_not_there(ours, theirs, options):
    X = rows_for(ours)
    model, without = ours(**options).fit(X, Y), ours(**options).fit(X[:, 1:], Y)
    missing = X.astype(float)
    missing[:, 0] = np.nan
    if ours is GaussianNB:
        # Its smoothing is a share of the largest variance, which is not that of the first column.
        assert X[:, 0].var() < X.var(axis=0).max()
    if ours is MultinomialNB:
        without = None  # its words share their probability, so the column matters to the others
        zeros = np.where(np.isnan(missing), 0.0, missing)
        assert_allclose(model.predict_proba(missing), model.predict_proba(zeros), rtol=1e-12)
    else:
        assert_allclose(model.predict_proba(missing), without.predict_proba(X[:, 1:]), rtol=1e-9, atol=1e-12)
        # In fit, half of a column missing: the column is estimated from the other half.
        half = X.astype(float)
        half[::2, 0] = np.nan
        learnt, known = ours(**options).fit(half, Y), ours(**options).fit(X[1::2, :1], Y[1::2])
        if ours is BernoulliNB:
            assert_allclose(learnt.feature_log_prob_[:, 0], known.feature_log_prob_[:, 0], rtol=1e-12)
        elif ours is CategoricalNB:
            assert_array_equal(learnt.category_count_[0][:, : known.category_count_[0].shape[1]], known.category_count_[0])
        else:
            assert_allclose(learnt.theta_[:, 0], known.theta_[:, 0], rtol=1e-12)


@pytest.mark.parametrize("ours, theirs, options", [NUMERIC[0], *DISCRETE[:3]])
def test_sparse_rows_are_the_dense_ones(ours, theirs, options):
    for matrix in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        sparse = matrix(COUNTS.astype(float))
        model, dense = ours(**options).fit(sparse, Y, sample_weight=W), ours(**options).fit(COUNTS, Y, sample_weight=W)
        assert_allclose(model.predict_proba(sparse), dense.predict_proba(COUNTS), rtol=1e-9, atol=1e-12)
    # Duplicates of a matrix in compressed rows add up, and the caller's matrix stays as it is.
    twice = sp.csr_matrix((np.ones(4), [1, 1, 0, 2], [0, 2, 4]), shape=(2, 5))
    once = model.predict_proba(twice.toarray())
    assert_allclose(model.predict_proba(twice), once, rtol=1e-12)
    assert twice.nnz == 4


@pytest.mark.parametrize("ours, theirs, options", NUMERIC + DISCRETE)
def test_copies_and_pickles(ours, theirs, options):
    X = rows_for(ours)
    model = ours(**options).fit(X, Y)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        if options.get("shrinkage") != "auto":
            other.partial_fit(X[:10], Y[:10])
            assert_allclose(model.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u2", "i8", ">f8", "f2", "?"])
def test_any_layout(order, dtype):
    X = np.clip(COUNTS, 0, 1) if dtype == "?" else COUNTS
    expected = GaussianNB().fit(X.astype(float), Y).predict_proba(X.astype(float))
    wide = np.zeros((1200, 11), dtype=dtype, order=order)
    view = wide[::-2, 10:0:-2]
    view[:] = X
    found = GaussianNB().fit(view, Y).predict_proba(view)
    assert_allclose(found, expected, rtol=1e-12 if found.dtype == np.float64 else 1e-4)


def test_an_unseen_category_and_a_failed_fit():
    model = CategoricalNB().fit(COUNTS, Y)
    with pytest.raises(IndexError, match="column 1 has category 99"):
        model.predict([[0, 99, 0, 0, 0]])
    before = model.predict_proba(COUNTS)
    with pytest.raises(ValueError, match="Negative"):
        model.fit(COUNTS - 1, np.zeros(600, int))
    assert_array_equal(model.predict_proba(COUNTS), before)


@pytest.mark.parametrize("cell", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("model", [MultinomialNB, ComplementNB])
def test_what_is_no_count_is_refused_in_the_peers_words_and_changes_nothing(model, cell):
    X = sp.csr_matrix(COUNTS.astype(float))
    ours, peer = model(), getattr(sklearn_naive, model.__name__)()
    before = ours.fit(X, Y).predict_proba(X)
    bad = X.copy()
    bad.data[7] = cell
    with pytest.raises(ValueError) as theirs:
        peer.fit(bad, Y > 1)
    for fit, y in ((ours.fit, Y > 1), (ours.partial_fit, Y), (model().fit, Y)):
        with pytest.raises(ValueError) as told:
            fit(bad, y)
        assert str(told.value).splitlines()[0] == str(theirs.value).splitlines()[0]
    assert_array_equal(ours.predict_proba(X), before)


SCALED = (NUMBERS - NUMBERS.mean(axis=0)) / NUMBERS.std(axis=0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 0.01},
        {"C": np.inf},
        {"fit_intercept": False},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0}},
        {"solver": "newton-cholesky"},
        {"solver": "liblinear", "intercept_scaling": 2.0},
        {"solver": "liblinear", "dual": True, "fit_intercept": False},
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_optimum_of_logistic_regression(options, classes, sparse):
    if options.get("solver") == "liblinear" and classes == 3:
        pytest.skip("liblinear has two classes")
    kept = Y < classes
    X = sp.csr_matrix(SCALED[kept]) if sparse else SCALED[kept]
    exact = {"tol": 1e-12, "max_iter": 20_000}
    # Its other solvers stop earlier, whatever tol says.
    peer = options if options.get("solver") == "liblinear" else {**options, "solver": "newton-cholesky"}
    for weight in (None, W[kept]):
        mine = LogisticRegression(**exact, **options).fit(X, Y[kept], sample_weight=weight)
        other = sklearn_linear.LogisticRegression(**exact, **peer).fit(X, Y[kept], sample_weight=weight)
        assert_allclose(mine.coef_, other.coef_, rtol=1e-6)
        assert_allclose(mine.intercept_, other.intercept_, rtol=1e-6)
        assert_allclose(mine.predict_proba(X), other.predict_proba(X), atol=1e-7)
        assert_allclose(mine.decision_function(X), other.decision_function(X), atol=1e-6)


def test_logistic_regression_refuses_what_it_cannot():
    # Before version 1.8 the kind of penalty has a name.
    names = sklearn.__version__ < "1.8"
    l1, elastic = ({"penalty": "l1"}, {"penalty": "elasticnet", "l1_ratio": 0.5}) if names else ({"l1_ratio": 1}, {"l1_ratio": 0.5})
    for options in ({**l1, "solver": "saga"}, {**elastic, "solver": "saga"}, l1):
        with pytest.raises(ValueError):
            LogisticRegression(**options).fit(SCALED, Y)
    with pytest.raises(NotImplementedError):
        LogisticRegression(**l1, solver="liblinear").fit(SCALED[Y < 2], Y[Y < 2])
    with pytest.warns(ConvergenceWarning, match="lbfgs failed"):
        LogisticRegression(max_iter=1).fit(SCALED, Y)


def test_logistic_regression_starts_where_it_was_left():
    model = LogisticRegression(warm_start=True, tol=1e-8).fit(SCALED, Y)
    assert model.n_iter_[0] > 2
    coef = model.coef_
    assert model.fit(SCALED, Y).n_iter_[0] == 0
    assert_allclose(model.coef_, coef, rtol=1e-12)


def test_a_class_without_weight_is_impossible():
    model = LogisticRegression(class_weight={0: 1, 1: 2, 2: 0}, tol=1e-10).fit(SCALED, Y)
    proba = model.predict_proba(SCALED)
    assert np.all(proba[:, 2] == 0)
    # A softmax of two classes bears the penalty twice on half of the difference.
    binary = LogisticRegression(C=2.0, class_weight={0: 1, 1: 2}, tol=1e-10).fit(SCALED[Y < 2], Y[Y < 2])
    assert_allclose(proba[:, :2], binary.predict_proba(SCALED), rtol=1e-6)


#: Every class with what it is fitted on, and its peer.
ALL = [(ours, theirs, options, rows_for(ours)) for ours, theirs, options in NUMERIC + DISCRETE] + [
    (LogisticRegression, sklearn_linear.LogisticRegression, {}, SCALED),
    (LogisticRegression, sklearn_linear.LogisticRegression, {"solver": "liblinear"}, SCALED),
]
METHODS = ["predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function"]


@pytest.mark.parametrize("ours, theirs, options, X", ALL)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fitted", ["f8", "f4"])
def test_precision_of_predictions_is_that_of_scikit_learn(ours, theirs, options, X, classes, fitted):
    if options.get("solver") == "liblinear" and classes == 3:
        pytest.skip("liblinear has two classes")
    kept = Y < classes
    X, y = X[kept], Y[kept]
    mine, other = ours(**options).fit(X.astype(fitted), y), theirs(**options).fit(X.astype(fitted), y)
    for scored in ("f8", "f4", "i8"):
        for method in METHODS:
            if hasattr(other, method):
                a, b = getattr(mine, method)(X.astype(scored)), getattr(other, method)(X.astype(scored))
                assert (a.dtype, a.shape) == (b.dtype, b.shape), (scored, method)


@pytest.mark.parametrize("ours, theirs, options, X", ALL)
def test_a_row_alone_is_scored_as_among_others(ours, theirs, options, X):
    y = np.minimum(Y, 1) if options.get("solver") == "liblinear" else Y
    model = ours(**options).fit(X, y)
    many = np.tile(X, (40, 1))  # enough for other threads
    for method in METHODS:
        if hasattr(model, method):
            score = getattr(model, method)
            all_rows = score(many)
            assert_array_equal(all_rows[: len(X)], all_rows[-len(X) :])
            for i in (0, 7, 599):
                assert_allclose(score(X[i : i + 1])[0], all_rows[i], rtol=1e-12, atol=1e-13)
            for same in (np.asfortranarray(X), X[:, ::-1][:, ::-1], X.tolist()):
                assert_allclose(score(same), all_rows[: len(X)], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"n_components": 1}, {"solver": "eigen"}, {"solver": "eigen", "n_components": 1}])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("fitted", ["f8", "f4"])
def test_projections_are_those_of_scikit_learn(options, classes, fitted):
    kept = Y < classes
    X, y = NUMBERS[kept], Y[kept]
    mine = LinearDiscriminantAnalysis(**options).fit(X.astype(fitted), y)
    other = sklearn_discriminant.LinearDiscriminantAnalysis(**options).fit(X.astype(fitted), y)
    other.scalings_ = mine.scalings_  # the signs of eigenvectors are free
    many = np.tile(X, (40, 1))  # enough for other threads
    for rows in (X, X[:1], many, np.asfortranarray(X), X[:, ::-1][:, ::-1], X.astype("f4"), X.astype("i8")):
        a, b = mine.transform(rows), other.transform(rows)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert_allclose(a, b, rtol=1e-7, atol=1e-9 if (fitted, rows.dtype) == ("f8", "f8") else 0.01)
    assert_array_equal(mine.transform(many)[-len(X) :], mine.transform(X))


def test_projections_as_a_frame():
    pytest.importorskip("pandas")
    model = LinearDiscriminantAnalysis().fit(NUMBERS, Y).set_output(transform="pandas")
    assert list(model.transform(NUMBERS).columns) == list(model.get_feature_names_out())


def test_projections_are_refused_in_the_peers_words():
    bad = NUMBERS.copy()
    bad[-1, 2] = np.nan
    told = []
    for model in (LinearDiscriminantAnalysis, sklearn_discriminant.LinearDiscriminantAnalysis):
        for kind, fitted, X in [
            (NotFittedError, model(), NUMBERS),
            (NotImplementedError, model(solver="lsqr").fit(NUMBERS, Y), NUMBERS),
            (ValueError, model().fit(NUMBERS, Y), bad),
            (ValueError, model().fit(NUMBERS, Y), NUMBERS[:, 1:]),
        ]:
            with pytest.raises(kind) as error:
                fitted.transform(X)
            told.append(str(error.value))
    assert told[:4] == told[4:]


def test_a_far_centre_leaves_the_digits_of_projections():
    model = LinearDiscriminantAnalysis().fit(NUMBERS, Y)
    near = np.arange(5.0)
    expected = near @ model.scalings_
    model.xbar_ = np.round(2.0**30 * model.xbar_)  # whole numbers this far away are exact
    assert_allclose(model.transform((model.xbar_ + near)[None]), expected[None], rtol=1e-12)


def test_parameters_that_are_changed_are_seen():
    model = GaussianNB().fit(NUMBERS, Y)
    before = model.predict_proba(NUMBERS)
    model.theta_[0] += 1.0
    assert np.abs(model.predict_proba(NUMBERS) - before).max() > 0.01
    model.theta_ = model.theta_ - [[1.0], [0.0], [0.0]]
    assert_allclose(model.predict_proba(NUMBERS), before, atol=1e-9)
    linear = LogisticRegression().fit(SCALED, Y)
    linear.coef_ *= 0
    linear.intercept_ = [0.0, np.log(2), 0.0]
    assert_allclose(linear.predict_proba(SCALED[:1]), [[0.25, 0.5, 0.25]], atol=1e-12)
    flags = BernoulliNB().fit(COUNTS, Y)
    flags.feature_log_prob_[:] = np.log(0.5)
    flags.class_log_prior_ = np.log([0.2, 0.3, 0.5])
    assert_allclose(flags.predict_proba(sp.csr_matrix(COUNTS))[:1], [[0.2, 0.3, 0.5]], atol=1e-12)


@pytest.mark.parametrize("ours", [MultinomialNB, ComplementNB, BernoulliNB, LogisticRegression, GaussianNB])
@pytest.mark.parametrize("width", [4, 6])
def test_sparse_rows_with_other_columns_are_refused(ours, width):
    model = ours().fit(sp.csr_matrix(COUNTS), Y)
    told = f"X has {width} features, but {ours.__name__} is expecting 5 features as input"
    for method in ("predict", "predict_proba", "predict_log_proba"):
        for rows in (sp.csr_matrix((3, width)), sp.csr_array((3, width)), sp.csc_matrix((3, width)), np.zeros((3, width))):
            with pytest.raises(ValueError, match=told):
                getattr(model, method)(rows)


@pytest.mark.parametrize("cell", [np.nan, np.inf])
@pytest.mark.parametrize("ours, theirs, options, X", ALL)
def test_cells_that_are_not_finite_are_refused_in_the_peers_words(ours, theirs, options, X, cell):
    y = np.minimum(Y, 1) if options.get("solver") == "liblinear" else Y
    model, peer = ours(**options).fit(X, y), theirs(**options).fit(X, y)
    may_be_missing = ours in (GaussianNB, MultinomialNB, ComplementNB, BernoulliNB, CategoricalNB) and np.isnan(cell)
    for height in (1, 600, 30_000):
        bad = np.resize(X, (height, X.shape[1])).astype(float)
        bad[-1, 2] = cell
        if may_be_missing:
            assert np.isfinite(model.predict_proba(bad)).all()
            continue
        with pytest.raises(ValueError) as theirs_told:
            peer.predict_proba(bad)
        with pytest.raises(ValueError) as told:
            model.predict_proba(bad)
        if ours is not GaussianNB:  # says which cell
            first = str(theirs_told.value).splitlines()[0]
            # What they have made of the cells before is of no interest.
            assert str(told.value).startswith(first.split(" dtype")[0])


def test_a_column_that_a_class_lacks_is_refused():
    X = NUMBERS.copy()
    X[Y == 1, 3] = np.nan
    with pytest.raises(ValueError, match="column 3 has no known cell in class 1.*leave the column out"):
        GaussianNB().fit(X, Y)
    # The rest of the rows may come later.
    model = GaussianNB().partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="column 3 has no known cell in class 1"):
        model.predict(NUMBERS)
    assert model.partial_fit(NUMBERS, Y).predict_proba(NUMBERS).shape == (600, 3)


def test_weights_do_not_scale_the_smoothing():
    mine, other = GaussianNB(), sklearn_naive.GaussianNB()
    assert_allclose(mine.fit(NUMBERS, Y, sample_weight=W).epsilon_, other.fit(NUMBERS, Y, sample_weight=W).epsilon_)
    assert_allclose(mine.predict_proba(NUMBERS), other.predict_proba(NUMBERS), rtol=1e-7, atol=1e-12)


def test_quadratic_discriminant_analysis_of_single_precision_with_its_own_shrinkage():
    options = {"solver": "eigen", "shrinkage": "auto"}
    peer = sklearn_discriminant.QuadraticDiscriminantAnalysis
    if "solver" not in peer().get_params():
        pytest.skip("this version has no shrinkage")
    X = SCALED.astype(np.float32)
    mine, other = QuadraticDiscriminantAnalysis(**options).fit(X, Y), peer(**options).fit(X, Y)
    assert_allclose(mine.predict_proba(X), other.predict_proba(X), rtol=1e-4, atol=1e-6)


def test_a_default_fit_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for ours, _, options, X in ALL:
            y = np.minimum(Y, 1) if options.get("solver") == "liblinear" else Y
            ours(**options).fit(X, y).predict(X)
