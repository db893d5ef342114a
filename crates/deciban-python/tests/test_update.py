"""`update` and `forget`: as if all rows had been there, or some never; with receipts and files."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

from deciban import Classifier

RNG = np.random.default_rng(5)
N = 300
Y = np.array(["no", "yes", "maybe"])[RNG.integers(0, 3, N)]
Y[:200][Y[:200] == "maybe"] = "no"  # A class that turns up late.
MIXED = {
    "a": RNG.normal(size=N) + (Y == "yes"),
    "n": RNG.poisson(3, N),
    "job": np.where(RNG.random(N) < 0.5, "cook", np.where(np.arange(N) < 200, "judge", "smith")),
}


def part(rows):
    return {name: cells[rows] for name, cells in MIXED.items()}


FIRST, LAST = slice(0, 200), slice(200, N)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "naive-bayes"},
        {"model": "naive-bayes", "family": {"a": "histogram"}},
        {"model": "gaussian", "ignore": "job"},
        {"model": "gaussian", "ignore": "job", "shrinkage": "auto", "standardise": True},
        {"model": "tree", "ignore": ["a", "n"]},
        {"model": "a1de", "ignore": ["a", "n"]},
        {"model": "least-squares", "ignore": "job"},
    ],
)
def test_updates_add_up_and_can_be_taken_back(options):
    whole = Classifier(**options).fit(MIXED, Y)
    some = Classifier(**options).fit(part(FIRST), Y[FIRST])
    model = Classifier(**options).fit(part(FIRST), Y[FIRST]).update(part(LAST), Y[LAST])
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    if "family" not in options:  # A histogram's bins follow the sketches, which may be coarser.
        assert_allclose(model.evidence(MIXED), whole.evidence(MIXED), rtol=1e-9, atol=1e-9)
    by_class = {of["class"]: (of["before"], of["after"]) for of in model.receipt_["classes"]}
    assert by_class["maybe"] == (None, (Y == "maybe").sum())
    model.forget(part(LAST), Y[LAST])
    assert model.classes_.tolist() == ["no", "yes"]
    assert_allclose(model.evidence(part(FIRST)), some.evidence(part(FIRST)), rtol=1e-9, atol=1e-9)
    assert_allclose(model.predict_proba(part(FIRST)), some.predict_proba(part(FIRST)), atol=1e-9)
    if "job" not in (options.get("ignore") or []):
        assert model.receipt_["columns"] == [{"column": "job", "words": False, "new": [], "gone": ["smith"]}]


def test_statistics_are_kept_in_files_and_pickles(tmp_path):
    model = Classifier("naive-bayes", prior="uniform").fit(part(FIRST), Y[FIRST])
    model.save(tmp_path / "kept.deciban", keep_statistics=True)
    model.save(tmp_path / "plain.deciban")
    whole = Classifier("naive-bayes").fit(MIXED, Y)
    for again in (Classifier.load(tmp_path / "kept.deciban"), pickle.loads(pickle.dumps(model))):
        assert_allclose(again.update(part(LAST), Y[LAST]).evidence(MIXED), whole.evidence(MIXED), atol=1e-9)
    with pytest.raises(ValueError, match="has not kept statistics to change: fit it with keep_statistics"):
        Classifier.load(tmp_path / "plain.deciban").update(part(LAST), Y[LAST])
    with pytest.raises(ValueError, match="it is learned from rows, not from statistics"):
        Classifier("logistic").fit(MIXED, Y).update(part(LAST), Y[LAST])


def test_calibrations_stay_as_they_were():
    names = np.where(Y == "maybe", "no", Y)
    model = Classifier("naive-bayes", calibrate="logistic").fit(part(FIRST), names[FIRST])
    before = model.evidence(part(FIRST))
    model.update(part(LAST), names[LAST])
    assert "the numbers of the calibration stay as they were" in model.receipt_["remarks"]
    assert_allclose(model.forget(part(LAST), names[LAST]).evidence(part(FIRST)), before, atol=1e-9)
    with pytest.raises(ValueError, match="class `maybe` is new, and its calibration was learned"):
        model.update(part(LAST), Y[LAST])


def test_members_that_learn_from_rows_need_them(tmp_path):
    rng = np.random.default_rng(7)
    rows = 900
    y = np.array(["no", "yes"])[rng.integers(0, 2, rows)]
    X = {
        "a": rng.normal(size=rows) + (y == "yes"),
        "b": rng.normal(size=rows) * (1 + (y == "yes")),
        "job": np.where(rng.random(rows) < 0.3 + 0.3 * (y == "yes"), "cook", np.where(np.arange(rows) < 700, "judge", "smith")),
    }
    of = lambda which: {name: cells[which] for name, cells in X.items()}  # noqa: E731
    first, last = slice(0, 700), slice(700, rows)
    fused = Classifier("fused", models=["naive-bayes", "logistic", "additive"]).fit(of(first), y[first])
    fused.save(tmp_path / "fused.deciban", keep_statistics=True)
    before = fused.evidence(of(first))
    left = Classifier.load(tmp_path / "fused.deciban").update(of(last), y[last])
    how = {member["name"].split()[0]: member["learned"] for member in left.receipt_["members"]}
    assert how["naive-bayes"] == "statistics" and "nothing" in how.values()
    with pytest.raises(ValueError, match="from rows and would still know the forgotten rows: give rows, all rows that stay"):
        left.forget(of(last), y[last])
    with pytest.raises(ValueError, match="rows: there are 88 rows of class `no`, and the model is to have 429"):
        fused.update(of(last), y[last], rows=(of(slice(0, 2)), ["yes", "yes"]))
    both = fused.update(of(last), y[last], rows=(of(first), y[first]))
    assert {"rows": float(rows)} in [member["learned"] for member in both.receipt_["members"]]
    assert both.receipt_["columns"] == [{"column": "job", "words": False, "new": ["smith"], "gone": []}]
    assert abs(both.evidence(X) - left.evidence(X)).max() > 1e-3
    both.forget(of(last), y[last], rows=(of(first), y[first]))
    assert_allclose(both.evidence(of(first)), before, atol=1e-7)


def test_bins_and_maps_stay_as_they_were():
    X = np.column_stack([MIXED["a"], MIXED["n"]])
    model = Classifier("gaussian", gaussianise=True).fit(X, Y)
    before = model.evidence(X)
    model.update(X[:50], Y[:50])
    assert model.receipt_["remarks"] == ["the Gaussianising maps of `x0`, `x1` stay as they were"]
    assert_allclose(model.forget(X[:50], Y[:50]).evidence(X), before, rtol=1e-9)


def test_strangers_are_refused_and_nothing_changes():
    model = Classifier("naive-bayes").fit(part(FIRST), Y[FIRST])
    before = model.evidence(MIXED)
    with pytest.raises(ValueError, match="column `job` has no `smith` to remove rows from"):
        model.forget({**part(LAST), "n": MIXED["n"][LAST]}, np.where(Y[LAST] == "maybe", "no", Y[LAST]))
    with pytest.raises(ValueError, match="there is no class `maybe` to remove rows from"):
        model.forget(part(slice(0, 2)), ["maybe", "no"])
    with pytest.raises(ValueError, match="class `no`, column `n`"):
        model.forget({"a": [0.0], "n": [1000], "job": ["cook"]}, ["no"])
    with pytest.raises(TypeError, match="give the labels of the rows as y"):
        model.forget(part(LAST))
    assert_allclose(model.evidence(MIXED), before, rtol=0)
