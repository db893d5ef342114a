"""`deciban.Classifier`: the same answers whatever the table is made of, laws, files, copies and errors."""

import copy
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import MultinomialNB as SklearnMultinomial

import deciban
from deciban import Classifier, NotFittedError
from deciban.sklearn import GaussianNB, LinearDiscriminantAnalysis

RNG = np.random.default_rng(3)
N = 400
Y = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, N)]
X = RNG.normal(size=(N, 3)) + (Y == "yes")[:, None] * [1.0, 0.5, 0.0] - (Y == "maybe")[:, None] * [0.0, 1.0, 1.0]
JOB = np.where(RNG.random(N) < 0.3 + 0.4 * (Y == "yes"), "cook", np.where(RNG.random(N) < 0.5, "judge", "none"))
MIXED = {"a": X[:, 0], "n": RNG.poisson(3, N), "flag": RNG.random(N) < 0.4 + 0.3 * (Y == "no"), "job": JOB}


def tables(columns):
    """One table in every make."""
    pandas = pd.DataFrame(columns)
    return {
        "dict": columns,
        "pandas": pandas,
        "categorical": pandas.astype({"job": "category"}) if "job" in columns else pandas,
        "polars": pl.DataFrame(columns),
        "arrow": pa.table(columns),
    }


def test_a_table_is_a_table():
    model = Classifier("naive-bayes").fit(MIXED, Y)
    expected = model.evidence(MIXED)
    assert expected.shape == (N, 3) and np.isfinite(expected).all()
    for name, table in tables(MIXED).items():
        again = Classifier("naive-bayes").fit(table, pd.Series(Y) if name == "pandas" else Y)
        assert_array_equal(again.classes_, ["maybe", "no", "yes"], err_msg=name)
        assert_allclose(again.evidence(table), expected, rtol=1e-12, err_msg=name)
        assert_allclose(model.evidence(table), expected, rtol=1e-12, err_msg=name)
    kinds = dict(model._model.columns)
    assert kinds == {"a": "number", "n": "number", "flag": "category", "job": "category"}
    # Columns are found by their names, wherever they stand.
    assert_allclose(model.evidence(pd.DataFrame(MIXED)[["job", "a", "flag", "n"]]), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "i8", ">f8", "f2", ">i4"])
@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_arrays_of_any_layout(dtype, order):
    whole = RNG.integers(0, 9, (N, 3))
    expected = Classifier("gaussian").fit(whole.astype(float), Y).predict_proba(whole.astype(float))
    if order == "strided":
        array = np.zeros((2 * N, 7), dtype=dtype)[::-2, ::-3]
        array[:] = whole
    else:
        array = np.array(whole, dtype=dtype, order=order)
    assert_allclose(Classifier("gaussian").fit(array, Y).predict_proba(array), expected, rtol=1e-9)


def test_missing_cells_say_nothing_in_every_make():
    cells = {"a": X[:5, 0].copy(), "job": np.array(["cook", None, "judge", "fool", "cook"], dtype=object)}
    cells["a"][0] = np.nan
    model = Classifier("naive-bayes").fit({"a": MIXED["a"], "job": JOB}, Y)
    alone = {name: Classifier("naive-bayes").fit({name: MIXED[name]}, Y) for name in ("a", "job")}
    by_hand = alone["a"].evidence({"a": cells["a"]}) + alone["job"].evidence({"job": cells["job"]})
    assert_allclose(alone["a"].evidence({"a": [np.nan]}), [[0, 0, 0]])
    for name, table in tables(cells).items():
        assert_allclose(model.evidence(table), by_hand, rtol=1e-12, err_msg=name)
    listed = Classifier("naive-bayes").fit({"a": [None, 1, 2, 4, 6]}, list("aaabb"))
    assert_allclose(listed.evidence({"a": [None, 1]})[0], [0, 0], atol=1e-15)
    assert listed._model.columns == [("a", "number")]
    # NumPy would make texts of these NaN.
    assert Classifier("naive-bayes").fit({"a": ["x", np.nan, "y"]}, [0, 0, 1])._model.levels(0) == ["x", "y"]
    assert Classifier("naive-bayes").fit([["x"], [np.nan], ["y"]], [0, 0, 1])._model.levels(0) == ["x", "y"]
    nulls = pa.table({"a": pa.array([None, 1.0]), "job": pa.array([None, "cook"])})
    assert_allclose(model.evidence(nulls)[0], [0, 0, 0], atol=1e-15)


def test_the_same_as_the_drop_ins():
    tied = Classifier("gaussian", covariance="tied").fit(X, Y)
    assert_allclose(tied.predict_proba(X), LinearDiscriminantAnalysis().fit(X, Y).predict_proba(X), rtol=1e-9)
    diagonal = Classifier("gaussian", covariance="diagonal").fit(X, Y)
    assert_allclose(diagonal.predict_proba(X), GaussianNB(var_smoothing=0).fit(X, Y).predict_proba(X), rtol=1e-9)
    counts = sp.csr_matrix(RNG.poisson(0.3, (N, 40)).astype(float))
    words = Classifier("multinomial").fit(counts, Y)
    assert_allclose(words.predict_proba(counts), SklearnMultinomial().fit(counts, Y).predict_proba(counts), rtol=1e-9)


def test_prior_and_costs():
    model = Classifier("gaussian", prior={"no": 0.5, "yes": 0.25, "maybe": 0.25}).fit(X, Y)
    evidence = model.evidence(X)
    joint = evidence + np.log([0.25, 0.5, 0.25])
    expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    assert_allclose(model.predict_log_proba(X), expected, rtol=1e-9, atol=1e-12)
    assert_allclose(model.log_density(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-12)
    assert_array_equal(model.predict(X, prior="uniform"), model.classes_[evidence.argmax(axis=1)])
    assert_array_equal(model.decide(X), model.predict(X))
    matrix = RNG.random((3, 3))
    risks = np.exp(expected) @ matrix  # A row for each true class.
    assert_array_equal(model.decide(X, costs=matrix), model.classes_[risks.argmin(axis=1)])
    frame = pd.DataFrame(matrix[[2, 0, 1]], index=model.classes_[[2, 0, 1]], columns=["sell", "keep", "no"])
    assert_array_equal(model.decide(X, costs=frame), np.array(["sell", "keep", "no"], dtype=object)[risks.argmin(axis=1)])
    with pytest.raises(ValueError, match="the rows of this table are the actions and its columns the true classes"):
        model.decide(X, costs=frame.T)
    numbers, cost = deciban.decide.decide(evidence, [0.25, 0.5, 0.25], matrix)
    assert_array_equal(numbers, risks.argmin(axis=1))
    assert_allclose(cost, risks.min(axis=1), rtol=1e-9)
    for negative in (-matrix, {("no", "yes"): -1}, "no>yes=-1"):
        with pytest.raises(ValueError, match="is not a finite number of 0 or more"):
            model.decide(X, costs=negative)
    rejected = model.decide(X, reject=0.2) == "reject"
    assert_array_equal(rejected, 1 - np.exp(expected).max(axis=1) > 0.2)
    assert_array_equal(model.decide(X, costs="no>yes=5"), model.decide(X, costs={("no", "yes"): 5}))
    for wrong in ("none", [0.5, 0.5], [0.5, 0.6, 0.2], {"perhaps": 1.0}, [np.nan, 0.5, 0.5]):
        with pytest.raises(ValueError, match="prior"):
            model.predict_proba(X, prior=wrong)
    for wrong in ([[1, 2]], {("no", "perhaps"): 2}, np.full((3, 3), np.inf)):
        with pytest.raises(ValueError, match="cost"):
            model.decide(X, costs=wrong)


@pytest.mark.parametrize("name", ["gaussian", "naive-bayes"])
def test_rows_add_and_subtract(name):
    table = X if name == "gaussian" else pd.DataFrame(MIXED)
    part = lambda rows: table[rows] if name == "gaussian" else table.iloc[rows]  # noqa: E731
    first, second = np.arange(0, 150), np.arange(150, N)
    whole = Classifier(name).fit(table, Y)
    parts = Classifier(name).fit(part(first), Y[first]).partial_fit(part(second), Y[second])
    assert_allclose(parts.evidence(table), whole.evidence(table), rtol=1e-8, atol=1e-10)
    a, b = Classifier(name).fit(part(first), Y[first]), Classifier(name).fit(part(second), Y[second])
    expected = a.evidence(table)
    assert_allclose(a.merge(b).evidence(table), whole.evidence(table), rtol=1e-8, atol=1e-10)
    assert_allclose(a.forget(b).evidence(table), expected, rtol=1e-6, atol=1e-8)
    with pytest.raises(AttributeError, match="keeps no statistics"):
        Classifier("logistic").fit(table, Y).partial_fit(table, Y)
    with pytest.raises(ValueError, match="not kept statistics"):
        Classifier("logistic").fit(table, Y).merge(whole)


def test_families_and_bins():
    positive = {"a": np.exp(X[:, 0]), "b": np.exp(X[:, 1])}
    every = Classifier("naive-bayes", family="log-normal").fit(positive, Y)
    each = Classifier("naive-bayes", family={"a": "log-normal", "b": "log-normal"}).fit(positive, Y)
    assert_allclose(every.evidence(positive), each.evidence(positive), rtol=1e-12)
    # A log-normal is a normal of the logarithm, with the logarithm's slope.
    normal = Classifier("naive-bayes").fit({"a": X[:, 0], "b": X[:, 1]}, Y).evidence({"a": X[:, 0], "b": X[:, 1]})
    assert_allclose(every.evidence(positive), normal - X[:, :2].sum(axis=1, keepdims=True), rtol=1e-9)
    assert Classifier("tree", bins={"a": [0.5, 1.0]}).fit(positive, Y).predict(positive).shape == (N,)


def test_weights_are_repetitions():
    weights = RNG.integers(0, 4, N)
    repeated = Classifier("gaussian").fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    weighted = Classifier("gaussian").fit(X, Y, sample_weight=weights)
    assert_allclose(weighted.evidence(X), repeated.evidence(X), rtol=1e-9)


@pytest.mark.parametrize("name", ["gaussian", "naive-bayes", "bernoulli", "table", "tree", "a1de", "parzen", "logistic", "least-squares", "auto"])
def test_every_model_is_kept(name, tmp_path):
    a, b = abs(X[:, :2].T) if name == "bernoulli" else X[:, :2].T
    table = {"a": a, "b": b}
    model = Classifier(name).fit(table, Y)
    expected = model.evidence(table)
    model.save(tmp_path / "m.deciban")
    for other in (Classifier.load(tmp_path / "m.deciban"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(other.evidence(table), expected)
        assert_array_equal(other.classes_, model.classes_)
    few = {"a": a[:3], "b": b[:3]}
    log_p = 10 / np.log(10) * model.predict_log_proba(few, prior="uniform")
    for i, ledger in enumerate(model.explain(few, prior="uniform", between=("yes", "no"))):
        assert (ledger.row, ledger.of, ledger.over, ledger.prior) == (i, "yes", "no", 0)
        assert_allclose(ledger.total, log_p[i, 2] - log_p[i, 1], atol=1e-9)
        assert_allclose(ledger.prior + sum(line.decibans for line in ledger.features), ledger.total, atol=1e-9)
    assert (name == "auto") == bool(model.compared_)


def test_ledgers():
    table = {"a": X[:, 0], "job": JOB}
    model = Classifier("naive-bayes").fit(table, Y)
    rows = {"a": [0.5, np.nan], "job": ["cook", "judge"]}
    first, second = model.explain(rows)
    best = model.predict_proba(rows).argsort(axis=1)[:, ::-1]
    assert (first.of, first.over) == tuple(model.classes_[best[0, :2]])
    assert second.missing == ["a"] and [line.name for line in second.features] == ["job"]
    assert_allclose(first.posterior, model.predict_proba(rows)[0, best[0, :2]])
    # One class against all others: posterior odds.
    rest = model.explain(rows, prior={"yes": 0.5}, between="yes")[0]
    p = model.predict_proba(rows, prior={"yes": 0.5})[0, 2]
    assert rest.over is None and rest.prior == pytest.approx(0, abs=1e-12)
    assert rest.total == pytest.approx(10 * np.log10(p / (1 - p)), abs=1e-9)
    assert repr(rest) == f"<Ledger of row 0: 'yes' over the rest, {rest.total:+.2f} decibans>"
    assert "total" in str(rest) and "<table>" in rest._repr_html_()
    frame = rest.to_frame()
    assert frame["name"].tolist() == ["prior odds", "a", "job", "total"]
    assert frame["decibans"][:-1].sum() == pytest.approx(frame["decibans"].iloc[-1])
    with pytest.raises(ValueError, match="between"):
        model.explain(rows, between="perhaps")
    with pytest.raises(ValueError, match="order"):
        model.explain(rows, order="none")


def test_evaluation_and_description():
    half = np.arange(N) % 2 == 0
    model = Classifier("gaussian", covariance="tied").fit(X[half], Y[half])
    p, y = model.predict_proba(X[~half]), Y[~half]
    evaluation = model.evaluate(X[~half], y)
    assert evaluation["error_rate"] == pytest.approx(np.mean(model.predict(X[~half]) != y))
    truth = np.searchsorted(model.classes_, y)
    assert evaluation["log_loss"] == pytest.approx(-np.log(p[np.arange(len(y)), truth]).mean())
    confusion = np.array(evaluation.details["confusion"])
    assert confusion.sum() == len(y) and confusion.trace() == np.sum(model.predict(X[~half]) == y)
    assert "balanced accuracy" in str(evaluation) and evaluation.to_frame()["figure"].is_unique
    weighted = model.evaluate(X[~half], y, sample_weight=np.full(len(y), 2.0), prior="uniform", costs={("no", "yes"): 5}, reject=0.4)
    assert weighted.details["actions"] == ["maybe", "no", "yes", "reject"]
    sure = model.evaluate(X[~half], y, intervals=True, resamples=50)
    low, high = sure.intervals["error_rate"]
    assert low <= sure["error_rate"] <= high
    with pytest.raises(ValueError, match="row 1 has the label 'perhaps'"):
        model.evaluate(X[:2], ["yes", "perhaps"])
    described = model.describe()
    assert described.startswith("gaussian, covariance tied") and repr(described) == str(described)


def test_identifiers_are_left_out_of_tables_with_names():
    rows = 80
    table = pd.DataFrame({"id": [f"P{i:03}" for i in range(rows)], "x": X[:rows, 0], "y": X[:rows, 1], "leak": Y[:rows]})
    with pytest.warns(deciban._classifier.RemarkWarning) as warned:
        model = Classifier("naive-bayes").fit(table, Y[:rows])
    said = [str(warning.message) for warning in warned]
    assert any(line.startswith("column `id`") and line.endswith('it is left out; category="id" keeps it') for line in said)
    assert any(line.startswith("column `leak`: decides the class alone") for line in said)
    assert [name for name, _ in model._model.columns] == ["x", "y", "leak"]
    assert_array_equal(model.predict(table), pickle.loads(pickle.dumps(model)).predict(table))
    model.partial_fit(table, Y[:rows]).update(table, Y[:rows])
    with pytest.warns(deciban._classifier.RemarkWarning):
        kept = Classifier("naive-bayes", category="id", ignore="leak").fit(table, Y[:rows])
    assert [name for name, _ in kept._model.columns] == ["id", "x", "y"]
    with pytest.warns(deciban._classifier.RemarkWarning, match="it is left out"):
        compared = deciban.compare(table, Y[:rows], models="naive-bayes", effort="quick")
    assert compared.refit().predict(table).shape == (rows,)
    # A matrix has no names: its columns are those of the model.
    numbers = np.column_stack([np.arange(rows), X[:rows]])
    with pytest.warns(deciban._classifier.RemarkWarning, match='give ignore="x0"'):
        assert len(Classifier("gaussian").fit(numbers, Y[:rows])._model.columns) == X.shape[1] + 1


def test_calibration_is_part_of_the_model():
    # The same column three times: naive Bayes counts it three times.
    table = {name: X[:, 0] + 0.01 * RNG.normal(size=N) for name in "abc"}
    plain, calibrated = (Classifier("naive-bayes", calibrate=method).fit(table, Y) for method in (None, "logistic"))
    assert calibrated.evaluate(table, Y)["log_loss"] < plain.evaluate(table, Y)["log_loss"]
    assert "calibrat" in repr(calibrated) and not hasattr(calibrated, "partial_fit")
    with pytest.raises(ValueError, match="calibrate: there is no `none`"):
        Classifier("naive-bayes", calibrate="none").fit(table, Y)


def test_a_sample_has_the_distribution():
    cells, labels = Classifier("naive-bayes").fit({"a": X[:, 0], "job": JOB}, Y).sample(20_000, seed=5)
    assert abs(np.mean(labels == "yes") - np.mean(Y == "yes")) < 0.02
    assert abs(np.mean(cells["job"] == "cook") - np.mean(JOB == "cook")) < 0.02
    assert abs(cells["a"].mean() - X[:, 0].mean()) < 0.05
    with pytest.raises(ValueError, match="not how probable rows are"):
        Classifier("logistic").fit(X, Y).sample(3)


def test_labels_of_any_type():
    for labels in (np.where(Y == "yes", 7, -2), np.where(Y == "yes", 0.5, 1.0), Y == "yes", pd.Categorical(Y)):
        model = Classifier("gaussian").fit(X, labels)
        assert set(np.unique(model.predict(X))) <= set(np.asarray(labels).tolist())


def test_errors_are_those_of_python():
    with pytest.raises(NotFittedError):
        Classifier().predict(X)
    with pytest.raises(ValueError, match="not an option of model .gaussian"):
        Classifier("gaussian", pseudo_count=1).fit(X, Y)
    with pytest.raises(TypeError, match="colour"):
        Classifier("gaussian", colour="red")
    with pytest.raises(ValueError, match="there is no `gausian`"):
        Classifier("gausian").fit(X, Y)
    with pytest.raises(ValueError, match='drop columns with ignore, or regularise with shrinkage="auto"'):
        Classifier("gaussian").fit(np.hstack([X, X]), Y)
    with pytest.raises(ValueError, match="lacks the column 'n'"):
        Classifier("naive-bayes").fit(MIXED, Y).predict({"a": [1.0]})
    with pytest.raises(ValueError, match="infinite"):
        Classifier("gaussian").fit(np.where(X > 1, np.inf, X), Y)
    with pytest.raises(ValueError, match="is no flag"):
        Classifier("naive-bayes", flag="job").fit(MIXED, Y)
    with pytest.raises(ValueError, match="there is no column 'z'"):
        Classifier("naive-bayes", ignore=["z"]).fit(MIXED, Y)
    with pytest.raises(FileNotFoundError):
        Classifier.load("/nowhere/m.deciban")
    with pytest.raises(TypeError):
        Classifier("gaussian", pca=object()).fit(X, Y)


def test_threads_and_the_interpreter_lock():
    big = RNG.normal(size=(300_000, 20))
    y = RNG.integers(0, 2, len(big))
    one, two = (Classifier("gaussian", n_jobs=n).fit(big, y).evidence(big[:1000]) for n in (1, 2))
    assert_array_equal(one, two)
    with pytest.raises(ValueError, match="n_jobs"):
        Classifier("gaussian", n_jobs=0).fit(big, y)
    # Another thread of Python runs meanwhile.
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    for _ in range(500):
        start = time.perf_counter()
        Classifier("gaussian").fit(big, y)
        end = time.perf_counter()
        if any(start < t < end for t in ticks):
            break
    else:
        pytest.fail("no other thread ran during 500 fits")
    done.set()
    thread.join()


#: Work that takes minutes: rows that overlap in memory, so there are as many as one likes.
LONG = {
    "logistic": """deciban.Classifier("logistic", solver="newton").fit(rows(2_000_000, 400), y)""",
    "sgd": """deciban.Classifier("logistic", solver="sgd").fit(rows(2_000_000, 400), y)""",
    "auto": """deciban.Classifier().fit(rows(2_000_000, 200), y)""",
    "evidence": """deciban.Classifier("gaussian").fit(rows(9000, 800), y[:9000]).evidence(rows(2_000_000, 800))""",
    "explain": """deciban.Classifier("gaussian").fit(rows(1000, 12), y[:1000]).explain(rows(2_000_000, 12))""",
    "explain wide": """deciban.Classifier("gaussian").fit(rows(1000, 80), y[:1000]).explain(rows(20_000, 80))""",
    "sample": """deciban.Classifier("gaussian").fit(rows(1000, 12), y[:1000]).sample(100_000_000)""",
    "drop-in": """sk().LogisticRegression(tol=1e-12).fit(rows(2_000_000, 400), y)""",
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_stops_long_work(what):
    code = f"""
import importlib, numpy as np, deciban
sk = lambda: importlib.import_module("deciban.sklearn")
base = np.random.default_rng(0).normal(size=2_001_000)
rows = lambda n, width: np.lib.stride_tricks.sliding_window_view(base, width)[:n]
y = (base[:2_000_000] > 0) + np.arange(2_000_000) % 2
print("ready", flush=True)
try:
    {LONG[what]}
    print("ended", flush=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1.5)
    child.send_signal(signal.SIGINT)
    start = time.monotonic()
    # It takes a fraction of a second; the limit is for machines that do much else, and far below the work's own time.
    try:
        told, _ = child.communicate(timeout=30)
    finally:
        child.kill()
    assert told == "stopped\n"
    print(f"{what}: {time.monotonic() - start:.2f} s")


def test_posteriors_add_up_to_one_however_large_the_evidence_is():
    prior = np.array([0.7, 0.2, 0.1])
    evidence = np.array([-5e15, 1e17, -1e300, 0.0])[:, None] * np.ones(3)
    p = deciban.decide.posterior(evidence, prior)
    assert np.all(np.abs(p.sum(axis=1) - 1) <= 4 * np.finfo(float).eps)
    assert_allclose(p, np.tile(prior, (4, 1)), rtol=1e-14)
    # The classes agree on the first column, where a cell is wild.
    random = np.random.default_rng(1)
    x = np.repeat(random.normal(size=40), 3)
    X, y = np.column_stack([x, random.normal(size=120) + np.tile(range(3), 40)]), np.tile(["a", "b", "c"], 40)
    wild = [[1e4, 0.5], [1e8, 0.5], [1e100, 0.5]]
    for model in (Classifier("gaussian"), Classifier("naive-bayes"), Classifier("parzen"), GaussianNB()):
        p = model.fit(X, y).predict_proba(wild)
        assert np.all(np.abs(p.sum(axis=1) - 1) <= 4 * np.finfo(float).eps), model


def test_a_column_that_is_constant_in_a_class_has_the_least_variance_there():
    random = np.random.default_rng(1)
    X = random.normal(size=(60, 2))
    y = np.tile(["a", "b", "c"], 20)
    X[y == "a", 0] = 3.0
    with pytest.warns(UserWarning, match="always the same in a class"):
        model = Classifier("naive-bayes").fit(X, y)
    assert list(model.predict([[3.0, 0.0]])) == ["a"]


def test_the_names_of_the_package():
    names = {"Classifier", "Comparison", "NotFittedError", "Statistics", "compare", "__version__"}
    assert set(deciban.__all__) == names | {"decide", "evaluate", "plot", "sklearn", "transform"}
